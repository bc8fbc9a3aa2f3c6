"""Screening: the columns that a fit keeps, chosen privately by their agreement with the target.

Each feature is centred and divided by a public or released unit, limited to [-1, 1] and rounded to whole numbers u of
2^-12. The target becomes a label: above or not above its private median. (The labels of a classifier are used as they
are.) With a private share p of the first label, t is proportional to label - p, its largest absolute value is 1, and it
is rounded to whole numbers of 2^-12. The score of a column is |sum over rows of t u|: a whole number. One row adds at
most 2^24 in absolute value, so a replaced row moves every score by at most 2^25, and a row that is added or removed by
at most 2^24. The k columns are k choices by Gumbel noise (`choices`), whose cost depends on k, and not on the number of
columns.
"""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import dataclass
from typing import Any

import numpy as np
from numpy.typing import NDArray

from hush.errors import Unsupported, reject, whole
from hush.learn.choices import CELLS, Choice, cells_of, counts_in, range_for, scores
from hush.learn.paid import Paid
from hush.learn.relation import REPLACED_ROW, Relation
from hush.learn.row_source import Block, RowSource, blocks_of
from hush.learn.scaling import Span
from hush.learn.whole_sums import chunks
from hush.learn.windows import Windows, windows_plan

__all__ = ["KeptColumns", "Screen", "column_scores", "columns_to_keep", "screen_plan"]

Array = NDArray[np.float64]

_GRAIN = 1 << 12  # whole numbers of a limited feature, and of a centred label
_SHARE, _UNITS_SHARE, _LABEL_SHARE = 0.25, 0.02, 0.03  # parts of the budget: the choices, the units, the label
_SPREADS = 4.6  # half the length of a window, in spreads of a normal column
_NOISE = 0.022  # the noise of a matrix of products that a fit of the kept columns may have
_FEWEST, _MOST = 8, 30
_MANY = 3  # columns are screened if there are this many times as many as are kept


@dataclass(frozen=True)
class Screen:
    """The plan of a screening: how many columns are kept, by which choices."""

    keep: int
    columns: Choice
    label: Choice
    #: the plan that finds a unit for all columns together; None if their bounds are found anyway, or for few rows
    units: Windows | None

    @property
    def choices(self) -> tuple[Choice, ...]:
        return (self.columns, self.label, *(() if self.units is None else self.units.choices))

    def kept(self, span: Span, target: Span | None, source: RowSource, paid: Paid) -> NDArray[np.int64]:
        """The places of the kept columns, in their order in X."""
        if self.units is not None:
            span, _ = self.units.found(span, None, source, paid)
        limit = 0.5 if target is None else self._median(target, source, paid)
        share = self._share(limit, source, paid)
        scored = column_scores(span, limit, share, source)
        return np.sort(self.columns.all_best(scored, paid))

    def _median(self, target: Span, source: RowSource, paid: Paid) -> float:
        edges, counts = cells_of(float(target.low[0]), float(target.high[0])), np.zeros(CELLS, dtype=np.int64)
        for _, y in source.blocks():
            counts += counts_in(edges, np.clip(y, edges[0], edges[-1]))
        return float(edges[self.label.best(scores(counts, source.n_rows // 2), paid)])

    def _share(self, limit: float, source: RowSource, paid: Paid) -> float:
        """The private share of rows whose target is above the limit."""
        above = sum(int(np.count_nonzero(y > limit)) for _, y in source.blocks())
        points = np.rint(np.linspace(0.0, source.n_rows, CELLS)).astype(np.int64)
        return float(points[self.label.best(-np.abs(points - above), paid)] / source.n_rows)


def column_scores(span: Span, limit: float, share: float, source: RowSource) -> NDArray[np.int64]:
    """|sum of t u| of every column: exact, because every sum over a block is an integer below 2^53."""
    largest = max(share, 1.0 - share)
    high, low = round(_GRAIN * (1.0 - share) / largest), -round(_GRAIN * share / largest)
    total = np.zeros(span.low.size, dtype=np.int64)
    for X, y in chunks(source):
        label = np.where(y > limit, float(high), float(low))
        units = (np.clip(X, span.low, span.high) - span.middle) * (_GRAIN * _SPREADS / span.half)
        total += (label @ np.rint(np.clip(units, -_GRAIN, _GRAIN))).astype(np.int64)
    return np.abs(total)


def columns_to_keep(given: Any, columns: int, rows: float, amount: float, *, sparse: bool) -> int | None:
    """The number of columns to keep, from public facts; None keeps all of them.

    `amount` is the Gaussian sigma of the budget, and `sparse` says that the penalty sets coefficients to 0.
    """
    hint = "write n_features_to_keep=10, 'auto' or 'all'"
    if isinstance(given, str):
        if given not in ("auto", "all"):
            raise reject("n_features_to_keep", given, "a whole number, 'auto' or 'all'", hint)
        fewest = _rule(rows, amount)
        return fewest if given == "auto" and sparse and columns >= _MANY * fewest else None
    keep = whole("n_features_to_keep", given, 1, hint)
    if keep > columns:
        raise reject(
            "n_features_to_keep", given, f"at most {columns}, the number of columns", "write n_features_to_keep='all'"
        )
    return None if keep == columns else keep


def _rule(rows: float, amount: float) -> int:
    """The largest number of columns whose products have little noise: 0.72 sigma (k + 2)^1.5 / N <= 0.022."""
    if amount == 0.0:
        return _MOST
    return int(min(max((_NOISE * rows / (0.72 * amount)) ** (2.0 / 3.0) - 2.0, _FEWEST), _MOST))


def screen_plan(
    keep: int,
    span: Span,
    target: Span | None,
    rows: int,
    epsilon: float,
    delta: float,
    *,
    found: bool,
    relation: Relation = REPLACED_ROW,
) -> Screen:
    """The choices of a screening; `found` says that the bounds of the features are found anyway."""
    steps, kind = 1 + (target is not None), relation.neighbours
    move = relation.rows * _GRAIN * _GRAIN * (2 if kind == "replace" else 1)
    wide, narrow = range_for(_SHARE, keep, epsilon, delta), range_for(_LABEL_SHARE, steps, epsilon, delta)
    return Screen(
        keep,
        Choice("columns", span.low.size, move, keep, wide, kind),
        Choice("median and share of the target", CELLS, relation.rows, steps, narrow, kind),
        None if found else _units(span, rows, epsilon, delta, relation),
    )


def _units(span: Span, rows: int, epsilon: float, delta: float, relation: Relation) -> Windows | None:
    """The plan of a common unit; None if there are too few rows, and then the declared bounds are the unit."""
    try:
        return windows_plan(span, None, rows, epsilon, delta, relation=relation, pooled=True, share=_UNITS_SHARE)
    except Unsupported:
        return None


@dataclass(frozen=True)
class KeptColumns:
    """Some of the columns of a source of rows."""

    source: RowSource
    kept: NDArray[np.int64]

    @property
    def n_rows(self) -> int:
        return self.source.n_rows

    @property
    def n_features(self) -> int:
        return int(self.kept.size)

    @property
    def ordered(self) -> bool:
        return bool(getattr(self.source, "ordered", True))

    def blocks(self) -> Iterator[tuple[Array, Array]]:
        for X, y, _ in self.weighted_blocks():
            yield X, y

    def weighted_blocks(self) -> Iterator[Block]:
        for X, y, weights in blocks_of(self.source):
            yield X[:, self.kept], y, weights
