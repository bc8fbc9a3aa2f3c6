"""Heights of a staircase that is cut off: what step noise is calibrated among."""

from __future__ import annotations

import numpy as np
from numpy.typing import NDArray

__all__ = ["CELLS", "cut_staircase", "exposed"]

Array = NDArray[np.float64]

CELLS = 64  # to the sensitivity


def cut_staircase(epsilon: float, first: int, cells: int) -> Array:
    """Heights that fall by e^(-epsilon) after `first` cells, and then once per sensitivity."""
    index = np.arange(cells)
    level = np.floor(index / CELLS) + ((index % CELLS) >= first)
    heights: Array = np.exp(-epsilon * level)
    return heights


def exposed(heights: Array) -> Array:
    """For a cut after each cell: the mass of the outermost sensitivity on one side, as a share of the whole (both
    sides).
    """
    mass = np.cumsum(heights)
    inner = np.concatenate([np.zeros(min(CELLS, mass.size)), mass[:-CELLS]])
    return np.where(np.arange(mass.size) >= CELLS - 1, (mass - inner) / (2.0 * mass), 1.0)
