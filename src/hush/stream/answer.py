"""`StreamAnswer`: running totals, counts and windows of a stream, from what was published."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass, field
from functools import cached_property
from typing import Any

import numpy as np
from numpy.typing import NDArray

from hush.errors import InvalidParameter, whole
from hush.releasing.error_bars import Total
from hush.releasing.receipt import Receipt
from hush.stream.plan import StreamPlan
from hush.workload.consistent import whole_steps_of

__all__ = ["StreamAnswer"]

Array = NDArray[np.float64]
Whole = NDArray[np.int64]


@dataclass(frozen=True, eq=False, repr=False)
class StreamAnswer:
    """The answer of a stream at the end of a period. All of it is post-processing of `noisy`, the noisy numbers.

    `estimates` has the unbiased estimate of the count of each period. Under blocks they improve when a block closes, so
    totals of earlier periods may differ from those that were published then; `published` has those.
    """

    plan: StreamPlan
    noisy: tuple[tuple[int, ...], ...] = field(repr=False)
    entry: Mapping[str, Any] = field(repr=False)
    #: The names of the periods; empty texts where none was given.
    labels: tuple[str, ...] = field(default=(), repr=False)

    @property
    def period(self) -> int:
        """The number of the last period."""
        return len(self.noisy)

    @cached_property
    def estimates(self) -> Array:
        """The estimated count of each period, from everything published so far."""
        return self.plan.strategy.estimated(self.noisy)

    @property
    def counts(self) -> Whole:
        """The count of each period in whole numbers; it may be negative."""
        return whole_steps_of(self.estimates)

    @property
    def totals(self) -> Whole:
        """The running total at the end of each period in whole numbers, from everything published so far."""
        return np.cumsum(self.counts)

    @property
    def total(self) -> Total:
        """The running total of all periods so far, with a 95 % interval."""
        return self.window(1, self.period)

    @property
    def latest(self) -> Total:
        """The answer to the stream's question at the end of the last period, with a 95 % interval."""
        return self.window(max(1, self.period - self.plan.stream.window + 1), self.period)

    @property
    def published(self) -> Array:
        """The answer to the stream's question as it was at the end of each period."""
        window, strategy = self.plan.stream.window, self.plan.strategy
        if not strategy.revises:
            sums = np.concatenate([[0.0], np.cumsum(self.estimates)])
            end = np.arange(1, self.period + 1)
            return sums[end] - sums[np.maximum(end - window, 0)]
        each = [strategy.estimated(self.noisy[:t])[max(0, t - window) :].sum() for t in range(1, self.period + 1)]
        return np.array(each, dtype=np.float64)

    def at(self, period: int) -> StreamAnswer:
        """The answer as it was at the end of an earlier period."""
        last = whole("period", period, 1)
        if last > self.period:
            raise InvalidParameter(f"period must be at most {self.period}, the periods so far, got {last}.")
        return StreamAnswer(self.plan, self.noisy[:last], self.entry, self.labels[:last])

    def window(self, first: int, last: int, *, level: float = 0.95) -> Total:
        """The total of the periods first, ..., last, not rounded, with an interval."""
        if not self.noisy:
            raise InvalidParameter("nothing is published yet, so there is no total; add the first period.")
        start, stop = whole("first", first, 1), whole("last", last, 1)
        if not start <= stop <= self.period:
            raise InvalidParameter(
                f"a window needs 1 <= first <= last <= {self.period}, the periods so far; got first={start} and "
                f"last={stop}."
            )
        weights = np.zeros(self.period)
        weights[start - 1 : stop] = 1.0
        strategy = self.plan.strategy
        width = strategy.law(weights).half_width(level) + strategy.rounding(weights)
        value = float(weights @ self.estimates)
        return Total(value, value - width, value + width)

    @property
    def receipt(self) -> Receipt:
        """What the stream guarantees, and what was measured so far."""
        stream = self.plan.stream
        about = {
            "stream": repr(stream),
            "periods": self.period,
            "strategy": self.plan.strategy.name,
            "appears": stream.appears,
            "apart": stream.apart,
            "corrections": stream.corrections,
            "error": {"root_mean_squared": self.plan.rmse, "of": stream.objective},
            "measured": sum(len(numbers) for numbers in self.noisy),
        }
        return Receipt.of("stream", self.plan.guarantee, self.plan.charges, ledger=self.entry, about=about)

    def __repr__(self) -> str:
        if not self.noisy:
            return f"StreamAnswer: {self.plan.stream}; nothing is published yet"
        low, high = self.latest.low, self.latest.high
        shown = f"period {self.period}: {self.latest.value:.1f}, 95 % interval {low:.1f} to {high:.1f}"
        return f"StreamAnswer: {self.plan.stream}; {shown}"
