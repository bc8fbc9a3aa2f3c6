"""The options that say how a CSV or JSON file is read: --type and --csv, and what the other options say about it."""

from __future__ import annotations

import argparse
import re
from collections.abc import Iterator
from datetime import date
from typing import Any

from hush.errors import InvalidParameter, shown

__all__ = ["add_reading", "reading_of_options"]

_NUMBERS = ("sum", "mean", "variance", "quantile")


def add_reading(table: Any) -> None:
    """Add --type and --csv."""
    text = "of a CSV or JSON file: number, whole, date, time, boolean or text (repeatable); bounds say number or date"
    table.add_argument("--type", action="append", default=[], metavar="COLUMN=TYPE", help=text)
    text = (
        "of a CSV file: delimiter=';', quote, encoding=cp1252, decimal=',', dates=%%d.%%m.%%Y, names=a,b (repeatable)"
    )
    table.add_argument("--csv", action="append", default=[], metavar="OPTION=VALUE", help=text)


def reading_of_options(options: argparse.Namespace, source: str) -> dict[str, Any]:
    """The arguments `types` and `csv` of `tables.table`."""
    from hush.tables.source import JSON, is_text_file

    types: dict[str, Any] = dict(_parted("type", text) for text in getattr(options, "type", []))
    csv: dict[str, Any] = dict(_parted("csv", text) for text in getattr(options, "csv", []))
    if "names" in csv:
        csv["names"] = csv["names"].split(",")
    if "delimiter" in csv:
        csv["delimiter"] = csv["delimiter"].replace("\\t", "\t")
    if is_text_file(source):
        types = _asked(options) | types
        if source.endswith(JSON):
            types = dict.fromkeys(_named(options)) | types
    return {"types": types or None, "csv": csv or None}


def _parted(flag: str, text: str) -> tuple[str, str]:
    """The two sides of NAME=VALUE."""
    name, sign, value = text.partition("=")
    if not sign or not name:
        example = "age=number" if flag == "type" else "delimiter=';'"
        raise InvalidParameter(f"--{flag} needs NAME=VALUE, such as {example}, got {shown(text)}.")
    return name, value


def _asked(options: argparse.Namespace) -> dict[str, str]:
    """The types that the bounds of aggregates say."""
    found = {}
    for flag in _NUMBERS:
        for text in getattr(options, flag, None) or []:
            column, *ends = text.split(":")
            found[column] = "date" if any(map(_is_date, ends)) else "number"
    return found


def _is_date(text: str) -> bool:
    try:
        return bool(date.fromisoformat(text))
    except ValueError:
        return False


def _named(options: argparse.Namespace) -> Iterator[str]:
    """The columns that the options name: a JSON file has no line of names."""
    from hush.tables.sql.parse import parsed

    made = [text.partition("=")[0].strip() for text in getattr(options, "let", [])]
    lists = [getattr(options, flag, None) for flag in ("unit", "by", "columns", "weight")]
    named = [name.strip() for text in lists if isinstance(text, str) for name in text.split(",")]
    named += [text.partition(":")[0] for text in getattr(options, "histogram", None) or []]
    texts = [text.partition("=")[2] for text in getattr(options, "let", [])]
    for text in getattr(options, "where", []):
        plain = re.fullmatch(r"\s*(\w[\w ]*?)\s*(==|!=|<=|>=|<|>|=).*", text)
        named += [plain.group(1)] if plain else []
        texts += [] if plain else [text]
    for text in texts:
        try:
            tree = parsed(f"SELECT {text}\nFROM rows", "duckdb").tree
        except Exception:  # the option itself is refused later, with its own sentence
            continue
        named += [node.name for node in tree.walk() if type(node).__name__ == "Column"]
    yield from (name for name in dict.fromkeys(named) if name and name not in made)
