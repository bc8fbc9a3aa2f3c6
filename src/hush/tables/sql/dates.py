"""Functions of dates and times in row expressions. Where the policy bounds a column of dates, the list of months, years
and so on follows from the bounds, so it is public.
"""

from __future__ import annotations

import datetime
import re
from collections.abc import Callable
from dataclasses import replace
from typing import Any

from hush.tables.expression import ibis
from hush.tables.sql.casts import as_date
from hush.tables.sql.cell import Cell, as_asked, by_day
from hush.tables.sql.refusal import Refused, allow_only
from hush.tables.sql.row import Rows, handler

__all__ = ["shifted"]

Day = datetime.date
#: Dates that can be moved by an interval without leaving the range of any engine.
_FIRST, _LAST = Day(1, 1, 1), Day(9000, 1, 1)
_MOST_MOVED = 100_000
#: The units of DATE_TRUNC: the unit of Ibis, and the same in Python.
_UNITS: dict[str, tuple[str, Callable[[Day], Day]]] = {
    "YEAR": ("Y", lambda d: Day(d.year, 1, 1)),
    "QUARTER": ("Q", lambda d: Day(d.year, 3 * ((d.month - 1) // 3) + 1, 1)),
    "MONTH": ("M", lambda d: Day(d.year, d.month, 1)),
    "WEEK": ("W", lambda d: d - datetime.timedelta(d.weekday())),
    "DAY": ("D", lambda d: d),
}
_TIMES = {"HOUR": "h", "MINUTE": "m"}
#: The parts of EXTRACT: the column, the values it can have, and the same in Python.
_PARTS: dict[str, tuple[Callable[[Any], Any], range | None, Callable[[Day], int]]] = {
    "YEAR": (lambda c: c.year(), None, lambda d: d.year),
    "QUARTER": (lambda c: c.quarter(), range(1, 5), lambda d: (d.month + 2) // 3),
    "MONTH": (lambda c: c.month(), range(1, 13), lambda d: d.month),
    "WEEK": (lambda c: c.week_of_year(), range(1, 54), lambda d: d.isocalendar()[1]),
    "DAY": (lambda c: c.day(), range(1, 32), lambda d: d.day),
    "DAYOFYEAR": (lambda c: c.day_of_year(), range(1, 367), lambda d: d.timetuple().tm_yday),
    "ISODOW": (lambda c: c.day_of_week.index() + 1, range(1, 8), lambda d: d.isoweekday()),
    "DOW": (lambda c: (c.day_of_week.index() + 1) % 7, range(7), lambda d: d.isoweekday() % 7),
    "DAYOFWEEK": (lambda c: (c.day_of_week.index() + 1) % 7 + 1, range(1, 8), lambda d: d.isoweekday() % 7 + 1),
}
_CLOCK: dict[str, tuple[Callable[[Any], Any], range]] = {
    "HOUR": (lambda c: c.hour(), range(24)),
    "MINUTE": (lambda c: c.minute(), range(60)),
}
_SAME = {"DOY": "DAYOFYEAR", "DAYOFWEEKISO": "ISODOW", "DAYOFMONTH": "DAY", "WEEKOFYEAR": "WEEK", "ISOWEEK": "WEEK"}
_FORMAT = re.compile(r"^(?:[^%]|%[YmdjHM%])*$")


def _dated(node: Any, rows: Rows) -> Cell:
    cell = rows.of(node)
    if cell.family == "text" and isinstance(cell.value, str):
        cell = rows.of(_as_cast(node))
    cell = as_asked(cell, "time")
    if cell.family not in ("date", "time"):
        raise Refused(
            f"a date is needed, but {node.sql()} is of type {cell.column.type()}; write TRY_CAST(... AS DATE)", node
        )
    return cell


def _usual_dates(node: Any, rows: Rows) -> Cell:
    """A date or a time; null outside the years 1 to 9000, where functions of dates fail in some engines."""
    cell = _dated(node, rows)
    if cell.constant:
        return cell
    return replace(cell, column=ibis().cases((_usual(cell.column), cell.column), else_=ibis().null(cell.column.type())))


def _as_cast(node: Any) -> Any:
    import sqlglot

    return sqlglot.exp.cast(node.copy(), "DATE")


def _unit(node: Any) -> str:
    """The name of a unit, from a word or a text."""
    named = node.name if node is not None else ""
    return re.sub(r"[^A-Z].*$", "", str(named).strip("'\" ").upper())


@handler("DateTrunc", "TimestampTrunc", "DatetimeTrunc")
def _truncated(node: Any, rows: Rows) -> Cell:
    allow_only(node, "this", "unit", "zone", "input_type_preserved")
    if node.args.get("zone") is not None:
        raise Refused("DATE_TRUNC with a time zone is not translated", node)
    cell, unit = _usual_dates(node.this, rows), _unit(node.args.get("unit"))
    if unit in _TIMES and cell.family == "time":
        return Cell(cell.column.truncate(_TIMES[unit]))
    if unit not in _UNITS:
        raise Refused(f"DATE_TRUNC takes {', '.join((*_UNITS, *_TIMES))}", node)
    letter, same = _UNITS[unit]
    day = cell.column if cell.family == "date" else cell.column.date()
    return by_day(cell, day if letter == "D" else as_date(day.truncate(letter)), same)


@handler("Extract")
def _extract(node: Any, rows: Rows) -> Cell:
    return _part(_unit(node.this), node.expression, node, rows)


@handler("date_part", "datepart")
def _date_part(node: Any, rows: Rows) -> Cell:
    if len(node.expressions) != 2:
        raise Refused("write EXTRACT(MONTH FROM day)", node)
    return _part(_unit(node.expressions[0]), node.expressions[1], node, rows)


@handler("Year", "Quarter", "Month", "Week", "WeekOfYear", "Day", "DayOfMonth", "DayOfYear", "Hour", "Minute")
def _named_part(node: Any, rows: Rows) -> Cell:
    return _part(type(node).__name__.upper(), node.this, node, rows)


@handler("DayOfWeek", "DayOfWeekIso")
def _weekday(node: Any, rows: Rows) -> Cell:
    name = "ISODOW" if type(node).__name__ == "DayOfWeekIso" else "DOW" if rows.dialect == "duckdb" else "DAYOFWEEK"
    return _part(name, node.this, node, rows)


@handler("TsOrDsToDate", "Date", "TsOrDsToTimestamp")
def _to_date(node: Any, rows: Rows) -> Cell:
    """DATE(x), and the casts that sqlglot adds around arguments of date functions."""
    allow_only(node, "this", "safe")
    cell = _dated(node.this, rows)
    if type(node).__name__ == "TsOrDsToTimestamp" or cell.family == "date":
        return cell
    return by_day(cell, cell.column.date(), lambda d: d)


def _part(name: str, given: Any, node: Any, rows: Rows) -> Cell:
    cell, name = _usual_dates(given, rows), _SAME.get(name, name)
    if name in _CLOCK and cell.family == "time":
        call, listed = _CLOCK[name]
        return Cell(call(cell.column), listed[0], listed[-1], tuple(listed), reach=2**31)
    if name not in _PARTS:
        raise Refused(f"EXTRACT takes {', '.join((*_PARTS, *_CLOCK))}", node)
    call, possible, same = _PARTS[name]
    found = by_day(cell, call(cell.column), same)
    if possible is None or found.values is not None:
        return found
    return Cell(found.column, possible[0], possible[-1], tuple(possible), reach=2**31)


@handler("TimeToStr")
def _formatted(node: Any, rows: Rows) -> Cell:
    allow_only(node, "this", "format")
    cell, form = _usual_dates(node.this, rows), rows.of(node.args["format"]).value
    if not isinstance(form, str) or not _FORMAT.match(form):
        raise Refused("the format of a date may use %Y, %m, %d, %j, %H and %M", node)
    on_clock = "%H" in form or "%M" in form
    made = cell.column.strftime(form)
    return Cell(made) if on_clock else by_day(cell, made, lambda d: d.strftime(form))


@handler("DateAdd", "DateSub", "TimestampAdd", "TimestampSub", "DatetimeAdd", "DatetimeSub")
def _moved(node: Any, rows: Rows) -> Cell:
    allow_only(node, "this", "expression", "unit")
    sign = -1 if type(node).__name__.endswith("Sub") else 1
    amount = node.expression
    if type(amount).__name__ == "Interval":
        return _by(_dated(node.this, rows), amount.this, amount.args.get("unit"), sign, node, rows)
    return _by(_dated(node.this, rows), amount, node.args.get("unit"), sign, node, rows)


def shifted(node: Any, rows: Rows, sign: int) -> Cell | None:
    """A date plus or less an interval or days, or the days between two dates; None if it is neither."""
    left, right = node.this, node.expression
    if type(right).__name__ == "Interval":
        return _by(_dated(left, rows), right.this, right.args.get("unit"), sign, node, rows)
    a, b = rows.of(left), rows.of(right)
    if a.family == "date" and b.family == "date" and sign < 0:
        return _days(a, b)
    if a.family == "date" and b.family == "number":
        return _by(a, right, None, sign, node, rows)
    return None


def _days(a: Cell, b: Cell) -> Cell:
    ends = ((a.low - b.high).days, (a.high - b.low).days) if a.bounded and b.bounded else (None, None)
    finite = _usual(a.column) & _usual(b.column)
    days = ibis().cases((finite, a.column.delta(b.column, unit="day")), else_=ibis().null("int64"))
    return Cell(days, ends[0], ends[1], reach=2**40)


@handler("DateDiff", "TimestampDiff", "DatetimeDiff")
def _difference(node: Any, rows: Rows) -> Cell:
    allow_only(node, "this", "expression", "unit", "date_part_boundary")
    if _unit(node.args.get("unit")) not in ("", "DAY"):
        raise Refused("DATE_DIFF is translated for days; divide the days by 7 or 365.25", node)
    a, b = _dated(node.this, rows), _dated(node.expression, rows)
    first, second = (c if c.family == "date" else by_day(c, c.column.date(), lambda d: d) for c in (a, b))
    return _days(first, second)


def _usual(column: Any) -> Any:
    """Dates or times between the years 1 and 9000."""
    ends: list[Any] = [_FIRST, _LAST]
    if not column.type().is_date():
        ends = [datetime.datetime.combine(day, datetime.time()) for day in ends]
    first, last = (ibis().literal(end, type=column.type()) for end in ends)
    return (column >= first) & (column <= last)


def _by(cell: Cell, amount: Any, unit: Any, sign: int, node: Any, rows: Rows) -> Cell:
    """A date moved by a constant number of days, weeks, months or years."""
    text = str(amount.name).strip()
    name = _unit(unit).rstrip("S") if unit is not None else "DAY"
    if not re.fullmatch(r"-?\d{1,6}", text) or name not in ("DAY", "WEEK", "MONTH", "YEAR", "HOUR", "MINUTE"):
        raise Refused("a date is moved by a constant number of days, weeks, months or years", node)
    number = sign * int(text)
    if abs(number) > _MOST_MOVED or (name == "YEAR" and abs(number) > 900) or (name == "MONTH" and abs(number) > 9000):
        raise Refused("the interval is too long; move a date by less than 900 years", node)
    if cell.constant and isinstance(cell.value, Day) and name in ("DAY", "WEEK"):
        from hush.tables.sql.cell import literal

        try:
            return literal(cell.value + datetime.timedelta(number * (7 if name == "WEEK" else 1)))
        except OverflowError as failure:
            raise Refused(f"{node.sql()} is not a date between the years 1 and 9999", node) from failure
    if cell.family == "date" and name in ("HOUR", "MINUTE"):
        raise Refused("a date is moved by days, weeks, months or years; hours need CAST(... AS TIMESTAMP)", node)
    inside = _usual(cell.column)
    moved = cell.column + ibis().interval(**{f"{name.lower()}s": number})
    if cell.family == "date":
        moved = moved.cast("date")
    return Cell(ibis().cases((inside, moved), else_=ibis().null(moved.type())))
