"""Independent copies of a law, where it is known how many numbers move and how far each of them can move.

For a symmetric unimodal law the hockey-stick divergence grows with the shift. So in the worst case every number that
can move makes its full move, and the curve is the composition of these.
"""

from __future__ import annotations

import math
from dataclasses import dataclass
from fractions import Fraction

import numpy as np
from numpy.typing import NDArray

from hush.noise.contract import Law, Noise
from hush.noise.gaussian import Gaussian
from hush.noise.laplace import Laplace
from hush.numerics.bracket import Bracket
from hush.numerics.rounding import FEW_ROUNDINGS, SAME_FACT, down, next_down, round_up, up
from hush.privacy.charge import Charge
from hush.privacy.curve import Curve, Mirrored, OneNumber
from hush.privacy.divergence import laplace_divergence, law_divergence
from hush.privacy.loss_pair import kinks_of

__all__ = ["AtMost", "Pairs", "box_covers", "box_of", "box_pairs", "box_pure", "box_renyi", "is_laplace"]

Array = NDArray[np.float64]
_DECIMAL = 1e-12  # relative to a shift: two floats that represent the same decimal differ by far less
#: Pairs of laws, and how often each is composed with itself.
Pairs = list[tuple[Curve, int]]


@dataclass(frozen=True)
class AtMost(Mirrored):
    """A pair that is an upper bound only: other facts may make the true worst case smaller, so the lower end is 0."""

    whole: Mirrored

    def _forward(self, epsilon: Array) -> Bracket:
        upper = self.whole._end(epsilon, "upper")
        return Bracket(np.zeros_like(upper), upper)

    def _end(self, epsilon: Array, end: str) -> Array:
        return self.whole._end(epsilon, end) if end == "upper" else np.zeros(np.shape(epsilon))

    @property
    def pure_epsilon(self) -> float:
        return self.whole.pure_epsilon

    @property
    def spread(self) -> float:
        return self.whole.spread

    @property
    def atoms(self) -> tuple[float, ...]:
        return self.whole.atoms

    @property
    def kinks(self) -> Array:
        return kinks_of(self.whole)


def box_of(charge: Charge) -> list[tuple[float, int]] | None:
    """The box in which the numbers move. If it follows from a norm, moves on a lattice are rounded down to whole
    steps.
    """
    bound, law = charge.sensitivity, charge.noise
    box = bound.box
    if box is None or bound.is_box or not isinstance(law, Noise) or not law.discrete:
        return box
    step = Fraction(law.step)
    listed = bound.linf if isinstance(bound.linf, tuple) else (bound.linf,)
    whole = [(s if s in listed else _whole_steps(s, step), count) for s, count in box]
    return whole if all(shift > 0.0 for shift, _ in whole) else box


def _whole_steps(shift: float, step: Fraction) -> float:
    """The largest move of whole steps within a shift. A decimal such as 0.3 is three steps of 0.1, though its float is
    smaller.
    """
    near = round(Fraction(shift) / step)
    same_decimal = abs(near * step - Fraction(shift)) <= Fraction(shift) * Fraction(_DECIMAL)
    return round_up(step * (near if same_decimal else Fraction(shift) // step))


def box_covers(charge: Charge) -> bool:
    """Every law, where the number of moving numbers is known; except where a sharper theorem implies this one."""
    if charge.rate is not None or not isinstance(charge.noise, Law) or isinstance(charge.noise, Gaussian):
        return False
    bound = charge.sensitivity
    if bound.box is None:
        return False
    total = bound.l1_bound
    if total is None or bound.moving == 1 or not isinstance(charge.noise, Laplace):
        return True
    return any(shift < down(total, SAME_FACT) for shift, _ in bound.shifts)


def box_pairs(charge: Charge) -> Pairs:
    box, bound = box_of(charge), charge.sensitivity
    assert box is not None and isinstance(charge.noise, Law)
    exact = bound.is_box or bound.moving == 1
    ones = ((OneNumber(charge.noise, shift), count * charge.times) for shift, count in box)
    return [(one if exact else AtMost(one), count) for one, count in ones]


def box_renyi(charge: Charge, order: float) -> float:
    law, box = charge.noise, box_of(charge)
    assert box is not None and isinstance(law, Law)

    def one(shift: float) -> float:
        return (
            laplace_divergence(shift / law.scale, order)
            if isinstance(law, Laplace)
            else law_divergence(law, order, shift)
        )

    return up(math.fsum(count * one(shift) for shift, count in box), FEW_ROUNDINGS)


def is_laplace(charge: Charge) -> bool:
    """Is the noise Laplace noise, which is concentrated (privacy/concentrated.py)?"""
    return isinstance(charge.noise, Laplace)


def box_pure(charge: Charge) -> Fraction | None:
    box, total = box_of(charge), Fraction(0)
    assert box is not None and isinstance(charge.noise, Law)
    for shift, count in box:
        one = _pure_of_one(charge.noise, shift)
        if one is None:
            return None
        total += one * count
    return total


def _pure_of_one(law: Law, shift: float) -> Fraction | None:
    exact = law.exact_max_loss(shift)
    if exact is not None:
        return exact
    curve = OneNumber(law, shift)
    most = curve.pure_epsilon
    if not math.isfinite(most):
        return None
    # the curve always rounds its number up; one float lower is accepted if delta is proved to be 0 there
    stated = next_down(most)
    return Fraction(stated if float(curve.delta(stated)) == 0.0 else most)
