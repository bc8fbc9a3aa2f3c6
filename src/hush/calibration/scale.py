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


#: Points of a search and log(delta/target) there.
Seen = list[tuple[float, float]]


def least(
    demand: Request,
    noise_at: Callable[[float], Law],
    start: float,
    *,
    relative: float,
    tolerance: float,
    like: Seen | None = None,
) -> Law:
    """The noise at the smallest x (to `tolerance`, from above) that meets the request. The returned noise was evaluated
    and meets it.

    `noise_at(x)` must become more private as x grows. log delta is nearly linear in the log of a scale, so three or
    four secant steps suffice; a bracket guards them. The searches of numerics/search.py do not fit here: this one
    starts without a bracket, and takes the secant of log delta or of delta, whichever is closer to linear.

    like: the points of a search for similar noise, which tell how steep log delta is. They are replaced by the points
    of this search.
    """
    fall = _fall(like or [])
    seen: Seen = []
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
            if like is not None:
                like[:] = seen
            return safe
        if math.isfinite(low) and math.isfinite(high):
            point = _next_inside(seen, low, high, tolerance, turn)
        else:
            reach = 0.3 * 3.0 ** (turn // 2)
            if reach > 1e4:
                break
            point += math.copysign(min(max(abs(_log_step(seen, fall)) * 1.05, 0.1 * tolerance), reach), value)
    if safe is not None and math.isfinite(low):
        return safe
    raise Unsupported("no scale meets this budget" if safe is None else "every scale meets this budget")


def _fall(seen: Seen) -> float:
    """How fast log delta falls at its root, from the two points nearest to it; 10 where nothing is known."""
    near = sorted(seen, key=lambda pair: abs(pair[1]))[:2]
    if len(near) < 2 or abs(near[1][1]) > 5.0 or near[0][0] == near[1][0]:
        return 10.0
    fall = (near[0][1] - near[1][1]) / (near[1][0] - near[0][0])
    return fall if 1.0 < fall < 1e4 else 10.0


def _log_step(seen: Seen, fall: float) -> float:
    """The step to the root of the secant of log delta; at the start, to the root of a line that falls this fast."""
    point, value = seen[-1]
    if len(seen) < 2 or value < -50.0 or seen[-2][1] < -50.0 or seen[-2][1] == value:
        return value / fall
    return -value * (point - seen[-2][0]) / (value - seen[-2][1])


def _next_inside(seen: Seen, low: float, high: float, tolerance: float, turn: int) -> float:
    """The next point inside a bracket: the secant of log delta where it is smooth; where delta vanishes, the middle and
    sometimes the secant of delta itself. If it is nearly at the private end, one point just below that end closes the
    bracket.
    """
    values = dict(seen)
    gone = values[high] < -20.0  # delta has practically vanished at the private end
    if turn % 3 < 2 if gone else turn % 6 == 5 and turn > 5:
        point = 0.5 * (low + high)
    elif gone or (turn % 6 == 2 and turn > 5):
        point = low + (high - low) * _linear_share(values[low], values[high])
    else:
        point = _secant_root(seen, (low, values[low]), (high, values[high]))
    point += 0.4 * tolerance  # land on the private side
    return max(min(point, high - 0.9 * tolerance), 0.5 * (low + high) if point <= low else low + 0.1 * tolerance)


def _secant_root(seen: Seen, low: tuple[float, float], high: tuple[float, float]) -> float:
    """The root of the line through the two points nearest to it; if it is outside the bracket, of the line through the
    bracket.
    """
    (a, at_a), (b, at_b) = sorted(seen, key=lambda pair: abs(pair[1]))[:2]
    root = a + (b - a) * at_a / (at_a - at_b) if at_a != at_b else -math.inf
    return root if low[0] < root < high[0] else low[0] + (high[0] - low[0]) * low[1] / (low[1] - high[1])


def _linear_share(at_low: float, at_high: float) -> float:
    above, below = math.expm1(min(at_low, 700.0)), math.expm1(at_high)
    return above / (above - below)


def at_scale(demand: Request, unit: Law, guess: float, *, fine: bool, like: Seen | None = None) -> Law:
    exact = demand.bound.is_box and demand.count == 1
    tolerance = (1e-13 if exact else 1e-7) if fine else 3e-5

    def noise_at(log_scale: float) -> Law:
        return demand.on_lattice(unit.scaled(math.exp(log_scale)))

    grid = FINE if fine else _COARSE
    return least(demand, noise_at, math.log(guess), relative=grid, tolerance=tolerance, like=like)


def base(noise: Law) -> Law:
    return noise.continuous


def typical(noise: Law) -> float:
    """The 85 % quantile: a size that every family has."""
    return float(np.asarray(noise.isf(0.15)))
