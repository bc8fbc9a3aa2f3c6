"""Joint noises in plain numpy, right and broken, for audits to attack. Each is seeded and rounded to a lattice.

All of them are slow, simple and independent of hush's own code: the level of a noise is drawn from a table of its
weights, and everything after it from numpy's generator.
"""

from __future__ import annotations

from typing import Any

import numpy as np
from auditing.releases import STEP, Release


def _table(weights: np.ndarray) -> np.ndarray:
    return np.exp(weights - weights.max()) / np.exp(weights - weights.max()).sum()


def _cube_levels(rng: Any, numbers: int, scale: float, size: Any) -> np.ndarray:
    level = np.arange(int(60 * scale + 6 * numbers * scale) + 20)
    return rng.choice(level, size, p=_table(numbers * np.log(2.0 * level + 1.0) - level / scale))


def cube(numbers: int, scale: float, seed: int, *, levels: str = "one", twice: bool = False) -> Release:
    """Density exp(-|x|_inf/scale) on whole numbers. levels="each" draws a level for every number: broken. twice=True
    uses the draw of the first number for the last one as well: broken.
    """
    rng = np.random.default_rng(seed)

    def release(value: Any, size: int) -> np.ndarray:
        level = _cube_levels(rng, numbers, scale, (size, numbers) if levels == "each" else (size, 1))
        noise = np.floor(rng.random((size, numbers)) * (2 * level + 1)).astype(np.int64) - level
        if twice:
            noise[:, -1] = noise[:, 0]
        return np.asarray(value, dtype=np.int64) + noise

    return release


def interval(numbers: int, scale: float, offset: Any, seed: int) -> Release:
    """Interval noise on whole numbers. A function as `offset` takes the offset from the value: broken."""
    rng = np.random.default_rng(seed)

    def release(value: Any, size: int) -> np.ndarray:
        c = int(offset(np.asarray(value)) if callable(offset) else offset)
        q = np.exp(-1.0 / scale)
        level = np.arange(c + int(60 * scale + 6 * numbers * scale) + 20)
        base, spare = np.minimum(level, c), np.maximum(level - c, 0)
        split = np.where(level < c, np.log(1.0 - q), 2.0 * np.log(1.0 - q) + np.log(spare + 1.0))
        drawn = rng.choice(level, size, p=_table(split - level / scale + numbers * np.log(2.0 * base + 1.0 + spare)))
        base, spare = np.minimum(drawn, c), np.maximum(drawn - c, 0)
        above = np.floor(rng.random(size) * (spare + 1))
        width = (2 * base + spare + 1)[:, None]
        noise = np.floor(rng.random((size, numbers)) * width) - (base + spare - above)[:, None]
        return np.asarray(value, dtype=np.int64) + noise.astype(np.int64)

    return release


def ball(numbers: int, scale: float, seed: int, *, shape: float | None = None) -> Release:
    """Density exp(-|x|_2/scale), rounded to multiples of STEP: a radius of the gamma law of shape `numbers` in a
    uniform direction. Values are cut to the lattice. shape=1.0, an exponential radius, is broken.
    """
    rng = np.random.default_rng(seed)

    def release(value: Any, size: int) -> np.ndarray:
        radius = scale * rng.gamma(numbers if shape is None else shape, size=(size, 1))
        way = rng.normal(size=(size, numbers))
        noise = radius * way / np.sqrt((way**2).sum(axis=1, keepdims=True))
        return STEP * (np.trunc(np.asarray(value) / STEP) + np.round(noise / STEP))

    return release
