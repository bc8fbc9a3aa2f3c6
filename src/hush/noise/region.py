"""Where and how much a law exceeds its shifted copy: regions of the line, and lists of losses."""

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

    An interval of weight w > 1 stands for a whole geometric sequence of intervals that go on outwards from it by
    `period`, each holding a fixed fraction of the mass before (the endless steps of a staircase): its surplus counts
    w times. A half line's end may be kept in `crossing` too, in the family's units, negated and in twofold precision.
    """

    lower: Array
    upper: Array
    weight: Array | float = 1.0
    period: float = 0.0
    crossing: Twofold | None = None

    def contains(self, x: Any) -> Any:
        """Which of the points x (scalar epsilon only) lie inside?"""
        x = np.asarray(x, dtype=np.float64)[..., None]
        inside = (self.lower < x) & (x < self.upper)
        if self.period > 0.0:
            inside |= self._in_sequence(x)
        return inside.any(axis=-1)

    def _in_sequence(self, x: Array) -> NDArray[np.bool_]:
        recurs = np.broadcast_to(self.weight, self.lower.shape) > 1.0
        outward = np.where(self.upper <= 0.0, self.upper - x, x - self.lower)  # how far beyond the inner end
        folded = outward - self.period * np.floor(outward / self.period)
        return recurs & (outward > 0.0) & (folded > 0.0) & (folded < self.upper - self.lower)


@dataclass(frozen=True)
class LossTerms:
    """A law laid over its shifted copy, as a list: log probabilities, and the loss log f(x)/f(x - shift) of each.

    `complete` says that nothing is left out; else the terms at both ends show whether what is left out matters.
    """

    log_mass: Array
    loss: Array
    complete: bool
    relative_error: float
