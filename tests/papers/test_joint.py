"""The papers' results for several numbers beside joint noise: numbers pinned, and compared with other computations."""

from __future__ import annotations

import math
from pathlib import Path

import numpy as np
import pytest
from hush_papers.joint.noises import (
    JOINT,
    any_direction,
    as_counts,
    at_variance,
    independent,
    limit,
    moves,
    refused_epsilon,
)
from hush_papers.joint.paper import PAPER
from hush_papers.osgt.setting import EIGHT
from scipy.integrate import quad
from scipy.optimize import minimize_scalar

import hush
from papers import pins

EXPECTED = Path(__file__).with_name("expected_joint.csv")
TABLES = ("joint-fig4", "joint-table2")


@pytest.fixture(scope="module")
def items(built):
    return built.items["joint"]


def _rows(item):
    (grid,) = item.grids
    return [dict(zip(grid.head, row, strict=True)) for row in grid.rows]


def test_every_number_is_the_pinned_one(items):
    """Searches stop at about 1e-6 of the variance, linear programmes at 1e-5; the limit of epsilon is within 1e-3."""
    pins.assert_pinned(items, EXPECTED, lambda what: (1e-3 if "epsilon at" in what else 1e-4, 0.0))


def test_each_result_has_one_table_and_begins_with_one_sentence(items):
    assert list(items) == ["joint-fig6", "joint-fig4", "joint-table2"]
    for item in items.values():
        first, *others = item.text.split("\n\n")
        assert first.count(". ") == 0 and first.endswith(".") and others
        assert len(item.grids) == 1 and not item.comparisons
    assert [len(item.figures) for item in items.values()] == [1, 2, 1]  # Fig. 4 has a panel for each K
    pins.assert_readable(items, 4)


# -- least variances ---------------------------------------------------------------------------------------------


@pytest.mark.parametrize("key", TABLES)
def test_no_noise_is_below_the_limit_for_its_moves(items, key):
    for row in _rows(items[key]):
        both = [row[name] for name in ("Gaussian", "flipped Huber, exact", "best independent", "ball", "cube")]
        assert 0.0 < row["limit of any noise"] < min(both)
        assert 0.0 < row["counts: limit"] < min(row["counts: interval"], row["counts: correlated"])
        assert row["counts: limit"] < row["limit of any noise"]  # fewer moves need less noise


@pytest.mark.parametrize(("k", "epsilon", "delta"), [(3, 5.0, 1e-8), (5, 0.3, 1e-8), (20, 0.2, 1e-8)])
def test_the_limit_is_that_of_the_library(k, epsilon, delta):
    for moved in (any_direction(k), as_counts(k)):
        assert math.isclose(limit(epsilon, delta, moved), hush.limit(epsilon, delta, moved).lower, rel_tol=1e-9)


@pytest.mark.parametrize("key", TABLES)
def test_cube_noise_has_the_variance_of_its_closed_form(items, key):
    """(K + 1)(K + 2)/3 over epsilon^2, less the step of the lattice: step^2/12, at most 0.1 per cent here."""
    for row in _rows(items[key]):
        k, e = row.get("K", 20), row["epsilon"]
        assert 0.999 < row["cube"] * 3.0 * e * e / ((k + 1) * (k + 2)) <= 1.0 + 1e-12


def _interval_variance(k: int, offset: float) -> float:
    """The variance of interval noise of scale 1 on the real numbers, by integrals over its intervals.

    Below the offset the interval is [-h, h] with weight (2h)^k e^-h. Beyond, it is [-(c + w - u), c + u] with weight
    w (2c + w)^k e^-(c + w), and u is uniform on (0, w).
    """

    def weights(far: bool):
        shift = 2.0 * offset if far else 0.0
        return lambda t: (
            (t if far else 1.0)
            * ((shift + t) / k if far else 2.0 * t / k) ** k
            * math.exp(-t - (offset if far else 0.0))
        )

    def square(w: float) -> float:
        """E x^2 beyond the offset: the mean over u of (a^2 - a b + b^2)/3, a = c + w - u and b = c + u."""
        total, spread = 2.0 * offset + w, w * w / 12.0  # a + b, and the variance of u
        return (0.25 * total * total + 3.0 * spread) / 3.0

    near, far = weights(far=False), weights(far=True)
    mass = quad(near, 0.0, offset)[0] + quad(far, 0.0, 40.0 + 4.0 * k)[0]
    inner = quad(lambda h: h * h / 3.0 * near(h), 0.0, offset)[0]
    return (inner + quad(lambda w: square(w) * far(w), 0.0, 40.0 + 4.0 * k)[0]) / mass


@pytest.mark.parametrize("key", TABLES)
def test_interval_noise_has_the_variance_of_its_integrals(items, key):
    """The best offset on the real numbers; the lattice changes the variance by less than 0.2 per cent."""
    for k in {row.get("K", 20) for row in _rows(items[key])}:
        best = minimize_scalar(lambda c, k=k: _interval_variance(k, c), bounds=(0.05 * k, k), method="bounded").fun
        for row in _rows(items[key]):
            if row.get("K", 20) == k:
                assert math.isclose(row["counts: interval"] * row["epsilon"] ** 2, best, rel_tol=2e-3), (k, row)


@pytest.mark.parametrize(("k", "epsilon", "delta"), [(5, 0.3, 1e-8), (8, 0.9, 1.44e-14), (20, 1.0, 1e-8)])
def test_no_other_independent_family_is_better(k, epsilon, delta):
    every = hush.calibrate(epsilon, delta, hush.Sensitivity(linf=1.0, l0=k), family="independent")
    assert math.isclose(independent(epsilon, delta, k), every.variance, rel_tol=2e-4)


def test_a_free_form_density_is_hardly_better_than_the_best_independent_noise():
    """The least variances of independent noise of any unimodal shape, found by another program."""
    for k, epsilon, free in ((3, 0.3, 199.911), (5, 0.3, 555.422), (20, 1.0, 486.294)):
        assert free <= independent(epsilon, 1e-8, k) <= free * 1.0004


# -- one variance --------------------------------------------------------------------------------------------------


@pytest.mark.parametrize("family", JOINT)
def test_joint_noises_of_the_papers_variance(items, family):
    """They have that variance, and the epsilons of the table give the deltas of its head."""
    noise = at_variance(family, EIGHT.variance, 8)
    assert math.isclose(noise.variance, EIGHT.variance, rel_tol=1e-9)
    (row,) = [row for row in _rows(items["joint-fig6"]) if row["noise"] == f"{family}, joint"]
    for head, value in row.items():
        if head.startswith("epsilon at delta = "):
            share = float(head.rsplit(" ", 1)[1])
            assert hush.delta(noise, value, moves(family, 8)) <= share * (1.0 + 1e-9)
            assert hush.delta(noise, 0.999 * value, moves(family, 8)) > share


@pytest.mark.parametrize("moved", [any_direction(8), as_counts(8)], ids=["both", "counts"])
@pytest.mark.parametrize("delta", [1e-6, 1.44e-14])
def test_the_limit_refuses_the_variance(moved, delta):
    """No noise of the paper's variance has this delta at this epsilon; the limit for the vector says so."""
    epsilon = refused_epsilon(delta, EIGHT.variance, moved)
    assert EIGHT.variance < hush.limit(epsilon, delta, moved).lower < EIGHT.variance * 1.0011


def test_the_limit_is_left_of_every_noise_for_the_same_moves(items):
    rows = _rows(items["joint-fig6"])
    heads = [head for head in rows[0] if head.startswith("epsilon at")]
    for kind in ("up or down", "in one direction"):
        limits = [row for row in rows if row["noise"] == "limit of any noise" and row["the numbers move"] == kind]
        others = [row for row in rows if row["noise"] != "limit of any noise" and row["the numbers move"] == kind]
        assert len(limits) == 1 and len(others) >= 2
        assert all(limits[0][head] < row[head] for row in others for head in heads)
        assert all(limits[0]["variance for the budget"] < row["variance for the budget"] for row in others[2:])


def test_the_lines_of_the_chart_have_the_order_of_its_description(items):
    """From the right at delta = 1e-12; and at delta = 0.01 independent noise is left of ball and cube noise."""
    (figure,) = items["joint-fig6"].figures
    lines = {each.label: (np.log(each.y)[::-1], np.array(each.x)[::-1]) for each in figure.series}

    def place(label: str, delta: float) -> float:
        return float(np.interp(math.log(delta), *lines[label]))

    order = ["Gaussian, paper's bound (22)", "OSGT, paper's bound (21)", "OSGT, exact", "best independent"]
    order += ["ball, joint", "cube, joint", "limit of any noise", "interval, joint, counts"]
    at = [place(label, 1e-12) for label in order]
    assert at == sorted(at, reverse=True)
    assert place("best independent", 1e-2) < min(place("ball, joint", 1e-2), place("cube, joint", 1e-2))
    assert "which is less than that of ball noise" in items["joint-fig6"].text


if __name__ == "__main__":
    pins.write(pins.quick_items(PAPER), EXPECTED)
