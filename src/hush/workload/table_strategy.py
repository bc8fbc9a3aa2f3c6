"""What all strategies for tables have in common: independent residuals with one variance each."""

from __future__ import annotations

import math
from collections.abc import Mapping
from dataclasses import dataclass, field

from hush.workload.residual import Subset, cell_variance
from hush.workload.strategy import Strategy
from hush.workload.sum_law import SumLaw

__all__ = ["TableStrategy", "TableTask"]


@dataclass(frozen=True)
class TableTask:
    """Tables of attributes with these numbers of values; `weights` has the weight of a cell of each table. With
    `worst` the largest variance of a cell counts, and the weights do not.
    """

    sizes: tuple[int, ...]
    tables: tuple[Subset, ...]
    weights: Mapping[Subset, float] = field(hash=False)
    worst: bool = False

    def error(self, spreads: Mapping[Subset, float]) -> float:
        """What is minimised: the weighted mean of the variances of all cells, or the largest of them."""
        each = {table: cell_variance(table, spreads, self.sizes) for table in self.tables}
        if self.worst:
            return max(each.values())
        cells = {table: math.prod(self.sizes[i] for i in table) * self.weights[table] for table in self.tables}
        return math.fsum(cells[table] * each[table] for table in self.tables) / math.fsum(cells.values())


@dataclass(frozen=True, eq=False)
class TableStrategy(Strategy):
    """A strategy that estimates the residual of each set of attributes.

    `spreads[A]` is the variance of the residual of A in coordinates of length 1. Residuals of different sets are
    uncorrelated, so the variance of every sum of cells follows from them.
    """

    task: TableTask = field(kw_only=True)
    spreads: Mapping[Subset, float] = field(kw_only=True)

    def law(self, table: Subset, cells: Mapping[int, int]) -> SumLaw:
        """The law of the error of a box of a table: `cells[i]` of the values of each attribute i are in it."""
        return SumLaw(self.box_variance(table, cells))

    def box_variance(self, table: Subset, cells: Mapping[int, int]) -> float:
        """The variance of a box: the sum over the parts A of spread prod k (1 - k/n) prod (k/n)^2, the first product
        over the attributes of A, the second over the other attributes of the table.
        """
        total, sizes = 0.0, self.task.sizes
        for part, spread in self.spreads.items():
            if set(part) <= set(table):
                inside = math.prod(cells[i] * (1.0 - cells[i] / sizes[i]) for i in part)
                total += spread * inside * math.prod((cells[i] / sizes[i]) ** 2 for i in table if i not in part)
        return total
