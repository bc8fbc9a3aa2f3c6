"""The options of `hush answer` that describe the query: table, rows to keep, groups, aggregates."""

from __future__ import annotations

import argparse
from datetime import date
from typing import Any

from hush.cli.policy_options import add_policy, opened_table
from hush.cli.row_options import are_edges, keys_of, plain_value, rows_of, typed_value, untyped
from hush.cli.text import listed
from hush.cli.text_file_options import add_reading
from hush.errors import InvalidParameter, shown

__all__ = ["add_query", "add_rows", "add_table", "in_block", "query_of"]

_QUANTILE = "COLUMN:Q:LOW:HIGH, for example cost:0.5:0:20000 for the median, or cost:0.25,0.75:0:20000 for two levels,"
_BOUNDED = "column:low:high, column:low:high:rows or column:private"
_HISTOGRAM = "column:edge,edge,edge or column:category,category"


def add_query(parser: argparse.ArgumentParser) -> None:
    """Add the options, in four groups."""
    add_table(parser.add_argument_group("table", "example: --unit patient_id"))
    add_rows(parser.add_argument_group("rows", 'example: --let "month=strftime(day, \'%Y-%m\')" --where "age >= 18"'))
    _add_groups(parser.add_argument_group("groups", "example: --by ward,year --keys ward=a,b --keys year=2024,2025"))
    _add_measures(parser.add_argument_group("aggregates", "example: --count-units --mean stay_days:0:30"))


def add_table(table: Any) -> None:
    """Add the options that choose a table and the people in it."""
    whose = "the column that identifies the person each row belongs to; a comma list identifies a unit together"
    table.add_argument("--unit", metavar="COLUMNS", help=whose)
    table.add_argument("--each-row", action="store_true", help="each row is a person of its own, in place of --unit")
    add_policy(table)
    which = "the table of the policy, of a DuckDB or SQLite file, or schema.table of a PostgreSQL database"
    table.add_argument("--table", "--name", metavar="NAME", help=which)
    same = "a name for the people; files with the same name share one ledger, such as one file for each month"
    table.add_argument("--population", metavar="NAME", help=same)
    block = "ask about one block of time, such as month=2025-01; the column must be a part of --unit"
    table.add_argument("--block", metavar="COLUMN=VALUE", help=block)
    add_reading(table)
    table.add_argument("--engine", default="duckdb", metavar="NAME", help="duckdb (default), spark, or sc://host:port")


def add_rows(rows: Any) -> None:
    """Add the options that choose rows and add columns."""
    text = "add a column: name=expression in SQL over the values of one row (repeatable)"
    rows.add_argument("--let", action="append", default=[], metavar="TEXT", help=text)
    text = "keep the rows where this holds: age>=18, or a condition in SQL with AND, OR, NOT, IN (repeatable)"
    rows.add_argument("--where", action="append", default=[], metavar="TEXT", help=text)


def _add_groups(groups: Any) -> None:
    groups.add_argument("--by", metavar="COLUMNS", help="columns to group by, a comma list")
    text = 'the groups to publish, a comma list ("a, b" in quotes is one), or private; for several columns column=list'
    groups.add_argument("--keys", action="append", default=[], metavar="LIST", help=f"{text} (repeatable)")
    most = "how many groups one person may contribute to; further groups of that person are left out; 'private' "
    most += "chooses it with a part of the budget"
    groups.add_argument("--groups-per-unit", type=_limit, metavar="N", help=most)
    text = "with --keys private: also count the people who are in a group that is not shown, for a tenth of the budget"
    groups.add_argument("--other", action="store_true", help=text)
    text = "the N largest groups only, the largest first; from listed --keys their names cost less noise than counts "
    text += "of all groups, and need no --groups-per-unit; add --count-units to publish their numbers of people"
    groups.add_argument("--top", type=int, metavar="N", help=text)


def _add_measures(measures: Any) -> None:
    at_most = "count rows, at most ROWS per person in each group (default 1; 'private' chooses it)"
    measures.add_argument("--count", type=_limit, nargs="?", const=False, metavar="ROWS", help=at_most)
    measures.add_argument("--count-units", action="store_true", help="count people")
    exist = "ask which groups exist, without any number: it finds more groups than an answer with counts"
    measures.add_argument("--which-groups", action="store_true", help=exist)
    bounds = "; COLUMN:private finds the bounds with a part of the budget"
    for flag, form, more in (
        ("sum", "COLUMN:LOW:HIGH", bounds),
        ("mean", "COLUMN:LOW:HIGH", bounds),
        ("variance", "COLUMN:LOW:HIGH", bounds),
        ("median", "COLUMN:LOW:HIGH", ", chosen exactly: wide bounds cost nothing"),
        ("histogram", "COLUMN:E,E,E", ", with these bin edges, or these categories of a text column"),
        ("quantile", "COLUMN:Q:LOW:HIGH", ", 0.9 for the ninth decile; 0.25,0.5,0.75 for all quartiles at once"),
    ):
        text = f"{flag} of a column{more} (repeatable)"
        measures.add_argument(f"--{flag}", action="append", default=[], metavar=form, help=text)


def query_of(options: argparse.Namespace) -> Any:
    """The query that the options describe."""
    table = rows_of(options, in_block(options, opened_table(options)))
    names = listed(options.by, "by") if options.by else []
    if options.which_groups:
        _must_ask_alone(options, names)
    if options.top is not None and not names:
        raise InvalidParameter("--top asks for the largest groups; add --by and --keys.")
    keys = keys_of(options, table, names) if options.top is not None else None
    if keys is not None and names_only(options, keys):
        grouped = table.group_by(*names, keys=keys, groups_per_unit=options.groups_per_unit)
        return grouped.top(options.top, counts=options.count_units)
    measures = {} if options.which_groups else _measures(options, table)
    if not names:
        if options.keys:
            raise InvalidParameter("--keys lists the groups of --by; add --by, or leave --keys out.")
        return table.aggregate(**measures)
    if options.groups_per_unit is None and options.policy is None and not options.each_row:
        raise InvalidParameter("--by needs --groups-per-unit, the number of groups that one person may contribute to.")
    keys = keys_of(options, table, names) if keys is None else keys
    grouped = table.group_by(*names, keys=keys, groups_per_unit=options.groups_per_unit)
    return grouped.keys() if options.which_groups else grouped.aggregate(**measures)


def _must_ask_alone(options: argparse.Namespace, names: list[str]) -> None:
    """Raise unless --which-groups is the only question, about groups that are found privately."""
    numbers = ("count_units", "sum", "mean", "variance", "median", "histogram", "quantile")
    if options.count is not None or any(getattr(options, name) for name in numbers):
        raise InvalidParameter("--which-groups publishes no number; leave the aggregates out, or leave it out.")
    others = [name for name in ("other", "top", "total", "share", "ratio", "unlimited") if getattr(options, name)]
    if others:
        raise InvalidParameter(f"--which-groups does not go with --{others[0]}; leave one of them out.")
    if not names or options.keys != ["private"]:
        raise InvalidParameter("--which-groups finds groups in the data; add --by COLUMNS --keys private.")


def names_only(options: argparse.Namespace, keys: Any) -> bool:
    """Are the largest of listed groups asked for, with no numbers but those of people?"""
    others = [getattr(options, name) for name in ("sum", "mean", "variance", "median", "histogram", "quantile")]
    return options.top is not None and not isinstance(keys, str) and options.count is None and not any(others)


def in_block(options: argparse.Namespace, table: Any) -> Any:
    """The rows of the block of --block."""
    if options.block is None:
        return table
    column, sign, value = options.block.partition("=")
    if not sign or not column or not value:
        raise InvalidParameter(f"--block needs column=value, such as month=2025-01, got {shown(options.block)}.")
    from hush.tables.expression import must_have

    kind = table[must_have(table.columns, column, "--block")].type()
    return table.in_block(column, typed_value(value, kind, "block"))


# -- aggregates ----------------------------------------------------------------------------------------------


def _measures(options: argparse.Namespace, table: Any) -> dict[str, Any]:
    """The aggregates, by the name of their column in the answer."""
    from hush import tables

    made: dict[str, Any] = {}
    declared = options.policy is not None  # bounds that are left out come from the policy
    if options.count is not None:
        made["count"] = tables.count(rows_per_unit=None if options.count is False else options.count)
    if options.count_units:
        made["units"] = tables.count_units()
    bounded = {"sum": tables.sum, "mean": tables.mean, "variance": tables.variance, "median": tables.median}
    for flag, function in bounded.items():
        for text in getattr(options, flag):
            column, *rest = _split(text, flag, _BOUNDED, 2 - declared, 4)
            _add(made, f"{column}_{flag}", function(column, **_bounds(rest, flag, declared)), f"--{flag} {column}")
    for text in options.histogram:
        column, *rest = _split(text, "histogram", _HISTOGRAM, 2 - declared, 4)
        _add(made, f"{column}_histogram", _histogram(column, rest, table), f"--histogram {column}")
    for text in options.quantile:
        _add(made, *_quantile(text, declared), f"--quantile {text}")
    if not made:
        flags = "--count, --count-units, --sum, --mean, --variance, --median, --histogram or --quantile"
        raise InvalidParameter(f"the query has no aggregate; add {flags}.")
    return made


def _histogram(column: str, rest: list[str], table: Any) -> Any:
    """The histogram of COLUMN:E,E,E or COLUMN:C,C,C and, if given, the rows per person.

    Columns of text have categories, others edges; COLUMN:categories:1,2,3 has categories of numbers.
    """
    from hush import tables
    from hush.tables.expression import must_have

    kind = table[must_have(table.columns, column, "--histogram")].type()
    explicit = rest[:1] == ["categories"]
    values, *rows = rest[explicit:] or [""]
    if len(rows) > 1 or (explicit and not values):
        raise InvalidParameter(f"--histogram needs {_HISTOGRAM}, got {shown(':'.join([column, *rest]))}.")
    given: dict[str, Any] = {"rows_per_unit": _whole(rows[0], "histogram")} if rows else {}
    if not values:
        return tables.histogram(column, **given)
    edges = not explicit and column in untyped(table) and are_edges(values)
    if (explicit or kind.is_string() or kind.is_boolean()) and not edges:
        found = [typed_value(text, kind, "histogram") for text in listed(values, "histogram")]
        return tables.histogram(column, categories=found, **given)
    return tables.histogram(column, edges=[plain_value(edge, "histogram") for edge in values.split(",")], **given)


def _add(made: dict[str, Any], name: str, measure: Any, option: str) -> None:
    """Add an aggregate; a second one of the same name is rejected."""
    if name in made:
        raise InvalidParameter(f"{option} is given twice; give it once, or use Python with two names.")
    made[name] = measure


def _split(text: str, flag: str, form: str, least: int, most: int) -> list[str]:
    parts = text.split(":")
    if not least <= len(parts) <= most:
        raise InvalidParameter(f"--{flag} needs {form}, got {shown(text)}.")
    return parts


def _bounds(parts: list[str], flag: str, declared: bool = False) -> dict[str, Any]:
    """low, high and, if given, rows_per_unit: the parts after the column. With `declared` a policy has the bounds."""
    if declared and not parts:
        return {}
    if parts[:2] == ["private", "private"]:
        parts = parts[1:]
    if parts[:1] == ["private"]:
        given: dict[str, Any] = {"low": "private", "high": "private"}
        return given | ({"rows_per_unit": _whole(parts[1], flag)} if len(parts) > 1 else {})
    if len(parts) < 2:
        raise InvalidParameter(
            f"--{flag} needs column:low:high (or column:private), got no bounds; choose bounds without looking at the "
            "data."
        )
    given = {"low": plain_value(parts[0], flag), "high": plain_value(parts[1], flag)}
    return given | ({"rows_per_unit": _whole(parts[2], flag)} if len(parts) > 2 else {})


def _limit(text: str) -> Any:
    """A contribution limit: a whole number, or "private"."""
    try:
        return text if text == "private" else int(text)
    except ValueError:
        raise argparse.ArgumentTypeError(f"{shown(text)} is not a whole number and not 'private'") from None


def _whole(text: str, flag: str) -> Any:
    if text == "private":
        return text
    if not text.isdecimal():
        raise InvalidParameter(f"--{flag}: {shown(text)} is not a whole number of rows.")
    return int(text)


def _quantile(text: str, declared: bool) -> tuple[str, Any]:
    """The name and the aggregate of COLUMN:Q:LOW:HIGH; the level in the last place is rejected with the right order.

    Several levels are one aggregate with the name of the column: its answers are COLUMN_q25, COLUMN_q50 and so on, as
    the name of a single level is.
    """
    from hush import tables
    from hush.tables.quantiles import level_name

    column, levels, *rest = _split(text, "quantile", _QUANTILE, 3 - declared, 5)
    q = [_level(level) for level in levels.split(",")]
    given = _bounds(rest, "quantile") if len(rest) > 1 or rest == ["private"] else {}
    left_out = declared and not rest
    numbers = all(isinstance(given.get(end), int | float) for end in ("low", "high"))
    if (
        not (given or left_out)
        or not all(0.0 <= level <= 1.0 for level in q)
        or (numbers and given["low"] >= given["high"])
    ):
        raise InvalidParameter(f"--quantile needs {_QUANTILE} got {shown(text)}; Q comes before the bounds.")
    if len(q) > 1:
        return column, tables.quantile(column, q, **given)
    return f"{column}_{level_name(q[0])}", tables.quantile(column, q[0], **given)


def _level(text: str) -> float:
    """A level as a number; a date has none, so it is rejected by its range."""
    value = plain_value(text, "quantile")
    return -1.0 if isinstance(value, date) else float(value)
