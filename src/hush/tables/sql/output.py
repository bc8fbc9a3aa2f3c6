"""The columns of the answer in the order of SELECT, and the rows that HAVING, ORDER BY and LIMIT leave."""

from __future__ import annotations

import math
from collections.abc import Callable, Mapping
from dataclasses import dataclass
from typing import Any

import numpy as np

from hush.tables.answer import Answer
from hush.tables.arrow import arrow, as_floats, chosen_rows, number_column, plain_numbers
from hush.tables.output import Recipe, shown_column, whole_numbers, with_ends
from hush.tables.query_plan import QueryPlan
from hush.tables.sql.interval import Triple
from hush.tables.sql.number import Number
from hush.tables.sql.plain import plain_value

__all__ = ["Ordered", "Output", "Shape", "finished"]

#: Days since 1970 that every library of dates can show.


@dataclass(frozen=True)
class Output:
    """One column of SELECT: a key (its column in the engine), a number with its interval, or a function of both."""

    name: str
    key: str | None = None
    number: Number | None = None
    node: Any = None

    @property
    def columns(self) -> list[str]:
        """Its columns in the answer: a number has those of its interval."""
        return [self.name] if self.number is None else with_ends([self.name])


@dataclass(frozen=True)
class Ordered:
    """One expression of ORDER BY."""

    node: Any
    descending: bool
    nulls_first: bool


@dataclass(frozen=True)
class Shape:
    """How the answer is made from released values. `numbers` and `keys` are by the text of their expression."""

    outputs: tuple[Output, ...]
    keys: Mapping[str, str]
    numbers: Mapping[str, Number]
    having: Any = None
    order: tuple[Ordered, ...] = ()
    limit: int | None = None
    offset: int = 0


def finished(
    shape: Shape, plan: QueryPlan, answer: Answer, level: float, together: bool
) -> tuple[Any, tuple[str, ...]]:
    """The table of the statement's answer, and the names of its numbers."""
    shown = [output for output in shape.outputs if output.number is not None]
    each = 1.0 - (1.0 - level) / len(shown) if together and shown else level
    at = _Levels(plan, answer, level if not together else None)
    rows = _Rows(shape, answer, at, each)
    kept = rows.kept()
    places = np.array(kept, dtype=np.int64)
    pa, columns = arrow(), dict[str, Any]()
    for output in shape.outputs:
        if output.key is not None:
            columns[output.name] = chosen_rows(answer.table.select([output.key]), places).column(0)
        elif output.number is not None:
            made = rows.triple(output.number)
            if output.number.plain is not None and pa.types.is_integer(answer.table.column(output.number.plain).type):
                whole = whole_numbers(made.value, made.low, made.high)
                parts = zip(with_ends([output.name]), whole, strict=True)
                columns |= {name: number_column(part[places]) for name, part in parts}
                continue
            for ending, part in (("", made.value), ("_low", made.low), ("_high", made.high)):
                columns[output.name + ending] = shown_column(part[places], output.number.shown_as, ending)
        else:
            columns[output.name] = _plain_column([plain_value(output.node, rows.row(i)) for i in kept])
    return pa.table(columns).combine_chunks(), tuple(output.name for output in shown)


_ENDS = ("", "_low", "_high")


@dataclass(frozen=True)
class _Levels:
    """The aggregates with their intervals at any level. `level` is that of the answer's own intervals."""

    plan: QueryPlan
    answer: Answer
    level: float | None

    def __call__(self, level: float) -> dict[str, Triple]:
        table = self.answer.table
        if level == self.level:
            ends = {end: [as_floats(table.column(f"{name}{end}")) for name in self.answer.names] for end in _ENDS}
            each = zip(self.answer.names, *ends.values(), strict=True)
            return {name: Triple(value, low, high) for name, value, low, high in each}
        noisy = {name: plain_numbers(self.answer.released.column(name)) for name in self.answer.released.column_names}
        found: dict[str, Triple] = {}
        for aggregate in Recipe.of(self.plan.query, self.plan.spent, level).shown:
            low, high = aggregate.ends(noisy)
            value = aggregate.answer(noisy)
            for i, name in enumerate(aggregate.names):
                parts = [part if np.ndim(part) == 1 else part[:, i] for part in (value, low, high)]
                one, below, above = (np.asarray(part, np.float64) for part in parts)
                found[name] = Triple(one, below, above)
        return found


class _Rows:
    """The rows of the answer, before HAVING, ORDER BY and LIMIT."""

    def __init__(self, shape: Shape, answer: Answer, at: _Levels, level: float) -> None:
        self.shape, self.answer, self.at, self.level = shape, answer, at, level
        self.size = int(answer.table.num_rows)
        self._levels: dict[float, dict[str, Triple]] = {}
        self._values: dict[str, list[Any]] = {}

    def triple(self, number: Number) -> Triple:
        """A number of all rows, with its interval."""
        level = number.level(self.level)
        if level not in self._levels:
            self._levels[level] = self.at(level)
        made = number.of(self._levels[level])
        value, low, high = (np.broadcast_to(part, (self.size,)) for part in (made.value, made.low, made.high))
        return Triple(value, low, high)

    def row(self, i: int) -> Callable[[Any], Any]:
        """The values of one row by the text of their expression."""

        def value(node: Any) -> Any:
            text = node.sql()
            if text not in self._values:
                self._values[text] = self._column(text)
            return self._values[text][i]

        return value

    def _column(self, text: str) -> list[Any]:
        if text in self.shape.keys:
            found: list[Any] = self.answer.table.column(self.shape.keys[text]).to_pylist()
            return found
        number = self.shape.numbers[text]
        values = self.triple(number).value
        return [None if math.isnan(value) else _plain(value, number.shown_as) for value in values]

    def kept(self) -> list[int]:
        """The places of the rows that are shown, in their order."""
        shape, places = self.shape, list(range(self.size))
        if shape.having is not None:
            places = [i for i in places if plain_value(shape.having, self.row(i))]
        for order in reversed(shape.order):
            values = {i: plain_value(order.node, self.row(i)) for i in places}
            known = sorted((i for i in places if values[i] is not None), key=lambda i: _sortable(values[i]))
            if order.descending:  # equal values keep their order
                known = sorted(
                    (i for i in places if values[i] is not None), key=lambda i: _Reverse(_sortable(values[i]))
                )
            nulls = [i for i in places if values[i] is None]
            places = [*nulls, *known] if order.nulls_first else [*known, *nulls]
        last = None if shape.limit is None else shape.offset + shape.limit
        return places[shape.offset : last]


@dataclass(frozen=True)
class _Reverse:
    """A value that sorts the other way round."""

    value: Any

    def __lt__(self, other: _Reverse) -> bool:
        return bool(other.value < self.value)


def _sortable(value: Any) -> tuple[str, Any]:
    """Values of one kind sort by themselves; kinds are never mixed by accident."""
    kind = "number" if isinstance(value, bool | int | float) else type(value).__name__
    return kind, value


def _plain_column(values: list[Any]) -> Any:
    """A column of values of one kind. Whole numbers beside other numbers are floats: Arrow rejects large ones there."""
    if any(isinstance(value, float) for value in values):
        values = [None if value is None else float(value) for value in values]
    return arrow().array(values)


def _plain(value: float, kind: str) -> Any:
    """A number, date or time as Python has it."""
    return shown_column(np.array([value]), kind, "").to_pylist()[0] if kind else float(value)
