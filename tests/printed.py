"""Numbers as the pages print them: the cells of a table, and whether a value is the printed one."""

from __future__ import annotations

import itertools
from pathlib import Path

ROOT = Path(__file__).resolve().parents[1]


def agrees(value: float, printed: str) -> bool:
    """Is the value the printed number, to the digits printed?"""
    mantissa, _, power = printed.partition("e")
    half = 0.5 * 10.0 ** (int(power or 0) - len(mantissa.partition(".")[2]))
    return abs(value - float(printed)) <= half * (1.0 + 1e-9)


def rows(page: str, header: str) -> list[list[str]]:
    """The cells of the table whose header line starts so."""
    lines = (ROOT / "docs" / page).read_text().splitlines()
    at = next(i for i, line in enumerate(lines) if line.startswith(header))
    body = itertools.takewhile(lambda line: line.startswith("|"), lines[at + 2 :])
    return [[cell.strip() for cell in line.strip("|").split("|")] for line in body]


def assert_shown(value: float, printed: str) -> None:
    assert agrees(value, printed), f"the page prints {printed}, hush gives {value}"
