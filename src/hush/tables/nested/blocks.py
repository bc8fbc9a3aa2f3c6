"""Nested blocks of the bins of a histogram: every block of every size is counted, and least squares combines them.

Blocks of s_0 > s_1 > ... > s_L = 1 bins, each size a multiple of the next. A row is in one bin, and so in one block of
each size: it moves one count of each size by 1. The counts of size s_l have noise of a variance in proportion to 1/p_l,
p_l the square of their share. With P_l the matrix that replaces each block by its mean, E_0 = P_0, E_l = P_l - P_(l-1)
and lambda_l the sum of s_j p_j over j >= l, the least squares estimate of the bins is

    S z,    S = sum of E_l/lambda_l,    z_i = sum over l of p_l times the noisy count of the block of bin i.

Without noise it is the true count of each bin: then z = G x with G = sum of lambda_l E_l, and S G = 1. It is unbiased
for any shares (docs/maths/workload.md). The last block may have fewer bins than the others. It is continued by bins
that are empty and known to be so.

Only +, -, * and / are used on released numbers, each for all groups at once: the bits of a group do not depend on other
groups.
"""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass
from typing import Any

import numpy as np
from numpy.typing import NDArray

from hush.tables.column_law import ColumnLaw
from hush.tables.contribution import Part
from hush.tables.noise_sum import Term

__all__ = ["Nested"]

Array = NDArray[np.float64]
_DIGITS = 13  # of the factors of noises: equal factors are then equal floats, and their terms are gathered


@dataclass(frozen=True)
class Nested:
    """The names of the bins, the sizes of the blocks, the largest first and 1 last, and the share of each size: counts
    with twice the share have half the noise.
    """

    bins: tuple[str, ...]
    sizes: tuple[int, ...]
    shares: tuple[float, ...]

    # -- what is measured ------------------------------------------------------------------------------------

    def columns(self, size: int) -> tuple[str, ...]:
        """The counts of the blocks of this size: the bins themselves, or the first and the last bin of each block. The
        last block is named as if it had all its bins, so that names of different sizes differ.
        """
        if size == 1:
            return self.bins
        name = self.bins[0].rpartition(".")[0]
        return tuple(f"{name}.{first}-{first + size - 1}" for first in range(0, len(self.bins), size))

    def sums(self, size: int) -> tuple[tuple[str, ...], ...]:
        """The bins of each block."""
        return tuple(self.bins[first : first + size] for first in range(0, len(self.bins), size))

    def parts(self, bins: Part) -> tuple[Part, ...]:
        """The columns that are measured in the place of these bins.

        At most `l1` rows of a person are in the bins of a group. Each of them is in one block of each size. So a block
        moves by no more than a bin can, and no more blocks move than bins.
        """
        made = []
        for size, share in zip(self.sizes, self.shares, strict=True):
            columns = self.columns(size)
            reached = min(bins.coordinates, len(columns))
            sums = () if size == 1 else self.sums(size)
            made.append(
                Part(bins.aggregate, columns, bins.linf, reached, bins.l1, one_sided=True, share=share, sums=sums)
            )
        return tuple(made[::-1])

    # -- estimates -------------------------------------------------------------------------------------------

    def counts(self, released: Mapping[str, Any]) -> Array:
        """The estimated count of each bin along the last axis, from the noisy counts of all blocks."""
        said: Array | None = None
        for size, precision in zip(self.sizes, self._precisions, strict=True):
            each = np.stack([np.asarray(released[name], np.float64) for name in self.columns(size)], axis=-1)
            full = self._continued(each * precision, self._padded // size)
            part = np.repeat(full, size, axis=-1)
            said = part if said is None else said + part
        assert said is not None
        return self._solved(said)[..., : len(self.bins)]

    def factors(self, weights: Array) -> list[Array]:
        """The factor of each noisy count in weighted sums of the estimated bins, for each size. Each row of weights is
        one sum.
        """
        solved = self._solved(self._continued(weights, self._padded))
        found = []
        for size, precision in zip(self.sizes, self._precisions, strict=True):
            found.append(self._block_sums(solved, size)[..., : len(self.columns(size))] * precision)
        return found

    def terms(self, weights: Array, mechanisms: Mapping[str, ColumnLaw]) -> list[list[Term]]:
        """The independent noises of weighted sums of the estimated bins. Noises with equal factors are gathered."""
        rows: list[list[Term]] = [[] for _ in weights]
        for size, factors in zip(self.sizes, self.factors(weights), strict=True):
            law = mechanisms[self.columns(size)[0]]  # blocks of one size have one law
            for terms, each in zip(rows, np.round(np.abs(factors), _DIGITS), strict=True):
                found, times = np.unique(each, return_counts=True)
                terms += [Term.of(law, f, n) for f, n in zip(found.tolist(), times.tolist(), strict=True) if f > 0.0]
        return rows

    @property
    def _precisions(self) -> list[float]:
        return [share * share for share in self.shares]

    @property
    def _padded(self) -> int:
        """The bins of whole blocks of the largest size."""
        return -(-len(self.bins) // self.sizes[0]) * self.sizes[0]

    @staticmethod
    def _continued(values: Array, length: int) -> Array:
        """The values, continued by zeros along the last axis."""
        full = np.zeros((*values.shape[:-1], length))
        full[..., : values.shape[-1]] = values
        return full

    @staticmethod
    def _block_sums(values: Array, size: int) -> Array:
        """The sum over each block, in the order of its bins."""
        blocks = values.reshape(*values.shape[:-1], -1, size)
        total = blocks[..., 0].copy()
        for place in range(1, size):
            total += blocks[..., place]
        return total

    def _solved(self, values: Array) -> Array:
        """S times each vector along the last axis."""
        result, before = np.zeros_like(values), np.zeros_like(values)
        lambdas = np.cumsum([s * p for s, p in zip(self.sizes[::-1], self._precisions[::-1], strict=True)])[::-1]
        for size, scale in zip(self.sizes, lambdas.tolist(), strict=True):
            means = np.repeat(self._block_sums(values, size) / size, size, axis=-1)
            result += (means - before) / scale
            before = means
        return result
