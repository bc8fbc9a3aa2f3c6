"""Strategies for boxes of a grid: counts of nested blocks along several axes, and products of combinations."""

from __future__ import annotations

import math
from collections.abc import Sequence
from dataclasses import dataclass, field
from itertools import pairwise, product
from typing import Any

import numpy as np
from numpy.typing import NDArray

from hush.errors import Unsupported
from hush.workload.blocks import block_means
from hush.workload.box_shares import block_cells, box_precisions
from hush.workload.strategy import Strategy, times_weights
from hush.workload.sum_law import SumLaw, laplace_terms

__all__ = ["BoxBlocks", "BoxMatrices", "BoxStrategy"]

Array = NDArray[np.float64]
Whole = NDArray[np.int64]


def along(values: NDArray[Any], axis: int, change: Any) -> NDArray[Any]:
    """The values with every line along an axis changed; `change` takes and returns lines along the last axis."""
    return np.moveaxis(change(np.moveaxis(values, axis, -1)), -1, axis)


@dataclass(frozen=True, eq=False)
class BoxStrategy(Strategy):
    """A strategy for all boxes of a grid with these numbers of bins."""

    shape: tuple[int, ...] = field(kw_only=True)

    def cells_of(self, data: Any) -> Whole:
        """The exact count of each cell."""
        found: Whole = data.table(tuple(range(len(self.shape))))
        return found

    def law(self, weights: Sequence[Array]) -> Any:
        """The law of the error of a sum of cells; the weight of a cell is the product of a weight for each axis."""
        raise Unsupported(f"{type(self).__name__} has no law.")


@dataclass(frozen=True, eq=False)
class BoxBlocks(BoxStrategy):
    """Counts of nested blocks. `inverse[l]` is 1/V of level l, 0 where it is not measured.

    With Laplace noise every measured level is a part, and `epsilons` has the epsilon of each. With Gaussian noise there
    is one part, and `multiples` has the whole factor of each measured level.
    """

    sizes: tuple[tuple[int, ...], ...] = field(kw_only=True)
    inverse: Array = field(kw_only=True, repr=False)
    epsilons: tuple[float, ...] = field(default=(), kw_only=True)
    multiples: tuple[int, ...] = field(default=(), kw_only=True)

    @property
    def levels(self) -> list[tuple[int, ...]]:
        """The measured levels."""
        return [tuple(int(k) for k in level) for level in np.argwhere(self.inverse > 0.0)]

    def _padded(self, axis: int) -> int:
        size = self.sizes[axis][0]
        return -(-self.shape[axis] // size) * size

    def _counts(self, level: tuple[int, ...]) -> tuple[int, ...]:
        """The number of blocks of a level along each axis."""
        return tuple(-(-n // sizes[k]) for n, sizes, k in zip(self.shape, self.sizes, level, strict=True))

    def measured(self, data: Any) -> list[Whole]:
        cells, found = self.cells_of(data), []
        for level in self.levels:
            blocks = cells
            for axis, k in enumerate(level):
                blocks = np.add.reduceat(blocks, np.arange(0, self.shape[axis], self.sizes[axis][k]), axis=axis)
            found.append(np.ascontiguousarray(blocks).reshape(-1))
        if not self.multiples:
            return found
        each = [times_weights(one, np.array(k)) for one, k in zip(found, self.multiples, strict=True)]
        return [np.concatenate(each)]

    def estimated(self, noisy: Sequence[Whole]) -> Array:
        """The estimated count of each cell."""
        parts = [part.astype(np.float64) for part in noisy]
        if self.multiples:
            ends = np.cumsum([math.prod(self._counts(level)) for level in self.levels])[:-1]
            parts = [one / k for one, k in zip(np.split(parts[0], ends), self.multiples, strict=True)]
        said = np.zeros([self._padded(axis) for axis in range(len(self.shape))])
        for level, part in zip(self.levels, parts, strict=True):
            spread = part.reshape(self._counts(level))
            for axis, k in enumerate(level):
                spread = np.repeat(spread, self.sizes[axis][k], axis=axis)
            said[tuple(slice(0, n) for n in spread.shape)] += spread * self.inverse[level]
        return self._solved(said)[tuple(slice(0, n) for n in self.shape)]

    def _solved(self, values: Array) -> Array:
        """The inverse of what all levels give, applied to numbers for all cells."""
        scales, found = self.precisions, np.zeros(values.shape)

        def parts(rest: Array, axis: int, level: tuple[int, ...]) -> None:
            if axis == values.ndim:
                found[...] += rest / scales[level]
                return
            before: Any = 0.0
            for k, size in enumerate(self.sizes[axis]):
                means = along(rest, axis, lambda line, s=size: _means(line, s))
                parts(means - before, axis + 1, (*level, k))
                before = means

        parts(values, 0, ())
        return found

    @property
    def precisions(self) -> Array:
        """lambda of every level."""
        return box_precisions(block_cells(self.sizes), self.inverse)

    def law(self, weights: Sequence[Array]) -> SumLaw:
        """The law of the error of a sum of cells, from the weights of the noises of all blocks."""
        axes = [self._split(axis, one) for axis, one in enumerate(weights)]
        scales = self.precisions
        if not self.epsilons:
            squares = [np.array([float(part @ part) for part in one]) for one in axes]
            lengths = squares[0]
            for one in squares[1:]:
                lengths = np.multiply.outer(lengths, one)
            return SumLaw(float((lengths / scales).sum()))
        terms = []
        for level, epsilon in zip(self.levels, self.epsilons, strict=True):
            nodes: Any = 0.0
            for place in product(*(range(len(one)) for one in axes)):
                term: Any = np.ones(())
                for axis, (k, own) in enumerate(zip(level, place, strict=True)):
                    sums = axes[axis][own].reshape(-1, self.sizes[axis][k]).sum(axis=1)[: self._counts(level)[axis]]
                    term = np.multiply.outer(term, sums)
                nodes = nodes + term / scales[place]
            each = np.abs(nodes * self.inverse[level]).ravel()
            if each.max() > 1e-12:
                terms.append(laplace_terms(epsilon, each))
        return SumLaw(0.0, tuple(terms))

    def _split(self, axis: int, weights: Array) -> list[Array]:
        """E_l of the weights of one axis, for each of its levels."""
        full = np.zeros(self._padded(axis))
        full[: weights.size] = weights
        means = [block_means(full, size) for size in self.sizes[axis]]
        return [means[0], *(after - before for before, after in pairwise(means))]


def _means(lines: Array, size: int) -> Array:
    """Every block along the last axis replaced by its mean."""
    blocks = lines.reshape(*lines.shape[:-1], -1, size).mean(axis=-1, keepdims=True)
    return np.broadcast_to(blocks, (*blocks.shape[:-1], size)).reshape(lines.shape)


@dataclass(frozen=True, eq=False)
class BoxMatrices(BoxStrategy):
    """Products of combinations with whole coefficients, one matrix for each axis, and Gaussian noise of one law."""

    rows: tuple[Whole, ...] = field(kw_only=True, repr=False)

    def measured(self, data: Any) -> list[Whole]:
        found = self.cells_of(data)
        for axis, rows in enumerate(self.rows):
            found = along(found, axis, lambda line, r=rows: line @ r.T)
        return [times_weights(np.ascontiguousarray(found).reshape(-1), np.array(1))]

    def estimated(self, noisy: Sequence[Whole]) -> Array:
        found: Array = noisy[0].astype(np.float64).reshape([len(rows) for rows in self.rows])
        for axis, rows in enumerate(self.rows):
            inverse = np.linalg.pinv(rows.astype(np.float64))
            found = along(found, axis, lambda line, i=inverse: line @ i.T)
        return found

    def law(self, weights: Sequence[Array]) -> SumLaw:
        """The law of the error of a sum of cells: a normal number."""
        lengths = [
            float(np.sum((one @ np.linalg.pinv(rows.astype(np.float64))) ** 2))
            for one, rows in zip(weights, self.rows, strict=True)
        ]
        return SumLaw(math.prod(lengths) * float(np.max(self.noise.variance)))
