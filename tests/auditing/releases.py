"""Reference releases in plain numpy, for audits to attack. Seeded, so that a test that passes keeps passing."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

import numpy as np

STEP = 1.0 / 16.0
Release = Callable[[Any, int], np.ndarray]


def lattice_laplace(scale: float, seed: int) -> Release:
    """value + the discrete Laplace law on multiples of STEP, exact but for the uniform bits: a difference of two
    geometric variables.
    """
    rng = np.random.default_rng(seed)
    success = -np.expm1(-STEP / scale)
    return lambda value, size: value + STEP * (rng.geometric(success, size) - rng.geometric(success, size))


def lattice_gaussian(sigma: float, seed: int) -> Release:
    """value + Gaussian noise rounded to multiples of STEP: post-processing of the continuous law where values are
    multiples too.
    """
    rng = np.random.default_rng(seed)
    return lambda value, size: value + STEP * np.round(rng.normal(scale=sigma, size=size) / STEP)


def float_laplace(scale: float, seed: int) -> Release:
    """The textbook release in floating point."""
    rng = np.random.default_rng(seed)
    return lambda value, size: value + rng.laplace(scale=scale, size=size)


def lattice_vector(scale: float, width: int, seed: int) -> Release:
    """Independent lattice Laplace noise on every coordinate."""
    one = lattice_laplace(scale, seed)
    return lambda value, size: np.asarray(value) + one(0.0, size * width).reshape(size, width)
