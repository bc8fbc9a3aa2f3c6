"""The answer to a query: an Arrow table of values with their intervals, and the receipt."""

from __future__ import annotations

import html
import json
import os
from collections.abc import Mapping
from dataclasses import dataclass, field
from functools import cached_property
from pathlib import Path
from typing import TYPE_CHECKING, Any

import numpy as np
from numpy.typing import NDArray

from hush.errors import InvalidParameter, needs
from hush.tables.chart import bars, text_table

if TYPE_CHECKING:
    from hush.ledger import Ledger
    from hush.statement import Statement

__all__ = ["Answer"]

Array = NDArray[np.float64]
_SHOWN = 20


@dataclass(frozen=True, eq=False)
class Answer:
    """Private statistics of groups: an Arrow table of keys, values and 95 % bounds (`name_low`, `name_high`), and a receipt.

    `released` holds the noisy integer columns behind the values, in case another function of them is wanted: it costs no more privacy.
    """

    table: Any
    receipt: Mapping[str, Any]
    released: Any = field(repr=False)
    names: tuple[str, ...] = ()

    def __len__(self) -> int:
        return int(self.table.num_rows)

    def __getitem__(self, name: str) -> NDArray[Any]:
        """One column, as a numpy array."""
        if name not in self.table.column_names:
            raise InvalidParameter(f"the answer has no column {name!r}; it has {', '.join(self.table.column_names)}.")
        values: NDArray[Any] = self.table.column(name).to_numpy()
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

        pyarrow.parquet.write_table(self.table.replace_schema_metadata({"hush": json.dumps(dict(self.receipt))}), str(path))

    def to_csv(self, path: str | Path) -> None:
        """Write the answer as a CSV file."""
        import pyarrow.csv

        pyarrow.csv.write_csv(self.table, str(path))

    def report(self, *, ledger: Ledger | str | os.PathLike[str] | None = None) -> Statement:
        """A page for a data protection officer; with the ledger that was charged (or its file) also what remains. See hush.statement."""
        from hush.statement import report

        return report(self, ledger=ledger)

    # -- on screen -----------------------------------------------------------------------------------------------------

    @cached_property
    def _facts(self) -> list[tuple[str, str]]:
        receipt = self.receipt
        guarantee, entry = receipt["guarantee"], receipt["ledger"]
        facts = [
            (
                "guarantee",
                f"(epsilon, delta) = ({guarantee['epsilon']:.6g}, {guarantee['delta']:.6g}) for each {guarantee['unit']}, added or removed",
            ),
            (
                "bounds",
                f"at most {guarantee['groups_per_unit']} group"
                + "s" * (guarantee["groups_per_unit"] > 1)
                + f" of one {guarantee['unit']}; "
                + "; ".join(receipt["bounds"]),
            ),
            ("noise", f"scaled to each column's bound. {receipt['why']}"),
            ("ledger", "none was charged" if entry is None else f"entry {entry['number']} of {entry['ledger']}"),
        ]
        if receipt["threshold"] is not None:
            facts.insert(2, ("keys", f"found privately: shown from {receipt['threshold']:.6g} noisy units on"))
        return facts

    def _rows(self, most: int) -> list[list[str]]:
        shown = self.table.slice(0, most)
        columns = []
        for name in self._shown_columns:
            values = shown.column(name).to_pylist()
            if name in self.names:
                low, high = shown.column(f"{name}_low").to_pylist(), shown.column(f"{name}_high").to_pylist()
                columns.append([f"{_plain(v)} [{_plain(a)}, {_plain(b)}]" for v, a, b in zip(values, low, high, strict=True)])
            else:
                columns.append(["" if v is None else str(v) for v in values])
        return [list(row) for row in zip(*columns, strict=True)]

    @property
    def _shown_columns(self) -> list[str]:
        ends = {f"{name}_{end}" for name in self.names for end in ("low", "high")}
        return [name for name in self.table.column_names if name not in ends]

    def __repr__(self) -> str:
        rows = self._rows(_SHOWN)
        chart = []
        if self.names and rows:
            first = self.names[0]
            low, high = self[f"{first}_low"][:_SHOWN], self[f"{first}_high"][:_SHOWN]
            chart = bars(self[first][:_SHOWN].astype(float), low.astype(float), high.astype(float))
        lines = text_table(self._shown_columns, rows, chart)
        if len(self) > _SHOWN:
            lines.append(f"... and {len(self) - _SHOWN} more groups")
        lines += [""] + [f"{name + ':':11}{text}" for name, text in self._facts]
        return "\n".join(lines)

    def _repr_html_(self) -> str:
        heads = "".join(f"<th>{html.escape(name)}</th>" for name in self._shown_columns)
        body = "".join("<tr>" + "".join(f"<td>{html.escape(cell)}</td>" for cell in row) + "</tr>" for row in self._rows(50))
        more = f"<p>and {len(self) - 50} more groups</p>" if len(self) > 50 else ""
        facts = "".join(f"<tr><th>{html.escape(name)}</th><td>{html.escape(text)}</td></tr>" for name, text in self._facts)
        return f"<table><tr>{heads}</tr>{body}</table>{more}<table>{facts}</table>"


def _plain(value: float) -> str:
    """A number for the eye: whole from a hundred on, four digits below."""
    if value is None:
        return ""
    return f"{value:,.0f}" if abs(value) >= 100 else f"{value:.4g}"
