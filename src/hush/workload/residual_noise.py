"""Gaussian noise on integer residuals: the least total squared error of all strategies with Gaussian noise.

One person moves the residual of A, in coordinates of length 1, by a vector of squared length p_A. The variances u_A are
in units of the Gaussian noise for a move of length 1. The cost of all residuals is then the sum of p_A/u_A, and it must
be 1. The total squared error is the sum of v_A u_A, where v_A adds up w_B prod (n - 1) prod 1/n over the tables B that
contain A. By Cauchy's inequality the least total is S^2 with S the sum of root(v_A p_A), at u_A = S root(p_A/v_A).
(Xiao, He, Zhang and Kifer 2023; the proof is in docs/maths/workload.md.)

Exact draws: row i of the residual of A has whole entries and a squared length m_i. It is multiplied by a whole number
k_i <= K/root(u_A m_i), for one large K. Then one person moves the vector of all rows by at most K in length, and all
rows get noise of the same law, rounded to whole numbers after it was added.
"""

from __future__ import annotations

import math
from collections.abc import Sequence
from dataclasses import dataclass, field

import numpy as np
from numpy.typing import NDArray

from hush.errors import InvalidParameter, Unsupported
from hush.privacy.charge import Budget
from hush.workload.counts import Counts
from hush.workload.residual import (
    Subset,
    as_table,
    cell_variance,
    longest_row,
    measure,
    parts_of,
    row_norms,
    share,
)
from hush.workload.strategy import gaussian_part, times_weights
from hush.workload.table_strategy import TableStrategy, TableTask

__all__ = ["ResidualNoise", "residual_noise", "unit_variances"]

Array = NDArray[np.float64]
Whole = NDArray[np.int64]

_FINEST = 1 << 12  # the smallest k_i, where K allows it: it is rounded down, which costs less than a part in k_i
_LARGEST = 1 << 27  # K; noise on a finer lattice is drawn slowly
_COARSEST = 1 << 6  # the least k_i that is accepted
_MOST_BALL = 300  # numbers for which ball noise can be better
_MOST_SUM = 2.0**62  # rows times cells: entries of rows are at most the number of cells, and sums have 64 bits
_MOST_ROWS = 1 << 26  # numbers that are measured
_MOST_TURNS = 400  # of the search for the least worst variance
_GAP = 1e-6  # relative, between the worst variance and its lower bound


@dataclass(frozen=True, eq=False)
class ResidualNoise(TableStrategy):
    """Noise of one law on the rows of all residuals, each times a whole number."""

    scale: float = field(kw_only=True)
    units: dict[Subset, float] = field(kw_only=True)

    def _multiples(self, subset: Subset) -> Whole:
        """k_i of each row."""
        return _multiples(self.scale, self.units[subset], row_norms(subset, self.task.sizes))

    def measured(self, data: Counts) -> list[Whole]:
        counts = data.prepared(self.task.tables)
        rows = []
        for part in self.units:
            table = counts.table(part)
            if float(np.abs(table).astype(np.float64).sum()) * table.size > _MOST_SUM:
                raise InvalidParameter(f"a table of {table.size} cells has too many rows; ask for smaller tables.")
            rows.append(times_weights(measure(table), self._multiples(part)).ravel())
        return [np.concatenate(rows)]

    def estimated(self, noisy: Sequence[Whole]) -> dict[Subset, Array]:
        found, start = {}, 0
        for part in self.units:
            multiples = self._multiples(part)
            rows = noisy[0][start : start + multiples.size].reshape(multiples.shape) / multiples
            start += multiples.size
            found[part] = as_table(rows, part, self.task.sizes)
        return found


def _multiples(scale: float, unit: float, norms: Array) -> Whole:
    return np.floor(scale / np.sqrt(unit * norms)).astype(np.int64)


def residual_noise(few: bool, task: TableTask, budget: Budget, rows: int) -> ResidualNoise:
    """The least Gaussian noise for the tables; with `few`, ball noise of the same shape, for few numbers."""
    if budget.delta == 0.0 and not few:
        raise Unsupported("Gaussian noise needs a delta above 0")
    units = unit_variances(task)
    count = sum(math.prod(task.sizes[i] - 1 for i in part) for part in units)
    if few and (count > _MOST_BALL or count < 2):
        raise Unsupported(f"ball noise is for 2 to {_MOST_BALL} numbers, and there are {count}")
    widest = max(unit * longest_row(part, task.sizes) for part, unit in units.items())
    scale = max(min(_FINEST * math.sqrt(widest), float(_LARGEST)), _COARSEST * math.sqrt(widest))
    made = gaussian_part(rows * scale, count, budget, "ball" if few else "gaussian")
    variance = float(np.max(made.noise.variance))
    spreads = {part: variance * _mean_inverse(scale, unit, part, task.sizes) for part, unit in units.items()}
    name = "ball noise on residuals" if few else "Gaussian noise on residuals"
    return ResidualNoise(name, (made,), task.error(spreads), task=task, spreads=spreads, scale=scale, units=units)


def _mean_inverse(scale: float, unit: float, part: Subset, sizes: Sequence[int]) -> float:
    """The mean over the rows of 1/(k_i^2 m_i): the variance of a coordinate of length 1 for noise of variance 1."""
    if math.prod(sizes[i] - 1 for i in part) > _MOST_ROWS:
        return unit / scale**2  # the rounding of k_i costs less than a part in 64
    norms = row_norms(part, sizes)
    multiples = _multiples(scale, unit, norms).astype(np.float64)
    return float(np.mean(1.0 / (multiples**2 * norms)))


def unit_variances(task: TableTask) -> dict[Subset, float]:
    """u_A of every residual, for a cost of 1; small sets first. Attributes with one value have no residual."""
    weights = dict(task.weights)
    if task.worst:
        return _least_worst(task)
    return _least_total(task, weights)


def _least_total(task: TableTask, weights: dict[Subset, float]) -> dict[Subset, float]:
    sizes, needs = task.sizes, dict[Subset, float]()
    for table in task.tables:
        for part in parts_of(table):
            lacking = math.prod(sizes[i] for i in table if i not in part)
            needs[part] = needs.get(part, 0.0) + weights[table] / lacking
    kept = {part: need for part, need in needs.items() if all(sizes[i] > 1 for i in part)}
    # v_A = need prod (n - 1); v_A p_A and p_A/v_A follow
    roots = {
        part: math.prod(sizes[i] - 1.0 for i in part) * math.sqrt(need / _cells(part, sizes))
        for part, need in kept.items()
    }
    total = math.fsum(roots.values())
    found = {part: total * share(part, sizes) / roots[part] for part in kept}
    return {part: found[part] for part in sorted(found, key=lambda part: (len(part), part))}


def _cells(part: Subset, sizes: Sequence[int]) -> float:
    return math.prod(float(sizes[i]) for i in part)


def _least_worst(task: TableTask) -> dict[Subset, float]:
    """Variances whose largest cell variance is the least: weights grow where the variance is large.

    For weights that add up to 1 the weighted mean of the variances is a lower bound on the largest of every plan.
    """
    sizes = task.sizes
    weights = {table: 1.0 / len(task.tables) for table in task.tables}
    best, least = None, math.inf
    for _ in range(_MOST_TURNS):
        per_cell = {table: weight / _cells(table, sizes) for table, weight in weights.items()}
        units = _least_total(task, per_cell)
        each = {table: cell_variance(table, units, sizes) for table in task.tables}
        worst = max(each.values())
        if worst < least:
            best, least = units, worst
        bound = math.fsum(weights[table] * each[table] for table in task.tables)
        if least <= bound * (1.0 + _GAP):
            break
        weights = {table: weights[table] * each[table] / worst for table in task.tables}
        total = math.fsum(weights.values())
        weights = {table: weight / total for table, weight in weights.items()}
    assert best is not None
    return best
