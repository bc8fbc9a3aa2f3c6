"""Bounds found privately: the range of a column from a noisy histogram of its magnitudes.

One row of each unit is counted in a bin, on either side of zero. Bins are between powers of two from 2^-40 to 2^64,
between every fourth power out to 2^-104 and 2^128, and coarser out to 2^-424 and 2^448. Dates are counted by year from
1900 to 2100, by decade or century outside. Noise is added; bins that rise above the noise are kept, and the range that
holds all but half a percent of them at either end is taken, rounded outwards to the bins' edges. Where no bin rises
above the noise, or values lie beyond 2^448, no range is found: the answer is then unknown, and says so.

The histogram is one more release, paid from the same budget, and charged together with the answer it serves: the
noise of the answer, measured in its bounds, does not depend on which bounds come out.
"""

from __future__ import annotations

import datetime
import sys
from collections.abc import Mapping
from typing import TYPE_CHECKING, Any

import numpy as np

from hush.releasing.error_bars import ErrorBars
from hush.tables.aggregate import histogram
from hush.tables.column_noise import Spending
from hush.tables.expression import bind
from hush.tables.measure import Measure

if TYPE_CHECKING:
    from hush.tables.query import Query, Table

__all__ = ["SHARE", "bounds_from", "searching", "stand_in"]

#: The part of the budget that finding bounds takes.
SHARE = 0.1

_EXPONENTS = [*range(-424, -104, 64), *range(-104, -40, 4), *range(-40, 64), *range(64, 128, 4), *range(128, 449, 64)]
_POWERS = [2.0**k for k in _EXPONENTS]
_LARGEST = sys.float_info.max
NUMBERS = [-_LARGEST, *(-power for power in reversed(_POWERS)), 0.0, *_POWERS, _LARGEST]
_YEARS = [
    1,
    *range(100, 1800, 100),
    *range(1800, 1900, 10),
    *range(1900, 2100),
    *range(2100, 2200, 10),
    *range(2200, 10_000, 100),
]
DATES = [*(datetime.date(year, 1, 1) for year in _YEARS), datetime.date.max]
_LEFT_OUT = 0.005  # of the rows, at either end
_CLEAR = 0.99999  # a bin counts if it is above this share of pure noise


def searching(table: Table, measures: Mapping[str, Measure]) -> Query | None:
    """The query for magnitudes of the columns whose bounds are to be found; None if all bounds are declared."""
    wanted = {
        name: histogram(measure.column, edges=DATES if _is_date(table, name, measure) else NUMBERS)
        for name, measure in measures.items()
        if measure.wants_bounds
    }
    return table.aggregate(**wanted) if wanted else None


def _is_date(table: Table, name: str, measure: Measure) -> bool:
    return bool(bind(table.relation, measure.column, f"the column of {name!r}").type().is_date())


def stand_in(table: Table, name: str, measure: Measure) -> tuple[Any, Any]:
    """Bounds of range 1 for a query whose bounds are not found yet."""
    if _is_date(table, name, measure):
        return datetime.date(1970, 1, 1), datetime.date(1970, 1, 2)
    return 0.0, 1.0


def bounds_from(query: Query, spent: Spending, released: Mapping[str, Any]) -> dict[str, tuple[Any, Any] | None]:
    """The range of each column, from its noisy histogram; None where nothing rises above the noise."""
    found = {}
    for measure in query.measures:
        counts = measure.answer(released)[0]
        made = spent.mechanisms[measure.bin_columns[0]]
        noise = ErrorBars(made.noise.marginal, made.step, rounded=False).half_width(_CLEAR)
        edges = [first for first, _ in measure.labels] + [measure.labels[-1][1]]
        found[measure.name] = _range(np.where(counts > noise, counts, 0.0), edges)
    return found


def _range(counts: Any, edges: list[Any]) -> tuple[Any, Any] | None:
    total = counts.sum()
    if total <= 0.0:
        return None
    running = np.cumsum(counts)
    first = int(np.argmax(running > _LEFT_OUT * total))
    last = int(np.argmax(running >= (1.0 - _LEFT_OUT) * total))
    low, high = edges[first], edges[last + 1]
    if isinstance(low, datetime.date):
        return low, high
    if low == -_LARGEST or high == _LARGEST:
        return None  # the outermost bins have no outer edge
    if 0.0 < low <= high / 8.0:
        low = 0.0
    if 0.0 > high >= low / 8.0:
        high = 0.0
    return low, high
