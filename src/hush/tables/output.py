"""From released columns to a table of answers: post-processing, on the driver or on executors."""

from __future__ import annotations

import re
from collections.abc import Callable, Iterable, Mapping
from dataclasses import dataclass
from typing import Any

import numpy as np

from hush.tables.arrow import arrow, day_column, number_column, time_column
from hush.tables.column_noise import Spending
from hush.tables.description import QueryDescription
from hush.tables.estimate import Ends, Estimate, Linear, linear_forms
from hush.tables.shown_ends import ShownEnds, shown_ends

__all__ = [
    "FIRST_DAY",
    "LAST_DAY",
    "MOST_COUNT",
    "Recipe",
    "ShownAggregate",
    "answer_table",
    "ends_of_shown",
    "plain_names",
    "shown_column",
    "whole_numbers",
    "with_ends",
]


#: Days since 1970 of the first and the last date that Python can hold.
FIRST_DAY, LAST_DAY = -719_162, 2_932_896
#: Counts beyond this are cut: no table has as many rows.
MOST_COUNT = 2.0**62
_NOT_LINEAR = Linear(())


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
    #: True: the answers are counts, and are shown as whole numbers
    whole: bool = False
    #: as in `Prepared`: dates or times
    shown_as: str = ""


@dataclass(frozen=True)
class Recipe:
    """How released columns become answers. It holds all that an executor needs, and no part of the table."""

    shown: tuple[ShownAggregate, ...]

    @classmethod
    def of(cls, query: QueryDescription, spent: Spending, level: float) -> Recipe:
        """The recipe for a query's answers with intervals at this level. The number of people that decides which groups
        are shown has intervals that hold among the groups that are shown, under every name that it has.
        """
        shown = ends_of_shown(spent, level)
        people = {m.name for m in query.shown if spent.shared.get(m.name, m.name) == spent.units}
        return cls(
            tuple(
                ShownAggregate(
                    m.output_names,
                    m.answer,
                    (shown if m.name in people else None) or m.answer.ends(spent.mechanisms, level),
                    m.name in query.unknown,
                    all(form.whole for form in linear_forms(m.answer) or (_NOT_LINEAR,)),
                    m.shown_as,
                )
                for m in query.shown
            )
        )

    @property
    def names(self) -> tuple[str, ...]:
        """The columns of the answers, without the ends of intervals."""
        return tuple(name for aggregate in self.shown for name in aggregate.names)

    @property
    def columns(self) -> dict[str, str]:
        """Each column of the answers with the ends of its interval, and what it holds: "whole" for whole numbers, else
        as in `Prepared.shown_as`.
        """
        kinds = {one.names: "whole" if one.whole else one.shown_as for one in self.shown}
        return {end: kind for names, kind in kinds.items() for end in with_ends(names)}


def ends_of_shown(spent: Spending, level: float) -> ShownEnds | None:
    """The intervals of the number of people for private keys; None if keys are public or such intervals not proved."""
    if spent.rule is None or spent.units is None:
        return None
    return shown_ends(spent.rule, spent.mechanisms[spent.units], spent.units, level)


def answer_table(recipe: Recipe, keys: Any, released: Mapping[str, Any]) -> Any:
    """Keys, values and interval ends as an Arrow table, from released columns."""
    pa = arrow()
    columns = {name: keys.column(name) for name in keys.schema.names}
    if keys.num_rows == 0 and keys.schema.names:  # no group is shown: the same columns, empty
        return pa.table(columns | {name: pa.nulls(0, kind_of_column(kind)) for name, kind in recipe.columns.items()})
    for aggregate in recipe.shown:
        found = [_columns(numbers) for numbers in (aggregate.answer(released), *aggregate.ends(released))]
        for name, *cells in zip(aggregate.names, *found, strict=True):
            shown = whole_numbers(*cells) if aggregate.whole else cells
            for ending, cell in zip(("", "_low", "_high"), shown, strict=True):
                columns[f"{name}{ending}"] = (
                    pa.nulls(cell.size, kind_of_column(aggregate.shown_as))
                    if aggregate.unknown
                    else shown_column(cell, aggregate.shown_as, ending)
                )
    return pa.table(columns).combine_chunks()  # one chunk: the engine's batches would reveal groups that are not shown


def kind_of_column(kind: str) -> Any:
    """The Arrow type of a column of the answer."""
    pa = arrow()
    times = {"date": pa.date32(), "time": pa.timestamp("us"), "time in UTC": pa.timestamp("us", "UTC")}
    return times.get(kind) or (pa.int64() if kind == "whole" else pa.float64())


def shown_column(values: Any, kind: str, ending: str) -> Any:
    """A column of numbers, dates or times; unknown is null. The ends of a date's interval are rounded outwards."""
    missing = np.isnan(values)
    if not kind:
        return number_column(values, missing)
    rounding: dict[str, Callable[[Any], Any]] = {"_low": np.floor, "_high": np.ceil}
    rounded = rounding.get(ending, np.round)(np.where(missing, 0.0, values))
    if kind == "date":
        return day_column(np.clip(rounded, FIRST_DAY, LAST_DAY), missing)
    return time_column(rounded, kind_of_column(kind), missing)


def whole_numbers(value: Any, low: Any, high: Any) -> tuple[Any, Any, Any]:
    """A count and the ends of its interval as int64.

    The value is rounded to the nearest whole number. The exact count is a whole number, so the interval keeps all whole
    numbers between its ends: it contains the exact count as often as before. If there are none, it is the value alone.
    """
    near, first, last = np.rint(value), np.ceil(low), np.floor(high)
    none = first > last
    ends = (near, np.where(none, near, np.minimum(first, near)), np.where(none, near, np.maximum(last, near)))
    value, low, high = (np.clip(end, -MOST_COUNT, MOST_COUNT).astype(np.int64) for end in ends)
    return value, low, high


def _columns(values: Any) -> list[Any]:
    """One column, or one for each entry of the last axis."""
    plain = np.asarray(values, dtype=np.float64)
    return [plain] if plain.ndim == 1 else [np.ascontiguousarray(column) for column in plain.T]


def with_ends(names: Iterable[str]) -> list[str]:
    """Each column of the answer, followed by the ends of its interval."""
    return [f"{name}{end}" for name in names for end in ("", "_low", "_high")]
