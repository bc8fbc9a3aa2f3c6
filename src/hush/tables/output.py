"""From released columns to answers: post-processing, on the driver or wherever the groups are."""

from __future__ import annotations

import re
from collections.abc import Iterable, Mapping
from dataclasses import dataclass, replace
from typing import TYPE_CHECKING, Any

import numpy as np
from numpy.typing import NDArray

from hush.tables.arrow import arrow
from hush.tables.column_noise import Spending
from hush.tables.estimate import Ends
from hush.tables.measure import Prepared

if TYPE_CHECKING:
    from hush.tables.query import Query

__all__ = ["Recipe", "answer_table", "output_names", "plain_names"]

Array = NDArray[np.float64]


def output_names(measure: Prepared) -> list[str]:
    """The answer's columns of an aggregate, without their ends."""
    if measure.kind != "histogram":
        return [measure.name]
    return [f"{measure.name} {_bin(label, closed=label is measure.labels[-1])}" for label in measure.labels]


def plain_names(names: Iterable[str]) -> list[str]:
    """Column names that every engine's Parquet takes."""
    return [re.sub(r"[ ,;{}()\n\t=\[\]]+", "_", name).strip("_") for name in names]


@dataclass(frozen=True)
class Recipe:
    """How released columns become answers: everything an executor needs, and nothing of the table."""

    measures: tuple[Prepared, ...]
    #: for each aggregate its interval, as a function of released columns; made once, from public constants
    ends: tuple[Ends, ...]
    #: aggregates whose bounds were not found: their answers are null
    unknown: frozenset[str] = frozenset()

    @classmethod
    def of(cls, query: Query, spent: Spending, level: float) -> Recipe:
        shown = [
            measure for measure in query.measures if not measure.name.startswith(".")
        ]  # a dot: counted for the threshold only
        bare = tuple(
            replace(m, value=None, limit=None, totals=tuple(replace(t, sum_over=_gone) for t in m.totals))
            for m in shown
        )
        return cls(bare, tuple(m.answer.ends(spent.mechanisms, level) for m in bare), query.unknown)

    @property
    def names(self) -> tuple[str, ...]:
        """The answers' columns, without their ends."""
        return tuple(name for measure in self.measures for name in output_names(measure))


def answer_table(recipe: Recipe, keys: Any, released: Mapping[str, Any]) -> Any:
    """Keys, values and their ends as an Arrow table, from released columns."""
    pa = arrow()
    columns = {name: keys.column(name) for name in keys.schema.names}
    if keys.num_rows == 0 and keys.schema.names:  # no group is shown: the same columns, empty
        blank = [f"{name}{end}" for name in recipe.names for end in ("", "_low", "_high")]
        return pa.table(columns | {name: pa.array([], pa.float64()) for name in blank})
    for measure, interval in zip(recipe.measures, recipe.ends, strict=True):
        value = measure.answer(released)
        low, high = interval(released)
        for name, *ends in _columns_of(measure, value, low, high):
            for ending, end in zip(("", "_low", "_high"), ends, strict=True):
                plain = np.asarray(end, dtype=np.float64)
                columns[f"{name}{ending}"] = (
                    pa.nulls(plain.size, pa.float64()) if measure.name in recipe.unknown else pa.array(plain)
                )
    return pa.table(
        columns
    ).combine_chunks()  # in one piece: where the engine's batches ended would tell of groups that are not shown


def _columns_of(measure: Prepared, value: Array, low: Array, high: Array) -> list[tuple[str, Array, Array, Array]]:
    """One column, or one for each bin of a histogram."""
    names = output_names(measure)
    if measure.kind != "histogram":
        return [(names[0], value, low, high)]
    return [(name, value[:, i], low[:, i], high[:, i]) for i, name in enumerate(names)]


def _bin(label: Any, *, closed: bool) -> str:
    """A category, or a bin by its edges; the last one holds its right end."""
    return f"[{label[0]}, {label[1]}{']' if closed else ')'}" if isinstance(label, tuple) else str(label)


def _gone(rows: Any, value: Any) -> Any:
    """In place of an aggregate that has been taken."""
    return None
