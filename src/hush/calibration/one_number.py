"""One number: a lower bound on the loss of every additive noise, and a noise that comes close to it."""

from __future__ import annotations

import math
from collections.abc import Callable, Iterator
from functools import lru_cache
from typing import Any

from hush.calibration.linear_program import edge, lattice_bound, most_cells, step_heights
from hush.errors import NotCertified, Unsupported, budgets, deltas, one_of, positive, reject, warn_if_weak
from hush.noise.laplace import Laplace
from hush.noise.staircase import Staircase, least_mean_abs_gamma, least_variance_gamma
from hush.noise.stepped import Stepped
from hush.noise.truncated_laplace import TruncatedLaplace
from hush.numerics.rounding import (
    CLOSED_FORM,
    ELEMENTARY,
    FEW_ROUNDINGS,
    SUM_OF_POSITIVE_TERMS,
    TWO_ROUNDINGS,
    down,
    up,
)
from hush.privacy.curve import OneNumber

__all__ = ["checked", "least", "least_on_lattice", "optimal", "reached", "spread_cost"]

LOSSES = ("variance", "mae")
#: Between these, the closed forms of the staircase are accurate.
SMALLEST_EPSILON, LARGEST_EPSILON = 1e-9, 700.0
#: Below this share of 1 - e^-eps, delta reduces the loss of the pure staircase by under 1e-6, and a linear programme
#: would only see round-off.
_LEAST_SHARE = 1e-9
#: (epsilon, delta): from this epsilon on, the lower bound uses no smaller delta than this. A larger delta is allowed,
#: because the limit falls with delta. These cost less than 1e-5; for smaller ones the programmes are so steep that
#: HiGHS is slow or gives up.
_TAME_DELTAS = ((5.0, 1e-6), (3.0, 1e-7), (0.0, 1e-9))
#: From this delta on the best noise is clearly not unimodal, and a second, smaller programme over all shifts helps.
_COARSE_DELTA = 1e-2
_MOST_HEIGHTS = 100_000


def _loss(noise: Any, loss: str) -> float:
    return float(noise.variance if loss == "variance" else noise.mean_abs)


def _gamma(epsilon: float, loss: str) -> float:
    """The step fraction of the optimal staircase (Geng and Viswanath 2014)."""
    return least_variance_gamma(epsilon) if loss == "variance" else least_mean_abs_gamma(epsilon)


def _closed_forms(epsilon: float, delta: float, loss: str) -> float:
    """The least loss among the noises whose privacy is a formula: staircase, truncated Laplace, Laplace."""
    best = _loss(Staircase(epsilon, 1.0, _gamma(epsilon, loss)), loss)
    if delta > 0.0:
        best = min(best, _loss(TruncatedLaplace(1.0 / epsilon, edge(epsilon, delta)), loss))
        best = min(best, _loss(Laplace(1.0 / (epsilon - 2.0 * math.log1p(-delta))), loss))
    return best


def _spread(epsilon: float, delta: float, loss: str) -> float:
    """About the standard deviation of the best noise: a lattice step must be small compared with it."""
    value = _closed_forms(epsilon, delta, loss)
    return math.sqrt(value) if loss == "variance" else math.sqrt(2.0) * value


def _cells(epsilon: float, delta: float, loss: str) -> int:
    """Lattice points per sensitivity: the bracket's relative width is about (step/spread)^2/3."""
    spread = _spread(epsilon, delta, loss)
    need = (16.0 if spread >= 1.0 else 13.0) / spread
    if loss == "mae" and epsilon > 2.0:
        need = max(need, 4.5 / _gamma(epsilon, loss))  # the mean absolute error depends on where the first step ends
    return math.ceil(min(need, 512.0))


# -- from below ----------------------------------------------------------------------------------------------


@lru_cache(maxsize=1024)
def _below(epsilon: float, delta: float, loss: str) -> float:
    """The proved lower bound for sensitivity 1 and delta > 0 (argument in `hush.limit`)."""
    group = max(1, math.floor(_spread(epsilon, delta, loss) / 16.0))
    grouped = up(group * epsilon, TWO_ROUNDINGS)
    # group privacy: a shift by `group` is private with group * epsilon and delta (1 + e^eps + ... + e^((group - 1)
    # eps))
    copies = math.expm1(grouped) / math.expm1(epsilon) if group > 1 else 1.0
    share = max(up(delta * copies, ELEMENTARY), next(tame for steep, tame in _TAME_DELTAS if epsilon >= steep))
    if group > 1:
        return _rounded_back(grouped, share, 1, loss) * group ** (2 if loss == "variance" else 1)
    cells = min(_cells(epsilon, delta, loss), most_cells(epsilon, share, _gamma(epsilon, loss)))
    bound = _rounded_back(epsilon, share, cells, loss)
    everywhere = most_cells(epsilon, share)
    if cells > everywhere and (delta >= _COARSE_DELTA or bound == 0.0):
        bound = max(bound, _rounded_back(epsilon, share, everywhere, loss))
    return bound


def _rounded_back(epsilon: float, delta: float, cells: int, loss: str) -> float:
    """The lattice bound minus the cost of unbiased rounding: h^2/4 for the variance, nothing for the mean absolute
    error.
    """
    bound = lattice_bound(epsilon, delta, cells, loss, _gamma(epsilon, loss))
    return max(bound - (0.25 / cells**2 if loss == "variance" else 0.0), 0.0)


# -- from above ----------------------------------------------------------------------------------------------


def _certified(build: Callable[[float], Stepped | None], epsilon: float, delta: float) -> Stepped | None:
    """The first noise, built with a growing margin, whose certified delta (with round-off) is at most the target."""
    for margin in (1e-9, 1e-7, 1e-5, 1e-3):
        noise = build(margin)
        if noise is None:
            return None
        if up(OneNumber(noise, 1.0).delta(epsilon), SUM_OF_POSITIVE_TERMS) <= delta:
            return noise
    return None


def _stair(epsilon: float, loss: str) -> Stepped | None:
    """The staircase with its step fraction rounded to a power of two cells; None where that would be too many."""
    gamma = _gamma(epsilon, loss)
    cells = 2 ** math.ceil(math.log2(24.0 / gamma))
    if cells > _MOST_HEIGHTS:
        return None
    first = round(gamma * cells)

    def build(margin: float) -> Stepped:
        fall = math.exp(-epsilon * (1.0 - margin))
        return Stepped(1.0 / cells, (1.0,) * first + (fall,) * (cells - first), fall, cells)

    return _certified(build, epsilon, 0.0)


def _geometric(epsilon: float, delta: float) -> Stepped | None:
    """Truncated Laplace in steps of one sensitivity: heights e^(-eps i), and a last height x that uses all of delta.

    With a the height of the last cell but one, the divergence at shift 1 is x + max(a - e^eps x, 0) over twice the
    sum of the heights; with n = ceil(edge) cells it meets delta at some x in [0, a e^-eps], the root of a linear
    equation.
    """
    n = math.ceil(edge(epsilon, delta))
    fall = epsilon - 2e-14  # so that no pair inside exceeds epsilon by the round-off of two logarithms
    if n > _MOST_HEIGHTS or n < 2:
        return None

    def build(margin: float) -> Stepped:
        heights = [math.exp(-fall * i) for i in range(n - 1)]
        target = 2.0 * delta * (1.0 - margin)
        x = (heights[-1] - target * math.fsum(heights)) / (math.expm1(epsilon) + target)
        return Stepped(1.0, (*heights, min(max(x, 0.0), heights[-1])))

    return _certified(build, epsilon, delta)


def _power(cells: float) -> int:
    """The largest power of two that is at most `cells`: then the cell width divides the sensitivity exactly."""
    return int(2 ** math.floor(math.log2(cells)))


def _programmes(epsilon: float, delta: float, loss: str) -> Iterator[Stepped | None]:
    """Step densities from the linear programme: falling ones, and for a large delta also others."""

    def solved(cells: int, falling: bool) -> Stepped | None:
        def build(margin: float) -> Stepped | None:
            heights = step_heights(epsilon, delta * (1.0 - margin), cells, loss, falling=falling)
            return None if heights is None else Stepped(1.0 / cells, tuple(heights))

        return _certified(build, epsilon, delta)

    finest = max(1.0, 1050.0 / (edge(epsilon, delta) + 1.0))
    yield solved(_power(min(4.0 * _cells(epsilon, delta, loss), finest)), True)
    if delta >= _COARSE_DELTA:
        yield solved(_power(most_cells(epsilon, delta)), False)


@lru_cache(maxsize=256)
def _best(epsilon: float, delta: float, loss: str) -> Stepped | None:
    """The best certified step density for sensitivity 1; None where none is close to the limit."""
    found: list[Stepped | None] = [_stair(epsilon, loss)]
    if found[0] is None:
        return None  # the first step is too thin for equal cells
    if delta >= _LEAST_SHARE * -math.expm1(-epsilon):
        if _spread(epsilon, delta, loss) >= 32.0:
            found = [_geometric(epsilon, delta)]  # without it the staircase alone could be far from the limit
        else:
            found += _programmes(epsilon, delta, loss)
    return min((noise for noise in found if noise is not None), key=lambda noise: _loss(noise, loss), default=None)


# -- the results ---------------------------------------------------------------------------------------------


def checked(epsilon: Any, delta: Any, loss: Any) -> tuple[float, float, str]:
    """Check the arguments that `limit` and `optimal` have in common."""
    budget, share = budgets("epsilon", epsilon), deltas("delta", delta, zero=True)
    for name, value, array in (("epsilon", epsilon, budget), ("delta", delta, share)):
        if array.ndim:
            raise reject(name, value, "one number", f"call limit or optimal once for each {name}")
    warn_if_weak(float(budget), float(share))
    if not SMALLEST_EPSILON <= budget <= LARGEST_EPSILON:
        raise Unsupported(
            f"limit and optimal need epsilon from {SMALLEST_EPSILON:g} to {LARGEST_EPSILON:g}, got {float(budget):g}."
        )
    return float(budget), float(share), one_of("loss", loss, LOSSES)


def least(epsilon: float, delta: float, loss: str) -> float:
    """A lower bound on the loss of every noise for one number of sensitivity 1 (proof in `hush.limit`)."""
    return down(_below(epsilon, delta, loss) if delta > 0.0 else _closed_forms(epsilon, delta, loss), CLOSED_FORM)


def reached(epsilon: float, delta: float, loss: str) -> float:
    """The loss of the best noise that is known for one number of sensitivity 1."""
    upper = _closed_forms(epsilon, delta, loss)
    noise = _best(epsilon, delta, loss) if delta > 0.0 else None
    return up(min(upper, _loss(noise, loss)) if noise is not None else upper, CLOSED_FORM)


def spread_cost(step: float, loss: str) -> float:
    """How much the loss of a noise on a lattice grows at most if its points are spread evenly over their cells: step^2
    /12 for E X^2, and at most step/4 for E |X|, at the point 0 only.
    """
    return step * step / 12.0 if loss == "variance" else 0.25 * step


@lru_cache(maxsize=1024)
def least_on_lattice(epsilon: float, delta: float, cells: int, loss: str) -> float:
    """A lower bound on the loss of every noise on the lattice of step 1/cells, for sensitivity 1.

    Spread over its cells, such a noise is private for all moves up to 1 (docs/maths/limit.md), so its loss is at least
    `least` minus the cost of the spreading. If a move is one step, discrete Laplace noise is optimal at delta = 0.
    Where the spreading costs much, the linear programme of the lattice gives more.
    """
    cost, real = up(spread_cost(1.0 / cells, loss), FEW_ROUNDINGS), least(epsilon, delta, loss)
    found = [real - cost, 0.0]
    share = max(delta, next(tame for steep, tame in _TAME_DELTAS if epsilon >= steep))
    if (cells > 1 or delta > 0.0) and cost > 0.01 * real and cells <= most_cells(epsilon, share):
        found.append(down(lattice_bound(epsilon, share, cells, loss, _gamma(epsilon, loss)), CLOSED_FORM))
    if cells == 1 and delta == 0.0:
        fall = math.exp(-epsilon)
        found.append(down(2.0 * fall / math.expm1(-epsilon) ** 2, CLOSED_FORM) if loss == "variance" else 0.0)
        found.append(down(-2.0 * fall / math.expm1(-2.0 * epsilon), CLOSED_FORM) if loss == "mae" else 0.0)
    return max(found)


def optimal(epsilon: float, delta: float, sensitivity: float = 1.0, *, loss: str = "variance") -> Stepped:
    """A step density whose loss is within a fraction of a percent of `limit`, as a noise like any other.

    f(x) ~ heights[floor(|x|/width)], width = sensitivity/2^k: the solution of the linear programme, which is similar to
    a truncated staircase. At delta = 0 (or very close to it) it is the staircase itself, with its geometric tail.

    Guarantees: curve(noise, sensitivity).delta(epsilon) <= delta for every shift up to the sensitivity,
    round-off included, whatever the solver returned. The loss is near the limit, not exactly on it: `limit`
    proves the distance.

    >>> from hush import delta
    >>> noise = optimal(1.0, 1e-3)
    >>> delta(noise, 1.0) <= 1e-3, round(noise.variance, 2)
    (True, 1.85)
    """
    epsilon, delta, loss = checked(epsilon, delta, loss)
    sensitivity = positive("sensitivity", sensitivity)
    noise = _best(epsilon, delta, loss)
    if noise is None:
        nearest = f"Staircase({epsilon:g}, {sensitivity:g})"
        if delta > 0.0 and epsilon < 1.0:
            nearest = f"TruncatedLaplace({sensitivity / epsilon:g}, {sensitivity * edge(epsilon, delta):g})"
        budget = f"epsilon={epsilon:g}, delta={delta:g}"
        raise Unsupported(f"optimal uses at most {_MOST_HEIGHTS} cells, and {budget} needs more; use {nearest}.")
    scaled = Stepped(noise.width * sensitivity, noise.heights, noise.ratio, noise.period)
    if OneNumber(scaled, sensitivity).delta(epsilon) > delta:
        raise NotCertified(
            f"round-off at sensitivity {sensitivity:g} broke the certificate of the optimal noise; "
            f"write hush.optimal({epsilon:g}, {delta:g}).scaled({sensitivity:g})."
        )
    return scaled
