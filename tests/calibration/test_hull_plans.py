"""Hull noise in the ranking: the least noise for d known numbers of which one person moves at most l0."""

from __future__ import annotations

import itertools
import math
from pathlib import Path

import numpy as np
import pytest
from scipy.stats import binom

import hush
from hush.noise.contract import Law
from hush.noise.hull import Hull

#: (dimension, l0): the variance of one whole number at epsilon 1 for moves in both directions.
BOTH = {(12, 3): 16.8701, (12, 6): 48.042, (3, 2): 5.4609437}
#: The same for counts, where moves have one direction, and the best offset.
COUNTS = {(11, 3): (12.667958, 1.0), (12, 6): (24.998812, 3.0), (20, 10): (57.894998, 7.0), (12, 2): (7.208987, 0.0)}
#: Sums of real values: the limits of fine lattices.
REAL_BOTH = {(5, 2): 7.0370, (12, 3): 17.0006, (12, 6): 48.5142, (20, 10): 130.1454}
REAL_COUNTS = {(5, 3): 7.601, (11, 3): 12.794, (12, 6): 25.36, (20, 10): 58.16, (30, 10): 96.49, (50, 20): 277.2}


def few(d: int, l0: int, *, one_sided: bool = False, linf: float = 1.0) -> hush.Sensitivity:
    return hush.Sensitivity(linf=linf, l0=l0, dimension=d, one_sided=one_sided)


@pytest.mark.parametrize(("d", "l0"), BOTH)
def test_whole_numbers_that_move_in_both_directions(d: int, l0: int) -> None:
    plan = hush.calibrate(1.0, 0.0, few(d, l0), values="integer")
    assert plan.family == "hull" and plan.variance == pytest.approx(BOTH[d, l0], rel=1e-5)
    assert plan.noise == Hull(d, l0, 1.0) and hush.epsilon(plan.noise, 0.0, few(d, l0)) <= 1.0
    independent = hush.calibrate(1.0, 0.0, few(d, l0), values="integer", family="independent")
    assert plan.variance < independent.variance


@pytest.mark.parametrize(("d", "l0"), COUNTS)
def test_counts(d: int, l0: int) -> None:
    bound = few(d, l0, one_sided=True)
    plan = hush.calibrate(1.0, 0.0, bound, values="integer")
    variance, offset = COUNTS[d, l0]
    assert plan.family == "hull" and plan.variance == pytest.approx(variance, rel=1e-6)
    assert plan.noise == Hull(d, l0, 1.0, offset, one_sided=True)
    others = [Hull(d, l0, 1.0, float(c), one_sided=True).variance for c in range(2 * d)]
    assert min(others) == plan.variance  # no better offset
    assert hush.epsilon(plan.noise, 0.0, bound) <= 1.0


@pytest.mark.parametrize("one_sided", [False, True])
def test_real_values_get_a_fine_lattice(one_sided: bool) -> None:
    """The limit is approached as the step falls, and the lattice that is chosen costs nothing against it."""
    for (d, l0), limit in (REAL_COUNTS if one_sided else REAL_BOTH).items():
        bound = few(d, l0, one_sided=one_sided)
        plan = hush.calibrate(1.0, 0.0, bound)
        assert plan.family == "hull" and 0.99 * limit < plan.variance < 1.0005 * limit
        assert (1.0 / plan.noise.step).is_integer()  # a person moves by whole steps
        fine = hush.calibrate(1.0, 0.0, bound, family="hull", step=1.0 / 256.0)
        assert fine.variance == pytest.approx(limit, rel=2e-4)  # four digits are known


def test_the_scale_follows_the_budget_the_move_and_the_number_of_releases() -> None:
    for epsilon, linf, times in ((0.5, 1.0, 1), (1.0, 3.0, 1), (1.0, 2.0, 4), (1.0 / 3.0, 1.0, 7)):
        bound = few(8, 4, linf=linf)
        plan = hush.calibrate(epsilon, 0.0, bound, times=times, values="integer", family="hull")
        assert plan.noise.scale == pytest.approx(linf * times / epsilon, rel=1e-12)  # type: ignore[attr-defined]
        hush.Ledger(None, epsilon=epsilon, delta=0.0).spend((plan.noise, bound, times))  # within the budget
    spread = [hush.calibrate(e, 0.0, few(9, 4, one_sided=True)).variance for e in (0.3, 1.0, 2.0, 4.0)]
    assert all(a > b for a, b in itertools.pairwise(spread))


def test_facts_never_cost() -> None:
    for one_sided in (False, True):
        spread = [hush.calibrate(1.0, 0.0, few(9, l0, one_sided=one_sided)).variance for l0 in range(1, 10)]
        assert all(a <= b * 1.0001 for a, b in itertools.pairwise(spread))
    for l0 in (2, 5, 8):
        known, unknown = few(9, l0, one_sided=True), few(9, l0)
        assert hush.calibrate(1.0, 0.0, known).variance <= hush.calibrate(1.0, 0.0, unknown).variance


def test_all_numbers_or_one_leave_the_ranking_as_it_was() -> None:
    for one_sided in (False, True):
        every = hush.Sensitivity(linf=1.0, dimension=6, one_sided=one_sided)
        assert hush.calibrate(1.0, 0.0, few(6, 6, one_sided=one_sided)).noise == hush.calibrate(1.0, 0.0, every).noise
    assert isinstance(hush.calibrate(1.0, 0.0, few(6, 1)).noise, Law)
    assert isinstance(hush.calibrate(1.0, 1e-6, hush.Sensitivity(linf=1.0, l0=3)).noise, Law)
    reasons = {c.family: c.reason for c in hush.calibrate(1.0, 0.0, few(6, 6)).ranking}
    assert "1 < l0 < dimension" in reasons["hull"]


def test_tables_that_are_too_large_are_a_reason_in_the_ranking() -> None:
    plan = hush.calibrate(1.0, 0.0, few(400, 3), values="integer")
    assert plan.family == "laplace"
    assert "too large" in {c.family: c.reason for c in plan.ranking}["hull"]


def test_releases_compose() -> None:
    """One release has the curve of randomised response; two are between its exact composition and their sum."""
    noise, bound = Hull(5, 2, 2.0, 1.0, one_sided=True), few(5, 2, one_sided=True)
    exact = [(math.exp(0.5) - math.exp(e)) / (1.0 + math.exp(0.5)) for e in (0.1, 0.3)]
    assert np.allclose([hush.delta(noise, e, bound) for e in (0.1, 0.3)], exact, rtol=1e-12)
    twice = hush.delta(noise, 0.6, bound, times=2)
    p = math.exp(0.5) / (1.0 + math.exp(0.5))  # both answers favour one side: the loss is 1
    least, most = p**2 - math.exp(0.6) * (1.0 - p) ** 2, (math.e - math.exp(0.6)) / (1.0 + math.e)
    assert least <= twice <= most * (1.0 + 1e-12)
    assert hush.compose([(noise, bound, 3), (Hull(5, 2, 4.0), few(5, 2), 2)]).epsilon(0.0) == pytest.approx(2.0)


def test_a_release_of_twelve_counts_end_to_end(tmp_path: Path) -> None:
    """Charged once as pure, read back, reported, and its intervals hold the truth (false alarms below 1e-6)."""
    bound = few(12, 6, one_sided=True)
    plan = hush.calibrate(1.0, 0.0, bound, values="integer")
    assert plan.family == "hull"
    with hush.Ledger(tmp_path / "twelve.ledger", epsilon=2.0, delta=1e-6) as ledger:
        made = hush.release(np.arange(12) * 100, plan, ledger=ledger, label="twelve counts")
        assert made.value.dtype.kind == "i" and made.value.shape == (12,)
    with hush.Ledger(tmp_path / "twelve.ledger") as again:
        again.verify()
        assert again.entries[0].charges == (hush.Charge(plan.noise, bound),)
        assert again.spent.epsilon <= 1.0
    assert "Hull" in str(hush.report.statement(made))
    half, draws = made.error.half_width95, hush.draw(plan.noise, 20_000)
    missed = int((np.abs(draws[:, 0]) > half).sum())
    assert missed <= binom.isf(1e-6, 20_000, 0.05)
    narrow = int((np.abs(draws[:, 0]) > 2.0 * half / 3.0).sum())
    assert narrow > binom.isf(1e-6, 20_000, 0.05)  # two thirds of the width would be noticed
