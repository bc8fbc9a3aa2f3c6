"""The comparison of a law with its shifted copy: `Region`, a union of intervals, and `LossTerms`, a list of losses."""

from __future__ import annotations

from dataclasses import dataclass
from typing import Any

import numpy as np
from numpy.typing import NDArray

from hush.numerics.twofold import Twofold

__all__ = ["LossTerms", "Region"]

Array = NDArray[np.float64]


@dataclass(frozen=True)
class Region:
    """A union of intervals (lower, upper) along the last axis, empty where lower >= upper.

    An interval of weight w > 1 represents a geometric sequence of intervals: copies moved outwards by multiples of
    `period`, each with a fixed fraction of the mass of the previous one (the steps of a staircase). Its surplus is
    multiplied by w. For a half line, `crossing` may hold its end with more digits: negated, in the units of the family,
    in twofold precision.
    """

    lower: Array
    upper: Array
    weight: Array | float = 1.0
    period: float = 0.0
    crossing: Twofold | None = None

    def contains(self, x: Any) -> Any:
        """Return True for the points x inside the region, which must be that of one epsilon."""
        x = np.asarray(x, dtype=np.float64)[..., None]
        inside = (self.lower < x) & (x < self.upper)
        if self.period > 0.0:
            inside |= self._in_sequence(x)
        return inside.any(axis=-1)

    def _in_sequence(self, x: Array) -> NDArray[np.bool_]:
        recurs = np.broadcast_to(self.weight, self.lower.shape) > 1.0
        outward = np.where(self.upper <= 0.0, self.upper - x, x - self.lower)  # distance outwards from the inner end
        folded = outward - self.period * np.floor(outward / self.period)
        return recurs & (outward > 0.0) & (folded > 0.0) & (folded < self.upper - self.lower)


@dataclass(frozen=True)
class LossTerms:
    """A law and its shifted copy as a list: log probabilities, and the loss log f(x)/f(x - shift) of each.

    `complete` is True if the list has all terms. Otherwise the terms at both ends bound the missing ones.
    """

    log_mass: Array
    loss: Array
    complete: bool
    relative_error: float
