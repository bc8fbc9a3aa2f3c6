"""Bounds found privately: the range of a column from a noisy histogram of its magnitudes.

One row of each person is counted in a bin, on either side of zero. The edges of the bins are the powers of two from
2^-40 to 2^64, every fourth power out to 2^-104 and 2^128, and coarser powers out to 2^-424 and 2^448. Dates are counted
by year from 1900 to 2100, and by decade or century outside. Noise is added. Bins that rise above the noise are kept.
The range holds all of the kept rows but half a percent at either end, rounded outwards to the edges of bins. Where no
bin rises above the noise, or values lie beyond 2^448, no range is found: the answer is then reported as unknown.

The histogram is one more release. It is paid from the same budget and charged together with the answer: the noise of
the answer, measured in its bounds, does not depend on the bounds that are found.
"""

from __future__ import annotations

import datetime
import sys
from collections.abc import Iterable, Mapping
from typing import Any

import numpy as np

from hush.errors import shown
from hush.releasing.error_bars import ErrorBars
from hush.tables.column_noise import Spending
from hush.tables.expression import bind
from hush.tables.histograms import histogram
from hush.tables.measure import Measure, Prepared

__all__ = ["SHARE", "bounds_from", "magnitude_histograms", "stand_in"]

#: The part of the budget that finds bounds.
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
_LEFT_OUT = 0.005  # share of the rows, at either end
_CLEAR = 0.99999  # a bin is kept if its count exceeds noise alone with this probability


def magnitude_histograms(relation: Any, measures: Mapping[str, Measure]) -> dict[str, Measure]:
    """A histogram of magnitudes for each column whose bounds are to be found."""
    return {
        name: histogram(measure.column, edges=DATES if _is_date(relation, name, measure) else NUMBERS, rows_per_unit=1)
        for name, measure in measures.items()
        if measure.wants_bounds
    }


def _is_date(relation: Any, name: str, measure: Measure) -> bool:
    return bool(bind(relation, measure.column, f"the column of {shown(name)}").type().is_date())


def stand_in(relation: Any, name: str, measure: Measure) -> tuple[Any, Any]:
    """Placeholder bounds of range 1, for a query whose bounds are not found yet."""
    kind = bind(relation, measure.column, f"the column of {shown(name)}").type()
    if kind.is_date() or kind.is_timestamp():
        return datetime.date(1970, 1, 1), datetime.date(1970, 1, 2)
    return 0.0, 1.0


def bounds_from(
    measures: Iterable[Prepared], spent: Spending, released: Mapping[str, Any]
) -> dict[str, tuple[Any, Any] | None]:
    """The range of each column, from its noisy histogram; None where no bin rises above the noise."""
    found = {}
    for measure in measures:
        counts = measure.answer(released)[0]
        made = spent.mechanisms[measure.bin_columns[0]]
        noise = ErrorBars(made.noise, made.step, rounded=made.rounds).half_width(_CLEAR)
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
