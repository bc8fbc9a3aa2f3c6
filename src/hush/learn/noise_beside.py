"""The noise of one part of a fit beside charges of the same fit whose noise is known."""

from __future__ import annotations

import math
from functools import lru_cache
from typing import TYPE_CHECKING

from hush.calibration.ranking import calibrate
from hush.errors import Unsupported
from hush.noise.contract import Noise
from hush.noise.gaussian import Gaussian
from hush.numerics.rounding import COARSE_SEARCH, SPARE, up
from hush.numerics.search import safe_end
from hush.privacy.charge import Budget, Charge
from hush.privacy.compose import compose
from hush.privacy.sensitivity import Sensitivity

if TYPE_CHECKING:
    from hush.learn.budget import Wish

__all__ = ["amount_beside", "shaped"]

_LARGEST_FACTOR = 1e6  # give up enlarging a noise beyond this multiple of its scale


@lru_cache(maxsize=256)
def amount_beside(budget: Budget, least: float, others: tuple[Charge, ...]) -> float:
    """The least Gaussian sigma for an l2 bound of 1 that meets the budget together with other charges."""
    one = Sensitivity(l2=1.0, dimension=1, neighbours=others[0].neighbours)

    def fits(amount: float) -> bool:
        return budget.covers(compose([*others, Charge(Gaussian(amount), one)]))

    low, high = least, 1.2 * least
    while not fits(high):
        low, high = high, 1.5 * high
        if high > _LARGEST_FACTOR * least:
            raise Unsupported(
                "the other releases of this fit (private bounds, a choice of columns, class counts, the mean of the "
                "target) use the whole "
                "budget; write a larger epsilon, or declare bounds and write n_features_to_keep='all'."
            )
    return up(safe_end(fits, low, high, relative=COARSE_SEARCH.share, geometric=True), SPARE)


def shaped(epsilon: float, delta: float, wish: Wish, family: str | None, others: list[Charge]) -> Noise | None:
    """The best member of the family for the whole budget, enlarged until all parts together meet the budget.

    The result is None if even an enlargement by `_LARGEST_FACTOR` is not enough.
    """
    noise = calibrate(epsilon, delta, wish.bound, family=family, times=wish.times).noise
    if not others:
        return noise

    def fits(factor: float) -> bool:
        return Budget(epsilon, delta).covers(
            compose([*others, Charge(noise.widened(factor), wish.bound, times=wish.times)])
        )

    low, high = 1.0, 1.0 / math.sqrt(wish.share) * 1.02
    while not fits(high):
        low, high = high, 1.3 * high
        if high > _LARGEST_FACTOR:
            return None
    return noise.widened(safe_end(fits, low, high, relative=COARSE_SEARCH.share, geometric=True))
