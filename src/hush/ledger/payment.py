"""A payment: the right to draw noise for what was charged, each release once.

Noise that touches data is drawn here and nowhere else. A payment comes from `Ledger.spend`, which returns when the charge is durable, or
from `unaccounted`, for a caller who keeps no ledger and says so.
"""

from __future__ import annotations

import math
from collections import Counter
from dataclasses import dataclass, field
from typing import TYPE_CHECKING, Any

import numpy as np
from numpy.typing import NDArray

from hush.errors import NotPaid, Unsupported
from hush.ledger.entry import Entry
from hush.ledger.refusal import must_be_ledger
from hush.mechanism import FURTHEST, Mechanism
from hush.privacy.charge import Budget, Charge, charges
from hush.sampling.entropy import Bits, Entropy, must_be_entropy
from hush.sampling.exact import draw, draw_from

if TYPE_CHECKING:
    from hush.ledger.ledger import Ledger

__all__ = ["Draws", "Payment", "must_be_payment", "must_be_secure", "pay", "unaccounted"]

Steps = NDArray[np.int64]


def must_be_secure(entropy: Entropy | None) -> None:
    """Refuse randomness that somebody could repeat: noise on data must not be undone."""
    must_be_entropy(entropy)
    if entropy is not None and not entropy.secure:
        raise Unsupported("noise on data is drawn from secure entropy only; a test entropy can be undone by whoever knows its number.")


def must_be_payment(given: Any) -> None:
    """Refuse what is no payment, such as None or a ledger: nothing was charged."""
    if not isinstance(given, Payment):
        raise NotPaid(f"noise on data needs a payment, got {type(given).__name__}; nothing was drawn: charge first.")


@dataclass(frozen=True)
class Draws:
    """Paid draws of one mechanism, handed out as they are needed. Executors of an engine may be sent a copy and give it their own bits."""

    mechanism: Mechanism
    entropy: Entropy | None = None

    def add(self, steps: Steps) -> Steps:
        """Steps with fresh noise, limited to 2^61: exactly the limited sum of the steps and the unlimited noise."""
        return np.clip(steps + self._fresh(steps), -FURTHEST, FURTHEST)

    def _fresh(self, steps: Steps) -> Steps:
        made = self.mechanism
        return draw(made.noise, made.draw_shape(steps), made.step, self.entropy).reshape(steps.shape)

    def ahead(self, count: int) -> Draws:
        """The same draws, `count` of them made now in one call, for loops that add a few at a time; each of them is given out once."""
        made = self.mechanism
        return _Ahead(made, self.entropy, drawn=draw(made.noise, count, made.step, self.entropy))

    def add_from(self, bits: Bits, steps: Steps) -> Steps:
        """The same from given bits, for engines that must be able to repeat a draw."""
        made = self.mechanism
        count = math.prod(np.atleast_1d(made.draw_shape(steps)))
        return np.clip(steps + draw_from(bits, made.noise, count, made.step).reshape(steps.shape), -FURTHEST, FURTHEST)


@dataclass(frozen=True, eq=False)
class _Ahead(Draws):
    """Draws that were made ahead, given out in order."""

    drawn: Steps = field(kw_only=True, repr=False)
    given: list[int] = field(default_factory=lambda: [0], init=False, repr=False)

    def _fresh(self, steps: Steps) -> Steps:
        start = self.given[0]
        if start + steps.size > self.drawn.size:
            raise NotPaid("a draw would be used twice: all that were made ahead are given out, so nothing was drawn.")
        self.given[0] = start + steps.size
        return self.drawn[start : start + steps.size].reshape(steps.shape)


class Payment:
    """Noise that was paid for: `.noise(mechanism, steps)` draws it at once, `.open(mechanism)` over time.

    A charge of n releases pays for n draws of each part of its vector (`part` names the column of a table; "" is the whole vector).

    Guarantees: a mechanism that was not charged, or whose releases were all drawn, raises `NotPaid` and draws nothing.
    """

    def __init__(self, paid: tuple[Charge, ...], entry: Entry | None, place: str | None) -> None:
        self._left: Counter[Charge] = Counter()
        for charge in paid:
            self._left[charge.once] += charge.times
        self._drawn: Counter[tuple[Charge, str]] = Counter()
        self._entry, self._place, self._paid = entry, place, paid

    @property
    def entry(self) -> Entry | None:
        """The ledger's entry; None for an unaccounted payment."""
        return self._entry

    @property
    def charges(self) -> tuple[Charge, ...]:
        """What was paid for."""
        return self._paid

    @property
    def number(self) -> int | None:
        """The number of the ledger's entry; None for an unaccounted payment."""
        return None if self._entry is None else self._entry.number

    @property
    def receipt(self) -> dict[str, Any] | None:
        """Where the charge stands, for a receipt; None where no ledger was charged."""
        if self._entry is None:
            return None
        return {"ledger": self._place, "number": self._entry.number, "label": self._entry.label}

    def noise(self, mechanism: Mechanism, steps: Steps, *, part: str = "", entropy: Entropy | None = None) -> Steps:
        """Steps with noise of one release of the mechanism."""
        must_be_secure(entropy)
        self._take(mechanism, part, 1)
        return Draws(mechanism, entropy).add(steps)

    def open(self, mechanism: Mechanism, *, part: str = "", entropy: Entropy | None = None) -> Draws:
        """All releases of the mechanism that were paid for, to be drawn as they are needed."""
        must_be_secure(entropy)
        self._take(mechanism, part, None)
        return Draws(mechanism, entropy)

    def _take(self, mechanism: Mechanism, part: str, times: int | None) -> None:
        one = mechanism.charge.once
        left = self._left[one] - self._drawn[one, part]
        if left < (1 if times is None else times):
            what = "was not paid for" if one not in self._left else "was drawn already as often as it was paid for"
            raise NotPaid(f"this noise {what}, so nothing was drawn; charge it first: ledger.spend([mechanism.charge]).")
        self._drawn[one, part] += left if times is None else times

    def __repr__(self) -> str:
        return "<Payment: no ledger was charged>" if self._entry is None else f"<Payment: entry {self._entry.number} of {self._place}>"


def unaccounted(releases: Any) -> Payment:
    """A payment that no ledger knows: whoever asks for it answers for the budget."""
    return Payment(charges(releases), None, None)


def pay(
    ledger: Ledger | None,
    releases: list[Charge],
    *,
    label: str = "",
    extra_delta: float = 0.0,
    budget: Budget | None = None,
    source: str | None = None,
) -> Payment:
    """Charge the ledger and bind it to its source; without a ledger the payment is unaccounted."""
    must_be_ledger(ledger)
    if ledger is None:
        return unaccounted(releases)
    pair = {} if budget is None else {"epsilon": budget.epsilon, "delta": budget.delta}
    made = ledger.spend(releases, label=label, extra_delta=extra_delta, **pair)
    if source is not None:
        ledger.bind(source)  # not before: a refused request must not tie the ledger to its table
    return made
