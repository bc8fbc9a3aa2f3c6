"""Privacy amplification by sampling: Poisson samples for one person more or less, and batches of a fixed size for one
person replaced.
"""

from __future__ import annotations

import math
from functools import cached_property
from typing import Any

import numpy as np
from numpy.typing import NDArray

from hush.errors import as_float, reject
from hush.numerics.bracket import Bracket
from hush.numerics.rounding import (
    DISTANCE_TO_LIMIT,
    ELEMENTARY,
    FEW_ROUNDINGS,
    TINY,
    Claim,
    down,
    next_down,
    next_up,
    up,
)
from hush.privacy.curve import Curve, Mirrored
from hush.privacy.loss_ladder import LossLadder
from hush.privacy.loss_pair import kinks_of

__all__ = ["Subsampled", "sampling_rate"]

Array = NDArray[np.float64]

_HUGE = 1e300  # above it, log(1 + x) is log(x) to far more digits than a float has


def sampling_rate(value: Any) -> float:
    """A sampling probability, checked."""
    rate = as_float("rate", value, "greater than 0 and at most 1")
    if not 0.0 < rate <= 1.0:
        raise reject("rate", value, "greater than 0 and at most 1", "write for example rate=0.01")
    return rate


def _product_above(delta: Array, factor: float | Array, claim: Claim) -> Array:
    """An upper bound of delta * factor. Products below the normal floats have no relative error bound; they are within
    one least float. So a positive product is never rounded to 0.
    """
    return np.where(delta > 0.0, up(np.asarray(delta * factor), claim) + TINY, 0.0)


def _product_below(delta: Array, factor: float | Array, claim: Claim) -> Array:
    """A lower bound of delta * factor, in the same way."""
    return np.maximum(down(np.asarray(delta * factor), claim) - TINY, 0.0)


class Subsampled(Curve):
    """A release on a sample of the people: each is in it with probability `rate`.

    With q the rate, and P and Q the output with and without the person, the neighbours of a Poisson sample are the
    mixture q P + (1 - q) Q and Q, in either order:

        forward   delta(e) = q delta_PQ(log(1 + (e^e - 1)/q))
        backward  delta(e) = (1 - e^e (1 - q)) delta_QP(log(q e^e/(1 - (1 - q) e^e))) while (1 - q) e^e < 1, and 0
        beyond

    (Balle, Barthe and Gaboardi 2018, Theorems 8 and 13, for one person more or less). The public curve is the worse
    of the two.

    With `fixed`, samples have a fixed size and are drawn without replacement, and one person replaces another. Then the
    forward curve bounds both directions (the same paper, on sampling without replacement), so it is the upper end of
    both. The lower end of backward is that of a Poisson sample, which data reach where all other people are alike.

    `whole` is the curve of the release without sampling; it must hold for all pairs of neighbours, in both directions.

    >>> from hush import Gaussian
    >>> from hush.privacy.curve import OneNumber
    >>> s = Subsampled(OneNumber(Gaussian(1.0), 1.0), 0.01)
    >>> s.delta(0.1) < 0.01 * 0.4
    True
    """

    def __init__(self, whole: Mirrored, rate: float, *, fixed: bool = False) -> None:
        self.whole = whole
        self.rate = sampling_rate(rate)
        self.fixed = fixed

    def __eq__(self, other: object) -> bool:
        return isinstance(other, Subsampled) and self._key == other._key

    def __hash__(self) -> int:
        return hash(self._key)

    @property
    def _key(self) -> tuple[Mirrored, float, bool]:
        return self.whole, self.rate, self.fixed

    def __repr__(self) -> str:
        return f"Subsampled({self.whole}, rate={self.rate:g}{', fixed=True' if self.fixed else ''})"

    def forward(self, epsilon: Array) -> Bracket:
        """The data with the person against the data without."""
        return Bracket(self.end(epsilon, "lower", backward=False), self.end(epsilon, "upper", backward=False))

    def backward(self, epsilon: Array) -> Bracket:
        """The data without the person against the data with."""
        return Bracket(self.end(epsilon, "lower", backward=True), self.end(epsilon, "upper", backward=True))

    def end(self, epsilon: Array, end: str, *, backward: bool) -> Array:
        """One end of the forward or the backward curve, at half the work."""
        epsilon = np.asarray(epsilon, dtype=np.float64)
        if self.rate == 1.0:
            return np.asarray(getattr(self.whole.forward(epsilon), end))
        swapped = backward and not (self.fixed and end == "upper")
        return self._backward_end(epsilon, end) if swapped else self._forward_end(epsilon, end)

    def _forward_end(self, epsilon: Array, end: str) -> Array:
        raised = self._raised(epsilon)
        if end == "upper":
            inner = self.whole.forward(next_down(down(raised, FEW_ROUNDINGS)).clip(0.0))
            return _product_above(np.asarray(inner.upper), self.rate, FEW_ROUNDINGS)
        inner = self.whole.forward(np.where(epsilon > 0.0, next_up(up(raised, FEW_ROUNDINGS)), 0.0))
        return _product_below(np.asarray(inner.lower), self.rate, FEW_ROUNDINGS)

    def _raised(self, epsilon: Array) -> Array:
        """log(1 + (e^e - 1)/q), written so that neither e^e nor the quotient overflows."""
        grown = np.expm1(np.minimum(epsilon, 30.0))
        with np.errstate(over="ignore", divide="ignore"):
            ratio = grown / self.rate
            small = np.where(ratio < _HUGE, np.log1p(ratio), np.log(grown) - math.log(self.rate))
        large = epsilon - math.log(self.rate) + np.log1p(-(1.0 - self.rate) * np.exp(-np.maximum(epsilon, 30.0)))
        return np.where(epsilon > 30.0, large, small)

    def _backward_end(self, epsilon: Array, end: str) -> Array:
        """left * delta_QP(log(1 + (e^e - 1)/left)) with left = 1 - (1 - q) e^e, which is the formula of the class.

        It rises with `left`. Close to the limit, `left` is a difference of nearly equal numbers; so it is moved to the
        safe side by a share of the limit, which is more than its error, before it is used.
        """
        limit = -math.log1p(-self.rate)  # here e^e (1 - q) = 1
        slack = limit * DISTANCE_TO_LIMIT.share
        left = -np.expm1(np.minimum(epsilon - limit, 1.0)) + (slack if end == "upper" else -slack)
        inside = left > 0.0
        left = np.where(inside, np.minimum(left, 1.0), 1.0)
        with np.errstate(over="ignore"):
            raised = np.where(inside, np.log1p(np.expm1(np.where(inside, epsilon, 0.0)) / left), 0.0)
        if end == "upper":
            upper = self.whole.forward(next_down(down(raised, FEW_ROUNDINGS)).clip(0.0)).upper
            return np.where(inside, _product_above(np.asarray(upper), left, ELEMENTARY), 0.0)
        lower = self.whole.forward(np.where(raised > 0.0, next_up(up(raised, FEW_ROUNDINGS)), 0.0)).lower
        return np.where(inside, _product_below(np.asarray(lower), left, ELEMENTARY), 0.0)

    def _end(self, epsilon: Array, end: str) -> Array:
        return np.maximum(self.end(epsilon, end, backward=False), self.end(epsilon, end, backward=True))

    def _forward(self, epsilon: Array) -> Bracket:
        return Bracket(self._end(epsilon, "lower"), self._end(epsilon, "upper"))

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
    def ladder(self) -> LossLadder | None:
        """The losses on a ladder, which composition uses; None without sampling."""
        if self.rate == 1.0:
            return None
        kinks = kinks_of(self.whole)
        with np.errstate(over="ignore"):
            there = np.logaddexp(math.log1p(-self.rate), math.log(self.rate) + kinks)
        return LossLadder(self, (there, -np.log1p(self.rate * np.expm1(-kinks))))

    @property
    def spread(self) -> float:
        """The typical loss."""
        return self.whole.spread if self.ladder is None else self.ladder.typical

    @property
    def atoms(self) -> tuple[float, ...]:
        return ()
