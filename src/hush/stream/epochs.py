"""A stream whose end is not known: epochs of periods, each twice as long as the one before.

Every epoch is a stream of its own with a known horizon. A running total is the sum of the final totals of the epochs
that are over and of the total of the present one.

A person may appear in several epochs. With Laplace noise every appearance costs epsilon/k in any epoch, so k of them
cost epsilon. With Gaussian noise each epoch is scaled so that j appearances in it move its numbers by a squared length
of at most j L^2/k, for every j. Then k appearances anywhere move all numbers by at most L.
"""

from __future__ import annotations

import math
from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass, field
from typing import Any

import numpy as np
from numpy.typing import NDArray

from hush.errors import Unsupported
from hush.privacy.charge import Budget, Charge
from hush.privacy.sensitivity import Sensitivity
from hush.sampling.mechanism import Mechanism
from hush.stream.block_sizes import best_blocks
from hush.stream.blocks import BlockStream, block_stream
from hush.stream.matrix import MatrixStream, must_have_delta, normalised_rows
from hush.stream.power import power_rows
from hush.stream.rows import Rows, most_appearances, rows_from
from hush.stream.strategy import Measured, StreamStrategy, paid_part
from hush.workload.strategy import gaussian_part, spared, whole_laplace
from hush.workload.sum_law import SumLaw

__all__ = ["SHOWN", "EpochStream", "gaussian_epochs", "laplace_epochs"]

Array = NDArray[np.float64]

_FIRST = 32  # periods of the first epoch
_EPOCHS = 8  # 8,160 periods in all
#: Periods for which the errors of a stream without a horizon are compared and listed.
SHOWN = 480


@dataclass(frozen=True, eq=False)
class EpochStream(StreamStrategy):
    """Streams one after the other; `parts` has one mechanism, which covers the noise of all of them."""

    epochs: tuple[StreamStrategy, ...] = field(kw_only=True, repr=False)

    @property
    def revises(self) -> bool:
        return any(epoch.revises for epoch in self.epochs)

    def single(self, part: int) -> Mechanism:
        """The mechanism of one number. `part` counts the parts of all epochs."""
        for epoch in self.epochs:
            if part < len(epoch.parts):
                found = epoch.parts[part]
                charge = self.parts[0].charge
                return Mechanism(found.noise, found.sensitivity, found.step, True, 1, part_of=charge)
            part -= len(epoch.parts)
        raise Unsupported("the strategy has fewer parts.")

    def _cuts(self, periods: int) -> Iterator[tuple[int, StreamStrategy, int, int]]:
        """The first part, the strategy, and the first and last period of each epoch that has begun."""
        first, start = 0, 0
        for epoch in self.epochs:
            if start >= periods:
                return
            yield first, epoch, start, min(start + epoch.horizon, periods)
            first, start = first + len(epoch.parts), start + epoch.horizon

    def measured(self, counts: Sequence[int]) -> list[Measured]:
        first, epoch, start, _ = list(self._cuts(len(counts)))[-1]
        return [(first + part, number) for part, number in epoch.measured(counts[start:])]

    def estimated(self, noisy: Sequence[Sequence[int]]) -> Array:
        each = [epoch.estimated(noisy[start:stop]) for _, epoch, start, stop in self._cuts(len(noisy))]
        return np.concatenate([np.zeros(0), *each])

    def law(self, weights: Array) -> SumLaw:
        laws = [epoch.law(weights[start:stop]) for _, epoch, start, stop in self._cuts(len(weights))]
        return SumLaw(sum(law.normal for law in laws), tuple(term for law in laws for term in law.terms))

    def variances(self, window: int) -> Array:
        """For the first periods: of totals if the window is at least as long, else of single periods or windows."""
        if window >= SHOWN:
            found, before = [], 0.0
            for _, epoch, start, stop in self._cuts(SHOWN):
                each = before + epoch.variances(epoch.horizon)
                found.append(each[: stop - start])
                before = float(each[-1])
            return np.concatenate(found)
        every = np.empty(SHOWN)
        for t in range(1, SHOWN + 1):
            weights = np.zeros(t)
            weights[max(0, t - window) :] = 1.0
            every[t - 1] = self.law(weights).variance
        return every

    def to_plain(self) -> dict[str, Any]:
        first = self.epochs[0]
        if isinstance(first, BlockStream):
            each = [epoch.to_plain() for epoch in self.epochs]
            return {"kind": "epochs", "of": "blocks", "name": self.name, "epochs": each}
        rows = [epoch.rows.to_plain() for epoch in self.epochs if isinstance(epoch, MatrixStream)]
        return {"kind": "epochs", "of": "matrices", "name": self.name, "epochs": rows}

    @classmethod
    def from_plain(cls, values: Mapping[str, Any], paid: Sequence[Charge]) -> EpochStream:
        """The strategy that `to_plain` stored, with the noise that was paid for."""
        part = paid_part(paid[0], 1)
        if values["of"] == "blocks":
            return _epochs(values["name"], part, [BlockStream.from_plain(one) for one in values["epochs"]])
        return _of_rows(values["name"], part, [rows_from(one) for one in values["epochs"]])

    def rounding(self, weights: Array) -> float:
        return sum(epoch.rounding(weights[start:stop]) for _, epoch, start, stop in self._cuts(len(weights)))


def laplace_epochs(window: int, budget: Budget, appears: int) -> EpochStream:
    """Blocks with Laplace noise in every epoch, the best of one to three levels.

    The charge is one whole number that moves by 1 under Laplace noise of the whole epsilon. Its loss is epsilon or
    -epsilon, with the probabilities of a coin with the odds e^epsilon. So its curve is above that of everything with
    this pure epsilon.
    """
    each = []
    for length in _lengths():
        tried = []
        for levels in (1, 2, 3):
            try:
                tried.append(best_blocks(length, length, budget.epsilon, appears, levels))
            except Unsupported:
                continue
        levelled = min(tried, key=lambda one: one.error)
        each.append(block_stream(length, levelled.sizes, levelled.epsilons, appears))
    whole = Mechanism(whole_laplace(spared(budget.epsilon), 1), Sensitivity(linf=1.0, l0=1), 1.0, True, 1)
    return _epochs("Laplace noise on blocks in epochs of doubled length", whole, each).for_window(window)


def _epochs(name: str, part: Mechanism, each: Sequence[StreamStrategy]) -> EpochStream:
    return EpochStream(name, (part,), sum(one.horizon for one in each), math.nan, epochs=tuple(each))


def gaussian_epochs(window: int, budget: Budget, appears: int, apart: int) -> EpochStream:
    """The normalised square root in every epoch, or banded powers for people who come back."""
    must_have_delta(budget)
    rows: list[Rows] = []
    for length in _lengths():
        once = appears == 1
        rows.append(normalised_rows(length) if once else power_rows(length, length, appears, apart, searched=256))
    costs = max(_dearest(one, appears, apart) for one in rows)
    name = "Gaussian noise on combinations in epochs of doubled length"
    return _of_rows(name, gaussian_part(math.sqrt(appears * costs), 1, budget), rows).for_window(window)


def _dearest(rows: Rows, appears: int, apart: int) -> float:
    """The largest squared length for each appearance."""
    most = most_appearances(rows.horizon, appears, apart)
    return max(rows.squared_length(j, apart) / j for j in range(1, most + 1))


def _of_rows(name: str, part: Mechanism, rows: Sequence[Rows]) -> EpochStream:
    made = [MatrixStream(name, (part,), one.horizon, math.nan, rows=one, appears=1, apart=1) for one in rows]
    return _epochs(name, part, made)


def _lengths() -> list[int]:
    return [_FIRST << epoch for epoch in range(_EPOCHS)]
