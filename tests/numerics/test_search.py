"""Searches end on the safe side, close to the root, and raise an error where they cannot."""

from __future__ import annotations

import math

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st

from hush.errors import NotCertified
from hush.numerics.root import first_whole, halved, narrowed_maximum, newton_roots, raised_until, ridders, safe_chords
from hush.numerics.search import (
    first_true,
    first_true_from,
    golden_minimum,
    guarded_newton,
    narrowed_minimum,
    nudged,
    safe_end,
    safe_secant,
)

places = st.floats(min_value=0.01, max_value=99.0)


@given(places, st.sampled_from([lambda x: x, lambda x: x**3, lambda x: math.exp(min(x, 700.0)), math.atan]))
def test_a_secant_ends_on_the_safe_side_near_the_root(root, shape):
    found = safe_secant(lambda x: shape(x) - shape(root), 100.0, 0.0, relative=1e-10)
    assert shape(found) <= shape(root)
    assert abs(found - root) <= 1e-9 * root or shape(found * (1.0 + 1e-9)) == shape(root)
    other = safe_secant(lambda x: shape(root) - shape(x), 0.0, 100.0, relative=1e-10)
    assert shape(other) >= shape(root)


def test_a_secant_needs_a_bracket():
    with pytest.raises(NotCertified):
        safe_secant(lambda x: 1.0, 1.0, 0.0, relative=1e-9)


@given(places, st.booleans())
def test_bisection_ends_at_neighbouring_floats_on_the_safe_side(root, geometric):
    assert safe_end(lambda x: x >= root, 1e-3, 100.0, geometric=geometric) == pytest.approx(root, rel=1e-15)
    assert safe_end(lambda x: x >= root, 1e-3, 100.0, geometric=geometric) >= root
    assert safe_end(lambda x: x <= root, 100.0, 1e-3, geometric=geometric) <= root


def test_bisection_returns_the_given_end_where_nothing_else_is_safe():
    assert safe_end(lambda x: False, 0.0, 1.0, relative=1e-9) == 1.0


@given(st.integers(-50, 50), st.integers(0, 60), st.integers(-60, 120))
def test_the_first_whole_number(low, span, least):
    expected = next((n for n in range(low, low + span + 1) if n >= least), low + span + 1)
    assert first_true(low, low + span, lambda n: n >= least) == expected


@given(st.integers(1, 5), st.integers(1, 300))
def test_the_first_whole_number_by_doubling(low, least):
    asked = []
    found = first_true_from(low, 200, lambda n: asked.append(n) or n >= least)
    assert found == max(low, least) if found is not None else least > 100
    assert max(asked) <= 200 and len(asked) <= 17


def test_a_nudge_stops_at_the_first_point_that_holds():
    assert nudged(lambda x: True, 3.0, first=1e-9, growth=4.0, turns=3) == 3.0
    above = nudged(lambda x: x >= 1.0 + 1e-8, 1.0, first=1e-9, growth=4.0, turns=10)
    assert above is not None and 1.0 + 1e-8 <= above < 1.0 + 5e-8
    below = nudged(lambda x: x <= 1.0 - 1e-8, 1.0, first=-1e-9, growth=4.0, turns=10)
    assert below is not None and 1.0 - 5e-8 < below <= 1.0 - 1e-8
    assert nudged(lambda x: x > 0.0, 0.0, first=1e-9, growth=4.0, turns=3) == 1e-300
    assert nudged(lambda x: False, 1.0, first=1e-9, growth=4.0, turns=3) is None


@given(places)
def test_guarded_newton_stays_inside_where_newton_would_leave(root):
    """Newton's steps for arctan diverge from a far start."""

    def probe(x):
        excess = math.atan(root - x)
        return None if abs(excess) < 1e-12 else (excess, x + excess * (1.0 + (root - x) ** 2))

    assert guarded_newton(probe, 90.0, 0.0, 100.0, lambda a, b: 0.5 * (a + b)) == pytest.approx(root, abs=1e-9)


def test_newton_roots_of_many_concave_functions():
    target = np.geomspace(1e-6, 10.0, 50)
    low, high = np.zeros(50), np.full(50, 60.0)
    found = newton_roots(
        lambda x, at: (-np.log(target[at]) - x, np.ones(x.size)), low - 10.0, high, lambda x, at: np.abs(x) + 1.0
    )
    assert np.allclose(found, -np.log(target), rtol=1e-12, atol=1e-12)


def test_numbers_are_raised_only_where_they_fail():
    start = np.array([[1.0, 2.0], [3.0, 4.0]])
    least = np.array([0.5, 2.0 + 1e-9, 3.0, 4.0 * (1.0 + 1e-12)])
    found = raised_until(lambda x, late: x < least[late], start, first=1e-14, growth=3.0)
    assert found.shape == (2, 2) and (found.ravel() >= least).all()
    assert found[0, 0] == 1.0 and found[1, 0] == 3.0 and (found / start < 1.0 + 5e-9).all()
    with pytest.raises(NotCertified):
        raised_until(lambda x, late: np.ones(x.size, dtype=bool), start, first=1e-14, growth=1.0, turns=5)


def test_maxima_smooth_or_with_a_corner_or_at_an_end():
    peak = np.linspace(0.0, 1.0, 21)
    for shape in (lambda x: -((x - peak) ** 2), lambda x: -np.abs(x - peak)):
        found = narrowed_maximum(shape, np.zeros(21), np.ones(21))
        assert found.shape == (21,) and (found <= 0.0).all() and (found > -1e-12).all()


@given(st.floats(min_value=-0.99, max_value=0.99))
def test_the_golden_section_finds_the_lowest_point(place):
    assert golden_minimum(lambda x: abs(x - place), -1.0, 1.0, width=1e-6) == pytest.approx(place, abs=1e-6)


@given(places)
def test_a_secant_stops_where_the_function_is_near_enough(root):
    asked = []
    found = safe_secant(lambda x: asked.append(x) or root - x, 0.0, 100.0, relative=0.0, near=1e-6)
    assert 0.0 <= found - root < 1e-6
    assert len(asked) < 30


@given(places)
def test_finer_grids_find_place_and_value_of_a_minimum(root):
    def valley(x):
        return np.where(x > 99.5, np.nan, np.abs(x - root) + 2.0)

    place, least = narrowed_minimum(valley, 0.0, 100.0, points=(33, *[17] * 16))
    assert place == pytest.approx(root, rel=1e-9)
    assert 2.0 <= least < 2.0 + 1e-9


def test_bisections_of_many_brackets_keep_their_sides():
    root = np.geomspace(1e-3, 90.0, 40)
    unsafe, safe = halved(lambda x: x >= root, np.zeros(40), np.full(40, 100.0), turns=60)
    assert (unsafe < root).all() and (safe >= root).all()
    assert safe == pytest.approx(root, rel=1e-12)
    assert halved(lambda x: x < 0.0, np.zeros(1), np.ones(1), turns=9)[1] == [1.0]


def test_first_whole_numbers_of_many_conditions():
    least = np.array([[0.0, 1.0, 2.0], [7.0, 8.0, 1e6]])
    assert np.array_equal(first_whole(lambda k: k >= least, least.shape), least)
    assert np.array_equal(first_whole(lambda k: k >= least - 0.5, least.shape), least)


def test_chords_end_on_the_safe_side_near_enough():
    root = np.geomspace(1e-3, 90.0, 40)
    found = safe_chords(lambda x, at: np.log(root[at] / x), np.full(40, 1e-6), np.full(40, 1e3), near=1e-9)
    assert (found >= root).all()
    assert found == pytest.approx(root, rel=2e-9)
    assert safe_chords(lambda x, at: -x, np.ones(1), np.full(1, 2.0), near=1e-9) == [1.0]
    assert safe_chords(lambda x, at: x, np.ones(1), np.full(1, 2.0), near=1e-9) == [2.0]


def test_ridders_does_not_depend_on_the_batch():
    root = np.geomspace(1e-3, 90.0, 40)
    together = ridders(lambda x: np.arctan(root - x), np.zeros(40), np.full(40, 100.0))
    assert together == pytest.approx(root, rel=1e-14)
    for place in (0, 17, 39):
        alone = ridders(lambda x, at=place: np.arctan(root[at] - x), np.zeros(1), np.full(1, 100.0))
        assert alone[0] == together[place]
