"""Bounds found privately: the range of a column from a noisy histogram of its magnitudes.

One row of each unit is counted in a bin between powers of two, on either side of zero; noise is added; bins that rise above the noise are
kept, and the range that holds all but half a percent of them at either end is taken, rounded outwards to powers of two. The histogram is
one more release, paid from the same budget, and charged together with the answer it serves: the noise of the answer, measured in
its bounds, does not depend on which bounds come out.
"""

from __future__ import annotations

from collections.abc import Mapping
from typing import TYPE_CHECKING, Any

import numpy as np

from hush.errors import InvalidParameter
from hush.release import Error
from hush.tables.aggregate import histogram
from hush.tables.expression import bind
from hush.tables.measure import Measure
from hush.tables.spending import Spending

if TYPE_CHECKING:
    from hush.tables.query import Query, Table

__all__ = ["SHARE", "bounds_from", "searching"]

#: The part of the budget that finding bounds takes.
SHARE = 0.1

_POWERS = [2.0**k for k in range(-20, 41)]
EDGES = [-power for power in reversed(_POWERS)] + [0.0] + _POWERS
_LEFT_OUT = 0.005  # of the rows, at either end
_CLEAR = 1.0 - 1e-4  # a bin counts if it is above all but this share of pure noise


def searching(table: Table, measures: Mapping[str, Measure]) -> Query | None:
    """The query for magnitudes of the columns whose bounds are to be found; None if all bounds are declared."""
    wanted = {name: histogram(measure.column, edges=EDGES) for name, measure in measures.items() if measure.wants_bounds}
    for name in wanted:
        if bind(table.relation, measures[name].column, f"the column of {name!r}").type().is_date():
            raise InvalidParameter(
                f"the bounds of dates must be declared: write low=datetime.date(2024, 1, 1) and such a high for {name!r}."
            )
    return table.aggregate(**wanted) if wanted else None


def bounds_from(query: Query, spent: Spending, released: Mapping[str, Any]) -> dict[str, tuple[float, float]]:
    """The range of each column, from its noisy histogram."""
    found = {}
    for measure in query.measures:
        counts = measure.answer(released)[0]
        made = spent.mechanisms[measure.bin_columns[0]]
        noise = Error(made.noise, made.step, rounded=False).half_width(_CLEAR)
        found[measure.name] = _range(np.where(counts > noise, counts, 0.0))
    return found


def _range(counts: Any) -> tuple[float, float]:
    total = counts.sum()
    if total <= 0.0:
        return 0.0, 1.0  # nothing rose above the noise: any range will do
    running = np.cumsum(counts)
    first = int(np.argmax(running > _LEFT_OUT * total))
    last = int(np.argmax(running >= (1.0 - _LEFT_OUT) * total))
    low, high = EDGES[first], EDGES[last + 1]
    if 0.0 < low <= high / 8.0:
        low = 0.0
    if 0.0 > high >= low / 8.0:
        high = 0.0
    return low, high
