"""Joint noise in the ranking: the least noise for a vector of which one person moves every number."""

from __future__ import annotations

import itertools
import math
from typing import Any

import numpy as np
import pytest
from scipy.stats import binom

import hush
from hush.noise.contract import Law

#: One person in K counts, at epsilon 1: the variance of one count with interval noise on the whole numbers.
COUNTS = {2: 3.163, 3: 4.613, 5: 8.157, 10: 20.28, 20: 58.67, 30: 115.2, 50: 281.5, 100: 1002.0}
#: The same for sums of values in [0, 1]: the limit of fine lattices.
REALS = {2: 3.240, 3: 4.692, 5: 8.203, 10: 20.40, 20: 58.81, 30: 115.4}


def counts(k: int, linf: float = 1.0) -> hush.Sensitivity:
    return hush.Sensitivity(linf=linf, dimension=k, one_sided=True)


@pytest.mark.parametrize("k", COUNTS)
def test_counts_get_interval_noise_of_the_known_variance(k: int) -> None:
    plan = hush.calibrate(1.0, 0.0, counts(k), values="integer")
    assert plan.family == "interval" and plan.variance == pytest.approx(COUNTS[k], rel=1e-3)
    assert plan.noise.step == 1.0 and hush.epsilon(plan.noise, 0.0, counts(k)) <= 1.0
    wider = [hush.Interval(k, plan.noise.scale, plan.noise.offset + c).variance for c in (1.0, 2.0)]  # type: ignore[attr-defined]
    assert min(wider) >= plan.variance  # no better offset beside it


@pytest.mark.parametrize("k", REALS)
def test_sums_of_real_values_get_a_fine_lattice(k: int) -> None:
    plan = hush.calibrate(1.0, 0.0, counts(k), family="interval")
    assert plan.variance == pytest.approx(REALS[k], rel=1e-3)
    assert hush.calibrate(1.0, 0.0, counts(k)).variance <= plan.variance  # stairs may have less
    assert (1.0 / plan.noise.step).is_integer()  # a person moves by whole steps


@pytest.mark.parametrize("d", [2, 3, 5, 10, 20, 50])
@pytest.mark.parametrize("epsilon", [0.3, 1.0])
def test_the_box_gets_the_cube(d: int, epsilon: float) -> None:
    """(d + 1)(d + 2)/(3 epsilon^2), at delta = 0."""
    best = hush.calibrate(epsilon, 0.0, hush.Sensitivity(linf=1.0, dimension=d))
    assert best.family == ("stairs" if d <= 3 and epsilon == 1.0 else "cube")
    plan = hush.calibrate(epsilon, 0.0, hush.Sensitivity(linf=1.0, dimension=d), family="cube")
    assert 0.99 * plan.variance < best.variance <= plan.variance
    assert plan.variance == pytest.approx((d + 1) * (d + 2) / (3.0 * epsilon**2), rel=2e-3)
    assert plan.variance <= (d + 1) * (d + 2) / (3.0 * epsilon**2)


def test_a_fact_never_costs_and_more_budget_never_adds_noise() -> None:
    for k in (3, 12):
        box, known = hush.Sensitivity(linf=1.0, dimension=k), counts(k)
        assert hush.calibrate(1.0, 0.0, known).variance <= hush.calibrate(1.0, 0.0, box).variance
        spread = [hush.calibrate(e, 0.0, known, values="integer").variance for e in (0.2, 0.5, 1.0, 2.0, 4.0)]
        assert all(a > b for a, b in itertools.pairwise(spread))
        few = hush.Sensitivity(linf=1.0, l0=1, dimension=k, one_sided=True)
        assert hush.calibrate(1.0, 0.0, few).variance <= hush.calibrate(1.0, 0.0, known).variance


def test_independent_noise_on_request_and_by_name() -> None:
    plan = hush.calibrate(1.0, 1e-6, counts(10), family="independent")
    assert isinstance(plan.noise, Law) and isinstance(plan.law, Law)
    assert all(isinstance(c.noise, Law) for c in plan.ranking if c.noise is not None)
    cube = hush.calibrate(1.0, 0.0, counts(10), family="cube", values="integer")
    assert cube.family == "cube" and cube.variance == pytest.approx(43.917, rel=1e-4)
    with pytest.raises(hush.Unsupported, match="family='independent'"):
        _ = cube.law
    with pytest.raises(hush.Unsupported, match="one_sided=True"):
        hush.calibrate(1.0, 0.0, hush.Sensitivity(linf=1.0, dimension=4), family="interval")
    with pytest.raises(hush.Unsupported, match="dimension=D"):
        hush.calibrate(1.0, 0.0, hush.Sensitivity(linf=1.0, l0=4), family="cube")


def test_one_number_and_unknown_numbers_keep_independent_noise() -> None:
    for bound in (1.0, hush.Sensitivity(linf=1.0, l0=4), hush.Sensitivity(l2=1.0)):
        assert isinstance(hush.calibrate(1.0, 1e-6, bound).noise, Law)


def test_one_sided_is_a_fact_about_add_remove() -> None:
    with pytest.raises(hush.InvalidParameter, match="both directions"):
        hush.Sensitivity(linf=1.0, dimension=3, one_sided=True, neighbours="replace")
    with pytest.raises(hush.InvalidParameter, match="one_sided must be"):
        hush.Sensitivity(linf=1.0, dimension=3, one_sided=1)  # type: ignore[arg-type]
    bound = counts(3)
    assert hush.Sensitivity.from_plain(bound.to_plain()) == bound
    assert "one_sided" not in hush.Sensitivity(linf=1.0, dimension=3).to_plain()  # ledgers read as before


def test_several_releases_compose_as_randomised_response() -> None:
    noise, bound = hush.Interval(4, 2.0, 2.0), counts(4)
    two = hush.compose([(noise, bound, 2)])
    assert two.epsilon(0.0) == pytest.approx(1.0)
    exact = [(math.exp(0.5) - math.exp(e)) / (1.0 + math.exp(0.5)) for e in (0.1, 0.3)]
    assert np.allclose([hush.delta(noise, e, bound) for e in (0.1, 0.3)], exact, rtol=1e-12)
    plan = hush.calibrate(1.0, 0.0, counts(4), times=3, values="integer")
    hush.Ledger(None, epsilon=1.0, delta=0.0).spend((plan.noise, counts(4), 3))  # exactly the budget, and accepted


def test_a_release_of_ten_counts_end_to_end(tmp_path) -> None:
    """Charged once as pure, read back, reported, and its intervals hold the truth (false alarms below 1e-6)."""
    plan = hush.calibrate(1.0, 1e-6, counts(10), values="integer")
    truth = np.arange(10) * 100
    with hush.Ledger(tmp_path / "ten.ledger", epsilon=2.0, delta=1e-6) as ledger:
        made = hush.release(truth, plan, ledger=ledger, label="ten counts")
        assert made.value.dtype.kind == "i" and made.value.shape == (10,)
    with hush.Ledger(tmp_path / "ten.ledger") as again:
        again.verify()
        assert again.entries[0].charges == (hush.Charge(plan.noise, counts(10)),)
        assert again.spent.delta <= 1e-6 and again.spent.epsilon <= 1.0
    assert "Interval" in str(hush.report.statement(made))
    half, draws = made.error.half_width95, hush.draw(plan.noise, 20_000)
    missed = int((np.abs(draws[:, 0]) > half).sum())
    assert missed <= binom.isf(1e-6, 20_000, 0.05)
    assert half < 1.96 * math.sqrt(158.8)  # a third of the best independent noise


def test_the_covariance_is_the_one_of_sums_and_differences() -> None:
    noise = hush.Interval(3, 1.0, 1.0)
    draws = hush.draw(noise, 100_000).astype(float)
    for weights in ((1.0, 1.0, 1.0), (1.0, -1.0, 0.0)):
        w = np.array(weights)
        seen, known = float(np.var(draws @ w)), float(w @ noise.covariance @ w)
        assert abs(seen - known) < 6.0 * 2.5 * known / math.sqrt(len(draws))


@pytest.mark.parametrize(("linf", "step"), [(0.3, 0.1), (0.7, 0.1), (0.9, 0.3), (2.1, 0.7), (1.0, 1.0)])
@pytest.mark.parametrize("one_sided", [False, True, (True, False, True)], ids=str)
@pytest.mark.parametrize("times", [1, 3])
def test_decimal_steps_keep_the_promise_to_the_last_bit(linf: float, step: float, one_sided: Any, times: int) -> None:
    """The float of 0.3 is below three steps of 0.1, and three steps are what moves. No joint family is left out."""
    bound = hush.Sensitivity(linf=linf, dimension=3, one_sided=one_sided)
    plan = hush.calibrate(1.0, 0.0, bound, step=step, times=times)
    assert hush.epsilon(plan.noise, 0.0, bound, times=times) <= 1.0
    assert hush.delta(plan.noise, 1.0, bound, times=times) == 0.0
    best = {False: "cube", True: "interval", (True, False, True): "plateau"}[one_sided]
    assert best in [row.family for row in plan.ranking if row.noise is not None]
