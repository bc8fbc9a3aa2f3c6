"""Blocks of periods with whole-number Laplace noise.

Level 0 counts each period. Level h counts blocks of s_h periods, each size a multiple of the one before. A block is
measured when it closes. At the end of period t the closed blocks are a forest, and least squares combines them. Let V_h
be the variance of the noise of level h, and m_h the number of blocks of level h - 1 in one of level h. A closed block
with everything below it has the variance

    v_0 = V_0,    1/v_h = 1/V_h + 1/(m_h v_(h-1)),

because the sum of its m_h parts is a second, independent estimate. Closed blocks that are side by side are independent.
So the running total of t periods has the variance d_0 v_0 + d_1 v_1 + ..., where d_h are the digits of t: t is d_0 +
d_1 s_1 + d_2 s_2 + ... with d_h < m_(h+1).
(Dwork, Naor, Pitassi and Rothblum 2010 and Chan, Shi and Song 2011 for trees of blocks.)

One appearance of a person moves one block of every level by 1. With k appearances the moves of a level add up to at
most k, so Laplace noise of the epsilons e_h has the pure epsilon e_0 + ... + e_H if its scale at level h is k/e_h.
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field, replace
from itertools import pairwise
from typing import Any

import numpy as np
from numpy.typing import NDArray

from hush.privacy.charge import Charge
from hush.stream.strategy import Measured, StreamStrategy, limited, paid_part, windows_of
from hush.workload.strategy import laplace_part, laplace_variance
from hush.workload.sum_law import SumLaw, laplace_terms

__all__ = ["BlockStream", "block_stream", "digits", "up_to"]

Array = NDArray[np.float64]


def up_to(sizes: Sequence[int], variances: Sequence[float]) -> list[float]:
    """v_h of every level."""
    found = [float(variances[0])]
    for below, size, variance in zip(sizes, sizes[1:], variances[1:], strict=False):
        found.append(1.0 / (1.0 / variance + 1.0 / (size // below * found[-1])))
    return found


def digits(sizes: Sequence[int], horizon: int) -> Array:
    """The digits of t = 1, ..., horizon, a row for each level."""
    t = np.arange(1, horizon + 1)
    rows = [t % after // size for size, after in pairwise(sizes)]
    return np.array([*rows, t // sizes[-1]], dtype=np.float64)


@dataclass(frozen=True, eq=False)
class BlockStream(StreamStrategy):
    """Counts of closed blocks of `sizes` periods, from 1 upwards. `epsilons` has the epsilon of a move by 1 for each
    level.
    """

    sizes: tuple[int, ...] = field(kw_only=True)
    epsilons: tuple[float, ...] = field(kw_only=True)
    appears: int = field(kw_only=True)

    @property
    def revises(self) -> bool:
        return len(self.sizes) > 1

    @property
    def _noise_variances(self) -> list[float]:
        return [laplace_variance(epsilon) for epsilon in self.epsilons]

    def measured(self, counts: Sequence[int]) -> list[Measured]:
        t = len(counts)
        return [
            (level, limited(sum(counts[t - size :]))) for level, size in enumerate(self.sizes) if t and t % size == 0
        ]

    def estimated(self, noisy: Sequence[Sequence[int]]) -> Array:
        levels: list[list[float]] = [[] for _ in self.sizes]
        for numbers in noisy:
            for level, number in enumerate(numbers):
                levels[level].append(float(number))
        return self._solved([np.array(level) for level in levels])

    def _solved(self, levels: Sequence[Array]) -> Array:
        """The least squares estimates of all periods: upwards from parts to blocks, then downwards."""
        noise, sizes = self._noise_variances, self.sizes
        own = up_to(sizes, noise)
        found, sums = [np.asarray(levels[0], dtype=np.float64)], [np.zeros(0)]
        for h in range(1, len(sizes)):
            parts, closed = sizes[h] // sizes[h - 1], len(levels[h])
            below = found[-1][: closed * parts].reshape(closed, parts).sum(axis=1)
            found.append(own[h] * (levels[h] / noise[h] + below / (parts * own[h - 1])))
            sums.append(below)
        for h in range(len(sizes) - 1, 0, -1):
            parts, closed = sizes[h] // sizes[h - 1], len(levels[h])
            found[h - 1][: closed * parts] += np.repeat((found[h] - sums[h]) / parts, parts)
        return found[0]

    def _weighted(self, weights: Array) -> Array:
        """The inverse of the precision matrix of the first periods, times a vector. A vector of measured numbers that
        is 0 above level 0, and V_0 times the vector at level 0, has this vector as its normal equations.
        """
        levels = [weights * self._noise_variances[0]]
        levels += [np.zeros(len(weights) // size) for size in self.sizes[1:]]
        return self._solved(levels)

    def law(self, weights: Array) -> SumLaw:
        solved, terms = self._weighted(weights), []
        for size, variance, epsilon in zip(self.sizes, self._noise_variances, self.epsilons, strict=True):
            closed = len(weights) // size
            nodes = solved[: closed * size].reshape(closed, size).sum(axis=1) / variance
            if nodes.size and np.abs(nodes).max() > 1e-12:
                terms.append(laplace_terms(epsilon, nodes))
        return SumLaw(0.0, tuple(terms))

    def variances(self, window: int) -> Array:
        if len(self.sizes) == 1:
            return np.minimum(np.arange(1.0, self.horizon + 1.0), window) * self._noise_variances[0]
        if window >= self.horizon:
            return np.array(up_to(self.sizes, self._noise_variances)) @ digits(self.sizes, self.horizon)
        return windows_of(lambda weights: float(weights @ self._weighted(weights)), self.horizon, window)

    def to_plain(self) -> dict[str, Any]:
        return {
            "kind": "blocks",
            "horizon": self.horizon,
            "sizes": list(self.sizes),
            "epsilons": list(self.epsilons),
            "appears": self.appears,
        }

    @classmethod
    def from_plain(cls, values: Mapping[str, Any], paid: Sequence[Charge] = ()) -> BlockStream:
        """The strategy that `to_plain` stored, with the noise that was paid for."""
        horizon, sizes = int(values["horizon"]), tuple(int(size) for size in values["sizes"])
        epsilons = tuple(float(epsilon) for epsilon in values["epsilons"])
        made = block_stream(horizon, sizes, epsilons, int(values["appears"]))
        counts = [part.coordinates for part in made.parts]
        parts = tuple(paid_part(charge, count) for charge, count in zip(paid, counts, strict=True)) if paid else ()
        return replace(made, parts=parts or made.parts)


def block_stream(horizon: int, sizes: tuple[int, ...], epsilons: tuple[float, ...], appears: int) -> BlockStream:
    """Blocks of these sizes; `epsilons` has the epsilon of one move by 1 for each level."""
    parts = tuple(
        laplace_part(appears * epsilon, max(horizon // size, 1), 1, appears)
        for size, epsilon in zip(sizes, epsilons, strict=True)
    )
    shown = ", ".join(str(size) for size in sizes)
    name = "Laplace noise on each period" if len(sizes) == 1 else f"Laplace noise on blocks of {shown} periods"
    return BlockStream(name, parts, horizon, float("nan"), sizes=sizes, epsilons=epsilons, appears=appears)
