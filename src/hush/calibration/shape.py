"""The best shape of a family: its Laplace-like and Gaussian-like members, then a descent from a rule of thumb."""

from __future__ import annotations

import contextlib
import math
from collections.abc import Callable
from functools import lru_cache

from hush.calibration.scale import Seen, at_scale, base, typical
from hush.errors import HushError, Unsupported
from hush.noise.contract import Law
from hush.noise.family import Family
from hush.noise.gaussian import gaussian_noise
from hush.noise.laplace import Laplace, laplace_noise
from hush.noise.log_concave import LogConcave
from hush.noise.request import Request
from hush.noise.truncated_laplace import truncated_laplace_noise
from hush.numerics.rounding import COARSE_SEARCH, ELEMENTARY, FLAT_MINIMUM, WORTHLESS, down, up
from hush.numerics.search import nudged

__all__ = ["limits", "search"]


def search(demand: Request, row: Family) -> Law:
    """The best shape of a scale family: its Laplace-like and Gaussian-like members, then a descent from the start that
    the family suggests.
    """
    shape = row.shape
    assert shape is not None
    start, rough = shape.start(demand.regime), demand.rough_size
    if demand.step is None and not math.isfinite(demand.value(shape.build(shape.value(start)))):
        raise Unsupported(f"its {demand.loss} is infinite")
    found: dict[float, tuple[float, Law | None, Law]] = {}
    like_before: Seen = []

    def at(t: float) -> float:
        if t not in found:
            unit = shape.build(shape.value(t))
            near = min((s for s in found if found[s][1] is not None), key=lambda s: abs(s - t), default=None)
            like = None if near is None else found[near][1]
            guess = (rough if like is None else typical(base(like))) / max(typical(unit), 1e-300)
            try:
                noise = at_scale(demand, unit, guess, fine=False, like=like_before)
                found[t] = (demand.value(noise), noise, unit)
            except Unsupported:
                found[t] = (math.inf, None, unit)
        return found[t][0]

    known = limits(demand, row)
    ceiling = min((demand.value(noise) for noise in known), default=math.inf)
    # a shape much worse than Laplace and Gaussian noise is not searched further
    if (not known or not _worthless_delta(demand)) and at(start) < 1.3 * _best_simple(demand):
        _downhill(at, start, shape.low, shape.high, shape.stride)
    if not found:
        return min(known, key=demand.value)
    best = min(found, key=lambda t: found[t][0])
    value, noise, unit = found[best]
    if noise is not None and math.isfinite(value) and value < up(ceiling, COARSE_SEARCH):
        with contextlib.suppress(Unsupported):  # the coarse grid may accept what the fine grid rejects
            guess = typical(base(noise)) / typical(unit)
            known.append(at_scale(demand, unit, guess, fine=True, like=like_before))
    if not known:
        raise Unsupported(f"no {row.name} noise was found for this budget")
    return min(known, key=demand.value)


def _best_simple(demand: Request) -> float:
    """The loss of the better of Laplace and Gaussian noise; a much worse shape is not searched further."""
    plain = (_simplest_of(demand, rule) for rule in (laplace_noise, gaussian_noise))
    return min((demand.value(noise) for noise in plain if noise is not None), default=math.inf)


def _worthless_delta(demand: Request) -> bool:
    """Is delta too small to reduce the noise? Then the family's Laplace-like member is its best. The loss of truncated
    Laplace noise shows how much delta can reduce it.
    """
    if not demand.plain or demand.regime > 0.5:
        return False
    demand = demand.off_lattice()
    pure = Laplace(demand.shift * demand.count / demand.epsilon)
    try:
        return demand.delta == 0.0 or truncated_laplace_noise(demand).variance > down(pure.variance, WORTHLESS)
    except Unsupported:
        return False


def limits(demand: Request, row: Family) -> list[Law]:
    """The members of the family that are practically Laplace and Gaussian noise, at the scales of those families."""
    assert row.shape is not None
    found: list[Law] = []
    for rule, build in ((laplace_noise, row.shape.like_laplace), (gaussian_noise, row.shape.like_gaussian)):
        like = _simplest_of(demand, rule) if build is not None else None
        if like is None or build is None:
            continue
        noise = _first_private(demand, build, like.unit)
        found += [] if noise is None else [noise]
    return found


def _first_private(demand: Request, build: Callable[[float], Law], unit: float) -> Law | None:
    """The first member that meets the request: of that unit, or of a slightly larger one."""

    def noise_at(unit: float) -> Law:
        return demand.on_lattice(build(unit))

    found = nudged(lambda unit: demand.meets(noise_at(unit)), unit, first=ELEMENTARY.share, growth=1e3, turns=5)
    return None if found is None else noise_at(found)


@lru_cache(maxsize=64)
def _simplest_of(demand: Request, rule: Callable[[Request], Law]) -> LogConcave | None:
    """The Laplace or Gaussian noise for the request, without its lattice; None where there is none."""
    try:
        noise = base(rule(demand))
    except HushError:
        return None
    assert isinstance(noise, LogConcave)
    return noise


def _downhill(function: Callable[[float], float], start: float, low: float, high: float, stride: float) -> None:
    """Walk from the start to a minimum and approach it by parabolas; the function caches its values.

    The loss is flat at its minimum and known to 1e-4 only, so a few shapes are enough.
    """
    points = sorted({min(max(start + s * stride, low), high) for s in (-1.0, 0.0, 1.0)})
    for turn in range(7):
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
        if worst < up(function(best), FLAT_MINIMUM):
            return
        vertex = _vertex((left, best, right), (function(left), function(best), function(right)))
        points = sorted(
            {*points, vertex if abs(vertex - best) > 0.03 * (right - left) else best + 0.3 * (right - best)}
        )


def _vertex(x: tuple[float, float, float], y: tuple[float, float, float]) -> float:
    """The lowest point of the parabola through three points (the outer values may be infinite)."""
    if not all(math.isfinite(v) for v in y):
        return 0.5 * (x[1] + (x[0] if math.isfinite(y[0]) else x[2]))
    first, second = (x[1] - x[0]) * (y[1] - y[2]), (x[1] - x[2]) * (y[1] - y[0])
    if first == second:
        return x[1]
    vertex = x[1] - 0.5 * ((x[1] - x[0]) * first - (x[1] - x[2]) * second) / (first - second)
    return min(max(vertex, x[0] + 0.1 * (x[1] - x[0])), x[2] - 0.1 * (x[2] - x[1]))
