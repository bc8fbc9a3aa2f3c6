"""The least scale of a shape: delta falls as the scale grows, so it is one safe root."""

from __future__ import annotations

import math
from collections.abc import Callable

import numpy as np

from hush.errors import Unsupported
from hush.noise.contract import Law
from hush.noise.request import Request
from hush.privacy.composed_curve import DEFAULT_RELATIVE

__all__ = ["FINE", "at_scale", "base", "least", "typical"]

#: The grid that certifies: what hush.delta uses, so that its answer agrees.
FINE = DEFAULT_RELATIVE

_COARSE = 1e-4  # share of the shift that the search's grid may cost


def least(demand: Request, noise_at: Callable[[float], Law], start: float, *, relative: float, tolerance: float) -> Law:
    """The noise at the smallest x (to `tolerance`, from above) that meets the demand; the one returned was evaluated
    and does.

    `noise_at(x)` grows more private with x. log delta is nearly linear in a log scale, so secant steps settle in
    three or four; a bracket checks them. No search of numerics/search.py: it starts without a bracket, and takes the
    secant of log delta or of delta, whichever is straighter there.
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
    """The step to the secant's root of log delta; a tenth of the excess for a start, because it falls about ten times
    as fast.
    """
    point, value = seen[-1]
    if len(seen) < 2 or value < -50.0 or seen[-2][1] < -50.0 or seen[-2][1] == value:
        return 0.1 * value
    return -value * (point - seen[-2][0]) / (value - seen[-2][1])


def _next_inside(seen: list[tuple[float, float]], low: float, high: float, tolerance: float, turn: int) -> float:
    """The next point of a bracket: the secant of log delta where it is smooth, of delta itself where it vanishes at a
    corner.
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
    """A size that every family has."""
    return float(np.asarray(noise.isf(0.15)))
