"""How the command line reads numbers, lists and comparisons, and prints tables."""

from __future__ import annotations

import argparse
import csv
import json
import math
import re
from collections.abc import Callable
from typing import Any

import numpy as np

from hush.errors import InvalidParameter

__all__ = ["Command", "cell", "condition", "emit", "finite", "listed", "number", "numbers", "table"]

#: (name, action, one line of help, examples) -> the new command's parser.
Command = Callable[[str, Any, str, str], argparse.ArgumentParser]

_CONDITION = re.compile(r"^\s*(\w[\w .]*?)\s*(==|!=|<=|>=|<|>|=)\s*(.+?)\s*$")
_QUOTED = re.compile(r"""^(?:'[^']*'|"[^"]*")$""")
_SEVERAL = re.compile(
    r"\b(and|or)\b(?=\s)|[&|<>=]", re.IGNORECASE
)  # words of a second condition, in a value that is not in quotes


def number(text: str) -> float:
    """A float that did not fall to 0 or to infinity on the way from its decimal form."""
    try:
        value = float(text)
    except ValueError as failure:
        hint = f"; write {text.replace(',', '.')}" if text.replace(",", "", 1).isdigit() and "," in text else ""
        raise argparse.ArgumentTypeError(f"{text!r} is not a number{hint}") from failure
    if not math.isfinite(value):
        raise argparse.ArgumentTypeError(f"{text!r} is not a finite number")
    if value == 0.0 and any(digit in "123456789" for digit in text.lower().split("e")[0]):
        raise argparse.ArgumentTypeError(
            f"{text!r} is too small for floating point; the least positive number is 5e-324"
        )
    return value


def numbers(text: str) -> list[float]:
    """One number, a comma list, or start:stop:count (logarithmic where both ends are positive)."""
    if ":" not in text:
        return [number(part) for part in text.split(",")]
    parts = text.split(":")
    if len(parts) != 3 or not parts[2].isdigit() or int(parts[2]) < 2:
        raise argparse.ArgumentTypeError(f"{text!r} is not start:stop:count, for example 0.1:10:20")
    low, high, count = number(parts[0]), number(parts[1]), int(parts[2])
    spaced = np.geomspace(low, high, count) if low > 0.0 and high > 0.0 else np.linspace(low, high, count)
    return [float(v) for v in spaced]


def condition(text: str) -> tuple[str, str, str]:
    """Column, sign and value of one comparison; several in one text are refused, because they would be read as one
    long value.
    """
    found = _CONDITION.match(text)
    if not found:
        raise InvalidParameter(f"--where needs a comparison such as age>=18 or ward==surgery, got {text!r}.")
    name, sign, value = found.groups()
    if _QUOTED.match(value):
        return name, sign, value[1:-1]
    if _SEVERAL.search(value) or value[0] in "'\"":
        raise InvalidParameter(
            f"--where takes one comparison, got {text!r}; repeat --where for conditions that must all hold (for `or` ask from Python), "
            "and put a value that holds such words or signs in quotes."
        )
    return name, sign, value


def listed(text: str, flag: str) -> list[str]:
    """A comma list; a value with a comma in it stands in double quotes."""
    try:
        return [value.strip() for value in next(csv.reader([text], skipinitialspace=True, strict=True))]
    except (csv.Error, StopIteration) as failure:
        raise InvalidParameter(f"--{flag} needs a comma list such as a,b or 'a,\"b, c\"', got {text!r}.") from failure


def table(rows: list[dict[str, Any]], columns: dict[str, str], *, left: int = 0) -> str:
    """Rows under headings, numbers to six digits; the first `left` columns left-aligned, the others right."""
    cells = [list(columns.values())]
    cells += [[cell(row.get(key)) for key in columns] for row in rows]
    widths = [max(len(line[i]) for line in cells) for i in range(len(columns))]
    lines = [
        [t.ljust(w) if i < left else t.rjust(w) for i, (t, w) in enumerate(zip(line, widths, strict=True))]
        for line in cells
    ]
    return "\n".join("  ".join(line).rstrip() for line in lines)


def cell(value: Any) -> str:
    if isinstance(value, float):
        return f"{value:.6g}"
    return "" if value is None else str(value)


def finite(value: Any) -> Any:
    """JSON has no infinity: it becomes null."""
    if isinstance(value, float) and not math.isfinite(value):
        return None
    return value


def emit(options: argparse.Namespace, document: dict[str, Any], text: str) -> None:
    print(json.dumps(document, default=float, indent=2) if options.json else text)
