"""The bound on epsilon: Clopper-Pearson to its last digit, and coverage by enumerating every outcome. Nothing here is
random.
"""

from __future__ import annotations

import math

import numpy as np
import pytest

from hush.auditing.bound import clopper_pearson, epsilon_lower, trials_needed


def binomial(trials: int, p: float) -> np.ndarray:
    """P(X = k) for k = 0 .. trials."""
    return np.array([math.comb(trials, k) * p**k * (1.0 - p) ** (trials - k) for k in range(trials + 1)])


@pytest.mark.parametrize("trials", [1, 7, 60])
@pytest.mark.parametrize("risk", [0.2, 1e-3, 1e-7])
def test_clopper_pearson_is_where_the_tail_is_the_risk(trials: int, risk: float) -> None:
    """The definition: at the lower end P(X >= hits) = risk, at the upper end P(X <= hits) = risk.

    To 1e-2 only: one part in 1e11 outward moves the tail that much where the end is within 2e-9 of 1.
    """
    low, high = clopper_pearson(np.arange(trials + 1), trials, risk)
    assert low[0] == 0.0 and high[-1] == 1.0
    for hits in range(trials + 1):
        if hits > 0:
            assert math.fsum(binomial(trials, low[hits])[hits:]) == pytest.approx(risk, rel=1e-2)
            assert math.fsum(binomial(trials, low[hits])[hits:]) <= risk  # rounded outward
        if hits < trials:
            assert math.fsum(binomial(trials, high[hits])[: hits + 1]) == pytest.approx(risk, rel=1e-2)
            assert math.fsum(binomial(trials, high[hits])[: hits + 1]) <= risk


@pytest.mark.parametrize("delta", [0.0, 0.05])
def test_every_outcome_counted_the_bound_fails_no_oftener_than_promised(delta: float) -> None:
    """P(bound > truth) over all 31 x 31 outcomes is at most twice the risk of one end, for every pair of
    probabilities on a grid.
    """
    trials, risk = 30, 0.1
    hits = np.arange(trials + 1)
    bound = epsilon_lower(hits[:, None], hits[None, :], trials, delta, risk)
    worst = 0.0
    for p in np.linspace(0.02, 0.98, 49):
        for q in np.linspace(0.02, 0.98, 49):
            truth = max(math.log((p - delta) / q), 0.0) if p > delta else 0.0
            fails = float((np.outer(binomial(trials, p), binomial(trials, q)) * (bound > truth + 1e-12)).sum())
            worst = max(worst, fails)
    assert worst <= 2.0 * risk
    assert worst >= 0.05 * risk  # failures do occur: a bound that is never wrong would be a bound that says nothing


def test_delta_is_taken_off_the_likelier_side() -> None:
    low, _ = clopper_pearson(500, 1000, 1e-3)
    _, high = clopper_pearson(100, 1000, 1e-3)
    assert epsilon_lower(500, 100, 1000, 0.1, 1e-3) == pytest.approx(math.log((low - 0.1) / high), rel=1e-12)
    assert epsilon_lower(500, 100, 1000, 0.6, 1e-3) == 0.0
    assert epsilon_lower(100, 500, 1000, 0.0, 1e-3) == 0.0


@pytest.mark.parametrize("epsilon", [0.01, 1.0, 5.0])
@pytest.mark.parametrize("delta", [0.0, 0.3])
def test_trials_needed_is_the_edge(epsilon: float, delta: float) -> None:
    """With that many draws the best outcome refutes epsilon; with three fewer it does not."""
    risk = 1.25e-7
    needed = int(trials_needed(epsilon, delta, risk))
    assert epsilon_lower(needed, 0, needed, delta, risk) > epsilon
    assert epsilon_lower(needed - 3, 0, needed - 3, delta, risk) <= epsilon


def test_no_number_of_draws_refutes_an_epsilon_beyond_floats() -> None:
    assert trials_needed(1e6, 0.0, 1e-6) == math.inf
