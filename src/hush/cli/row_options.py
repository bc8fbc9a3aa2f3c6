"""The options of `hush answer` that choose rows and groups: --let, --where and --keys."""

from __future__ import annotations

import argparse
import re
from collections.abc import Callable
from dataclasses import replace
from datetime import date
from typing import Any

from hush.cli.text import condition, listed, number
from hush.errors import HushError, InvalidParameter, shown

__all__ = ["are_edges", "keys_of", "plain_value", "rows_of", "typed_value", "untyped"]

_TRUTH = {"true": True, "1": True, "yes": True, "false": False, "0": False, "no": False}
_COMPARE = {"==": "__eq__", "=": "__eq__", "!=": "__ne__", "<=": "__le__", ">=": "__ge__", "<": "__lt__", ">": "__gt__"}
_NAMED = re.compile(r"^\s*(\w[\w ]*?)\s*=(?!=)\s*(.*)$", re.DOTALL)


def rows_of(options: argparse.Namespace, table: Any) -> Any:
    """The table with the columns of --let, and only the rows of --where."""
    for text in options.let:
        table = _with_column(table, text)
    for text in options.where:
        table = _kept(table, text)
    return table


def _with_column(table: Any, text: str) -> Any:
    """The table with the column NAME=EXPRESSION."""
    found = _NAMED.match(text)
    if found is None or not found.group(2):
        raise InvalidParameter(
            f"--let needs name=expression, such as month=date_trunc('month', day), got {shown(text)}."
        )
    name, expression = found.groups()
    if name in table.columns:
        raise InvalidParameter(f"--let: the table has a column {shown(name)} already; choose another name.")
    from hush.tables.sql.row_text import row_expression

    column = _named("--let", lambda: row_expression(expression, table))
    if column.type().is_timestamp() or column.type().is_date():
        # groups and bounds are days, not instants; DuckDB truncates a day to an instant
        column = column.cast("timestamp").date()
    return table.mutate(**{name: column})


def _kept(table: Any, text: str) -> Any:
    """The rows of one --where: a comparison such as ward==surgery, whose value needs no quotes, or a SQL condition.

    The receipt records how it was understood.
    """
    try:
        return _compared(table, *condition(text))
    except InvalidParameter as failure:
        first = failure
    from hush.tables.sql.row_text import row_condition

    try:
        column = _named("--where", lambda: row_condition(text, table))
    except HushError as failure:
        simple = re.fullmatch(r"\s*\w[\w .]*?\s*(==|!=|<=|>=|<|>|=)\s*[\w.'\"-]+\s*", text)
        raise (first if simple else failure) from None
    kept = table.filter(column)
    return replace(kept, filters=(*table.filters, " ".join(text.split())))


def _compared(table: Any, name: str, sign: str, value: str) -> Any:
    """The rows for which one comparison of a column with a value holds."""
    from hush.tables.expression import must_have

    if value in table.columns:
        raise InvalidParameter(f"--where: {shown(value)} is a column.")  # two columns are compared by SQL
    if sign not in ("=", "==", "!=") and must_have(table.columns, name, "--where") in untyped(table):
        table = typed_by(table, name, value)
    column = table[must_have(table.columns, name, "--where")]
    typed = typed_value(value, column.type(), "where")
    kept = table.filter(getattr(column, _COMPARE[sign])(typed))
    quoted = isinstance(typed, str | bool)
    words = f"{name} {'==' if sign == '=' else sign} {shown(typed)}" if quoted else f"{name} {sign} {typed}"
    return replace(kept, filters=(*table.filters, words))


def _named(flag: str, made: Callable[[], Any]) -> Any:
    """The result of a translation; its errors name the option."""
    try:
        return made()
    except HushError as failure:
        raise InvalidParameter(f"{flag}: {failure}") from failure


# -- groups --------------------------------------------------------------------------------------------------


def keys_of(options: argparse.Namespace, table: Any, names: list[str], role: str = "--by") -> Any:
    """The keys of --keys: "private", the values of one column, or the values of each column for all combinations.
    `role` is the option that names the columns.
    """
    from hush.tables.expression import must_have

    if not options.keys:
        if options.policy is not None:
            return None
        private = ", or private to find them with a part of delta" if role == "--by" else ", such as ward=a,b"
        raise InvalidParameter(f"{role} needs --keys: a list of the groups to publish{private}.")
    if "private" in options.keys:
        if len(options.keys) > 1:
            raise InvalidParameter("--keys private finds all groups privately; leave the other --keys out.")
        return "private"
    kinds = {name: table[must_have(table.columns, name, role)].type() for name in names}
    given = [_named_keys(text, names) for text in options.keys]
    if len(names) == 1 and len(given) == 1:
        return [typed_value(text, kinds[names[0]], "keys") for text in listed(given[0][1], "keys")]
    found: dict[str, list[Any]] = {}
    for text, (name, values) in zip(options.keys, given, strict=True):
        if name is None:
            raise InvalidParameter(
                f"--keys with several columns names the column of each list, got {shown(text)}; write --keys "
                f"{names[0]}=a,b --keys {names[-1]}=c,d, or --keys private."
            )
        if name in found:
            raise InvalidParameter(f"--keys lists the values of {shown(name)} twice; write them in one list.")
        found[name] = [typed_value(value, kinds[name], "keys") for value in listed(values, "keys")]
    if missing := [name for name in names if name not in found]:
        raise InvalidParameter(f"--keys has no list for {shown(missing[0])}; add --keys {missing[0]}=...")
    return {name: found[name] for name in names}


def _named_keys(text: str, names: list[str]) -> tuple[str | None, str]:
    """The column and the list of name=list; without a name, the list alone."""
    found = _NAMED.match(text)
    return (found.group(1), found.group(2)) if found is not None and found.group(1) in names else (None, text)


# -- files of text -------------------------------------------------------------------------------------------


def untyped(table: Any) -> set[str]:
    """The columns of text files whose type nobody declared."""
    return {name for root in table.roots for name in root.source.untyped}


def are_edges(values: str) -> bool:
    """Are these listed values numbers or dates, so that they are edges of bins?"""
    try:
        return all(plain_value(text, "histogram") is not None for text in values.split(","))
    except InvalidParameter:
        return False


def typed_by(table: Any, name: str, value: str) -> Any:
    """The table whose column is compared with a number or a date, if the value is one."""
    from hush.tables.asked_types import of_ends, with_types

    return with_types(table, {name: of_ends([plain_value(value, "where")]) or "text"}) if are_edges(value) else table


# -- values --------------------------------------------------------------------------------------------------


def typed_value(text: str, kind: Any, flag: str) -> Any:
    """A value of the command line in the type of its column."""
    if kind.is_numeric() or kind.is_date():
        return plain_value(text, flag)
    if not kind.is_boolean():
        return text
    if text.lower() not in _TRUTH:
        raise InvalidParameter(f"--{flag}: {shown(text)} is neither true nor false; write true or false.")
    return _TRUTH[text.lower()]


def plain_value(text: str, flag: str) -> Any:
    """A whole number, a date or a number."""
    for read in (int, date.fromisoformat, number):
        try:
            return read(text)
        except ValueError:
            continue
        except argparse.ArgumentTypeError as failure:
            raise InvalidParameter(f"--{flag}: {failure}, nor a date such as 2025-12-31.") from failure
    raise InvalidParameter(f"--{flag}: {shown(text)} is not a number.")
