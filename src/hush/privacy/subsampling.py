"""Privacy amplification by Poisson sampling, for neighbours that differ by one person more or less."""

from __future__ import annotations

import math
from functools import cached_property
from typing import Any

import numpy as np
from numpy.typing import NDArray

from hush.errors import Unsupported, as_float, reject
from hush.noise.contract import Law
from hush.numerics.bracket import Bracket
from hush.numerics.rounding import ELEMENTARY, FEW_ROUNDINGS, TWO_ROUNDINGS, down, next_down, next_up, up
from hush.privacy.curve import Curve, OneNumber
from hush.privacy.loss_cells import SampledCells
from hush.privacy.sensitivity import Sensitivity

__all__ = ["Subsampled", "sampling_rate"]

Array = NDArray[np.float64]


def sampling_rate(value: Any) -> float:
    """A sampling probability, checked."""
    rate = as_float("rate", value, "greater than 0 and at most 1")
    if not 0.0 < rate <= 1.0:
        raise reject("rate", value, "greater than 0 and at most 1", "write for example rate=0.01")
    return rate


class Subsampled(Curve):
    """A noise released on a Poisson sample of the people: each is kept with probability `rate`.

    With q the rate, and P and Q the output with and without the person, the neighbours are the mixture
    q P + (1 - q) Q and Q, in either order:

        forward   delta(e) = q delta_PQ(log(1 + (e^e - 1)/q))
        backward  delta(e) = (1 - e^e (1 - q)) delta_QP(log(q e^e/(1 - (1 - q) e^e))) while (1 - q) e^e < 1, and 0
        beyond

    (Balle, Barthe and Gaboardi 2018, Theorems 8 and 13, for one person more or less). The public curve is the worse
    of the two.

    >>> from hush import Gaussian
    >>> s = Subsampled(Gaussian(1.0), 0.01)
    >>> s.delta(0.1) < 0.01 * 0.4
    True
    """

    def __init__(self, noise: Law, rate: float, sensitivity: Any = 1.0) -> None:
        bound = Sensitivity.of(sensitivity)
        if not isinstance(noise, Law):
            raise reject("noise", noise, "a noise family", "write for example Gaussian(1.0)")
        shift = bound.l2_bound if noise.isotropic else bound.one_number
        if shift is None or bound.neighbours != "add-remove":
            raise Unsupported(
                "subsampling is proved for neighbours='add-remove', and for one number or Gaussian noise with an l2 "
                "bound only; write hush.subsample(noise, rate, 1.0)."
            )
        self.whole = OneNumber(noise, shift)
        self.rate = sampling_rate(rate)

    def __eq__(self, other: object) -> bool:
        return isinstance(other, Subsampled) and (self.whole, self.rate) == (other.whole, other.rate)

    def __hash__(self) -> int:
        return hash((self.whole, self.rate))

    def __repr__(self) -> str:
        return f"Subsampled({self.whole.noise}, rate={self.rate:g}, sensitivity={self.whole.shift:g})"

    def forward(self, epsilon: Array) -> Bracket:
        """The data with the person against the data without."""
        epsilon = np.asarray(epsilon, dtype=np.float64)
        # log(1 + (e^e - 1)/q), written so that e^e may overflow
        raised = np.where(
            epsilon > 30.0,
            epsilon - math.log(self.rate) + np.log1p(-(1.0 - self.rate) * np.exp(-np.maximum(epsilon, 0.0))),
            np.log1p(np.expm1(np.minimum(epsilon, 30.0)) / self.rate),
        )
        inner = self.whole.forward(next_down(down(raised, TWO_ROUNDINGS)).clip(0.0))
        lower = self.whole.forward(next_up(up(raised, TWO_ROUNDINGS))).lower
        return Bracket(
            down(np.asarray(lower) * self.rate, FEW_ROUNDINGS), up(np.asarray(inner.upper) * self.rate, FEW_ROUNDINGS)
        )

    def backward(self, epsilon: Array) -> Bracket:
        """The data without the person against the data with."""
        epsilon = np.asarray(epsilon, dtype=np.float64)
        if self.rate == 1.0:
            return self.whole.forward(epsilon)
        limit = -math.log1p(-self.rate)  # here e^e (1 - q) = 1
        inside = epsilon < limit
        left = -np.expm1(np.where(inside, epsilon, 0.0) - limit)  # 1 - (1 - q) e^e
        raised = math.log(self.rate) + np.where(inside, epsilon, 0.0) - np.log(left)
        upper = self.whole.forward(np.maximum(down(raised, TWO_ROUNDINGS) - FEW_ROUNDINGS.share, 0.0)).upper
        lower = self.whole.forward(np.maximum(up(raised, TWO_ROUNDINGS) + FEW_ROUNDINGS.share, 0.0)).lower
        return Bracket(
            np.where(inside, down(left * lower, ELEMENTARY), 0.0), np.where(inside, up(left * upper, ELEMENTARY), 0.0)
        )

    def _forward(self, epsilon: Array) -> Bracket:
        there, back = self.forward(epsilon), self.backward(epsilon)
        return Bracket(np.maximum(there.lower, back.lower), np.maximum(there.upper, back.upper))

    @property
    def pure_epsilon(self) -> float:
        """log(1 + q (e^pure - 1))."""
        pure = self.whole.pure_epsilon
        if pure > 700.0:
            return pure
        return up(math.log1p(self.rate * math.expm1(pure)), ELEMENTARY)

    @property
    def symmetric(self) -> bool:
        return False

    @cached_property
    def cells(self) -> SampledCells | None:
        """The probabilities of cells of losses, if they are known; composition uses them."""
        losses = self.whole.noise.loss_cells(self.whole.shift)
        return None if losses is None or self.rate == 1.0 else SampledCells(losses, self.rate)

    @property
    def spread(self) -> float:
        """The typical loss; where it is not known, about q times the spread without sampling, and never less than a
        thousandth of it.
        """
        if self.cells is not None:
            return self.cells.typical
        return self.whole.spread * max(self.rate, 1e-3)

    @property
    def atoms(self) -> tuple[float, ...]:
        return ()
