"""Zhao's toolbox: every amount on the private side, in the order the errata confirm; classical ones refused where
they fail.
"""

from __future__ import annotations

import math

import mpmath as mp
import numpy as np
import pytest
from effort import examples
from hypothesis import assume, given, settings
from hypothesis import strategies as st

import hush
from hush import gaussian

pytestmark = pytest.mark.filterwarnings("error")

CLASSICAL = ("dwork2006", "dwork2014")
PROVED = tuple(m for m in gaussian.methods() if m not in CLASSICAL)
PROBABILISTIC = ("pdp_optimal", "mechanism3", "mechanism4", "mcdp", "zcdp")


def spread(low: float, high: float) -> st.SearchStrategy[float]:
    return st.floats(math.log(low), math.log(high)).map(math.exp)


budgets = spread(1e-6, 700.0)
small = spread(1e-300, 0.49)
reach = spread(1e-9, 1e9)


def true_delta(sigma: float, epsilon: float, sensitivity: float) -> mp.mpf:
    """Q(eps/d - d/2) - e^eps Q(eps/d + d/2), d = sensitivity/sigma, at 60 digits."""
    with mp.workdps(60):
        d, e = mp.mpf(sensitivity) / mp.mpf(sigma), mp.mpf(epsilon)
        return (mp.erfc((e / d - d / 2) / mp.sqrt(2)) - mp.exp(e) * mp.erfc((e / d + d / 2) / mp.sqrt(2))) / 2


# -- never on the wrong side ---------------------------------------------------------------------------------


def test_all_methods_are_there():
    """The names of the contract, and eq. (20)'s."""
    assert set(gaussian.methods()) >= {
        *("optimal", "dwork2006", "dwork2014", "mechanism1", "mechanism2", "pdp_optimal"),
        *("mechanism3", "mechanism4", "zcdp", "rdp", "mcdp"),
    }


@settings(max_examples=examples(150, 600))
@given(budgets, small, reach)
def test_optimal_is_private_and_no_larger_than_needed(epsilon, delta, sensitivity):
    """check() says private, and a millionth less is not."""
    sigma = gaussian.sigma(epsilon, delta, sensitivity)
    verdict = gaussian.check(epsilon, delta, sigma, sensitivity)
    assert verdict.private
    assert verdict.true_delta <= delta
    assert hush.delta(hush.Gaussian(sigma), epsilon, sensitivity) <= delta
    assert not gaussian.check(epsilon, delta, 0.999999 * sigma, sensitivity).private


@settings(max_examples=120)
@given(budgets, small, reach)
def test_optimal_against_sixty_digits(epsilon, delta, sensitivity):
    """The true delta of the returned float is at most delta, and a share of 1e-13 less sigma would break it."""
    sigma = gaussian.sigma(epsilon, delta, sensitivity)
    assert true_delta(sigma, epsilon, sensitivity) <= mp.mpf(delta)
    assert true_delta(sigma * (1.0 - 1e-12), epsilon, sensitivity) > mp.mpf(delta)


@settings(max_examples=examples(150, 600))
@given(st.sampled_from(PROVED), budgets, small, reach)
def test_every_proved_method_is_private(method, epsilon, delta, sensitivity):
    """Whatever the method, the certified delta meets the target, capped or not."""
    sigma = gaussian.sigma(epsilon, delta, sensitivity, method=method)
    assert math.isfinite(sigma)
    assert hush.delta(hush.Gaussian(sigma), epsilon, sensitivity) <= delta
    capped = gaussian.sigma(epsilon, delta, sensitivity, method=method, capped=True)
    assert capped <= sigma
    assert hush.delta(hush.Gaussian(capped), epsilon, sensitivity) <= delta


@settings(max_examples=300)
@given(st.sampled_from(PROBABILISTIC), budgets, small)
def test_probabilistic_amounts_are_probabilistically_private(method, epsilon, delta):
    """P(|loss| > epsilon) <= delta, at 60 digits."""
    sigma = gaussian.sigma(epsilon, delta, method=method)
    with mp.workdps(60):
        d, e = 1 / mp.mpf(sigma), mp.mpf(epsilon)
        tail = (mp.erfc((e / d - d / 2) / mp.sqrt(2)) + mp.erfc((e / d + d / 2) / mp.sqrt(2))) / 2
        assert tail <= mp.mpf(delta)
        assert 0 <= mp.mpf(gaussian.pdp_delta(epsilon, sigma)) / tail - 1 <= mp.mpf("1e-12")


def test_an_amount_beyond_the_floats_is_refused():
    for needed in (lambda: gaussian.sigma(0.0, 1e-300, 1e9), lambda: gaussian.epsilon_free_sigma(1e-300, 1e9)):
        with pytest.raises(hush.Unsupported, match="beyond the largest float"):
            needed()


@settings(max_examples=examples(60, 200))
@given(small, reach)
def test_epsilon_zero(delta, sensitivity):
    """(0, delta): the epsilon-free amount, private for every epsilon, and tight at 0."""
    assume(sensitivity / delta < 1e308)  # beyond it no float is large enough
    sigma = gaussian.sigma(0.0, delta, sensitivity)
    assert sigma == pytest.approx(gaussian.epsilon_free_sigma(delta, sensitivity), rel=1e-12)
    assert gaussian.check(0.0, delta, sigma, sensitivity).private
    assert not gaussian.check(0.0, delta, 0.999999 * sigma, sensitivity).private
    assert hush.delta(hush.Gaussian(gaussian.epsilon_free_sigma(delta, sensitivity)), 1e-3, sensitivity) <= delta


def test_large_deltas_and_budgets():
    """Above delta = 1/2 and up to epsilon = 1e6 the optimum still holds."""
    for epsilon in (1e-6, 0.5, 40.0, 700.0, 1e4, 1e6):
        for delta in (0.5, 0.7, 0.99, 0.999999):
            sigma = gaussian.sigma(epsilon, delta)
            assert gaussian.check(epsilon, delta, sigma).private
            assert not gaussian.check(epsilon, delta, 0.999999 * sigma).private


# -- orderings (errata A.4) ----------------------------------------------------------------------------------

EPSILONS = [1e-4, 1e-3, 0.01, 0.1, 0.3, 1.0, 2.0, 5.0, 10.0, 20.0, 31.62, 50.0, 100.0]
DELTAS = [1e-300, 1e-200, 1e-100, 1e-50, 1e-20, 1e-12, 1e-9, 1e-7, 1e-6, 1e-5, 1e-4, 1e-3, 0.01, 0.05, 0.25, 0.49]


def grid(method: str, **options: bool) -> np.ndarray:
    return gaussian.sigma(np.array(EPSILONS)[:, None], np.array(DELTAS), method=method, **options)


@pytest.mark.parametrize(
    ("less", "more"),
    [
        ("optimal", "mechanism1"),
        ("mechanism1", "mechanism2"),
        ("pdp_optimal", "mechanism3"),
        ("mechanism3", "mechanism4"),
        ("mechanism4", "zcdp"),
        ("optimal", "pdp_optimal"),
        ("mechanism1", "mechanism3"),
        ("mechanism2", "mechanism4"),
        ("optimal", "cks"),
        ("cks", "rdp"),
        ("pdp_optimal", "mcdp"),
    ],
)
def test_orderings(less, more):
    """No violation on 13 x 16 points; equal only where floats cannot tell."""
    low, high = grid(less), grid(more)
    assert (low <= high * (1.0 + 1e-13)).all()
    assert (low < high).mean() > 0.8


def test_rdp_is_zcdp():
    """Mironov's conversion at its best order is the zCDP amount."""
    np.testing.assert_array_equal(grid("rdp"), grid("zcdp"))


def test_mechanism1_and_2_need_the_cap_for_small_epsilon():
    """Erratum A.2.3: M1/OPT reaches 1936 at (1e-4, 0.25); the cap brings it to the epsilon-free bound, near the
    optimum.
    """
    plain, best = gaussian.sigma(1e-4, 0.25, method="mechanism1"), gaussian.sigma(1e-4, 0.25)
    assert plain / best == pytest.approx(1936.0, rel=1e-3)
    assert gaussian.sigma(1e-4, 0.25, method="mechanism1", capped=True) / best < 1.01
    for method in ("mechanism1", "mechanism2"):
        assert (grid(method, capped=True) <= gaussian.epsilon_free_sigma(np.array(DELTAS)) * (1.0 + 1e-14)).all()


def test_printed_ratios():
    """M1/OPT of erratum A.2.3, and the RDP comparison of A.2.5."""
    for (epsilon, delta), ratio in {
        (10, 1e-5): 1.027,
        (1, 1e-5): 1.108,
        (0.1, 1e-5): 1.236,
        (0.01, 1e-3): 2.15,
        (1e-3, 0.01): 4.71,
    }.items():
        assert gaussian.sigma(epsilon, delta, method="mechanism1") / gaussian.sigma(epsilon, delta) == pytest.approx(
            ratio, abs=0.006
        )
    assert gaussian.sigma(0.1, 1e-5, method="cks") == pytest.approx(33.98, abs=0.005)
    assert gaussian.sigma(1.0, 1e-5, method="cks") == pytest.approx(4.0451, abs=5e-5)
    assert gaussian.sigma(1.0, 1e-5, method="mcdp") == pytest.approx(4.96409, abs=5e-6)


def test_dwork2014_can_beat_mechanism1():
    """Erratum A.2.1: at delta = 1e-5, epsilon = 8: M1 0.61945 > Dwork-2014 0.60560 > optimum 0.60023."""
    assert gaussian.sigma(8.0, 1e-5, method="mechanism1") == pytest.approx(0.61945, abs=5e-6)
    assert gaussian.sigma(8.0, 1e-5, method="dwork2014", allow_invalid=True) == pytest.approx(0.60560, abs=5e-6)
    assert gaussian.sigma(8.0, 1e-5) == pytest.approx(0.60023, abs=5e-6)


@settings(max_examples=300)
@given(budgets, st.one_of(small, st.floats(0.5, 0.99)), reach)
def test_bounds_enclose_the_optimum(epsilon, delta, sensitivity):
    """Lemma 10 and Theorem 2."""
    bounds = gaussian.sigma_bounds(epsilon, delta, sensitivity)
    best = gaussian.sigma(epsilon, delta, sensitivity)
    assert bounds.lower <= best <= bounds.upper * (1.0 + 1e-12)
    assert bounds.lower > 0.0
    assert true_delta(bounds.upper, epsilon, sensitivity) <= mp.mpf(delta)


# -- the classical amounts -----------------------------------------------------------------------------------


@pytest.mark.parametrize("method", CLASSICAL)
@pytest.mark.parametrize("delta", [1e-12, 1e-6, 1e-5, 1e-4, 1e-3])
def test_fails_beyond_is_the_threshold(method, delta):
    """Just below the classical amount is private, just above it is not; for DP and for pDP."""
    for notion in ("dp", "pdp"):
        edge = gaussian.fails_beyond(delta, method, notion=notion)
        for epsilon, fine in (
            (edge * (1.0 - 1e-6), True),
            (edge * (1.0 + 1e-6), False),
            (0.5 * edge, True),
            (3.0 * edge, False),
        ):
            sigma = gaussian.sigma(epsilon, delta, method=method, allow_invalid=True)
            given_delta = (
                hush.delta(hush.Gaussian(sigma), epsilon) if notion == "dp" else gaussian.pdp_delta(epsilon, sigma)
            )
            assert (given_delta <= delta) is fine
    assert gaussian.fails_beyond(delta, method, notion="pdp") < gaussian.fails_beyond(delta, method, notion="dp")


def test_thresholds_of_the_paper():
    """G(delta) recomputed (erratum A.1), arrays at once."""
    delta = np.array([1e-3, 1e-4, 1e-5, 1e-6])
    np.testing.assert_allclose(
        gaussian.fails_beyond(delta, "dwork2014"), [7.46347, 7.99099, 8.41977, 8.78209], atol=5e-6
    )
    np.testing.assert_allclose(
        gaussian.fails_beyond(delta, "dwork2006"), [8.51244, 8.99266, 9.39132, 9.73275], atol=5e-6
    )
    np.testing.assert_allclose(
        gaussian.fails_beyond(delta, "dwork2014", notion="pdp"), [5.17405, 5.41854, 5.61283, 5.77423], atol=5e-6
    )
    np.testing.assert_allclose(
        gaussian.fails_beyond(delta, "dwork2006", notion="pdp"), [6.30338, 6.50849, 6.67764, 6.82150], atol=5e-6
    )


@pytest.mark.parametrize("method", CLASSICAL)
def test_classical_amounts_are_refused_without_proof(method):
    """Beyond epsilon = 1 the refusal names the true delta and the way out; within, the amount is private."""
    with pytest.raises(hush.Unsupported, match="more than requested") as refusal:
        gaussian.sigma(20.0, 1e-5, method=method)
    wrong = gaussian.sigma(20.0, 1e-5, method=method, allow_invalid=True)
    assert f"{hush.delta(hush.Gaussian(wrong), 20.0):.4g}"[:5] in str(refusal.value)
    assert "method='optimal'" in str(refusal.value)
    assert "allow_invalid=True" in str(refusal.value)
    with pytest.raises(hush.Unsupported, match="without a proof"):
        gaussian.sigma(2.0, 1e-5, method=method)
    with pytest.raises(hush.Unsupported):
        gaussian.sigma(np.array([0.5, 2.0]), 1e-5, method=method)
    fine = gaussian.sigma(1.0, 1e-5, method=method)
    assert gaussian.check(1.0, 1e-5, fine).private
    assert fine == pytest.approx(math.sqrt(2.0 * math.log((2.0 if method == "dwork2006" else 1.25) / 1e-5)), rel=1e-14)


def test_dwork2014_with_a_large_delta_is_refused_where_it_fails():
    """Where the classical amount is not private even for epsilon <= 1, it is refused too; nothing unsafe is
    returned.
    """
    for delta in (0.3, 0.5, 0.8, 0.99):
        for epsilon in (0.01, 0.5, 1.0):
            try:
                sigma = gaussian.sigma(epsilon, delta, method="dwork2014")
            except hush.Unsupported:
                continue
            assert gaussian.check(epsilon, delta, sigma).private


#: Zhao, Table I, the Dwork-2006 amounts that the errata correct: epsilon, delta, amount
TABLE_1_DWORK = [(10.0, 1e-2, 0.325525), (10.0, 1e-3, 0.389895)]
#: and the least amounts, put back in order: epsilon, delta, amount
TABLE_1_LEAST = [
    (8.87, 1e-5, 0.5513, 6e-5),
    (9.59, 1e-5, 0.5172, 6e-5),
    (10.0, 1e-4, 0.4553, 6e-5),
    (31.62, 1e-4, 0.194364, 6e-7),
]


@pytest.mark.parametrize(("epsilon", "delta", "amount"), TABLE_1_DWORK)
def test_table_1_dwork_amounts_are_not_private(epsilon, delta, amount):
    """The amount is what Dwork-2006 gives, and check() says that it is not private."""
    assert gaussian.sigma(epsilon, delta, method="dwork2006", allow_invalid=True) == pytest.approx(amount, abs=6e-7)
    verdict = gaussian.check(epsilon, delta, amount)
    assert not verdict.private
    assert verdict.verdict.startswith("NOT private")
    assert verdict.sigma_needed > amount


@pytest.mark.parametrize(("epsilon", "delta", "amount", "digit"), TABLE_1_LEAST)
def test_table_1_least_amounts(epsilon, delta, amount, digit):
    """The least noise of the table, recomputed; the Dwork-2014 amount of the same row is below it and not private."""
    assert gaussian.sigma(epsilon, delta) == pytest.approx(amount, abs=digit)
    classical = gaussian.sigma(epsilon, delta, method="dwork2014", allow_invalid=True)
    assert classical < amount
    assert not gaussian.check(epsilon, delta, classical).private


def test_table_1_delta_really_achieved():
    """erratum A.1: 0.0406 instead of 0.01 (Dwork-2014 at epsilon = 10), 0.202 instead of 1e-4 at epsilon = 31.62."""
    first = gaussian.check(10.0, 0.01, gaussian.sigma(10.0, 0.01, method="dwork2014", allow_invalid=True))
    assert first.true_delta == pytest.approx(0.0406, abs=5e-5)
    second = gaussian.check(31.62, 1e-4, gaussian.sigma(31.62, 1e-4, method="dwork2014", allow_invalid=True))
    assert not second.private
    assert second.true_delta == pytest.approx(0.202, abs=5e-4)


def test_table_1_is_not_mechanism_1_either():
    """The misprinted 0.1976 at (31.62, 1e-4) is neither the optimum nor Mechanism 1, which is 0.195976."""
    assert gaussian.sigma(31.62, 1e-4, method="mechanism1") == pytest.approx(0.195976, abs=6e-7)


def test_check_reports_what_it_found():
    """A generous amount is private and told so; the numbers are those of the curve."""
    found = gaussian.check(1.0, 1e-5, 5.0, 1.0)
    assert found.private
    assert found.true_delta == hush.delta(hush.Gaussian(5.0), 1.0)
    assert found.true_pdp_delta == pytest.approx(gaussian.pdp_delta(1.0, 5.0))
    assert found.true_pdp_delta >= found.true_delta
    assert found.sigma_needed == gaussian.sigma(1.0, 1e-5)
    assert str(found) == found.verdict
    assert "would do" in found.verdict
    assert gaussian.check(0.0, 0.1, 5.0).true_pdp_delta == 1.0


# -- probabilistic privacy, composition, arrays --------------------------------------------------------------


@given(spread(1e-3, 50.0), spread(1e-30, 1.0), spread(1.0001, 10.0))
def test_lemma_4(epsilon, delta, factor):
    """delta (1 + e^-E)/(1 - e^(eps - E)) at E > eps, at most 1; and it dominates the true pDP delta of a Gaussian."""
    assume(delta < 0.5)
    larger = epsilon * factor
    e, d = gaussian.pdp_from_dp(epsilon, delta, larger)
    assert e == larger
    with mp.workdps(40):
        truth = mp.mpf(delta) * (1 + mp.exp(-mp.mpf(larger))) / (1 - mp.exp(mp.mpf(epsilon) - mp.mpf(larger)))
        assert float(mp.mpf(d) / min(truth, mp.mpf(1)) - 1) == pytest.approx(0.0, abs=1e-12)
    assert gaussian.pdp_delta(larger, gaussian.sigma(epsilon, delta)) <= d * (1.0 + 1e-9)


def test_lemma_3():
    """pDP is DP with the same numbers: the DP delta is never above the pDP one."""
    assert gaussian.dp_from_pdp(1.0, 1e-5) == (1.0, 1e-5)
    for epsilon in (0.01, 0.5, 3.0, 40.0):
        for sigma in (0.2, 1.0, 7.0):
            assert hush.delta(hush.Gaussian(sigma), epsilon) <= gaussian.pdp_delta(epsilon, sigma)


@settings(max_examples=200)
@given(st.lists(st.tuples(spread(0.1, 1e3), spread(0.01, 1e3)), min_size=1, max_size=6))
def test_compose_sigma(rows):
    """(sum Delta_i^2/sigma_i^2)^(-1/2), rounded down by no more than a few units."""
    sigmas, reaches = [s for s, _ in rows], [r for _, r in rows]
    with mp.workdps(40):
        truth = 1 / mp.sqrt(mp.fsum((mp.mpf(r) / mp.mpf(s)) ** 2 for s, r in rows))
        ours = mp.mpf(gaussian.compose_sigma(sigmas, reaches))
        assert truth * (1 - mp.mpf("1e-14")) <= ours <= truth
    alone = gaussian.compose_sigma(sigmas[:1], reaches[:1])
    assert gaussian.compose_sigma(sigmas, reaches) <= alone * (1.0 + 1e-14)


@pytest.mark.parametrize("method", gaussian.methods())
def test_arrays_equal_scalars(method):
    """Broadcasting epsilon against delta and sensitivity gives the scalar results, up to the last digits."""
    epsilon, delta, reach_ = np.array([[0.05], [0.9]]), np.array([1e-200, 1e-6, 0.1]), np.array([1e-9, 1.0, 1e9])
    whole = gaussian.sigma(epsilon, delta, reach_, method=method)
    assert whole.shape == (2, 3)
    alone = [
        [gaussian.sigma(float(e), float(d), float(r), method=method) for d, r in zip(delta, reach_, strict=True)]
        for e in epsilon[:, 0]
    ]
    np.testing.assert_allclose(whole, alone, rtol=3e-13)
    assert isinstance(alone[0][0], float)


@pytest.mark.parametrize("method", gaussian.methods())
def test_sensitivity_scales(method):
    """sigma is proportional to the sensitivity."""
    one = gaussian.sigma(0.7, 1e-7, method=method)
    assert gaussian.sigma(0.7, 1e-7, 1024.0, method=method) == pytest.approx(1024.0 * one, rel=1e-13)
