"""The two linear programmes behind `limit`: one bounds the loss of every noise from below, the other builds a noise
that comes close.

Both use a lattice of step 1/cells for sensitivity 1. No proof depends on the solver: its result is only a proposal, and
ordinary arithmetic checks it afterwards (`_Tests.bound`, and the certified curve in `limit.optimal`).
"""

from __future__ import annotations

import math
from dataclasses import dataclass
from typing import Any

import numpy as np
from numpy.typing import NDArray

from hush.numerics.rounding import CLOSED_FORM, SUM_OF_POSITIVE_TERMS, UNIT, down, up

__all__ = ["edge", "lattice_bound", "most_cells", "step_heights"]

Array = NDArray[np.float64]
Index = NDArray[np.int64]

#: The largest number of (shift, point) pairs. If there are more, only pairs near the centre are kept, where the small
#: shifts matter.
_MOST_PAIRS = 3000
#: HiGHS settings (tolerance, presolve), in the order in which they are tried.
_ATTEMPTS = ((1e-9, False), (1e-9, True), (1e-7, False))
#: Seconds. Far above what a programme takes here, so that results do not depend on how busy the machine is.
_SECONDS = 20.0


def edge(epsilon: float, delta: float) -> float:
    """Where truncated Laplace noise of scale 1/epsilon ends: log(1 + (e^eps - 1)/(2 delta))/eps (Geng, Ding, Guo,
    Kumar 2020).

    >>> round(edge(0.3, 1e-6), 4)
    40.2405
    """
    if epsilon - math.log(delta) > 600.0:
        return (epsilon + math.log(-math.expm1(-epsilon)) - math.log(2.0) - math.log(delta)) / epsilon
    return math.log1p(math.expm1(epsilon) / (2.0 * delta)) / epsilon


def most_cells(epsilon: float, delta: float, middle: float | None = None) -> int:
    """The finest lattice, in cells per sensitivity, on which every shift can be tested: at all points, or at those
    within `middle` of 0.
    """
    reach = edge(epsilon, delta) + 1.3
    if middle is None:
        return max(1, math.floor(math.sqrt(_MOST_PAIRS / reach)))
    pairs = 1.4 * _MOST_PAIRS  # these are the easier programmes
    # the positive root of 1.7 middle m^2 + reach m = pairs
    return max(1, math.floor(2.0 * pairs / (reach + math.sqrt(reach**2 + 6.8 * middle * pairs))))


def _solve(cost: Array, rows: Any, limits: Array, weights: Array) -> Any | None:
    """min cost.v over v >= 0 with rows v <= limits and weights.v = 1; None where HiGHS gives up."""
    from scipy.optimize import linprog
    from scipy.sparse import csr_array

    total = csr_array(weights[None, :])
    for tolerance, presolve in _ATTEMPTS:
        options = {
            "primal_feasibility_tolerance": tolerance,
            "dual_feasibility_tolerance": tolerance,
            "presolve": presolve,
            "time_limit": _SECONDS,
        }
        answer = linprog(cost, rows, limits, total, [1.0], bounds=(0, None), method="highs-ds", options=options)
        if answer.status == 0:
            return answer
    return None


def _sparse(entries: list[tuple[Any, Any, Any]], shape: tuple[int, int]) -> Any:
    """A sparse matrix from blocks of (row, column, value)."""
    from scipy.sparse import coo_array

    row, column, value = (np.concatenate([np.asarray(e[i]) for e in entries]) for i in range(3))
    return coo_array((value, (row, column)), shape=shape).tocsr()


# -- a lower bound for every noise ---------------------------------------------------------------------------


@dataclass(frozen=True)
class _Tests:
    """The attacks that bound the loss: for shift j, sum over t of phi_j(t) (p_t - e^eps p_{t+j}) <= delta if 0 <=
    phi_j <= 1.

    `near` = |t| < `far` = |t + j| list the points where phi_j is free; for shifts marked `endless`, phi_j = 1 at
    every t > last.
    """

    epsilon: float
    delta: float
    cost: Array  # loss at 0, h, 2h, ..., (last + cells) h, and one beyond
    near: Index
    far: Index
    which: Index  # row of `shifts`
    shifts: Index
    endless: NDArray[np.bool_]
    last: int

    @property
    def size(self) -> int:
        return self.cost.size - 1

    @property
    def count(self) -> Array:
        """How many lattice points have each distance from 0."""
        return np.where(np.arange(self.size) == 0, 1.0, 2.0)

    @property
    def tail(self) -> Array:
        """What phi_j = 1 beyond `last` adds to each distance: 1 up to last + j, then 1 - e^eps; a row for each
        shift.
        """
        r = np.arange(self.size)
        beyond = np.where(r <= self.last + self.shifts[:, None], 1.0, -math.expm1(self.epsilon))
        return np.where((r > self.last) & self.endless[:, None], beyond, 0.0)

    def margin(self, flow: Array, most: Array) -> tuple[Array, Array]:
        """(out - e^eps in + tail, its round-off bound) for each distance, with flow = mu_j phi_j(t) and most = mu_j."""
        growth, tail = math.exp(self.epsilon), self.tail
        out, into = np.bincount(self.near, flow, self.size), growth * np.bincount(self.far, flow, self.size)
        terms = (
            np.bincount(self.near, minlength=self.size)
            + np.bincount(self.far, minlength=self.size)
            + self.shifts.size
            + 8
        )
        return out - into + most @ tail, UNIT * terms * (out + into + most @ np.abs(tail) + self.count * self.cost[:-1])

    def bound(self, flow: Array, most: Array) -> float:
        """Weak duality: lambda - delta sum mu_j, with lambda the least cost + (out - e^eps in + tail)/count at any
        distance.

        Guarantees: a lower bound on the expected cost of every symmetric (epsilon, delta)-private lattice noise.
        Beyond the listed distances only the endless tests contribute, and the cost grows: one more distance bounds all
        the rest.
        """
        flow = np.clip(flow, 0.0, most[self.which])
        gain, doubt = self.margin(flow, most)
        least = float(np.min(self.cost[:-1] + (gain - doubt) / self.count))
        endless = float(most[self.endless].sum()) * math.expm1(self.epsilon) / 2.0
        least = min(least, down(float(self.cost[-1]), CLOSED_FORM) - up(endless, CLOSED_FORM))
        paid = self.delta * float(most.sum())
        return least - paid - SUM_OF_POSITIVE_TERMS.share * (abs(least) + paid)

    def repaired(self, flow: Array, most: Array, target: float) -> Array:
        """The flow with every shortfall below the target moved towards the centre, where it is e^-eps smaller at each
        step.

        The error of the solver is largest, in true units, far from the centre. Removing d/e^eps of the flow into a
        distance raises that distance by d.
        """
        flow = np.clip(flow, 0.0, most[self.which])
        gain, doubt = self.margin(flow, most)
        lack = target * self.count - (self.cost[:-1] * self.count + gain - 2.0 * doubt)
        growth = math.exp(self.epsilon)
        order = np.argsort(self.far, kind="stable")
        start = np.searchsorted(self.far[order], np.arange(self.size + 1))
        for r in range(self.size - 1, 0, -1):
            pairs = order[start[r] : start[r + 1]]
            into = float(flow[pairs].sum())
            if lack[r] > 0.0 and into > 0.0:
                taken = flow[pairs] * min(lack[r] / growth / into, 1.0)
                flow[pairs] -= taken
                np.add.at(lack, self.near[pairs], taken)
        return flow


def _tests(epsilon: float, delta: float, cells: int, loss: str, middle: float) -> _Tests:
    """All shifts 1..cells at all points if they are few; otherwise the full shift everywhere and the others for |t|
    <= middle.
    """
    last = math.ceil((edge(epsilon, delta) + 1.0) * cells)
    distance = np.arange(last + cells + 2) / cells
    shifts = np.arange(cells, 0, -1)
    everywhere = shifts.size * (last + cells // 4) <= _MOST_PAIRS
    points = []
    for j in shifts:
        # Only tests towards the outside, |t| < |t + j|, are useful. Leaving out the others can only lower the bound.
        t = np.arange(-((j - 1) // 2), last + 1)
        points.append(t if everywhere or j == cells else t[np.abs(t) <= math.ceil(middle * cells)])
    which = np.repeat(np.arange(shifts.size), [t.size for t in points])
    t = np.concatenate(points)
    cost = distance**2 if loss == "variance" else distance
    endless = (shifts == cells) | everywhere
    return _Tests(epsilon, delta, cost, np.abs(t), np.abs(t + shifts[which]), which, shifts, endless, last)


def _proposal(tests: _Tests, cells: int) -> tuple[Array, Array, float] | None:
    """(flow, most, target) from the multipliers of the primal programme; None where HiGHS gives up.

    Its variables are the scaled probabilities y_r = p_r e^(eps r h) and the slacks u_j(t)/delta; the multipliers of
    the rows p_t - e^eps p_{t+j} <= u_j(t) and sum_t u_j(t) <= delta are the flows mu_j phi_j(t) and the mu_j.
    """
    n, pairs, kinds, delta = tests.size, tests.near.size, tests.shifts.size, tests.delta
    weight = np.maximum(np.exp(-tests.epsilon * np.arange(n) / cells), 1e-3 * delta)
    unit = float(np.dot(tests.count * weight, tests.cost[:-1]) / np.dot(tests.count, weight))
    row, lift = np.arange(pairs), 1.0 / weight[tests.near]
    tail = tests.tail * weight / delta
    kind, distance = np.nonzero(tail)
    entries = [
        (row, tests.near, np.ones(pairs)),
        (row, tests.far, -math.exp(tests.epsilon) * weight[tests.far] * lift),
        (row, n + row, -delta * lift),
        (pairs + tests.which, n + row, np.ones(pairs)),
        (pairs + kind, distance, tail[kind, distance]),
    ]
    rows = _sparse(entries, (pairs + kinds, n + pairs))
    zeros = np.zeros(pairs)
    cost = np.append(tests.count * tests.cost[:-1] * weight / unit, zeros)
    answer = _solve(cost, rows, np.append(zeros, np.ones(kinds)), np.append(tests.count * weight, zeros))
    if answer is None:
        return None
    multiplier = np.maximum(-answer.ineqlin.marginals, 0.0) * unit
    flow, most = multiplier[:pairs] * lift, multiplier[pairs:] / delta
    # raising mu_j to the largest flow costs delta times the solver's tolerance; cutting the flow to mu_j costs far more
    np.maximum.at(most, tests.which, flow)
    return flow, most, float(answer.eqlin.marginals[0]) * unit


def lattice_bound(epsilon: float, delta: float, cells: int, loss: str, middle: float) -> float:
    """A proved lower bound on E X^2 or E |X| over all noises on the lattice of step 1/cells that are private for
    shifts up to 1.

    Guarantees: whatever HiGHS returns, the number is a lower bound (0 if it returns nothing). For integer answers the
    pure noise has 2 e^-1/(1 - e^-1)^2 = 1.8414, and delta reduces it slightly:

    >>> round(lattice_bound(1.0, 1e-6, 1, "variance", 0.5), 4)
    1.8411
    """
    tests = _tests(epsilon, delta, cells, loss, middle)
    proposal = _proposal(tests, cells)
    if proposal is None:
        return 0.0
    flow, most, target = proposal
    return max(tests.bound(flow, most), tests.bound(tests.repaired(flow, most, target), most), 0.0)


# -- a noise close to the limit ------------------------------------------------------------------------------


def step_heights(epsilon: float, delta: float, cells: int, loss: str, *, falling: bool) -> Array | None:
    """The step density of least loss (cells of width 1/cells on the half line, as masses) with divergence <= delta up
    to shift 1.

    falling=True requires heights that never rise; then only the full shift matters, and only outward.
    falling=False lists every shift of whole cells; between them the divergence is linear in the shift.
    Returns None where HiGHS gives up. The caller certifies the heights, as the solver meets delta only to its
    tolerance.
    """
    n = math.ceil((edge(epsilon, delta) + 1.0) * cells)
    i = np.arange(n)
    weight = np.maximum(np.exp(-epsilon * i / cells), 1e-3 * delta)
    cell_cost = (i * i + i + 1.0 / 3.0) / cells**2 if loss == "variance" else (i + 0.5) / cells
    shifts = np.array([cells]) if falling else np.arange(1, cells + 1)
    points = np.arange(-min(n, (cells + 1) // 2) if falling else -n, n)
    which, t = np.repeat(np.arange(shifts.size), points.size), np.tile(points, shifts.size)
    far = t + shifts[which]
    near, far, inside = np.where(t < 0, -1 - t, t), np.where(far < 0, -1 - far, far), far < n
    pairs, lift, row = t.size, 1.0 / weight[near], np.arange(t.size)
    down = np.arange(n - 1) if falling else np.arange(0)
    entries = [
        (row, near, np.ones(pairs)),
        (row[inside], far[inside], -math.exp(epsilon) * weight[far[inside]] * lift[inside]),
        (row, n + row, -delta * lift),
        (pairs + which, n + row, np.ones(pairs)),
        (pairs + shifts.size + down, down + 1, weight[down + 1] / weight[down]),
        (pairs + shifts.size + down, down, -np.ones(down.size)),
    ]
    rows = _sparse(entries, (pairs + shifts.size + down.size, n + pairs))
    limits = np.concatenate([np.zeros(pairs), np.ones(shifts.size), np.zeros(down.size)])
    unit = float(np.dot(weight, cell_cost) / weight.sum())
    zeros = np.zeros(pairs)
    answer = _solve(np.append(weight * cell_cost / unit, zeros), rows, limits, np.append(2.0 * weight, zeros))
    if answer is None:
        return None
    heights = np.maximum(answer.x[:n] * weight, 0.0)
    return np.maximum.accumulate(heights[::-1])[::-1] if falling else heights
