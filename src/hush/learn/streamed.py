"""A fit that reads its rows block by block, as often as it needs them.

Every released number is a sum of integers over single rows. Blocks are added as Python integers, so the sums are exact
for any number of blocks and in any order. A sum beyond 2^53 is moved to that end, which never increases a distance.
"""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import replace
from typing import Any

import numpy as np
from numpy.typing import NDArray

from hush.errors import Unsupported
from hush.learn.block_rows import blocks_of
from hush.learn.descent import Trace, descend
from hush.learn.moment_solver import Products, product_grain, released, whole_rows
from hush.learn.objective import LOGISTIC
from hush.learn.paid import Paid
from hush.learn.penalty import Penalty
from hush.learn.rows import Rows, grain
from hush.learn.scaling import Scaling, Span, moment_sums, scaling_from
from hush.learn.training import Fit, Plan, Progress, Request, plan, radius_of, solved
from hush.learn.units import original_weights, scaled_penalty, scaled_weights
from hush.ledger.payment import Payment
from hush.sampling.entropy import Entropy

__all__ = ["plan_of_blocks", "train_blocks"]

Array = NDArray[np.float64]

_FURTHEST = 1 << 53  # integers up to here are exact in floats


def plan_of_blocks(request: Request, rows: int, counted: Any = None) -> Plan:
    """The plan of a fit that reads its rows in blocks: a solver that needs few readings."""
    made = plan(request, rows, counted)
    if made.setting.solver != "cd":
        return made
    if request.solver == "cd":
        raise Unsupported(
            "solver='cd' reads all rows once for each number that it releases, too often for sparse or streamed rows; "
            "leave solver out."
        )
    return plan(replace(request, solver="gd"), rows, counted)


def train_blocks(
    made: Plan,
    source: Any,
    *,
    before: tuple[Array, float] | None = None,
    after_pass: Progress = None,
    payment: Payment | None = None,
    entropy: Entropy | None = None,
) -> Fit:
    """`train` for a source of blocks: the same releases, from the same sums.

    Guarantees: a plan with noise raises `NotPaid` without a payment, or if the payment's noise was already drawn.
    """
    request, paid = made.request, Paid(payment, entropy)
    scaling = _scaling(made, source, paid)
    data = _Scaled(made, source, scaling)
    penalty = scaled_penalty(request, data.own, data.of_target)
    start = scaled_weights(before, data.own, data.of_target, request.fit_intercept)
    if made.setting.solver == "statistics":
        trace = solved(made, _products(made, data, paid), penalty, start, after_pass)
    else:
        trace = _by_gradients(made, data, penalty, start, after_pass, paid)
    coefficients, intercept = original_weights(trace.weights[-1], data.own, data.of_target, request.fit_intercept)
    return Fit(coefficients, intercept, scaling, trace, made)


def _scaling(made: Plan, source: Any, paid: Paid) -> Scaling:
    request, part, span = made.request, made.part("means and spreads"), made.request.whole_span
    if part is not None:
        sums = _exact(moment_sums([*X.T, y][: span.low.size], span) for X, y, _ in blocks_of(source))
        sums = sums if sums.ndim else np.zeros((2, span.low.size), dtype=np.int64)
        return request.finished(scaling_from(sums, made.rows, span, part, paid))
    if request.private and request.scaling == "public":
        return request.finished(Scaling.public(span))
    return request.finished(_of_data(source, span))


def _of_data(source: Any, span: Span) -> Scaling:
    """The means and spreads of the data, without noise: not private."""

    def inside() -> Iterator[Array]:
        for X, y, _ in blocks_of(source):
            yield np.clip(np.column_stack([X, y])[:, : span.low.size], span.low, span.high)

    count = sum(map(len, inside()))
    centre = np.sum([part.sum(axis=0) for part in inside()], axis=0) / count
    spread = np.sqrt(np.sum([((part - centre) ** 2).sum(axis=0) for part in inside()], axis=0) / count)
    return Scaling.with_spread(centre, spread, span)


class _Scaled:
    """The scaled blocks of a source: features, constant and target as rows of an array, and the weights of the rows."""

    def __init__(self, made: Plan, source: Any, scaling: Scaling) -> None:
        width = made.request.span.low.size
        self.own, self.of_target = scaling[:width], scaling[width:]
        self._source, self._width, self._constant = source, width, made.request.fit_intercept

    def __iter__(self) -> Iterator[tuple[Array, Array | None]]:
        width = self._width
        for X, y, weights in blocks_of(self._source):
            block = np.empty((width + self._constant + 1, len(y)))
            block[:width], block[width:-1], block[-1] = X.T, 1.0, y
            self.own.apply(block[:width])
            self.of_target.apply(block[-1:])
            yield block, weights


def _exact(parts: Iterator[Array] | Any) -> NDArray[np.int64]:
    """The sum of arrays of whole numbers, added as Python integers."""
    total: Any = 0
    for part in parts:
        total = total + part.astype(np.int64).astype(object)
    return np.asarray(np.clip(total, -_FURTHEST, _FURTHEST), dtype=np.int64)


def _products(made: Plan, data: _Scaled, paid: Paid) -> Products:
    width, part = made.request.span.low.size + made.request.fit_intercept + 1, made.part("sums of products")
    radius, mean = radius_of(made.setting, width - 1), np.zeros((width, width))

    def each() -> Iterator[Array]:
        for block, weights in data:
            if made.request.objective is LOGISTIC:
                block[-1] = 2.0 * block[-1] - 1.0  # the label as -1 or 1
            if weights is not None:
                block *= np.sqrt(weights)  # products of two entries then have the weight of their row
            if part is None:
                mean[:] += block @ block.T / made.rows
                continue
            rows, _ = whole_rows(block, radius, made.room)
            yield np.rint(rows @ rows.T)

    exact = _exact(each())
    if part is None:
        return Products(mean, 0.0)
    exact = exact if exact.ndim else np.zeros((width, width), dtype=np.int64)
    return released(exact, product_grain(made.room, radius), made.rows, part, paid)


class _Gradients:
    """Sums of gradients over the blocks of a source, at weights that move. It has the methods of `Rows` that full
    gradients need.
    """

    def __init__(self, made: Plan, data: _Scaled, clips: Array, start: Array) -> None:
        self.count, self.objective, self.clips = made.rows, made.request.objective, clips
        self.clipped = bool(np.isfinite(clips).all())
        self.unit = clips / grain(made.room) if self.clipped else np.ones_like(clips)
        self._data, self._weights, self._room = data, start.copy(), made.room

    def totals(self) -> Array:
        """The sums for all coordinates at the current weights."""
        if not self.clipped:
            return np.sum(list(self._each()), axis=0)
        exact = _exact(self._each())
        return np.asarray(exact if exact.ndim else np.zeros_like(self.unit), dtype=np.float64)

    def _each(self) -> Iterator[Array]:
        for block, weights in self._data:
            rows = Rows(block[:-1], block[-1], self.objective, self.clips, weights=weights, rows=self._room)
            rows.move_all(self._weights)
            yield rows.totals()

    def move_all(self, changes: Array) -> None:
        """Change the weights."""
        self._weights += changes


def _by_gradients(made: Plan, data: _Scaled, penalty: Penalty, start: Array, after_pass: Progress, paid: Paid) -> Trace:
    chosen = made.setting
    if not made.parts and made.request.step is None:  # no privacy: use the true eigenvalue
        products = sum(block[:-1] @ block[:-1].T for block, _ in data)
        chosen = replace(chosen, step=0.99 / float(np.linalg.eigvalsh(np.asarray(products) / made.rows)[-1]))
    rows: Any = _Gradients(made, data, np.array(chosen.clips), start)
    return descend(rows, penalty, chosen, made.part("updates"), start, paid, after_pass=after_pass)
