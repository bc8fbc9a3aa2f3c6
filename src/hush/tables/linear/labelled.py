"""Answers of workloads with the values of the table: names of values instead of places, edges instead of bins."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass
from itertools import product
from typing import TYPE_CHECKING, Any

import numpy as np
from numpy.typing import NDArray

from hush.errors import InvalidParameter, shown
from hush.releasing.error_bars import Total
from hush.releasing.receipt import Receipt
from hush.tables.arrow import arrow

if TYPE_CHECKING:
    from hush.workload.line_answer import LineAnswer
    from hush.workload.synthetic.data import SyntheticRows
    from hush.workload.table_answer import MarginalsAnswer

__all__ = ["RangesAnswer", "TablesAnswer"]

Array = NDArray[np.float64]
Whole = NDArray[np.int64]


@dataclass(frozen=True, eq=False)
class TablesAnswer:
    """Private contingency tables that agree with each other; `values` lists the values of each column."""

    counts: MarginalsAnswer
    values: Mapping[str, tuple[Any, ...]]

    @property
    def receipt(self) -> Receipt:
        """What was released, and what it guarantees."""
        return self.counts.receipt

    @property
    def total(self) -> int:
        """The number of rows that count."""
        return self.counts.total

    def table(self, *names: str, non_negative: bool = False) -> Whole:
        """The counts of a table, an array with an axis for each name; places are those of `values`."""
        return self.counts.table(*names, non_negative=non_negative)

    def interval(self, *names: str, level: float = 0.95) -> tuple[Array, Array]:
        """Lower and upper ends for each cell of a table."""
        return self.counts.interval(*names, level=level)

    def sum(self, *, level: float = 0.95, non_negative: bool = False, **values: Any) -> Total:
        """The number of rows with one of the given values of each column, with an interval: sum(sex="F")."""
        places: dict[str, list[int]] = {}
        for name, given in values.items():
            if name not in self.values:
                raise InvalidParameter(f"{shown(name)} is not one of the columns {list(self.values)}.")
            listed = list(given) if isinstance(given, list | tuple | set) else [given]
            if unknown := [value for value in listed if value not in self.values[name]]:
                raise InvalidParameter(f"{shown(unknown[0])} is not a listed value of {shown(name)}.")
            places[name] = [self.values[name].index(value) for value in listed]
        return self.counts.sum(level, non_negative=non_negative, **places)

    def to_arrow(self, *names: str, level: float = 0.95) -> Any:
        """A table with a row for each cell: the values, the count, and the ends of its interval."""
        low, high = self.interval(*names, level=level)
        cells = list(product(*(self.values[name] for name in names)))
        columns = {name: [cell[place] for cell in cells] for place, name in enumerate(names)}
        ends = {"low": np.ravel(low), "high": np.ravel(high)}
        return arrow().table({**columns, "count": np.ravel(self.table(*names)), **ends})

    def to_long_arrow(self, *, level: float = 0.95) -> Any:
        """All tables that were asked for below each other: a row for each cell.

        The column `table` names the columns of the cell's table; all other columns of values are null there.
        """
        pa, parts = arrow(), []
        for names in (tuple(self.counts.workload.names[i] for i in table) for table in self.counts.workload.asked):
            cells = self.to_arrow(*names, level=level)
            label = pa.array([", ".join(names)] * cells.num_rows, pa.string())
            parts.append(cells.add_column(0, "table", label))
        order = ["table", *self.values, "count", "low", "high"]
        return pa.concat_tables(parts, promote_options="default").select([n for n in order if n in self._shown])

    @property
    def _shown(self) -> set[str]:
        """The columns that `to_long_arrow` has."""
        asked = {self.counts.workload.names[i] for table in self.counts.workload.asked for i in table}
        return {"table", "count", "low", "high", *asked}

    def synthesise(self, n: int | None = None, *, most_cells: int | None = None) -> SyntheticRows:
        """n rows with the values of the columns that follow the released tables: see
        `hush.workload.MarginalsAnswer.synthesise`.
        """
        from hush.workload.synthetic.data import MOST_CELLS, synthesised

        return synthesised(
            self.counts, n, most_cells=MOST_CELLS if most_cells is None else most_cells, values=self.values
        )

    def __repr__(self) -> str:
        return repr(self.counts)


@dataclass(frozen=True, eq=False)
class RangesAnswer:
    """Private counts of the bins of a column, with ranges and quantiles between its `edges`."""

    counts: LineAnswer
    column: str
    edges: tuple[float, ...]

    @property
    def receipt(self) -> Receipt:
        """What was released, and what it guarantees."""
        return self.counts.receipt

    @property
    def histogram(self) -> Whole:
        """The count of each bin, in whole numbers."""
        return self.counts.histogram

    def range(self, low: float, high: float, *, level: float = 0.95, non_negative: bool = False) -> Total:
        """The number of rows between two edges, with an interval. The bin of the last edge includes it."""
        for end in (low, high):
            if end not in self.edges:
                raise InvalidParameter(f"a range is between two of the edges, got {shown(end)}.")
        places = self.edges.index(low), self.edges.index(high)
        return self.counts.range(*places, level=level, non_negative=non_negative)

    def quantile(self, share: float = 0.5) -> tuple[float, float]:
        """The edges of the bin in which the cumulative count reaches this share of all rows."""
        place = int(self.counts.quantile(share))
        return self.edges[place], self.edges[place + 1]

    def quantile_interval(self, share: float = 0.5, *, level: float = 0.95) -> tuple[float, float]:
        """Two edges between which this quantile of the rows lies with at least this probability."""
        first, last = self.counts.quantile_interval(share, level=level)
        return self.edges[first], self.edges[last + 1]

    def mean(self, *, level: float = 0.95) -> Total:
        """The mean of the column over the rows between the edges, with an interval.

        Where a row is in its bin is not known: the value has the middle of each bin, and the interval has the left
        edges at its lower end and the right edges at its upper end.
        """
        left, right = np.array(self.edges[:-1], dtype=np.float64), np.array(self.edges[1:], dtype=np.float64)
        ends = [self.counts.mean(values, level=level) for values in (left, right)]
        return Total(0.5 * (ends[0].value + ends[1].value), ends[0].low, ends[1].high)

    def to_arrow(self) -> Any:
        """A table with a row for each bin: its edges, its count and its cumulative count."""
        counts, cumulative = self.histogram, self.counts.prefixes
        ends = {"from": list(self.edges[:-1]), "to": list(self.edges[1:])}
        return arrow().table({**ends, "count": counts, "cumulative": cumulative})

    def __repr__(self) -> str:
        return repr(self.counts)
