"""Quantiles from noisy counts: the value at which the counts reach a share q, and its interval.

The interval. A quantile is far from linear in the counts, but a test of one value is linear: is the number of rows up
to the value, less q times all rows, negative? The noise of that difference has a known law. The interval consists of
all values that the test does not rule out at the level. For any rows, it contains the quantile of the clipped rows at
least as often as its level states.

Several quantiles of one list are made from the same counts. With F the running sum of the counts, N their total and
S(k) the sum of F(j) over j < k, the place of q is the first k at which S(k) - k q N is least. For q below r, the two
functions of k differ by k (r - q) N, which grows with k: no k before the place of q is better for r. So the place of r
is not before the place of q. The two ends of the range, q = 0 and q = 1, have another estimate: they are moved to the
least and to the largest place of the list. So the answers never decrease with q.
"""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass
from typing import Any

import numpy as np

from hush.numerics.rounding import SPECIAL_FUNCTION, up
from hush.tables.column_law import ColumnLaw
from hush.tables.estimate import Array, Ends, Released, numbers
from hush.tables.noise_sum import Term, half_widths

__all__ = ["QuantileOf", "QuantilesOf"]


@dataclass(frozen=True)
class QuantileOf:
    """The place of a quantile from noisy counts on a grid. Counts are never clipped one by one: that would turn the
    noise of empty bins into rows.
    """

    names: tuple[str, ...]
    q: float
    labels: tuple[float, ...]
    #: the least and the largest value that are rounded to each label
    cells: tuple[tuple[float, float], ...]

    def __call__(self, released: Released) -> Array:
        return np.asarray(self.labels)[self.place(self.counts(released))]

    def counts(self, released: Released) -> Array:
        """Bins along the last axis."""
        return np.stack([numbers(released[name]) for name in self.names], axis=-1)

    def place(self, counts: Array) -> Any:
        """The bin of the quantile. With F the running sum of the noisy counts and N their total, it is the first bin
        where the isotonic regression of F reaches q N; by the switch relation, the first k at which the sum of F(j) -
        q N over j < k is least.
        """
        if self.q == 0.0:
            return _first_occupied(counts)
        if self.q == 1.0:
            return counts.shape[-1] - 1 - _first_occupied(counts[..., ::-1])
        running = np.cumsum(counts, axis=-1)
        total = np.maximum(running[..., -1:], 0.0)
        # less 1e-9, so that rounding does not hide a share of exactly q
        below = np.cumsum(running - (self.q - 1e-9) * total, axis=-1)[..., :-1]
        return np.argmin(np.concatenate([np.zeros_like(total), below], axis=-1), axis=-1)

    def planning_point(self, rows: int) -> dict[str, float]:
        """Rows that are spread evenly over the grid."""
        return dict.fromkeys(self.names, rows / len(self.names))

    def ends(self, mechanisms: Mapping[str, ColumnLaw], level: float) -> Ends:
        """All values that a test of each bin does not rule out."""
        return _QuantileEnds(self, self.reach(mechanisms, level))

    def reach(self, mechanisms: Mapping[str, ColumnLaw], level: float) -> Array:
        """How far noise moves the excess of each bin, up or down, with this probability: a public constant.

        The excess of bin k is 1 - q times the counts up to k, less q times the counts above it.
        """
        made, bins = mechanisms[self.names[0]], len(self.names)  # the bins of a histogram have one law
        terms = [[Term.of(made, 1.0 - self.q, k + 1), Term.of(made, self.q, bins - k - 1)] for k in range(bins)]
        return up(half_widths(terms, level), SPECIAL_FUNCTION) + SPECIAL_FUNCTION.share

    def excess(self, counts: Array) -> Array:
        """F(k) - q N in each bin k. It is linear in the counts, so its noise is known. Without noise it is negative
        exactly below the quantile.
        """
        running = np.cumsum(counts, axis=-1)
        return np.asarray(running - self.q * running[..., -1:])

    def ends_where(self, counts: Array, reach: Array, place: Any) -> tuple[Array, Array]:
        """The least and the largest value that are not ruled out, and the value at `place`. `reach` is how far noise
        may move the excess of each bin to one side.

        The quantile is in bin k if the excess of k is at least 0 and that of k - 1 is not. Bin k is ruled out if the
        noise would have had to move one of the two further than its reach. Only the two tests at the true bin can
        cause a miss, so a search over all bins makes no more errors.
        """
        excess = self.excess(counts)
        # counts are whole: where q is 0 (or 1) a bin at (or above) the end holds at least one row
        reached, before = excess >= float(self.q == 0.0) - reach, excess[..., :-1] <= reach[:-1] - float(self.q == 1.0)
        likely = reached & np.concatenate([np.ones_like(reached[..., :1]), before], axis=-1)
        likely |= ~reached.any(axis=-1, keepdims=True)  # the noisy counts sum to less than 0: return the whole range
        likely |= np.arange(likely.shape[-1]) == np.asarray(place)[..., None]
        last = likely.shape[-1] - 1 - np.argmax(likely[..., ::-1], axis=-1)
        low, high = np.asarray(self.cells).T
        return low[np.argmax(likely, axis=-1)], high[last]


@dataclass(frozen=True)
class _QuantileEnds:
    quantile: QuantileOf
    reach: Array

    def __call__(self, released: Released) -> tuple[Array, Array]:
        counts = self.quantile.counts(released)
        return self.quantile.ends_where(counts, self.reach, self.quantile.place(counts))


@dataclass(frozen=True)
class QuantilesOf:
    """Several quantiles from the same noisy counts, along the last axis. They never decrease with the level."""

    parts: tuple[QuantileOf, ...]

    def __call__(self, released: Released) -> Array:
        places = self.places(self.parts[0].counts(released))
        return np.asarray(self.parts[0].labels)[np.stack(places, axis=-1)]

    def places(self, counts: Array) -> list[Any]:
        """The bin of each quantile. Between 0 and 1 they are in order already, but for the rounding of floats."""
        found = {part.q: part.place(counts) for part in self.parts}
        least, most = np.minimum.reduce(list(found.values())), np.maximum.reduce(list(found.values()))
        ordered: dict[float, Any] = {0.0: least, 1.0: most}
        below = least
        for q in sorted(found.keys() - ordered.keys()):
            below = ordered[q] = np.maximum(below, found[q])
        return [ordered[part.q] for part in self.parts]

    def planning_point(self, rows: int) -> dict[str, float]:
        """Rows that are spread evenly over the grid."""
        return self.parts[0].planning_point(rows)

    def ends(self, mechanisms: Mapping[str, ColumnLaw], level: float) -> Ends:
        """The interval of each quantile, at its own level."""
        return _QuantilesEnds(self, tuple(part.reach(mechanisms, level) for part in self.parts))


@dataclass(frozen=True)
class _QuantilesEnds:
    quantiles: QuantilesOf
    reach: tuple[Array, ...]

    def __call__(self, released: Released) -> tuple[Array, Array]:
        parts = self.quantiles.parts
        counts = parts[0].counts(released)
        each = zip(parts, self.reach, self.quantiles.places(counts), strict=True)
        low, high = zip(*(part.ends_where(counts, reach, place) for part, reach, place in each), strict=True)
        return np.stack(low, axis=-1), np.stack(high, axis=-1)


def _first_occupied(counts: Array) -> Any:
    """The first bin up to which there are clearly more rows than noise. The counts below 0 show how large the noise
    is, because no exact count is negative. For exact counts it is the first bin that is not empty.
    """
    under = np.minimum(counts, 0.0)
    noise = np.sqrt((under**2).sum(axis=-1, keepdims=True) / np.maximum((under < 0.0).sum(axis=-1, keepdims=True), 1))
    clear = np.maximum(3.0 * noise * np.sqrt(np.arange(1, counts.shape[-1] + 1)), 0.5)  # a number of rows is whole
    return np.argmax(np.cumsum(counts, axis=-1) > clear, axis=-1)
