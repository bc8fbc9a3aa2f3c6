"""Numbers and text of an answer as cells: for a terminal, Markdown, LaTeX and spreadsheets."""

from __future__ import annotations

import math
import re
from collections.abc import Callable
from datetime import date
from typing import Any

from hush.ledger.entry import printable
from hush.numerics.rounding import rounded_down, rounded_up
from hush.tables.arrow import arrow

__all__ = ["for_spreadsheets", "harmless", "latex", "markdown", "shown_above", "shown_below", "shown_number"]

#: The characters that start a formula in a spreadsheet, and their full-width forms.
_FORMULA = ("=", "+", "-", "@", "\uff1d", "\uff0b", "\uff0d", "\uff20")
#: Characters that have a meaning in Markdown, or in HTML inside it.
_MARKDOWN = re.compile(r"([\\`*_{}\[\]<>#|~$&!])")
_LATEX = {
    "\\": r"\textbackslash{}",
    "~": r"\textasciitilde{}",
    "^": r"\textasciicircum{}",
    "<": r"\textless{}",
    ">": r"\textgreater{}",
} | {sign: f"\\{sign}" for sign in "&%$#_{}"}


def shown_number(value: Any) -> str:
    """A number to print: whole from 100 to 1e15 and for counts, else with four digits. A date or a time as it is."""
    if isinstance(value, date):
        return str(value)
    return f"{value:,.0f}" if isinstance(value, int) or 100.0 <= abs(value) < 1e15 else f"{value:.4g}"


def shown_below(value: Any) -> str:
    """The lower end of an interval in the same form, rounded down."""
    return _end(value, math.floor, rounded_down)


def shown_above(value: Any) -> str:
    """The upper end of an interval in the same form, rounded up."""
    return _end(value, math.ceil, rounded_up)


def _end(value: Any, whole: Callable[[float], int], short: Callable[[float, int], str]) -> str:
    """One end of an interval. An infinite end is no bound."""
    if isinstance(value, date):
        return str(value)
    if math.isinf(value):
        return "unbounded"
    if isinstance(value, int):
        return f"{value:,}"
    return f"{whole(value):,}" if 100.0 <= abs(value) < 1e15 else short(value, 4)


def for_spreadsheets(table: Any) -> Any:
    """The table with harmless text in its cells and names: no spreadsheet and no terminal treats it as a command."""
    pa = arrow()
    for i, field_ in enumerate(table.schema):
        if pa.types.is_string(field_.type) or pa.types.is_large_string(field_.type):
            cells = [None if text is None else harmless(text) for text in table.column(i).to_pylist()]
            table = table.set_column(i, field_.name, pa.array(cells, field_.type))
    return table.rename_columns([harmless(name) for name in table.column_names])


def harmless(text: str) -> str:
    """Text that a spreadsheet does not read as a formula."""
    plain = printable(text)
    return f"'{plain}" if plain.lstrip()[:1] in _FORMULA else plain


def markdown(heads: list[str], rows: list[list[str]]) -> str:
    """A table in Markdown; special characters are escaped."""
    cells = [[_MARKDOWN.sub(r"\\\1", cell) for cell in row] for row in (heads, *rows)]
    lines = [cells[0], ["---"] * len(heads), *cells[1:]]
    return "\n".join(f"| {' | '.join(row)} |" for row in lines) + "\n"


def latex(heads: list[str], rows: list[list[str]], left: int) -> str:
    """A tabular environment; the first `left` columns are left-aligned. Special characters are escaped."""
    body = [" & ".join("".join(_LATEX.get(sign, sign) for sign in cell) for cell in row) for row in (heads, *rows)]
    aligned = "l" * left + "r" * (len(heads) - left)
    lines = [f"\\begin{{tabular}}{{{aligned}}}", "\\hline", f"{body[0]} \\\\", "\\hline"]
    return "\n".join([*lines, *(f"{line} \\\\" for line in body[1:]), "\\hline", "\\end{tabular}"]) + "\n"
