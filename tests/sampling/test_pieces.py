"""The factors of stable noise as polynomials: their error bound, and the words that have none."""

from __future__ import annotations

import math

import numpy as np
import pytest
from flint import arb

from hush import Stable
from hush.noise.stable import FAMILY as STABLE
from hush.numerics.ball import precision
from hush.sampling.pieces import Pieces
from hush.sampling.stable_transform import Transformation
from hush.sampling.threshold import MARGIN


@pytest.mark.parametrize("alpha", [1.01, 1.5, 1.99])
def test_the_bound_of_a_product_is_a_thousand_times_what_balls_show(alpha):
    """Both polynomials at words that were not used to check them, in all octaves and on both sides of 1/2."""
    noise = Stable(alpha, 1.0)
    two = STABLE.two_uniforms(noise)
    way = Transformation(noise, two, 1e-3)
    rng = np.random.default_rng(8)
    small = (2.0 ** rng.uniform(44.0, 63.9, (2, 150))).astype(np.uint64)
    words = np.where(rng.random((2, 150)) < 0.5, small, np.uint64((1 << 64) - 1) - small) & ~np.uint64(1)
    found = way._magnitude(words, np.empty((5, 150)))
    assert np.count_nonzero(np.isnan(found)) < 15
    with precision(192):
        for x, angle, wait in zip(found, *words, strict=True):
            if not math.isnan(x):
                truth = two.ball(arb(int(angle)) / 2**64, arb(int(wait)) / 2**64)
                own_width = 2.0**-42 * (1.0 + x)
                assert MARGIN * max(float(abs(truth - float(x)).upper()) - own_width, 0.0) <= way.tolerance * (1.0 + x)


def test_words_outside_all_panels_are_left_to_balls():
    """NaN for words within 2^-20 of an end, on either side; numbers next to them."""
    function = lambda near, side: near if side == 0 else 1.0 - near  # noqa: E731
    pieces = Pieces(function, 2, floor=0.0)
    edge = 1 << 43
    words = np.array([0, 1, edge - 1, edge, (1 << 63) - 1, 1 << 63, (1 << 64) - edge, (1 << 64) - 1], dtype=np.uint64)
    found = pieces.evaluate(words, np.empty(8), np.empty((3, 8)))
    assert np.isnan(found).tolist() == [True, True, True, False, True, True, False, True]
    middle = np.array([3 << 61, 5 << 61], dtype=np.uint64)
    found = pieces.evaluate(middle, np.empty(2), np.empty((3, 2)))
    assert found == pytest.approx([0.375, 0.625], abs=1e-15)


@pytest.mark.parametrize("sides", [1, 2])
def test_parabolas_are_as_close_to_the_polynomials_as_stated(sides):
    """At words in all octaves, on both sides; and NaN for the same words, but for the panels without a polynomial."""
    function = lambda near, side: (near if side == 0 else 1.0 - near) ** -0.3  # noqa: E731
    pieces = Pieces(function, sides, floor=0.5)
    rng = np.random.default_rng(9)
    small = (2.0 ** rng.uniform(42.0, 63.9, 5000)).astype(np.uint64)
    words = np.where(rng.random(5000) < 0.5, small, np.uint64((1 << 64) - 1) - small)
    by_polynomials = pieces.evaluate(words, np.empty(5000), np.empty((3, 5000)))
    by_parabolas = pieces.quick(words, np.empty(5000), np.empty((3, 5000)))
    assert (np.isnan(by_polynomials) == np.isnan(by_parabolas)).all() and np.isnan(by_parabolas).mean() < 0.2
    apart = np.nanmax(np.abs(by_parabolas - by_polynomials) / (0.5 + by_polynomials))
    assert 0.01 * pieces.truncation < apart <= pieces.truncation < 1e-10
