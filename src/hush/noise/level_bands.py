"""Bands and sums of a level noise: the methods of `LevelNoise` that use the laws of noise/level_reach.py."""

from __future__ import annotations

import math
from functools import cached_property, lru_cache
from typing import Any

import numpy as np
from numpy.typing import NDArray

from hush.errors import InvalidParameter, Unsupported, probabilities, reals
from hush.noise.contract import Noise
from hush.noise.level_reach import LevelTable, reach_of_all, reach_of_sum
from hush.numerics.rounding import SPECIAL_FUNCTION, up

__all__ = ["LevelBands"]

Array = NDArray[np.float64]


class LevelBands(Noise):
    """A joint noise whose numbers are uniform in a random interval, on the multiples of `step`.

    A class that defines `spans` gets `reach_of_all` and `reach_of_sum`.
    """

    dimension: int

    @cached_property
    def level_masses(self) -> tuple[Array, Array]:
        """Levels 0, 1, 2, ... and their probabilities."""
        raise Unsupported(f"{type(self).__name__} has no level law.")

    def log_level_tail(self, level: Array) -> Array:
        """log P(level > k) for whole numbers k >= 0."""
        raise Unsupported(f"{type(self).__name__} has no level law.")

    def spans(self, level: Array) -> tuple[Array, Array]:
        """(own, shared): given the level, X_j is s + u_j in steps, with independent s, u_1, ..., u_d. s is uniform on
        `shared` points around 0, u_j on `own` points: the length of the interval, and how many places it can have.
        """
        raise Unsupported(f"{type(self).__name__} has no spans.")

    def in_steps(self, vectors: Any) -> Array:
        """Return rows of `dimension` numbers in whole steps; raises for points that are not on the lattice."""
        rows = reals("vectors", vectors) / self.step
        if rows.ndim == 0 or rows.shape[-1] != self.dimension or (np.abs(rows - np.rint(rows)) > 1e-9).any():
            raise InvalidParameter(f"vectors must be rows of {self.dimension} multiples of the step {self.step:g}.")
        return np.rint(rows)

    @cached_property
    def level_table(self) -> LevelTable:
        """The levels with more than e^-60 of the largest probability."""
        level, mass = self.level_masses
        kept = mass > mass.max() * math.exp(-60.0)
        beyond = math.exp(float(self.log_level_tail(level[-1:])[0]))
        missing = up(float(mass[~kept].sum()) + beyond, SPECIAL_FUNCTION)
        return LevelTable(self.dimension, mass[kept], *self.spans(level[kept]), missing)

    def reach_of_all(self, probability: float) -> float | None:
        """Return a w with P(some |X_j| > w) <= probability, the least on the lattice but for rounding."""
        return _reach(self, None, float(probabilities("probability", probability)))

    def reach_of_sum(self, weights: Any, probability: float) -> float | None:
        """Return a w with P(|weights . X| > w) <= probability, by the exact law of the sum where that is little work.

        Otherwise by a bound on the tail of the sum given the level (noise/level_reach.py).
        """
        given = reals("weights", weights)
        if given.shape != (self.dimension,) or not np.isfinite(given).all():
            raise InvalidParameter(f"weights must be {self.dimension} finite numbers.")
        if not given.any():
            return 0.0
        return _reach(self, tuple(given.tolist()), float(probabilities("probability", probability)))


@lru_cache(maxsize=256)
def _reach(noise: LevelBands, weights: tuple[float, ...] | None, probability: float) -> float | None:
    try:
        table = noise.level_table
    except Unsupported:  # a class need not define its spans
        return None
    steps = reach_of_all(table, probability) if weights is None else reach_of_sum(table, np.array(weights), probability)
    return None if steps is None else steps * noise.step
