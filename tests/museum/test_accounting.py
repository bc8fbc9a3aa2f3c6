"""Published bugs in what a release costs: formulas, composition, sampling and rounding."""

from __future__ import annotations

import math
import threading
from fractions import Fraction
from pathlib import Path
from typing import Any

import mpmath
import numpy as np
import pyarrow as pa
import pytest

import hush
from hush import tables


def top_charge(groups: int) -> Any:
    names = [f"g{i}" for i in range(groups)]
    few = tables.table(pa.table({"p": [1], "g": names[:1]}), unit="p").group_by("g", keys=names)
    return few.top(1).plan(1.0, 0.0).charge


def test_odometer_without_a_logarithm() -> None:
    """The optimal composition theorem has log(1/delta); the code had 1/delta."""
    epsilon, times, delta = 0.1, 40, 1e-6
    right = epsilon * math.sqrt(2.0 * times * math.log(1.0 / delta))
    wrong = epsilon * math.sqrt(2.0 * times * (1.0 / delta))
    assert wrong > 200.0 * right
    # pure epsilons compose to a law of coins, whose delta is a sum of binomial terms: hush's bound is above it, barely
    noise = hush.Laplace(1.0 / epsilon)
    found = hush.compose([(noise, 1.0, times)]).epsilon_bracket(delta)
    assert found.lower <= found.upper < right * 1.2
    ledger = hush.Ledger(None, epsilon=50.0, delta=delta, mode="nonadaptive")
    for _ in range(5):
        ledger.spend((noise, 1.0, times // 5))
    assert found.lower <= ledger.spent.epsilon <= found.upper * 1.01


def test_rho_of_permute_and_flip() -> None:
    """rho = epsilon^2/8 is a theorem about the exponential mechanism, and was stated for permute-and-flip."""

    def permute_and_flip(scores: list[float], scale: float) -> list[float]:
        weights = [math.exp((x - max(scores)) / scale) for x in scores]
        first, second = weights
        both_fail = (1.0 - first) * (1.0 - second)
        alone = [(first + (1.0 - second) * first) / 2.0, (second + (1.0 - first) * second) / 2.0]
        return [x / (1.0 - both_fail) for x in alone]

    p, q = permute_and_flip([0.0, 0.0], 1.0), permute_and_flip([1.0, -1.0], 1.0)
    order, epsilon = 2.0, 2.0  # scores move by 1, in both directions
    divergence = math.log(sum(a**order * b ** (1.0 - order) for a, b in zip(p, q, strict=True))) / (order - 1.0)
    assert divergence > order * epsilon**2 / 8.0 * 1.2  # more than the rho that was claimed
    charge = top_charge(3)
    scale = charge.noise.scale
    for numbers, move in (([5, 5, 5], [1, 1, 0]), ([9, 2, 0], [1, 0, 0]), ([4, 4, 0], [0, 1, 1])):
        weights = [np.exp((np.array(x) - max(x)) / scale) for x in (numbers, np.add(numbers, move).tolist())]
        first, second = (weight / weight.sum() for weight in weights)
        for one, other in ((first, second), (second, first)):
            found = math.log(float((one**order * other ** (1.0 - order)).sum())) / (order - 1.0)
            assert found <= float(hush.renyi(charge.noise, order, sensitivity=charge.sensitivity)) * (1 + 1e-12)
            for level in (0.1, 0.5, 0.9):
                lost = float(np.maximum(one - math.exp(level) * other, 0.0).sum())
                assert lost <= float(hush.compose([charge]).delta(level)) + 1e-15
    # what is drawn is the exponential mechanism and not another choice: frequencies agree (Hoeffding, 1e-6)
    many = charge.repeated(1)
    draws = [int(hush.unaccounted([many]).choose(many, np.array([2, 1, 0], dtype=np.int64))[0]) for _ in range(4000)]
    law = np.exp(np.array([0.0, -1.0, -2.0]) / scale)
    shares = np.bincount(draws, minlength=3) / len(draws)
    assert np.abs(shares - law / law.sum()).max() < math.sqrt(math.log(6.0 / 1e-6) / (2.0 * len(draws)))


def test_one_sample_for_two_amplified_releases() -> None:
    """Each of two answers on one sample is amplified by the rate; together they are not."""
    rate, epsilon = 0.1, 3.0
    flip = 1.0 / (1.0 + math.exp(epsilon))
    amplified = math.log(1.0 + rate * (math.exp(epsilon) - 1.0))
    yes_if_in, yes_if_out = rate * (1.0 - flip) ** 2 + (1.0 - rate) * flip**2, flip**2
    assert math.log(yes_if_in / yes_if_out) > 1.3 * 2.0 * amplified  # both answers "yes", from the same sample
    plan = hush.calibrate(1.0, 1e-6, 1.0, family="gaussian", rate=0.1, times=2)
    with pytest.raises(hush.Unsupported, match="Poisson samples"):
        hush.release(5.0, plan, ledger=None)  # no call takes a sample of the caller's and amplifies it
    fresh, reused = hush.subsample(hush.Gaussian(1.0), rate, times=2), hush.subsample(hush.Gaussian(2**-0.5), rate)
    twice, together = (float(hush.compose([one]).epsilon(1e-6)) for one in (fresh, reused))
    assert together > twice  # two releases on one sample are one release with less noise: the ledger is asked for that


def zcdp_delta(rho: Any, epsilon: Any, order: Any) -> Any:
    """A bound on delta at one order (Canonne, Kamath and Steinke 2020), in the arithmetic of its arguments."""
    one, log, exp = (
        (mpmath.mpf(1), mpmath.log, mpmath.exp) if isinstance(rho, mpmath.mpf) else (1.0, math.log, math.exp)
    )
    return exp((order - one) * (order * rho - epsilon) + order * log(one - one / order)) / (order - one)


def test_conversion_that_rounds_downwards() -> None:
    below = 0
    with mpmath.workdps(60):
        for place in range(200):
            rho, epsilon, order = 0.01 + place * 0.003, 0.5 + place * 0.02, 2.5 + place * 0.11
            exact = zcdp_delta(mpmath.mpf(rho), mpmath.mpf(epsilon), mpmath.mpf(order))
            below += zcdp_delta(rho, epsilon, order) < exact
        assert below > 20  # to the nearest is below the truth as often as above
        for place in range(60):
            mu, level = 0.05 + place * 0.05, 0.1 + place * 0.07
            truth = mpmath.ncdf(mu / mpmath.mpf(2) - level / mpmath.mpf(mu)) - mpmath.exp(level) * mpmath.ncdf(
                -mpmath.mpf(mu) / 2 - level / mpmath.mpf(mu)
            )
            stated = float(hush.delta(hush.Gaussian(1.0), level, sensitivity=mu))
            assert mpmath.mpf(stated) >= truth  # an upper bound, to the last bit
            assert mpmath.mpf(stated) <= truth * (1 + mpmath.mpf(10) ** -8) + mpmath.mpf(10) ** -300


def test_budget_that_every_part_spends_whole() -> None:
    """Two queries with epsilon each, stated as epsilon together."""
    assert float(hush.compose([(hush.Laplace(1.0), 1.0, 2)]).epsilon(0.0)) > 1.99
    mechanism = hush.Mechanism(hush.Laplace(1.0), hush.Sensitivity(linf=1.0, l0=1), 1.0)
    ledger = hush.Ledger(None, epsilon=1.0, delta=1e-6)
    payment = ledger.spend(mechanism.charge)
    steps = np.array([412], dtype=np.int64)
    payment.noise(mechanism, steps)
    with pytest.raises(hush.NotPaid, match="drawn before"):
        payment.noise(mechanism, steps)
    with pytest.raises(hush.BudgetExceeded):
        ledger.spend(mechanism.charge)


def test_budget_that_is_checked_after_a_step() -> None:
    def trainer(step: float, cap: float) -> tuple[int, float]:
        spent, steps = 0.0, 0
        while spent < cap:
            spent, steps = spent + step, steps + 1  # the last step is made, and then noticed
        return steps, spent

    assert trainer(0.3, 1.0)[1] > 1.0
    ledger = hush.Ledger(None, epsilon=1.0, delta=1e-9)
    mechanism = hush.Mechanism(hush.Laplace(1.0 / 0.3), hush.Sensitivity(linf=1.0, l0=1), 1.0)
    made: list[Any] = []

    def trains() -> None:
        for _ in range(10):
            made.append(ledger.spend(mechanism.charge).noise(mechanism, np.array([5], dtype=np.int64)))

    with pytest.raises(hush.BudgetExceeded):
        trains()
    assert len(made) == len(ledger.entries) <= 3
    assert float(hush.compose([(hush.Laplace(1.0 / 0.3), 1.0, len(made))]).epsilon(0.0)) <= 1.0


def test_fixed_batches_with_the_account_of_poisson_samples() -> None:
    """A batch of a fixed size, shuffled or in order: a row is in exactly one batch of an epoch."""
    rows, batch, sigma = 1000, 10, 1.0
    poisson = hush.training(rows=rows, batch=batch, epochs=1, sigma=sigma).epsilon(1e-5)
    in_order = float(hush.curve(hush.Gaussian(sigma)).epsilon(1e-5))  # one batch has the row, without any sampling
    assert in_order > 3.0 * poisson
    with pytest.raises(hush.HushError, match="replace"):
        hush.subsample(hush.Gaussian(sigma), batch=batch, rows=rows)  # one row more or less has no proved bound
    bound = hush.Sensitivity(l2=2.0, neighbours="replace")
    fixed = hush.subsample(hush.Gaussian(sigma), batch=batch, rows=rows, sensitivity=bound, times=100)
    assert float(hush.compose([fixed]).epsilon(1e-5)) > poisson


def test_constant_batches_in_an_accountant_of_samples() -> None:
    """The first report of the same mistake, for steps without replacement: the sampled rate is no theorem there."""
    physical = hush.subsample(hush.Gaussian(2.0), 0.05)
    charge = hush.subsample(
        hush.Gaussian(2.0), batch=50, rows=1000, sensitivity=hush.Sensitivity(l2=1.0, neighbours="replace")
    )
    assert charge.fixed and charge.rate == 0.05
    assert not physical.fixed and charge != physical
    with pytest.raises(hush.Unsupported, match="batches of a fixed size"):
        hush.subsample(hush.Gaussian(2.0), 0.05, hush.Sensitivity(l2=1.0, neighbours="replace"))


def test_sampling_rate_without_accumulated_steps() -> None:
    """A check that used the physical batch of 10 where the calibration used 8 of them together."""
    physical = hush.training(rows=1000, batch=10, steps=100, sigma=1.0).epsilon(1e-5)
    effective = hush.training(rows=1000, batch=80, steps=100, sigma=1.0).epsilon(1e-5)
    assert physical < 1.1 < effective  # a target of 1.1 was accepted
    plan = hush.training(rows=1000, batch=80, steps=100, epsilon=1.1, delta=1e-5)
    assert plan.rate == 0.08 and plan.epsilon(1e-5) <= 1.1
    assert (
        hush.compose([hush.subsample(hush.Gaussian(plan.sigma), plan.rate, times=plan.steps)]).epsilon(1e-5) <= 1.1001
    )


def test_textbook_scale_beyond_its_proof() -> None:
    """sigma = sqrt(2 ln(1.25/delta))/epsilon is proved for epsilon up to 1, and is used for all."""
    delta, found = 1e-2, []
    for epsilon in (0.5, 2.0, 8.0, 20.0):
        sigma = math.sqrt(2.0 * math.log(1.25 / delta)) / epsilon
        found.append(float(hush.delta(hush.Gaussian(sigma), epsilon)) > delta)
    assert any(found) and not found[0]
    for epsilon in (0.5, 2.0, 8.0, 20.0):
        plan = hush.calibrate(epsilon, delta, 1.0, family="gaussian")
        assert float(hush.delta(plan.noise, epsilon)) <= delta
        assert float(hush.delta(hush.Gaussian(hush.gaussian.sigma(epsilon, delta)), epsilon)) <= delta


def test_budget_that_two_requests_read_at_once(tmp_path: Path) -> None:
    spent = [Fraction(0)]
    barrier = threading.Barrier(8)

    def careless() -> None:
        known = spent[0]  # read, check, and write: another request does the same in between
        barrier.wait()
        if known + Fraction(1, 2) <= 1:
            made.append(1)
            spent[0] = known + Fraction(1, 2)

    def careful() -> None:
        with hush.Ledger(path) as ledger:
            barrier.wait()
            try:
                ledger.spend((hush.Laplace(2.05), 1.0, 1))
            except hush.BudgetExceeded:
                return
            made.append(1)

    path = tmp_path / "race.ledger"
    hush.Ledger(path, epsilon=1.0, delta=1e-9).close()
    counts = []
    for work in (careless, careful):
        made: list[int] = []
        threads = [threading.Thread(target=work) for _ in range(8)]
        for one in threads:
            one.start()
        for one in threads:
            one.join()
        counts.append(len(made))
    assert counts == [8, 2]
    with hush.Ledger(path) as ledger:
        assert len(ledger.entries) == 2
        ledger.verify()


def test_a_spend_too_small_to_count() -> None:
    """After a budget was exhausted, a spend so small that a sum of floats does not change was accepted, every time."""
    spent, many = 1.0, 10_000
    for _ in range(many):
        assert spent + 1e-17 <= 1.0
        spent += 1e-17
    for mode in ("adaptive", "nonadaptive"):
        ledger = hush.Ledger(None, epsilon=1.0, delta=0.0, mode=mode)
        ledger.spend((hush.Laplace(1.0), 1.0, 1))
        with pytest.raises(hush.BudgetExceeded):  # sums are exact fractions
            ledger.spend((hush.Laplace(1e17), 1.0, many))
        assert len(ledger.entries) == 1
