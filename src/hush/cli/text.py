"""Parse numbers, lists and comparisons from the command line; print tables and JSON."""

from __future__ import annotations

import argparse
import csv
import json
import math
import re
from collections.abc import Callable, Mapping
from typing import Any

import numpy as np

from hush.errors import InvalidParameter, shown
from hush.releasing.text import text_table

__all__ = ["Command", "add_budget", "cell", "condition", "delta_of", "emit", "finite", "listed", "number", "numbers"]
__all__ += ["subcommands", "table"]

#: (name, action, one line of help, examples) -> the parser of the new command.
Command = Callable[[str, Any, str, str], argparse.ArgumentParser]

_CONDITION = re.compile(r"^\s*(\w[\w .]*?)\s*(==|!=|<=|>=|<|>|=)\s*(.+?)\s*$")
_QUOTED = re.compile(r"""^(?:'[^']*'|"[^"]*")$""")
#: Signs of a second comparison inside a value that is not in quotes.
_SEVERAL = re.compile(r"\b(and|or)\b(?=\s)|[&|<>=]", re.IGNORECASE)


def number(text: str) -> float:
    """A finite float; a positive decimal that would be rounded to 0 is rejected."""
    try:
        value = float(text)
    except ValueError as failure:
        hint = f"; write {text.replace(',', '.')}" if text.replace(",", "", 1).isdigit() and "," in text else ""
        raise argparse.ArgumentTypeError(f"{shown(text)} is not a number{hint}") from failure
    if not math.isfinite(value):
        raise argparse.ArgumentTypeError(f"{shown(text)} is not a finite number")
    if value == 0.0 and any(digit in "123456789" for digit in text.lower().split("e")[0]):
        raise argparse.ArgumentTypeError(
            f"{shown(text)} is too small for floating point; the least positive number is 5e-324"
        )
    return value


def numbers(text: str) -> list[float]:
    """One number, a comma list, or start:stop:count (logarithmic spacing where both ends are positive)."""
    if ":" not in text:
        return [number(part) for part in text.split(",")]
    parts = text.split(":")
    if len(parts) != 3 or not parts[2].isdigit() or int(parts[2]) < 2:
        raise argparse.ArgumentTypeError(f"{shown(text)} is not start:stop:count, for example 0.1:10:20")
    low, high, count = number(parts[0]), number(parts[1]), int(parts[2])
    spaced = np.geomspace(low, high, count) if low > 0.0 and high > 0.0 else np.linspace(low, high, count)
    return [float(v) for v in spaced]


def condition(text: str) -> tuple[str, str, str]:
    """Column, sign and value of one comparison. Two comparisons in one text are rejected: the second would be read as
    a part of the value.
    """
    found = _CONDITION.match(text)
    if not found:
        raise InvalidParameter(f"--where needs a comparison such as age>=18 or ward==surgery, got {shown(text)}.")
    name, sign, value = found.groups()
    if _QUOTED.match(value):
        return name, sign, value[1:-1]
    if _SEVERAL.search(value) or value[0] in "'\"":
        raise InvalidParameter(
            f"--where takes one comparison, got {shown(text)}; repeat --where for conditions that must all "
            "hold, use Python for `or`, and put quotes around a value that contains such words or signs."
        )
    return name, sign, value


def listed(text: str, flag: str) -> list[str]:
    """The values of a comma list; a value that contains a comma is written in double quotes."""
    try:
        return [value.strip() for value in next(csv.reader([text], skipinitialspace=True, strict=True))]
    except (csv.Error, StopIteration) as failure:
        raise InvalidParameter(
            f"--{flag} needs a comma list such as a,b or 'a,\"b, c\"', got {shown(text)}."
        ) from failure


def add_budget(parser: Any, *, other: bool = False) -> None:
    """Add --epsilon, --delta and --pure to a parser or a group of options; read them with `delta_of`. With `other` also
    --rho and --mu, which stand in the place of --epsilon.
    """
    needed = {"type": number, "required": not other, "metavar": "E"}
    parser.add_argument("--epsilon", **needed, help="the privacy loss that is allowed")
    if other:
        parser.add_argument("--rho", type=number, metavar="R", help="a budget of zCDP, in place of --epsilon")
        parser.add_argument("--mu", type=number, metavar="M", help="a budget of GDP, in place of --epsilon")
    parser.add_argument("--delta", type=number, metavar="D", help="the extra probability, for example 1e-6")
    parser.add_argument("--pure", action="store_true", help="delta = 0")


def delta_of(options: argparse.Namespace) -> float:
    """The delta of --delta or --pure; exactly one of the two must be given."""
    if options.pure and options.delta:
        raise InvalidParameter("--pure means delta = 0; leave --delta out.")
    if not options.pure and options.delta is None:
        raise InvalidParameter("--delta is needed (for example --delta 1e-6), or --pure for delta = 0.")
    return 0.0 if options.pure else float(options.delta)


def table(rows: list[dict[str, Any]], columns: dict[str, str], *, left: int = 0) -> str:
    """A text table, numbers to six digits; the first `left` columns are left-aligned, the others right-aligned."""
    cells = [[cell(row.get(key)) for key in columns] for row in rows]
    return "\n".join(text_table(list(columns.values()), cells, right=range(left, len(columns))))


def cell(value: Any) -> str:
    """The text of one table cell."""
    if isinstance(value, float):
        return f"{value:.6g}"
    return "" if value is None else str(value)


def finite(value: Any) -> Any:
    """The value, or None for an infinite number, which JSON does not have."""
    if isinstance(value, float) and not math.isfinite(value):
        return None
    return value


def emit(options: argparse.Namespace, document: dict[str, Any], text: str) -> None:
    """Print the document as JSON under --json, else the text."""
    print(json.dumps(document, default=float, indent=2) if options.json else text)


def subcommands(
    parser: argparse.ArgumentParser, where: str, names: str, examples: Mapping[str, str]
) -> Callable[[str, Any, str], argparse.ArgumentParser]:
    """A function that adds a command about a FILE below another one, such as `hush ledger new FILE`. `where` is the
    option that keeps its name, `names` lists all of them for the help, and `examples` end the help of each.
    """
    commands = parser.add_subparsers(dest=where, metavar=names, required=True)

    def sub(name: str, action: Any, text: str) -> argparse.ArgumentParser:
        formatter = argparse.RawDescriptionHelpFormatter
        made: argparse.ArgumentParser = commands.add_parser(
            name, help=text, description=text, epilog=examples[name], formatter_class=formatter
        )
        made.set_defaults(action=action)
        made.add_argument("file", metavar="FILE")
        made.add_argument("--json", action="store_true", default=argparse.SUPPRESS, help="print JSON")
        return made

    return sub
