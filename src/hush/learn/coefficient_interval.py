"""Intervals of coefficients, and the methods of an estimator that show them."""

from __future__ import annotations

import math
import warnings
from dataclasses import dataclass
from typing import Any

import numpy as np
from numpy.typing import NDArray
from scipy.special import ndtri

from hush.errors import called_like, must_be_level
from hush.learn.scikit_learn import Absent, check_is_fitted
from hush.noise.contract import Noise

__all__ = ["CoefficientIntervals", "IntervalMethods", "in_receipt"]

Array = NDArray[np.float64]

_COVERS = (
    "noise and sampling; the target is the coefficients of the linear or logistic model of the population, without "
    "penalty, shrinkage and clipping"
)
_EXCLUDES = (
    "values beyond bounds, targets beyond a few spreads, a model that is wrong, residuals whose variance depends on "
    "the features, rows that are not independent of each other"
)


@dataclass(frozen=True)
class CoefficientIntervals:
    """Estimates of all coefficients without the biases of the fit, with standard errors for noise and sampling."""

    estimate: Array
    standard_error: Array
    intercept: float
    intercept_standard_error: float
    #: the noise of the released sums; None without privacy
    noise: Noise | None = None

    @property
    def finite(self) -> bool:
        """Whether the noise leaves anything to see."""
        return bool(np.isfinite(self.standard_error).all())

    def reach(self, level: float) -> float:
        """The half width of an interval in standard errors: the larger one of normal errors and of the noise alone.

        >>> round(CoefficientIntervals(np.zeros(1), np.ones(1), 0.0, 1.0).reach(0.95), 3)
        1.96
        """
        outside = 0.5 * (1.0 - must_be_level(level))
        normal = -float(ndtri(outside))
        if self.noise is None:
            return normal
        law = self.noise.marginal
        return max(normal, float(np.asarray(law.isf(outside))) / math.sqrt(law.variance))

    def ends(self, level: float) -> Array:
        """The ends of all intervals, one row (low, high) per coefficient and one for the intercept."""
        middle = np.append(self.estimate, self.intercept)
        half = self.reach(level) * np.append(self.standard_error, self.intercept_standard_error)
        return np.stack([middle - half, middle + half], axis=1)


class IntervalMethods:
    """The part of an estimator that shows the intervals of its coefficients."""

    _intervals: CoefficientIntervals | None

    @called_like("coef_interval(level=0.95)")
    def coef_interval(self, *, level: float = 0.95) -> Array:
        """One row (low, high) for each coefficient, in the units of X. A fit with `interval_share` has them.

        Each interval covers its coefficient in the linear or logistic model of the population, without penalty,
        shrinkage and clipping, with a probability of at least `level`. It holds noise and sampling. It does not hold
        values beyond the bounds, a wrong model, and residuals whose variance depends on the features. Its middle is
        `unbiased_coef_`, which is not `coef_`: the coefficients of the fit are biased, in order to predict well. Where
        the noise hides the data, standard errors and intervals are infinite, and a warning says so.
        """
        return self._warned().ends(level)[:-1]

    @called_like("intercept_interval(level=0.95)")
    def intercept_interval(self, *, level: float = 0.95) -> Array:
        """The ends (low, high) of the intercept's interval, as in `coef_interval`."""
        return np.asarray(self._warned().ends(level)[-1])

    def _warned(self) -> CoefficientIntervals:
        found = self._known_intervals
        if not found.finite:
            warnings.warn(
                "the noise hides the data, so the intervals of all coefficients are infinite: use more rows, fewer "
                "features, a larger epsilon or a larger interval_share; or leave one column out if some add up to a "
                "constant, as a dummy for each of all categories does.",
                UserWarning,
                stacklevel=3,
            )
        return found

    @property
    def standard_errors_(self) -> Array:
        """The standard errors of `unbiased_coef_`, for noise and sampling."""
        return self._known_intervals.standard_error

    @property
    def intercept_standard_error_(self) -> float:
        """The standard error of `unbiased_intercept_`."""
        return self._known_intervals.intercept_standard_error

    @property
    def unbiased_coef_(self) -> Array:
        """Coefficients without the biases of penalty, shrinkage and clipping: the middles of their intervals."""
        return self._known_intervals.estimate

    @property
    def unbiased_intercept_(self) -> float:
        """The middle of the intercept's interval."""
        return self._known_intervals.intercept

    @property
    def _known_intervals(self) -> CoefficientIntervals:
        check_is_fitted(self)
        if self._intervals is None:
            raise Absent(
                "this fit has no intervals, because clipping and shrinkage bias its coefficients by unknown amounts; "
                "write interval_share=0.3, which uses 30 % of the budget for intervals, and fit again."
            )
        return self._intervals


def in_receipt(found: CoefficientIntervals | None, share: float) -> dict[str, Any] | None:
    """The intervals of a fit in the form that receipts use."""
    if found is None:
        return None
    return {
        "share": share,
        "estimates": found.estimate.tolist(),
        "finite": found.finite,
        "standard_errors": found.standard_error.tolist() if found.finite else None,
        "intercept": found.intercept,
        "intercept_standard_error": found.intercept_standard_error if found.finite else None,
        "covers": _COVERS,
        "does_not_cover": _EXCLUDES,
    }
