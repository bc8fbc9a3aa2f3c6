"""rho and mu of releases, and budgets in them."""

from __future__ import annotations

import math
from fractions import Fraction

import numpy as np
import pytest
from scipy import special as reference

import hush
from hush import Budget, Charge, Gaussian, InvalidParameter, Laplace, Ledger, Sensitivity, Unsupported
from hush.privacy.concentrated import (
    epsilon_with_mu,
    epsilon_with_rho,
    mu_of_pure,
    mu_squared,
    rho,
    rho_of_pure,
)

ORDERS = np.concatenate([1.0 + np.geomspace(1e-6, 1.0, 40), np.geomspace(2.0, 1e4, 60)])


def randomised_response(order: float, epsilon: float) -> float:
    """Its Renyi divergence, from the two probabilities."""
    terms = np.array([order * epsilon, (1.0 - order) * epsilon]) - math.log1p(math.exp(epsilon))
    return float(np.logaddexp(*terms)) / (order - 1.0)


@pytest.mark.parametrize("epsilon", [1e-3, 0.1, 1.0, 4.0, 20.0])
def test_rho_of_a_pure_epsilon_is_that_of_randomised_response(epsilon: float) -> None:
    known = rho_of_pure(epsilon)
    ratios = [randomised_response(order, epsilon) / order for order in ORDERS if order > 1.01]
    assert max(ratios) <= known * (1.0 + 1e-9)
    assert max(ratios) >= 0.98 * known  # and no less: it is attained as the order goes to 1
    assert known <= 0.5 * epsilon**2 * (1.0 + 1e-12)  # Bun and Steinke's bound


@pytest.mark.parametrize("scale", [0.2, 1.0, 5.0, 100.0])
def test_rho_of_laplace_noise_bounds_every_order_and_is_attained(scale: float) -> None:
    known = rho(Charge(Laplace(scale), Sensitivity.of(1.0)))
    assert float(known) == pytest.approx(1.0 / scale - 1.0 + math.exp(-1.0 / scale), rel=1e-9)
    for order in ORDERS:
        assert hush.renyi(Laplace(scale), float(order)) / order <= float(known) * (1.0 + 1e-9)
    assert float(known) <= rho_of_pure(1.0 / scale) * (1.0 + 1e-12)


@pytest.mark.parametrize("epsilon", [1e-4, 0.3, 1.0, 1.1, 5.0, 30.0])
def test_mu_of_a_pure_epsilon_dominates_randomised_response(epsilon: float) -> None:
    mu = mu_of_pure(epsilon)
    assert mu == pytest.approx(-2.0 * float(reference.ndtri(1.0 / (1.0 + math.exp(epsilon)))), rel=1e-9)
    grid = np.linspace(-1.2 * epsilon, 1.2 * epsilon, 61)
    high = 1.0 / (1.0 + math.exp(-epsilon))
    answer = np.maximum(high - np.exp(grid) * (1.0 - high), 0.0) + np.maximum((1.0 - high) - np.exp(grid) * high, 0.0)
    normal = reference.ndtr(mu / 2.0 - grid / mu) - np.exp(grid) * reference.ndtr(-mu / 2.0 - grid / mu)
    assert (answer <= normal + 1e-9).all()
    smaller = 0.98 * mu
    less = reference.ndtr(smaller / 2.0 - grid / smaller) - np.exp(grid) * reference.ndtr(-smaller / 2 - grid / smaller)
    assert (answer > less + 1e-15).any()


def test_inverses_are_on_the_safe_side() -> None:
    for amount in (1e-6, 0.01, 0.5, 3.0, 40.0):
        assert rho_of_pure(epsilon_with_rho(amount)) <= amount
        assert rho_of_pure(epsilon_with_rho(amount) * (1.0 + 1e-6)) > amount
        assert mu_of_pure(epsilon_with_mu(amount)) <= amount * (1.0 + 1e-12)
        assert epsilon_with_mu(mu_of_pure(amount)) == pytest.approx(amount, rel=1e-6)


def test_gaussian_noise_is_exact() -> None:
    charge = Charge(Gaussian(2.0), Sensitivity(linf=1.0, l0=4))
    assert mu_squared(charge) == 1 and rho(charge) == Fraction(1, 2)
    one_sided = Sensitivity(linf=1.0, dimension=3, one_sided=True)
    noise = hush.calibrate(1.0, 1e-6, one_sided, family="correlated").noise
    assert mu_squared(Charge(noise, one_sided)) > 0 or rho(Charge(noise, one_sided)) > 0


def test_what_is_not_proved_is_refused() -> None:
    for noise in (hush.TruncatedLaplace(5.0, 100.0), hush.OSGT(2.0, 3.0)):
        for kind in ("rho", "mu"):
            with pytest.raises(Unsupported, match=f"no theorem gives .* a {kind}"):
                Ledger(None, **{kind: 1.0}).spend((noise, 1.0))


@pytest.mark.parametrize("kind", ["rho", "mu"])
def test_a_budget_implies_its_epsilon_at_every_delta(kind: str) -> None:
    for delta in (1e-3, 1e-6, 1e-9):
        budget = Budget(**{kind: 0.3}, delta=delta)
        sigma = 1.0 / 0.3 if kind == "mu" else math.sqrt(1.0 / 0.6)
        exact = hush.epsilon(Gaussian(sigma), delta)
        assert exact * (1.0 - 1e-9) <= budget.epsilon <= exact * (1.0 + (1e-9 if kind == "mu" else 0.15))
    assert Budget(**{kind: 0.1}).meets(Budget(**{kind: 0.2})) and not Budget(**{kind: 0.3}).meets(Budget(**{kind: 0.2}))
    assert Budget(**{kind: 0.1}).kind == kind and kind in repr(Budget(**{kind: 0.1}))
    for wrong in ({kind: -1.0}, {kind: "x"}, {"rho": 1.0, "mu": 1.0}, {kind: 1.0, "epsilon": 1.0}):
        with pytest.raises(InvalidParameter):
            Budget(**wrong)  # type: ignore[arg-type]


@pytest.mark.parametrize("kind", ["rho", "mu"])
@pytest.mark.parametrize("times", [1, 12])
def test_calibrate_uses_the_budget_and_no_more(kind: str, times: int) -> None:
    for bound in (1.0, Sensitivity(linf=1.0, l0=3)):
        plan = hush.calibrate(sensitivity=bound, times=times, **{kind: 0.4})
        ledger = Ledger(None, **{kind: 0.4})
        for _ in range(times):
            ledger.spend((plan.noise, bound))
        assert ledger.share > 0.999
        with pytest.raises(hush.BudgetExceeded):
            ledger.spend((plan.noise, bound))
        assert plan.epsilon == Budget(**{kind: 0.4}).epsilon and f"{kind} = 0.4" in plan.why
    assert hush.calibrate(family="laplace", **{kind: 0.4}).family == "laplace"


def test_a_failure_probability_does_not_fit_into_rho_or_mu() -> None:
    for kind in ("rho", "mu"):
        with pytest.raises(hush.BudgetExceeded):
            Ledger(None, **{kind: 1.0}).spend((Gaussian(100.0), 1.0), extra_delta=1e-9)
