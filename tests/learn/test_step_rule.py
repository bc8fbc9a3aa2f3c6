"""Steps and clips of least squares that follow released residuals."""

from __future__ import annotations

import math
from unittest.mock import patch

import numpy as np
import pytest

from hush.learn import Lasso, Ridge, defaults, whitened
from hush.learn.class_level import ClassLevel
from hush.learn.moment_solver import Products
from hush.learn.objective import LOGISTIC
from hush.learn.shrinkage import shrunk
from hush.learn.step_rule import StepRule


def products(signal: float, width: int = 4, error: float = 1e-3) -> tuple[Products, np.ndarray]:
    """Products of independent columns of spread 1 and of a target of variance 1, and the weights of least squares."""
    weights = np.full(width, math.sqrt(signal / width))
    matrix = np.eye(width + 1)
    matrix[-1, :-1] = matrix[:-1, -1] = weights
    return Products(matrix, error), weights


@pytest.mark.parametrize(("signal", "halvings"), [(0.0, 0), (0.4, 0), (0.6, 0), (0.9, 1), (0.99, 2), (0.9999, 6)])
def test_small_residuals_halve_the_clip(signal, halvings):
    """The residuals of these models have the spread sqrt(1 - signal)."""
    found, weights = products(signal, error=1e-5)
    rule = StepRule.at(weights, found, np.eye(4), 1e-4, 1.0)
    assert rule.next(weights)[0] == halvings
    assert StepRule.at(weights, found, np.eye(4), 1e-4, 1.0).next(np.zeros(4))[0] == 0  # residuals of the target itself


def test_steps_average_the_noise_of_gradients_that_are_not_clipped():
    """With much to correct and loose clips the steps are 1, 1/2, 1/3, ... until the least one."""
    found, weights = products(0.2, error=0.05)
    rule = StepRule.at(weights, found, np.eye(4), 1e-9, 16.0)
    assert rule.next(weights) == (0, pytest.approx(1.0, abs=1e-3), pytest.approx(1.0, abs=1e-3))
    lengths = [rule.next(weights)[1] for _ in range(9)]
    assert lengths[:4] == pytest.approx([1 / 2, 1 / 3, 1 / 4, 1 / 5], rel=1e-3) and min(lengths) == 0.15
    # a move says that more was unknown than the rule had thought
    rule.moved(np.full(4, 0.3))
    assert rule.next(weights)[1] > 0.9


def test_the_noise_that_is_followed_is_that_of_the_steps():
    """The recursion is replayed with random noise in one coordinate; the variances agree within 10 %.

    20,000 draws: a relative deviation of 0.1 has a probability below 1e-6. Two thirds of the noise are noticed.
    """
    numbers, error, start = np.random.default_rng(3), 0.02, 0.05
    found, weights = products(0.3, error=math.sqrt(start / 1.3))
    rule = StepRule.at(weights, found, np.eye(4), error, 0.8)
    assert rule.noise == pytest.approx(start, rel=1e-6)
    off = math.sqrt(start) * numbers.normal(size=20_000)
    for _ in range(8):
        unknown = rule.unknown
        halvings, length, held = rule.next(weights)
        assert halvings == 0 and rule.unknown < unknown
        off = off - length * (held * off + math.sqrt(error) * numbers.normal(size=20_000))
    assert abs(off.var() / rule.noise - 1.0) < 0.1
    assert abs(off.var() / ((2.0 / 3.0) ** 2 * rule.noise) - 1.0) > 0.1


def test_a_clip_shortens_gradients_and_so_it_shortens_the_penalty():
    """A strong l1 penalty and binding clips: the mean of 60 fits of a coefficient, as a part of that without noise.

    One fit is 0.5 on average with a deviation below 0.35, so the mean is below 0.2 with a probability below 1e-9. It
    was 0.02 when the penalty had its full size beside shortened gradients.
    """
    numbers = np.random.default_rng(0)
    X = numbers.normal(size=(1000, 6))
    y = X @ [1.0, 0.5, 0.0, 0.0, 0.0, 0.0] + numbers.normal(size=1000)
    given = {"bounds": (-4, 4), "target_bounds": (-5, 5), "alpha": 0.3}
    truth = Lasso(epsilon=math.inf, delta=0.0, **given).fit(X, y).coef_[0]
    model = Lasso(epsilon=1.0, delta=1e-6, **given)
    assert np.mean([model.fit(X, y).coef_[0] for _ in range(60)]) > 0.2 * truth


def test_a_target_that_is_explained_well_has_a_smaller_error_than_with_fixed_steps():
    """R^2 is 0.9975. Errors of 120 fits: the mean logarithm is 0.41 below that of fixed steps and full clips.

    A single logarithm has a deviation of 0.42, so the difference of two means has 0.054: it is below 0.12 with a
    probability below 1e-6.
    """
    numbers = np.random.default_rng(1)
    X = numbers.normal(size=(2_000, 12)) @ np.linalg.cholesky(0.6 + 0.4 * np.eye(12)).T
    y = X @ numbers.normal(size=12)
    y = y / y.std() + 0.05 * numbers.normal(size=2_000)
    model = Ridge(epsilon=1.0, delta=1e-6, bounds=(-5, 5), target_bounds=(-5, 5))

    def error() -> float:
        return float(np.mean([math.log(np.mean((model.fit(X, y).predict(X) - y) ** 2)) for _ in range(120)]))

    followed = error()
    with patch.object(whitened, "NOISY", 0.0), patch.object(defaults, "NOISY", 0.0):
        assert followed < error() - 0.12


def test_a_rare_class_needs_features_that_are_clearly_above_the_noise():
    """The same weights and noise: kept if the classes are of similar size, and 0 if one of them is rare."""
    weights, unequal = np.array([0.6, 0.6, 0.0]), ClassLevel(np.array(-2.5), np.array(0.01))
    similar = ClassLevel(np.array(0.1), np.array(0.01))
    settings = {"hessian": np.eye(3), "variance": 0.1, "objective": LOGISTIC, "constant": True}
    assert (shrunk(weights, level=unequal, **settings)[:2] == 0.0).all()
    assert (shrunk(weights, level=similar, **settings)[:2] > 0.2).all()
