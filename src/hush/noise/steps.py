"""What all piecewise-constant densities share: privacy is a sum over pieces.

Lay a step density over its shifted copy and both are constant between breakpoints. A family lists those pieces once
for a shift; the exceeding region, the surplus, the largest loss and every Renyi divergence are then plain sums over
the list.
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

#: More breakpoints than this between a density and its shifted copy are refused rather than listed.
MOST_PIECES = 2_000_000


@dataclass(frozen=True)
class Pieces:
    """Intervals that tile the line, each with log f, the loss log f(x)/f(x - shift), and its weight (see `Region`)."""

    lower: Array
    upper: Array
    log_density: Array
    loss: Array
    weight: Array

    @property
    def mass(self) -> Array:
        """Probability of each piece, with everything that its weight stands for."""
        with np.errstate(under="ignore"):
            return np.exp(self.log_density) * (self.upper - self.lower) * self.weight


class Steps(Law):
    """A family that lists its pieces."""

    relative_error: ClassVar[float] = 1e-13

    @property
    def recurrence(self) -> float:
        """The length by which weighted pieces recur."""
        return 0.0

    def pieces(self, shift: float) -> Pieces:
        raise reject("shift", shift, "a shift this family can lay out")

    def exceeds(self, epsilon: Any, shift: float) -> Region:
        epsilon = epsilons("epsilon", epsilon)
        if (epsilon < 0.0).any():
            raise reject("epsilon", epsilon, "0 or greater", "the curve covers negative epsilon by symmetry")
        pieces = self.pieces(positive("shift", shift))
        chosen = pieces.loss > epsilon[..., None]
        any_chosen = chosen.reshape(-1, chosen.shape[-1]).any(axis=0)
        lower = np.broadcast_to(pieces.lower, chosen.shape)[..., any_chosen]
        upper = np.where(chosen, pieces.upper, pieces.lower)[..., any_chosen]
        return Region(lower, upper, pieces.weight[any_chosen], self.recurrence)

    def surplus(self, region: Region, epsilon: Array, shift: float) -> Array:
        """Sum over the pieces above epsilon of mass (1 - e^(epsilon - loss)): every term positive."""
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
                # a plain sum along the row, so that a number does not depend on its company (a matrix product's order
                # does)
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
