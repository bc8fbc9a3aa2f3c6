"""Where two curves cross."""

from __future__ import annotations

import math
from collections.abc import Callable
from typing import Any

import numpy as np
from numpy.typing import NDArray
from scipy.optimize import brentq

__all__ = ["crossing"]

Array = NDArray[np.float64]


def crossing(difference: Callable[[Array], Any], positive: float, negative: float) -> float:
    """The point where the difference of two curves changes sign, by Brent's method.

    `difference` takes an array. It is positive at the point `positive`, and it is not positive at the point `negative`
    and at the point that is returned.

    >>> round(crossing(lambda x: 2.0 - x * x, 0.0, 4.0), 6)
    1.414214
    """

    def at(point: float) -> float:
        value = float(np.asarray(difference(np.array([point])), dtype=np.float64)[0])
        return value or -5e-324  # both curves may be 0 far out: that is no crossing

    root = float(brentq(at, positive, negative, xtol=1e-14, rtol=1e-13))
    step = math.copysign(1e-14 + 1e-13 * abs(root), negative - positive)
    while at(root) > 0.0:
        root += step
    return root
