"""Joint noise for all tables of one attribute: one draw for all tables, on the whole numbers, with a pure epsilon."""

from __future__ import annotations

import math
from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field
from fractions import Fraction
from functools import lru_cache
from typing import Any

import numpy as np
from numpy.typing import NDArray

from hush.errors import Unsupported, must_be_level
from hush.noise.one_way import OneWay
from hush.noise.table_points import float_sums
from hush.numerics.rounding import SPECIAL_FUNCTION, round_up, up
from hush.numerics.search import first_true
from hush.privacy.charge import Budget
from hush.privacy.sensitivity import Sensitivity
from hush.sampling.mechanism import Mechanism
from hush.workload.counts import Counts
from hush.workload.residual import Subset
from hush.workload.strategy import spared
from hush.workload.table_strategy import TableStrategy, TableTask

__all__ = ["OneWayTables", "one_way"]

Array = NDArray[np.float64]
Whole = NDArray[np.int64]

_MOST_CELLS = 200  # beyond, Gaussian noise is better for every number of tables
_MOST_LEVELS = 450  # for which the law of a cell is computed
_MOST_NUMBERS = 400_000  # whole numbers that an exact draw needs, for all different sizes of tables


@dataclass(frozen=True)
class CellLaw:
    """The law of the error of some cells of one table, or of the total."""

    noise: OneWay
    size: int
    cells: int
    variance: float

    def half_width(self, level: float) -> float:
        """A w with P(|error| <= w) >= level.

        For one cell, for all cells but one and for the total by the exact law, otherwise by the variance (Chebyshev).
        """
        outside = 1.0 - must_be_level(level)
        found = up(math.sqrt(self.variance / outside), SPECIAL_FUNCTION)
        if self.cells in (1, self.size) and self.noise.offset + self.noise.scale * self.noise.dimension < _MOST_LEVELS:
            masses = _total_masses(self.noise) if self.cells == self.size else _cell_masses(self.noise, self.size)
            beyond = 1.0 - masses[0] - 2.0 * np.cumsum(np.append(0.0, masses[1:]))  # P(|error| > k)
            enough = np.flatnonzero(up(np.maximum(beyond, 0.0), SPECIAL_FUNCTION) <= outside)
            found = min(found, float(enough[0])) if enough.size else found
        return found


@lru_cache(maxsize=32)
def _total_masses(noise: OneWay) -> Array:
    """P(total = t) for t = 0, 1, ..."""
    weights, _ = noise.level_sums()
    return np.asarray(weights * np.where(np.arange(weights.size) > 0, 0.5, 1.0) / weights.sum())


@lru_cache(maxsize=32)
def _cell_masses(noise: OneWay, size: int) -> Array:
    """P(cell = a) for a = 0, 1, ...: points of the other cells of its table have the sum t - a and the norm less a."""
    last, c = noise.furthest, noise.offset
    tables = {one: float_sums(one, last + c)[0] for one in set(noise.sizes)}
    rest = float_sums(size - 1, last + c)[0]
    often = {one: noise.sizes.count(one) - (one == size) for one in tables}
    total, top = np.zeros(last + c + 1), -math.inf
    for level in range(last + 1):
        m, t = level + c, np.arange(-level, level + 1)
        others = sum(often[one] * np.log(tables[one][np.abs(t), (m - np.abs(t)) // 2]) for one in tables)
        logs = others - level / noise.scale
        a = np.arange(m + 1)[:, None]
        sums = np.abs(t[None, :] - a)
        room = m - a - sums
        number = np.where(room >= 0, rest[np.minimum(sums, last + c), np.maximum(room, 0) // 2], 0.0)
        high = float(np.max(logs))
        if high > top:
            total, top = total * (math.exp(top - high) if top > -math.inf else 0.0), high
        total[: m + 1] += number @ np.exp(logs - top)
    return total / (2.0 * total.sum() - total[0])


@dataclass(frozen=True, eq=False)
class OneWayTables(TableStrategy):
    """One draw of `OneWay` noise for all cells of the tables."""

    attributes: tuple[int, ...] = field(kw_only=True)

    def measured(self, data: Counts) -> list[Whole]:
        return [np.concatenate([data.table((i,)) for i in self.attributes])]

    def estimated(self, noisy: Sequence[Whole]) -> dict[Subset, Array]:
        sizes = [self.task.sizes[i] for i in self.attributes]
        tables = np.split(noisy[0].astype(np.float64), np.cumsum(sizes)[:-1])
        found: dict[Subset, Array] = {(): np.asarray(tables[0].sum())}
        return found | {(i,): table - table.mean() for i, table in zip(self.attributes, tables, strict=True)}

    def law(self, table: Subset, cells: Mapping[int, int]) -> Any:
        noise: Any = self.parts[0].noise
        used = [i for i in table if i in self.attributes]
        size, count = (self.task.sizes[used[0]], cells[used[0]]) if used else (1, 1)
        return CellLaw(noise, size, count, self.box_variance(table, cells))


def one_way(task: TableTask, budget: Budget, rows: int) -> OneWayTables:
    """The least joint noise for tables of one attribute."""
    if any(len(table) > 1 for table in task.tables):
        raise Unsupported("joint noise is for tables of one attribute")
    attributes = tuple(i for (i,) in (table for table in task.tables if table) if task.sizes[i] > 1)
    sizes = tuple(task.sizes[i] for i in attributes)
    if len(sizes) < 2 or sum(sizes) > _MOST_CELLS:
        raise Unsupported(f"joint noise is for several tables with at most {_MOST_CELLS} cells in all")
    scale = round_up(Fraction(rows) / Fraction(spared(budget.epsilon)))

    def error(offset: int) -> float:
        return task.error(_spreads(OneWay(sizes, scale, offset), attributes))

    best = first_true(0, 4 * sum(sizes) * math.ceil(scale) + 4, lambda c: error(c + 1) >= error(c))
    noise = OneWay(sizes, scale, best)
    if len(set(sizes)) * (noise.furthest + best) ** 2 > 4 * _MOST_NUMBERS:
        raise Unsupported("joint noise of this size takes long to draw")
    facts = Sensitivity(linf=float(rows), dimension=sum(sizes), one_sided=True, tables=sizes)
    made = Mechanism(noise, facts, 1.0, True, sum(sizes))
    spreads = _spreads(noise, attributes)
    return OneWayTables(
        "joint noise on one-way tables", (made,), task.error(spreads), task=task, spreads=spreads, attributes=attributes
    )


@lru_cache(maxsize=256)
def _spreads(noise: OneWay, attributes: tuple[int, ...]) -> dict[Subset, float]:
    """The variance of the total and of a centred table, in coordinates of length 1."""
    total, cells = noise.moments
    found: dict[Subset, float] = {(): total}
    for i, size, own in zip(attributes, noise.sizes, cells, strict=True):
        found[i,] = (own - total / size**2) * size / (size - 1.0)
    return found
