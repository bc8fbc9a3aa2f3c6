"""Functions that hush takes from the compiled part of scipy, or computes itself, are those of scipy to the last bit."""

from __future__ import annotations

import numpy as np
import pytest
import scipy.fft
import scipy.special

from hush.numerics import special
from hush.numerics.arrays import distinct
from hush.numerics.logspace import logsumexp


def test_special_functions_are_those_of_scipy() -> None:
    for name in ("erfcx", "gammaln", "log_ndtr", "ndtri", "ndtri_exp", "kve"):
        assert getattr(special, name) is getattr(scipy.special, name)
    assert special.roots_jacobi is scipy.special.roots_jacobi, "a function that is not compiled"
    places = np.linspace(1.01, 60.0, 500)
    assert np.array_equal(special.zeta(places), scipy.special.zeta(places))
    with pytest.raises(AttributeError, match="no_such_function"):
        special.no_such_function  # noqa: B018


@pytest.mark.parametrize("seed", range(50))
def test_sums_of_exponentials(seed: int) -> None:
    """With ties, with -inf, along an axis and over everything."""
    chance = np.random.default_rng(seed)
    x = chance.normal(size=(4, 9)) * 10.0 ** chance.integers(-3, 3)
    x[chance.random(x.shape) < 0.2] = -np.inf
    x[:, 3] = x[:, 5]
    for axis in (None, 0, 1, -1):
        assert np.array_equal(logsumexp(x, axis=axis), scipy.special.logsumexp(x, axis=axis))
    assert np.array_equal(logsumexp(x[0]), scipy.special.logsumexp(x[0]))


def test_sums_of_nothing() -> None:
    assert logsumexp([]) == -np.inf and logsumexp([-np.inf, -np.inf]) == -np.inf and logsumexp(3.0) == 3.0


def test_fast_lengths() -> None:
    for least in [*range(1, 3000), *np.random.default_rng(0).integers(3000, 2**40, size=300)]:
        assert special.next_fast_len(int(least)) == scipy.fft.next_fast_len(int(least), real=True)


@pytest.mark.parametrize("size", [0, 1, 2, 50])
def test_distinct_numbers(size: int) -> None:
    numbers = np.random.default_rng(size).integers(0, 20, size=(size, 2)) / 4.0
    assert np.array_equal(distinct(numbers), np.unique(numbers))
