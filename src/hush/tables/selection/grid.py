"""The public grid of a quantile: which cell a row is in, and which value a cell stands for.

The step follows the type of the column: 1 for whole numbers and truth values, a day for dates, a microsecond for times
(in UTC, where they have a zone), the last decimal of decimals, and for floats the largest power of two that is at most
2^-30 of the range. Values are clipped to the bounds and rounded down to the grid, by one rule on every engine: a float
times a power of two is exact, and so is the difference of two whole floats that are near each other.
"""

from __future__ import annotations

import math
from dataclasses import dataclass
from fractions import Fraction
from typing import Any

from hush.errors import InvalidParameter, positive, shown
from hush.tables.expression import as_int64, constant, ibis
from hush.tables.quantise import as_number
from hush.tables.selection.clock import microseconds

__all__ = ["MOST_CELLS", "ValueGrid"]

#: Cells are numbered by whole numbers of 64 bits.
MOST_CELLS = 2**62
_FINEST = 30  # floats have a step of about this power of two below the range
_EXACT = 2.0**51  # up to here floats hold halves exactly


@dataclass(frozen=True)
class ValueGrid:
    """Cells 0 to size - 1: cell g stands for (g + first) steps, within the bounds."""

    low: float
    high: float
    first: int  # the number of steps at the lower end
    size: int
    step: float
    #: values are whole numbers of steps: an interval ends at its last value, else at the end of its last cell
    exact: bool
    #: whole numbers are never floats on their way
    whole: bool = False

    @classmethod
    def of(cls, name: str, kind: Any, low: float, high: float, step: float | None) -> ValueGrid:
        """The grid of a column of this type between bounds."""
        if step is not None:
            positive("step", step, "write step=1000, or leave it out")
        if kind.is_timestamp() and step is not None:
            raise InvalidParameter(f"step of {shown(name)} is a microsecond for a column of times; leave it out.")
        integral = kind.is_integer() or kind.is_boolean() or kind.is_date() or kind.is_timestamp()
        if integral and step in (None, 1):
            first, last = math.ceil(low), math.floor(high)
            if first > last:
                raise InvalidParameter(f"there is no whole number between low and high of {shown(name)}; widen them.")
            return cls(low, high, first, _fitting(name, last - first + 1), 1.0, exact=True, whole=True)
        if step is None:
            finest = max((high - low) / 2.0**_FINEST, 2.0 * max(abs(low), abs(high)) / _EXACT)  # floats resolve it
            step = cls._decimal(kind, low, high) or 2.0 ** math.floor(math.log2(finest))
        exact = kind.is_decimal() and Fraction(repr(step)).denominator in [10**k for k in range(19)]
        first, last = math.floor(low / step), math.floor(high / step)
        if max(abs(first), abs(last)) > _EXACT:  # engines make whole numbers of 64 bits of them
            raise InvalidParameter(f"step of {shown(name)} is too small for its bounds; write a larger step.")
        return cls(low, high, first, _fitting(name, last - first + 1), step, exact=exact)

    @staticmethod
    def _decimal(kind: Any, low: float, high: float) -> float | None:
        """The last decimal of a column of decimals, if floats resolve it; None for other types."""
        if not kind.is_decimal() or kind.scale is None:
            return None
        return 10.0**-kind.scale if max(abs(low), abs(high)) * 10.0**kind.scale < _EXACT else None

    def cell(self, column: Any) -> Any:
        """The cell of each row; null where the row has no value."""
        if self.whole:
            return self._whole_cell(column)
        number, missing = as_number(column)
        inside = ibis().greatest(ibis().least(number, constant(self.high)), constant(self.low))
        return ibis().cases((missing, ibis().null("int64")), else_=self._place(inside))

    def number(self, column: Any) -> Any:
        """The column of floats whose order is that of the cells; None where cells are whole numbers of the column."""
        return None if self.whole or self.exact else as_number(column)[0]

    def around(self, low: int, high: int) -> tuple[float, float]:
        """Numbers between which all values of the cells from low to high lie, and perhaps others."""
        first, last = (float(low - 1 + self.first) * self.step, float(high + 2 + self.first) * self.step)
        below = -math.inf if low <= 0 else first - 2.0 * math.ulp(first)
        return below, math.inf if high >= self.size - 1 else last + 2.0 * math.ulp(last)

    def _place(self, inside: Any) -> Any:
        """The cell of a float within the bounds."""
        first = constant(float(self.first))
        if math.frexp(self.step)[0] == 0.5 and not self.exact:  # a power of two: exact, and never beyond the last cell
            steps = (inside * constant(1.0 / self.step)).floor()
            return as_int64(steps - first if self.first else steps)
        # a decimal is near a multiple of its step, from either side
        steps = (inside / constant(self.step) + constant(0.5 if self.exact else 0.0)).floor()
        return ibis().least(ibis().greatest(as_int64(steps - first), 0), self.size - 1)

    def _whole_cell(self, column: Any) -> Any:
        kind, last = column.type(), self.first + self.size - 1
        if kind.is_timestamp():
            column = microseconds(column, self.first, last)
        elif kind.is_date():
            column = column.delta(ibis().date(1970, 1, 1), unit="day")
        elif kind.is_boolean():
            column = column.cast("int64")
        elif kind.is_uint64():
            column = ibis().least(column, ibis().literal(max(last, 0), type="uint64"))
        number = as_int64(column)
        inside = ibis().greatest(ibis().least(number, _int64(last)), _int64(self.first))
        return ibis().cases((number.isnull(), ibis().null("int64")), else_=inside - _int64(self.first))

    def value(self, cell: int) -> float:
        """The value of a cell; the cell below all others stands for low, and the one above them for high."""
        if not 0 <= cell < self.size:
            return self.low if cell < 0 else self.high
        return min(max((cell + self.first) * self.step, self.low), self.high)

    def end(self, cell: int) -> float:
        """The upper end of an interval whose last cell this is."""
        return self.value(cell) if self.exact else self.value(cell + 1)


def _int64(number: int) -> Any:
    return ibis().literal(number, type="int64")


def _fitting(name: str, size: int) -> int:
    if size > MOST_CELLS:
        raise InvalidParameter(
            f"the grid of {shown(name)} has {size} values, and at most 2**62 fit; narrow low and high."
        )
    return size
