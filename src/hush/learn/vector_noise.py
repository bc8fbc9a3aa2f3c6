"""Ball noise for all vectors of a fit, where it has less variance than Gaussian noise.

The vectors of a fit are released one after another, and the later ones depend on the earlier ones. All their noises
are fixed before any data are read, so their exact curves compose. Each vector keeps its share of the budget in this
sense: the standard deviations of all parts have the same ratios as with Gaussian noise, and one common factor f is
searched for. So f < 1 means that every part has less noise than before.
"""

from __future__ import annotations

import math
from collections.abc import Callable
from functools import cache
from typing import TYPE_CHECKING

from hush.errors import HushError, Unsupported
from hush.noise import ball as ball_noise
from hush.noise.ball import Ball
from hush.noise.contract import Noise
from hush.noise.gaussian import Gaussian
from hush.numerics.rounding import COARSE_SEARCH
from hush.numerics.search import safe_secant
from hush.privacy.charge import Budget, Charge
from hush.privacy.compose import compose

if TYPE_CHECKING:
    from hush.learn.budget import Wish

__all__ = ["BALL", "noise_of_vectors"]

#: The name of ball noise.
BALL = ball_noise.FAMILY.name
#: Above this q = (d + 1)/(epsilon sigma_1)^2 ball noise saves only 5 to 8 % of the Gaussian's variance or less
#: (docs/learn_settings.md), so the search, which takes seconds, is skipped.
_GAUSSIAN_BEYOND = 5.0
#: Above this epsilon the search takes much longer, and the noise is small in any case.
_LARGEST_EPSILON = 30.0
_LEAST_FACTOR, _LARGEST_FACTOR = 1e-3, 1e3
_TINY = 1e-300
#: The search ends at this excess of log(delta); the standard deviation is then larger than needed by about 1e-3.
_NEAR = 0.01


def noise_of_vectors(
    budget: Budget,
    amount: float,
    wishes: tuple[Wish, ...],
    family: str | None,
    plain: list[Gaussian],
    others: tuple[Charge, ...] = (),
    *,
    choices: bool = False,
) -> tuple[Noise, ...]:
    """Ball noise for all parts if it is named, or if it has less variance; else the given Gaussian noise.

    `amount` is the Gaussian sigma for an l2 bound of 1. q is the variance of ball noise for delta = 0 divided by that
    of Gaussian noise, for the longest vector. `others` are further charges of the same fit. If there are `choices`
    among them, the noise is Gaussian unless ball noise is named: the search would take longer.
    """
    q = (max(wish.numbers for wish in wishes) + 1.0) / (budget.epsilon * amount) ** 2
    if family == BALL:
        return _least_balls(budget, wishes, plain, others)
    if choices or family is not None or q > _GAUSSIAN_BEYOND or budget.epsilon > _LARGEST_EPSILON:
        return tuple(plain)
    try:
        return _least_balls(budget, wishes, plain, others, less=True)
    except Unsupported:
        return tuple(plain)


def _least_balls(
    budget: Budget,
    wishes: tuple[Wish, ...],
    plain: list[Gaussian],
    others: tuple[Charge, ...],
    *,
    less: bool = False,
) -> tuple[Ball, ...]:
    """Ball noises with a common factor of the Gaussian standard deviations, the least that meets the budget.

    Guarantees: the composition of all parts meets the budget. Raises `Unsupported` if no factor is found, or if it must
    be `less` than 1 and is not.
    """

    def at(factor: float) -> tuple[Ball, ...]:
        return tuple(
            Ball(wish.numbers, factor * noise.sigma / math.sqrt(wish.numbers + 1.0))
            for wish, noise in zip(wishes, plain, strict=True)
        )

    @cache
    def excess(factor: float) -> float:
        """log(delta of all parts / delta of the budget): at most 0 exactly where the budget is met."""
        charges = [Charge(noise, wish.bound, times=wish.times) for noise, wish in zip(at(factor), wishes, strict=True)]
        found = float(compose([*others, *charges]).delta(budget.epsilon))
        logarithm = math.log(max(found, _TINY) / budget.delta)
        return max(logarithm, _TINY) if found > budget.delta else min(logarithm, 0.0)

    try:
        if less and excess(1.0) > 0.0:  # the search would find a factor above 1
            raise Unsupported("ball noise has more variance than Gaussian noise here.")
        unsafe, safe = _bracket(excess)
        return at(safe_secant(excess, unsafe, safe, relative=COARSE_SEARCH.share, near=_NEAR))
    except HushError as failure:
        raise Unsupported(f"ball noise could not be calibrated for this fit: {failure}") from failure


def _bracket(excess: Callable[[float], float]) -> tuple[float, float]:
    """Two factors near 1: the budget is exceeded at the first and met at the second."""
    growth = 0.8 if excess(1.0) <= 0.0 else 1.1
    factor = 1.0
    while _LEAST_FACTOR < factor < _LARGEST_FACTOR:
        before, factor = factor, growth * factor
        if (excess(factor) <= 0.0) != (growth < 1.0):
            return (factor, before) if growth < 1.0 else (before, factor)
    raise Unsupported("no scale of the noise meets the budget.")
