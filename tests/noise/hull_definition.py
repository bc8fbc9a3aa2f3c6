"""Hull noise straight from its definition, point by point, for the tests of the family."""

from __future__ import annotations

import numpy as np
from numpy.typing import NDArray

from hush.noise.hull import Hull

Array = NDArray[np.float64]
Whole = NDArray[np.int64]

SMALL: dict[str, tuple[Hull, int]] = {  # and how far the lattice has to reach for ten digits
    "3 of 3 numbers": (Hull(3, 3, 0.5), 18),
    "2 of 3": (Hull(3, 2, 0.5), 18),
    "1 of 2": (Hull(2, 1, 1.0), 40),
    "1 of 3, one-sided": (Hull(3, 1, 0.5, one_sided=True), 18),
    "2 of 3, one-sided": (Hull(3, 2, 0.5, one_sided=True), 18),
    "2 of 3, an offset": (Hull(3, 2, 0.5, 1.0, one_sided=True), 19),
    "2 of 3, a large offset": (Hull(3, 2, 0.5, 3.0, one_sided=True), 21),
    "1 of 2, half steps": (Hull(2, 1, 0.5, 1.0, one_sided=True, step=0.5), 44),
    "one number": (Hull(1, 1, 1.0, 2.0, one_sided=True), 60),
}


def lattice(dimension: int, reach: int) -> Whole:
    """All points with whole coordinates from -reach to reach, one in each row."""
    axis = np.arange(-reach, reach + 1)
    return np.stack(np.meshgrid(*[axis] * dimension, indexing="ij"), axis=-1).reshape(-1, dimension)


def gauge(z: Whole, l0: int) -> Whole:
    """max(|z|_inf, ceil(|z|_1/l0)) of every row of z >= 0."""
    found: Whole = np.maximum(z.max(axis=1), -(-z.sum(axis=1) // l0))
    return found


def exponent(noise: Hull, x: Whole) -> Whole:
    """-log P(x) of every row in units of the rate, but for the normaliser: straight from the definition."""
    if not noise.one_sided:
        return gauge(np.abs(x), noise.l0)
    c = round(noise.offset / noise.step)
    up, down = gauge(np.maximum(x, 0), noise.l0), gauge(np.maximum(-x, 0), noise.l0)
    return np.maximum(up - c, 0) + np.maximum(down - c, 0)


def enumerated(noise: Hull, reach: int) -> tuple[Whole, Array]:
    """The points within `reach`, and their probabilities."""
    points = lattice(noise.dimension, reach)
    weights = np.exp(-float(noise.rate) * exponent(noise, points))
    return points, weights / weights.sum()
