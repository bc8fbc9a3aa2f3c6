"""A list of releases that is fixed when the ledger is made: only these are accepted, each once, in any order.

The noise of all of them is composed when the ledger is made, and the cap must cover the whole list. Which of them is
made next, and whether all of them are, may depend on earlier answers: delta of everything is at most that of the whole
list. docs/maths/budgets.md has the proof.
"""

from __future__ import annotations

from collections.abc import Iterable, Mapping, Sequence
from dataclasses import dataclass, field, replace
from functools import lru_cache
from typing import Any, Self

from hush.calibration.plan import Plan
from hush.errors import BudgetExceeded, InvalidParameter
from hush.ledger.account import Account, Nonadaptive, Pure
from hush.ledger.entry import Cap, Entry
from hush.privacy.charge import Budget, Charge, charges
from hush.sampling.mechanism import Mechanism

__all__ = ["Listed", "listed_releases", "must_cover_list", "must_have_no_list"]


def listed_releases(given: Any) -> tuple[tuple[Charge, ...], ...] | None:
    """The charges of each release of a list; None if there is no list. An item of the list is a plan of any kind, which
    may be of several releases, or what `Ledger.spend` takes: one release.
    """
    if given is None:
        return None
    hint = "write releases=[first_plan, second_plan], or [(hush.Laplace(2.0), 1.0), ...]"
    if not isinstance(given, Sequence) or isinstance(given, str) or not given:
        raise InvalidParameter(f"releases must be a list of plans or charges, which is not empty; {hint}.")
    return tuple(release for item in given for release in _releases_of(item))


def _releases_of(item: Any) -> list[tuple[Charge, ...]]:
    """The charges of each release of a plan. A plan of `calibrate` is for one release of real numbers."""
    entries, paid = getattr(item, "entries", None), getattr(item, "charges", None)
    if callable(entries):
        return [entry.charges for entry in entries()]
    if isinstance(item, Plan):
        return [(Mechanism.of(item).charge,)]
    return [charges(item if paid is None or callable(paid) else list(paid))]


def must_have_no_list(cap: Cap) -> None:
    """Reject new plans for a ledger with a list: it accepts nothing else than what is listed."""
    if cap.releases is not None:
        raise InvalidParameter(
            "a ledger with a list of releases accepts only these; answer the plans that were listed, or make another "
            "ledger."
        )


def must_cover_list(cap: Cap) -> None:
    """Reject a list that the budget does not cover."""
    whole = _whole(cap)
    if not whole.covered():
        raise BudgetExceeded(
            f"the listed releases together cost epsilon {whole.spent.epsilon:.4g} at delta {cap.delta:g}, more than "
            f"{cap.words}; list fewer, or use more noise."
        )


@lru_cache(maxsize=16)
def _whole(cap: Cap) -> Account:
    """The account of the whole list, by the rule for noise that is fixed in advance."""
    rows = [Entry(0, "", "", release) for release in cap.releases or ()]
    return _in_advance(cap).plus(rows)


def _in_advance(cap: Cap) -> Account:
    plain = Cap(cap.epsilon, cap.delta, "nonadaptive")
    return Pure(plain) if cap.delta == 0.0 else Nonadaptive(plain)


@dataclass(frozen=True, eq=False)
class Listed(Account):
    """The releases of a list that were made; see the module."""

    rule = "listed"
    #: what was made, by the rule for noise that is fixed in advance; None at the beginning
    made: Account | None = None
    #: the number of releases of the list, by their charges, that were made
    counted: Mapping[tuple[Charge, ...], int] = field(default_factory=dict)

    @property
    def whole(self) -> Account:
        """The account of the whole list: what it costs if everything is made."""
        return _whole(self.cap)

    @property
    def open(self) -> tuple[tuple[Charge, ...], ...]:
        """The releases of the list that were not made."""
        left = list(self.cap.releases or ())
        for release, number in self.counted.items():
            for _ in range(number):
                left.remove(release)
        return tuple(left)

    def plus(self, entries: Iterable[Entry]) -> Self:
        rows, left, counted = list(entries), list(self.open), dict(self.counted)
        for entry in rows:
            if entry.charges not in left or entry.extra_delta:
                raise BudgetExceeded(_refused(self.cap, entry, len(left)))
            left.remove(entry.charges)
            counted[entry.charges] = counted.get(entry.charges, 0) + 1
        made = (self.made or _in_advance(self.cap)).plus(rows)
        return replace(super().plus(rows), made=made, counted=counted)

    def covered(self) -> bool:
        return self.whole.covered()

    @property
    def spent(self) -> Budget:
        """What the releases that were made cost, if they had been the whole list."""
        return self.made.spent if self.made is not None else Budget(0.0, 0.0)

    @property
    def left(self) -> Budget:
        """Nothing but the rest of the list fits."""
        return Budget(0.0, 0.0)


def _refused(cap: Cap, entry: Entry, left: int) -> str:
    """Why a release is not accepted, in one sentence."""
    known = entry.charges in (cap.releases or ())
    reason = "of the ledger's list was made before" if known else "is not on the ledger's list"
    rest = f"the ledger accepts listed releases only, each once (left: {left})"
    return f"this release {reason}; {rest}. Nothing was spent."
