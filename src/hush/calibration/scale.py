"""The least scale of a shape. delta falls as the scale grows, so this is one root, approached from the private side."""

from __future__ import annotations

import math
from collections.abc import Callable

import numpy as np

from hush.errors import Unsupported
from hush.noise.contract import Law
from hush.noise.request import Request
from hush.privacy.composed_curve import DEFAULT_RELATIVE

__all__ = ["COARSE", "FINE", "Seen", "at_scale", "base", "least", "private_end", "typical"]

#: The grid of the final check. It is the grid of hush.delta, so that both agree.
FINE = DEFAULT_RELATIVE

#: The grid of a search: the share of the shift that it may cost.
COARSE = 1e-4


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

    `noise_at(x)` must become more private as x grows.

    like: the points of a search for similar noise, which tell how steep log delta is. They are replaced by the points
    of this search.
    """
    noises: dict[float, Law] = {}

    def excess(point: float) -> float:
        noises[point] = noise_at(point)
        return demand.excess(noises[point], relative)

    return noises[private_end(excess, start, tolerance=tolerance, like=like)]


def private_end(excess: Callable[[float], float], start: float, *, tolerance: float, like: Seen | None = None) -> float:
    """The smallest x with excess(x) <= 0, to `tolerance` from above; `excess`, log(delta/target), falls as x grows.

    log delta is nearly linear in the log of a scale, so three or four secant steps suffice; a bracket guards them. The
    searches of numerics/search.py do not fit here: this one starts without a bracket, and takes the secant of log delta
    or of delta, whichever is closer to linear.
    """
    fall, known = _fall(like or []), len(like or []) > 1
    seen: Seen = []
    low, high = -math.inf, math.inf  # not private, private
    point = start
    for turn in range(120):
        value = excess(point)
        seen.append((point, value))
        if value > 0.0:
            low = max(low, point)
        elif point <= high:
            high = point
        if math.isfinite(high) and (high - low <= tolerance or _is_near(seen, fall, tolerance, known=known)):
            if like is not None:
                like[:] = seen
            return high
        if math.isfinite(low) and math.isfinite(high):
            point = _next_inside(seen, low, high, tolerance, turn)
        else:
            reach = 0.3 * 3.0 ** (turn // 2)
            if reach > 1e4:
                break
            further = max(abs(_log_step(seen, fall)) * (1.001 if known else 1.05), 0.1 * tolerance)
            point += math.copysign(min(further, reach), value)
    if math.isfinite(high) and math.isfinite(low):
        return high
    raise Unsupported("every scale meets this budget" if math.isfinite(high) else "no scale meets this budget")


def _is_near(seen: Seen, fall: float, tolerance: float, *, known: bool) -> bool:
    """Is the last point private, and nearer to the root than `tolerance`, as the fall of log delta shows?"""
    point, value = seen[-1]
    if not -0.5 < value <= 0.0:
        return False
    if len(seen) > 1 and seen[-2][0] != point and abs(seen[-2][1]) < 0.5:
        fall = (seen[-2][1] - value) / (point - seen[-2][0])
    elif not known:
        fall = 1.0
    return -value <= tolerance * max(0.5 * fall, 1.0)


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

    grid = FINE if fine else COARSE
    return least(demand, noise_at, math.log(guess), relative=grid, tolerance=tolerance, like=like)


def base(noise: Law) -> Law:
    return noise.continuous


def typical(noise: Law) -> float:
    """The 85 % quantile: a size that every family has."""
    return float(np.asarray(noise.isf(0.15)))
