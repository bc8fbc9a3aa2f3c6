"""What a hostile review of this room found: each finding is a test that failed before it was mended."""

from __future__ import annotations

import math
from collections.abc import Callable
from dataclasses import replace
from fractions import Fraction

import mpmath
import numpy as np
import pytest

from hush import (
    Discrete,
    Gaussian,
    HushError,
    InvalidParameter,
    Laplace,
    Ledger,
    Sensitivity,
    Skellam,
    Stable,
    curve,
    federated,
)
from hush.errors import NotPaid
from hush.noise.gamma_difference import GammaDifference
from hush.noise.polya_difference import PolyaDifference

#: delta of GammaDifference(r, 1) at sensitivity 1: (r, epsilon, delta), by 60-digit quadrature of (f(x) - e^epsilon
#: f(x - 1))_+.
DELTAS = [
    (0.25, 3.0, 0.16097657903361),
    (0.25, 17.5, 1.0027211558965e-7),
    (0.25, 22.8, 5.0051774104234e-10),
    (0.25, 34.3, 5.0702915675747e-15),
    (0.25, 59.6, 5.2165400021301e-26),
    (0.4, 6.0, 4.9528508626761e-7),
    (0.4, 6.41, 9.9837506543967e-8),
    (0.4, 7.57, 1.0162997009356e-9),
    (0.4, 10.86, 2.0037785148799e-15),
    (0.4, 16.0, 2.3612749134918e-24),
    (0.55, 2.9016, 1.0010280818523e-7),
    (0.55, 3.00358, 1.000310239267e-9),
    (0.55, 3.11773, 1.0103047503481e-14),
    (0.55, 3.171955, 2.3531633444221e-29),
    (0.7, 1.8085, 1.0074173085546e-7),
    (0.7, 1.81693, 1.0068554487044e-9),
    (0.7, 1.819888, 1.0041753656212e-14),
    (0.7, 1.82000127, 6.1953105236522e-22),
    (0.7, 1.82000226524625, 2.0634515315539e-36),
]


@pytest.mark.parametrize(("shape", "epsilon", "truth"), DELTAS)
def test_small_deltas_of_laplace_shares_are_bracketed(shape: float, epsilon: float, truth: float) -> None:
    found = curve(GammaDifference(shape, 1.0), 1.0).delta_bracket(epsilon)
    assert found.lower * (1.0 - 1e-13) <= truth <= found.upper * (1.0 + 1e-13)
    if truth > 1e-30:
        assert found.upper <= truth * (1.0 + 1e-4)


@pytest.mark.parametrize(("shape", "low", "high"), [(0.25, 0.1, 60.0), (0.4, 0.1, 40.0), (0.7, 1.7, 1.82)])
def test_the_curve_of_laplace_shares_falls(shape: float, low: float, high: float) -> None:
    delta = np.asarray(curve(GammaDifference(shape, 1.0), 1.0).delta(np.linspace(low, high, 801)))
    assert (np.diff(delta) < 0.0).all()


def test_the_mass_next_to_the_centre_keeps_its_digits() -> None:
    noise = GammaDifference(0.25, 1.0)
    with mpmath.workdps(40):
        for y in (1e-30, 1e-6, 0.3):  # P(0 < X < y) = int_0^(y^(1/2)) f(u^2) 2 u du, without the singularity
            c = 2 / (mpmath.sqrt(mpmath.pi) * mpmath.gamma(0.25) * mpmath.mpf(2) ** -0.25)
            ends = [0, *(mpmath.sqrt(mpmath.mpf(y) * mpmath.mpf(10) ** -k) for k in range(12, -1, -1))]
            truth = mpmath.quad(lambda u, c=c: c * mpmath.sqrt(u) * mpmath.besselk(0.25, u * u), ends)
            assert abs(noise._unit.near(np.array([y]))[0] / float(truth) - 1.0) < 1e-13


def test_two_singular_shares_compose() -> None:
    one, two = (curve(GammaDifference(0.45, 1.0), 1.0, times=times) for times in (1, 2))
    assert one.delta_bracket(3.0).lower < two.delta(3.0) < 2.0 * one.delta(1.5) * math.exp(1.5)


@pytest.mark.parametrize("shape", [31.5, 100.0, 238.0, 246.25, 250.0, 300.0, 600.0, 4000.0])
def test_sums_of_many_polya_shares_keep_their_probabilities(shape: float) -> None:
    noise = PolyaDifference(shape, 20.0)
    with mpmath.workdps(40):
        q, r = mpmath.exp(-1 / mpmath.mpf(20)), mpmath.mpf(shape)
        for k in (0, 1, round(4.0 * math.sqrt(noise.variance))):
            truth = (
                (1 - q) ** (2 * r)
                * mpmath.rf(r, k)
                / mpmath.factorial(k)
                * q**k
                * mpmath.hyp2f1(r, r + k, k + 1, q * q)
            )
            assert abs(noise.pdf(float(k)) / float(truth) - 1.0) < 2e-13
    masses = noise.masses
    assert abs(masses[0] + 2.0 * math.fsum(masses[1:]) - 1.0) < 1e-11
    assert masses[-1] < 1e-300


def test_a_ring_for_many_more_parties_than_are_counted_on_holds_their_sum() -> None:
    made = federated.ring(federated.share(Discrete(Laplace(20.0)), 1000, honest=3), bound=100, overflow=1e-9)
    deviation = math.sqrt(made.share.total.variance)
    assert 2 ** (made.bits - 1) > 100 + 6.0 * deviation
    assert 2 ** (made.bits - 1) < 100 + 40.0 * deviation


# -- estimates and planning ----------------------------------------------------------------------------------


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
    from hush.federated.estimate import _at_least, _exact_ends

    n, c, p, q = 200, 7, 0.5, 0.001
    law = [_at_least(t, n, c, p, q) - _at_least(t + 1, n, c, p, q) for t in range(40)]
    held = sum(
        mass
        for t, mass in enumerate(law)
        if _exact_ends(t, n, p, q, 0.025)[0] <= c <= _exact_ends(t, n, p, q, 0.025)[1]
    )
    assert 0.95 <= held < 0.9999


@pytest.mark.parametrize(
    "call",
    [
        lambda: federated.gather(None),
        lambda: federated.answers(["a"], 1.0, None),
        lambda: federated.answers(["a"], 1.0, 5),
        lambda: federated.answers(None, 1.0, ["a", "b"]),
        lambda: federated.answers(["a"], [], ["a", "b"]),
        lambda: federated.reports_needed(2.0, 1.0, 0, 100, delta=None),
        lambda: federated.reports_needed(2.0, 1.0, 0, 100, delta="x"),
        lambda: federated.reports_needed(2.0, 1.0, 0, 100, delta=[]),
        lambda: federated.reports_needed(2.0, 1.0, 0, 100, families=5),
        lambda: federated.answers_needed(0.02, None, 5),
        lambda: federated.answers_needed(0.02, "x", 5),
        lambda: federated.answers_needed(0.02, math.nan, 5),
        lambda: federated.answers_needed(0.02, -1.0, 5),
        lambda: federated.local([1.0], [], 0, 1),
        lambda: federated.local([1.0], 1.0, 0, 1, delta=[]),
        lambda: federated.agree([], 1.0, 3, 4, rounds=1),
        lambda: federated.agree(1.0, 1.0, 3, 4, rounds=1, delta=[]),
        lambda: federated.calibrate_stable([]),
        lambda: federated.ring(None, bound=1, overflow=1e-9),
        lambda: federated.ring(federated.share(Skellam(9.0), 3), bound=1, overflow=[]),
        lambda: federated.dropout(Gaussian(1.0), 10, gone=0.1),
        lambda: federated.dropout(Gaussian(1.0), 10, gone=None),
        lambda: federated.dropout(Gaussian(1.0), 10, gone=[]),
        lambda: federated.Budgets(5, epsilon=1.0, delta=0.0),
        lambda: federated.Budgets("/etc/hostname", epsilon=1.0, delta=0.0),
        lambda: federated.Budgets("/dev/null/a", epsilon=1.0, delta=0.0),
        lambda: federated.Budgets(None, epsilon=1.0, delta=0.0).charge(None, [(Laplace(2.0), 1.0, 1)]),
        lambda: federated.Budgets(None, epsilon=1.0, delta=0.0).charge(math.nan, [(Laplace(2.0), 1.0, 1)]),
        lambda: federated.Budgets(None, epsilon=1.0, delta=0.0).charge("a", None),
    ],
)
def test_one_sentence_for_what_cannot_be(call: Callable[[], object]) -> None:
    with pytest.raises(HushError) as refused:
        call()
    assert str(refused.value).endswith(".") and "\n" not in str(refused.value)


@pytest.mark.parametrize("asked", ["message", "mean_update", "possible", "slip"])
def test_terms_refuse_in_one_sentence(asked: str) -> None:
    terms = federated.agree(1.0, 1.0, 3, 2, rounds=1)
    bad = {
        "message": ["x", None, [1.0], [[1.0], [1.0, 2.0]]],
        "mean_update": [None, 5, [[1, 2]], [[1, 2]] * 2, [[math.nan] * 3] * 2, ["abc"] * 2],
        "possible": [None, "x", [math.nan] * 3],
        "slip": ["x", 0, -1, 1.5, math.nan],
    }[asked]
    paid = terms.pay(None, view="local")
    calls = {"slip": lambda value: terms.slip(rounds=value), "message": lambda value: terms.message(value, paid)}
    for value in bad:
        with pytest.raises(HushError):
            calls.get(asked, getattr(terms, asked))(value)


def test_a_message_needs_a_payment() -> None:
    terms = federated.agree(1.0, 1.0, 3, 2, rounds=1)
    ring = federated.ring(federated.share(Skellam(5.0), 10), bound=10, overflow=1e-9)
    for message, values in ((terms.message, [0.1, 0.2, 0.3]), (ring.message, [1, 2])):
        with pytest.raises(InvalidParameter, match="missing payment; write"):
            message(values)
        for nothing in (None, Ledger(None, epsilon=1.0, delta=0.0), [(Laplace(1.0), 1.0, 1)]):
            with pytest.raises(NotPaid, match="needs a payment"):
                message(values, nothing)


def test_refusals_do_not_quote_a_persons_value() -> None:
    with pytest.raises(InvalidParameter) as refused:
        federated.local(["patient-4711"], 1.0, 0, 1)
    assert "4711" not in str(refused.value)
    with pytest.raises(InvalidParameter) as refused:
        federated.local([4711.5, math.nan], 1.0, 0, 1)
    assert "4711" not in str(refused.value)
    with pytest.raises(InvalidParameter) as refused:
        federated.answers(["patient-4711"], 1.0, ["yes", "no"])
    assert "4711" not in str(refused.value) and "4711" not in str(refused.value.__cause__)


def test_a_share_of_the_parties_is_not_rounded_up_by_a_hair() -> None:
    assert 0.07 * 100 > 7.0
    assert federated.dropout(Gaussian(1.0), 100, delta=1e-6, gone=(0.07,)).rows[0].answering == 93


# -- claims about sums ---------------------------------------------------------------------------------------


def test_the_variance_of_a_sum_of_rounded_shares_is_its_own() -> None:
    for sigma, step in ((0.1, 1.0), (0.3, 1.0), (1.0, 1.0), (9.0, 1.0)):
        places = np.arange(-200, 201) * step
        noise = Gaussian(sigma)
        mass = np.asarray(noise.sf(places - 0.5 * step)) - np.asarray(noise.sf(places + 0.5 * step))
        assert federated.RoundedSum(noise, 7, step).variance == pytest.approx(7.0 * float(mass @ places**2), rel=1e-9)
    assert math.isinf(federated.RoundedSum(Stable(1.5, 1.0), 7).variance)


@pytest.mark.parametrize("step", [0.001, 1.0])
def test_draws_that_saturate_count(step: float) -> None:
    """Ten Cauchy shares leave 2^62 steps with probability 1e-18 or so: no pure epsilon, and coordinates count."""
    made = federated.share(Stable(1.0, 10.0), 10)
    lost = 10.0 * 2.0 * made.noise.sf(2.0**62 * step)
    assert lost > 1e-20
    for coordinates in (1, 1000):
        found = made.central(step * 1000, step=step, coordinates=coordinates)
        assert math.isinf(found.pure_epsilon)
        assert found.delta(60.0) >= lost * coordinates


def test_the_claimed_scale_of_a_sum_is_rounded_down() -> None:
    from decimal import Decimal, localcontext

    from hush.federated.divisible import power

    with localcontext() as context:
        context.prec = 60
        for count in range(1, 60):
            exact = (Decimal(count) / 70).sqrt()
            assert (
                Decimal(power(Gaussian(1.0), Fraction(count, 70), upwards=False).sigma)
                <= exact
                <= Decimal(power(Gaussian(1.0), Fraction(count, 70)).sigma)
            )
            shape = power(Laplace(1.0), Fraction(count, 70), upwards=False).shape
            assert Fraction(shape) <= Fraction(count, 70)


def test_slip_is_read_at_the_epsilon_of_everything() -> None:
    """A coarse lattice, so that the slip is seen: the factor is that of the whole budget, not of one round."""
    made = federated.agree(4.0, 1.0, 3, 10, rounds=20, delta=1e-6, noise="gaussian")
    coarse = replace(made, step=2.0 ** math.floor(math.log2(made.share.noise.sigma) + 1.0))
    one, whole = (coarse.slip(rounds=1, epsilon=epsilon) for epsilon in (1.0, 4.0))
    assert whole / one == pytest.approx((1.0 + math.exp(4.0)) / (1.0 + math.exp(1.0)))
    assert coarse.slip(rounds=1) >= whole  # unless told: that of all rounds at a smaller delta
    stable = federated.agree(4.0, 1.0, 3, 10, rounds=2)
    assert stable.slip(view="local") > stable.slip() > 0.0


def test_every_number_of_a_ring_may_overflow() -> None:
    """A vector of messages fails if any of its numbers does; one party that moves many of them says how many there
    are at least.
    """
    made = federated.ring(federated.share(Skellam(20.0), 10), bound=100, overflow=1e-9)
    one, many = (float(made.central(1.0, coordinates=count).delta(3.0)) for count in (1, 1000))
    assert many - one == pytest.approx(999.0 * made.overflow, rel=1e-6)
    moved = made.central(Sensitivity(linf=1.0, l0=4)).delta_bracket(9.0)
    assert float(moved.upper) - float(
        made.share.central(Sensitivity(linf=1.0, l0=4)).delta(9.0)
    ) >= 4.0 * made.overflow * (1.0 - 1e-6)
    with pytest.raises(InvalidParameter, match="coordinates"):
        made.central(1.0, coordinates=0)
