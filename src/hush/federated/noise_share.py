"""Shares of a noise: each party adds one share, and the sum of the shares is the calibrated noise."""

from __future__ import annotations

from dataclasses import dataclass
from fractions import Fraction
from typing import Any

import numpy as np
from numpy.typing import NDArray

from hush.errors import InvalidParameter, NotPaid, Unsupported, one_of, reject, shown, whole
from hush.federated.divisible import power
from hush.federated.sum_curve import rounded_sum_curve, rounded_vectors_curve
from hush.ledger.payment import Payment, must_be_payment
from hush.noise.catalogue import in_words
from hush.noise.contract import Law, Noise
from hush.privacy.charge import Charge
from hush.privacy.compose import curve
from hush.privacy.curve import Curve
from hush.privacy.sensitivity import Sensitivity
from hush.sampling.entropy import Entropy
from hush.sampling.exact import draw
from hush.sampling.mechanism import Mechanism

__all__ = ["VIEWS", "Share", "numbers", "share"]

#: The view of an observer: of the sum ("central"), or of one party's message ("local").
VIEWS = ("central", "local")


@dataclass(frozen=True)
class Share:
    """One party's share of a noise: the sum of `honest` independent shares has exactly the law of `target`.

    Guarantees: the sum over any `honest` parties is at least as private as `target`, whatever the other parties do.
    They may collude with the server and reveal their own shares. A further share is independent noise and never
    reduces privacy.
    """

    target: Noise
    parties: int
    honest: int

    @property
    def noise(self) -> Noise:
        """The law of one share."""
        return self.sum_of(1)

    @property
    def total(self) -> Noise:
        """The law of the sum if all parties answer: more noise than `target` if honest < parties."""
        return self.sum_of(self.parties)

    def sum_of(self, count: int) -> Noise:
        """The law of the sum of `count` shares."""
        count = whole("count", count, 1, "write share.sum_of(10)")
        return power(self.target, Fraction(count, self.honest))

    def draw(self, size: Any, step: float | None = None, *, entropy: Entropy | None = None) -> NDArray[np.int64]:
        """`size` exact draws of one share in lattice steps, for simulations.

        To add noise to a party's values, use `add` with a payment.
        """
        return draw(self.noise, size, step, entropy)

    def charge(self, view: str, sensitivity: Any = 1.0) -> Charge:
        """The cost of one release for a party: of showing the sum ("central") or its message alone ("local")."""
        one_of("view", view, VIEWS)
        return Charge(self.target if view == "central" else self.noise, Sensitivity.of(sensitivity))

    def add(
        self, steps: Any, payment: Payment, step: float | None = None, *, entropy: Entropy | None = None
    ) -> NDArray[np.int64]:
        """One party's values, integers in lattice steps, plus a new share each, modulo 2^64.

        Guarantees: raises `NotPaid` without a draw unless the payment holds a `charge` of this share, in either view,
        that was not used before.
        """
        must_be_payment(payment)
        known = (self.target.plain(), self.noise.plain())
        paid = next((charge for charge in payment.charges if charge.once.noise in known), None)
        if paid is None:
            raise NotPaid(
                "this payment is not for these shares, so nothing was drawn; "
                "pay for share.charge('central') or share.charge('local')."
            )
        if payment.entry is not None and paid.once.noise != self.noise.plain() and not self.noise.discrete:
            raise Unsupported(
                "this payment is for the unrounded sum, and a sum of rounded shares has another law; use lattice noise "
                "such as Skellam, or pay for share.charge('local'), or use federated.agree(...)."
            )
        return self.add_for(paid, steps, payment, step, entropy=entropy)

    def add_for(
        self, charge: Charge, steps: Any, payment: Payment, step: float | None = None, *, entropy: Entropy | None = None
    ) -> NDArray[np.int64]:
        """Like `add`, for a given charge of the payment."""
        values = np.asarray(steps)
        if values.dtype.kind not in "iu":
            raise InvalidParameter(
                f"steps must be integers, in whole numbers of lattice steps, got an array of {values.dtype}; "
                "round the values first."
            )
        lattice = self.noise.step if step is None and self.noise.discrete else step
        if lattice is None:
            raise InvalidParameter("step must be given for noise that is rounded to a lattice; write step=0.1.")
        if charge.sensitivity.dimension not in (None, values.size):
            count = charge.sensitivity.dimension
            raise InvalidParameter(
                f"the payment is for {count} number{'s' * (count != 1)}, got {values.size}; "
                f"pay for a Sensitivity with dimension={values.size}."
            )
        made = Mechanism(self.noise, charge.sensitivity, lattice, coordinates=values.size, part_of=charge)
        # Draw the noise on zeros: a mechanism saturates its output, and a sum modulo 2^64 must wrap around instead.
        return values.astype(np.int64) + payment.noise(made, np.zeros(values.shape, dtype=np.int64), entropy=entropy)

    def central(
        self, sensitivity: Any = 1.0, *, answering: int | None = None, step: float | None = None, coordinates: int = 1
    ) -> Curve:
        """The privacy curve of the sum of `answering` honest shares; the default is `honest`, the planned number.

        Without `step` the shares are real numbers, or defined on a lattice. With `step` they are rounded to that
        lattice, and the curve comes from the theorem or the certificate of `rounded_sum_curve`, because a sum of
        rounded shares is not the rounded sum. `coordinates` is the number of released numbers: each of their draws can
        saturate its 64-bit word.
        """
        count = self.honest if answering is None else whole("answering", answering, 1, "write answering=70")
        if count > self.parties:
            raise reject(
                "answering", answering, f"at most the {self.parties} parties", f"write answering={self.parties}"
            )
        if step is None or self.noise.discrete:
            return curve(power(self.target, Fraction(count, self.honest), upwards=False), sensitivity)
        if not isinstance(self.noise, Law):
            return rounded_vectors_curve(self.noise, count, step, sensitivity)
        return rounded_sum_curve(self.noise, count, step, sensitivity, numbers(sensitivity, coordinates, self.noise))

    def local(self, sensitivity: Any = 1.0) -> Curve:
        """The privacy curve of one party's message alone; rounding it is post-processing."""
        return curve(self.noise, sensitivity)

    def __str__(self) -> str:
        lines = [f"each of {self.parties} parties adds {in_words(self.noise)}"]
        if self.honest < self.parties:
            lines.append(
                f"{self.honest} of them together add {in_words(self.target)}, and all of them {_total_in_words(self)}"
            )
        else:
            lines.append(f"together they add {in_words(self.target)}")
        lines.append(
            "the privacy depends on how far one party moves the sum: share.central(sensitivity), share.local(...)"
        )
        return "; ".join(lines)


def numbers(sensitivity: Any, coordinates: int, noise: Noise) -> int:
    """The number of released numbers: `coordinates`, and at least the number that one party can move; all numbers of a
    joint noise.
    """
    return max(whole("coordinates", coordinates), Sensitivity.of(sensitivity).l0 or 1, noise.dimension or 1)


def _total_in_words(made: Share) -> str:
    try:
        return in_words(made.total)
    except Unsupported as refused:
        return f"more noise ({refused})"


def share(noise: Noise, parties: int, *, honest: int | None = None) -> Share:
    """The share that each of `parties` parties adds, such that the shares of `honest` of them sum to exactly `noise`.

    The default of `honest` is all parties. Of the joint noises, `Correlated(Gaussian(sigma), ...)` has shares: each
    party adds a whole vector.

    >>> from hush import Stable
    >>> round(share(Stable(1.0, 10.0), 20, honest=10).total.gamma, 9)
    20.0
    """
    if not isinstance(noise, Noise):
        raise InvalidParameter(
            f"noise must be a noise such as Stable(1.7, 10.0), got {shown(noise)}; write share(Stable(1.7, 10.0), 100)."
        )
    parties = whole("parties", parties, 1, "write share(noise, 100)")
    counted = parties if honest is None else whole("honest", honest, 1, "write share(noise, 100, honest=70)")
    if counted > parties:
        raise reject("honest", honest, f"at most the {parties} parties", f"write honest={parties} or leave it out")
    power(noise, Fraction(1, counted))  # raises early if this family is not divisible
    return Share(noise, parties, counted)
