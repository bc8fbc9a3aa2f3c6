"""The options of `hush answer` that describe the query: rows to keep, groups, aggregates."""

from __future__ import annotations

import argparse
from dataclasses import replace
from datetime import date
from typing import Any

from hush.cli.text import condition, listed, number
from hush.errors import InvalidParameter

__all__ = ["add_query", "query_of"]

_TRUTH = {"true": True, "1": True, "yes": True, "false": False, "0": False, "no": False}
_COMPARE = {"==": "__eq__", "=": "__eq__", "!=": "__ne__", "<=": "__le__", ">=": "__ge__", "<": "__lt__", ">": "__gt__"}
_QUANTILE = "COLUMN:Q:LOW:HIGH, for example cost:0.5:0:20000 for the median, or cost:0.25,0.75:0:20000 for two levels,"


def add_query(parser: argparse.ArgumentParser) -> None:
    """Add the options, in three groups."""
    rows = parser.add_argument_group("people and rows")
    rows.add_argument(
        "--unit", required=True, metavar="COLUMN", help="the column that identifies the person each row belongs to"
    )
    tables = "the table of a DuckDB or SQLite file, or schema.table of a PostgreSQL database"
    rows.add_argument("--table", "--name", metavar="NAME", help=tables)
    comparison = "keep the rows where, for example, age>=18; one comparison, repeatable"
    rows.add_argument("--where", action="append", default=[], metavar="TEXT", help=comparison)
    groups = parser.add_argument_group("groups")
    groups.add_argument("--by", metavar="COLUMNS", help="columns to group by, a comma list")
    groups.add_argument(
        "--keys", metavar="LIST", help='the groups to publish, a comma list ("a, b" in quotes is one), or private'
    )
    most = "how many groups one person may contribute to; further groups of that person are left out"
    groups.add_argument("--groups-per-unit", type=int, metavar="N", help=most)
    measures = parser.add_argument_group("aggregates")
    at_most = "count rows, at most ROWS per person in each group (default 1)"
    measures.add_argument("--count", type=int, nargs="?", const=1, metavar="ROWS", help=at_most)
    measures.add_argument("--count-units", action="store_true", help="count people")
    for flag, form, more in (
        ("sum", "COLUMN:LOW:HIGH", ""),
        ("mean", "COLUMN:LOW:HIGH", ""),
        ("variance", "COLUMN:LOW:HIGH", ""),
        ("histogram", "COLUMN:E,E,E", ", with these bin edges; values outside them are left out"),
        ("quantile", "COLUMN:Q:LOW:HIGH", ", 0.5 for the median; 0.25,0.5,0.75 for several from one measurement"),
    ):
        text = f"{flag} of a column{more} (repeatable)"
        measures.add_argument(f"--{flag}", action="append", default=[], metavar=form, help=text)


def query_of(options: argparse.Namespace) -> Any:
    """The query that the options describe."""
    from hush import tables

    whole = tables.table(options.source, unit=options.unit, name=options.table, engine=options.engine)
    table = _filtered(whole, options.where)
    measures = _measures(options)
    names = listed(options.by, "by") if options.by else []
    if not names:
        return table.aggregate(**measures)
    if options.groups_per_unit is None:
        raise InvalidParameter("--by needs --groups-per-unit, the number of groups that one person may contribute to.")
    keys = _keys(options, table, names)
    return table.group_by(*names, keys=keys, groups_per_unit=options.groups_per_unit).aggregate(**measures)


# -- rows and groups -----------------------------------------------------------------------------------------


def _filtered(table: Any, conditions: list[str]) -> Any:
    """The rows that satisfy every --where; the receipt records how each comparison was understood."""
    from hush.tables.expression import must_have

    for text in conditions:
        name, sign, value = condition(text)
        column = table[must_have(table.columns, name, "--where")]
        typed = _typed(value, column.type(), "where")
        kept = table.filter(getattr(column, _COMPARE[sign])(typed))
        shown = (
            f"{name} {'==' if sign == '=' else sign} {typed!r}"
            if isinstance(typed, str | bool)
            else f"{name} {sign} {typed}"
        )
        table = replace(kept, filters=(*table.filters, shown))
    return table


def _keys(options: argparse.Namespace, table: Any, names: list[str]) -> Any:
    """The public keys of --keys in the type of their column, or "private"."""
    from hush.tables.expression import must_have

    if options.keys is None:
        raise InvalidParameter(
            "--by needs --keys: a list of the groups to publish, or private to find them with a part of delta."
        )
    if options.keys == "private":
        return "private"
    if len(names) > 1:
        raise InvalidParameter(
            "--keys lists the values of one column; with several columns write --keys private, or use Python."
        )
    kind = table[must_have(table.columns, names[0], "--by")].type()
    return [_typed(text, kind, "keys") for text in listed(options.keys, "keys")]


def _typed(text: str, kind: Any, flag: str) -> Any:
    """A value of the command line in the type of its column."""
    if kind.is_numeric() or kind.is_date():
        return _value(text, flag)
    if not kind.is_boolean():
        return text
    if text.lower() not in _TRUTH:
        raise InvalidParameter(f"--{flag}: {text!r} is neither true nor false; write true or false.")
    return _TRUTH[text.lower()]


# -- aggregates ----------------------------------------------------------------------------------------------


def _measures(options: argparse.Namespace) -> dict[str, Any]:
    """The aggregates, by the name of their column in the answer."""
    from hush import tables

    made: dict[str, Any] = {}
    if options.count is not None:
        made["count"] = tables.count(rows_per_unit=options.count)
    if options.count_units:
        made["units"] = tables.count_units()
    for flag, function in (("sum", tables.sum), ("mean", tables.mean), ("variance", tables.variance)):
        for text in getattr(options, flag):
            column, *rest = _split(text, flag, "column:low:high or column:low:high:rows", 2, 4)
            _add(made, f"{column}_{flag}", function(column, **_bounds(rest, flag)), f"--{flag} {column}")
    for text in options.histogram:
        column, edges = _split(text, "histogram", "column:edge,edge,edge", 2, 2)
        values = [_value(edge, "histogram") for edge in edges.split(",")]
        _add(made, f"{column}_histogram", tables.histogram(column, edges=values), f"--histogram {column}")
    for text in options.quantile:
        _add(made, *_quantile(text), f"--quantile {text}")
    if not made:
        flags = "--count, --count-units, --sum, --mean, --variance, --histogram or --quantile"
        raise InvalidParameter(f"the query has no aggregate; add {flags}.")
    return made


def _add(made: dict[str, Any], name: str, measure: Any, option: str) -> None:
    """Add an aggregate; a second one of the same name is rejected."""
    if name in made:
        raise InvalidParameter(f"{option} is given twice; give it once, or use Python with two names.")
    made[name] = measure


def _split(text: str, flag: str, form: str, least: int, most: int) -> list[str]:
    parts = text.split(":")
    if not least <= len(parts) <= most:
        raise InvalidParameter(f"--{flag} needs {form}, got {text!r}.")
    return parts


def _bounds(parts: list[str], flag: str) -> dict[str, Any]:
    """low, high and, if given, rows_per_unit: the parts after the column."""
    if parts[:1] == ["private"]:
        given: dict[str, Any] = {"low": "private", "high": "private"}
        return given | ({"rows_per_unit": _whole(parts[1], flag)} if len(parts) > 1 else {})
    if len(parts) < 2:
        raise InvalidParameter(
            f"--{flag} needs column:low:high (or column:private), got no bounds; choose bounds without looking at the "
            "data."
        )
    given = {"low": _value(parts[0], flag), "high": _value(parts[1], flag)}
    return given | ({"rows_per_unit": _whole(parts[2], flag)} if len(parts) > 2 else {})


def _value(text: str, flag: str) -> Any:
    """A whole number, a date or a number."""
    for read in (int, date.fromisoformat, number):
        try:
            return read(text)
        except ValueError:
            continue
        except argparse.ArgumentTypeError as failure:
            raise InvalidParameter(f"--{flag}: {failure}, nor a date such as 2025-12-31.") from failure
    raise InvalidParameter(f"--{flag}: {text!r} is not a number.")


def _whole(text: str, flag: str) -> int:
    if not text.isdigit():
        raise InvalidParameter(f"--{flag}: {text!r} is not a whole number of rows.")
    return int(text)


def _quantile(text: str) -> tuple[str, Any]:
    """The name and the aggregate of COLUMN:Q:LOW:HIGH; the level in the last place is rejected with the right order.

    Several levels are one aggregate with the name of the column: its answers are COLUMN_q25, COLUMN_q50 and so on, as
    the name of a single level is.
    """
    from hush import tables
    from hush.tables.quantiles import level_name

    column, levels, *rest = _split(text, "quantile", _QUANTILE, 3, 5)
    q = [_level(level) for level in levels.split(",")]
    given = _bounds(rest, "quantile") if len(rest) > 1 or rest == ["private"] else {}
    numbers = all(isinstance(given.get(end), int | float) for end in ("low", "high"))
    if not given or not all(0.0 <= level <= 1.0 for level in q) or (numbers and given["low"] >= given["high"]):
        raise InvalidParameter(f"--quantile needs {_QUANTILE} got {text!r}; Q comes before the bounds.")
    if len(q) > 1:
        return column, tables.quantile(column, q, **given)
    return f"{column}_{level_name(q[0])}", tables.quantile(column, q[0], **given)


def _level(text: str) -> float:
    """A level as a number; a date has none, so it is rejected by its range."""
    value = _value(text, "quantile")
    return -1.0 if isinstance(value, date) else float(value)
