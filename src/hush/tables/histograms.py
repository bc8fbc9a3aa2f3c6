"""The aggregate `histogram`: rows by bin, between edges or by category."""

from __future__ import annotations

from collections.abc import Iterable, Mapping
from dataclasses import dataclass, replace
from typing import TYPE_CHECKING, Any

import numpy as np

from hush.errors import InvalidParameter, called_like, shown
from hush.tables.bins import category_index, checked_categories, checked_edges, edge_index
from hush.tables.bounded_value import value_kind
from hush.tables.column_law import ColumnLaw
from hush.tables.estimate import Around, Array, Ends, Linear, Released, half_width, numbers
from hush.tables.expression import bind
from hush.tables.measure import Limit, Measure, Prepared, bounds_in_words, optional_rows, row_limit
from hush.tables.quantise import Limits, outside

if TYPE_CHECKING:
    from hush.tables.policy.facts import Facts

__all__ = ["MOST_BINS", "BinCounts", "Histogram", "between_edges", "histogram"]

#: Each bin is a column of the table. More columns than this are not useful.
MOST_BINS = 1000


@dataclass(frozen=True)
class BinCounts:
    """The counts of the bins, along the last axis."""

    names: tuple[str, ...]

    def linear(self) -> tuple[Linear, ...]:
        """Each bin is a count."""
        return tuple(Linear(((name, 1.0),), whole=True, signed=False) for name in self.names)

    def __call__(self, released: Released) -> Array:
        return np.stack([numbers(released[name]) for name in self.names], axis=-1)

    def ends(self, mechanisms: Mapping[str, ColumnLaw], level: float) -> Ends:
        """Each count, less and plus the half width of its noise, which is the same in all bins."""
        return Around(self, half_width(mechanisms[self.names[0]], level))

    def planning_point(self, rows: int) -> dict[str, float]:
        """Rows that are spread evenly over the bins."""
        return dict.fromkeys(self.names, rows / len(self.names))


@dataclass(frozen=True)
class Histogram(Measure):
    """The number of rows in each bin: between `edges`, or one bin per category."""

    column: Any
    edges: tuple[Any, ...] | None
    categories: tuple[Any, ...] | None
    rows_per_unit: int | None

    def declared(self, name: str, facts: Facts) -> Measure:
        """Categories and rows from the policy, where they were left out."""
        rows = facts.rows(name, self.rows_per_unit)
        if self.edges is None:
            return replace(self, categories=facts.categories(name, self.column, self.categories), rows_per_unit=rows)
        facts.edges(name, self.column, self.edges)
        return replace(self, rows_per_unit=rows)

    def prepare(self, name: str, relation: Any, limits: Limits) -> Prepared:
        """One count for each bin."""
        column = bind(relation, self.column, f"the column of {shown(name)}")
        rows = row_limit(name, self.rows_per_unit, limits)
        value, labels, limit, dropped = self._binned(name, column)
        return Prepared(
            name,
            "histogram",
            BinCounts(tuple(f"{name}.{i}" for i in range(len(labels)))),
            value=value,
            rows=rows,
            bins=len(labels),
            labels=labels,
            bounds_text=f"{bounds_in_words(name, rows)}, {dropped}",
            limit=limit,
            answer_names=tuple(f"{name} {_bin(label, closed=label is labels[-1])}" for label in labels),
        )

    def _binned(self, name: str, column: Any) -> tuple[Any, tuple[Any, ...], Limit, str]:
        """The bin of each row, the labels of the bins, which rows are dropped, and that in words."""
        if self.edges is None:
            categories = checked_categories(name, self.categories or (), column.type(), MOST_BINS)
            value = category_index(column, categories)
            limit = Limit(column.notnull(), column.notnull() & value.isnull(), "dropped", "the listed categories")
            return value, categories, limit, "values in no category are dropped"
        value, limit, _ = between_edges(name, column, self.edges)
        labels = tuple(zip(self.edges[:-1], self.edges[1:], strict=True))
        return value, labels, limit, f"values outside {limit.bounds} are dropped"


def between_edges(name: str, column: Any, edges: tuple[Any, ...]) -> tuple[Any, Limit, list[float]]:
    """The bin of each row, which rows are dropped, and the edges as numbers."""
    found = checked_edges(name, edges, value_kind(name, column, dates=True), MOST_BINS)
    limit = Limit(*outside(column, found[0], found[-1]), "dropped", f"[{edges[0]}, {edges[-1]}]")
    return edge_index(column, found), limit, found


def _bin(label: Any, *, closed: bool) -> str:
    """The name of a bin: the category, or its edges. The last bin includes its right end."""
    return f"[{label[0]}, {label[1]}{']' if closed else ')'}" if isinstance(label, tuple) else str(label)


@called_like("histogram('age', edges=[0, 18, 65, 120])")
def histogram(
    column: Any,
    *,
    edges: Iterable[Any] | None = None,
    categories: Iterable[Any] | None = None,
    rows_per_unit: int | str | None = None,
) -> Measure:
    """The number of rows in each bin: [edges[i], edges[i+1]), the last bin with its right end; or one bin per
    category. Rows in no bin are dropped. Where a policy lists the values of the column, both may be left out.
    """
    if edges is not None and categories is not None:
        raise InvalidParameter(
            "histogram needs either edges= or categories=; write histogram('age', edges=[0, 18, 65, 120])."
        )
    rows = optional_rows(rows_per_unit)
    return Histogram(
        column, None if edges is None else tuple(edges), None if categories is None else tuple(categories), rows
    )
