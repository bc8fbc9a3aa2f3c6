"""From released columns to a table of answers: post-processing, on the driver or on executors."""

from __future__ import annotations

import re
from collections.abc import Iterable, Mapping
from dataclasses import dataclass
from typing import Any

import numpy as np

from hush.tables.arrow import arrow, number_column
from hush.tables.column_noise import Spending
from hush.tables.description import QueryDescription
from hush.tables.estimate import Ends, Estimate

__all__ = ["Recipe", "ShownAggregate", "answer_table", "plain_names", "with_ends"]


def plain_names(names: Iterable[str]) -> list[str]:
    """Column names that every engine accepts in a Parquet file."""
    return [re.sub(r"[ ,;{}()\n\t=\[\]]+", "_", name).strip("_") for name in names]


@dataclass(frozen=True)
class ShownAggregate:
    """An aggregate of the answer: the names of its columns, its estimate, and its interval as a function of released
    columns. The interval is made once, from public constants.
    """

    names: tuple[str, ...]
    answer: Estimate
    ends: Ends
    #: True: its bounds were not found, so its answers are null
    unknown: bool = False


@dataclass(frozen=True)
class Recipe:
    """How released columns become answers. It holds all that an executor needs, and no part of the table."""

    shown: tuple[ShownAggregate, ...]

    @classmethod
    def of(cls, query: QueryDescription, spent: Spending, level: float) -> Recipe:
        """The recipe for a query's answers with intervals at this level."""
        return cls(
            tuple(
                ShownAggregate(
                    m.output_names, m.answer, m.answer.ends(spent.mechanisms, level), m.name in query.unknown
                )
                for m in query.shown
            )
        )

    @property
    def names(self) -> tuple[str, ...]:
        """The columns of the answers, without the ends of intervals."""
        return tuple(name for aggregate in self.shown for name in aggregate.names)


def answer_table(recipe: Recipe, keys: Any, released: Mapping[str, Any]) -> Any:
    """Keys, values and interval ends as an Arrow table, from released columns."""
    pa = arrow()
    columns = {name: keys.column(name) for name in keys.schema.names}
    if keys.num_rows == 0 and keys.schema.names:  # no group is shown: the same columns, empty
        return pa.table(columns | {name: pa.nulls(0, pa.float64()) for name in with_ends(recipe.names)})
    for aggregate in recipe.shown:
        found = [_columns(numbers) for numbers in (aggregate.answer(released), *aggregate.ends(released))]
        for name, *cells in zip(aggregate.names, *found, strict=True):
            for ending, cell in zip(("", "_low", "_high"), cells, strict=True):
                unknown = aggregate.unknown
                columns[f"{name}{ending}"] = pa.nulls(cell.size, pa.float64()) if unknown else number_column(cell)
    return pa.table(columns).combine_chunks()  # one chunk: the engine's batches would reveal groups that are not shown


def _columns(values: Any) -> list[Any]:
    """One column, or one for each entry of the last axis."""
    plain = np.asarray(values, dtype=np.float64)
    return [plain] if plain.ndim == 1 else [np.ascontiguousarray(column) for column in plain.T]


def with_ends(names: Iterable[str]) -> list[str]:
    """Each column of the answer, followed by the ends of its interval."""
    return [f"{name}{end}" for name in names for end in ("", "_low", "_high")]
