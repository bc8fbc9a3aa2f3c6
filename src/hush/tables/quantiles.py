"""Quantiles from noisy counts on a grid of values: where they fall, and which values a test does not rule out.

A quantile is far from linear in the counts, but the test whether it is at a value is: that asks whether the rows up
to the value, less q times all rows, are negative. The noise of that difference has a known law. The interval holds
all values that the test, at the level wanted, does not rule out. It holds the quantile of the clipped rows at least
as often as it says, whatever the rows are.
"""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass
from typing import Any

import numpy as np

from hush.numerics.rounding import SPECIAL_FUNCTION, up
from hush.sampling.mechanism import Mechanism
from hush.tables.estimate import Array, Ends, Released, numbers
from hush.tables.noise_sum import Term, half_widths

__all__ = ["Quantiles"]


@dataclass(frozen=True)
class Quantiles:
    """From noisy counts on a grid to the place of a quantile. Counts are never clipped one by one: that would turn
    the noise of empty bins into rows. Nothing of the table is held: executors are sent it.
    """

    names: tuple[str, ...]
    q: float
    labels: tuple[float, ...]
    #: the least and the largest value that is rounded to each label
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
        below = np.cumsum(running - (self.q - 1e-9) * total, axis=-1)[
            ..., :-1
        ]  # 1e-9: a share of exactly q is reached, rounded or not
        return np.argmin(np.concatenate([np.zeros_like(total), below], axis=-1), axis=-1)

    def ends(self, mechanisms: Mapping[str, Mechanism], level: float) -> Ends:
        """The interval at this level: all values that a test of each bin does not rule out."""
        return _QuantileEnds(self, self.reach(mechanisms, level))

    def reach(self, mechanisms: Mapping[str, Mechanism], level: float) -> Array:
        """How far noise moves the excess of each bin, up or down, with this probability: a public constant.

        The excess of bin k is 1 - q times the counts up to k, less q times the counts above it.
        """
        made, bins = mechanisms[self.names[0]], len(self.names)  # the bins of a histogram have one law
        terms = [[Term.of(made, 1.0 - self.q, k + 1), Term.of(made, self.q, bins - k - 1)] for k in range(bins)]
        return up(half_widths(terms, level), SPECIAL_FUNCTION) + SPECIAL_FUNCTION.share

    def excess(self, counts: Array) -> Array:
        """F(k) - q N in each bin k: linear in the counts, so its noise is known; negative below the quantile only,
        but for noise.
        """
        running = np.cumsum(counts, axis=-1)
        return np.asarray(running - self.q * running[..., -1:])

    def ends_where(self, counts: Array, reach: Array) -> tuple[Array, Array]:
        """The least and the largest value not ruled out, `reach` being how far noise may move each bin's excess to
        one side.

        A bin k is the quantile's if its excess is at least 0 and that of k - 1 is not. It is ruled out if the noise
        would have had to move one of the two further than its reach. Only the two tests at the true bin count, so
        searching all bins makes no more errors.
        """
        excess, place = self.excess(counts), self.place(counts)
        # counts are whole: where q is 0 (or 1) a bin at (or above) the end holds at least one row
        reached, before = excess >= float(self.q == 0.0) - reach, excess[..., :-1] <= reach[:-1] - float(self.q == 1.0)
        likely = reached & np.concatenate([np.ones_like(reached[..., :1]), before], axis=-1)
        likely |= ~reached.any(axis=-1, keepdims=True)  # the noisy counts add up to less than 0: nothing is known
        likely |= np.arange(likely.shape[-1]) == np.asarray(place)[..., None]
        last = likely.shape[-1] - 1 - np.argmax(likely[..., ::-1], axis=-1)
        low, high = np.asarray(self.cells).T
        return low[np.argmax(likely, axis=-1)], high[last]


@dataclass(frozen=True)
class _QuantileEnds:
    quantiles: Quantiles
    reach: Array

    def __call__(self, released: Released) -> tuple[Array, Array]:
        return self.quantiles.ends_where(self.quantiles.counts(released), self.reach)


def _first_occupied(counts: Array) -> Any:
    """The first bin at which the rows so far are clearly more than noise. How large the noise is shows in the counts
    below 0: an exact count is never there. Of exact counts, the first that is not 0.
    """
    under = np.minimum(counts, 0.0)
    noise = np.sqrt((under**2).sum(axis=-1, keepdims=True) / np.maximum((under < 0.0).sum(axis=-1, keepdims=True), 1))
    clear = np.maximum(3.0 * noise * np.sqrt(np.arange(1, counts.shape[-1] + 1)), 0.5)  # rows are whole
    return np.argmax(np.cumsum(counts, axis=-1) > clear, axis=-1)
