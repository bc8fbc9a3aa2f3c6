"""The facts that totals, shares, ratios and differences of an answer are made from, and the results."""

from __future__ import annotations

from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass
from typing import Any

import numpy as np
from numpy.typing import NDArray

from hush.errors import InvalidParameter, nearest, shown
from hush.tables.column_noise import Spending
from hush.tables.description import QueryDescription
from hush.tables.estimate import Linear, linear_forms
from hush.tables.publish.cells import shown_above, shown_below, shown_number
from hush.tables.publish.gate import Gate
from hush.tables.publish.layout import Layout, Width

__all__ = ["BOUND", "Basis", "Bin", "Figure"]

Array = NDArray[np.float64]
#: What is said where the law of a sum is not known.
BOUND = "the law of this sum of noises is not known, so its width is a bound (Bonferroni's or Chebyshev's)"


@dataclass(frozen=True)
class Figure:
    """One number made from an answer, with an interval: `value`, `low` and `high`. `notes` states what it is.

    >>> value, low, high = Figure(20, 15, 25, 0.95)
    """

    value: float
    low: float
    high: float
    level: float = 0.95
    notes: tuple[str, ...] = ()

    def __iter__(self) -> Iterator[float]:
        return iter((self.value, self.low, self.high))

    def __repr__(self) -> str:
        ends = f"{shown_number(self.value)} [{shown_below(self.low)}, {shown_above(self.high)}]"
        return f"{ends} ({'; '.join([f'{100.0 * self.level:.10g} %, noise only', *self.notes])})"


@dataclass(frozen=True)
class Bin:
    """One bin of a histogram: the name of the histogram, the text of the bin, and its edges (None for a category)."""

    histogram: str
    text: str
    first: Any = None
    last: Any = None


@dataclass(frozen=True)
class Basis:
    """Public facts of an answer: its noise, the linear form of each column that has one, and its bins."""

    layout: Layout
    forms: Mapping[str, Linear]
    #: the aggregate of each column, as a word
    kinds: Mapping[str, str]
    bins: Mapping[str, Bin]
    level: float
    keys: tuple[str, ...]
    #: True: the keys were found privately
    private: bool
    #: columns that count people, who may be in several groups
    people: frozenset[str]
    groups_per_unit: int
    #: what decides which groups are shown, if their keys were found privately
    gate: Gate | None = None

    @classmethod
    def of(cls, query: QueryDescription, spent: Spending, level: float) -> Basis:
        """The facts of a query and its noise."""
        forms: dict[str, Linear] = {}
        kinds: dict[str, str] = {}
        bins: dict[str, Bin] = {}
        for measure in query.shown:
            kinds |= dict.fromkeys(measure.output_names, measure.kind)
            found = linear_forms(measure.answer)
            if found is not None and measure.name not in query.unknown:
                forms |= dict(zip(measure.output_names, found, strict=True))
            if measure.bins and len(measure.output_names) == measure.bins:
                for name, label in zip(measure.output_names, measure.labels, strict=True):
                    edges = label if isinstance(label, tuple) else (None, None)
                    bins[name] = Bin(measure.name, name.removeprefix(f"{measure.name} "), *edges)
        people = frozenset(measure.name for measure in query.shown if measure.counts_people)
        names, private = query.grouping.names, query.grouping.keys is None
        gate = Gate.of(query, spent, level)
        return cls(Layout.of(spent), forms, kinds, bins, level, names, private, people, spent.reach.groups, gate)

    def form(self, name: Any, what: str) -> Linear:
        """The linear form of a column; raises for a column that has none."""
        if not isinstance(name, str) or name not in self.kinds:
            near = nearest(name, self.kinds)
            hint = near or f"it has {', '.join(self.kinds)}"
            raise InvalidParameter(f"{what}: the answer has no column {shown(name)}; {hint}.")
        if name not in self.forms:
            article = "" if what == "non_negative" else "a "
            raise InvalidParameter(
                f"{what}: {shown(name)} is a {self.kinds[name]}, and {article}{what} needs counts or sums; ask for "
                "tables.count() or tables.sum(...) in the same query."
            )
        return self.forms[name]

    def share_form(self, name: Any) -> Linear:
        """The linear form of a column whose share of the total has a meaning."""
        form = self.form(name, "share")
        if form.signed:
            raise InvalidParameter(
                f"share: {shown(name)} may be negative, and then a share of the total has no meaning; take the "
                "share of a count or of a sum with low=0 or more."
            )
        return form

    def must_be_keys(self, names: Sequence[str], what: str) -> None:
        """Refuse names that are no keys of the answer."""
        for name in names:
            if name not in self.keys:
                keys = ", ".join(self.keys) or "none"
                raise InvalidParameter(f"{what}: by={shown(name)} is no key of the answer; its keys are {keys}.")

    def value(self, form: Linear, released: Any) -> Array:
        """The answer of each group before it was rounded to whole numbers."""
        columns = [factor * released.column(name).to_numpy().astype(np.float64) for name, factor in form.factors]
        return np.asarray(np.sum(columns, axis=0), dtype=np.float64)

    def width(self, rows: Sequence[tuple[Array, int]], rounded: float, level: float) -> Width:
        """The half width of a weighted sum over groups, with what rounding to the grid adds."""
        found = self.layout.half_width(rows, level)
        return Width(found.half + rounded, found.by_law)

    def where(self, groups: int) -> list[str]:
        """What a sum over groups is a sum of."""
        if not self.keys:
            return []
        if not self.private:
            return [f"over the {groups} listed group{'s' * (groups != 1)}"]
        return [
            f"over the {groups} released group{'s' * (groups != 1)} only: groups that are not shown are not in it",
            "groups just above the threshold are too high on average, and the interval does not include that",
        ]

    def several(self, *names: str) -> list[str]:
        """A note if people can be in several groups."""
        if not self.keys or self.groups_per_unit == 1 or not self.people.intersection(names):
            return []
        return [f"a person in several groups counts in each of them, up to {self.groups_per_unit}"]
