"""Draws of discrete OSGT noise by the method of its paper: an independent way to the same law, for comparison."""

from __future__ import annotations

import math

import numpy as np
from numpy.typing import NDArray

from hush.errors import NotCertified, Unsupported, whole
from hush.noise.discrete import Discrete
from hush.noise.gaussian import Gaussian
from hush.noise.osgt import OSGT
from hush.sampling.entropy import Entropy
from hush.sampling.exact import draw

__all__ = ["osgt_by_rejection"]


def osgt_by_rejection(noise: OSGT, size: int, entropy: Entropy | None = None) -> NDArray[np.int64]:
    """Return draws of Discrete(noise) on the integers by rejection from the discrete Gaussian.

    Draws in [-m, m - 1] are rejected; the others are moved by m towards zero.

    OSGT paper, Section V: for a whole m the pairs y >= m and y <= -m - 1 map onto k >= 0 and k <= -1 with P(k)
    proportional to exp(-(|k| + m)^2/(2 sigma^2)). About the fraction P(|Y| >= m) of the draws is kept, so m should be
    of the order of sigma.

    >>> bool((abs(osgt_by_rejection(OSGT(3, 40**0.5), 100)) < 1000).all())
    True
    """
    if noise.m != math.floor(noise.m):
        raise Unsupported(f"rejection needs a whole number m, got {noise.m:g}; write draw(Discrete({noise}), size).")
    m, wanted = int(noise.m), whole("size", size, 0)
    kept: list[NDArray[np.int64]] = []
    for _ in range(10_000):
        missing = wanted - sum(part.size for part in kept)
        if missing <= 0:
            return np.concatenate([*kept, np.empty(0, dtype=np.int64)])[:wanted]
        y = draw(Discrete(Gaussian(noise.sigma)), 2 * missing + 100, entropy=entropy)
        y = y[(y >= m) | (y < -m)]
        kept.append(np.where(y >= 0, y - m, y + m))
    raise NotCertified(f"{noise} rejects too many of the draws; write draw(Discrete({noise}), size).")
