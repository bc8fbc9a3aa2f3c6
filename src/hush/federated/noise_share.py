"""The noise that each party adds so that the total is the noise that was calibrated."""

from __future__ import annotations

import math
from dataclasses import dataclass
from fractions import Fraction
from typing import Any

import numpy as np
from numpy.typing import NDArray

from hush.errors import InvalidParameter, NotPaid, Unsupported, one_of, reject, whole
from hush.federated.divisible import power
from hush.federated.lattice import rounded_sum_curve
from hush.ledger.payment import Payment, must_be_payment
from hush.noise.catalogue import in_words
from hush.noise.contract import Law
from hush.numerics.rounding import rounded_up
from hush.privacy.charge import Charge
from hush.privacy.compose import curve
from hush.privacy.curve import Curve
from hush.privacy.sensitivity import Sensitivity
from hush.sampling.entropy import Entropy
from hush.sampling.exact import draw
from hush.sampling.mechanism import Mechanism

__all__ = ["VIEWS", "Share", "numbers", "share"]

#: Who looks: somebody who sees the sum, or somebody who sees one party's message.
VIEWS = ("central", "local")


@dataclass(frozen=True)
class Share:
    """One party's part of a noise: `honest` independent shares add up to exactly the law of `target`.

    Guarantees: the sum over any `honest` parties is at least as private as `target`, whatever the other parties (who
    may collude with the server and know their own shares) do; a further share is one more independent noise, so it
    never hurts.
    """

    target: Law
    parties: int
    honest: int

    @property
    def noise(self) -> Law:
        """The law of one share."""
        return self.sum_of(1)

    @property
    def total(self) -> Law:
        """The law of the sum when all parties answer: more noise than `target` if fewer were counted on."""
        return self.sum_of(self.parties)

    def sum_of(self, count: int) -> Law:
        """The law of the sum of `count` shares."""
        count = whole("count", count, 1, "write share.sum_of(10)")
        return power(self.target, Fraction(count, self.honest))

    def draw(self, size: Any, step: float | None = None, *, entropy: Entropy | None = None) -> NDArray[np.int64]:
        """`size` draws of one share, in lattice steps: exactly the share's law rounded to (or living on) the lattice.
        For simulations.

        Noise on a party's values comes from `add`, with a payment.
        """
        return draw(self.noise, size, step, entropy)

    def charge(self, view: str, sensitivity: Any = 1.0) -> Charge:
        """What one release costs a party: "central", what the sum tells, or "local", what its own message tells."""
        one_of("view", view, VIEWS)
        return Charge(self.target if view == "central" else self.noise, Sensitivity.of(sensitivity))

    def add(
        self, steps: Any, payment: Payment, step: float | None = None, *, entropy: Entropy | None = None
    ) -> NDArray[np.int64]:
        """One party's values, in whole lattice steps, with a fresh share each, modulo 2^64.

        Guarantees: `NotPaid`, and no draw, unless the payment is for a `charge` of this share, in either view, that
        was not drawn yet.
        """
        must_be_payment(payment)
        known = (self.target.plain(), self.noise.plain())
        paid = next((charge for charge in payment.charges if charge.once.noise in known), None)
        if paid is None:
            raise NotPaid(
                "this payment is not for these shares, so nothing was drawn; charge share.charge('central') or ('local')."
            )
        if payment.entry is not None and paid.once.noise != self.noise.plain() and not self.noise.discrete:
            raise Unsupported(
                "a sum of rounded shares is not the rounded sum, and this payment is for the sum; use lattice noise such as "
                "Skellam, pay for the share itself, share.charge('local'), or agree on terms: federated.agree(...)."
            )
        return self.add_for(paid, steps, payment, step, entropy=entropy)

    def add_for(
        self, charge: Charge, steps: Any, payment: Payment, step: float | None = None, *, entropy: Entropy | None = None
    ) -> NDArray[np.int64]:
        """`add` for one of the charges of a payment."""
        values = np.asarray(steps)
        if values.dtype.kind not in "iu":
            raise InvalidParameter(
                f"steps must be whole numbers of lattice steps, got an array of {values.dtype}; round them first."
            )
        lattice = self.noise.step if step is None and self.noise.discrete else step
        if lattice is None:
            raise InvalidParameter("step must be given for noise that is rounded to a lattice; write step=0.1.")
        if charge.sensitivity.dimension not in (None, values.size):
            count = charge.sensitivity.dimension
            raise InvalidParameter(
                f"the payment is for {count} number{'s' * (count != 1)}, got {values.size}; charge a Sensitivity of all of them."
            )
        made = Mechanism(self.noise, charge.sensitivity, lattice, coordinates=values.size, part_of=charge)
        # the noise alone is limited to 2^61 steps, and the sum wraps around: what is added modulo a power of two must
        # not be limited
        return values.astype(np.int64) + payment.noise(made, np.zeros(values.shape, dtype=np.int64), entropy=entropy)

    def central(
        self, sensitivity: Any = 1.0, *, answering: int | None = None, step: float | None = None, coordinates: int = 1
    ) -> Curve:
        """The privacy of the sum of `answering` honest shares (as many as were planned for, unless told).

        Without `step`, of shares that are real numbers, or that live on a lattice. With it, of shares rounded to that
        lattice, by the theorem or the certificate of `rounded_sum_curve`: the sum of rounded shares is not the
        rounded sum. `coordinates` says how many numbers are released so, since each draw that saturates its 64 bits
        counts.
        """
        count = self.honest if answering is None else whole("answering", answering, 1, "write answering=70")
        if count > self.parties:
            raise reject(
                "answering", answering, f"at most the {self.parties} parties", f"write answering={self.parties}"
            )
        if step is None or self.noise.discrete:
            return curve(power(self.target, Fraction(count, self.honest), upwards=False), sensitivity)
        return rounded_sum_curve(self.noise, count, step, sensitivity, numbers(sensitivity, coordinates))

    def local(self, sensitivity: Any = 1.0) -> Curve:
        """The privacy of one party's own message, seen by itself: rounding it is post-processing."""
        return curve(self.noise, sensitivity)

    def __str__(self) -> str:
        lines = [f"each of {self.parties} parties adds {in_words(self.noise)}"]
        if self.honest < self.parties:
            lines.append(
                f"{self.honest} of them together add {in_words(self.target)}, all of them {_total_in_words(self)}"
            )
        else:
            lines.append(f"together they add {in_words(self.target)}")
        unit = self.target.step if self.target.discrete else 1.0
        for name, law in (("the sum", self.target), ("one message by itself", self.noise)):
            lines.append(f"privacy of {name}, for sensitivity {unit:g}: {_in_words(curve(law, unit))}")
        return "; ".join(lines)


def numbers(sensitivity: Any, coordinates: int) -> int:
    """How many numbers are released: as many as are said, and at least as many as one party can move."""
    return max(whole("coordinates", coordinates), Sensitivity.of(sensitivity).l0 or 1)


def _total_in_words(made: Share) -> str:
    try:
        return in_words(made.total)
    except Unsupported as refused:
        return f"more ({refused})"


def _in_words(made: Curve) -> str:
    """The pure epsilon, or the one at a small delta; plainly so where it promises nothing."""
    if math.isfinite(made.pure_epsilon):
        return f"pure epsilon {rounded_up(made.pure_epsilon, 4)}"
    found = float(np.asarray(made.epsilon(1e-6)))
    return (
        f"epsilon {rounded_up(found, 4)} at delta 1e-6, no pure epsilon"
        if math.isfinite(found)
        else "none worth stating, even at delta 1e-6"
    )


def share(noise: Law, parties: int, *, honest: int | None = None) -> Share:
    """What each of `parties` parties adds so that the shares of `honest` of them (all, unless told) sum to exactly
    `noise`.

    >>> from hush import Stable
    >>> round(share(Stable(1.0, 10.0), 20, honest=10).total.gamma, 9)
    20.0
    """
    if not isinstance(noise, Law):
        raise InvalidParameter(f"noise must be a noise such as Stable(1.7, 10.0), got {noise!r}.")
    parties = whole("parties", parties, 1, "write share(noise, 100)")
    counted = parties if honest is None else whole("honest", honest, 1, "write share(noise, 100, honest=70)")
    if counted > parties:
        raise reject("honest", honest, f"at most the {parties} parties", f"write honest={parties} or leave it out")
    power(noise, Fraction(1, counted))  # says now what it cannot share
    return Share(noise, parties, counted)
