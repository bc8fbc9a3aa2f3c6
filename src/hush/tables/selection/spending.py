"""The choices of a query's quantiles: their part of the budget, and their draws.

All choices of a query have one range. A person is in at most k groups, and a level of a quantile's tree, like each end
of an interval, is one choice in each of them. So the charge is for k times that many choices, however many groups there
are (docs/maths/quantiles.md).
"""

from __future__ import annotations

import math
from collections.abc import Mapping
from dataclasses import dataclass, replace
from typing import Any

import numpy as np

from hush.ledger.payment import Payment
from hush.noise.selection import Selection
from hush.privacy.by_selection import least_selection
from hush.privacy.charge import Charge
from hush.privacy.sensitivity import Sensitivity
from hush.sampling.choice import Draw
from hush.sampling.entropy import Bits
from hush.tables.aggregation import limited_values
from hush.tables.description import QueryDescription
from hush.tables.group import Grouping
from hush.tables.keyed_hash import Keyed
from hush.tables.measure import Prepared
from hush.tables.selection.chosen import Chosen
from hush.tables.selection.field import TIE_BITS, Counts
from hush.tables.selection.law import Shape, ends_of, quantile_cells
from hush.tables.selection.passes import counts_by_group

__all__ = ["ChoiceSpending", "choices_for", "chosen_columns"]

_BESIDE = 0.99  # of the budget of a query that asks for quantiles of public groups only


@dataclass(frozen=True)
class ChoiceSpending:
    """What the quantiles of a query cost."""

    epsilon: float
    delta: float
    noise: Selection
    #: choices that may depend on one person
    choices: int

    @property
    def sources(self) -> dict[str, Any]:
        """No noise of a column has to be prepared."""
        return {}

    @property
    def charge(self) -> Charge:
        """The charge of one release. A score is a depth in units of the most that one person moves it."""
        return Charge(self.noise, Sensitivity.of(1.0), times=self.choices)

    def shape(self, measure: Prepared) -> Shape:
        """The law of each choice of a quantile."""
        assert measure.rows is not None
        return Shape(1.0 / self.noise.scale, measure.rows)


def choices_for(
    query: QueryDescription, total: tuple[float, float], times: int, weights: Mapping[str, float] | None
) -> ChoiceSpending | None:
    """The choices of a query with the largest range for their part of the budget; None if it asks for no quantile. All
    answers have equal parts, or parts in proportion to their `weights`.
    """
    parts = {m.name: (weights or {}).get(m.name, 1.0) for m in query.measures if m.shown or query.threshold is not None}
    asked = _asked(query)
    if not asked:
        return None
    share = min(_BESIDE, math.fsum(parts[m.name] for m, _ in asked) / math.fsum(parts.values()))
    epsilon, delta = share * total[0], share * total[1]
    choices = query.grouping.groups * sum(chosen.choices for _, chosen in asked)
    noise = least_selection(choices * times, epsilon, delta, one_sided=False)
    return ChoiceSpending(epsilon, delta, noise, choices)


def chosen_columns(
    query: QueryDescription, spent: ChoiceSpending, keys: Any, payment: Payment, keyed: Keyed, level: float
) -> dict[str, np.ndarray[Any, np.dtype[np.float64]]]:
    """The values and the ends of each quantile, one for each group of `keys`."""
    asked, grouping = _asked(query), query.grouping
    if grouping.keys is None:
        shown = tuple(tuple(row[name] for name in grouping.names) for row in keys.to_pylist())
        grouping = replace(grouping, keys=shown)
    groups = len(grouping.keys or ())
    width = sum(chosen.width for _, chosen in asked)

    def make(draw: Draw, bits: Bits) -> list[int]:
        found: list[int] = []
        for measure, chosen in asked if groups else ():
            for counts in _counted(query, spent, grouping, (measure, chosen), keyed, level):
                found += _cells(chosen, spent.shape(measure), counts, draw, bits, level)
        return found

    cells: list[int] = payment.select(spent.charge, groups * width, make).tolist()
    made: dict[str, Any] = {}
    start = 0
    for measure, chosen in asked:
        end = start + groups * chosen.width
        made |= chosen.columns(measure.name, cells[start:end])
        start = end
    return made


def _asked(query: QueryDescription) -> list[tuple[Prepared, Chosen]]:
    """The quantiles of a query."""
    return [(measure, measure.chosen) for measure in query.measures if measure.chosen is not None]


def _counted(
    query: QueryDescription,
    spent: ChoiceSpending,
    grouping: Grouping,
    asked: tuple[Prepared, Chosen],
    keyed: Keyed,
    level: float,
) -> list[Counts]:
    """The counts by cell of each group, near its quantiles."""
    measure, chosen = asked
    shape, source = spent.shape(measure), query.table.source
    size, miss = chosen.grid.size, 1.0 - level
    cells = size << TIE_BITS if chosen.split else size

    def near(total: int) -> list[tuple[float, float]]:
        found = []
        for q in chosen.fractions:
            reach, middle = shape.reach(q, cells), float(q * total)
            ways = (-1.0, 0.0, 1.0) if chosen.intervals else (0.0,)
            shift = float(shape.shift(q, size, miss)) if chosen.intervals else 0.0
            found += [(middle + way * shift - reach, middle + way * shift + reach) for way in ways]
        return found

    rows = limited_values(query.table.relation, query.table.person, grouping, measure, keyed)
    around = None if chosen.number is None else chosen.grid.around
    return counts_by_group(source, rows, len(grouping.keys or ()), size, near, around)


def _cells(chosen: Chosen, shape: Shape, counts: Counts, draw: Draw, bits: Bits, level: float) -> list[int]:
    """For each level its cell, and the ends of its interval (the cell itself without intervals)."""
    found: list[int] = []
    cells = quantile_cells(counts, chosen.fractions, shape, draw, bits if chosen.split else None)
    for q, cell in zip(chosen.fractions, cells, strict=True):
        low, high = ends_of(counts, q, shape, draw, 1.0 - level) if chosen.intervals else (cell, cell)
        found += [min(max(cell, low), high), low, high]
    return found
