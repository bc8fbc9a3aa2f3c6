"""An answer as an Excel workbook: one sheet of numbers and one with the facts of the receipt."""

from __future__ import annotations

import io
import math
from collections.abc import Iterable
from datetime import date
from pathlib import Path
from typing import Any

from hush.errors import InvalidParameter, needs, shown
from hush.ledger.entry import printable
from hush.releasing.destination import part_file

__all__ = ["must_have_excel", "write_workbook"]

_FIRST_YEAR = 1901  # of dates in Excel; earlier ones, and times with a zone, are written as text
_MOST_ROWS = 1_048_575  # rows of a sheet below its heading


def must_have_excel() -> None:
    """Raise if the library that writes workbooks is missing."""
    with needs("xlsxwriter", "an Excel file", extra="excel"):
        import xlsxwriter  # noqa: F401


def write_workbook(path: str | Path, table: Any, facts: Iterable[tuple[str, str]]) -> None:
    """Write the workbook. Text is written as text: no cell is read as a formula or as a link."""
    must_have_excel()
    place = Path(path)
    if place.suffix != ".xlsx" or not place.absolute().parent.is_dir():
        raise InvalidParameter(
            f"path must be a file that ends in .xlsx, in a folder that exists, got {shown(str(path))}."
        )
    if table.num_rows > _MOST_ROWS:
        raise InvalidParameter(
            f"an Excel sheet holds {_MOST_ROWS} rows, and the answer has {table.num_rows}; write a .parquet file."
        )
    held = _workbook(table, facts)
    with part_file(place) as part:
        part.write_bytes(held)


def _workbook(table: Any, facts: Iterable[tuple[str, str]]) -> bytes:
    """Both sheets, made in memory: temporary files would hold the answer too, and could fill another disk."""
    import xlsxwriter

    held = io.BytesIO()
    plain = {"strings_to_formulas": False, "strings_to_urls": False, "strings_to_numbers": False, "in_memory": True}
    with xlsxwriter.Workbook(held, plain) as book:
        bold, day = book.add_format({"bold": True}), book.add_format({"num_format": "yyyy-mm-dd"})
        sheet = book.add_worksheet("answer")
        for i, name in enumerate(table.column_names):
            sheet.write_string(0, i, printable(name), bold)
            for row, cell in enumerate(table.column(name).to_pylist(), 1):
                _write(sheet, row, i, cell, day)
        sheet.freeze_panes(1, 0)
        sheet.autofit()
        beside = book.add_worksheet("receipt")
        for row, (name, text) in enumerate(facts):
            beside.write_string(row, 0, printable(name), bold)
            beside.write_string(row, 1, printable(text))
    return held.getvalue()


def _write(sheet: Any, row: int, place: int, cell: Any, day: Any) -> None:
    """One cell in its own type. Excel has no infinite numbers, and rounds whole numbers beyond 2^53: both are text."""
    if isinstance(cell, bool):
        sheet.write_boolean(row, place, cell)
    elif isinstance(cell, int | float) and math.isfinite(cell) and abs(cell) <= 2**53:
        sheet.write_number(row, place, cell)
    elif isinstance(cell, date) and cell.year >= _FIRST_YEAR and getattr(cell, "tzinfo", None) is None:
        sheet.write_datetime(row, place, cell, day)
    elif cell is not None:
        sheet.write_string(row, place, printable(str(cell)))
