"""The descent to the best shape of a family, whose loss has one minimum."""

from __future__ import annotations

import math
from collections.abc import Callable

from hush.numerics.rounding import FLAT_MINIMUM, Claim, up

__all__ = ["downhill"]


def downhill(
    function: Callable[[float], float],
    start: float,
    low: float,
    high: float,
    stride: float,
    *,
    flat: Claim = FLAT_MINIMUM,
    turns: int = 7,
) -> None:
    """Walk from the start to a minimum and approach it by parabolas; the function caches its values.

    The search ends where the neighbours of the best point differ by less than `flat`.
    """
    points = sorted({min(max(start + s * stride, low), high) for s in (-1.0, 0.0, 1.0)})
    for turn in range(turns):
        best = min(points, key=function)
        at = points.index(best)
        left, right = points[max(at - 1, 0)], points[min(at + 1, len(points) - 1)]
        if left == best or right == best:  # the best is at the end of the points: go further, unless the range ends
            beyond = min(max(best + (1.6**turn) * stride * (1.0 if right == best else -1.0), low), high)
            if beyond in points:
                return
            points = sorted({*points, beyond})
            continue
        worst = max(function(left), function(right))
        if worst < up(function(best), flat):
            return
        vertex = _vertex((left, best, right), (function(left), function(best), function(right)))
        if abs(vertex - best) <= 0.03 * (right - left):  # confirm the best point on its wider side
            vertex = best + 0.1 * max((left - best, right - best), key=abs)
        points = sorted({*points, vertex})


def _vertex(x: tuple[float, float, float], y: tuple[float, float, float]) -> float:
    """The lowest point of the parabola through three points (the outer values may be infinite)."""
    if not all(math.isfinite(v) for v in y):
        return 0.5 * (x[1] + (x[0] if math.isfinite(y[0]) else x[2]))
    first, second = (x[1] - x[0]) * (y[1] - y[2]), (x[1] - x[2]) * (y[1] - y[0])
    if first == second:
        return x[1]
    vertex = x[1] - 0.5 * ((x[1] - x[0]) * first - (x[1] - x[2]) * second) / (first - second)
    return min(max(vertex, x[0] + 0.1 * (x[1] - x[0])), x[2] - 0.1 * (x[2] - x[1]))
