"""Private answers over a table: spend, add exact noise to the integer aggregates, turn them into numbers with intervals."""

from __future__ import annotations

import html
import json
from collections.abc import Callable, Mapping
from dataclasses import dataclass, field, replace
from datetime import UTC, datetime
from functools import cached_property
from pathlib import Path
from typing import TYPE_CHECKING, Any

import numpy as np
from numpy.typing import NDArray

from hush.errors import InvalidParameter
from hush.noise.catalogue import plain_values
from hush.tables.arrow import arrow
from hush.tables.chart import bars, text_table
from hush.tables.magnitude import bounds_from
from hush.tables.measure import Prepared
from hush.tables.spending import Spending
from hush.tables.uncertainty import interval
from hush.version import __version__

if TYPE_CHECKING:
    from hush.ledger import Ledger
    from hush.tables.query import Query

__all__ = ["Answer", "answer", "noisy_columns"]

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
        return self.table

    def to_pandas(self) -> Any:
        return self.table.to_pandas()

    def to_polars(self) -> Any:
        """A polars frame (polars must be installed)."""
        import polars

        return polars.from_arrow(self.table)

    def to_parquet(self, path: str | Path) -> None:
        """A Parquet file, with the receipt in its metadata under "hush"."""
        import pyarrow.parquet

        pyarrow.parquet.write_table(self.table.replace_schema_metadata({"hush": json.dumps(dict(self.receipt))}), str(path))

    def to_csv(self, path: str | Path) -> None:
        import pyarrow.csv

        pyarrow.csv.write_csv(self.table, str(path))

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
                + f" of a {guarantee['unit']}; "
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


def noisy_columns(columns: Mapping[str, Any], spent: Spending) -> dict[str, NDArray[Any]]:
    """Integer columns with their noise, in grid steps."""
    out = {}
    for name, made in spent.mechanisms.items():
        out[name] = made.value_of(made.noisy(made.on_lattice(np.asarray(columns[name], dtype=np.int64))))
    return out


def answer(
    query: Query,
    spent: Spending,
    *,
    ledger: Ledger | None,
    label: str = "",
    level: float = 0.95,
    options: Mapping[str, Any] | None = None,
    for_bounds: Spending | None = None,
    progress: Callable[[str], None] = lambda text: None,
) -> Answer:
    """Run the query in its engine, charge the ledger, add noise. Nothing is spent unless the engine has done its work.

    Where bounds are to be found, the magnitudes are aggregated first, everything is charged at once, and the query with the bounds
    that came out follows; its noise, measured in those bounds, was fixed before.
    """
    if ledger is not None:
        ledger.bind(query.table.fingerprint)
    for made in spent.mechanisms.values():
        made.prepare()  # tables for the draws are built and validated before anything is spent
    progress("aggregating in the engine")
    search = query.search
    exact = (query if search is None else search).aggregates(**(options or {})).to_arrow()
    entry = None
    if ledger is not None:
        entry = ledger.spend([*spent.parts, *(for_bounds.parts if for_bounds else [])], label=label, extra_delta=spent.key_delta)
    found: dict[str, tuple[float, float]] = {}
    if search is not None and for_bounds is not None:
        magnitudes = noisy_columns({name: exact.column(name).to_numpy() for name in for_bounds.mechanisms}, for_bounds)
        found = bounds_from(search, for_bounds, magnitudes)
        query = query.with_bounds(found)
        spent = replace(spent, reach=query.sensitivity)
        exact = query.aggregates(**(options or {})).to_arrow()
    progress("drawing noise")
    keys = exact.select(list(query.grouping.names))
    released = noisy_columns({name: exact.column(name).to_numpy() for name in spent.mechanisms}, spent)
    if spent.threshold is not None:
        assert spent.units is not None
        shown = np.flatnonzero(released[spent.units] >= spent.threshold)
        keys, released = keys.take(shown), {name: column[shown] for name, column in released.items()}
    progress("finding intervals")
    charged = None if ledger is None or entry is None else {"ledger": _name_of(ledger), "number": entry.number, "label": label}
    result = _assembled(query, spent, keys, released, level, charged)
    if found and for_bounds is not None:
        total = {"epsilon": spent.epsilon + for_bounds.epsilon, "delta": spent.delta + for_bounds.delta}
        receipt = dict(result.receipt) | {"bounds_found": {name: list(ends) for name, ends in found.items()}}
        result = replace(result, receipt=receipt | {"guarantee": result.receipt["guarantee"] | total})
    return result


def _name_of(ledger: Ledger) -> str:
    return str(ledger.path) if ledger.path is not None else "a ledger in memory"


def _assembled(query: Query, spent: Spending, keys: Any, released: dict[str, NDArray[Any]], level: float, charged: Any) -> Answer:
    pa = arrow()
    columns = {name: keys.column(name) for name in keys.column_names}
    names = []
    for measure in query.measures:
        if measure.name.startswith("."):
            continue  # counted for the threshold only
        value = measure.answer(released)
        low, high = interval(measure, released, spent.mechanisms, level)
        for name, *ends in _columns_of(measure, value, low, high):
            names.append(name)
            for ending, end in zip(("", "_low", "_high"), ends, strict=True):
                columns[f"{name}{ending}"] = pa.array(np.asarray(end, dtype=np.float64))
    noisy = pa.table({name: pa.array(column) for name, column in released.items()})
    return Answer(pa.table(columns), _receipt(query, spent, level, charged, keys.num_rows), noisy, tuple(names))


def _columns_of(measure: Prepared, value: Array, low: Array, high: Array) -> list[tuple[str, Array, Array, Array]]:
    """One column, or one for each bin of a histogram."""
    if measure.kind != "histogram":
        return [(measure.name, value, low, high)]
    return [(f"{measure.name} {_bin(label)}", value[:, i], low[:, i], high[:, i]) for i, label in enumerate(measure.labels)]


def _bin(label: Any) -> str:
    return f"[{label[0]}, {label[1]})" if isinstance(label, tuple) else str(label)


def _receipt(query: Query, spent: Spending, level: float, charged: Any, groups: int) -> dict[str, Any]:
    return {
        "hush": __version__,
        "time": datetime.now(UTC).isoformat(timespec="seconds"),
        "source": query.table.fingerprint,
        "engine": query.table.engine,
        "groups": groups,
        "guarantee": {
            "epsilon": spent.epsilon,
            "delta": spent.delta,
            "neighbours": "add-remove",
            "unit": query.table.unit,
            "groups_per_unit": spent.reach.groups,
            "l0": spent.reach.l0,
        },
        "bounds": [measure.bounds_text for measure in query.measures if not measure.name.startswith(".")],
        "noise": plain_values(spent.noise),
        "why": spent.plan.why,
        "columns": {name: {"moves_by": spent.reach.linf[name], "step": made.step} for name, made in spent.mechanisms.items()},
        "threshold": spent.threshold,
        "key_delta": spent.key_delta,
        "level": level,
        "ledger": charged,
    }
