"""A policy in words."""

from __future__ import annotations

import re
from typing import Any

from hush.tables.policy.rules import ROW, TableRule, is_private

__all__ = ["columns_in_words", "facts_of_table", "table_in_words", "without_password"]


def without_password(source: Any) -> str:
    """A source as text, with the password of a database hidden."""
    text = str(source) if isinstance(source, str) or hasattr(source, "__fspath__") else f"a {type(source).__name__}"
    return re.sub(r"(://[^/@]*?):[^/@]*@", r"\1:***@", re.sub(r"(?i)(password=)[^&\s]*", r"\1***", text))


def facts_of_table(rule: TableRule) -> list[tuple[str, str]]:
    """What is declared about a table, as pairs of a name and a text."""
    place = without_password(rule.source) + (f", table {rule.name}" if rule.name else "")
    facts = [("source", place)]
    if rule.public:
        facts.append(("public", "a public table: its rows are no secret, and it can be joined"))
        return facts
    unit = (
        "each row" if rule.unit == ROW else rule.unit if isinstance(rule.unit, str) else " and ".join(rule.unit or ())
    )
    if rule.via is not None:
        unit = f"person of {rule.via.table} that {' and '.join(rule.via.on)} leads to"
    facts.append(("protects", f"each {unit}" if rule.unit != ROW else unit))
    facts.append(("limits", _limits(rule)))
    facts.append(("ledger", rule.ledger or "none: nothing keeps count of what is spent"))
    most = [
        f"{word} {value:g}"
        for word, value in (("epsilon", rule.max_epsilon), ("delta", rule.max_delta))
        if value is not None
    ]
    facts.append(("one question", f"at most {' and '.join(most)}" if most else "no limit on epsilon and delta"))
    return facts


def columns_in_words(rule: TableRule) -> dict[str, str]:
    """What is declared about each column that may be asked."""
    words = {}
    for name, column in (rule.columns or {}).items():
        parts = []
        if column.has_bounds:
            parts.append("bounds found privately" if column.private_bounds else f"from {column.low} to {column.high}")
        if column.values is not None:
            number = len(column.values)
            parts.append("groups found privately" if is_private(column.values) else _number(number, "listed value"))
        words[name] = "; ".join(parts) or "nothing is declared" if column.ask else "hidden"
    return words


def table_in_words(name: str, rule: TableRule) -> str:
    """One line about a table."""
    facts = dict(facts_of_table(rule))
    if rule.public:
        return f"{name}: a public table"
    asked = [column for column in (rule.columns or {}).values() if column.ask]
    bounds = sum(column.has_bounds for column in asked)
    listed = sum(isinstance(column.values, tuple) for column in asked)
    private = sum(is_private(column.values) for column in asked)
    kinds = f"{bounds} with bounds, {listed} with listed values, {private} with values found privately"
    columns = f"{_number(len(asked), 'column')} may be asked ({kinds})" if asked else "no column may be asked yet"
    columns = "every column may be asked, none has bounds" if rule.columns is None else columns
    parts = [f"protects {facts['protects']}, {facts['limits']}", columns, f"ledger {facts['ledger']}"]
    return f"{name}: {'; '.join([*parts, facts['one question']])}"


def _number(count: int, word: str) -> str:
    """A number with its word: 1 group, 3 groups."""
    return f"{count} {word}{'s' * (count != 1)}"


def _limit(limit: int | str, word: str, after: str = "") -> str:
    """A declared limit in words."""
    return f"{word}s chosen privately" if isinstance(limit, str) else f"at most {_number(limit, word)}{after}"


def _limits(rule: TableRule) -> str:
    if rule.unit == ROW:
        return "each row counts once"
    groups = (
        "any number of groups (stated by each question)"
        if rule.groups_per_unit is None
        else _limit(rule.groups_per_unit, "group")
    )
    rows = (
        "rows stated by each question"
        if rule.rows_per_unit is None
        else _limit(rule.rows_per_unit, "row", " in a group")
    )
    return f"{groups}, {rows}"
