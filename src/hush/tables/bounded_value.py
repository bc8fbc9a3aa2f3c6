"""The value of a row between declared bounds, as a whole number of grid steps.

Aggregates of a column derive from `Bounded`. Means and variances use `per_row`: it gives the distance from the middle
of [low, high], which halves the sensitivity of a sum. The count of rows gives the middle back.
"""

from __future__ import annotations

from dataclasses import dataclass, replace
from typing import TYPE_CHECKING, Any, ClassVar

from hush.errors import InvalidParameter, shown
from hush.tables.expression import ibis
from hush.tables.known_values import never_missing
from hush.tables.measure import Limit, Measure
from hush.tables.quantise import Grid, Limits, as_bound, moment_of, outside, quantised

if TYPE_CHECKING:
    from hush.tables.policy.facts import Facts

__all__ = ["Bounded", "PerRow", "in_fine_steps", "per_row", "range_of", "value_kind"]


@dataclass(frozen=True)
class Bounded(Measure):
    """An aggregate of a column with `low` and `high`: both declared, or both "private"."""

    column: Any
    low: Any
    high: Any
    rows_per_unit: int | None
    #: the aggregate's name in messages
    word: ClassVar[str] = "mean"

    def declared(self, name: str, facts: Facts) -> Measure:
        """Bounds and rows from the policy, where they were left out."""
        low, high = facts.bounds(self.word, name, self.column, self.low, self.high)
        return replace(self, low=low, high=high, rows_per_unit=facts.rows(name, self.rows_per_unit))

    @property
    def wants_bounds(self) -> bool:
        """Are its bounds to be found privately?"""
        private = [isinstance(bound, str) and bound == "private" for bound in (self.low, self.high)]
        if any(private) and not all(private):
            raise InvalidParameter(
                'low and high are found together: write low="private", high="private", or declare both.'
            )
        if all(private) and self.rows_per_unit is None:
            raise InvalidParameter(
                'private bounds are bounds of a row, so a sum with low="private" needs rows_per_unit; '
                'write sum("cost", low="private", high="private", rows_per_unit=1).'
            )
        return all(private)

    def with_bounds(self, low: Any, high: Any) -> Measure:
        """The same aggregate with declared bounds."""
        return replace(self, low=low, high=high)

    def limit(self, column: Any, first: float, last: float) -> Limit:
        """Which rows have a value, and which of these values are clipped."""
        if column.type().is_timestamp():
            low, high = (moment_of(column, int(end)) for end in (first, last))
            valued = column.notnull()
            beyond = ibis().coalesce((column < low) | (column > high), ibis().literal(False))
            return Limit(valued, beyond, bounds=f"[{self.low}, {self.high}]")
        return Limit(*outside(column, first, last), bounds=f"[{self.low}, {self.high}]")


def value_kind(name: str, column: Any, *, dates: bool, times: bool = False) -> Any:
    """The type of a column of numbers (or, with `dates`, of dates; with `times`, of times). Other types are refused."""
    kind = column.type()
    if times and kind.is_timestamp():
        return kind
    if kind.is_numeric() or kind.is_boolean() or (dates and kind.is_date()):
        return kind
    if kind.is_timestamp():
        raise InvalidParameter(
            f"{shown(name)} needs numbers, got a column of type {kind}; use its .date() or .epoch_seconds() instead."
        )
    allowed = "numbers or dates" if dates else "numbers"
    cast = (
        "if the text holds numbers, convert the column in the file first, or in Python use "
        f'table["{column.get_name()}"].try_cast("float64"), which makes other text null'
        if kind.is_string()
        else "cast it"
    )
    raise InvalidParameter(
        f"{shown(name)} needs a column of {allowed}, got one of type {kind}; {cast}; "
        "or count its values with histogram(categories=...)."
    )


def range_of(name: str, low: Any, high: Any, kind: Any) -> tuple[float, float]:
    """The declared bounds as numbers, low below high."""
    hint = "write low=0, high=100"
    first, last = (
        as_bound(f"low of {shown(name)}", low, kind, hint),
        as_bound(f"high of {shown(name)}", high, kind, hint, last=True),
    )
    if first == last:
        raise InvalidParameter(
            f"low and high of {shown(name)} are both {shown(low)}, which leaves one possible value; widen them."
        )
    if first > last:
        raise InvalidParameter(
            f"low of {shown(name)} must be below high, got low={shown(low)} and high={shown(high)}; exchange them."
        )
    return first, last


def in_fine_steps(name: str, grid: Grid, first: float, last: float) -> tuple[int, int]:
    """The bounds in fine grid steps."""
    low, high = grid.index(first), grid.index(last)
    if low >= high:
        raise InvalidParameter(
            f"low and high of {shown(name)} are too close for float64 numbers of their size; widen them."
        )
    return low, high


@dataclass(frozen=True)
class PerRow:
    """A value in [low, high] as its distance from the middle: column = quantised - middle, in [-reach, reach]. All
    are in fine grid steps.
    """

    column: Any
    grid: Grid
    middle: int
    reach: int
    bounds: tuple[float, float]
    complete: bool = False  # every row has a value, as far as the schema and the filters tell

    @property
    def origin(self) -> float:
        """The middle in steps."""
        return self.middle / (1 << self.grid.fine)

    @property
    def furthest(self) -> float:
        """The largest distance of a value from the middle, in steps."""
        return self.reach / (1 << self.grid.fine)


def per_row(name: str, column: Any, low: Any, high: Any, limits: Limits, *, dates: bool) -> PerRow:
    """The value of a row in fine steps from the middle of its range."""
    first, last = range_of(name, low, high, value_kind(name, column, dates=dates))
    complete = never_missing(column)
    grid = Grid.over((last - first) / 2, limits.steps - 1, largest=max(abs(first), abs(last)), fine=limits.fine)
    bottom, top = in_fine_steps(name, grid, first, last)
    middle = (bottom + top) // 2
    return PerRow(quantised(column, grid, bottom, top) - middle, grid, middle, top - middle, (first, last), complete)
