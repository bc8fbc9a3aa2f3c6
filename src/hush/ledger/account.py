"""The rules of composition: what everything spent so far costs, and whether it is within the cap.

    cap                      rule        what is added up
    delta > 0, nonadaptive       `Nonadaptive`   loss distributions, by hush.compose: tight, for mechanisms fixed in advance
    delta > 0, adaptive   `Filter`    Renyi divergences of one order: valid for mechanisms chosen along the way (filter.py)
    delta = 0, either mode   `Pure`      pure epsilons: basic composition, valid for both

An account never changes: `plus(entries)` is a new one, and `settled()` is the account itself where its cap covers it,
and None where not.

Sums are exact (fractions of the floats as they are). A cap and the numbers charged to it are decimals that somebody
wrote, each held by a float to one part in 2^53; a comparison forgives these two roundings, one part in 2^51 at most,
so that ten times 0.1 is not more than 1.
"""

from __future__ import annotations

import math
from abc import ABC, abstractmethod
from collections.abc import Iterable, Mapping
from dataclasses import dataclass, field, replace
from fractions import Fraction
from functools import cached_property, lru_cache
from typing import Self

from hush.errors import InvalidParameter, Unsupported
from hush.ledger.entry import Cap, Entry
from hush.numerics.rounding import round_down, round_up
from hush.privacy.charge import Budget, Charge
from hush.privacy.compose import compose
from hush.privacy.curve import Curve
from hush.privacy.theorem import GAUSSIAN, pure_epsilon

__all__ = ["Account", "Nonadaptive", "Pure", "within"]

_FORGIVEN = 1 + Fraction(1, 2**51)


def within(total: Fraction, cap: float) -> bool:
    """Is the exact total at most the cap, up to the roundings of the decimals they stand for?

    >>> within(10 * Fraction(0.1), 1.0), within(10 * Fraction(0.1000000000000001), 1.0)
    (True, False)
    """
    return total <= Fraction(cap) * _FORGIVEN


@dataclass(frozen=True, eq=False)
class Account(ABC):
    """What all rules share: how often each mechanism was used, and the failure probabilities added up."""

    cap: Cap
    totals: Mapping[Charge, int] = field(default_factory=dict)
    extra: Fraction = Fraction(0)

    def plus(self, entries: Iterable[Entry]) -> Self:
        """The account with these entries as well, whatever the cap says."""
        totals, extra = dict(self.totals), self.extra
        for entry in entries:
            for charge in entry.charges:
                one = charge.once
                _check_relation(one, next(iter(totals), one))
                totals[one] = totals.get(one, 0) + charge.times
            extra += Fraction(entry.extra_delta)
        return replace(self, totals=totals, extra=extra)

    def settled(self) -> Self | None:
        """This account if it is within the cap."""
        return self if self.covered() else None

    def alone(self, entry: Entry) -> Self:
        """The account of a ledger with the same cap and no other entry."""
        return type(self)(self.cap).plus([entry])

    @property
    def releases(self) -> list[Charge]:
        """Everything spent, equal releases counted together."""
        return [one.repeated(times) for one, times in self.totals.items()]

    @abstractmethod
    def covered(self) -> bool:
        """Is all of this within the cap?"""

    @property
    @abstractmethod
    def spent(self) -> Budget:
        """Upper bounds: epsilon at the cap's delta, and delta at the cap's epsilon."""

    @cached_property
    def left(self) -> Budget:
        """epsilon: a release of this pure epsilon is still within the cap (accepted up to 1 % less: composition has a
        grid). delta: what extra_delta may still take."""
        epsilon = (
            Fraction(self.cap.epsilon) - Fraction(self.spent.epsilon)
            if math.isfinite(self.spent.epsilon)
            else Fraction(0)
        )
        return Budget(round_down(epsilon), round_down(Fraction(self.cap.delta) - Fraction(self.spent.delta)))

    @property
    def share(self) -> float:
        """How much of the budget is gone, from 0 to 1."""
        return min(self.spent.epsilon / self.cap.epsilon, 1.0)

    @property
    def cost(self) -> float:
        """What all of this takes away from `left.epsilon`."""
        return self.spent.epsilon


def _check_relation(one: Charge, other: Charge) -> None:
    """Releases that speak of different neighbours have no common epsilon, whatever the budget."""
    if one.neighbours != other.neighbours:
        raise InvalidParameter(
            f"this ledger's releases count neighbours {other.neighbours!r}, and this one counts {one.neighbours!r}; "
            "no epsilon speaks of both, so keep one ledger for each."
        )


# -- pure epsilons -------------------------------------------------------------------------------------------


def _pure_sum(totals: Mapping[Charge, int]) -> Fraction | None:
    """The sum of all pure epsilons; None where one of them is infinite."""
    total = Fraction(0)
    for one, times in totals.items():
        pure = pure_epsilon(one)
        if pure is None:
            return None
        total += times * pure
    return total


@dataclass(frozen=True, eq=False)
class Pure(Account):
    """delta = 0: pure epsilons add up, also where the next mechanism is chosen after seeing answers (Rogers, Roth,
    Ullman, Vadhan 2016).
    """

    @cached_property
    def total(self) -> Fraction | None:
        return _pure_sum(self.totals)

    def covered(self) -> bool:
        return self.total is not None and within(self.total, self.cap.epsilon) and self.extra == 0

    @cached_property
    def spent(self) -> Budget:
        if self.total is None:
            return Budget(math.inf, 0.0)
        return Budget(min(round_up(self.total), self.cap.epsilon) if self.covered() else round_up(self.total), 0.0)


# -- nonadaptive ---------------------------------------------------------------------------------------------

#: From so many different mechanisms on, a curve for the new one alone is cheaper than composing all of them anew.
_MANY = 8
#: A glance accepts with this much to spare, in epsilon and in delta, so that a later composition of everything
#: agrees: its grid, 0.4 % of a
#: typical loss, can cost about that much where the largest losses decide.
_EPSILON_MARGIN, _DELTA_MARGIN = 0.99, 0.9


@dataclass(frozen=True, eq=False)
class Nonadaptive(Account):
    """Loss distributions composed: delta at the cap's epsilon, plus the failure probabilities, must be at most the
    cap's delta.

    Guarantees: valid where every mechanism (noise, sensitivity, times) was fixed before the first answer. The
    questions asked through them may depend on earlier answers: each part's curve bounds every pair of neighbours, and
    such bounds compose adaptively (Zhu, Dong and Wang 2022, on dominating pairs).
    """

    proved: Curve | None = None  # the last composition
    since: Mapping[Charge, int] = field(default_factory=dict)  # what came after it

    def plus(self, entries: Iterable[Entry]) -> Self:
        found = super().plus(entries)
        since = {one: times - self.totals.get(one, 0) + self.since.get(one, 0) for one, times in found.totals.items()}
        found = replace(found, since={one: times for one, times in since.items() if times})
        if found.totals:
            found.curve  # noqa: B018 - what no theorem composes is refused here, whatever the budget
        return found

    @cached_property
    def curve(self) -> Curve:
        """The curve of everything spent."""
        return self.proved if self.proved is not None and not self.since else compose(self.releases)

    @cached_property
    def _delta(self) -> Fraction:
        """delta at the cap's epsilon, failure probabilities included."""
        if not self.totals:
            return self.extra
        value = float(self.curve.delta(self.cap.epsilon))
        room = round_down(Fraction(self.cap.delta) - self.extra)
        if value > room:
            # far beyond all losses a composition may see only its own round-off; delta falls, so that of a smaller
            # epsilon bounds it
            near = float(self.curve.epsilon(room))
            smaller = (near, 0.5 * (near + self.cap.epsilon)) if near < self.cap.epsilon else ()
            value = min([value, *(float(self.curve.delta(e)) for e in smaller)])
        return Fraction(value) + self.extra

    def covered(self) -> bool:
        return within(self.extra, self.cap.delta) and within(self._delta, self.cap.delta)

    def settled(self) -> Self | None:
        if self._covered_at_a_glance():
            return self
        return replace(self, proved=self.curve, since={}) if self.covered() else None

    def _covered_at_a_glance(self) -> bool:
        """Basic composition of the last curve with all that came since: sound and quick. What it does not accept,
        `covered` decides.

        (e1, d1) and (e2, d2) make (e1 + e2, d1 + d2), so the last curve is asked at the epsilon that the rest leaves.
        """
        many = (
            sum(not GAUSSIAN.covers(one) for one in self.totals) >= _MANY
        )  # Gaussians merge into one, whatever their number
        epsilon, delta = Fraction(0), self.extra
        for one, times in self.since.items():
            pair = _pair(one, self.cap.delta, many)
            if pair is None:
                return False
            epsilon, delta = epsilon + times * pair[0], delta + times * pair[1]
        room = Fraction(self.cap.epsilon * _EPSILON_MARGIN) - epsilon
        if room < 0:
            return False
        if self.proved is not None:
            delta += Fraction(float(self.proved.delta(round_down(room))))
        return delta <= Fraction(self.cap.delta * _DELTA_MARGIN)

    @cached_property
    def spent(self) -> Budget:
        if not self.totals:
            return Budget(0.0, 0.0)
        try:
            epsilon = float(self.curve.epsilon(round_down(Fraction(self.cap.delta) - self.extra)))
            delta = min(round_up(self._delta), 1.0)
        except Unsupported:  # no grid holds these losses together; basic composition may
            total = _pure_sum(self.totals)
            if total is None:
                raise
            return Budget(round_up(total), round_up(self.extra))
        # a proof that all is within the cap is a bound too
        return (
            Budget(min(epsilon, self.cap.epsilon), min(delta, self.cap.delta))
            if self.covered()
            else Budget(epsilon, delta)
        )


@lru_cache(maxsize=512)
def _pair(one: Charge, delta: float, many: bool) -> tuple[Fraction, Fraction] | None:
    """An (epsilon, delta) that one release keeps, its delta a small part of the cap's; None where finding one would
    be no shortcut.
    """
    pure = pure_epsilon(one)
    if pure is not None:
        return pure, Fraction(0)
    epsilon = float(compose([one]).epsilon(delta / 64.0)) if many and delta / 64.0 > 0.0 else math.inf
    return (Fraction(epsilon), Fraction(delta / 64.0)) if math.isfinite(epsilon) else None
