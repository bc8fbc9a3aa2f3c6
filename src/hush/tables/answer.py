"""The answer to a query: an Arrow table of values with their intervals, and the receipt."""

from __future__ import annotations

import html
import math
from collections.abc import Mapping
from dataclasses import dataclass, field
from pathlib import Path
from typing import Any

import numpy as np
from numpy.typing import NDArray

from hush.errors import InvalidParameter, needs
from hush.ledger.entry import printable
from hush.numerics.rounding import rounded_down, rounded_up
from hush.releasing.receipt import Receipt
from hush.releasing.text import html_table
from hush.tables.arrow import arrow, plain_numbers
from hush.tables.chart import LEGEND, bars, fact_lines, text_table
from hush.tables.left_out import left_out_lines

__all__ = ["Answer", "facts_of", "summary_of"]

Array = NDArray[np.float64]
_SHOWN = 20  # groups that a printed answer shows
#: The characters that start a formula in a spreadsheet, and their full-width forms.
_FORMULA = ("=", "+", "-", "@", "\uff1d", "\uff0b", "\uff0d", "\uff20")


@dataclass(frozen=True, eq=False)
class Answer:
    """Private statistics of groups: an Arrow table of keys, values and ends of noise intervals (`name_low`,
    `name_high`), and a receipt.

    `released` holds the noisy integer columns from which the values are computed. Other functions of them cost no more
    privacy.
    """

    table: Any
    receipt: Receipt
    released: Any = field(repr=False)
    names: tuple[str, ...] = ()

    def __len__(self) -> int:
        return int(self.table.num_rows)

    def __getitem__(self, name: str) -> NDArray[Any]:
        """One column, as a numpy array."""
        if name not in self.table.column_names:
            raise InvalidParameter(f"the answer has no column {name!r}; it has {', '.join(self.table.column_names)}.")
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

        pyarrow.parquet.write_table(self.table.replace_schema_metadata({"hush": self.receipt.to_json()}), str(path))

    def to_csv(self, path: str | Path) -> None:
        """Write the answer as a CSV file.

        Text comes from the data. Control characters in it are escaped, and text that a spreadsheet would read as a
        formula gets a ' before it.
        """
        import pyarrow.csv

        pyarrow.csv.write_csv(_for_spreadsheets(self.table), str(path))

    @property
    def left_out(self) -> Mapping[str, Any] | None:
        """The shares that the limits left out, measured privately, with intervals. None if this was switched off, or
        if no limit can leave anything out.
        """
        found: Mapping[str, Any] | None = self.receipt.get("left_out")
        return found

    # -- on screen -------------------------------------------------------------------------------------------

    def _rows(self, most: int) -> list[list[str]]:
        shown = self.table.slice(0, most)
        columns = []
        for name in self._shown_columns:
            values = shown.column(name).to_pylist()
            if name in self.names:
                low, high = shown.column(f"{name}_low").to_pylist(), shown.column(f"{name}_high").to_pylist()
                cells = zip(values, low, high, strict=True)
                columns.append(
                    ["unknown" if v is None else f"{_plain(v)} [{_below(a)}, {_above(b)}]" for v, a, b in cells]
                )
            else:
                columns.append(["" if v is None else printable(str(v)) for v in values])
        return [list(row) for row in zip(*columns, strict=True)]

    @property
    def _shown_columns(self) -> list[str]:
        ends = {f"{name}_{end}" for name in self.names for end in ("low", "high")}
        return [name for name in self.table.column_names if name not in ends]

    def _heads(self) -> list[str]:
        """The names of the columns. The name of a count states how many rows of a person it counts at most."""
        rows, unit = self.receipt.get("rows_per_unit", {}), self.receipt["guarantee"]["unit"]
        where = " and group" if len(self._shown_columns) > len(self.names) else ""
        counted = {name: f" (at most {most} row{'s' * (most > 1)} per {unit}{where})" for name, most in rows.items()}
        return [printable(name) + counted.get(name, "") for name in self._shown_columns]

    def _chart(self) -> list[str]:
        """Bars of the first column, if there are at least two groups and a positive value."""
        if not self.names or len(self) < 2:
            return []
        first = self.names[0]
        value, low, high = (self[f"{first}{end}"][:_SHOWN].astype(float) for end in ("", "_low", "_high"))
        return bars(value, low, high) if (value > 0.0).any() else []

    def summary(self) -> str:
        """The receipt in a few lines: guarantee, bounds, noise, ledger."""
        return summary_of(self.receipt)

    @property
    def _nothing(self) -> str:
        """Why no group is shown, and what to do about it; empty if one is shown."""
        if len(self) or self.receipt["threshold"] is None:
            return ""
        threshold = f"no group reached the threshold of {self.receipt['threshold']:.6g} people"
        return f"{threshold}; use larger groups, list the keys, or spend more"

    def __repr__(self) -> str:
        chart = self._chart()
        lines = text_table(self._heads(), self._rows(_SHOWN), chart, heading=self.names[0] if chart else "")
        if len(self) > _SHOWN:
            lines.append(f"... and {len(self) - _SHOWN} more group{'s' * (len(self) > _SHOWN + 1)}")
        if self._nothing:
            lines.append(self._nothing)
        if chart:
            lines.append(f"(bars of {self.names[0]}: {LEGEND})")
        return "\n".join([*lines, "", self.summary()])

    def _repr_html_(self) -> str:
        hidden = f"and {len(self) - 50} more groups" if len(self) > 50 else self._nothing
        more = f"<p>{html.escape(hidden)}</p>" if hidden else ""
        return html_table(self._heads(), self._rows(50)) + more + html_table((), (), facts_of(self.receipt))


def summary_of(receipt: Mapping[str, Any]) -> str:
    """A receipt in a few lines, no wider than the terminal."""
    return "\n".join(fact_lines(facts_of(receipt)))


def facts_of(receipt: Mapping[str, Any]) -> list[tuple[str, str]]:
    """The facts of a receipt as pairs of a name and a text."""
    guarantee, entry = receipt["guarantee"], receipt["ledger"]
    pair, unit, groups = (
        f"({guarantee['epsilon']:.6g}, {guarantee['delta']:.6g})",
        guarantee["unit"],
        guarantee["groups_per_unit"],
    )
    facts = [("guarantee", f"(epsilon, delta) = {pair} for each {unit}, added or removed")]
    if receipt.get("filters"):
        facts.append(("rows", "only where " + ", and ".join(printable(text) for text in receipt["filters"])))
    facts.append(
        ("bounds", f"at most {groups} group{'s' * (groups > 1)} for each {unit}; {'; '.join(receipt['bounds'])}")
    )
    if receipt["threshold"] is not None:
        shown = f"shown if the noisy number of people is at least {receipt['threshold']:.6g}"
        facts.append(("keys", f"found privately: {shown}"))
    at_once = ", for all numbers of a row at once" if receipt.get("together") else ""
    facts.append(("intervals", f"{100.0 * receipt['level']:.10g} %{at_once}{_covered(receipt)}"))
    if receipt.get("shared"):
        facts.append(("shared", f"{'; '.join(receipt['shared'])}; their errors are not independent"))
    facts += [("left out", line) for line in left_out_lines(receipt)]
    facts.append(("noise", f"{receipt['why'].rstrip('.')}; {_scaled(receipt)}."))
    facts.append(("ledger", "none was charged" if entry is None else f"entry {entry['number']} of {entry['ledger']}"))
    return facts


def _scaled(receipt: Mapping[str, Any]) -> str:
    """How the noise of the columns follows from the noise that is named."""
    scaled = "the noise of each column is scaled to its bound"
    shared = receipt.get("shares_draw")
    return scaled if not shared else f"{scaled}; {shared} share one draw, so their errors depend on each other"


def _covered(receipt: Mapping[str, Any]) -> str:
    """What intervals include, and what they do not."""
    limits = receipt.get("limits", [])
    return ", noise only" + "".join(f"; {words}" for words in limits)


def _for_spreadsheets(table: Any) -> Any:
    """The table with harmless text in its cells and names: no spreadsheet runs it, and no terminal obeys it."""
    pa = arrow()
    for i, field_ in enumerate(table.schema):
        if pa.types.is_string(field_.type) or pa.types.is_large_string(field_.type):
            cells = [None if text is None else _harmless(text) for text in table.column(i).to_pylist()]
            table = table.set_column(i, field_.name, pa.array(cells, field_.type))
    return table.rename_columns([_harmless(name) for name in table.column_names])


def _harmless(text: str) -> str:
    plain = printable(text)
    return f"'{plain}" if plain.lstrip()[:1] in _FORMULA else plain


def _plain(value: float) -> str:
    """A number to print: whole from 100 to 1e15, else with four digits."""
    return f"{value:,.0f}" if 100.0 <= abs(value) < 1e15 else f"{value:.4g}"


def _below(value: float) -> str:
    """The lower end of an interval in the same form, rounded down."""
    return f"{math.floor(value):,}" if 100.0 <= abs(value) < 1e15 else rounded_down(value, 4)


def _above(value: float) -> str:
    """The upper end of an interval in the same form, rounded up."""
    return f"{math.ceil(value):,}" if 100.0 <= abs(value) < 1e15 else rounded_up(value, 4)
