"""A policy as TOML: read, with all unknown keys and wrong types at once, and written."""

from __future__ import annotations

import datetime
import json
import re
import tomllib
from collections.abc import Iterator, Mapping
from dataclasses import MISSING, fields
from pathlib import Path
from typing import Any

from hush.errors import InvalidParameter, nearest, shown
from hush.tables.policy.mistakes import Mistake
from hush.tables.policy.rules import ColumnRule, TableRule, Via

__all__ = ["key", "rules_of", "toml_of", "toml_value"]

_LINE = "write one line such as stay_days = { low = 0, high = 30 }"


def rules_of(path: Path) -> tuple[dict[str, TableRule], list[Mistake]]:
    """The rules in a file, and the mistakes of its form."""
    try:
        document = tomllib.loads(path.read_text(encoding="utf-8"))
    except FileNotFoundError:
        raise InvalidParameter(
            f"there is no policy {shown(str(path))}; make one with `hush policy new {path} --source FILE --unit "
            "COLUMN`."
        ) from None
    except (OSError, UnicodeDecodeError) as failure:
        reason = getattr(failure, "strerror", None) or "it is not text in UTF-8"
        raise InvalidParameter(f"the policy {shown(str(path))} cannot be read: {reason}.") from None
    except tomllib.TOMLDecodeError as failure:
        raise InvalidParameter(f"the policy {shown(str(path))} is not TOML: {_mistake(path, str(failure))}.") from None
    mistakes = list(_unknown("", document, ["tables"]))
    tables: dict[str, TableRule] = {}
    found = document.get("tables", {})
    if not isinstance(found, Mapping):
        return {}, [*mistakes, Mistake("tables", "must be tables by name; write [tables.visits].")]
    for name, given in found.items():
        place = f"tables.{name}"
        if isinstance(given, Mapping):
            tables[name] = _table(place, given, mistakes)
        else:
            mistakes.append(Mistake(place, f"must be a table; write [{place}]."))
    return tables, mistakes


def _mistake(path: Path, reason: str) -> str:
    """What is wrong with a line; most often a text without quotes."""
    found = re.search(r"at line (\d+)", reason)
    lines = path.read_text(encoding="utf-8").splitlines()
    line = lines[int(found[1]) - 1].strip() if found and int(found[1]) <= len(lines) else ""
    text = re.fullmatch(r"([\w.-]+)\s*=\s*([^\W\d][\w ./-]*)", line)
    if text is None or found is None:
        return reason
    return f'a text is written in quotes; write {text[1]} = "{text[2]}" in line {found[1]}'


def _table(place: str, given: Mapping[str, Any], mistakes: list[Mistake]) -> TableRule:
    """The rule of one table. What cannot be read is left out, with a mistake."""
    known = [field.name for field in fields(TableRule)]
    mistakes += _unknown(place, given, known)
    values = {name: given[name] for name in known if name in given}
    if isinstance(values.get("unit"), list):
        values["unit"] = tuple(values["unit"])
    if "source" in values and not isinstance(values["source"], str):
        mistakes.append(Mistake(f"{place}.source", f"must be text, got {shown(values['source'])}."))
        values["source"] = "?"
    if isinstance(values.get("via"), Mapping):
        values["via"] = _via(f"{place}.via", values["via"], mistakes)
    columns = values.get("columns")
    if isinstance(columns, Mapping):
        values["columns"] = {name: _column(f"{place}.columns.{name}", line, mistakes) for name, line in columns.items()}
    return TableRule(**{"source": None} | values)


def _via(place: str, given: Mapping[str, Any], mistakes: list[Mistake]) -> Via:
    """The way to the person."""
    known = [field.name for field in fields(Via)]
    mistakes += _unknown(place, given, known)
    parts: dict[str, Any] = {"table": "", "column": ""}
    parts |= {name: tuple(v) if isinstance(v := given[name], list) else v for name in known if name in given}
    return Via(**parts)


def _column(place: str, given: Any, mistakes: list[Mistake]) -> ColumnRule:
    """The rule of one column."""
    if not isinstance(given, Mapping):
        mistakes.append(Mistake(place, f"must be a table, got {shown(given)}; {_LINE}."))
        return ColumnRule()
    known = [field.name for field in fields(ColumnRule)]
    mistakes += _unknown(place, given, known)
    return ColumnRule(**{name: given[name] for name in known if name in given})


def _unknown(place: str, given: Mapping[str, Any], known: list[str]) -> Iterator[Mistake]:
    """Keys that no rule has, with the nearest one that exists."""
    for name in given:
        if name not in known:
            hint = nearest(name, known)
            text = f"is not a key of a policy; {hint}?" if hint else f"is not a key; the keys are {', '.join(known)}."
            yield Mistake(f"{place}.{name}" if place else name, text)


# -- writing -------------------------------------------------------------------------------------------------


def toml_of(tables: Mapping[str, TableRule]) -> str:
    """The rules as TOML, which reads back to the same rules."""
    return "\n".join(text for name, rule in tables.items() for text in _table_lines(name, rule))


def _table_lines(name: str, rule: TableRule) -> Iterator[str]:
    if not isinstance(rule.source, str | Path):
        raise InvalidParameter(
            f"the source of the table {shown(name)} is a {type(rule.source).__name__}, which a file cannot "
            "hold; save it as a Parquet file."
        )
    yield f"[tables.{key(name)}]"
    for field in fields(TableRule):
        value = getattr(rule, field.name)
        if field.name != "columns" and (field.default is MISSING or value != field.default):
            yield f"{field.name} = {toml_value(str(value) if isinstance(value, Path) else value)}"
    if rule.columns is not None:
        yield from ("", f"[tables.{key(name)}.columns]")
        for column, line in rule.columns.items():
            parts = [
                f"{f.name} = {toml_value(v)}" for f in fields(ColumnRule) if (v := getattr(line, f.name)) != f.default
            ]
            yield f"{key(column)} = {{ {', '.join(parts)} }}" if parts else f"{key(column)} = {{}}"
    yield ""


def key(name: str) -> str:
    """A key of TOML, in quotes where it needs them."""
    return name if re.fullmatch(r"[A-Za-z0-9_-]+", name) else toml_value(name)


def toml_value(value: Any) -> str:
    """A value of TOML."""
    if isinstance(value, bool):
        return "true" if value else "false"
    if isinstance(value, Via):
        parts = [(f.name, getattr(value, f.name)) for f in fields(Via)]
        return f"{{ {', '.join(f'{name} = {toml_value(part)}' for name, part in parts if part is not None)} }}"
    if isinstance(value, Mapping):
        return f"{{ {', '.join(f'{key(name)} = {toml_value(part)}' for name, part in value.items())} }}"
    if isinstance(value, tuple | list):
        return f"[{', '.join(map(toml_value, value))}]"
    if isinstance(value, datetime.date):
        return value.isoformat()
    if isinstance(value, str):
        return json.dumps(value, ensure_ascii=False).replace("\x7f", "\\u007f")
    return repr(value)
