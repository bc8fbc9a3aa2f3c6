"""Sums through matrix products are exact, and a replaced row moves a whitened gradient within its bound."""

from __future__ import annotations

import itertools
import math
from fractions import Fraction

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st
from hypothesis.extra.numpy import arrays

import hush.learn
from hush.learn.block_rows import MemoryRows
from hush.learn.defaults import setting
from hush.learn.means_and_spreads import MomentSums
from hush.learn.moment_solver import Products
from hush.learn.objective import LOGISTIC, SQUARED
from hush.learn.scaling import Scaling, Span
from hush.learn.shrinkage import limited, shrunk
from hush.learn.whitened import geometry, gradient_grain, gradients_wish, response, shifted, unit_bits
from hush.learn.whole_rows import WholeRows
from hush.learn.whole_sums import ENTRY, EXACT, MOST_ROWS, SLOPE, SLOPE_BITS, chunks, matrix_limit

COUNT, WIDTH = 9, 2
SPAN = Span(np.array([-1.0, 0.0]), np.array([1.0, 2.0]))
TARGET = Span(np.array([-2.0]), np.array([2.0]))
NONE = Scaling.public(Span(np.zeros(0), np.ones(0)))
cell = st.one_of(st.floats(-2.0, 2.0), st.sampled_from([0.0, 1e-300, 1e150, -1e300, 1.0, -1.0]))


def test_no_partial_sum_of_a_matrix_product_reaches_the_largest_exact_integer():
    assert ENTRY * SLOPE * MOST_ROWS < EXACT  # gradients
    for columns in (1, 2, 12, 50, 500, 5000, 100_000):
        assert matrix_limit(columns) * ENTRY * columns < EXACT  # lengths
        assert matrix_limit(columns) >= 2.0**15


@pytest.mark.parametrize("order", [1, -1])
def test_the_largest_numbers_are_added_exactly_in_any_order(order):
    """The bounds are reached, and one unit still counts; beyond the bounds it is lost."""
    whole = np.full((MOST_ROWS, 3), ENTRY)
    slope = np.full(MOST_ROWS, SLOPE)
    slope[7] -= 1.0
    got = (slope[::order] @ whole[::order]).astype(np.int64)
    assert got.tolist() == [int(ENTRY) * (int(SLOPE) * MOST_ROWS - 1)] * 3
    assert (2.0**54 + 1.0) == 2.0**54


def rows_of(X, y, objective, size=1 << 14):
    target = Scaling.public(TARGET) if objective is SQUARED else NONE
    return WholeRows(MemoryRows(X, y, size=size), Scaling.public(SPAN).limited(3.0), target, True, objective)


def shape_of(columns: int, seed: int):
    """A geometry that is far from a sphere."""
    mixed = np.random.default_rng(seed).normal(size=(columns + 1, columns + 1))
    return geometry(Products(mixed @ mixed.T, 1e-3), columns, 0.1)


def test_sums_do_not_depend_on_the_blocks_and_are_those_of_fractions():
    numbers = np.random.default_rng(4)
    X, y = numbers.uniform(-1.5, 2.5, (101, WIDTH)), numbers.uniform(-3.0, 3.0, 101)
    shape, weights, found = shape_of(WIDTH + 1, 3), np.array([0.7, -1.3, 0.1]), []
    for size in (1 << 14, 40, 7):
        rows = rows_of(X, y, SQUARED, size)
        rows.measure(shape.matrix.astype(float), math.ldexp(1.0, rows.bits + SLOPE_BITS + shape.bits))
        found.append(rows.gradient(weights).tolist())
    assert found[0] == found[1] == found[2] and all(type(value) is int for value in found[0])
    whole, target = (np.concatenate(parts) for parts in zip(*[(v.copy(), t) for v, t, _ in rows.parts()], strict=True))
    limit = Fraction(math.ldexp(1.0, rows.bits + SLOPE_BITS + shape.bits))
    expected = [0] * 3
    for row, goal in zip(whole, target, strict=True):  # made anew, in fractions
        margin = sum(Fraction(float(v)) * Fraction(w) for v, w in zip(row, weights.tolist(), strict=True))
        slope = round((margin / 2**rows.bits - Fraction(float(goal))) * 2**SLOPE_BITS)
        square = sum(sum(int(m) * int(v) for m, v in zip(line, row, strict=True)) ** 2 for line in shape.matrix)
        most = min(limit / Fraction(math.sqrt(square)), SLOPE)
        slope = max(min(slope, math.floor(most)), -math.floor(most))
        expected = [total + slope * int(v) for total, v in zip(expected, row, strict=True)]
    near = [abs(a - b) / 101 for a, b in zip(found[0], expected, strict=True)]
    assert max(near) <= 2 * ENTRY  # a slope may differ by 1: floats round it, and lengths are rounded up to 32 bits
    assert max(map(abs, expected)) > 1000 * ENTRY


def released(X, y, objective, weights, shape, reach, count=COUNT, halvings=0):
    """What gets noise in one step: floor(2^halvings M S / 2^shift)."""
    rows = rows_of(X, y, objective)
    rows.measure(shape.matrix.astype(float), math.ldexp(reach, rows.bits + SLOPE_BITS + shape.bits))
    total = shape.matrix @ rows.gradient(weights, halvings)
    shift = rows.bits + SLOPE_BITS + shape.bits - unit_bits(count, reach) - halvings
    return [shifted(int(value), shift) for value in total]


@settings(max_examples=150, deadline=None)
@given(
    arrays(np.float64, (COUNT, WIDTH + 1), elements=cell),
    arrays(np.float64, WIDTH + 1, elements=cell),
    arrays(np.float64, WIDTH + 1, elements=st.one_of(st.floats(-3.0, 3.0), st.sampled_from([1e3, -1e3]))),
    st.sampled_from([SQUARED, LOGISTIC]),
    st.integers(0, 5),
    st.sampled_from([0.01, 0.5, 4.0]),
    st.sampled_from([0, 0, 1, 3, 6]),
)
def test_a_gradient_moves_by_at_most_what_is_paid_for(table, new, weights, objective, seed, reach, halvings):
    other = table.copy()
    other[3] = new
    goals = [t[:, -1] if objective is SQUARED else (t[:, -1] > 0.0).astype(float) for t in (table, other)]
    shape = shape_of(WIDTH + 1, seed)
    one, two = (
        released(t[:, :-1], goal, objective, weights, shape, reach, halvings=halvings)
        for t, goal in zip((table, other), goals, strict=True)
    )
    made = setting(objective, 0.1, 3, solver="whitened", passes=4, step=None, clip=reach / math.sqrt(3.0))
    wish = gradients_wish(COUNT, 3, made, 0.5)
    moved = [a - b for a, b in zip(one, two, strict=True)]
    assert sum(m * m for m in moved) <= Fraction(wish.bound.l2_bound) ** 2
    assert sum(map(abs, moved)) <= wish.pure.l1 and wish.times == 4


@pytest.mark.parametrize("halvings", [0, 2])
def test_the_bound_of_a_gradient_is_nearly_reached_by_brute_force(halvings):
    """All pairs of rows from the corners of the ranges, with targets at both ends. A halved clip has the same bound."""
    shape, corners = shape_of(WIDTH + 1, 1), list(itertools.product((-1.0, 1.0), (0.0, 2.0), (-2.0, 2.0)))
    fixed = np.tile([0.0, 1.0, 0.0], (COUNT, 1))
    made = []
    for corner in corners:
        table = fixed.copy()
        table[0] = corner
        numbers = released(table[:, :-1], table[:, -1], SQUARED, np.zeros(3), shape, 0.2, halvings=halvings)
        made.append(np.array(numbers, dtype=float))
    largest = max(np.linalg.norm(one - two) for one in made for two in made)
    bound = 2.0 * gradient_grain(COUNT, 0.2) + math.sqrt(3.0)
    assert 0.9 * bound < largest <= bound


def test_grains_of_very_many_rows_pay_for_their_rounding():
    """100 sums of 10^15 rows: each is rounded down, which moves the sums by up to sqrt(100) units."""
    made = setting(SQUARED, 0.1, 100, solver="whitened", passes=4, step=None, clip=0.01)
    bound = gradients_wish(10**15, 100, made, 0.5).bound.l2_bound
    assert 2.0 * gradient_grain(10**15, made.clips[0]) + 10.0 <= bound


def test_the_largest_slope_times_the_length_of_a_row_is_within_the_limit():
    """Exactly, also where the largest slope is a whole number after rounding."""
    numbers, limit = np.random.default_rng(4), 2.0**52
    X = numbers.normal(size=(4000, 3))
    ends = (Scaling.public(Span(np.full(k, -4.0), np.full(k, 4.0))) for k in (3, 1))
    rows = WholeRows(MemoryRows(X, X[:, 0]), *ends, True, SQUARED)
    matrix = np.rint(1e6 * numbers.normal(size=(4, 4)))
    rows.measure(matrix, limit)
    exact = matrix.astype(int).astype(object)
    for whole, _, _, most in rows.limited_parts():
        for row, one in zip(whole, most, strict=True):
            length = sum(int(v) ** 2 for v in exact @ [int(v) for v in row])
            assert length * int(one) ** 2 <= Fraction(limit) ** 2


@pytest.mark.parametrize("spread", [1e-5, 1e-6, 1e-9])
def test_limits_of_many_thousand_spreads_keep_integers_and_the_bound(spread):
    """The constant is an integer too, or else sums would be cut off, which moves them further than the bound."""
    one = np.ones(1)
    own, shape, reach, made = Scaling(0.0 * one, spread * one, -one, one), shape_of(2, 1), 1e-4, []
    for count in range(29, 37):  # one row more or less
        source = MemoryRows(np.zeros((count, 1)), np.full(count, 2.0))
        rows = WholeRows(source, own, Scaling.public(TARGET), True, SQUARED)
        rows.measure(shape.matrix.astype(float), math.ldexp(reach, rows.bits + SLOPE_BITS + shape.bits))
        whole = np.concatenate([part.copy() for part, _, _ in rows.parts()])
        assert (whole == np.rint(whole)).all() and (np.abs(whole) <= ENTRY).all() and (whole[:, 1] >= 1.0).all()
        total = rows.gradient(np.zeros(2))
        made.append([int(value) for value in shape.matrix @ total])
    bound = Fraction(math.ldexp(reach, rows.bits + SLOPE_BITS + shape.bits)) ** 2
    moves = [sum((a - b) ** 2 for a, b in zip(*pair, strict=True)) for pair in itertools.pairwise(made)]
    assert 0 < max(moves) <= bound


def moments(X, size=COUNT):
    made = MomentSums(SPAN)
    for rows, _ in chunks(MemoryRows(X, np.zeros(len(X)), size=size)):
        made.add(rows)
    return made.total


@given(arrays(np.float64, (COUNT, WIDTH), elements=cell))
def test_moments_do_not_depend_on_the_blocks(X):
    for size in (1, 4):
        assert np.array_equal(moments(X), moments(X, size))


def test_the_largest_moments_are_exact():
    """A full part of rows at the ends of their ranges, and one row that differs by the smallest amount."""
    X = np.tile([1.0, 2.0], (MOST_ROWS, 1))
    X[5] = 1.0 - 2.0**-20, 2.0 - 2.0**-20
    top = 2**20
    assert moments(X, MOST_ROWS).tolist() == [
        [MOST_ROWS * top - 1] * 2,
        [(MOST_ROWS * top**2 - 2 * top + 1) // top] * 2,
    ]


def test_whitened_rows_have_unit_spread_in_every_direction():
    numbers = np.random.default_rng(2)
    mixed = numbers.normal(size=(4, 4))
    exact = mixed @ mixed.T
    shape = geometry(Products(np.pad(exact, (0, 1)), 0.0), 4, 0.0)
    whitening = np.array(shape.matrix, dtype=float) / 2.0**shape.bits
    np.testing.assert_allclose(whitening @ exact @ whitening.T, np.eye(4), atol=1e-4)
    np.testing.assert_allclose(shape.back @ whitening, np.eye(4), atol=1e-4)
    np.testing.assert_allclose(shape.hessian, exact, rtol=1e-9)


def test_a_noisy_matrix_has_no_eigenvalue_below_its_noise_or_one():
    noisy = np.diag([5.0, 0.3, -2.0, 0.0, 1.0])
    assert np.linalg.eigvalsh(geometry(Products(noisy, 0.1), 4, 0.0).hessian).min() == pytest.approx(0.4)
    assert np.linalg.eigvalsh(geometry(Products(noisy, 2.0), 4, 0.0).hessian).tolist() == pytest.approx([1.0] * 4)
    assert np.linalg.eigvalsh(geometry(Products(noisy, 2.0), 4, 1.0).hessian).min() == pytest.approx(4.0)


# -- shrinkage -----------------------------------------------------------------------------------------------


def test_shrinkage_leaves_the_intercept_when_noise_dominates_and_nothing_changes_without_noise():
    weights, hessian = np.array([0.5, -0.5, 0.3]), np.eye(3)
    assert shrunk(weights, hessian, 0.0, SQUARED, constant=True).tolist() == weights.tolist()
    assert shrunk(weights, hessian, 1.0, SQUARED, constant=True)[:2].tolist() == [0.0, 0.0]
    assert shrunk(weights, hessian, 1.0, LOGISTIC, constant=True).tolist() == [0.0, 0.0, 0.0]
    kept = shrunk(weights, hessian, 1e-3, LOGISTIC, constant=True)
    assert (np.abs(kept) < np.abs(weights)).all() and np.abs(kept - weights).max() < 0.01
    assert limited(10.0 * weights, hessian, SQUARED) @ limited(10.0 * weights, hessian, SQUARED) == pytest.approx(1.0)


@pytest.mark.parametrize("signal", [0.0, 0.1, 0.5])
@pytest.mark.parametrize("noise", [0.01, 0.1, 1.0])
def test_shrunk_weights_are_not_worse_than_none(signal, noise):
    """The mean squared error beside |truth|^2, over 4,000 draws of noise whose variance is known.

    The error of a mean is below 0.05 of its bound with a false-alarm rate of 1e-6.
    """
    numbers, features = np.random.default_rng(11), 10
    truth = np.full(features, math.sqrt(signal / features))
    draws = truth + math.sqrt(noise) * numbers.normal(size=(4000, features))
    error = np.mean([((shrunk(w, np.eye(features), noise, SQUARED, constant=False) - truth) ** 2).sum() for w in draws])
    assert error <= 1.05 * min(signal + 0.02 * max(1.0, noise), features * noise) + 0.02
    raw = np.mean(((draws - truth) ** 2).sum(axis=1))
    assert error <= 1.2 * raw  # the noise counts twice, so that a clear signal is shrunk a little too much


@pytest.mark.parametrize(
    ("objective", "rho", "columns", "averaged"),
    [(SQUARED, 1e-3, 4, 1), (LOGISTIC, 1e-3, 4, 1), (SQUARED, 5e-3, 101, 10), (LOGISTIC, 5e-3, 101, 10)],
)
def test_the_response_to_noise_is_that_of_the_steps(objective, rho, columns, averaged):
    """The recursion is replayed with random noise in one coordinate; the variances agree within 10 %.

    20,000 draws: a relative deviation of 0.1 has a probability below 1e-6.
    """
    made = setting(objective, rho, columns, solver="whitened", passes=None, step=None, clip=None)
    assert made.averaged == averaged
    numbers, curvature, held = np.random.default_rng(6), objective.curvature, 0.5 if objective is LOGISTIC else 1.0
    weight, velocity, kept = np.zeros(20_000), np.zeros(20_000), []
    for index in range(made.passes):
        slope = curvature * weight * held + numbers.normal(size=20_000)
        velocity = made.momentum * velocity + slope
        weight = weight - velocity / curvature * (1.0 if objective is LOGISTIC else max(1.0 / (index + 1.0), 0.3))
        kept.append(weight)
    seen, told = np.mean(kept[-averaged:], axis=0).var(), response(made, objective, held=held)
    assert abs(seen / told - 1.0) < 0.1
    assert abs(seen / ((2.0 / 3.0) ** 2 * told) - 1.0) > 0.1


def test_many_columns_with_a_hidden_matrix_average_the_last_half_of_their_steps():
    def made(rho, columns, **given):
        options = {"solver": "whitened", "passes": None, "step": None, "clip": None}
        return setting(given.pop("objective", SQUARED), rho, columns, **{**options, **given})

    assert made(5e-3, 101).averaged == 10 and made(5e-3, 101).matrix_share < made(5e-3, 40).matrix_share
    assert made(5e-3, 101, passes=7).averaged == 3 and made(5e-3, 101, passes=1).averaged == 1
    assert made(5e-3, 101, objective=LOGISTIC).momentum == 0.0
    few, clear, faint, pure = made(5e-3, 40), made(5e-5, 101), made(0.1, 101), made(5e-3, 101, pure=True)
    assert few.averaged == clear.averaged == faint.averaged == pure.averaged == 1


def test_many_columns_have_little_error_beyond_that_without_noise():
    """10,000 rows and 150 columns at epsilon 1: what noise adds to the squared error, as a part of the variance.

    A fit has 0.061 on average with a deviation of 0.013, so 24 fits are below 0.076 with a false-alarm rate below 1e-6.
    Ten steps without an average have 0.086.
    """
    numbers = np.random.default_rng(8)
    X, truth = numbers.normal(size=(10_000, 150)), numbers.normal(size=150) / math.sqrt(150)
    y = X @ truth + numbers.normal(size=10_000)
    model = hush.learn.Ridge(epsilon=1.0, delta=1e-6, bounds=(-5, 5), target_bounds=(-10, 10))
    off = [float(((model.fit(X, y).coef_ - truth) ** 2).sum()) / (1.0 + float(truth @ truth)) for _ in range(24)]
    assert np.mean(off) < 0.076
