"""The best shape of a family: its Laplace-like and Gaussian-like members, then a descent from a rule of thumb."""

from __future__ import annotations

import contextlib
import math
from collections.abc import Callable
from functools import lru_cache
from typing import NamedTuple

from hush.calibration.descent import downhill
from hush.calibration.estimate import Estimate
from hush.calibration.scale import COARSE, Seen, at_scale, base, private_end, typical
from hush.errors import HushError, Unsupported
from hush.noise.contract import Law
from hush.noise.family import Family
from hush.noise.gaussian import gaussian_noise
from hush.noise.laplace import Laplace, laplace_noise
from hush.noise.log_concave import LogConcave
from hush.noise.request import Request
from hush.noise.truncated_laplace import truncated_laplace_noise
from hush.numerics.rounding import (
    COARSE_SEARCH,
    ELEMENTARY,
    ESTIMATED_MINIMUM,
    WORTHLESS,
    down,
    up,
)
from hush.numerics.search import nudged

__all__ = ["estimates", "limits", "search"]

_LEAST_DELTA = 1e-150  # estimates need masses that are normal floats
#: A family without Laplace-like and Gaussian-like members is left out if its first shape has this many times the loss
#: of another family: wherever the best shape was computed then, another family had less loss by 1 % or more.
_FAR = 1.12


def search(demand: Request, row: Family) -> Law:
    """The best shape of a scale family: its Laplace-like and Gaussian-like members, then a descent from the start that
    the family suggests.
    """
    shape = row.shape
    assert shape is not None
    start = shape.start(demand.regime)
    left_out = demand.rival is not None and _regime(demand) < shape.least_regime
    checked = demand.step is None and not (left_out and row.vectors)  # a loss is slow to compute for some families
    if checked and not math.isfinite(demand.value(shape.build(shape.value(start)))):
        raise Unsupported(f"its {demand.loss} is infinite")
    if left_out:
        raise Unsupported(f"not searched: where Laplace noise is best, {row.name} noise has much more loss")
    return _by_estimates(demand, row) if estimates(demand) else _by_certified_curves(demand, row)


def _regime(demand: Request) -> float:
    return 0.0 if demand.delta == 0.0 else demand.regime


def estimates(demand: Request) -> bool:
    """Can delta be estimated (calibration/estimate.py)? For continuous noise, if the moves are a box and delta > 0."""
    return demand.step is None and demand.delta > _LEAST_DELTA and bool(demand.bound.is_box)


class _Member(NamedTuple):
    """A shape with its estimated least scale: the loss there, the member of scale 1 and the points of the search."""

    loss: float
    unit: Law
    log_scale: float
    seen: Seen


def _by_estimates(demand: Request, row: Family) -> Law:
    """`search` with estimates of delta; the scale of the best shape is then found with the certified curve."""
    shape, simple = row.shape, _best_simple(demand)
    assert shape is not None
    parts = tuple((shift, count * demand.times) for shift, count in demand.bound.shifts)
    found: dict[float, _Member] = {}

    def at(t: float) -> float:
        if t not in found:
            near = min(found, key=lambda s: abs(s - t), default=None)
            found[t] = _estimated(demand, parts, shape.build(shape.value(t)), None if near is None else found[near])
        return found[t].loss

    start = shape.start(demand.regime)
    limited = _has_limits(row)
    if not (limited and _worthless_delta(demand)):
        if not limited:
            _compare(demand, at(start))
        if at(start) < 1.3 * simple:
            downhill(at, start, shape.low, shape.high, shape.stride, flat=ESTIMATED_MINIMUM, turns=16)
    best = min(found.values(), key=lambda member: member.loss, default=None)
    known: list[Law] = []
    if best is not None and best.loss < up(_least_limit(demand, row), COARSE_SEARCH):
        with contextlib.suppress(Unsupported):
            known.append(at_scale(demand, best.unit, math.exp(best.log_scale), fine=True, like=list(best.seen)))
    known += limits(demand, row, demand.value(known[0]) if known else math.inf)
    if not known:
        raise Unsupported(f"no {row.name} noise was found for this budget")
    return min(known, key=demand.value)


def _compare_first(demand: Request, row: Family) -> None:
    """Raise if the first shape has far more loss than another family: by an estimate for a single move that the facts
    allow, then by the certified curve at the scale where its loss would be just that much.
    """
    shape = row.shape
    assert shape is not None
    if demand.rival is None or demand.step is not None or demand.delta <= _LEAST_DELTA or _has_limits(row):
        return
    bound, unit = demand.bound, shape.build(shape.value(shape.start(demand.regime)))
    listed = bound.linf if isinstance(bound.linf, tuple) else (bound.linf,)
    move = min(fact for fact in (*listed, bound.l1, bound.l2) if fact is not None)
    _compare(demand, _estimated(demand, ((move, demand.times),), unit, None).loss)
    far = _FAR * min(_best_simple(demand), demand.rival)
    if demand.excess(unit.scaled((far / demand.value(unit)) ** (1.0 / _power(demand))), COARSE) > 0.0:
        raise Unsupported(f"not searched: its {demand.loss} is more than {_FAR} times that of another family")


def _power(demand: Request) -> int:
    """The loss of k X is k to this power times that of X."""
    return 2 if demand.loss == "variance" else 1


def _has_limits(row: Family) -> bool:
    """Does the family contain noise that is practically Laplace or Gaussian noise?"""
    assert row.shape is not None
    return row.shape.like_laplace is not None or row.shape.like_gaussian is not None


def _compare(demand: Request, loss: float) -> None:
    """Raise if all families are compared and another one has far less than this estimated loss."""
    best = math.inf if demand.rival is None else min(_best_simple(demand), demand.rival)
    if loss > _FAR * best:
        raise Unsupported(f"not searched: its {demand.loss} is about {loss / best:.3g} times that of another family")


def _estimated(demand: Request, parts: tuple[tuple[float, int], ...], unit: Law, near: _Member | None) -> _Member:
    """The least scale of a shape by an estimate, started where its loss is that of a similar shape or family."""
    estimate, seen = Estimate(unit, demand.epsilon, demand.delta, parts), [] if near is None else list(near.seen)
    value, like = demand.value(unit), _best_simple(demand) if near is None else near.loss
    start = (
        math.log(like / value) / _power(demand) if math.isfinite(like) else math.log(demand.rough_size / estimate.size)
    )
    try:
        log_scale = private_end(estimate.excess, start, tolerance=1e-8, like=seen)
    except Unsupported:
        return _Member(math.inf, unit, start, [])
    return _Member(value * math.exp(_power(demand) * log_scale), unit, log_scale, seen)


def _by_certified_curves(demand: Request, row: Family) -> Law:
    """`search` without estimates: on lattices, under other norms, and for pure privacy."""
    shape = row.shape
    assert shape is not None
    start, rough = shape.start(demand.regime), demand.rough_size
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

    _compare_first(demand, row)
    known = limits(demand, row)
    ceiling = min((demand.value(noise) for noise in known), default=math.inf)
    # a shape much worse than Laplace and Gaussian noise is not searched further
    if (not known or not _worthless_delta(demand)) and at(start) < 1.3 * _best_simple(demand):
        downhill(at, start, shape.low, shape.high, shape.stride)
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


def limits(demand: Request, row: Family, most: float = math.inf) -> list[Law]:
    """The members of the family that are practically Laplace and Gaussian noise, at the scales of those families; only
    those with a loss of at most `most`.
    """
    found = [
        _first_private(demand, build, like.unit) for like, build in _alike(demand, row) if demand.value(like) <= most
    ]
    return [noise for noise in found if noise is not None]


def _least_limit(demand: Request, row: Family) -> float:
    """The least loss of the Laplace and Gaussian noise that the family contains."""
    return min((demand.value(like) for like, _ in _alike(demand, row)), default=math.inf)


def _alike(demand: Request, row: Family) -> list[tuple[LogConcave, Callable[[float], Law]]]:
    """The Laplace and Gaussian noise that the family contains, and how to build the member that equals it."""
    assert row.shape is not None
    rules = ((laplace_noise, row.shape.like_laplace), (gaussian_noise, row.shape.like_gaussian))
    found = [(_simplest_of(demand, rule), build) for rule, build in rules if build is not None]
    return [(like, build) for like, build in found if like is not None]


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
