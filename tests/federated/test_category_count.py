"""Histograms of locally private answers: their intervals hold the true counts."""

from __future__ import annotations

import math

import pytest

from hush import federated
from hush.federated.category_count import _at_least, _exact_ends


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


def test_histogram_intervals_hold_the_count_by_exact_tails() -> None:
    n, c, p, q = 200, 7, 0.5, 0.001
    law = [_at_least(t, n, c, p, q) - _at_least(t + 1, n, c, p, q) for t in range(40)]
    held = sum(
        mass
        for t, mass in enumerate(law)
        if _exact_ends(t, n, p, q, 0.025)[0] <= c <= _exact_ends(t, n, p, q, 0.025)[1]
    )
    assert 0.95 <= held < 0.9999
