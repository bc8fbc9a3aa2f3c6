"""Plans of streams: the reference errors, sensitivities by brute force, and variances against dense linear algebra."""

from __future__ import annotations

import itertools
import json
import math
from fractions import Fraction

import numpy as np
import pytest

import hush
from hush.privacy.charge import Budget
from hush.stream.block_sizes import best_blocks
from hush.stream.blocks import block_stream
from hush.stream.epochs import gaussian_epochs, laplace_epochs
from hush.stream.matrix import (
    dense_rows,
    lifted_rows,
    matrix_stream,
    normalised_rows,
    square_root_rows,
)
from hush.stream.plan import plan_from
from hush.stream.power import power_rows
from hush.stream.rows import LowerRows, ToeplitzRows, most_appearances, rows_from

SIGMA2 = 4.224678889326838**2
PAIR = Budget(1.0, 1e-6)


@pytest.fixture(scope="module")
def year():
    """A year of days, planned once."""
    return hush.stream(horizon=365).plan(1.0, 1e-6)


# -- errors of the reference ---------------------------------------------------------------------------------


@pytest.mark.parametrize(
    ("asked", "pair", "value"),
    [
        ({"horizon": 12}, (1.0, 1e-6), 11.97),
        ({"horizon": 52}, (1.0, 1e-6), 45.6),
        ({"horizon": 4096}, (1.0, 1e-6), 207.6),
        ({"horizon": 365}, (1.0, 0.0), 137.9),
        ({"horizon": 365, "appears": 12, "apart": 30}, (1.0, 1e-6), 2694.0),
        ({"horizon": 365, "question": 7}, (1.0, 1e-6), 12.8),
        ({"horizon": 365, "question": 30}, (1.0, 1e-6), 53.0),
        ({"horizon": 52, "appears": 4, "apart": 13}, (1.0, 1e-6), 373.0),
        ({"horizon": 12, "appears": 12}, (1.0, 1e-6), 65.5417 * SIGMA2),
    ],
    ids=str,
)
def test_errors_of_the_reference(asked, pair, value):
    """At most 1.02 times the reference."""
    plan = hush.stream(**asked).plan(*pair)
    assert 0.9 * value < plan.mse <= 1.02 * value
    assert plan.mse == min(c.error for c in plan.candidates) and plan.rmse == math.sqrt(plan.mse)


def test_a_year_of_days(year):
    """123.9 by the best combinations; beside it daily noise, the square root and blocks."""
    assert year.mse <= 1.002 * 123.9
    found = {c.name: c.error for c in year.candidates}
    assert found["Gaussian noise on each period"] == pytest.approx(3266.0, rel=1e-3)
    assert found["Gaussian noise, square root"] == pytest.approx(7.7369 * SIGMA2, rel=1e-4)
    assert found["Gaussian noise, normalised square root"] == pytest.approx(7.1184 * SIGMA2, rel=1e-4)
    assert found["Laplace noise on each period"] == pytest.approx(337.0, rel=1e-3)
    assert year.variance.shape == (365,) and year.variance.mean() == pytest.approx(year.mse)
    assert year.strategy.name in year.why and "3266" in year.why
    must_be_stored(year)


def test_reference_facts(data_dir):
    """Errors in units of the Gaussian variance, and squared sensitivities, from the file of reference values."""
    facts = {fact["id"]: fact["value"] for fact in json.loads((data_dir / "workload.json").read_text())["facts"]}
    lengths = [name.split("/")[2:] for name in facts if name.startswith("stream_sens2/sqrt/")]
    for case in lengths:
        horizon, appears, apart = map(int, case)
        found = square_root_rows(horizon).squared_length(appears, apart) / 2**40
        assert found == pytest.approx(facts[f"stream_sens2/sqrt/{horizon}/{appears}/{apart}"], rel=1e-4)
    for horizon in (12, 52):
        root = matrix_stream("x", square_root_rows(horizon), PAIR, 1, 1).variances(horizon) / SIGMA2
        assert root.mean() == pytest.approx(facts[f"stream_sqrt/{horizon}/mean"], rel=1e-5)
        dense = matrix_stream("x", dense_rows(horizon, horizon), PAIR, 1, 1).for_window(horizon)
        assert dense.error / SIGMA2 == pytest.approx(facts[f"stream_dense/{horizon}"], rel=3e-4)
        lift = matrix_stream("x", lifted_rows(horizon, horizon, horizon), PAIR, horizon, 1).for_window(horizon)
        assert lift.error / SIGMA2 == pytest.approx(facts[f"stream_lift/{horizon}"], rel=1e-3)
    assert best_blocks(52, 52, 1.0, 1, 2).error <= 1.0001 * facts["stream_hier/lap/52"]
    assert len(lengths) >= 8


# -- sensitivities -------------------------------------------------------------------------------------------


def full(rows):
    """The matrix written out."""
    made = np.zeros((rows.horizon, rows.horizon), dtype=object)
    for t in range(1, rows.horizon + 1):
        made[t - 1, :t] = [int(k) for k in rows.row(t)]
    return made


def moves(horizon, appears, apart, signs):
    """All moves of one person: up to `appears` periods at least `apart` apart, each by one of the signs."""
    for size in range(1, appears + 1):
        for days in itertools.combinations(range(horizon), size):
            if all(b - a >= apart for a, b in itertools.pairwise(days)):
                for sign in itertools.product(signs, repeat=size):
                    move = np.zeros(horizon, dtype=object)
                    move[list(days)] = sign
                    yield move


@pytest.mark.parametrize(("horizon", "appears", "apart"), [(12, 1, 1), (12, 3, 1), (12, 4, 3), (11, 3, 4), (8, 8, 1)])
@pytest.mark.parametrize("kind", ["square root", "power"])
def test_earliest_appearances_are_the_worst(horizon, appears, apart, kind):
    """Every move with signs is tried, in whole numbers; the stated length is attained."""
    k = most_appearances(horizon, appears, apart)
    rows = square_root_rows(horizon) if kind == "square root" else power_rows(horizon, horizon, k, apart)
    signs = (1, -1) if horizon > 8 else (1,)
    matrix = full(rows)
    worst = max(sum(int(v) ** 2 for v in matrix @ move) for move in moves(horizon, k, apart, signs))
    assert worst == rows.squared_length(k, apart)


@pytest.mark.parametrize(("horizon", "appears"), [(10, 10), (12, 12), (9, 4)])
def test_lengths_of_the_lift(horizon, appears):
    """Every set of periods is tried; a move downwards would be longer, so corrections exclude the lift."""
    rows = lifted_rows(horizon, horizon, max(appears, horizon))
    matrix = full(rows)
    worst = max(sum(int(v) ** 2 for v in matrix @ move) for move in moves(horizon, appears, 1, (1,)))
    assert worst == rows.squared_length(appears, 1)
    if appears == horizon:
        half = horizon // 2
        signed = np.array([-1] * half + [1] * (horizon - half), dtype=object)
        assert sum(int(v) ** 2 for v in matrix @ signed) > worst
    names = [c.name for c in hush.stream(horizon=10, appears=10, corrections=True).plan(1.0, 1e-6).candidates]
    assert "Gaussian noise, lift" not in names


@pytest.mark.parametrize("make", [normalised_rows, lambda n: dense_rows(n, n), lambda n: dense_rows(n, 5)])
def test_one_appearance_moves_one_column(make):
    rows = make(20)
    worst = max(sum(int(v) ** 2 for v in column) for column in full(rows).T)
    assert rows.squared_length(1, 1) == worst
    with pytest.raises(hush.Unsupported):
        rows.squared_length(2, 1)


def test_one_appearance_moves_one_block_of_each_level():
    strategy = best_blocks(60, 60, 1.0, 3, 2)
    for place in range(60):
        counts = np.eye(60, dtype=int)[place].tolist()
        moved = [one for t in range(1, 61) for one in strategy.measured(counts[:t])]
        assert all(sum(value for part, value in moved if part == level) <= 1 for level in range(2))
    spent = sum(Fraction(3) / Fraction(part.noise.noise.scale) for part in strategy.parts)
    assert spent <= 1 and float(spent) > 1.0 - 1e-8


@pytest.mark.parametrize(("appears", "apart"), [(1, 1), (3, 5)])
def test_epochs_cost_no_more_than_they_are_charged(appears, apart):
    """For all ways to divide the appearances between two epochs, in squared lengths; and the pure epsilon."""
    strategy = gaussian_epochs(480, PAIR, appears, apart)
    first, second = strategy.epochs[0].rows, strategy.epochs[1].rows
    limit = Fraction(strategy.parts[0].sensitivity.l2) ** 2
    for j in range(appears + 1):
        lengths = [rows.squared_length(n, apart) if n else 0 for rows, n in ((first, j), (second, appears - j))]
        assert sum(lengths) <= limit
    pure = laplace_epochs(480, Budget(1.0, 0.0), appears)
    for epoch in pure.epochs:
        assert sum(Fraction(appears) / Fraction(part.noise.noise.scale) for part in epoch.parts) <= 1
    assert hush.epsilon(pure.noise, 0.0) <= 1.0


# -- variances -----------------------------------------------------------------------------------------------


def by_hand(strategy, horizon, window):
    """The variance of the last `window` periods, at the end of each period."""
    found = []
    for t in range(1, horizon + 1):
        asked = np.zeros(t)
        asked[max(0, t - window) :] = 1.0
        found.append(variance_by_hand(strategy, asked))
    return np.array(found)


def variance_by_hand(strategy, asked):
    """The variance of a weighted sum, from the pseudo-inverse of everything measured in these periods."""
    t, rows, precisions = len(asked), [], []
    for now in range(1, t + 1):
        each = [strategy.measured(np.eye(t, dtype=int)[place].tolist()[:now]) for place in range(t)]
        for place, (part, _) in enumerate(each[0]):
            rows.append([float(one[place][1]) for one in each])
            precisions.append(1.0 / float(np.max(strategy.single(part).noise.variance)))
    matrix = np.array(rows) * np.sqrt(precisions)[:, None]
    return float(asked @ np.linalg.pinv(matrix.T @ matrix) @ asked)


@pytest.mark.parametrize("window", [14, 1, 5])
@pytest.mark.parametrize("kind", ["blocks", "square root", "normalised", "dense", "lift", "power"])
def test_variances_are_those_of_least_squares(kind, window):
    horizon = 14
    rows = {
        "square root": square_root_rows, "normalised": normalised_rows, "dense": lambda n: dense_rows(n, n),
        "lift": lambda n: lifted_rows(n, n, n), "power": lambda n: power_rows(n, n, 3, 4),
    }  # fmt: skip
    if kind == "blocks":
        strategy = block_stream(horizon, (1, 3, 6), (0.4, 0.3, 0.3), 1)
    else:
        appears = {"lift": 14, "power": 3}.get(kind, 1)
        strategy = matrix_stream("x", rows[kind](horizon), PAIR, appears, 4 if kind == "power" else 1)
    exact = by_hand(strategy, horizon, window)
    assert strategy.variances(window) == pytest.approx(exact, rel=1e-4)
    weights = np.zeros(9)
    weights[max(0, 9 - window) :] = 1.0
    assert strategy.law(weights).variance == pytest.approx(exact[8], rel=1e-4)
    earlier = np.array([0.0, 1.0, 1.0, -2.0, 0.0, 0.5, 0.0, 0.0, 0.0, 0.0, 0.0])
    assert strategy.law(earlier).variance == pytest.approx(variance_by_hand(strategy, earlier), rel=1e-4)


def test_exact_numbers_give_the_exact_counts():
    """Without noise the estimates are the counts, for every kind of strategy."""
    counts = [7, 0, 3, 12, 5, 5, 9, 1, 0, 40, 2, 8]
    kinds = [block_stream(12, (1, 3, 6), (0.4, 0.3, 0.3), 1), matrix_stream("x", normalised_rows(12), PAIR, 1, 1)]
    kinds += [matrix_stream("x", lifted_rows(12, 12, 12), PAIR, 12, 1), laplace_epochs(480, PAIR, 1)]
    for strategy in kinds:
        noisy = [[value for _, value in strategy.measured(counts[:t])] for t in range(1, 13)]
        assert strategy.estimated(noisy) == pytest.approx(counts, abs=1e-6)


def test_what_doubling_costs(year):
    """About twice the mean squared error of a known horizon, for a year."""
    endless = hush.stream(horizon=None).plan(1.0, 1e-6)
    assert endless.variance.shape == (480,)
    assert 1.5 < endless.variance[:365].mean() / year.mse < 2.2


# -- plans ---------------------------------------------------------------------------------------------------


@pytest.mark.parametrize(
    ("asked", "pair"),
    [
        ({"horizon": 60}, (1.0, 1e-6)),
        ({"horizon": 600}, (1.0, 1e-6)),
        ({"horizon": 20, "appears": 20}, (1.0, 1e-6)),
        ({"horizon": 40, "appears": 4, "apart": 9}, (1.0, 1e-6)),
        ({"horizon": None}, (1.0, 1e-6)),
        ({"horizon": None, "appears": 2}, (1.0, 0.0)),
    ],
    ids=str,
)
def test_a_stored_plan_is_the_same_plan(asked, pair):
    must_be_stored(hush.stream(**asked).plan(*pair))


def must_be_stored(plan):
    """A plan, its plain form and the plan that is read from it agree."""
    again = plan_from(plan.to_plain(), plan.charges)
    assert again.charges == plan.charges and again.stream == plan.stream and again.mse == plan.mse
    counts = list(range(1, 21))
    assert again.strategy.measured(counts) == plan.strategy.measured(counts)
    assert again.strategy.law(np.ones(20)).variance == pytest.approx(plan.strategy.law(np.ones(20)).variance)
    assert plan.guarantee.budget.covers(hush.compose(plan.charges))


@pytest.mark.parametrize(
    ("call", "words"),
    [
        (lambda: hush.stream(), "missing horizon"),
        (lambda: hush.stream(horizon=0), "horizon"),
        (lambda: hush.stream(horizon=10_000), "at most 8192"),
        (lambda: hush.stream(horizon=10, question="sums"), "question"),
        (lambda: hush.stream(horizon=10, question=11), "1 to 10"),
        (lambda: hush.stream(horizon=10, appears=0), "appears"),
        (lambda: hush.stream(horizon=10, apart=1.5), "apart"),
        (lambda: hush.stream(horizon=10, corrections="no"), "corrections"),
        (lambda: hush.stream(horizon=10).plan(0.0, 0.0), "epsilon"),
        (lambda: ToeplitzRows(3, (1, 2)), "must not rise"),
        (lambda: rows_from({"rows": "circle"}), "unknown kind"),
        (lambda: plan_from(hush.stream(horizon=2).plan(1.0, 0.0).to_plain() | {"strategy": {"kind": "x"}}, ()), "kind"),
    ],
)  # fmt: skip
def test_mistakes_get_one_sentence(call, words):
    with pytest.raises(hush.HushError, match=words) as mistake:
        call()
    assert "\n" not in str(mistake.value)


def test_the_package_is_called_like_its_function():
    assert hush.stream(horizon=5) == hush.stream.stream(horizon=5)
    assert "counts of each period" in repr(hush.stream(horizon=5, question="counts"))
    assert "last 3 periods" in repr(hush.stream(horizon=5, question=3, appears=2, apart=2))


def test_a_lower_matrix_is_stored_exactly():
    rows = dense_rows(30, 30)
    again = rows_from(rows.to_plain())
    assert isinstance(again, LowerRows) and (again.matrix == rows.matrix).all()
