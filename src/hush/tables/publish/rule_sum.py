"""Sums of independent draws of noise that is made for a threshold, which need not be symmetric."""

from __future__ import annotations

from collections.abc import Sequence

import numpy as np

from hush.noise.for_keys import ForKeys
from hush.numerics import special
from hush.numerics.rounding import SUM_OF_POSITIVE_TERMS

__all__ = ["reach_of_sum"]

_MOST_POINTS = 1 << 20


def reach_of_sum(noise: ForKeys, draws: Sequence[tuple[tuple[float, ...], int]], missed: float) -> float | None:
    """The least w with P(|sum| > w) <= missed, for draws that are added or subtracted with one factor: by the law of
    the sum, with a Fourier transform. None for draws with several factors, or for too many.
    """
    factors = {abs(weight) for (weight,), _ in draws}
    added = sum(times for (weight,), times in draws if weight > 0.0)
    taken = sum(times for (weight,), times in draws if weight < 0.0)
    values, masses = noise.values, noise.masses
    points = (added + taken) * (values.size - 1) + 1
    if len(factors) != 1 or points > _MOST_POINTS:
        return None
    length = 1 << points.bit_length()
    spectrum = special.rfft(masses, length) ** added * special.rfft(masses[::-1], length) ** taken
    law = np.maximum(special.irfft(spectrum, length)[:points], 0.0)
    # the values fall by one distance each; a value that is subtracted rises from minus the last one
    distance = int(values[0] - values[1])
    sums = added * int(values[0]) - taken * int(values[-1]) - distance * np.arange(points)
    order = np.argsort(np.abs(sums), kind="stable")[::-1]
    beyond = np.cumsum(law[order])  # the probability of this size and all larger ones
    kept = int(np.searchsorted(beyond, missed - SUM_OF_POSITIVE_TERMS.share, side="right"))
    return float(np.abs(sums[order[min(kept, points - 1)]])) * factors.pop()
