"""Histograms of locally private answers: their intervals hold the true counts."""

from __future__ import annotations

import math

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st

from hush import federated
from hush.federated.category_count import _at_least, _exact_ends
from hush.numerics.arrays import on_simplex


@pytest.mark.parametrize(
    ("k", "epsilon", "people", "method"),
    [(50, 10.0, 1000, "unary"), (10, 8.0, 200, "auto"), (200, 4.0, 3, "auto"), (4, 1.0, 2000, "auto")],
)
def test_histogram_intervals_hold_empty_categories(k: int, epsilon: float, people: int, method: str) -> None:
    """At least 95 % of them, five standard deviations of 60 (k - 1) intervals allowed: false alarms below 1e-6."""
    held = runs = 0
    for _ in range(60):
        shown = federated.histogram(federated.answers([0] * people, epsilon, range(k), method=method))
        held += sum(low <= 0.0 for low in shown.low[1:])
        runs += k - 1
    assert held / runs > 0.95 - 5.0 * math.sqrt(0.05 * 0.95 / runs)


def test_counts_are_possible_ones_by_default() -> None:
    """100 categories at epsilon 1: no count is negative, the sum is n, and the squared error is never larger than that
    of the raw estimates, because the truth is possible too. It is a third of that with a deviation of 0.06, so the mean
    of five ratios is below a half by six standard errors. Intervals hold their counts.
    """
    chances = 1.0 / np.arange(1, 101)
    people = np.random.default_rng(7).choice(100, 10_000, p=chances / chances.sum()).tolist()
    truth, ratios = np.bincount(people, minlength=100), []
    for _ in range(5):
        sent = federated.answers(people, 1.0, range(100))
        made, raw = federated.histogram(sent), federated.histogram(sent, raw=True)
        assert min(made.count) >= 0.0 and sum(made.count) == pytest.approx(10_000.0)
        assert min(raw.count) < 0.0 and raw.raw and not made.raw
        errors = [float(((np.array(each.count) - truth) ** 2).sum()) for each in (made, raw)]
        assert errors[0] <= errors[1]
        ratios.append(errors[0] / errors[1])
        for low, count, high in zip(made.low, made.count, made.high, strict=True):
            assert low <= count <= high
    assert np.mean(ratios) < 0.5


@given(st.lists(st.integers(-50, 200), min_size=2, max_size=12), st.integers(1, 300), st.integers(0, 10**6))
def test_the_projection_is_the_nearest_possible_vector(numbers: list[int], total: int, seed: int) -> None:
    """Against random vectors of numbers >= 0 with the same sum: none is nearer, and none moves further away."""
    given_ones = np.array(numbers, dtype=float)
    found = on_simplex(given_ones, float(total))
    assert found.min() >= 0.0 and found.sum() == pytest.approx(total)
    other = total * np.random.default_rng(seed).dirichlet(np.full(len(numbers), 0.3))
    assert np.linalg.norm(found - given_ones) <= np.linalg.norm(other - given_ones) + 1e-9
    assert np.linalg.norm(found - other) <= np.linalg.norm(given_ones - other) + 1e-9


def test_histogram_intervals_hold_the_count_by_exact_tails() -> None:
    n, c, p, q = 200, 7, 0.5, 0.001
    law = [_at_least(t, n, c, p, q) - _at_least(t + 1, n, c, p, q) for t in range(40)]
    held = sum(
        mass
        for t, mass in enumerate(law)
        if _exact_ends(t, n, p, q, 0.025)[0] <= c <= _exact_ends(t, n, p, q, 0.025)[1]
    )
    assert 0.95 <= held < 0.9999
