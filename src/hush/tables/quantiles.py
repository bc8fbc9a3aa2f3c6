"""The aggregate `quantile`: counts of rows on a grid of values or between edges, and the value at which they reach a
share q.
"""

from __future__ import annotations

import math
from collections.abc import Iterable
from dataclasses import dataclass, replace
from decimal import Decimal
from itertools import pairwise
from typing import TYPE_CHECKING, Any, ClassVar

import numpy as np

from hush.errors import InvalidParameter, called_like, each, places_of_equals, shown, whole, within
from hush.tables.bounded_value import Bounded, in_fine_steps, range_of, value_kind
from hush.tables.estimate import Estimate
from hush.tables.expression import bind
from hush.tables.histograms import MOST_BINS, between_edges
from hush.tables.measure import Measure, Prepared, bounds_in_words, optional_rows, row_limit
from hush.tables.quantile_estimate import QuantileOf, QuantilesOf
from hush.tables.quantise import Grid, Limits, quantised

if TYPE_CHECKING:
    from hush.tables.policy.facts import Facts

__all__ = ["BinnedQuantile", "Quantile", "level_name", "quantile"]

#: Each level is a column of the answer with an interval of its own. More levels than this are not useful.
MOST_LEVELS = 100
#: The default number of values on the grid.
BINS = 128

Cells = tuple[tuple[float, float], ...]


def level_name(q: float) -> str:
    """A level as a part of a column's name, in per cent: 0.5 is q50, 0.005 is q0_5."""
    percent = (Decimal(repr(q)) * 100).normalize()
    return f"q{percent:f}".replace(".", "_")


def _estimate(
    name: str, q: float | tuple[float, ...], labels: tuple[float, ...], cells: Cells
) -> tuple[Estimate, tuple[str, ...]]:
    """The estimate and the answer's columns: of one level, or of several that share the bins."""
    columns = tuple(f"{name}.{i}" for i in range(len(labels)))
    if not isinstance(q, tuple):
        return QuantileOf(columns, q, labels, cells), (name,)
    parts = tuple(QuantileOf(columns, level, labels, cells) for level in q)
    return QuantilesOf(parts), tuple(f"{name}_{level_name(level)}" for level in q)


@dataclass(frozen=True)
class Quantile(Bounded):
    """Quantiles from counts on a grid of at most `bins` values between low and high. Values outside are counted at
    the ends. `q` is one level, or several.
    """

    q: float | tuple[float, ...]
    bins: int
    word: ClassVar[str] = "quantile"

    def prepare(self, name: str, relation: Any, limits: Limits) -> Prepared:
        """One count for each value of the grid."""
        column = bind(relation, self.column, f"the column of {shown(name)}")
        rows = row_limit(name, self.rows_per_unit, limits)
        kind = value_kind(name, column, dates=True)
        first, last = range_of(name, self.low, self.high, kind)
        # - 2, because both ends may be rounded outwards
        grid = Grid.over(last - first, self.bins - 2, largest=max(abs(first), abs(last)))
        low, high = in_fine_steps(name, grid, first, last)
        on_grid = not grid.coarse and (kind.is_integer() or kind.is_boolean() or kind.is_date())
        half = 0.0 if on_grid else grid.step / 2.0

        def inside(value: float) -> float:
            return min(max(value, first), last)

        values = [grid.value(i) for i in range(low, high + 1)]
        labels, ends = tuple(inside(v) for v in values), tuple((inside(v - half), inside(v + half)) for v in values)
        answer, names = _estimate(name, self.q, labels, ends)
        return Prepared(
            name,
            "quantile",
            answer,
            value=quantised(column, grid, low, high) - low,
            rows=rows,
            bins=len(labels),
            labels=labels,
            bounds_text=bounds_in_words(name, rows, self.low, self.high),
            limit=self.limit(column, first, last),
            answer_names=names,
            fixed_bins=False,
            one_source=len(names) > 1,
        )


@dataclass(frozen=True)
class BinnedQuantile(Measure):
    """Quantiles from the bins of a histogram between `edges`. Rows in no bin are dropped."""

    column: Any
    edges: tuple[Any, ...]
    rows_per_unit: int | None
    q: float | tuple[float, ...]

    def declared(self, name: str, facts: Facts) -> Measure:
        """Rows from the policy, where they were left out; edges must lie within its bounds."""
        facts.edges(name, self.column, self.edges)
        return replace(self, rows_per_unit=facts.rows(name, self.rows_per_unit))

    def prepare(self, name: str, relation: Any, limits: Limits) -> Prepared:
        """One count for each bin; a quantile is the middle of its bin."""
        column = bind(relation, self.column, f"the column of {shown(name)}")
        rows = row_limit(name, self.rows_per_unit, limits)
        value, limit, edges = between_edges(name, column, self.edges)
        if not np.isfinite(edges).all():
            raise InvalidParameter(f"edges of {shown(name)} must be finite, because a quantile is the middle of a bin.")
        kind = column.type()
        cells = _cells(edges, on_grid=kind.is_integer() or kind.is_boolean() or kind.is_date())
        labels = tuple(first / 2.0 + last / 2.0 for first, last in cells)
        answer, names = _estimate(name, self.q, labels, cells)
        return Prepared(
            name,
            "quantile",
            answer,
            value=value,
            rows=rows,
            bins=len(labels),
            labels=labels,
            bounds_text=f"{bounds_in_words(name, rows)}, values outside {limit.bounds} are dropped",
            limit=limit,
            answer_names=names,
            one_source=len(names) > 1,
        )


def _cells(edges: list[float], *, on_grid: bool) -> Cells:
    """The least and the largest value of each bin. On a grid of whole numbers a bin ends before its right edge, except
    the last. (A bin without a whole number is empty: its edges serve.)
    """
    cells = list(pairwise(edges))
    if not on_grid:
        return tuple(cells)
    whole_ends = [(float(math.ceil(a)), float(math.ceil(b) - 1)) for a, b in cells[:-1]]
    whole_ends.append((float(math.ceil(cells[-1][0])), float(math.floor(cells[-1][1]))))
    return tuple(ends if ends[0] <= ends[1] else cell for ends, cell in zip(whole_ends, cells, strict=True))


def _levels(q: Any) -> float | tuple[float, ...]:
    """One level, or the levels of a list."""
    hint = "write q=0.5 for the median, or q=[0.25, 0.5, 0.75]"
    if isinstance(q, str) or not isinstance(q, Iterable):
        return within("q", q, 0.0, 1.0, hint)
    levels = tuple(each(within, "q", q, 0.0, 1.0, instead=hint))
    if not 1 <= len(levels) <= MOST_LEVELS:
        raise InvalidParameter(f"q must be 1 to {MOST_LEVELS} levels, got {len(levels)}; {hint}.")
    if len(set(levels)) < len(levels):
        raise InvalidParameter(f"q lists a level twice, at {places_of_equals(levels)}; leave one of them out.")
    return levels


@called_like("quantile('cost', 0.5, low=0, high=20000)")
def quantile(
    column: Any,
    q: float | Iterable[float],
    *,
    low: Any = None,
    high: Any = None,
    bins: int = BINS,
    edges: Iterable[Any] | None = None,
    rows_per_unit: int | str | None = None,
) -> Measure:
    """The smallest value, on a grid of at most `bins` values, with a share of at least q of the rows at or below it.

    Values are clipped to [low, high]. q=0 is the smallest value that clearly has rows, q=1 the largest. The quantile of
    a column of dates is a day number (days since 1970-01-01).

    A list of levels, such as q=[0.25, 0.5, 0.75], gives one column for each (`name_q25`, ...) from one histogram, which
    is charged once. They never decrease with q. Each interval holds at its own level; all have the same noise.

    With edges= instead of low, high and bins, the bins are those of `histogram`: rows outside are dropped, and the
    answer is the middle of the bin that holds the quantile. A histogram with these edges in the same query is the same
    measurement. Under a policy low, high and rows_per_unit may be left out.
    """
    levels, rows = _levels(q), optional_rows(rows_per_unit)
    if edges is not None and not (low is None and high is None):
        raise InvalidParameter(
            "quantile needs either low= and high=, or edges=; write quantile('cost', 0.5, low=0, high=20000)."
        )
    if edges is not None:
        if bins != BINS:
            raise InvalidParameter("quantile with edges= has the bins between them; leave bins out.")
        return BinnedQuantile(column, tuple(edges), rows, levels)
    bins = whole("bins", bins, 4)
    if bins > MOST_BINS:
        raise InvalidParameter(f"bins must be at most {MOST_BINS}, got {bins}.")
    return Quantile(column, low, high, rows, levels, bins)
