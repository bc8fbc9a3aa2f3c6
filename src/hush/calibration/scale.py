"""The least scale of a shape. delta falls as the scale grows, so this is one root, approached from the private side."""

from __future__ import annotations

import math
from collections.abc import Callable

import numpy as np

from hush.errors import Unsupported
from hush.noise.contract import Law
from hush.noise.request import Request
from hush.privacy.composed_curve import DEFAULT_RELATIVE

__all__ = ["FINE", "at_scale", "base", "least", "typical"]

#: The grid of the final check. It is the grid of hush.delta, so that both agree.
FINE = DEFAULT_RELATIVE

_COARSE = 1e-4  # the share of the shift that the grid of the search may cost


def least(demand: Request, noise_at: Callable[[float], Law], start: float, *, relative: float, tolerance: float) -> Law:
    """The noise at the smallest x (to `tolerance`, from above) that meets the request. The returned noise was evaluated
    and meets it.

    `noise_at(x)` must become more private as x grows. log delta is nearly linear in the log of a scale, so three or
    four secant steps suffice; a bracket guards them. The searches of numerics/search.py do not fit here: this one
    starts without a bracket, and takes the secant of log delta or of delta, whichever is closer to linear.
    """
    seen: list[tuple[float, float]] = []
    low, high, safe = -math.inf, math.inf, None  # not private, private
    point = start
    for turn in range(120):
        noise = noise_at(point)
        value = demand.excess(noise, relative)
        seen.append((point, value))
        if value > 0.0:
            low = max(low, point)
        elif point <= high:
            high, safe = point, noise
        if safe is not None and (high - low <= tolerance or (value <= 0.0 and value > -tolerance)):
            return safe
        if math.isfinite(low) and math.isfinite(high):
            point = _next_inside(seen, low, high, tolerance, turn)
        else:
            reach = 0.3 * 3.0 ** (turn // 2)
            if reach > 1e4:
                break
            point += math.copysign(min(max(abs(_log_step(seen)) * 1.05, 0.1 * tolerance), reach), value)
    if safe is not None and math.isfinite(low):
        return safe
    raise Unsupported("no scale meets this budget" if safe is None else "every scale meets this budget")


def _log_step(seen: list[tuple[float, float]]) -> float:
    """The step to the root of the secant of log delta. At the start, a tenth of the excess, because log delta falls
    about ten times as fast.
    """
    point, value = seen[-1]
    if len(seen) < 2 or value < -50.0 or seen[-2][1] < -50.0 or seen[-2][1] == value:
        return 0.1 * value
    return -value * (point - seen[-2][0]) / (value - seen[-2][1])


def _next_inside(seen: list[tuple[float, float]], low: float, high: float, tolerance: float, turn: int) -> float:
    """The next point inside a bracket: the secant of log delta where it is smooth, and of delta itself where delta
    vanishes at a corner.
    """
    values = dict(seen)
    if turn % 3 == 2:
        point = 0.5 * (low + high) if turn % 6 == 5 else low + (high - low) * _linear_share(values[low], values[high])
    elif values[high] < -3.0:
        point = low + (high - low) * _linear_share(values[low], values[high])
    else:
        point = low + (high - low) * values[low] / (values[low] - values[high])
    point += 0.4 * tolerance  # land on the private side
    return point if low < point < high else 0.5 * (low + high)


def _linear_share(at_low: float, at_high: float) -> float:
    above, below = math.expm1(min(at_low, 700.0)), math.expm1(at_high)
    return above / (above - below)


def at_scale(demand: Request, unit: Law, guess: float, *, fine: bool) -> Law:
    exact = demand.bound.is_box and demand.count == 1
    tolerance = (1e-13 if exact else 1e-7) if fine else 3e-5

    def noise_at(log_scale: float) -> Law:
        return demand.on_lattice(unit.scaled(math.exp(log_scale)))

    return least(demand, noise_at, math.log(guess), relative=FINE if fine else _COARSE, tolerance=tolerance)


def base(noise: Law) -> Law:
    return noise.continuous


def typical(noise: Law) -> float:
    """The 85 % quantile: a size that every family has."""
    return float(np.asarray(noise.isf(0.15)))
