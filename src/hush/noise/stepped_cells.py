"""The half line of a step density, in units of the cell width: density, tail, quantile and moments.

Cell i is [i, i + 1). The listed cells have densities proportional to `heights`. With ratio > 0 the last `period` cells
are repeated for ever, each time multiplied by ratio.
"""

from __future__ import annotations

import math
from dataclasses import dataclass
from functools import cached_property

import numpy as np
from numpy.typing import NDArray

__all__ = ["Cells"]

Array = NDArray[np.float64]


@dataclass(frozen=True)
class Cells:
    """A symmetric step density on cells of width 1."""

    heights: tuple[float, ...]
    ratio: float
    period: int

    @cached_property
    def _log_heights(self) -> Array:
        """log density of the listed cells."""
        h = np.array(self.heights)
        total = math.fsum(h) + math.fsum(h[-self.period :]) * self.ratio / (1.0 - self.ratio)
        with np.errstate(divide="ignore"):
            return np.log(h) - math.log(2.0 * total)

    @property
    def unimodal(self) -> bool:
        """True if the heights never rise, including from one repetition to the next."""
        h = np.append(self.heights, self.heights[-self.period] * self.ratio)
        return bool((np.diff(h) <= 0.0).all())

    def log_density(self, cell: Array) -> Array:
        """Return the log density of the cells with these numbers, 0, 1, 2, ..."""
        n = len(self.heights)
        past = np.maximum(cell - (n - self.period), 0.0)
        rounds = np.floor(past / self.period)
        # clipped, because floats do not distinguish neighbouring cells beyond 2^53
        inside = np.clip(past - rounds * self.period, 0.0, self.period - 1.0)
        index = np.where(cell < n, cell, n - self.period + inside).astype(np.int64)
        if self.ratio == 0.0:
            return np.where(cell < n, self._log_heights[np.minimum(index, n - 1)], -np.inf)
        with np.errstate(invalid="ignore"):
            return self._log_heights[index] + np.where(cell < n, 0.0, rounds * math.log(self.ratio))

    @cached_property
    def _beyond(self) -> Array:
        """P(X > i) for i = 0, 1, ..., number of listed cells, summed from the outside in."""
        mass = np.exp(self._log_heights)
        tail = mass[-self.period :].sum() * self.ratio / (1.0 - self.ratio)
        return np.append(np.cumsum(np.append(tail, mass[::-1]))[::-1][:-1], tail)

    def log_tail(self, u: Array) -> Array:
        """Return log P(X > u) for u >= 0."""
        n = len(self.heights)
        past = np.maximum(np.floor((u - n) / self.period) + 1.0, 0.0) if self.ratio > 0.0 else np.zeros_like(u)
        folded = np.minimum(u - past * self.period, float(n))
        cell = np.minimum(np.floor(folded), n - 1.0).astype(np.int64)
        part = np.clip(cell + 1.0 - folded, 0.0, 1.0)
        with np.errstate(divide="ignore"):
            log_sf = np.log(self._beyond[cell + 1] + part * np.exp(self._log_heights[cell]))
        return log_sf + (past * math.log(self.ratio) if self.ratio > 0.0 else 0.0)

    def quantile(self, v: Array) -> Array:
        """Return the u >= 0 with P(X > u) = v, for 0 < v <= 1/2."""
        n = len(self.heights)
        past = np.zeros_like(v)
        if self.ratio > 0.0:
            end = self._beyond[-1]
            past = np.where(v < end, np.floor(np.log(np.minimum(v / end, 1.0)) / math.log(self.ratio)) + 1.0, 0.0)
            v = np.exp(np.log(v) - past * math.log(self.ratio))
        cell = np.clip(np.searchsorted(-self._beyond, -v, side="right") - 1, 0, n - 1)
        mass = np.exp(self._log_heights[cell])
        part = np.divide(v - self._beyond[cell + 1], mass, out=np.zeros_like(v), where=mass > 0.0)
        return cell + 1.0 - np.clip(part, 0.0, 1.0) + past * self.period

    def moment(self, power: int) -> float:
        """Return E |X|^power for power 1 or 2; the repeated cells are summed in closed form."""
        i = np.arange(len(self.heights), dtype=np.float64)
        mass = np.exp(self._log_heights)
        total = float(np.sum(mass * _cell_moment(i, power)))
        if self.ratio > 0.0:
            q, p = self.ratio, float(self.period)
            # sums of q^r, r q^r and r^2 q^r over r >= 1
            s0, s1, s2 = q / (1 - q), q / (1 - q) ** 2, q * (1 + q) / (1 - q) ** 3
            last, tail = i[-self.period :], mass[-self.period :]
            if power == 1:
                total += float(np.sum(tail * (_cell_moment(last, 1) * s0 + p * s1)))
            else:
                total += float(
                    np.sum(tail * (_cell_moment(last, 2) * s0 + 2.0 * p * _cell_moment(last, 1) * s1 + p * p * s2))
                )
        return 2.0 * total


def _cell_moment(i: Array, power: int) -> Array:
    """Return the integral of x^power over [i, i + 1)."""
    return i + 0.5 if power == 1 else i * i + i + 1.0 / 3.0
