"""Whole-number Laplace noise on every cell of some tables: of the whole histogram, or of the tables asked for.

A table B with noise of variance V in each cell gives an estimate of the residual of a part A: summed over the m cells
that differ only outside A, it has the variance V m in coordinates of length 1. The estimates of several tables are
independent. Their mean with the weights 1/(V m) has the variance 1 over the sum of these weights. It is the least
squares estimate.
"""

from __future__ import annotations

import math
from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field
from itertools import product

import numpy as np
from numpy.typing import NDArray

from hush.errors import Unsupported
from hush.privacy.charge import Budget
from hush.workload.counts import Counts
from hush.workload.residual import Subset, centred, parts_of, subsets
from hush.workload.strategy import laplace_part, laplace_variance, spared
from hush.workload.sum_law import LaplaceTerms, SumLaw
from hush.workload.table_strategy import TableStrategy, TableTask

__all__ = ["MeasuredTables", "measured_tables"]

Array = NDArray[np.float64]
Whole = NDArray[np.int64]

_MOST_CELLS = 1 << 22  # of all measured tables


@dataclass(frozen=True, eq=False)
class MeasuredTables(TableStrategy):
    """Laplace noise of one epsilon on every cell of the tables `noisy_tables`."""

    noisy_tables: tuple[Subset, ...] = field(kw_only=True)
    epsilon: float = field(kw_only=True)

    def measured(self, data: Counts) -> list[Whole]:
        return [np.concatenate([data.table(table).ravel() for table in self.noisy_tables])]

    def _share(self, part: Subset, table: Subset) -> float:
        """The weight of a measured table in the estimate of a residual, divided by the cells that are added up."""
        lacking = math.prod(self.task.sizes[i] for i in table if i not in part)
        return self.spreads[part] / (laplace_variance(self.epsilon) * lacking)

    def estimated(self, noisy: Sequence[Whole]) -> dict[Subset, Array]:
        sizes, found, start = self.task.sizes, dict[Subset, Array](), 0
        for table in self.noisy_tables:
            shape = tuple(sizes[i] for i in table)
            size = math.prod(shape)
            cells = noisy[0][start : start + size].reshape(shape).astype(np.float64)
            start += size
            for part in parts_of(table):
                if part in self.spreads:
                    axes = tuple(axis for axis, i in enumerate(table) if i not in part)
                    one = self._share(part, table) * centred(cells.sum(axis=axes))
                    found[part] = found[part] + one if part in found else one
        return found

    def law(self, table: Subset, cells: Mapping[int, int]) -> SumLaw:
        """The law of the error of a box, from the weights of all noisy cells.

        The weight of a noisy cell depends only on which of its values are in the box, for the attributes of both.
        """
        weights: dict[float, float] = {}
        for other in self.noisy_tables:
            common = [i for i in table if i in other]
            free = math.prod(self.task.sizes[i] for i in other if i not in common)
            for inside in product((True, False), repeat=len(common)):
                count = free
                for i, within in zip(common, inside, strict=True):
                    count *= cells[i] if within else self.task.sizes[i] - cells[i]
                weight = round(abs(self._weight(table, other, cells, dict(zip(common, inside, strict=True)))), 14)
                if count and weight:
                    weights[weight] = weights.get(weight, 0.0) + count
        terms = LaplaceTerms(self.epsilon, np.array(list(weights)), np.array(list(weights.values())))
        return SumLaw(0.0, (terms,))

    def _weight(self, table: Subset, other: Subset, cells: Mapping[int, int], inside: Mapping[int, bool]) -> float:
        total, sizes = 0.0, self.task.sizes
        for part in parts_of(tuple(inside)):
            if part in self.spreads:
                seen = math.prod(inside[i] - cells[i] / sizes[i] for i in part)
                outside = math.prod(cells[i] / sizes[i] for i in table if i not in part)
                total += self._share(part, other) * seen * outside
        return total


def measured_tables(task: TableTask, budget: Budget, rows: int, tables: Sequence[Subset]) -> MeasuredTables:
    """Laplace noise on these tables, with equal shares of epsilon."""
    sizes = task.sizes
    count = sum(math.prod(sizes[i] for i in table) for table in tables)
    if count > _MOST_CELLS:
        raise Unsupported(f"{count} cells are too many to measure each of them")
    each = spared(budget.epsilon) / (len(tables) * rows)
    variance = laplace_variance(each)
    known = dict.fromkeys((part for part in subsets(tables) if all(sizes[i] > 1 for i in part)), 0.0)
    for table in tables:
        for part in parts_of(table):
            if part in known:
                known[part] += 1.0 / (variance * math.prod(sizes[i] for i in table if i not in part))
    wanted = subsets(task.tables)
    spreads = {part: 1.0 / precision for part, precision in known.items() if part in set(wanted)}
    made = laplace_part(spared(budget.epsilon), count, len(tables), rows)
    whole = len(tables) == 1 and len(tables[0]) == len(sizes)
    name = "Laplace noise on the histogram" if whole else "Laplace noise on each table"
    return MeasuredTables(
        name, (made,), task.error(spreads), task=task, spreads=spreads, noisy_tables=tuple(tables), epsilon=each
    )
