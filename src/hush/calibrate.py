"""The least noise for a budget: the smallest scale of every family, the best family, and why.

A family is a shape and a scale. For a shape, delta falls as the scale grows, so the least scale that meets (epsilon, delta) is one safe
root. The shape is then searched for the least loss; limits of a family (its Gaussian, its Laplace) and the flipped Huber's kink are tried
explicitly, so that no family loses to its own special case. The search uses a coarse grid of losses; what is returned is solved and
certified on a fine one.
"""

from __future__ import annotations

import math
from collections.abc import Callable
from dataclasses import dataclass, field
from functools import cached_property, lru_cache
from typing import Any

import numpy as np

from hush.errors import HushError, InvalidParameter, Unsupported, budgets, deltas, one_of, positive, whole
from hush.noise.catalogue import FAMILIES, Family
from hush.noise.contract import Noise
from hush.noise.discrete import Discrete
from hush.noise.flipped_huber import FlippedHuber
from hush.noise.gaussian import Gaussian
from hush.noise.laplace import Laplace
from hush.noise.staircase import Staircase, least_mean_abs_gamma, least_variance_gamma
from hush.noise.stepped import Stepped
from hush.noise.truncated_laplace import TruncatedLaplace
from hush.numerics.bracket import Bracket
from hush.privacy import gaussian
from hush.privacy.curve import OneNumber
from hush.privacy.loss import DEFAULT_RELATIVE, Composed
from hush.privacy.vector import curve
from hush.sensitivity import Sensitivity

__all__ = ["LOSSES", "Choice", "Plan", "calibrate"]

_COARSE = 1e-4  # share of the shift that the search's grid may cost
_FINE = DEFAULT_RELATIVE  # what hush.delta uses, so that its answer agrees


def _width(noise: Noise, outside: float) -> float:
    return 2.0 * float(np.asarray(noise.isf(0.5 * outside)))


#: What "least" can mean.
LOSSES: dict[str, Callable[[Noise], float]] = {
    "variance": lambda noise: noise.variance,
    "mae": lambda noise: noise.mean_abs,
    "p95": lambda noise: _width(noise, 0.05),
    "p999": lambda noise: _width(noise, 0.001),
}


@dataclass(frozen=True)
class Choice:
    """One row of a ranking: a calibrated noise, or the reason why the family is absent."""

    family: str
    noise: Noise | None = None
    loss: float = math.inf
    reason: str = ""

    @property
    def variance(self) -> float:
        return self.noise.variance if self.noise is not None else math.inf

    @property
    def mean_abs(self) -> float:
        return self.noise.mean_abs if self.noise is not None else math.inf

    @property
    def interval999(self) -> float:
        """Half the width of the interval that holds the noise 99.9 % of the time."""
        return 0.5 * _width(self.noise, 0.001) if self.noise is not None else math.inf


@dataclass(frozen=True)
class _Demand:
    """What is asked: a budget, a sensitivity, a number of releases, a loss, perhaps a lattice."""

    epsilon: float
    delta: float
    bound: Sensitivity
    times: int
    loss: str
    step: float | None
    notion: str = "dp"

    @property
    def count(self) -> int:
        """How many one-dimensional releases a box comes to."""
        return (self.bound.l0 or 1) * self.times

    @property
    def plain(self) -> bool:
        """One shift for all coordinates."""
        return self.bound.is_box and not isinstance(self.bound.linf, tuple)

    @property
    def shift(self) -> float:
        assert not isinstance(self.bound.linf, tuple) and self.bound.linf is not None
        return self.bound.linf

    def value(self, noise: Noise) -> float:
        return LOSSES[self.loss](noise)

    def on_lattice(self, noise: Noise) -> Noise:
        return noise if self.step is None else Discrete(noise, self.step)

    def excess(self, noise: Noise, relative: float) -> float:
        """log of delta over its target, or of the pure epsilon over its target; at or below 0 means private."""
        noise = noise.plain()
        if self.bound.is_box and (self.count > 1 or len(self.bound.shifts) > 1) and not isinstance(noise, Gaussian):
            parts = tuple((OneNumber(noise, shift), count * self.times) for shift, count in self.bound.shifts)
            released: Any = Composed(parts, relative)
        else:
            released = curve(noise, self.bound, times=self.times)
        if self.delta == 0.0:
            pure = released.pure_epsilon
            if math.isinf(pure):
                raise Unsupported("no pure epsilon")
            return math.log(pure * (1.0 - 1e-15) / self.epsilon)
        got = float(np.asarray(released.delta_upper(self.epsilon)))
        return math.log(got / self.delta) if got > 0.0 else -60.0

    def meets(self, noise: Noise) -> bool:
        return self.excess(noise, _FINE) <= 0.0


# -- the least scale of a shape -----------------------------------------------------------------------------------------------------


def _least(demand: _Demand, noise_at: Callable[[float], Noise], start: float, *, relative: float, tolerance: float) -> Noise:
    """The noise at the smallest x (to `tolerance`, from above) that meets the demand; the one returned was evaluated and does.

    `noise_at(x)` grows more private with x. log delta is nearly linear in a log scale, so secant steps settle in three or four; a bracket
    keeps them honest.
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
    """The step to the secant's root of log delta; a tenth of the excess for a start, because it falls about ten times as fast."""
    point, value = seen[-1]
    if len(seen) < 2 or value < -50.0 or seen[-2][1] < -50.0 or seen[-2][1] == value:
        return 0.1 * value
    return -value * (point - seen[-2][0]) / (value - seen[-2][1])


def _next_inside(seen: list[tuple[float, float]], low: float, high: float, tolerance: float, turn: int) -> float:
    """The next point of a bracket: the secant of log delta where it is smooth, of delta itself where it vanishes at a corner."""
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


def _at_scale(demand: _Demand, unit: Noise, guess: float, *, fine: bool) -> Noise:
    exact = demand.bound.is_box and demand.count == 1
    tolerance = (1e-13 if exact else 1e-7) if fine else 3e-5

    def noise_at(log_scale: float) -> Noise:
        return demand.on_lattice(unit.scaled(math.exp(log_scale)))

    return _least(demand, noise_at, math.log(guess), relative=_FINE if fine else _COARSE, tolerance=tolerance)


# -- searching a family's shapes ----------------------------------------------------------------------------------------------------


def _search(demand: _Demand, row: Family, rough: float) -> Noise:
    """The best shape of a scale family: its Laplace and its Gaussian, then from the rule's start downhill."""
    shape = row.shape
    assert shape is not None
    start = shape.start(_regime(demand))
    if demand.step is None and not math.isfinite(demand.value(shape.build(shape.value(start)))):
        raise Unsupported(f"its {demand.loss} is infinite")
    found: dict[float, tuple[float, Noise | None, Noise]] = {}

    def at(t: float) -> float:
        if t not in found:
            unit = shape.build(shape.value(t))
            near = min((s for s in found if found[s][1] is not None), key=lambda s: abs(s - t), default=None)
            like = None if near is None else found[near][1]
            guess = (rough if like is None else _typical(_base(like))) / max(_typical(unit), 1e-300)
            try:
                noise = _at_scale(demand, unit, guess, fine=False)
                found[t] = (demand.value(noise), noise, unit)
            except Unsupported:
                found[t] = (math.inf, None, unit)
        return found[t][0]

    limits = [noise for noise in _limits(demand, row) if noise is not None]
    ceiling = min((demand.value(noise) for noise in limits), default=math.inf)
    if not limits or not _worthless_delta(demand):
        if at(start) < 1.3 * _best_plain(demand):  # a shape much worse than Laplace and Gaussian is not worth a closer look
            _downhill(at, start, shape.low, shape.high, shape.stride)
    if not found:
        return min(limits, key=demand.value)
    best = min(found, key=lambda t: found[t][0])
    value, noise, unit = found[best]
    if noise is not None and math.isfinite(value) and value < ceiling * (1.0 + 2e-4):
        try:
            limits.append(_at_scale(demand, unit, _typical(_base(noise)) / _typical(unit), fine=True))
        except Unsupported:  # the coarse grid promised more than the fine one holds
            pass
    if not limits:
        raise Unsupported(f"no {row.name} noise was found for this budget")
    return min(limits, key=demand.value)


def _best_plain(demand: _Demand) -> float:
    """The loss of the better of Laplace and Gaussian noise: a shape much worse than that is not worth a closer look."""
    plain = (_plainest(demand, name) for name in ("laplace", "gaussian"))
    return min((demand.value(noise) for noise in plain if noise is not None), default=math.inf)


def _worthless_delta(demand: _Demand) -> bool:
    """Is delta too small to buy anything? Then a family's Laplace is its best: cutting Laplace noise off shows what delta is worth."""
    if not demand.plain or demand.step is not None or _regime(demand) > 0.5:
        return False
    pure = Laplace(demand.shift * demand.count / demand.epsilon)
    try:
        return demand.delta == 0.0 or _truncated_laplace(demand).variance > pure.variance * (1.0 - 5e-4)
    except Unsupported:
        return False


def _limits(demand: _Demand, row: Family) -> list[Noise | None]:
    """The family's members that are Laplace and Gaussian noise for all that matters, at those families' own scales."""
    assert row.shape is not None
    found: list[Noise | None] = []
    for name, build in (("laplace", row.shape.like_laplace), ("gaussian", row.shape.like_gaussian)):
        base = _plainest(demand, name) if build is not None else None
        if base is None or build is None:
            continue
        size = base.scale if isinstance(base, Laplace) else base.sigma  # type: ignore[attr-defined]
        tries = (demand.on_lattice(build(size * (1.0 + rise))) for rise in (0.0, 1e-14, 1e-10, 1e-7, 1e-5))
        found.append(next((noise for noise in tries if demand.meets(noise)), None))
    return found


@lru_cache(maxsize=64)
def _plainest(demand: _Demand, name: str) -> Noise | None:
    """The demand's Laplace or Gaussian noise, without its lattice; None where there is none."""
    try:
        noise = (_laplace if name == "laplace" else _gaussian)(demand)
    except HushError:
        return None
    return _base(noise)


def _base(noise: Noise) -> Noise:
    return noise.noise if isinstance(noise, Discrete) else noise


def _typical(noise: Noise) -> float:
    """A size that every family has."""
    return float(np.asarray(noise.isf(0.15)))


def _downhill(function: Callable[[float], float], start: float, low: float, high: float, stride: float) -> None:
    """Walk from the start to a minimum and close in on it by parabolas; the function remembers what it saw.

    The loss is flat at its minimum and the search knows it to 1e-4 only, so a handful of shapes is enough.
    """
    points = sorted({min(max(start + s * stride, low), high) for s in (-1.0, 0.0, 1.0)})
    for turn in range(7):
        best = min(points, key=function)
        at = points.index(best)
        left, right = points[max(at - 1, 0)], points[min(at + 1, len(points) - 1)]
        if left == best or right == best:  # at the edge of what was seen: go further, if there is further
            beyond = min(max(best + (1.6**turn) * stride * (1.0 if right == best else -1.0), low), high)
            if beyond in points:
                return
            points = sorted({*points, beyond})
            continue
        worst = max(function(left), function(right))
        if worst < function(best) * (1.0 + 3e-4):
            return
        vertex = _vertex((left, best, right), (function(left), function(best), function(right)))
        points = sorted({*points, vertex if abs(vertex - best) > 0.03 * (right - left) else best + 0.3 * (right - best)})


def _vertex(x: tuple[float, float, float], y: tuple[float, float, float]) -> float:
    """The lowest point of the parabola through three points (the outer values may be infinite)."""
    if not all(math.isfinite(v) for v in y):
        return 0.5 * (x[1] + (x[0] if math.isfinite(y[0]) else x[2]))
    first, second = (x[1] - x[0]) * (y[1] - y[2]), (x[1] - x[2]) * (y[1] - y[0])
    if first == second:
        return x[1]
    vertex = x[1] - 0.5 * ((x[1] - x[0]) * first - (x[1] - x[2]) * second) / (first - second)
    return min(max(vertex, x[0] + 0.1 * (x[1] - x[0])), x[2] - 0.1 * (x[2] - x[1]))


def _regime(demand: _Demand) -> float:
    """r = variance of pure Laplace over that of the Gaussian: which shape is best depends on little else."""
    if demand.delta == 0.0 or not demand.plain:
        return 1.0
    sigma = float(np.asarray(gaussian.sigma(demand.epsilon, demand.delta)))
    return 2.0 * (demand.count / demand.epsilon) ** 2 / (demand.count * sigma * sigma)


# -- families tied to the budget ----------------------------------------------------------------------------------------------------


def _gaussian(demand: _Demand) -> Noise:
    if demand.delta == 0.0:
        raise Unsupported("Gaussian noise has no pure epsilon")
    reach = demand.bound.l2_bound * math.sqrt(demand.times)
    method = "pdp_optimal" if demand.notion == "pdp" else "optimal"
    amount = float(np.asarray(gaussian.sigma(demand.epsilon, demand.delta, reach, method=method)))
    if demand.step is not None:
        return _at_scale(demand, Gaussian(1.0), amount, fine=True)
    noise = Gaussian(amount)
    while demand.notion == "dp" and not demand.meets(noise):  # times and l0 enter through a rounded square root
        noise = Gaussian(noise.sigma * (1.0 + 1e-15))
    return noise


def _laplace(demand: _Demand) -> Noise:
    """Laplace noise: the pure scale, and then less of it by what delta buys.

    As the scale falls by e^-u below the pure one, delta grows from 0 like a power of u: nearly linear in log u, so that is what is solved.
    """
    if not demand.bound.is_box:
        return _at_scale(demand, Laplace(1.0), _rough_size(demand), fine=True)
    total = math.fsum(shift * count for shift, count in demand.bound.shifts) * demand.times
    pure = total / demand.epsilon * (1.0 + 1e-15)
    if demand.delta == 0.0:
        return demand.on_lattice(Laplace(pure))

    def noise_at(x: float) -> Noise:
        return demand.on_lattice(Laplace(pure * math.exp(-math.exp(-x))))

    first = max(-math.log(2.0 * demand.delta), 0.0) - 0.69 * min(demand.count, 30)
    tolerance = 1e-13 * math.exp(min(max(first, 0.0), 12.0)) if demand.count == 1 else 1e-7
    try:
        return _least(demand, noise_at, max(first, 0.0), relative=_FINE, tolerance=tolerance)
    except Unsupported:
        return demand.on_lattice(Laplace(pure))


def _staircase(demand: _Demand) -> Noise:
    """The staircase at epsilon per one-dimensional release: pure, whatever delta is."""
    if not demand.plain:
        raise Unsupported("the staircase is proved for one linf with l0 only")
    if demand.step is not None:
        raise Unsupported("a staircase on a lattice of its own step is the discrete Laplace")
    share = demand.epsilon / demand.count * (1.0 - 1e-15 * (demand.count > 1))
    gamma = least_mean_abs_gamma(share) if demand.loss == "mae" else least_variance_gamma(share)
    return Staircase(share, demand.shift, gamma)


def _truncated_laplace(demand: _Demand) -> Noise:
    """Scale from epsilon, bound from delta: each release spends its share of delta on the uncovered edge."""
    if not demand.plain:
        raise Unsupported("truncated Laplace is proved for one linf with l0 only")
    if demand.delta == 0.0:
        raise Unsupported("truncated Laplace has no pure epsilon")
    share = demand.epsilon / demand.count
    edge = -math.expm1(math.log1p(-demand.delta) / demand.count)
    scale = demand.shift / share * (1.0 + 1e-15)
    bound = scale * math.log1p(math.expm1(min(share, 700.0)) / (2.0 * edge))
    for rise in (0.0, 1e-14, 1e-13, 1e-12, 1e-10, 1e-8):
        noise = demand.on_lattice(TruncatedLaplace(scale, bound * (1.0 + rise)))
        if demand.meets(noise):
            return noise
    raise Unsupported("truncated Laplace could not be certified for this budget")


def _truncated_staircase(demand: _Demand) -> Noise:
    """A staircase cut off where delta allows: nearly the optimum of the linear programme, without solving it (one number only)."""
    if not demand.plain or demand.count != 1 or demand.step is not None:
        raise Unsupported("step noise is calibrated for one number only")
    if demand.delta == 0.0:
        raise Unsupported("without delta the step noise is the staircase")
    cells = 64
    edge = math.log1p(math.expm1(min(demand.epsilon, 700.0)) / (2.0 * demand.delta)) / demand.epsilon
    if edge * cells > 50_000:
        raise Unsupported("epsilon is too small for step noise; the truncated Laplace is as good there")
    best: tuple[float, Noise] | None = None
    index = np.arange(math.ceil((edge + 2.0) * cells) + cells)
    for steps in range(0, cells + 1, 2):
        level = np.floor(index / cells) + ((index % cells) >= steps)
        heights = np.exp(-demand.epsilon * level)
        mass = np.cumsum(heights)
        exposed = heights_exposed(heights, mass, cells)
        enough = np.flatnonzero(exposed <= demand.delta * (1.0 - 1e-12))
        if not enough.size:
            continue
        kept = int(enough[0]) + 1
        noise = Stepped(demand.shift / cells, tuple(heights[:kept]))
        value = demand.value(noise)
        if best is None or value < best[0]:
            best = (value, noise)
    if best is None or not demand.meets(best[1]):
        raise Unsupported("step noise could not be certified for this budget")
    return best[1]


def heights_exposed(heights: np.ndarray, mass: np.ndarray, cells: int) -> np.ndarray:
    """For a cut after each cell: the mass of the outermost `cells` cells on one side, as a share of the whole (both sides)."""
    inner = np.concatenate([np.zeros(min(cells, mass.size)), mass[:-cells]])
    return np.where(np.arange(mass.size) >= cells - 1, (mass - inner) / (2.0 * mass), 1.0)


def _flipped_huber_kink(demand: _Demand) -> FlippedHuber | None:
    """The flipped Huber whose flat loss, times the number of releases, is exactly epsilon (erratum A9): one root in b = alpha/gamma."""
    if not demand.plain or demand.delta == 0.0 or demand.step is not None:
        return None
    share = demand.epsilon / demand.count

    def noise_at(b: float) -> FlippedHuber:
        gamma = b * demand.shift / share * (1.0 + 1e-14)
        return FlippedHuber(b * gamma, gamma)

    low, high = math.sqrt(share), math.sqrt(share) + 40.0
    relative = _FINE if demand.count > 1 else 0.0
    if demand.excess(noise_at(high), relative) > 0.0:
        return None
    if demand.excess(noise_at(low), relative) <= 0.0:
        return noise_at(low)
    at_low, at_high = demand.excess(noise_at(low), relative), demand.excess(noise_at(high), relative)
    for turn in range(60):
        part = 0.5 if turn % 3 == 2 or at_high < -50.0 else at_low / (at_low - at_high)
        middle = low + min(max(part, 0.001), 0.999) * (high - low)
        value = demand.excess(noise_at(middle), relative)
        low, at_low, high, at_high = (low, at_low, middle, value) if value <= 0.0 else (middle, value, high, at_high)
        if high - low < 1e-9 * high or -1e-9 < at_high:
            break
    return noise_at(high)


_DIRECT: dict[str, Callable[[_Demand], Noise]] = {
    "gaussian": _gaussian,
    "laplace": _laplace,
    "staircase": _staircase,
    "truncated_laplace": _truncated_laplace,
    "stepped": _truncated_staircase,
}


def _optimal(demand: _Demand) -> Noise:
    from hush.limit import optimal

    if not demand.plain or demand.count != 1 or demand.loss not in ("variance", "mae") or demand.step is not None:
        raise Unsupported("the optimal noise is computed for one number, and for variance or mae")
    return optimal(demand.epsilon, demand.delta, demand.shift, loss=demand.loss)


def _rough_size(demand: _Demand) -> float:
    """A first guess of the noise's size: the better of the Gaussian and the pure Laplace."""
    sizes = []
    if demand.delta > 0.0:
        reach = demand.bound.l2_bound * math.sqrt(demand.times)
        sizes.append(float(np.asarray(gaussian.sigma(demand.epsilon, demand.delta, reach))))
    if demand.bound.is_box:
        total = math.fsum(shift * count for shift, count in demand.bound.shifts) * demand.times
        sizes.append(_typical(Laplace(total / demand.epsilon)))
    return min(sizes) if sizes else demand.bound.l2_bound * demand.times / demand.epsilon


def _calibrated(demand: _Demand, row: Family, rough: float) -> Noise:
    """The family's best noise for the demand."""
    if row.name in _DIRECT:
        return _DIRECT[row.name](demand)
    if row.shape is None:
        raise Unsupported("no rule to calibrate this family")
    kink = _flipped_huber_kink(demand) if row.name == "flipped_huber" else None
    if kink is not None and _regime(demand) < 0.9 and demand.meets(kink):
        return min((kink, *(n for n in _limits(demand, row) if n is not None)), key=demand.value)
    noise = _search(demand, row, rough)
    return kink if kink is not None and demand.value(kink) < demand.value(noise) and demand.meets(kink) else noise


@dataclass(frozen=True)
class Plan:
    """A calibrated noise, with everything it was compared with.

    `ranking` lists one `Choice` per family, best first, then the absent ones with their reasons.
    """

    noise: Noise
    family: str
    epsilon: float
    delta: float
    sensitivity: Sensitivity
    times: int
    loss: str
    notion: str
    step: float | None
    ranking: tuple[Choice, ...] = field(repr=False)

    @property
    def variance(self) -> float:
        return self.noise.variance

    @property
    def mean_abs(self) -> float:
        return self.noise.mean_abs

    @property
    def value(self) -> float:
        """The loss that was made least."""
        return LOSSES[self.loss](self.noise)

    @cached_property
    def limit(self) -> Bracket | None:
        """The least loss that any additive noise can have, for one number and variance or mae; None where no limit is known."""
        box = self.sensitivity.is_box and self.sensitivity.l0 == 1 and self.times == 1 and not isinstance(self.sensitivity.linf, tuple)
        if not box or self.loss not in ("variance", "mae") or self.step is not None or self.notion != "dp":
            return None
        from hush.limit import limit

        return limit(self.epsilon, self.delta, self.sensitivity.linf, loss=self.loss)  # type: ignore[arg-type]

    @property
    def why(self) -> str:
        """One sentence: what to use, and what the alternatives would cost."""
        ranked = [choice for choice in self.ranking if choice.noise is not None]
        text = f"Use {self.noise}: its {self.loss} is {self.value:.6g}"
        rival = next((c for c in ranked if c.noise is not self.noise and c.loss > self.value), None)
        if rival is not None:
            text += f"; next comes {rival.family} at {rival.loss / self.value:.4g} times that"
        for name in ("laplace", "gaussian"):
            other = next((c for c in ranked if c.family == name), None)
            if other is not None and name not in (self.family, rival.family if rival else ""):
                text += f", {name} at {other.loss / self.value:.4g} times"
        return text + "."


def calibrate(
    epsilon: float,
    delta: float,
    sensitivity: Any = 1.0,
    *,
    family: str | None = None,
    loss: str = "variance",
    times: int = 1,
    notion: str = "dp",
    step: float | None = None,
) -> Plan:
    """The least noise that gives (epsilon, delta) for a sensitivity, released `times` times.

    family=None ranks every family that has a proof for this sensitivity; a name takes that one ("optimal" solves for the best of all
    noises, one number only). loss: "variance", "mae", "p95" or "p999". delta = 0 keeps to pure mechanisms. notion="pdp" is
    probabilistic privacy (Gaussian only). step= calibrates noise that lives on the lattice of that step (integer answers: step=1).

    Guarantees: hush.delta(plan.noise, epsilon, sensitivity, times=times) <= delta; never worse than the better of Laplace and Gaussian.

    >>> plan = calibrate(1.0, 1e-6)
    >>> plan.family, round(plan.variance, 4)
    ('stepped', 1.9181)
    """
    demand = _demand(epsilon, delta, sensitivity, loss, times, notion, step)
    if family == "optimal":
        noise = _optimal(demand)
        return _plan(demand, (Choice("optimal", noise, demand.value(noise)),))
    names = [row.name for row in FAMILIES if row.name != "discrete"]
    rows = [row for row in FAMILIES if row.name in names]
    if family is not None:
        one_of("family", family, (*names, "optimal"))
        rows = [row for row in rows if row.name == family]
    choices = [_choice(demand, row) for row in rows]
    ranked = _ranked([c for c in choices if c.noise is not None])
    if not ranked:
        reasons = "; ".join(f"{c.family}: {c.reason}" for c in choices)
        raise Unsupported(f"no family meets epsilon = {demand.epsilon:g}, delta = {demand.delta:g} here ({reasons}).")
    return _plan(demand, (*ranked, *(c for c in choices if c.noise is None)))


def _ranked(choices: list[Choice]) -> list[Choice]:
    """Least loss first; of those within 1e-5 of the least, the plainest family (the catalogue's order) leads."""
    ranked = sorted(choices, key=lambda c: c.loss)
    tied = [c for c in choices if c.loss <= ranked[0].loss * (1.0 + 1e-5)] if ranked else []
    return tied[:1] + [c for c in ranked if c is not tied[0]] if tied else ranked


def _demand(epsilon: Any, delta: Any, sensitivity: Any, loss: str, times: int, notion: str, step: float | None) -> _Demand:
    budget, share = budgets("epsilon", epsilon), deltas("delta", delta, zero=True)
    if budget.ndim or share.ndim:
        raise InvalidParameter("calibrate takes one epsilon and one delta; call it once for each pair.")
    one_of("loss", loss, LOSSES)
    one_of("notion", notion, ("dp", "pdp"))
    lattice = None if step is None else positive("step", step)
    return _Demand(float(budget), float(share), Sensitivity.of(sensitivity), whole("times", times), loss, lattice, notion)


def _choice(demand: _Demand, row: Family) -> Choice:
    if demand.notion == "pdp" and row.name != "gaussian":
        return Choice(row.name, reason="probabilistic privacy is calibrated for the Gaussian only")
    try:
        noise = _calibrated(demand, row, _rough_size(demand))
    except HushError as failure:
        return Choice(row.name, reason=str(failure).rstrip("."))
    value = demand.value(noise)
    if not math.isfinite(value):
        return Choice(row.name, reason=f"its {demand.loss} is infinite")
    return Choice(row.name, noise, value)


def _plan(demand: _Demand, ranking: tuple[Choice, ...]) -> Plan:
    best = ranking[0]
    assert best.noise is not None
    return Plan(
        best.noise,
        best.family,
        demand.epsilon,
        demand.delta,
        demand.bound,
        demand.times,
        demand.loss,
        demand.notion,
        demand.step,
        ranking,
    )
