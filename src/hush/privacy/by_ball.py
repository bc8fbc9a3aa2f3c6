"""Ball noise and correlated noise: the exact loss of the longest move, in the metric of the noise."""

from __future__ import annotations

import math
from dataclasses import dataclass
from fractions import Fraction
from functools import cached_property

import numpy as np
from numpy.typing import NDArray

from hush.noise.ball import Ball
from hush.noise.correlated import Correlated
from hush.noise.gaussian import Gaussian
from hush.noise.laplace import Laplace
from hush.numerics.bracket import Bracket
from hush.numerics.rounding import next_up, round_up
from hush.privacy.ball_loss import BallLoss
from hush.privacy.by_box import AtMost, Pairs
from hush.privacy.charge import Charge
from hush.privacy.curve import Mirrored, OneNumber
from hush.privacy.divergence import gaussian_divergence, laplace_divergence
from hush.privacy.merged_gaussian import merged_gaussians
from hush.privacy.sensitivity import Sensitivity

__all__ = [
    "BallPair",
    "ball_covers",
    "ball_pairs",
    "ball_pure",
    "ball_renyi",
    "correlated_covers",
    "correlated_mu",
    "correlated_pairs",
    "correlated_pure",
    "correlated_renyi",
]

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


# -- correlated noise ----------------------------------------------------------------------------------------


def correlated_covers(charge: Charge) -> bool:
    """Correlated noise under any facts."""
    return isinstance(charge.noise, Correlated) and charge.rate is None


def _uncorrelated(charge: Charge) -> Charge:
    """The same privacy without the correlation: the inverse root of the correlation matrix maps the noise to `noise`
    and every move to one of at most this l2 norm.
    """
    noise, bound = charge.noise, charge.sensitivity
    assert isinstance(noise, Correlated)
    reach = _root_up(Fraction(bound.l2_bound) ** 2 * noise.any_length)
    if bound.one_sided is True and bound.box is not None and bound.moving is not None:
        most = max(shift for shift, _ in bound.box)
        reach = min(reach, _root_up(Fraction(most) ** 2 * noise.one_sided_length(bound.moving)))
    return Charge(noise.noise, Sensitivity(l2=reach, dimension=noise.dimension), times=charge.times)


def _root_up(square: Fraction) -> float:
    """A float that is not below the root."""
    near = math.sqrt(square)
    while Fraction(near) ** 2 < square:
        near = next_up(near)
    return near


def correlated_pairs(charge: Charge) -> Pairs:
    inner = _uncorrelated(charge)
    pairs: Pairs = [(merged_gaussians([inner]), 1)] if isinstance(inner.noise, Gaussian) else ball_pairs(inner)
    bound = charge.sensitivity
    counts = bound.is_box and bound.one_sided is True and not isinstance(bound.linf, tuple)
    if counts or (bound.reaches_l2_bound and not bound.is_box and bound.one_sided is False):
        return pairs
    return [(AtMost(pair), times) for pair, times in pairs]  # type: ignore[arg-type]


def correlated_pure(charge: Charge) -> Fraction | None:
    inner = _uncorrelated(charge)
    return None if isinstance(inner.noise, Gaussian) else ball_pure(inner)


def correlated_mu(charge: Charge) -> Fraction | None:
    """How far correlated Gaussian noise is moved, in standard deviations; None for other noise."""
    inner = _uncorrelated(charge)
    if not isinstance(inner.noise, Gaussian):
        return None
    return Fraction(inner.sensitivity.l2_bound) / Fraction(inner.noise.sigma)


def correlated_renyi(charge: Charge, order: float) -> float:
    inner = _uncorrelated(charge)
    if isinstance(inner.noise, Gaussian):
        return gaussian_divergence(inner.sensitivity.l2_bound / inner.noise.sigma, order)
    return ball_renyi(inner, order)
