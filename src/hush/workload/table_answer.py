"""`MarginalsAnswer`: private tables that agree with each other, with intervals for every cell and every sum."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field
from functools import cached_property
from typing import Any

import numpy as np
from numpy.typing import NDArray

from hush.errors import InvalidParameter
from hush.releasing.error_bars import Total
from hush.releasing.receipt import Receipt
from hush.sampling.entropy import Entropy
from hush.workload.consistent import PrefixCounts, around, non_negative_fit, whole_steps_of
from hush.workload.residual import Subset, rebuild
from hush.workload.synthetic.data import MOST_CELLS, SyntheticRows, synthesised
from hush.workload.table_strategy import TableStrategy

__all__ = ["MarginalsAnswer"]

Array = NDArray[np.float64]
Whole = NDArray[np.int64]


@dataclass(frozen=True, eq=False, repr=False)
class MarginalsAnswer:
    """The answer to `Marginals`. Everything here is post-processing of the noisy numbers.

    `table("sex", "age")` has whole numbers. All tables agree to the last integer: summed over an attribute they are the
    smaller table. `estimate(...)` has the unbiased estimates before rounding, and intervals are around these.
    """

    workload: Any
    strategy: TableStrategy
    residuals: Mapping[Subset, Array] = field(repr=False)
    receipt: Receipt

    def _place(self, names: Sequence[str]) -> Subset:
        place: Subset = self.workload.place(names)
        if not any(set(place) <= set(table) for table in self.workload.asked):
            raise InvalidParameter(f"no table of the workload contains {list(names)}; ask for it in the workload.")
        return place

    def _estimate(self, subset: Subset) -> Array:
        return rebuild(subset, self.residuals, self.workload.sizes)

    @cached_property
    def _prefixes(self) -> PrefixCounts:
        return PrefixCounts(self._estimate)

    def _turned(self, table: NDArray[Any], names: Sequence[str], place: Subset) -> NDArray[Any]:
        """The axes in the order of the names."""
        return np.transpose(table, [place.index(self.workload.names.index(name)) for name in names])

    def estimate(self, *names: str) -> Array:
        """The unbiased estimates of a table, not rounded, with an axis for each name in the given order."""
        place = self._place(names)
        return self._turned(self._estimate(place), names, place)

    def table(self, *names: str, non_negative: bool = False) -> Whole:
        """The table of whole numbers, with an axis for each name in the given order; without names the total.

        non_negative=True gives the closest table without negative numbers that has the same total. It no longer agrees
        with other tables but in its total, and small counts are too large on average.
        """
        place = self._place(names)
        found = self._prefixes.table(place)
        if non_negative:
            total = max(int(self._prefixes.table(())), 0)
            fitted = non_negative_fit(self._estimate(place), float(total)).ravel()
            found = whole_steps_of(fitted).reshape(found.shape)
        return self._turned(found, names, place)

    @property
    def total(self) -> int:
        """The number of rows."""
        return int(self._prefixes.table(()))

    @property
    def tables(self) -> dict[tuple[str, ...], Whole]:
        """All tables that were asked for, in whole numbers."""
        names = self.workload.names
        asked = [tuple(names[i] for i in table) for table in self.workload.asked]
        return {table: self.table(*table) for table in asked}

    def interval(self, *names: str, level: float = 0.95) -> tuple[Array, Array]:
        """Lower and upper ends for each cell; each pair contains the true count with at least this probability."""
        place = self._place(names)
        width = self.strategy.law(place, dict.fromkeys(place, 1)).half_width(level)
        around = self.estimate(*names)
        return around - width, around + width

    def sum(self, level: float = 0.95, *, non_negative: bool = False, **values: Any) -> Total:
        """The number of rows whose attributes have one of the given values, with an interval: a value or a list of
        values for each attribute, sum(sex=0, age=[3, 4, 5]). Without values it is the number of all rows.
        non_negative=True cuts value and interval at 0.
        """
        names = tuple(values)
        place = self._place(names)
        chosen = {}
        for name, given in values.items():
            i, listed = self.workload.names.index(name), np.atleast_1d(np.asarray(given))
            size = self.workload.sizes[i]
            if listed.dtype.kind not in "iu" or len(set(listed.tolist())) != listed.size or not listed.size:
                raise InvalidParameter(f"{name} must be different values from 0 to {size - 1}.")
            if listed.min() < 0 or listed.max() >= size:
                raise InvalidParameter(f"{name} must be values from 0 to {size - 1}.")
            chosen[i] = listed
        block = self._estimate(place)[np.ix_(*(chosen[i] for i in place))] if place else self._estimate(place)
        width = self.strategy.law(place, {i: chosen[i].size for i in place}).half_width(level)
        return around(float(block.sum()), width, non_negative)

    def synthesise(
        self, n: int | None = None, *, most_cells: int = MOST_CELLS, entropy: Entropy | None = None
    ) -> SyntheticRows:
        """n rows that follow the released tables; by default as many as the released total.

        A model of all attributes is fitted to the tables, and the rows are drawn from it. `most_cells` limits the
        cells that the model stores. `report()` of the rows says which tables they keep and how well. All of it is
        post-processing, and costs no privacy.
        """
        return synthesised(self, n, most_cells=most_cells, entropy=entropy)

    def __repr__(self) -> str:
        return f"MarginalsAnswer: {self.workload}; {self.strategy.name}; {self.receipt.guarantee}"
