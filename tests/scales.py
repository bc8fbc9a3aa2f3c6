"""Checks of measured errors against planned ones, with a false-alarm rate of about 1e-6."""

from __future__ import annotations

import math

import numpy as np
from scipy.stats import binom, t

FALSE_ALARM = 1e-6


def must_have_planned_error(per_release: np.ndarray, planned: float) -> None:
    """Independent releases have this mean squared error on average, and clearly not that of 2/3 or 3/2 of the noise.

    The mean of the releases is compared with its own standard error, by Student's t.
    """
    releases = np.asarray(per_release, dtype=float)
    error = releases.std(ddof=1) / math.sqrt(releases.size)
    wide = float(t.isf(FALSE_ALARM / 2.0, releases.size - 1)) * error
    assert abs(releases.mean() - planned) < wide, f"{releases.mean():.4g} instead of {planned:.4g} +- {wide:.4g}"
    for wrong in (4.0 / 9.0, 9.0 / 4.0):
        assert abs(releases.mean() - wrong * planned) > wide, "too few releases to tell a wrong scale"


def must_cover(covered: np.ndarray, level: float) -> None:
    """Independent intervals cover at least at their level."""
    hits, count = int(np.sum(covered)), len(covered)
    assert hits >= binom.ppf(FALSE_ALARM, count, level), f"{hits} of {count} at level {level}"
