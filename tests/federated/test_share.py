"""Shares of noise: what they are, what they and their sums are worth, against reference values and by other means."""

from __future__ import annotations

import math
from decimal import Decimal, localcontext
from fractions import Fraction
from typing import Any

import mpmath
import numpy as np
import pytest
from conftest import oracle_entries
from hypothesis import given
from hypothesis import strategies as st
from scipy.integrate import quad

import hush
from hush.errors import InvalidParameter, Unsupported
from hush.federated import calibrate_stable, share
from hush.federated.divisible import power
from hush.noise.catalogue import from_plain_values, plain_values
from hush.noise.gamma_difference import GammaDifference
from hush.noise.polya_difference import PolyaDifference
from hush.numerics.rounding import FEW_ROUNDINGS, up
from hush.sampling.entropy import DeterministicTestEntropy
from hush.sampling.exact import sampler
from hush.sampling.threshold import fill_all

ENTRIES = oracle_entries()
TARGETS = [
    hush.Stable(1.7, 10.0),
    hush.Stable(1.0, 10.0),
    hush.Gaussian(10.0),
    hush.Laplace(10.0),
    hush.Discrete(hush.Laplace(10.0)),
    hush.Skellam(10.0),
]


def rows(name: str) -> list[Any]:
    found = [entry for entry in ENTRIES if entry["function"] == name]
    return [pytest.param(e, id=", ".join(f"{k}={v}" for k, v in e["inputs"].items())) for e in found]


def number(entry: dict[str, Any], name: str) -> float:
    return float(entry["inputs"][name])


# -- reference values: the sum of shares is worth what the oracle says ---------------------------------------


def test_the_values_are_there_or_skipped(data_dir):
    assert {"sas_eps", "sas_eps_K", "sas_delta", "sas_gamma_for_eps"} <= {entry["function"] for entry in ENTRIES}


@pytest.mark.parametrize("entry", rows("sas_eps"))
def test_pure_epsilon_of_the_sum(entry):
    made = share(hush.Stable(number(entry, "alpha"), 1.0 / number(entry, "s")), 100, honest=60)
    assert made.central(1.0).pure_epsilon == pytest.approx(float(entry["value"]), rel=1e-8)
    rebuilt = made.noise.scaled(60.0 ** (1.0 / number(entry, "alpha")))
    assert rebuilt.max_loss(1.0) == pytest.approx(float(entry["value"]), rel=1e-8)


@pytest.mark.parametrize("entry", rows("sas_eps_K"))
def test_epsilon_of_a_vector_of_sums(entry):
    """linf is exact; for l1 and l2 the entry is the even spread, which the theorem's bound must not undercut."""
    made = share(hush.Stable(number(entry, "alpha"), number(entry, "gamma")), 20)
    bound = hush.Sensitivity(**{entry["inputs"]["norm"]: number(entry, "Delta_p")}, l0=int(entry["inputs"]["K"]))
    got = made.central(bound).epsilon(0.0)
    assert got >= float(entry["value"]) * (1.0 - 1e-8)
    if entry["inputs"]["norm"] == "linf":
        assert got == pytest.approx(float(entry["value"]), rel=1e-8)


@pytest.mark.parametrize("entry", rows("sas_delta"))
def test_delta_of_the_sum(entry):
    made = share(hush.Stable(number(entry, "alpha"), 1.0 / number(entry, "s")), 1000)
    assert made.central(1.0).delta(number(entry, "eps")) == pytest.approx(float(entry["value"]), rel=1e-7)


@pytest.mark.parametrize("entry", rows("sas_gamma_for_eps"))
def test_calibrated_scale(entry):
    plan = calibrate_stable(number(entry, "eps"), number(entry, "Delta"), alpha=number(entry, "alpha"))
    assert plan.gamma == pytest.approx(float(entry["value"]), rel=1e-7)
    assert plan.noise.max_loss(number(entry, "Delta")) <= number(entry, "eps")


@pytest.mark.parametrize("entry", rows("sas_best_mae"))
def test_best_alpha(entry):
    plan = calibrate_stable(number(entry, "eps"), number(entry, "Delta"))
    assert plan.mean_abs == pytest.approx(float(entry["value"]), rel=2e-6)
    assert hush.epsilon(plan.noise, 0.0, number(entry, "Delta")) <= number(entry, "eps") * (1.0 + 1e-12)


def test_the_trade_is_told():
    """About 1.55 times Laplace's error at epsilon 1, near alpha 1.70."""
    plan = calibrate_stable(1.0)
    assert plan.alpha == pytest.approx(1.70, abs=0.01)
    assert plan.laplace_ratio == pytest.approx(1.553, abs=0.001)
    assert "1.55 times that of Laplace" in str(plan)
    assert math.isinf(calibrate_stable(1.0, alpha=1.0).mean_abs)
    with pytest.raises(Unsupported, match="no pure epsilon"):
        calibrate_stable(1.0, alpha=2.0)
    for bad in (0.0, -1.0, math.nan, "1"):
        with pytest.raises(InvalidParameter, match="epsilon must be"):
            calibrate_stable(bad)
    with pytest.raises(InvalidParameter, match="alpha must be"):
        calibrate_stable(1.0, alpha=0.9)


# -- shares and their sums -----------------------------------------------------------------------------------


@pytest.mark.parametrize("target", TARGETS, ids=str)
def test_what_sums_become(target):
    """Planned for 60 of 100: those give the target itself; more are more private, fewer less; one message least."""
    made = share(target, 100, honest=60)
    assert made.sum_of(60) == target
    pairs = [made.central(1.0, answering=m).delta(0.3) for m in (20, 40, 60, 80, 100)]
    assert (np.diff(pairs) <= 0.0).all()
    assert made.local(1.0).delta(0.3) >= pairs[0]
    assert made.central(1.0).delta(0.05) == hush.delta(target, 0.05)
    assert made.total == made.sum_of(100)
    assert share(target, 1).noise == target
    text = str(made)
    assert "each of 100 parties adds" in text
    assert "60 of them together add" in text
    assert "epsilon" not in text, "a share is for no sensitivity, so it has no epsilon"
    assert "share.central(sensitivity)" in text


def test_totals_by_name():
    assert share(hush.Stable(1.5, 9.0), 80, honest=10).total.gamma == pytest.approx(36.0, rel=1e-14)  # 8^(2/3) = 4
    assert share(hush.Gaussian(3.0), 40, honest=10).total.sigma == pytest.approx(6.0, rel=1e-14)
    assert share(hush.Laplace(3.0), 40, honest=10).total == GammaDifference(4.0, 3.0)
    assert share(hush.Skellam(3.0), 40, honest=10).total.sigma == pytest.approx(6.0, rel=1e-14)
    assert share(hush.Stable(2.0, 3.0), 4).noise == hush.Gaussian(up(3.0 * math.sqrt(2.0) / 2.0, FEW_ROUNDINGS))


@given(parties=st.integers(1, 10**6), part=st.floats(0.01, 1.0), which=st.sampled_from(TARGETS[:3]))
def test_rounding_is_on_the_private_side(parties, part, which):
    """h shares as floats have at least the target's scale, by a hair."""
    honest = max(1, int(parties * part))
    made = share(which, parties, honest=honest)
    root = made.noise.plain()
    if isinstance(root, hush.Gaussian):
        with mpmath.workdps(40):
            got = mpmath.mpf(root.sigma) * mpmath.sqrt(honest) / mpmath.mpf(which.sigma)
    else:
        with mpmath.workdps(40):
            got = mpmath.mpf(root.gamma) * mpmath.mpf(honest) ** (1 / mpmath.mpf(root.alpha)) / mpmath.mpf(which.gamma)
    assert 0 <= got - 1 < 3e-15


@pytest.mark.parametrize("target", TARGETS, ids=str)
def test_a_million_parties(target):
    made = share(target, 10**6, honest=7 * 10**5)
    assert made.draw(1000, None if target.discrete else 2.0**-6, entropy=DeterministicTestEntropy(1)).shape == (1000,)
    assert made.central(1.0).delta(0.5) == hush.delta(target, 0.5)
    assert made.local(1.0).delta(0.5) > 0.3


def test_rounding_up_a_share_hides_in_its_law():
    """Laws of shares survive a ledger's plain values bit for bit, and a ledger takes them."""
    for target in TARGETS:
        law = share(target, 7).noise
        assert from_plain_values(plain_values(law)) == law
        hush.Ledger(None, epsilon=1e3, delta=0.9).spend([(law, 1.0, 1)], label="a share")


# -- one message of Laplace shares ---------------------------------------------------------------------------


@pytest.mark.parametrize("shape", [0.05, 0.4, 0.5, 0.7, 0.95, 1.5, 4.0])
def test_delta_of_gamma_differences_by_quadrature(shape):
    """The integral of max(f(x) - e^eps f(x - s), 0), cut where the two cross."""
    law, s = GammaDifference(shape, 1.0), 1.3
    made = hush.curve(law, s)
    for epsilon in (0.1, 0.8, 1.2, 2.0, 4.0):
        if epsilon >= made.pure_epsilon:
            assert made.delta(epsilon) == 0.0
            continue
        region = law.exceeds(epsilon, s)
        low, high = float(region.lower[..., 0]), float(region.upper[..., 0])

        def gap(x: float, epsilon: float = epsilon) -> float:
            return max(law.pdf(x) - math.exp(epsilon) * law.pdf(x - s), 0.0)

        if high <= 0.0:
            brute = quad(gap, max(low, -60.0), high, limit=400, epsabs=1e-13)[0]
        else:  # towards the singular centre in logarithms, on either side
            brute = quad(lambda w: gap(math.exp(w)) * math.exp(w), -660.0, math.log(high), limit=2000, epsabs=1e-13)[0]
            brute += quad(
                lambda w: gap(-math.exp(w)) * math.exp(w), -660.0, math.log(min(-low, 60.0)), limit=2000, epsabs=1e-13
            )[0]
        got = made.delta_bracket(epsilon)
        assert got.lower <= got.upper
        assert got.upper == pytest.approx(brute, rel=1e-6, abs=1e-10)


@pytest.mark.parametrize("shape", [0.01, 0.3, 0.9, 1.0, 2.5])
@pytest.mark.parametrize("n", [1, 3])
def test_delta_of_polya_differences_by_direct_sums(shape, n):
    """Hypergeometric functions in 30 digits, summed."""
    law, scale = PolyaDifference(shape, 4.0), 4.0
    with mpmath.workdps(30):
        r, q = mpmath.mpf(shape), mpmath.exp(-mpmath.mpf(1) / scale)
        p = [
            (1 - q) ** (2 * r) * q**k * mpmath.rf(r, k) / mpmath.factorial(k) * mpmath.hyp2f1(r, r + k, k + 1, q * q)
            for k in range(230)
        ]
        for epsilon in (0.0, 0.1, 0.24, 0.6, 2.0):
            truth = mpmath.fsum(
                max(p[abs(k)] - mpmath.exp(mpmath.mpf(epsilon)) * p[abs(k - n)], 0) for k in range(-220, n + 1)
            )
            got = hush.curve(law, float(n)).delta_bracket(epsilon)
            assert got.upper == pytest.approx(float(truth), rel=1e-10, abs=1e-22)
            assert got.lower <= float(truth) + 1e-21  # the mass beyond 220 points, which the direct sum leaves out
            assert float(truth) <= got.upper
        most = float(mpmath.log(p[0] / p[n]))
    assert law.max_loss(float(n)) == pytest.approx(max(most, n / 4.0) if shape < 1.0 else n / 4.0, rel=1e-9)


def test_pure_epsilon_of_one_laplace_message():
    """None for shapes up to 1/2, where the density is infinite at 0; the lattice has one, and it grows with the
    parties.
    """
    assert math.isinf(share(hush.Laplace(10.0), 2).local(1.0).pure_epsilon)
    assert math.isinf(share(hush.Laplace(10.0), 100).local(1.0).pure_epsilon)
    assert share(hush.Laplace(10.0), 3, honest=3).central(1.0, answering=2).pure_epsilon > 0.1
    lattice = [share(hush.Discrete(hush.Laplace(10.0)), n).local(1.0).pure_epsilon for n in (1, 2, 10, 100)]
    assert lattice[0] == pytest.approx(0.1, rel=1e-9)
    assert (np.diff(lattice) > 0.0).all()
    assert share(hush.Laplace(10.0), 20, honest=10).central(1.0, answering=20).pure_epsilon == pytest.approx(
        0.1, rel=1e-9
    )


@pytest.mark.parametrize(
    "law", [GammaDifference(0.3, 3.0), GammaDifference(0.5, 3.0), PolyaDifference(0.2, 3.0)], ids=str
)
def test_balls_decide_as_floats_do(law):
    step = 0.5 if not law.discrete else 1.0
    forced = np.empty(60, dtype=np.int64)
    fill_all(forced, sampler(law, step, 1e15), DeterministicTestEntropy(9).begin())
    np.testing.assert_array_equal(
        hush.draw(law, 60, None if law.discrete else step, DeterministicTestEntropy(9)), forced
    )


# -- bad input -----------------------------------------------------------------------------------------------


def test_bad_requests():
    with pytest.raises(InvalidParameter, match="noise must be a noise"):
        share("laplace", 10)
    for bad in (0, -1, 2.5, "10", None, True):
        with pytest.raises(InvalidParameter, match="parties must be"):
            share(hush.Gaussian(1.0), bad)
    with pytest.raises(InvalidParameter, match="honest must be"):
        share(hush.Gaussian(1.0), 10, honest=11)
    with pytest.raises(InvalidParameter, match="honest must be"):
        share(hush.Gaussian(1.0), 10, honest=0)
    with pytest.raises(InvalidParameter, match="answering must be"):
        share(hush.Gaussian(1.0), 10).central(1.0, answering=11)
    with pytest.raises(InvalidParameter, match="answering must be"):
        share(hush.Gaussian(1.0), 10).central(1.0, answering=0)
    for law in (
        hush.OSGT(1.0, 1.0),
        hush.Discrete(hush.Gaussian(2.0)),
        hush.Staircase(1.0),
        hush.TruncatedLaplace(1.0, 5.0),
    ):
        with pytest.raises(Unsupported, match="not known to be a sum"):
            share(law, 10)
    for shape, scale in ((0.0, 1.0), (1.0, -1.0), (math.nan, 1.0)):
        with pytest.raises(InvalidParameter, match="must be a finite number greater than 0"):
            GammaDifference(shape, scale)
        with pytest.raises(InvalidParameter, match="must be a finite number greater than 0"):
            PolyaDifference(shape, scale)
    with pytest.raises(Unsupported, match="too fine"):
        PolyaDifference(0.5, 1e9)
    with pytest.raises(Unsupported, match="more than"):
        PolyaDifference(1e5, 10.0)


def test_the_claimed_scale_of_a_sum_is_rounded_down() -> None:
    with localcontext() as context:
        context.prec = 60
        for count in range(1, 60):
            exact = (Decimal(count) / 70).sqrt()
            assert (
                Decimal(power(hush.Gaussian(1.0), Fraction(count, 70), upwards=False).sigma)
                <= exact
                <= Decimal(power(hush.Gaussian(1.0), Fraction(count, 70)).sigma)
            )
            shape = power(hush.Laplace(1.0), Fraction(count, 70), upwards=False).shape
            assert Fraction(shape) <= Fraction(count, 70)


def test_a_payment_for_some_numbers_is_for_no_others() -> None:
    made = share(hush.Skellam(30.0), 6)
    payment = hush.unaccounted(made.charge("local", hush.Sensitivity(linf=1.0, dimension=3)))
    for wrong in (5, 6):
        with pytest.raises(InvalidParameter, match=f"payment is for 3 numbers, got {wrong}"):
            made.add(np.zeros(wrong, dtype=np.int64), payment)
