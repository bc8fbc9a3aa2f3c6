"""Boxes of a grid: errors against all questions written out, least squares, privacy, intervals and mistakes."""

from __future__ import annotations

import math
from fractions import Fraction

import numpy as np
import pytest
from scales import must_cover, must_have_planned_error

import hush
from hush.privacy.charge import Budget
from hush.workload import Boxes, Prefixes, Ranges
from hush.workload.boxes import _block_sizes, _dense, _gaussian, _laplace

BUDGET = Budget(1.0, 1e-6)
SMALL = Boxes({"a": Ranges(6), "b": Prefixes(5), "c": 2})
BLOCKS = ((4, 2, 1), (3, 1), (1,))


def questions(boxes):
    """All questions, one row each."""
    found = np.ones((1, 1))
    for line in boxes.lines:
        found = np.kron(found, line.matrix())
    return found


def strategies(boxes, rows=1):
    yield _laplace(boxes, BUDGET, rows, [BLOCKS])
    yield _gaussian(boxes, BUDGET, rows)
    yield _dense(boxes, BUDGET, rows)


def measured_rows(strategy, shape):
    """What is measured as a matrix, each part divided by the deviation of its noise."""
    cells = list(np.eye(math.prod(shape), dtype=np.int64))
    columns = [strategy.measured(SMALL.counted(cell.reshape(shape))) for cell in cells]
    deviations = [math.sqrt(float(np.max(part.noise.variance))) for part in strategy.parts]
    return np.array([np.concatenate([p / d for p, d in zip(one, deviations, strict=True)]) for one in columns]).T


@pytest.mark.parametrize("place", range(3))
def test_the_error_and_the_estimate_are_those_of_least_squares(place):
    """Against the normal equations of everything that is measured. Padded bins are not known to be empty by blocks, so
    their error may be a little larger.
    """
    strategy = list(strategies(SMALL))[place]
    rows = measured_rows(strategy, SMALL.shape)
    covariance = np.linalg.inv(rows.T @ rows)
    asked = questions(SMALL)
    exact = float(np.mean(np.einsum("ij,jk,ik->i", asked, covariance, asked)))
    assert exact * (1.0 - 1e-9) <= strategy.error <= exact * (1.0 + (1e-6 if place == 2 else 0.1))
    truth = np.arange(math.prod(SMALL.shape)).reshape(SMALL.shape)
    assert np.allclose(strategy.estimated(strategy.measured(SMALL.counted(truth))), truth)


def test_the_error_of_whole_blocks_is_exact():
    """With sizes that divide the numbers of bins, and the law of one box by its weights."""
    boxes = Boxes({"a": Ranges(8), "b": Ranges(4)})
    strategy = _laplace(boxes, BUDGET, 1, [((4, 1), (2, 1))])
    cells = np.eye(32, dtype=np.int64)
    columns = [strategy.measured(boxes.counted(cell.reshape(8, 4))) for cell in cells]
    deviations = [math.sqrt(part.noise.variance) for part in strategy.parts]
    rows = np.array([np.concatenate([p / d for p, d in zip(one, deviations, strict=True)]) for one in columns]).T
    covariance = np.linalg.inv(rows.T @ rows)
    asked = questions(boxes)
    exact = float(np.mean(np.einsum("ij,jk,ik->i", asked, covariance, asked)))
    assert strategy.error == pytest.approx(exact, rel=1e-7)
    one, two = np.r_[np.zeros(3), np.ones(4), 0.0], np.r_[0.0, np.ones(2), 0.0]
    both = np.kron(one, two)
    assert strategy.law([one, two]).variance == pytest.approx(both @ covariance @ both, rel=1e-7)


@pytest.mark.parametrize("rows", [1, 3])
def test_no_person_moves_more_than_stated(rows):
    """Every cell, and the worst case that all rows of a person are in one cell."""
    laplace, *gaussian = strategies(SMALL, rows)
    cells = [cell.reshape(SMALL.shape) for cell in np.eye(math.prod(SMALL.shape), dtype=np.int64)]
    for cell in cells:
        assert all(move.sum() == move.max() == 1 for move in laplace.measured(SMALL.counted(cell)))
    spent = sum(Fraction(1) / Fraction(part.noise.noise.scale) for part in laplace.parts) * rows
    assert spent <= 1 and float(spent) > 1.0 - 1e-7
    for strategy in gaussian:
        limit = Fraction(strategy.parts[0].sensitivity.l2) ** 2
        moves = [strategy.measured(SMALL.counted(rows * cell))[0] for cell in cells]
        longest = max(sum(int(k) ** 2 for k in move) for move in moves)
        assert 0.999 * float(limit) <= longest <= limit


def test_a_broken_sensitivity_is_caught():
    """The same check fails for a strategy that states the length of one column of one axis only."""
    strategy = _dense(SMALL, BUDGET, 1)
    cells = np.eye(math.prod(SMALL.shape), dtype=np.int64)
    longest = max(
        sum(int(k) ** 2 for k in strategy.measured(SMALL.counted(cell.reshape(SMALL.shape)))[0]) for cell in cells
    )
    wrong = max(sum(int(k) ** 2 for k in column) for column in strategy.rows[0].T)
    assert longest > wrong


@pytest.mark.parametrize("sizes", [(3, 2), (9, 7), (20, 3), (16, 16)])
def test_never_worse_than_noise_on_each_cell(sizes):
    boxes = Boxes({"a": Ranges(sizes[0]), "b": Prefixes(sizes[1])})
    flat = math.prod(line.block_norm(1, line.bins) / line.questions for line in boxes.lines) / (math.cosh(1.0) - 1.0)
    assert boxes.plan(1.0, 1e-6).mse <= flat * (1.0 + 1e-6)


def test_plans_of_the_guide():
    """A range of 64 x 64 bins: products of the best combinations, 0.56 times the error of noise on each cell."""
    plan = Boxes({"a": Ranges(64), "b": Ranges(64)}).plan(1.0, 1e-6)
    assert plan.mse == pytest.approx(502.0, rel=0.01)
    assert plan.strategy.name == "Gaussian noise on products of the best combinations"
    by_value = Boxes({"a": Ranges(100), "b": 5}).plan(1.0, 0.0)
    assert by_value.mse == pytest.approx(45.58, rel=0.01)
    alone = Ranges(100).plan(1.0, 0.0)
    assert by_value.mse == pytest.approx(alone.mse, rel=0.01)  # a row has one value: the values share no budget


def test_errors_intervals_and_whole_numbers():
    """300 releases: the mean squared error of all boxes, and the coverage of one box."""
    boxes = Boxes({"a": Ranges(20), "b": 3})
    truth = np.arange(60).reshape(20, 3)
    plan, asked = boxes.plan(1.0, 1e-6), questions(boxes)
    answers = [plan.answer(truth, ledger=None) for _ in range(300)]
    errors = [float(np.mean((asked @ (answer.estimates - truth).ravel()) ** 2)) for answer in answers]
    must_have_planned_error(np.array(errors), plan.mse)
    found = [answer.box(a=(4, 15), b=1) for answer in answers]
    must_cover(np.array([one.low <= truth[4:15, 1].sum() <= one.high for one in found]), 0.95)
    one = answers[0]
    assert one.histogram.sum() == one.total == round(one.box().value)
    assert np.abs(one.histogram - one.estimates).max() <= 2.0 + 1e-9
    assert one.non_negative.min() >= 0 and one.non_negative.sum() == max(one.total, 0)


def test_the_search_includes_the_flat_grid():
    assert ((1,), (1,)) in _block_sizes(Boxes({"a": Ranges(30), "b": Ranges(30)}), BUDGET, 1)
    assert all(len(sizes[1]) == 1 for sizes in _block_sizes(Boxes({"a": Ranges(30), "b": 30}), BUDGET, 1))


@pytest.mark.parametrize(
    ("call", "words"),
    [
        (lambda: Boxes({}), "axes"),
        (lambda: Boxes({"a": 0}), "axes"),
        (lambda: Boxes({"a": Ranges(4000), "b": Ranges(4000)}), "cells"),
        (lambda: Boxes({"a": 2}).plan(1.0, 0.0).answer(np.zeros(3, int), ledger=None), "shape"),
        (lambda: Boxes({"a": 2}).plan(1.0, 0.0).answer(np.zeros(2, int), ledger=None).box(b=1), "not one of"),
        (lambda: Boxes({"a": 2}).plan(1.0, 0.0).answer(np.zeros(2, int), ledger=None).box(a=2), "must be a bin"),
        (lambda: Boxes({"a": 2}).plan(1.0, 0.0).answer(np.zeros(2, int), ledger=None).box(a="x"), "must be a bin"),
        (lambda: Boxes({"a": 2}).plan(1.0, 0.0).variance, "not listed"),
    ],
)
def test_mistakes_get_one_sentence(call, words):
    with pytest.raises(hush.HushError, match=words) as mistake:
        call()
    assert "\n" not in str(mistake.value)
