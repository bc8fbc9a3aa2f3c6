"""From released columns to answers: post-processing, on the driver or wherever the groups are."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass, replace
from typing import TYPE_CHECKING, Any

import numpy as np
from numpy.typing import NDArray

from hush.mechanism import Mechanism
from hush.tables.arrow import arrow
from hush.tables.measure import Prepared
from hush.tables.spending import Spending
from hush.tables.uncertainty import interval

if TYPE_CHECKING:
    from hush.tables.query import Query

__all__ = ["Recipe", "answer_table"]

Array = NDArray[np.float64]


@dataclass(frozen=True)
class Recipe:
    """How released columns become answers: everything an executor needs, and nothing of the table."""

    measures: tuple[Prepared, ...]
    mechanisms: Mapping[str, Mechanism]
    level: float

    @classmethod
    def of(cls, query: Query, spent: Spending, level: float) -> Recipe:
        shown = [measure for measure in query.measures if not measure.name.startswith(".")]  # a dot: counted for the threshold only
        bare = tuple(replace(m, value=None, totals=tuple(replace(t, sum_over=_gone) for t in m.totals)) for m in shown)
        return cls(bare, spent.mechanisms, level)

    @property
    def names(self) -> tuple[str, ...]:
        """The answers' columns, without their ends."""
        zero = np.zeros((1, 1))
        blank = {name: np.zeros(1) for name in self.mechanisms}
        found = ((measure, measure.answer(blank)) for measure in self.measures)
        return tuple(
            row[0] for measure, v in found for row in _columns_of(measure, v, *(2 * [np.broadcast_to(zero, v.shape) if v.ndim > 1 else v]))
        )


def answer_table(recipe: Recipe, keys: Any, released: Mapping[str, Any]) -> Any:
    """Keys, values and their ends as an Arrow table, from released columns."""
    pa = arrow()
    columns = {name: keys.column(name) for name in keys.schema.names}
    for measure in recipe.measures:
        value = measure.answer(released)
        low, high = interval(measure, released, recipe.mechanisms, recipe.level)
        for name, *ends in _columns_of(measure, value, low, high):
            for ending, end in zip(("", "_low", "_high"), ends, strict=True):
                columns[f"{name}{ending}"] = pa.array(np.asarray(end, dtype=np.float64))
    return pa.table(columns)


def _columns_of(measure: Prepared, value: Array, low: Array, high: Array) -> list[tuple[str, Array, Array, Array]]:
    """One column, or one for each bin of a histogram."""
    if measure.kind != "histogram":
        return [(measure.name, value, low, high)]
    return [(f"{measure.name} {_bin(label)}", value[:, i], low[:, i], high[:, i]) for i, label in enumerate(measure.labels)]


def _bin(label: Any) -> str:
    return f"[{label[0]}, {label[1]})" if isinstance(label, tuple) else str(label)


def _gone(rows: Any, value: Any) -> Any:
    """In place of an aggregate that has been taken."""
    return None
