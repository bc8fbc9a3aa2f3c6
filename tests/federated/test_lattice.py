"""Sums of rounded shares: the certificate holds the law that is really drawn, and closes in on the continuous one."""

from __future__ import annotations

import math

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st
from scipy.stats import chi2

import hush
from hush.errors import InvalidParameter, NotPaid, Unsupported
from hush.federated import RoundedSum, ring, share
from hush.federated.lattice import beyond
from hush.ledger import Ledger, payment, unaccounted
from hush.sampling.entropy import DeterministicTestEntropy

FALSE_ALARM = 1e-6
EPSILONS = np.array([0.0, 0.02, 0.05, 0.08])


def rounded(noise: hush.Noise, step: float, reach: int) -> np.ndarray:
    """P(the noise rounds to k steps), |k| <= reach, from its survival function."""
    upper = np.asarray(noise.sf((np.arange(reach + 1) - 0.5) * step))
    inner = 2.0 * np.asarray(noise.cdf(0.5 * step)) - 1.0
    half = np.append(upper[1:-1] - upper[2:], 0.0)
    return np.concatenate([half[::-1], [inner], half])


def divergence(p: np.ndarray, epsilon: float, n: int) -> float:
    q = np.concatenate([np.zeros(n), p[:-n]])
    return float(np.sum(np.maximum(p - math.exp(epsilon) * q, 0.0)))


@pytest.mark.parametrize("step", [0.5, 1.0, 3.0])
@pytest.mark.parametrize("count", [1, 2, 5])
def test_the_certificate_holds_the_convolution(count, step):
    """Gaussian shares, convolved number by number."""
    one = rounded(hush.Gaussian(1.0), step, 60)
    p = one
    for _ in range(count - 1):
        p = np.convolve(p, one)
    made = hush.curve(RoundedSum(hush.Gaussian(1.0), count, step), 2.0 * step)
    for epsilon in (0.0, 0.5, 1.5):
        truth, got = divergence(p, epsilon, 2), made.delta_bracket(epsilon)
        assert got.lower - 1e-14 <= truth <= got.upper + 1e-14
        assert got.upper - got.lower < 1e-9


def test_the_certificate_holds_a_heavy_convolution():
    """Two stable shares: the convolution truncated at 2^17 steps, with what that leaves out."""
    noise, step = hush.Stable(1.5, 2.0), 1.0
    one = rounded(noise, step, 1 << 17)
    size = 1 << 19
    p = np.fft.irfft(np.fft.rfft(one, size) ** 2, size)[: 2 * one.size - 1]
    left_out = 4.0 * noise.sf((1 << 17) * step)
    got = hush.curve(RoundedSum(noise, 2, step), 2.0).delta_bracket(0.3)
    truth = divergence(p, 0.3, 2)
    assert got.lower <= truth + left_out
    assert truth - left_out <= got.upper
    assert got.upper - got.lower < 1e-6


@pytest.mark.parametrize("target", [hush.Gaussian(10.0), hush.Stable(1.7, 10.0), hush.Stable(1.25, 10.0)], ids=str)
def test_certificates_bracket_the_continuous_value_and_tighten(target):
    """Of shift s from below (rounding adds noise) and of one step more from above; both close in as the step
    shrinks.
    """
    truth, parties = hush.curve(target).delta_bracket(EPSILONS), 10
    widths = []
    for step in (1.0, 0.5, 0.25):
        law = RoundedSum(share(target, parties).noise, parties, step)
        below, above = hush.curve(law, 1.0).delta_bracket(EPSILONS), hush.curve(law, 1.0 + step).delta_bracket(EPSILONS)
        assert (below.lower <= truth.lower).all()
        assert (truth.upper <= above.upper).all()
        widths.append(np.max((np.asarray(above.upper) - below.lower) / truth.upper))
        assert np.max(np.abs(np.asarray(below.upper) / truth.upper - 1.0)) < 0.04 * step**2
    assert widths[0] > 1.5 * widths[1] > 2.25 * widths[2]


@pytest.mark.parametrize("target", [hush.Gaussian(10.0), hush.Stable(1.7, 10.0)], ids=str)
def test_fine_lattices_need_no_table(target):
    """The theorem's curve is the continuous one, above the certificate and next to it; far finer lattices work too."""
    made = share(target, 10)
    step = 2.0**-2 if isinstance(target, hush.Gaussian) else 2.0**-3
    by_theorem = made.central(1.0, step=step).delta_bracket(EPSILONS)
    by_table = hush.curve(RoundedSum(made.noise, 10, step)).delta_bracket(EPSILONS)
    assert (by_table.lower <= by_theorem.upper).all()
    np.testing.assert_allclose(by_theorem.upper, hush.delta(target, EPSILONS), rtol=1e-13)
    np.testing.assert_allclose(by_theorem.upper, by_table.upper, rtol=2e-3)
    fine = made.central(hush.Sensitivity(linf=1.0, l0=4), step=2.0**-30)
    assert fine.epsilon(1e-6) == pytest.approx(hush.epsilon(target, 1e-6, hush.Sensitivity(linf=1.0, l0=4)), rel=1e-6)
    assert math.isinf(fine.pure_epsilon)


def test_coarse_rounding_can_cost_privacy():
    """A thousand stable shares, most of which round to zero: the continuous curve is no certificate for them."""
    target = hush.Stable(1.7, 10.0)
    made = share(target, 1000)
    coarse = made.central(1.0, step=1.0).delta_bracket(0.05)
    assert coarse.lower > 1.05 * hush.delta(target, 0.05)
    fine = made.central(1.0, step=0.25).delta_bracket(0.05)
    assert fine.upper < hush.delta(target, 0.05)


@given(sigma=st.floats(0.3, 4.0), count=st.integers(1, 400), n=st.integers(1, 5), epsilon=st.floats(0.0, 2.0))
def test_brackets_are_ordered_and_worst_at_the_full_shift(sigma, count, n, epsilon):
    law = RoundedSum(hush.Gaussian(sigma), count)
    here, more = hush.curve(law, float(n)).delta_bracket(epsilon), hush.curve(law, n + 1.0).delta_bracket(epsilon)
    assert here.lower <= here.upper
    assert here.lower <= more.upper


@pytest.mark.parametrize("noise", [hush.Gaussian(0.4), hush.Stable(1.3, 0.5)], ids=str)
def test_the_table_is_the_law_of_draws(noise):
    """Sums of ten drawn shares, counted; sums of shares of 2/3 and 3/2 of the scale are told apart."""
    law = RoundedSum(noise, 10)
    k = np.arange(-8.0, 9.0)

    def p_value(scale: float) -> float:
        sums = hush.draw(noise.scaled(scale), (40_000, 10), 1.0, DeterministicTestEntropy(4)).sum(axis=1)
        counts = np.array([np.count_nonzero(sums == value) for value in k])
        expected = law.pdf(k) * sums.size
        full = expected >= 20.0
        rest = sums.size - counts[full].sum(), sums.size - expected[full].sum()
        statistic = float(np.sum((counts[full] - expected[full]) ** 2 / expected[full])) + (
            rest[0] - rest[1]
        ) ** 2 / max(rest[1], 20.0)
        return float(chi2.sf(statistic, full.sum()))

    assert p_value(1.0) > FALSE_ALARM
    assert p_value(2.0 / 3.0) < FALSE_ALARM
    assert p_value(3.0 / 2.0) < FALSE_ALARM


def test_composition_takes_it():
    """Three coordinates of a federated answer: the composed bracket contains three times the exact Gaussian one's
    neighbourhood.
    """
    law = RoundedSum(hush.Gaussian(2.0), 100, 0.5)
    got = hush.epsilon(law, 1e-5, hush.Sensitivity(linf=1.0, l0=3))
    assert got == pytest.approx(
        hush.epsilon(hush.Gaussian(math.sqrt(100 * (4.0 + 0.25 / 12.0))), 1e-5, hush.Sensitivity(linf=1.0, l0=3)),
        rel=5e-3,
    )


def test_pure_epsilon_is_that_of_one_share():
    noise = hush.Stable(1.5, 1.0)
    assert hush.epsilon(RoundedSum(noise, 50), 0.0) == pytest.approx(noise.max_loss(1.0), rel=1e-12)
    assert math.isinf(hush.epsilon(RoundedSum(hush.Gaussian(1.0), 50), 0.0))


# -- secure aggregation --------------------------------------------------------------------------------------


@pytest.mark.parametrize(
    "target",
    [hush.Skellam(30.0), hush.Discrete(hush.Laplace(20.0)), hush.Gaussian(30.0), hush.Stable(1.7, 30.0)],
    ids=str,
)
def test_the_ring_adds_up(target):
    """Messages modulo 2^b add up to the values plus noise of the right size; every message is within the ring.

    The median of 4,200 errors is within five of its standard errors of the limits.
    """
    made = ring(share(target, 50), bound=5000, overflow=1e-6, step=None if target.discrete else 1.0)
    values, bound = np.tile(np.array([100, -100, 0]), (50, 1400, 1)), hush.Sensitivity(linf=1.0, l0=1)
    messages = np.stack([made.message(v, made.pay(None, view="central", sensitivity=bound)) for v in values])
    assert messages.min() >= 0
    assert messages.max() < made.modulus
    errors = made.total(messages) - values.sum(axis=0)
    median = float(np.median(np.abs(errors)))
    assert 0.85 < median / float(target.isf(0.25)) < 1.2
    assert np.abs(errors).max() < made.modulus // 2


def test_the_modulus_is_the_least_and_the_overflow_is_charged():
    made = ring(share(hush.Skellam(100.0), 1000), bound=100_000, overflow=1e-9)
    assert beyond(made.share.noise, 1000, 2.0 ** (made.bits - 1) - 1 - 100_000, 1.0) <= 1e-9
    assert (
        2 ** (made.bits - 2) - 1 < 100_000
        or beyond(made.share.noise, 1000, 2.0 ** (made.bits - 2) - 1 - 100_000, 1.0) > 1e-9
    )
    heavy = ring(share(hush.Stable(1.5, 10.0), 10), bound=1000, overflow=1e-6, step=1.0)
    assert 1e-8 < heavy.overflow <= 1e-6
    charged, plain = heavy.central(1.0).delta_bracket(0.05), heavy.share.central(1.0, step=1.0).delta_bracket(0.05)
    assert charged.upper == pytest.approx(plain.upper + heavy.overflow, rel=1e-12)
    assert math.isinf(heavy.central(1.0).pure_epsilon)
    assert "modulo 2^" in str(heavy)


def test_overflow_bounds_hold():
    """How often sums of shares leave a range, against the bound, at probabilities that show."""
    made = share(hush.Stable(1.2, 5.0), 20)
    sums = made.draw((20_000, 20), 1.0, entropy=DeterministicTestEntropy(8)).sum(axis=1)
    for steps in (50, 200, 1000):
        seen = np.count_nonzero(np.abs(sums) > steps)
        bound = beyond(made.noise, 20, float(steps), 1.0)
        assert seen <= bound * sums.size + 5.0 * math.sqrt(bound * sums.size) + 5.0
        assert bound < 3.0 * max(seen, 20) / sums.size


def test_bad_requests():
    with pytest.raises(Unsupported, match="need no certificate"):
        RoundedSum(hush.Laplace(1.0), 10)
    with pytest.raises(Unsupported, match="too coarse"):
        RoundedSum(hush.Gaussian(1e-4), 10, 1.0)
    with pytest.raises(Unsupported, match="too fine"):
        RoundedSum(hush.Gaussian(1.0), 10, 1e-7)
    with pytest.raises(Unsupported, match="whole steps"):
        hush.delta(RoundedSum(hush.Gaussian(1.0), 10), 1.0, 0.5)
    with pytest.raises(InvalidParameter, match="count must be"):
        RoundedSum(hush.Gaussian(1.0), 0)
    with pytest.raises(InvalidParameter, match="step must be given"):
        ring(share(hush.Gaussian(1.0), 10), bound=10, overflow=1e-9)
    with pytest.raises(InvalidParameter, match="overflow must be"):
        ring(share(hush.Skellam(5.0), 10), bound=10, overflow=0.0)
    with pytest.raises(Unsupported, match="own lattice"):
        ring(share(hush.Skellam(5.0), 10), bound=10, overflow=1e-9, step=0.5)
    with pytest.raises(Unsupported, match="no modulus below"):
        ring(share(hush.Stable(1.0, 1e9), 10), bound=10, overflow=1e-15, step=1.0)
    with pytest.raises(InvalidParameter, match="whole numbers of lattice steps"):
        ring(share(hush.Skellam(5.0), 10), bound=10, overflow=1e-9).message(
            [0.5], unaccounted((hush.Skellam(5.0), 1.0))
        )


@pytest.mark.parametrize("view", ["central", "local"])
def test_a_message_in_the_ring_is_paid_for_and_drawn_once(view, monkeypatch):
    made = ring(share(hush.Skellam(30.0), 50), bound=5000, overflow=1e-9)
    ledger = Ledger(None, epsilon=90.0, delta=1e-3)
    paid = made.pay(ledger, view=view, coordinates=3, sensitivity=hush.Sensitivity(linf=1.0, l0=2))
    entry = ledger.entries[0]
    assert entry.charges == (made.share.charge(view, hush.Sensitivity(linf=1.0, l0=2)),)
    assert entry.extra_delta == (0.0 if view == "local" else math.nextafter(3 * made.overflow, 1.0))
    assert made.message(np.array([1, 2, 3]), paid).shape == (3,)
    assert made.message(7, made.pay(None, view=view)).shape == ()
    monkeypatch.setattr(payment, "draw", None)  # whoever draws from here on fails
    for wrong in (paid, unaccounted((hush.Skellam(31.0), 1.0))):
        with pytest.raises(NotPaid):
            made.message(np.array([1, 2, 3]), wrong)


def test_a_ledger_cannot_add_up_sums_of_rounded_shares():
    made = ring(share(hush.Gaussian(30.0), 50), bound=5000, overflow=1e-6, step=1.0)
    ledger = Ledger(None, epsilon=90.0, delta=1e-3)
    with pytest.raises(Unsupported, match="rounded shares"):
        made.pay(ledger, view="central")
    assert ledger.entries == ()
    assert made.pay(ledger, view="local").entry.charges[0].noise == made.share.noise
    with pytest.raises(InvalidParameter, match="view"):
        made.pay(None, view="server")


def test_a_ring_for_many_more_parties_than_are_counted_on_holds_their_sum() -> None:
    made = ring(share(hush.Discrete(hush.Laplace(20.0)), 1000, honest=3), bound=100, overflow=1e-9)
    deviation = math.sqrt(made.share.total.variance)
    assert 2 ** (made.bits - 1) > 100 + 6.0 * deviation
    assert 2 ** (made.bits - 1) < 100 + 40.0 * deviation


def test_every_number_of_a_ring_may_overflow() -> None:
    """A vector of messages fails if any of its numbers does; one party that moves many of them says how many there
    are at least.
    """
    made = ring(share(hush.Skellam(20.0), 10), bound=100, overflow=1e-9)
    one, many = (float(made.central(1.0, coordinates=count).delta(3.0)) for count in (1, 1000))
    assert many - one == pytest.approx(999.0 * made.overflow, rel=1e-6)
    moved = made.central(hush.Sensitivity(linf=1.0, l0=4)).delta_bracket(9.0)
    assert float(moved.upper) - float(
        made.share.central(hush.Sensitivity(linf=1.0, l0=4)).delta(9.0)
    ) >= 4.0 * made.overflow * (1.0 - 1e-6)
    with pytest.raises(InvalidParameter, match="coordinates"):
        made.central(1.0, coordinates=0)


def test_the_variance_of_a_sum_of_rounded_shares_is_its_own() -> None:
    for sigma, step in ((0.1, 1.0), (0.3, 1.0), (1.0, 1.0), (9.0, 1.0)):
        places = np.arange(-200, 201) * step
        noise = hush.Gaussian(sigma)
        mass = np.asarray(noise.sf(places - 0.5 * step)) - np.asarray(noise.sf(places + 0.5 * step))
        assert RoundedSum(noise, 7, step).variance == pytest.approx(7.0 * float(mass @ places**2), rel=1e-9)
    assert math.isinf(RoundedSum(hush.Stable(1.5, 1.0), 7).variance)


@pytest.mark.parametrize("step", [0.001, 1.0])
def test_draws_that_saturate_count(step: float) -> None:
    """Ten Cauchy shares leave 2^62 steps with probability 1e-18 or so: no pure epsilon, and coordinates count."""
    made = share(hush.Stable(1.0, 10.0), 10)
    lost = 10.0 * 2.0 * made.noise.sf(2.0**62 * step)
    assert lost > 1e-20
    for coordinates in (1, 1000):
        found = made.central(step * 1000, step=step, coordinates=coordinates)
        assert math.isinf(found.pure_epsilon)
        assert found.delta(60.0) >= lost * coordinates
