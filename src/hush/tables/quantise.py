"""The value of a row as a whole number of steps.

Only integers are summed, so a sum does not depend on the order of rows, on threads or on the engine, and its
sensitivity is exact. The step is chosen from the declared bounds alone: one over 1, 2 or 5 times a power of ten. So
whole numbers, prices and other short decimals lie on the grid exactly, unless the bounds are too wide for that.

There are two resolutions. Rows are rounded to fine steps, 2^20 to a step (2^40 to the bound), and added up as fine
steps. Only the total of a group is rounded to whole steps, once. So rounding moves a sum by half a step and 2^-41 of
the bound per row: far below the noise.

Rules for a value, the same on every engine:
- null and NaN: the row has no value. It adds nothing to this aggregate and does not use up the person's row limit;
- infinities and all other values out of range are moved to the nearer bound;
- dates are read as days since 1970-01-01, booleans as 0 and 1, integers and decimals as float64. (A decimal of more
  than 15 digits may differ in the last bit between engines; it is still a function of its row.)

Why it is exact: y = x * scale (or x / scale) is one IEEE operation, and multiplying by a power of two is exact. y is
then clipped, still as a float, to [low, high], two whole numbers. So floor(y + 0.5) is a whole number in [low, high],
whatever x was, and the cast to int64 cannot overflow, round or fail.
"""

from __future__ import annotations

import datetime
import math
from dataclasses import dataclass
from fractions import Fraction
from functools import cache
from typing import Any

from hush.errors import InvalidParameter, as_float, shown, whole
from hush.tables.expression import as_int64, constant, ibis, operations

__all__ = [
    "EPOCH",
    "FURTHEST_ROW",
    "Grid",
    "Limits",
    "as_bound",
    "as_number",
    "moment_of",
    "outside",
    "quantised",
    "shown_as",
    "wide_sum",
    "within_years",
]

EPOCH = datetime.date(1970, 1, 1)
_START = datetime.datetime(1970, 1, 1, tzinfo=datetime.UTC)
#: Beyond this a float64 no longer resolves half a step.
FINEST = 2**51


#: Fine steps: the largest size of one row in a total that is bounded as a whole, at least four million times the bound.
FURTHEST_ROW = 2**62
#: Fine steps in a step, as a power of two.
FINE = 20


@dataclass(frozen=True)
class Limits:
    """Limits that keep every sum inside int64, from a public upper limit on the number of rows.

    A bound is at most `steps` steps, and a group's total has at most `rows` terms: |total| <= rows * steps <= 2^60. A
    step has 2^fine fine steps. The fine steps beyond whole steps add up to at most rows * 2^fine <= 2^62, and the rows
    of one person to at most rows_per_unit * steps * 2^fine <= 2^62. A row's place times rows_per_unit is at most 2^62
    too. Nothing here is measured on the data: an overflow that depends on the data would reveal something about it.

    >>> Limits(2**40)
    Limits(rows=1099511627776, steps=1048576, fine=20, rows_per_unit=4194304)
    """

    rows: int
    steps: int = 0
    fine: int = 0
    rows_per_unit: int = 0

    def __post_init__(self) -> None:
        rows = whole("max_rows", self.rows, 1, "write max_rows=2**40")
        if rows > 2**50:
            raise InvalidParameter(
                f"max_rows must be at most 2**50, got {rows}; sums of more rows do not fit 64 bits at a useful "
                "resolution."
            )
        steps = min(2**60 // rows, 2**20)  # half of 2^-20 of the bound is far below any noise
        object.__setattr__(self, "rows", rows)
        object.__setattr__(self, "steps", steps)
        object.__setattr__(self, "fine", min(FINE, 62 - (rows - 1).bit_length()))
        object.__setattr__(self, "rows_per_unit", 2**62 // max(steps << self.fine, rows))


@dataclass(frozen=True)
class Grid:
    """Whole multiples of a step. The step is 1/scale, or `scale` if `coarse`. Rows are rounded to 2^fine parts of a
    step.

    >>> grid = Grid.over(500.0, 2**20)
    >>> grid, grid.index(19.99), grid.value(39980)
    (Grid(scale=2000.0, coarse=False, fine=0), 39980, 19.99)
    """

    scale: float
    coarse: bool
    fine: int = 0

    @classmethod
    def over(cls, size: float, steps: int, largest: float = 0.0, fine: int = 0) -> Grid:
        """The finest grid with at most `steps` steps in `size` that still resolves numbers as large as `largest`."""
        limit = Fraction(steps) / Fraction(size)
        if largest > 0.0:
            limit = min(limit, Fraction(FINEST) / Fraction(largest))
        power = math.floor(math.log10(limit)) if limit < 10**300 else 300
        candidates = [Fraction(digit) * Fraction(10) ** k for k in range(power - 1, power + 2) for digit in (1, 2, 5)]
        scale = max(c for c in candidates if c <= limit)
        coarse = scale < 1
        whole_steps = math.ceil(scale * Fraction(max(largest, size)))
        return cls(float(1 / scale if coarse else scale), coarse, min(fine, 60 - whole_steps.bit_length()))

    @property
    def step(self) -> float:
        return self.scale if self.coarse else 1.0 / self.scale

    def scaled(self, x: Any) -> Any:
        """x in fine steps, not yet rounded; x is a float or a column."""
        scale, parts = self.scale, float(1 << self.fine)
        if not isinstance(x, float):
            scale, parts = constant(scale), constant(parts)
        steps = x / scale if self.coarse else x * scale
        return steps * parts if self.fine else steps

    def index(self, x: float) -> int:
        """The fine step nearest to x, by the same operations as in the engines."""
        return math.floor(self.scaled(float(x)) + 0.5)

    def value(self, index: Any) -> Any:
        """The number at a step."""
        return index * self.scale if self.coarse else index / self.scale

    def whole_steps(self, low: int, high: int) -> tuple[int, int]:
        """The whole steps around an interval of fine steps."""
        return low >> self.fine, -(-high >> self.fine)


def quantised(column: Any, grid: Grid, low: int, high: int) -> Any:
    """The column as int64 fine steps clipped to [low, high]; null where the row has no value."""
    x, missing = as_number(column)
    inside = ibis().greatest(ibis().least(grid.scaled(x), constant(high)), constant(low))
    steps = as_int64((inside + constant(0.5)).floor())
    # the clip alone would not do: least(NaN, high) and least(NULL, high) are both `high`
    return ibis().cases((missing, ibis().null("int64")), else_=steps)


def wide_sum(column: Any) -> Any:
    """The sum of an int64 column, exact to 34 decimal digits: a sum of 2^50 values of size 2^62 needs no more."""
    return sum_of_any_size()(column).to_expr()


@cache
def sum_of_any_size() -> Any:
    """The operation that `wide_sum` uses. Some engines add up int64 in 128 bits (`Engine.wide_sums`). Others need
    decimals, which is slower.
    """
    from ibis.backends.sql.compilers.base import SQLGlotCompiler

    class WideSum(operations().Sum):  # type: ignore[misc]  # a class of Ibis, which has no types
        pass

    SQLGlotCompiler.visit_WideSum = summed
    return WideSum


def summed(compiler: Any, operation: Any, *, arg: Any, where: Any) -> Any:
    """SUM(arg) in the dialect of the compiler's engine."""
    from hush.tables.engines import ENGINES

    engine = ENGINES.get(compiler.dialect.__name__.lower())
    wide = arg if engine is not None and engine.wide_sums else compiler.cast(arg, ibis().dtype("decimal(28, 0)"))
    return compiler.agg.sum(wide, where=where)


def as_number(column: Any) -> tuple[Any, Any]:
    """A column as float64, and a column that is true where it has no value."""
    kind = column.type()
    if kind.is_date():
        column = column.delta(ibis().date(1970, 1, 1), unit="day")
    elif kind.is_boolean():
        column = column.cast("int64")
    number = column.cast("float64")
    missing = column.isnull()
    return number, missing | number.isnan() if kind.is_floating() else missing


def within_years(column: Any) -> Any:
    """A column of dates with null for dates that are infinite or outside the years 1 to 9999, which Python cannot
    hold. Other columns are unchanged.
    """
    if not column.type().is_date():
        return column
    day = column.delta(ibis().date(1970, 1, 1), unit="day")
    first, last = ((end - EPOCH).days for end in (datetime.date.min, datetime.date.max))
    known = ibis().coalesce((day >= first) & (day <= last), ibis().literal(False))
    return ibis().ifelse(known, column, ibis().null(column.type()))


def outside(column: Any, low: float, high: float) -> tuple[Any, Any]:
    """Two columns, never null: which rows have a value, and which have a value outside [low, high]."""
    x, missing = as_number(column)
    never = ibis().literal(False)
    below = x < constant(low) if math.isfinite(low) else never
    above = x > constant(high) if math.isfinite(high) else never
    return ~missing, ibis().coalesce(~missing & (below | above), never)


def moment_of(column: Any, moment: int) -> Any:
    """A number of microseconds since 1970 as a constant of the column's type."""
    kind = column.type()
    start = _START if kind.timezone else _START.replace(tzinfo=None)
    return ibis().literal(start + datetime.timedelta(microseconds=moment), type=kind)


def shown_as(kind: Any) -> str:
    """How a value of a column of this type is shown: as in `Prepared.shown_as`."""
    if kind.is_timestamp():
        return "time in UTC" if kind.timezone else "time"
    return "date" if kind.is_date() else ""


def as_bound(name: str, value: Any, kind: Any, instead: str, *, last: bool = False) -> float:
    """A declared bound as a number. It must be a finite number, a date for a column of dates, or for a column of times
    a time or a date: its first moment, or with `last` its last one.
    """
    if kind.is_timestamp():
        return float(_microseconds(name, value, last=last))
    if kind.is_date():
        if not isinstance(value, datetime.date) or isinstance(value, datetime.datetime):
            raise InvalidParameter(
                f"{name} must be a date for a column of dates, got {shown(value)}; write datetime.date(2024, 1, 31)."
            )
        return float((value - EPOCH).days)
    if isinstance(value, datetime.date):
        raise InvalidParameter(f"{name} must be a number for a column of type {kind}, got {shown(value)}; {instead}.")
    number = as_float(name, value, "a finite number", instead)
    if not math.isfinite(number) or abs(number) > 1e290 or 0.0 < abs(number) < 1e-290:
        raise InvalidParameter(
            f"{name} must be a finite number, 0 or of size 1e-290 to 1e290, got {shown(value)}; {instead}."
        )
    return number


def _microseconds(name: str, value: Any, *, last: bool) -> int:
    """A time as microseconds since 1970 in UTC, so few that a float holds them exactly."""
    instead = "write datetime.datetime(2024, 1, 31, 12, 0)"
    if not isinstance(value, datetime.date):
        raise InvalidParameter(f"{name} must be a time or a date for a column of times, got {shown(value)}; {instead}.")
    if not isinstance(value, datetime.datetime):
        value = datetime.datetime.combine(value, datetime.time.max if last else datetime.time.min)
    zoned = value if value.tzinfo is not None else value.replace(tzinfo=datetime.UTC)
    found = (zoned - _START) // datetime.timedelta(microseconds=1)
    if abs(found) >= 2**53:
        raise InvalidParameter(f"{name} must be a time in the years 1685 to 2254, got {shown(value)}; {instead}.")
    return found
