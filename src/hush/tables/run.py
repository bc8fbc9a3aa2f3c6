"""Asking: run the query in its engine, charge the ledger, add exact noise, turn it into answers.

In memory the engine's work comes first, so that a failure there spends nothing. A result too large for that is streamed to a file: then the
charge comes first, and a failure wastes it.
"""

from __future__ import annotations

import json
import os
from collections.abc import Callable, Mapping
from dataclasses import dataclass, replace
from datetime import UTC, datetime
from pathlib import Path
from typing import TYPE_CHECKING, Any

import numpy as np
from numpy.typing import NDArray

from hush.errors import NotCertified
from hush.noise.catalogue import plain_values
from hush.tables.answer import Answer
from hush.tables.arrow import arrow
from hush.tables.distributed import write_on_executors
from hush.tables.magnitude import bounds_from
from hush.tables.recipe import Recipe, answer_table
from hush.tables.spending import Spending
from hush.version import __version__

if TYPE_CHECKING:
    from hush.ledger import Ledger
    from hush.tables.query import Aggregates, Query

__all__ = ["Request", "noisy_columns"]

_ROW_GROUP = 65_536  # shown groups in a row group of a file


def noisy_columns(columns: Mapping[str, Any], spent: Spending) -> dict[str, NDArray[Any]]:
    """Integer columns with their noise, in grid steps."""
    out: dict[str, NDArray[Any]] = {}
    for name, made in spent.mechanisms.items():
        if name in spent.shared:
            out[name] = out[spent.shared[name]]
            continue
        out[name] = made.value_of(made.noisy(made.on_lattice(np.asarray(columns[name], dtype=np.int64))))
    return out


def _silent(text: str) -> None:
    """No progress to report."""


@dataclass(frozen=True)
class Request:
    """A query with its noise, and how to ask it."""

    query: Query
    spent: Spending
    options: Mapping[str, Any]
    for_bounds: Spending | None = None
    ledger: Ledger | None = None
    label: str = ""
    level: float = 0.95
    progress: Callable[[str], None] = _silent

    def answer(self) -> Answer:
        """In memory. Nothing is spent unless the engine has done its work."""
        self._prepare()
        self.progress("aggregating in the engine")
        exact = self._exact(self.query.search or self.query)
        charged = self._charge()
        settled, found = self, None
        if self.query.search is not None:
            settled, found = self._bounded(exact)
            exact = settled._exact(settled.query)
        self.progress("drawing noise")
        keys, released = settled._noisy(exact)
        self.progress("finding intervals")
        recipe = Recipe.of(settled.query, settled.spent, self.level)
        noisy = arrow().table({name: arrow().array(column) for name, column in released.items()})
        receipt = settled._receipt(charged, found) | {"groups": keys.num_rows}
        return Answer(answer_table(recipe, keys, released), receipt, noisy, recipe.names)

    def write(self, path: str | os.PathLike[str]) -> dict[str, Any]:
        """To a Parquet file (a folder of them on Spark), a batch of groups at a time; returns the receipt."""
        self._prepare()
        self.progress("charging the ledger")
        magnitudes = self._exact(self.query.search) if self.query.search is not None else None
        charged = self._charge()
        settled, found = (self, None) if magnitudes is None else self._bounded(magnitudes)
        self.progress("aggregating, adding noise and writing")
        receipt = settled._receipt(charged, found)
        recipe = Recipe.of(settled.query, settled.spent, self.level)
        aggregates = settled.query.aggregates(**self.options)
        if self.query.table.engine == "pyspark" and self.query.grouping.keys is None:
            write_on_executors(aggregates, settled.spent, recipe, str(path))
            Path(path, "_hush_receipt.json").write_text(json.dumps(receipt))
        else:
            settled._stream(aggregates, recipe, Path(path), receipt)
        return receipt

    # -- steps ---------------------------------------------------------------------------------------------------------

    def _prepare(self) -> None:
        """Everything that can fail without the data does so here."""
        if self.ledger is not None:
            self.ledger.bind(self.query.table.fingerprint)
        for made in self.spent.mechanisms.values():
            made.prepare()

    def _exact(self, query: Query) -> Any:
        return query.aggregates(**self.options).to_arrow()

    def _charge(self) -> dict[str, Any] | None:
        if self.ledger is None:
            return None
        parts = [*self.spent.parts, *(self.for_bounds.parts if self.for_bounds else [])]
        # one calibration keeps the pair asked for; of two parts the sum does, but their composition on a grid may say a little more
        asked = {"epsilon": self.spent.epsilon, "delta": self.spent.delta} if self.for_bounds is None else {}
        entry = self.ledger.spend(parts, label=self.label, extra_delta=self.spent.key_delta, **asked)
        name = str(self.ledger.path) if self.ledger.path is not None else "a ledger in memory"
        return {"ledger": name, "number": entry.number, "label": self.label}

    def _bounded(self, magnitudes: Any) -> tuple[Request, dict[str, tuple[float, float]]]:
        """The same request with the bounds that the noisy magnitudes give."""
        assert self.query.search is not None and self.for_bounds is not None
        noisy = noisy_columns({name: magnitudes.column(name).to_numpy() for name in self.for_bounds.mechanisms}, self.for_bounds)
        found = bounds_from(self.query.search, self.for_bounds, noisy)
        query = self.query.with_bounds(found)
        if query.sensitivity.l0 > self.spent.reach.l0:
            raise NotCertified("the bounds found would let a unit reach further than was charged for; nothing was released.")
        return replace(self, query=query, spent=replace(self.spent, reach=query.sensitivity)), found

    def _noisy(self, exact: Any) -> tuple[Any, dict[str, NDArray[Any]]]:
        """Keys and noisy columns of the groups to show."""
        spent, columns = self.spent, exact.schema.names
        keys = exact.select([name for name in self.query.grouping.names if name in columns])
        released = noisy_columns({name: exact.column(name).to_numpy(zero_copy_only=False) for name in spent.mechanisms}, spent)
        if spent.threshold is None or spent.units is None:
            return keys, released
        shown = np.flatnonzero(released[spent.units] >= spent.threshold)
        return keys.take(arrow().array(shown)), {name: column[shown] for name, column in released.items()}

    def _stream(self, aggregates: Aggregates, recipe: Recipe, path: Path, receipt: dict[str, Any]) -> None:
        """Batch by batch into a file that appears when it is whole. Row groups hold shown groups only, a fixed number each: where the
        engine's batches began and ended would tell of groups that are not shown."""
        import pyarrow.parquet

        note = {"hush": json.dumps(receipt)}
        part, held = path.with_name(path.name + ".part"), self._answers(recipe, aggregates.empty())
        with pyarrow.parquet.ParquetWriter(part, held.schema.with_metadata(note)) as writer:
            for batch in aggregates.batches():
                held = arrow().concat_tables([held, self._answers(recipe, arrow().Table.from_batches([batch]))])
                while held.num_rows >= _ROW_GROUP:
                    writer.write_table(held.slice(0, _ROW_GROUP).replace_schema_metadata(note))
                    held = held.slice(_ROW_GROUP)
            writer.write_table(held.replace_schema_metadata(note))
        os.replace(part, path)

    def _answers(self, recipe: Recipe, exact: Any) -> Any:
        return answer_table(recipe, *self._noisy(exact))

    def _receipt(self, charged: Any, found: Mapping[str, tuple[float, float]] | None) -> dict[str, Any]:
        receipt = receipt_of(self.query, self.spent, self.level, charged)
        if found is not None and self.for_bounds is not None:
            total = {"epsilon": self.spent.epsilon + self.for_bounds.epsilon, "delta": self.spent.delta + self.for_bounds.delta}
            receipt |= {"bounds_found": {name: list(ends) for name, ends in found.items()}, "guarantee": receipt["guarantee"] | total}
        return receipt


def receipt_of(query: Query, spent: Spending, level: float, charged: Any) -> dict[str, Any]:
    return {
        "hush": __version__,
        "time": datetime.now(UTC).isoformat(timespec="seconds"),
        "source": query.table.fingerprint,
        "engine": query.table.engine,
        "filters": list(query.table.filters),
        "guarantee": {
            "epsilon": spent.epsilon,
            "delta": spent.delta,
            "neighbours": "add-remove",
            "unit": query.table.unit,
            "groups_per_unit": spent.reach.groups,
            "linf": spent.plan.sensitivity.linf,
            "l0": spent.plan.sensitivity.l0,
        },
        "bounds": [measure.bounds_text for measure in query.measures if not measure.name.startswith(".")],
        "noise": plain_values(spent.noise),
        "rows_per_unit": {m.name: m.totals[0].high for m in query.measures if m.kind == "count"},
        "why": _used(spent.plan.why),
        "columns": {name: {"moves_by": spent.reach.linf[name], "step": made.step} for name, made in spent.mechanisms.items()},
        "threshold": spent.threshold,
        "key_delta": spent.key_delta,
        "level": level,
        "ledger": charged,
    }


def _used(why: str) -> str:
    """A plan says what to use; a receipt says what was used."""
    noise, colon, rest = why.removeprefix("Use ").partition(": ")
    return f"{noise} was used{colon}{rest}" if why.startswith("Use ") and colon else why
