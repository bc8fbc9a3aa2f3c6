"""Mistakes in the rules of a policy, each with its place. Nothing is opened here: the rules alone are checked."""

from __future__ import annotations

import datetime
import math
from collections.abc import Iterable, Iterator, Mapping
from dataclasses import dataclass
from pathlib import Path
from typing import Any

from hush.errors import LARGEST_BUDGET, InvalidParameter, nearest, places_of_equals, shown, type_and_size
from hush.tables.policy.rules import PRIVATE, ROW, ColumnRule, TableRule, Via, is_private
from hush.tables.reading import TYPES, reading_of

__all__ = ["Mistake", "mistakes_in_tables", "must_be_right"]


@dataclass(frozen=True)
class Mistake:
    """What is wrong, and where: `tables.visits.columns.stay_days.low`."""

    place: str
    text: str

    def __str__(self) -> str:
        return f"{self.place}: {self.text}" if self.place else self.text


def must_be_right(what: str, mistakes: Iterable[Mistake]) -> None:
    """Raise all mistakes at once; do nothing where there are none."""
    found = list(map(str, mistakes))
    if len(found) == 1:
        raise InvalidParameter(f"{what}: {found[0]}")
    if found:
        raise InvalidParameter("\n  ".join([f"{what} has {len(found)} mistakes:", *found]))


def mistakes_in_tables(tables: Any) -> Iterator[Mistake]:
    """The mistakes in all rules of a policy."""
    if not isinstance(tables, Mapping):
        yield Mistake("tables", f"must be tables by name, got {_kind(tables)}; write [tables.visits].")
        return
    if not tables:
        yield Mistake("tables", "is empty; a policy needs at least one table, such as [tables.visits].")
    yield from _alike("tables", tables)
    for name, rule in tables.items():
        place = f"tables.{name}"
        if not isinstance(name, str) or not name.strip() or not name.isprintable():
            yield Mistake(place, f"the name of a table must be text, got {shown(name)}.")
        if isinstance(rule, TableRule):
            yield from _in_table(place, rule)
            yield from _in_way(f"{place}.via", name, rule, tables)
        else:
            yield Mistake(place, f"must be a TableRule, got {_kind(rule)}.")


def _in_table(place: str, rule: TableRule) -> Iterator[Mistake]:
    """The mistakes in one table."""
    if rule.source is None or (isinstance(rule.source, str | Path) and not str(rule.source).strip()):
        yield Mistake(f"{place}.source", 'is missing; name a file or a database, such as source = "visits.parquet".')
    for key in ("name", "ledger", "engine", "population"):
        value = getattr(rule, key)
        if value is not None and (not isinstance(value, str) or not value.strip()):
            yield Mistake(f"{place}.{key}", f"must be text, got {shown(value)}.")
    if rule.csv is not None:
        try:
            reading_of(rule.csv, None)
        except InvalidParameter as failure:
            yield Mistake(f"{place}.csv", str(failure))
    if not isinstance(rule.public, bool):
        yield Mistake(f"{place}.public", f"must be true or false, got {shown(rule.public)}.")
    elif rule.public:
        yield from _in_public_table(place, rule)
    else:
        yield from _in_unit(place, rule)
    yield from _in_limits(place, rule)
    if rule.columns is None:
        return
    if not isinstance(rule.columns, Mapping):
        yield Mistake(f"{place}.columns", f"must have one line for each column, got {_kind(rule.columns)}.")
        return
    yield from _alike(f"{place}.columns", rule.columns)
    for name, column in rule.columns.items():
        if isinstance(column, ColumnRule):
            yield from _in_column(f"{place}.columns.{name}", column)
        else:
            yield Mistake(f"{place}.columns.{name}", f"must be a ColumnRule, got {_kind(column)}.")


def _in_public_table(place: str, rule: TableRule) -> Iterator[Mistake]:
    """A public table protects nobody, so it has no unit, limits or ledger."""
    for key in ("unit", "via", "groups_per_unit", "rows_per_unit", "ledger", "max_epsilon", "max_delta", "population"):
        if getattr(rule, key) is not None:
            yield Mistake(f"{place}.{key}", f"a public table has no {key}, because its rows are no secret; remove it.")


def _in_unit(place: str, rule: TableRule) -> Iterator[Mistake]:
    """Who is protected, and how many rows and groups of one person count."""
    unit = rule.unit
    where = f"{place}.unit"
    if rule.via is not None:
        for key in ("unit", "ledger", "population"):
            if getattr(rule, key) is not None:
                yield Mistake(f"{place}.{key}", f"is that of the table that via names; remove {key}.")
    elif unit is None:
        yield Mistake(where, 'is missing; name the column of the person, such as unit = "patient_id", or unit = "row".')
    elif isinstance(unit, tuple):
        if not unit or not all(isinstance(name, str) and name.strip() for name in unit):
            yield Mistake(where, f"must be names of columns, got {type_and_size(list(unit))}.")
        elif len(set(unit)) < len(unit):
            yield Mistake(where, f"names a column twice, at {places_of_equals(unit)}.")
    elif not isinstance(unit, str) or not unit.strip():
        yield Mistake(where, f"must be the name of a column, a list of names or {shown(ROW)}, got {shown(unit)}.")
    for key in ("groups_per_unit", "rows_per_unit"):
        value = getattr(rule, key)
        if value is None or (is_private(value) and unit != ROW):
            continue
        if not isinstance(value, int) or isinstance(value, bool) or not 1 <= value < 2**63:
            yield Mistake(f"{place}.{key}", f'must be a whole number, 1 or greater, or "private", got {shown(value)}.')
        elif unit == ROW and value != 1:
            yield Mistake(f"{place}.{key}", f'is 1 where each row is a person (unit = "row"), got {value}.')


def _in_way(place: str, name: str, rule: TableRule, tables: Mapping[str, Any]) -> Iterator[Mistake]:
    """The way from a row to its person leads to another table of people, and not back."""
    via = rule.via
    example = 'write via = { table = "orders", column = "order_id" }'
    if via is None:
        return
    if not isinstance(via, Via):
        yield Mistake(place, f"must name a table and a column, got {_kind(via)}; {example}.")
        return
    for part in ("table", "column", "key"):
        value = getattr(via, part)
        names = (value,) if isinstance(value, str) or part == "table" else value
        if part == "key" and value is None:
            continue
        if not isinstance(names, tuple) or not names or not all(isinstance(n, str) and n.strip() for n in names):
            yield Mistake(f"{place}.{part}", f"must be a name, got {shown(value)}; {example}.")
            return
    if len({1 if isinstance(part, str) else len(part) for part in (via.column, via.keys)}) > 1:
        yield Mistake(f"{place}.key", "must have as many columns as column has.")
    seen, here = {name}, via.table
    while here in tables and isinstance(tables[here], TableRule) and isinstance(tables[here].via, Via):
        if here in seen:
            yield Mistake(f"{place}.table", f"leads back to {shown(here)}, and never to a table with a unit.")
            return
        seen, here = seen | {here}, tables[here].via.table
    if here not in tables:
        hint = nearest(here, [other for other in tables if other != name])
        yield Mistake(
            f"{place}.table", f"the policy has no table {shown(here)}; " + (f"{hint}?" if hint else "declare it.")
        )
    elif getattr(tables[here], "public", False) is True or getattr(tables[here], "unit", None) == ROW:
        yield Mistake(f"{place}.table", f"{shown(here)} has no unit of columns, so its rows lead to no person.")


def _in_limits(place: str, rule: TableRule) -> Iterator[Mistake]:
    """The most that one question may spend."""
    for key, low, high in (("max_epsilon", 0.0, LARGEST_BUDGET), ("max_delta", -1.0, 1.0)):
        value = getattr(rule, key)
        if value is None:
            continue
        fits = isinstance(value, int | float) and not isinstance(value, bool) and math.isfinite(value)
        if key == "max_epsilon" and not (fits and low < value <= high):
            yield Mistake(f"{place}.{key}", f"must be greater than 0 and at most {high:g}, got {shown(value)}.")
        if key == "max_delta" and not (fits and 0.0 <= value < high):
            yield Mistake(f"{place}.{key}", f"must be from 0 to below 1, got {shown(value)}.")


# -- columns -------------------------------------------------------------------------------------------------


def _in_column(place: str, rule: ColumnRule) -> Iterator[Mistake]:
    """The mistakes in one line of a column."""
    if not isinstance(rule.ask, bool):
        yield Mistake(f"{place}.ask", f"must be true or false, got {shown(rule.ask)}.")
    if rule.type is not None and rule.type not in TYPES:
        near = nearest(rule.type, TYPES) if isinstance(rule.type, str) else ""
        yield Mistake(f"{place}.type", f"must be one of {', '.join(TYPES)}{'; ' + near + '?' if near else '.'}")
    wrong = [
        Mistake(f"{place}.{side}", text) for side in ("low", "high") if (text := _wrong_bound(getattr(rule, side)))
    ]
    yield from wrong
    if not wrong:
        yield from _in_bounds(place, rule.low, rule.high)
    if rule.values is not None:
        yield from (Mistake(f"{place}.values", text) for text in _wrong_values(rule.values))


def _wrong_bound(bound: Any) -> str:
    """What is wrong with one bound; empty if nothing is."""
    if bound is None or is_private(bound):
        return ""
    if isinstance(bound, str):
        near = nearest(bound, [PRIVATE])
        return f"must be a number, a date or {shown(PRIVATE)}, got {shown(bound)}{'; ' + near + '?' if near else '.'}"
    if isinstance(bound, datetime.datetime) or (
        isinstance(bound, bool) or not isinstance(bound, int | float | datetime.date)
    ):
        return f"must be a number, a date or {shown(PRIVATE)}, got {shown(bound)}."
    if not isinstance(bound, datetime.date) and not math.isfinite(bound):
        return f"must be a finite number, got {shown(bound)}."
    return ""


def _in_bounds(place: str, low: Any, high: Any) -> Iterator[Mistake]:
    """Two bounds that do not fit each other."""
    if low is None and high is None:
        return
    missing = "low" if low is None else "high" if high is None else ""
    if missing:
        yield Mistake(f"{place}.{missing}", "is missing; declare low and high, or neither.")
    elif is_private(low) or is_private(high):
        if not (is_private(low) and is_private(high)):
            yield Mistake(f"{place}.low", f"low and high are found together; write {shown(PRIVATE)} for both.")
    elif isinstance(low, datetime.date) != isinstance(high, datetime.date):
        yield Mistake(f"{place}.low", f"low and high must both be numbers or both be dates, got {low} and {high}.")
    elif low == high:
        yield Mistake(f"{place}.low", f"low and high are both {low}, which leaves one possible value; widen them.")
    elif low > high:
        yield Mistake(f"{place}.low", f"low is {low} and high is {high}, but low must be below high; exchange them.")


def _wrong_values(values: Any) -> Iterator[str]:
    """What is wrong with a list of values."""
    if is_private(values):
        return
    if isinstance(values, str):
        near = nearest(values, [PRIVATE])
        yield f"must be a list or {shown(PRIVATE)}, got {shown(values)}{'; ' + near + '?' if near else '.'}"
    elif not isinstance(values, tuple):
        yield f"must be a list or {shown(PRIVATE)}, got {_kind(values)}."
    elif not values:
        yield f'is empty; list the values, or write values = "{PRIVATE}".'
    else:
        kinds = {_value_kind(value) for value in values}
        if None in kinds:
            bad = next(value for value in values if _value_kind(value) is None)
            yield f"must be text, whole numbers, dates or truth values, got {type_and_size(bad)}."
        elif len(kinds) > 1:
            yield f"must be of one kind, got {' and '.join(sorted(map(str, kinds)))}."
        elif len(set(values)) < len(values):
            yield f"lists a value twice, at {places_of_equals(values)}."


def _value_kind(value: Any) -> str | None:
    """The kind of a value that a group may have; None if it may have no such value."""
    if isinstance(value, datetime.datetime):
        return None
    named = ((bool, "truth values"), (int, "whole numbers"), (str, "text"), (datetime.date, "dates"))
    return next((word for kind, word in named if isinstance(value, kind)), None)


# -- words ---------------------------------------------------------------------------------------------------


def _alike(place: str, names: Iterable[Any]) -> Iterator[Mistake]:
    """Names that differ in case only: engines may treat these as equal."""
    seen: dict[str, str] = {}
    for name in map(str, names):
        first = seen.setdefault(name.casefold(), name)
        if first != name:
            yield Mistake(f"{place}.{name}", f"differs from {shown(first)} in case only; remove one of them.")


def _kind(value: Any) -> str:
    """What a value is, in words."""
    words = {str: "text", bool: "a truth value", int: "a number", float: "a number", list: "a list", dict: "a table"}
    return words.get(type(value), f"a {type(value).__name__}")
