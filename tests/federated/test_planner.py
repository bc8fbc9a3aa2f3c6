"""The planner: as many reports as it says are enough, and not many fewer."""

from __future__ import annotations

import numpy as np
import pytest
from effort import examples
from scipy.stats import binom

from hush.errors import InvalidParameter
from hush.federated import answers, answers_needed, histogram, local, mean, reports_needed
from hush.federated.estimate import half_width
from hush.federated.local_report import Reports

ALARM = 1e-6


@pytest.fixture(scope="module")
def plan():
    return reports_needed(8.0, 2.0, 0, 100, delta=1e-5, level=0.9)


def test_every_family_has_its_fewest(plan):
    """The count reaches the error, one report fewer does not; fewest first."""
    assert {(row.family, row.method) for row in plan.rows} == {
        *(("laplace", m) for m in ("average", "bounded")),
        *(("stable", m) for m in ("average", "bounded")),
        ("staircase", "average"),
        ("gaussian", "average"),
        ("optimal", "average"),
    }
    counts = [row.reports for row in plan.rows]
    assert counts == sorted(counts)
    for row in plan.rows:
        assert row.half_width <= 8.0
        assert 100.0 * half_width(row.noise, row.reports - 1, level=0.9, method=row.method) > 8.0


def test_the_plan_holds_in_simulation(plan):
    """With that many reports the mean is within the error in 90 % of the runs (binomial bound, one false alarm in a
    million); with a third of them it is not."""
    runs = examples(500, 2000)
    for row in plan.rows:
        if row.reports > 3000:
            continue  # the average of stable reports: the same law, too many draws
        for count, holds in ((row.reports, True), (row.reports // 3, False)):
            values = np.resize([0.0, 20.0, 100.0], count)
            every = local(np.tile(values, runs), 2.0, 0, 100, delta=1e-5, noise=row.noise)
            errors = [
                abs(mean(Reports(steps, every.noise, 0.0, 100.0, 2.0, 1e-5), method=row.method).value - values.mean())
                for steps in every.steps.reshape(runs, count)
            ]
            assert bool((np.array(errors) <= 8.0).sum() >= binom.ppf(ALARM, runs, 0.9)) is holds


def test_table(plan):
    """Families in rows, their reports, and how many times the best."""
    shown = str(plan)
    assert shown.count("\n") == 1 + len(plan.rows)
    assert f"{plan.best.reports:,}" in shown and "1.00" in shown
    assert reports_needed(8.0, 2.0, 0, 100, families=["laplace"], delta=0.0).best.family == "laplace"


def test_small_errors_no_count_reaches():
    """An error below the bias of heavy-tailed reports has no count; the table says so."""
    plan = reports_needed(1e-9, 1.0, 0, 100, families=["stable"], delta=0.0)
    assert all(row.reports is None for row in plan.rows) and "not reachable" in str(plan)


@pytest.mark.parametrize(("k", "best"), [(3, "response"), (30, "unary")])
def test_answers_hold_in_simulation(k, best):
    """A category's share is within the error in 90 % of the runs with that many answers, and not with a third of
    them.
    """
    plan, runs = answers_needed(0.05, 1.0, k, level=0.9), examples(300, 1000)
    assert plan.best.method == best and "categories" in str(plan)
    for row in plan.rows:
        one = answers([0], 1.0, range(k), method=row.method)
        worst = (
            0 if one.keep * (1 - one.keep) >= one.stray * (1 - one.stray) else 1
        )  # everybody in category 0, or nobody
        for count, holds in ((row.reports, True), (row.reports // 3, False)):
            sent = (answers([worst] * count, 1.0, range(k), method=row.method) for _ in range(runs))
            made = [histogram(each, raw=True).count[0] for each in sent]
            hits = int((np.abs(np.array(made) / count - (worst == 0)) <= 0.05).sum())
            assert bool(hits >= binom.ppf(ALARM, runs, 0.9)) is holds


def test_bad_arguments():
    """Each message names the argument."""
    with pytest.raises(InvalidParameter, match="error"):
        reports_needed(0.0, 1.0, 0, 1, delta=0.0)
    with pytest.raises(InvalidParameter, match="categories"):
        answers_needed(0.1, 1.0, 1)
    with pytest.raises(InvalidParameter, match="families"):
        reports_needed(0.1, 1.0, 0, 1, families=[], delta=0.0)
    with pytest.raises(InvalidParameter, match="level"):
        reports_needed(0.1, 1.0, 0, 1, level=0.0, delta=0.0)
