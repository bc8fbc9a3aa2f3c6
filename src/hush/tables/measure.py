"""What each aggregate is made of: whole-number totals of each (unit, group), their clamps, and the way back to an
answer.

Neighbours add or remove all rows of one unit. An aggregate states, from its declared bounds alone:
- the row's value as a whole number of fine grid steps (`hush.tables.quantise`), if it has one;
- `rows`: how many rows of a unit count in a group, where the bounds are per row;
- totals: each a sum over the unit's rows in the group, clamped to [low, high] fine steps and added up over units; the
  group's sum is then rounded to whole steps, which one unit moves by at most linf = max(|low|, |high|), rounded up to
  whole steps (the proof is in `hush.tables.bound`);
- bins: counts of rows, where at most `rows` rows of a unit fall;
- `answer`: numbers back from (noised) columns. That is post-processing: it looks at released numbers only.

Means and variances sum the distance from the middle of [low, high], which halves their sensitivity; the count gives
the middle back.
"""

from __future__ import annotations

from abc import ABC, abstractmethod
from collections.abc import Callable
from dataclasses import dataclass
from typing import Any

from hush.errors import InvalidParameter
from hush.tables.contribution import Part
from hush.tables.estimate import Estimate
from hush.tables.quantise import Grid, Limits, as_bound, quantised

__all__ = [
    "Limit",
    "Measure",
    "PerRow",
    "Prepared",
    "Total",
    "per_row",
    "range_of",
    "resolved",
    "row_limit",
    "told",
    "value_kind",
]


@dataclass(frozen=True)
class Total:
    """One integer column: what `sum_over` makes of a unit's rows in a group, clamped to [low, high] fine steps,
    2^fine to a step.
    """

    name: str
    low: int
    high: int
    sum_over: Callable[[Any, Any], Any]  # (rows, value column) -> an aggregate
    fine: int = 0

    @property
    def linf(self) -> int:
        """The most one unit moves the column, in steps."""
        return max(-(-abs(end) >> self.fine) for end in (self.low, self.high))


@dataclass(frozen=True)
class Limit:
    """What the limits of an aggregate can leave out of the rows, as columns of the table that are true or false.

    `valued`: does the row have a value? `outside`: does that value lie outside the bounds, and is it clipped or
    dropped (`fate`) for it? None where no bound is per row. `bounds` is how the bounds are said.
    """

    valued: Any
    outside: Any = None
    fate: str = "clipped"
    bounds: str = ""


@dataclass(frozen=True)
class Prepared:
    """An aggregate joined to its table: its row value, totals and bins, and the way back."""

    name: str
    kind: str
    answer: Estimate
    value: Any = None  # an int64 column of the table, null where a row has no value
    rows: int | None = None  # at most this many rows per (unit, group); None: all of them
    totals: tuple[Total, ...] = ()
    bins: int = 0
    labels: tuple[Any, ...] = ()  # of the bins
    bounds_text: str = ""  # the declared bounds, for people
    limit: Limit | None = None  # None: no limit of this aggregate's own leaves anything out

    @property
    def bin_columns(self) -> tuple[str, ...]:
        return tuple(f"{self.name}.{i}" for i in range(self.bins))

    @property
    def parts(self) -> tuple[Part, ...]:
        """The columns and how far one unit moves them in one group."""
        totals = tuple(Part(self.name, (total.name,), total.linf) for total in self.totals)
        if not self.bins:
            return totals
        assert self.rows is not None
        # a quantile's number of bins follows its bounds, which may be found later: its reach must not
        reached = self.rows if self.kind == "quantile" else min(self.rows, self.bins)
        return (*totals, Part(self.name, self.bin_columns, self.rows, reached, self.rows))


class Measure(ABC):
    """An aggregate as the user describes it; `prepare` joins it to a table."""

    column: Any

    @property
    def wants_bounds(self) -> bool:
        """Are its bounds to be found privately?"""
        return False

    def with_bounds(self, low: float, high: float) -> Measure:
        """The same with declared bounds."""
        return self

    @abstractmethod
    def prepare(self, name: str, relation: Any, limits: Limits) -> Prepared:
        """Its row value, totals, bins and way back, for this table."""


def row_limit(name: str, rows: int, limits: Limits) -> int:
    """rows_per_unit, small enough that the sum of a unit's rows stays in int64."""
    most = limits.rows_per_unit
    if rows > most:
        raise InvalidParameter(
            f"rows_per_unit of {name!r} must be at most {most} for a table of {limits.rows} rows, got {rows}."
        )
    return rows


def told(name: str, rows: int | None, low: Any = None, high: Any = None) -> str:
    """The declared bounds in words."""
    inside = f" in [{low}, {high}]" if low is not None else ""
    if rows is None:
        return f"{name}: a unit's total{inside}"
    return f"{name}: at most {rows} row{'' if rows == 1 else 's'} per unit and group" + (
        f", each{inside}" if inside else ""
    )


def value_kind(name: str, column: Any, *, dates: bool) -> Any:
    """The type of a column of numbers (or dates), else one sentence."""
    kind = column.type()
    if kind.is_numeric() or kind.is_boolean() or (dates and kind.is_date()):
        return kind
    if kind.is_timestamp():
        raise InvalidParameter(
            f"{name!r} needs numbers, got a column of type {kind}; use its .date() or .epoch_seconds() instead."
        )
    allowed = "numbers or dates" if dates else "numbers"
    cast = (
        "where text stands for numbers, convert the column in the file first, or in Python use "
        f'table["{column.get_name()}"].try_cast("float64"), which makes other text null'
        if kind.is_string()
        else "cast it"
    )
    raise InvalidParameter(
        f"{name!r} needs a column of {allowed}, got one of type {kind}; {cast}; or count it by histogram(categories=...)."
    )


def range_of(name: str, low: Any, high: Any, kind: Any) -> tuple[float, float]:
    """The declared bounds as numbers, low below high."""
    hint = "write low=0, high=100"
    first, last = as_bound(f"low of {name!r}", low, kind, hint), as_bound(f"high of {name!r}", high, kind, hint)
    if first == last:
        raise InvalidParameter(
            f"low and high of {name!r} are both {low!r}: with one possible value there is nothing to add up; widen them."
        )
    if first > last:
        raise InvalidParameter(f"low of {name!r} must be below high, got low={low!r} and high={high!r}; exchange them.")
    return first, last


def resolved(name: str, grid: Grid, first: float, last: float) -> tuple[int, int]:
    """The bounds in fine grid steps."""
    low, high = grid.index(first), grid.index(last)
    if low >= high:
        raise InvalidParameter(
            f"low and high of {name!r} are closer together than numbers of their size can be told apart; widen them."
        )
    return low, high


@dataclass(frozen=True)
class PerRow:
    """A value in [low, high] counted from the middle: column = quantised - middle, in [-reach, reach], all in fine
    grid steps.
    """

    column: Any
    grid: Grid
    middle: int
    reach: int
    bounds: tuple[float, float]

    @property
    def origin(self) -> float:
        """The middle in steps."""
        return self.middle / (1 << self.grid.fine)

    @property
    def furthest(self) -> float:
        """How far a value can be from the middle, in steps."""
        return self.reach / (1 << self.grid.fine)


def per_row(name: str, column: Any, low: Any, high: Any, limits: Limits, *, dates: bool) -> PerRow:
    """A row's value in fine steps from the middle of its range."""
    first, last = range_of(name, low, high, value_kind(name, column, dates=dates))
    grid = Grid.over((last - first) / 2, limits.steps - 1, largest=max(abs(first), abs(last)), fine=limits.fine)
    bottom, top = resolved(name, grid, first, last)
    middle = (bottom + top) // 2
    return PerRow(quantised(column, grid, bottom, top) - middle, grid, middle, top - middle, (first, last))
