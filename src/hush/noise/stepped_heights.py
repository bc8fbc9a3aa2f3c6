"""Heights of staircases that are cut off at both ends: the candidates for the calibration of step noise."""

from __future__ import annotations

import numpy as np
from numpy.typing import NDArray

__all__ = ["CELLS", "cut_staircase", "exposed"]

Array = NDArray[np.float64]

CELLS = 64  # cells per sensitivity


def cut_staircase(epsilon: float, first: int, cells: int) -> Array:
    """Return heights that fall by the factor e^(-epsilon) after `first` cells, and then once per sensitivity."""
    index = np.arange(cells)
    level = np.floor(index / CELLS) + ((index % CELLS) >= first)
    heights: Array = np.exp(-epsilon * level)
    return heights


def exposed(heights: Array) -> Array:
    """Return for each cell the delta of the noise that is cut off after it.

    It is the mass within one sensitivity of one end, divided by the mass of both sides.
    """
    mass = np.cumsum(heights)
    inner = np.concatenate([np.zeros(min(CELLS, mass.size)), mass[:-CELLS]])
    return np.where(np.arange(mass.size) >= CELLS - 1, (mass - inner) / (2.0 * mass), 1.0)
