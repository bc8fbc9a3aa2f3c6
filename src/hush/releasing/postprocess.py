"""Known estimators that reduce the noise of a released vector. They use the released numbers only."""

from __future__ import annotations

import math

import numpy as np
from numpy.typing import NDArray

from hush.errors import InvalidParameter, Unsupported, non_negative

__all__ = ["james_stein", "soft_threshold"]

Array = NDArray[np.float64]


def james_stein(noisy: Array, variance: float) -> Array:
    """The positive-part James-Stein estimate towards the mean:
    mean + (1 - (K - 3) variance/|y - mean|^2)_+ (y - mean), K >= 4.

    For Gaussian noise its expected squared error over the vector is less than that of the vector itself, for every true
    vector (James and Stein 1961; Efron and Morris 1973).

    >>> james_stein(np.array([9.0, 10.0, 10.0, 11.0]), 1.0).tolist()
    [9.5, 10.0, 10.0, 10.5]
    """
    if noisy.size < 4:
        raise InvalidParameter(
            f"method='james-stein' needs at least 4 numbers, got {noisy.size}; use method='soft-threshold'."
        )
    if not math.isfinite(variance):
        raise Unsupported("method='james-stein' needs noise of finite variance; use method='soft-threshold'.")
    centre = noisy.mean()
    spread = float(np.sum((noisy - centre) ** 2))
    kept = max(0.0, 1.0 - (noisy.size - 3) * variance / spread) if spread > 0.0 else 0.0
    return centre + kept * (noisy - centre)


def soft_threshold(noisy: Array, threshold: float | Array) -> Array:
    """Move each number towards 0 by the threshold; smaller ones become 0 (Donoho and Johnstone 1994).

    >>> soft_threshold(np.array([-5.0, 1.0, 4.0]), 2.0).tolist()
    [-3.0, 0.0, 2.0]
    """
    if np.ndim(threshold) == 0:
        threshold = non_negative("threshold", threshold)
    return np.sign(noisy) * np.maximum(np.abs(noisy) - threshold, 0.0)
