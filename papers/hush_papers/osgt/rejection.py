"""Section V of the OSGT paper: discrete OSGT noise by rejection from discrete Gaussian noise."""

from __future__ import annotations

import numpy as np
from numpy.typing import NDArray

from hush import OSGT, Discrete, Gaussian, InvalidParameter, draw
from hush.sampling.entropy import Entropy

__all__ = ["osgt_by_rejection"]


def osgt_by_rejection(noise: OSGT, size: int, *, entropy: Entropy | None = None) -> NDArray[np.int64]:
    """Draws of Discrete(noise) on the integers: discrete Gaussian draws outside [-m, m - 1], each moved m towards 0.

    For a whole m the values y >= m and y <= -m - 1 map onto k >= 0 and k <= -1, with P(k) proportional to
    exp(-(|k| + m)^2/(2 sigma^2)). About P(|Y| >= m) of the draws are kept, so use it only for m of the order of sigma.

    >>> bool((abs(osgt_by_rejection(OSGT(3, 40**0.5), 100)) < 1000).all())
    True
    """
    if noise.m != int(noise.m):
        raise InvalidParameter(f"m must be a whole number, got {noise.m:g}; write hush.draw(Discrete({noise}), size).")
    m, kept = int(noise.m), np.empty(0, dtype=np.int64)
    while kept.size < size:
        y = draw(Discrete(Gaussian(noise.sigma)), 2 * (size - kept.size) + 100, entropy=entropy)
        y = y[(y >= m) | (y < -m)]
        kept = np.concatenate([kept, np.where(y >= 0, y - m, y + m)])
    return kept[:size]
