"""Bounds found privately: a window around the middle of each column, from two private quantiles.

The first quantile is the median m of a column. The second one is a quantile d of the distances |x - m|, the largest
that the noise allows. The window is m - c d to m + c d, within the declared bounds. The factor c is such that the
window of a normal column has 4.6 spreads at either side. Both quantiles are choices by Gumbel noise (`choices`).

Without declared bounds the two steps are done twice: first between -2^64 and 2^64, then within the first window. If
there are too few rows for the quantiles of every column, one window is found for all columns together, in units of
their declared bounds. All of this is decided by public facts.
"""

from __future__ import annotations

import math
from collections.abc import Callable, Iterator
from dataclasses import dataclass

import numpy as np
from numpy.typing import NDArray
from scipy.special import ndtri

from hush.errors import Unsupported
from hush.learn.choices import CELLS, Choice, cells_of, counts_in, deviations_of, range_for, scores, share_of
from hush.learn.paid import Paid
from hush.learn.relation import REPLACED_ROW, Relation
from hush.learn.row_source import RowSource
from hush.learn.scaling import UNKNOWN, Span

__all__ = ["Columns", "Windows", "windows_plan"]

Array = NDArray[np.float64]
#: Blocks of some columns of the rows, read from the first to the last row each time it is called.
Columns = Callable[[], Iterator[Array]]

SHARE, MOST_SHARE = 0.05, 0.15  # the part of the budget for the windows of all columns, and the most that it can be
_TOO_MUCH = 0.2  # few choices with the least precision must not use more of the budget
_FEWEST, _MOST = 40.0, 600.0  # rows in the data for each row of noise: fewer are too few, and more are not needed
_SAFE = 12.0  # a quantile is this many scales of noise from the largest value
_SPREADS = 4.6  # half the length of a window, in spreads of a normal column
MOST_COLUMNS = 200  # with more columns one window is found for all columns together
_COUNTED = 128  # with more columns some of them, at fixed places, decide the common window
_ALONE = 2.0**-85  # a smaller share of the range is no deviation: nearly all rows have one value


@dataclass(frozen=True)
class Windows:
    """The plan of the windows: which columns, by which choices, and which quantile of the distances."""

    features: bool
    target: bool
    pooled: bool
    quantile: float
    #: the choices for single columns, and for all features together
    single: Choice | None
    together: Choice | None

    @property
    def choices(self) -> tuple[Choice, ...]:
        return tuple(choice for choice in (self.single, self.together) if choice is not None)

    def found(self, span: Span, target: Span | None, source: RowSource, paid: Paid) -> tuple[Span, Span | None]:
        """The windows of the features and of the target; what is not searched for stays as it is declared."""
        if self.features and self.together is not None:
            span = self._of_all(span, source, paid, self.together)
        elif self.features:
            span = self._of_each(span, lambda: (X for X, _ in source.blocks()), source.n_rows, paid)
        if self.target and target is not None:
            target = self._of_each(target, lambda: (y[:, None] for _, y in source.blocks()), source.n_rows, paid)
        return span, target

    def _of_each(self, span: Span, columns: Columns, rows: int, paid: Paid) -> Span:
        assert self.single is not None
        for _ in range(_rounds(span)):
            span = self._narrowed(span, columns, rows, paid, self.single)
        return span

    def _of_all(self, span: Span, source: RowSource, paid: Paid, choice: Choice) -> Span:
        """One window for all columns, in units of their declared bounds."""
        some = np.arange(0, span.low.size, _every(span.low.size))

        def units() -> Iterator[Array]:
            for X, _ in source.blocks():
                limited = np.clip(X[:, some], span.low[some], span.high[some])
                yield np.clip((limited - span.middle[some]) / span.half[some], -1.0, 1.0).reshape(-1, 1)

        one = Span(np.array([-1.0]), np.array([1.0]))
        found = self._narrowed(one, units, source.n_rows * some.size, paid, choice)
        low, high = span.middle + span.half * found.low[0], span.middle + span.half * found.high[0]
        return Span(np.maximum(low, span.low), np.minimum(high, span.high))

    def _narrowed(self, span: Span, columns: Columns, values: int, paid: Paid, choice: Choice) -> Span:
        """The windows of columns within their declared bounds."""
        edges = [cells_of(low, high) for low, high in zip(span.low, span.high, strict=True)]
        counted = _counted(columns, edges, span, None)
        middle = np.array(
            [
                cells[choice.best(scores(counts, values // 2), paid)]
                for cells, counts in zip(edges, counted, strict=True)
            ]
        )
        largest = np.maximum(span.high - middle, middle - span.low)
        edges = [deviations_of(float(one)) for one in largest]
        counted = _counted(columns, edges, span, middle)
        wanted = math.ceil(self.quantile * values)
        found = np.array(
            [cells[choice.best(scores(counts, wanted), paid) + 1] for cells, counts in zip(edges, counted, strict=True)]
        )
        return _window(span, middle, found, _SPREADS / float(ndtri(0.5 + 0.5 * self.quantile)))


def _window(span: Span, middle: Array, deviation: Array, factor: float) -> Span:
    """middle - factor deviation to middle + factor deviation, within the span."""
    alone = deviation < _ALONE * span.half
    # nearly all rows of such a column have one value: keep its declared bounds, or take 1 at either side
    reach = np.where(alone, np.where(span.half >= UNKNOWN, 1.0, np.inf), factor * deviation)
    reach = np.maximum(reach, 1e-6 * np.abs(middle))  # the ends of a window must differ by more than roundings
    return Span(np.maximum(span.low, middle - reach), np.minimum(span.high, middle + reach))


def _counted(columns: Columns, edges: list[Array], span: Span, middle: Array | None) -> NDArray[np.int64]:
    """For each column the number of rows in each cell: of its values, or of their distances from the middle."""
    counts = np.zeros((len(edges), CELLS), dtype=np.int64)
    for block in columns():
        for place, cells in enumerate(edges):
            values = np.clip(block[:, place], span.low[place], span.high[place])
            if middle is not None:
                values = np.minimum(np.abs(values - middle[place]), cells[-1])
            counts[place] += counts_in(cells, values)
    return counts


def _every(width: int) -> int:
    """Every column is counted in a common window, or every second one, and so on, if there are very many."""
    return -(-width // _COUNTED)


def _rounds(span: Span) -> int:
    return 2 if bool((span.half >= UNKNOWN).any()) else 1


def windows_plan(
    span: Span | None,
    target: Span | None,
    rows: int,
    epsilon: float,
    delta: float,
    *,
    relation: Relation = REPLACED_ROW,
    pooled: bool = False,
    share: float = SHARE,
) -> Windows:
    """The choices that find the windows of these columns, None for columns whose bounds are known.

    `pooled` finds one window for all features in any case. A neighbour with k rows among N has the effect of one row
    among N / k.
    """
    among = rows / relation.rows
    singles = 0 if target is None else 2 * _rounds(target)
    width = 0 if span is None else span.low.size
    each = 0 if span is None else 2 * _rounds(span) * width
    alone = _precision(singles + each, among, epsilon, delta, share)
    pooled = span is not None and (pooled or width > MOST_COLUMNS or (alone is None and width > 1))
    if span is not None and pooled and _rounds(span) > 1:
        raise Unsupported(_not_without_bounds(width, singles, among, rows, epsilon, delta))
    times = singles + (2 if pooled else each)
    precision = _precision(times, among, epsilon, delta, share) or _FEWEST
    length = math.inf if math.isinf(epsilon) else 2.0 * precision / among
    if not math.isinf(epsilon) and share_of(length, times, epsilon, delta) > _TOO_MUCH:
        raise Unsupported(
            f"{rows} rows are too few to find bounds privately at this budget; declare the range of each column from "
            "general knowledge, such as bounds=[(18, 100), (0, 50)], and leave refine_bounds out."
        )
    single = singles + (0 if pooled else each)
    one, all_, kind = relation.rows, relation.rows * -(-width // _every(width)) if pooled else 0, relation.neighbours
    return Windows(
        span is not None,
        target is not None,
        pooled,
        1.0 - _SAFE / precision,
        Choice("quantiles of columns", CELLS, one, single, length, kind) if single else None,
        Choice("quantiles of all columns together", CELLS, all_, 2, length, kind) if pooled else None,
    )


def _not_without_bounds(width: int, singles: int, among: float, rows: int, epsilon: float, delta: float) -> str:
    """Why the bounds of so many columns cannot be found, and what can be done."""
    few = f"{rows} rows are too few to find the bounds of {width} columns privately at this budget"
    many = f"the bounds of at most {MOST_COLUMNS} columns can be found, and X has {width}"
    why = few if width <= MOST_COLUMNS else many
    times = singles + 2  # one window for all features, within declared bounds
    length = 2.0 * (_precision(times, among, epsilon, delta, SHARE) or _FEWEST) / among
    if share_of(length, times, epsilon, delta) <= _TOO_MUCH:
        return f"{why}; declare wide bounds, such as bounds=(-1000, 1000), and write refine_bounds=True."
    return f"{why}; declare the range of each column from general knowledge, such as bounds=[(18, 100), (0, 50)]."


def _precision(times: int, rows: float, epsilon: float, delta: float, share: float) -> float | None:
    """Rows in the data for each row of noise; None if even the largest share of the budget gives too few."""
    if math.isinf(epsilon):
        return _MOST
    for part in (share, MOST_SHARE):
        found = 0.5 * rows * range_for(part, max(times, 1), epsilon, delta)
        if found >= _FEWEST:
            return min(found, _MOST) if part == share else _FEWEST
    return None
