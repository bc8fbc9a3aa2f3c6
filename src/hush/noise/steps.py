"""The base class of piecewise-constant densities: every privacy number is a sum over pieces.

A step density and its shifted copy are both constant between breakpoints. A family lists these pieces once for a shift.
The exceeding region, the surplus, the largest loss and all Renyi divergences are then sums over the list.
"""

from __future__ import annotations

from dataclasses import dataclass
from typing import Any, ClassVar

import numpy as np
from numpy.typing import NDArray

from hush.errors import epsilons, positive, reject
from hush.noise.contract import Law
from hush.noise.region import LossTerms, Region

__all__ = ["MOST_PIECES", "Pieces", "Steps"]

Array = NDArray[np.float64]

#: The largest number of pieces; a shift that needs more raises an error.
MOST_PIECES = 2_000_000


@dataclass(frozen=True)
class Pieces:
    """Disjoint intervals that cover the line.

    Each has its log f, its loss log f(x)/f(x - shift), and a weight (see `Region`).
    """

    lower: Array
    upper: Array
    log_density: Array
    loss: Array
    weight: Array

    @property
    def mass(self) -> Array:
        """The probability of each piece, including the repetitions that its weight represents."""
        with np.errstate(under="ignore"):
            return np.exp(self.log_density) * (self.upper - self.lower) * self.weight


class Steps(Law):
    """A piecewise-constant law: it defines `pieces`, and `recurrence` if pieces are repeated for ever."""

    relative_error: ClassVar[float] = 1e-13

    @property
    def recurrence(self) -> float:
        """The distance after which pieces with a weight are repeated."""
        return 0.0

    def pieces(self, shift: float) -> Pieces:
        """Return the pieces of the density and its copy moved by `shift`."""
        raise reject("shift", shift, "a shift for which this family can list its pieces")

    def exceeds(self, epsilon: Any, shift: float) -> Region:
        epsilon = epsilons("epsilon", epsilon)
        if (epsilon < 0.0).any():
            raise reject("epsilon", epsilon, "0 or greater", "use hush.curve for a negative epsilon")
        pieces = self.pieces(positive("shift", shift))
        chosen = pieces.loss > epsilon[..., None]
        any_chosen = chosen.reshape(-1, chosen.shape[-1]).any(axis=0)
        lower = np.broadcast_to(pieces.lower, chosen.shape)[..., any_chosen]
        upper = np.where(chosen, pieces.upper, pieces.lower)[..., any_chosen]
        return Region(lower, upper, pieces.weight[any_chosen], self.recurrence)

    def surplus(self, region: Region, epsilon: Array, shift: float) -> Array:
        """Return the sum of mass (1 - e^(epsilon - loss)) over the pieces with loss > epsilon; all terms are >= 0."""
        epsilon = np.asarray(epsilon, dtype=np.float64)
        pieces = self.pieces(shift)
        rising = pieces.loss > 0.0
        loss, mass = pieces.loss[rising], pieces.mass[rising]
        total = np.zeros(epsilon.size)
        chunk = max(1, 2_000_000 // max(loss.size, 1))
        flat = epsilon.ravel()
        with np.errstate(under="ignore"):
            for start in range(0, flat.size, chunk):
                below = np.minimum(flat[start : start + chunk, None] - loss, 0.0)
                # np.sum and not a matrix product, whose order of summation depends on the size of the batch
                total[start : start + chunk] = np.sum(-np.expm1(below) * mass, axis=1)
        return total.reshape(epsilon.shape)

    def loss_terms(self, shift: float, reach: float) -> LossTerms | None:
        pieces = self.pieces(positive("shift", shift))
        mass = pieces.mass
        held = mass > 0.0
        return LossTerms(np.log(mass[held]), pieces.loss[held], complete=True, relative_error=1e-13)

    def max_loss(self, shift: float) -> float:
        pieces = self.pieces(positive("shift", shift))
        return float(pieces.loss[pieces.mass > 0.0].max())
