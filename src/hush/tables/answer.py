"""The answer to a query: an Arrow table of values with their intervals, and the receipt."""

from __future__ import annotations

from dataclasses import dataclass, field
from pathlib import Path
from typing import Any, Self

import numpy as np
from numpy.typing import NDArray

from hush.errors import InvalidParameter, needs, shown
from hush.ledger.entry import printable
from hush.ledger.kept import TABLE, KeptAnswer, arrow_bytes, arrow_table
from hush.ledger.notebook import Bar, card
from hush.releasing.destination import part_file
from hush.releasing.receipt import Receipt
from hush.tables.arrow import arrow, plain_numbers
from hush.tables.chart import LEGEND, bars, text_table, wrapped
from hush.tables.facts import facts_of, summary_of
from hush.tables.publish.basis import Basis
from hush.tables.publish.calls import MadeFromAnswer
from hush.tables.publish.cells import for_spreadsheets, latex, markdown, shown_above, shown_below, shown_number
from hush.tables.publish.workbook import write_workbook

__all__ = ["Answer", "facts_of", "summary_of"]

Array = NDArray[np.float64]
_RELEASED = "released"  # the part of a kept answer with the noisy numbers
_SHOWN = 20  # groups that a printed answer shows
_SHOWN_IN_NOTEBOOKS = 50

#: How the groups that a table on the screen leaves out are shown.
ALL_GROUPS = "described() shows all"


@dataclass(frozen=True, eq=False)
class Answer(MadeFromAnswer):
    """Private statistics of groups: an Arrow table of keys, values and ends of noise intervals (`name_low`,
    `name_high`), and a receipt.

    `released` holds the noisy integer columns from which the values are computed. Other functions of them cost no more
    privacy.
    """

    table: Any
    receipt: Receipt
    released: Any = field(repr=False)
    names: tuple[str, ...] = ()
    #: public facts from which totals, shares, ratios and differences are made; None for numbers that were made so
    basis: Basis | None = field(default=None, repr=False)
    #: True: one row for each group and number, with the ends in the columns `low` and `high`
    long_form: bool = False

    def __len__(self) -> int:
        return int(self.table.num_rows)

    def __getitem__(self, name: str) -> NDArray[Any]:
        """One column, as a numpy array."""
        if name not in self.table.column_names:
            raise InvalidParameter(
                f"the answer has no column {shown(name)}; it has {', '.join(self.table.column_names)}."
            )
        values: NDArray[Any] = plain_numbers(self.table.column(name))
        return values

    def to_arrow(self) -> Any:
        """The answer as a pyarrow table."""
        return self.table

    def to_pandas(self) -> Any:
        """A pandas frame (pandas must be installed)."""
        with needs("pandas", "to_pandas()"):
            return self.table.to_pandas()

    def to_polars(self) -> Any:
        """A polars frame (polars must be installed)."""
        with needs("polars", "to_polars()"):
            import polars

        return polars.from_arrow(self.table)

    def to_parquet(self, path: str | Path) -> None:
        """A Parquet file, with the receipt in its metadata under "hush"."""
        import pyarrow.parquet

        with part_file(path) as part:
            pyarrow.parquet.write_table(self.table.replace_schema_metadata({"hush": self.receipt.to_json()}), part)

    def to_csv(self, path: str | Path) -> None:
        """Write the answer as a CSV file.

        Text comes from the data. Control characters in it are escaped, and text that a spreadsheet would read as a
        formula gets a ' before it.
        """
        import pyarrow.csv

        with part_file(path) as part:
            pyarrow.csv.write_csv(for_spreadsheets(self.table), str(part))

    def to_excel(self, path: str | Path) -> None:
        """Write an Excel workbook: a sheet with the answer and a sheet with the facts of its receipt. It needs
        XlsxWriter: pip install 'hush[excel]'.
        """
        write_workbook(path, self.table, facts_of(self.receipt))

    def to_markdown(self) -> str:
        """The answer as a table in Markdown, each number with its interval."""
        return markdown(self._heads(), self._rows(len(self)))

    def to_latex(self) -> str:
        """The answer as a LaTeX `tabular`, each number with its interval."""
        return latex(self._heads(), self._rows(len(self)), len(self._shown_columns) - len(self.names))

    def to_html(self) -> str:
        """The answer and its receipt as a piece of HTML, with bars; all groups are in it."""
        return self._card(len(self))

    # -- in a ledger -----------------------------------------------------------------------------------------

    def to_kept(self) -> KeptAnswer:
        """The answer as a ledger keeps it."""
        numbers = {"names": list(self.names), "long_form": self.long_form}
        parts = {TABLE: arrow_bytes(self.table), _RELEASED: arrow_bytes(self.released)}
        return KeptAnswer("answer", repr(self), self.receipt, numbers, parts)

    @classmethod
    def from_kept(cls, kept: KeptAnswer) -> Self:
        """The answer that a ledger keeps. Totals, shares and ratios need the query, so it has none."""
        if not kept.holds("answer"):
            raise InvalidParameter(f"the ledger keeps a {kept.kind} here, which is no table; print it.")
        numbers = arrow_table(kept.parts[_RELEASED])
        names, long_form = tuple(kept.numbers["names"]), bool(kept.numbers["long_form"])
        return cls(kept.table, Receipt(kept.receipt), numbers, names, long_form=long_form)

    # -- on screen -------------------------------------------------------------------------------------------

    def _rows(self, most: int) -> list[list[str]]:
        first = self.table.slice(0, most)
        columns = []
        for name in self._shown_columns:
            values = first.column(name).to_pylist()
            if name in self.names:
                low, high = (first.column(end).to_pylist() for end in self._ends(name))
                columns.append([_cell(*numbers) for numbers in zip(values, low, high, strict=True)])
            else:
                columns.append(["" if v is None else printable(str(v)) for v in values])
        return [list(row) for row in zip(*columns, strict=True)]

    def _marked_rows(self, most: int) -> tuple[list[list[str]], str]:
        """The same with a mark at the numbers of groups near the threshold, and what the mark means; empty if there is
        none.
        """
        rows, near = self._rows(most), self.near_threshold
        if near is None or self.long_form or not near[:most].any():
            return rows, ""
        assert self.basis is not None and self.basis.gate is not None
        place = self._shown_columns.index(self.basis.gate.marked)
        for row, mark in zip(rows, near[:most], strict=True):
            row[place] += " *" if mark else ""
        return rows, self.basis.gate.words

    def _ends(self, name: str) -> tuple[str, str]:
        """The columns with the ends of a number's interval."""
        return ("low", "high") if self.long_form else (f"{name}_low", f"{name}_high")

    @property
    def _shown_columns(self) -> list[str]:
        ends = {end for name in self.names for end in self._ends(name)}
        return [name for name in self.table.column_names if name not in ends]

    def _heads(self) -> list[str]:
        """The names of the columns. The name of a count states how many rows of a person it counts at most."""
        rows, unit = self.receipt.get("rows_per_unit", {}), self.receipt["guarantee"]["unit"]
        where = " and group" if len(self._shown_columns) > len(self.names) else ""
        counted = {name: f" (at most {most} row{'s' * (most > 1)} per {unit}{where})" for name, most in rows.items()}
        return [printable(name) + counted.get(name, "") for name in self._shown_columns]

    def _chart(self) -> list[str]:
        """Bars of the first column, if there are at least two groups and a positive value."""
        if not self._has_bars:
            return []
        value, low, high = self._first(_SHOWN)
        known = not np.isnan(low).any() and not np.isnan(high).any()
        return bars(value, low, high) if known and (value > 0.0).any() else []

    @property
    def _has_bars(self) -> bool:
        """Bars compare the numbers of one column; dates and long tables with several aggregates have none."""
        if not self.names or len(self) < 2 or (self.long_form and "aggregate" in self.table.column_names):
            return False
        kind = self.table.column(self.names[0]).type
        return bool(arrow().types.is_floating(kind) or arrow().types.is_integer(kind))

    def _first(self, most: int) -> tuple[Array, Array, Array]:
        """The first column of numbers, and the ends of its intervals."""
        first = self.names[0]
        value, low, high = (self[name][:most].astype(float) for name in (first, *self._ends(first)))
        return value, low, high

    def summary(self) -> str:
        """The receipt in a few lines: guarantee, bounds, noise, ledger."""
        return summary_of(self.receipt)

    @property
    def _nothing(self) -> str:
        """Why no group is shown, and what to do about it; empty if one is shown."""
        if len(self) or self.receipt["threshold"] is None:
            return ""
        reached = f"{self.receipt['threshold']:.6g}{'' if 'weights' in self.receipt else ' people'}"
        return f"no group reached the threshold of {reached}; use larger groups, list the keys, or spend more"

    def __repr__(self) -> str:
        return self.described(groups=_SHOWN)

    def described(self, *, groups: int | None = None) -> str:
        """The answer in words and tables: the first groups, or all of them, and the receipt."""
        return "\n".join([self.text(groups=groups), "", self.summary()])

    def text(self, *, groups: int | None = None) -> str:
        """The table alone: the first groups, or all of them."""
        most = len(self) if groups is None else groups
        chart = self._chart()[:most] if most <= _SHOWN else []
        rows, mark = self._marked_rows(most)
        lines = text_table(self._heads(), rows, chart, heading=self.names[0] if chart else "")
        if len(self) > most:
            lines.append(f"... and {len(self) - most} more {self._row_word(len(self) - most)}; {ALL_GROUPS}")
        if self._nothing:
            lines.append(self._nothing)
        if mark:
            lines += wrapped(mark, hang=2)
        if self._other_line:
            lines.append(self._other_line)
        if chart:
            lines.append(f"(bars of {self.names[0]}: {LEGEND})")
        return "\n".join(lines)

    @property
    def _other_line(self) -> str:
        """The row "other"; empty if it was not asked for."""
        if self.other is None or self.basis is None:
            return ""
        return f"other: {_cell(*self.other)} people are in at least one group that is not shown"

    def _row_word(self, count: int) -> str:
        return ("row" if self.long_form else "group") + "s" * (count != 1)

    def _repr_html_(self) -> str:
        return self._card(_SHOWN_IN_NOTEBOOKS)

    def _card(self, most: int) -> str:
        """A table for a page, with bars of the first column if it has a positive value."""
        hidden = len(self) - most
        more = f"and {hidden} more {self._row_word(hidden)}" if hidden > 0 else self._nothing
        (rows, mark), drawn = self._marked_rows(most), []
        if self._has_bars:
            value, low, high = self._first(most)
            finite = high[np.isfinite(high)]
            longest, place = float(finite.max(initial=0.0)), self._shown_columns.index(self.names[0])
            if (value > 0.0).any():
                cells = zip(value, low, high, rows, strict=True)
                drawn = [Bar.of(v, a, b, longest, row[place]) for v, a, b, row in cells]
        left = len(self._shown_columns) - len(self.names)
        return card(
            heads=self._heads(),
            rows=rows,
            left=left,
            bars=drawn,
            heading=self.names[0] if drawn else "",
            lines=[line for line in (mark, more, self._other_line) if line],
            facts=facts_of(self.receipt),
        )


def _cell(value: Any, low: Any, high: Any) -> str:
    """A number with its interval; one or both may be unknown."""
    if low is None or high is None:
        return "unknown" if value is None else shown_number(value)
    text = "unknown" if value is None else shown_number(value)
    return f"{text} [{shown_below(low)}, {shown_above(high)}]"
