"""Ball noise under a bound on the l2 norm of all moves: the exact loss of the longest move."""

from __future__ import annotations

from dataclasses import dataclass
from fractions import Fraction
from functools import cached_property

import numpy as np
from numpy.typing import NDArray

from hush.noise.ball import Ball
from hush.noise.laplace import Laplace
from hush.numerics.bracket import Bracket
from hush.numerics.rounding import round_up
from hush.privacy.ball_loss import BallLoss
from hush.privacy.by_box import AtMost, Pairs
from hush.privacy.charge import Charge
from hush.privacy.curve import Mirrored, OneNumber
from hush.privacy.divergence import laplace_divergence

__all__ = ["BallPair", "ball_covers", "ball_pairs", "ball_pure", "ball_renyi"]

Array = NDArray[np.float64]


@dataclass(frozen=True)
class BallPair(Mirrored):
    """Ball noise in `dimension` >= 2 numbers whose l2 norm moves by at most `ratio` scales: exact."""

    dimension: int
    ratio: float

    @cached_property
    def _loss(self) -> BallLoss:
        return BallLoss(self.dimension, self.ratio)

    def _forward(self, epsilon: Array) -> Bracket:
        return Bracket(self._end(epsilon, "lower"), self._end(epsilon, "upper"))

    def _end(self, epsilon: Array, end: str) -> Array:
        return self._loss.delta(np.asarray(epsilon, dtype=np.float64), upper=end == "upper")

    @property
    def pure_epsilon(self) -> float:
        return self.ratio


def ball_covers(charge: Charge) -> bool:
    """Ball noise under any facts: every one of them implies an l2 bound."""
    return isinstance(charge.noise, Ball) and charge.rate is None


def ball_pure(charge: Charge) -> Fraction:
    """The l2 bound over the scale."""
    assert isinstance(charge.noise, Ball)
    return Fraction(charge.sensitivity.l2_bound) / Fraction(charge.noise.scale)


def ball_pairs(charge: Charge) -> Pairs:
    noise = charge.noise
    assert isinstance(noise, Ball)
    pair: Mirrored
    if noise.dimension == 1:  # this is Laplace noise
        pair = OneNumber(Laplace(noise.scale), charge.sensitivity.l2_bound)
    else:  # a longer move is worse, so its length may be rounded up
        pair = BallPair(noise.dimension, round_up(ball_pure(charge)))
    return [(pair if charge.sensitivity.reaches_l2_bound else AtMost(pair), charge.times)]


def ball_renyi(charge: Charge, order: float) -> float:
    assert isinstance(charge.noise, Ball)
    ratio = round_up(ball_pure(charge))
    if charge.noise.dimension == 1:
        return laplace_divergence(ratio, order)
    return BallLoss(charge.noise.dimension, ratio).divergence(order)
