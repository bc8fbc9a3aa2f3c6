"""The aggregates `quantile` and `median`: a value of a public grid, chosen exactly (`hush.tables.selection`).

The least and the largest value (q=0 and q=1, alone), and quantiles between edges, are made from counts of rows: the
value at which the counts reach the share q.
"""

from __future__ import annotations

import math
from collections.abc import Iterable
from dataclasses import dataclass, replace
from decimal import Decimal
from itertools import pairwise
from typing import TYPE_CHECKING, Any, ClassVar

import numpy as np

from hush.errors import InvalidParameter, called_like, each, places_of_equals, shown, within
from hush.tables.bounded_value import Bounded, in_fine_steps, range_of, value_kind
from hush.tables.estimate import Estimate
from hush.tables.expression import bind
from hush.tables.histograms import between_edges
from hush.tables.measure import Measure, Prepared, bounds_in_words, optional_rows, row_limit
from hush.tables.quantile_estimate import QuantileOf, QuantilesOf
from hush.tables.quantise import Grid, Limits, quantised, shown_as
from hush.tables.selection.chosen import Chosen, ChosenValues
from hush.tables.selection.grid import ValueGrid
from hush.tables.selection.law import level_of

if TYPE_CHECKING:
    from hush.tables.policy.facts import Facts

__all__ = ["BinnedQuantile", "Extreme", "Quantile", "level_name", "median", "quantile"]

#: Each level is a column of the answer with an interval of its own. More levels than this are not useful.
MOST_LEVELS = 100
#: The number of values on the grid of the least and the largest value.
BINS = 128
_WITH_ENDS = 3  # levels that have intervals by default

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
    """Quantiles between 0 and 1, chosen on a grid between low and high. Values outside are moved to the nearer bound.
    `q` is one level, or several; `step` is that of the grid, or None for the one of the column's type.
    """

    q: float | tuple[float, ...]
    step: float | None
    intervals: bool
    word: ClassVar[str] = "quantile"

    def prepare(self, name: str, relation: Any, limits: Limits) -> Prepared:
        """No column with noise: the levels are choices."""
        column = bind(relation, self.column, f"the column of {shown(name)}")
        rows = row_limit(name, self.rows_per_unit, limits)
        kind = value_kind(name, column, dates=True, times=True)
        first, last = range_of(name, self.low, self.high, kind)
        grid = ValueGrid.of(name, kind, first, last, self.step)
        levels = self.q if isinstance(self.q, tuple) else (self.q,)
        ordered = sorted(levels)
        fractions = tuple(level_of(level) for level in ordered)
        chosen = Chosen(grid, fractions, self.intervals, grid.number(column))
        places = tuple(ordered.index(level) for level in levels)
        single = not isinstance(self.q, tuple)
        return Prepared(
            name,
            "quantile",
            ChosenValues(name, places, single, self.intervals),
            value=grid.cell(column),
            rows=rows,
            bounds_text=bounds_in_words(name, rows, self.low, self.high),
            limit=self.limit(column, first, last),
            answer_names=(name,) if single else tuple(f"{name}_{level_name(level)}" for level in levels),
            chosen=chosen,
            shown_as=shown_as(kind),
        )


@dataclass(frozen=True)
class Extreme(Bounded):
    """The least or the largest value, from counts on a grid of at most `bins` values between low and high. Values
    outside are counted at the ends. `q` is one level, or several.
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
            shown_as=shown_as(column.type()),
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
            shown_as=shown_as(column.type()),
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
    step: float | None = None,
    edges: Iterable[Any] | None = None,
    rows_per_unit: int | str | None = None,
    intervals: bool | None = None,
) -> Measure:
    """The value that a share q of the rows is at or below, chosen exactly on a grid between low and high.

    Values are clipped to [low, high]. The grid has a step of 1 for whole numbers, a day for dates, a microsecond for
    times, the last decimal for decimals, and for floats the largest power of two that is at most 2^-30 of the range;
    `step` gives another one. A fine grid and wide bounds cost nothing, as long as there are rows near the quantile. The
    answer for dates is a date, and for times a time (in UTC, if the column has a zone); the bounds of times may be
    dates, whose whole days count. q=0 is the smallest value that clearly has rows, q=1 the largest; they are found from
    counts on a coarse grid, and stand in no list with other levels.

    A list of levels, such as q=[0.25, 0.5, 0.75], gives one column for each (`name_q25`, ...). They never decrease with
    q, and m of them cost as much as log2(m + 1) choices. Each interval is two more choices: with `intervals=False` the
    whole budget finds the values. Up to three levels have intervals, unless this is given.

    With edges= instead of low and high, the bins are those of `histogram`: rows outside are dropped, and the answer is
    the middle of the bin that holds the quantile. A histogram with these edges in the same query is the same
    measurement. Under a policy low, high and rows_per_unit may be left out.
    """
    levels, rows = _levels(q), optional_rows(rows_per_unit)
    if edges is not None and not (low is None and high is None):
        raise InvalidParameter(
            "quantile needs either low= and high=, or edges=; write quantile('cost', 0.5, low=0, high=20000)."
        )
    if edges is not None:
        if step is not None:
            raise InvalidParameter("quantile with edges= has the bins between them; leave step out.")
        return BinnedQuantile(column, tuple(edges), rows, levels)
    listed = levels if isinstance(levels, tuple) else (levels,)
    outer = [level for level in listed if level in (0.0, 1.0)]
    if 0 < len(outer) < len(listed):
        raise InvalidParameter(
            "q lists 0 or 1 beside levels between them, which are found in another way; ask twice: "
            f"ends=quantile('cost', q={outer}, ...) and the other levels in a quantile of their own."
        )
    if outer:
        return Extreme(column, low, high, rows, levels, BINS)
    with_ends = len(listed) <= _WITH_ENDS if intervals is None else intervals
    if not isinstance(with_ends, bool):
        raise InvalidParameter(f"intervals must be True or False, got {shown(intervals)}; write intervals=False.")
    return Quantile(column, low, high, rows, levels, step, with_ends)


@called_like("median('cost', low=0, high=20000)")
def median(
    column: Any,
    *,
    low: Any = None,
    high: Any = None,
    step: float | None = None,
    rows_per_unit: int | str | None = None,
    intervals: bool | None = None,
) -> Measure:
    """The median: `quantile` of the level 0.5."""
    return quantile(column, 0.5, low=low, high=high, step=step, rows_per_unit=rows_per_unit, intervals=intervals)
