"""The transform of a composed law at a few frequencies, for very many releases.

A fast transform has an error of some roundings at every frequency. The power of a million releases makes it a million
roundings. Where few frequencies matter, each is computed on its own instead: with the losses counted from their mean,
1 minus the transform is a sum of small terms, so the logarithm of the transform is precise and can be multiplied.
"""

from __future__ import annotations

import math
from collections.abc import Sequence

import numpy as np
from numpy.typing import NDArray

from hush.privacy.loss_pair import LossDistribution

__all__ = ["MOST_TERMS", "transform_at"]

Spectrum = NDArray[np.complex128]

#: Frequencies times losses, up to which this is worth its time.
MOST_TERMS = 1 << 22
_BLOCK = 1 << 18


def transform_at(
    parts: Sequence[tuple[LossDistribution, int]], tilt: float, numbers: NDArray[np.int64], length: int
) -> Spectrum:
    """The sum over losses of p e^(-2 pi i number place/length) of the tilted sum of all parts."""
    total, turns = np.zeros(numbers.size, dtype=np.complex128), 0
    for part, times in parts:
        masses = part.tilted(tilt, part.log_mgf(tilt))
        places = part.at
        centre = round(float((masses * places).sum()))
        away = 2.0 * math.pi / length * (places - centre)
        rows = max(_BLOCK // masses.size, 1)
        for start in range(0, numbers.size, rows):
            angle = numbers[start : start + rows, None] * away
            real = -2.0 * (masses * np.sin(0.5 * angle) ** 2).sum(axis=1)
            imaginary = -(masses * np.sin(angle)).sum(axis=1)
            total[start : start + rows] += times * np.log1p(real + 1j * imaginary)
        turns = (turns + times * centre) % length
    with np.errstate(under="ignore"):
        return np.exp(total - 2j * math.pi / length * (numbers * turns % length))
