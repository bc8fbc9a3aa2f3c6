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
from hush.noise.level_sums import joint_half_widths
from hush.numerics.rounding import SPECIAL_FUNCTION, down, up

__all__ = ["LevelBands"]

Array = NDArray[np.float64]
_MOST_TERMS = 8  # of a sum of numbers with different intervals: its formula has 2^terms parts
_LEAST = 1e-9  # the least probability for which that formula is used


class LevelBands(Noise):
    """A joint noise whose numbers are uniform in a random interval, on the multiples of `step`.

    A class that defines `spans` gets `reach_of_all` and `reach_of_sum`; one that defines `half_widths_given` gets
    `reach_of_sum` for sums of few numbers (noise/level_sums.py).
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

    def half_widths_given(self, level: Array) -> tuple[Array, Array]:
        """Half widths in steps, given the level: of each number around the middle of its interval, of shape (levels,
        dimension), and of the middle, of shape (levels,).

        Given the level, number j is `middle_factors[j]` times the middle plus its distance from there. Middle and
        distances are independent, each uniform on a symmetric lattice interval; a lattice interval of n points that
        are s steps apart has the half width n s/2.
        """
        raise Unsupported(f"{type(self).__name__} has no half widths.")

    @property
    def middle_factors(self) -> Array:
        """How each number moves with the middle of the interval: 0, 1 or 2."""
        return np.zeros(self.dimension)

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
        return None if weights is None else _unlike(noise, np.array(weights), probability)
    steps = reach_of_all(table, probability) if weights is None else reach_of_sum(table, np.array(weights), probability)
    return None if steps is None else steps * noise.step


def _unlike(noise: LevelBands, weights: Array, probability: float) -> float | None:
    """The reach of a sum of few numbers with different intervals; None where there is none."""
    if np.count_nonzero(weights) > _MOST_TERMS or not _LEAST <= probability < 1.0:
        return None
    try:
        found = joint_half_widths(noise, weights[None, :], 1.0 - down(probability, SPECIAL_FUNCTION))
    except Unsupported:
        return None
    return float(found[0]) * noise.step
