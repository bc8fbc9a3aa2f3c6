"""The rules of composition: accepted releases are within the cap, rejected ones are not."""

from __future__ import annotations

import itertools
import math
from fractions import Fraction
from typing import Any

import pytest
from effort import examples
from hypothesis import given, settings
from hypothesis import strategies as st

import hush
from hush import (
    Budget,
    BudgetExceeded,
    Charge,
    Gaussian,
    InvalidParameter,
    Laplace,
    Sensitivity,
    Unsupported,
)
from hush.ledger import Ledger
from hush.ledger.account import Nonadaptive, within
from hush.ledger.filter import filter_cap
from hush.numerics.rounding import round_down, round_up
from hush.privacy.compose import renyi
from hush.privacy.conversion import rdp_to_delta
from hush.privacy.paper_bounds import osgt_theorem2
from hush.privacy.theorem import pure_epsilon

NONADAPTIVE = {"epsilon": 1.0, "delta": 1e-5, "mode": "nonadaptive"}
#: One Renyi filter alone; tests/ledger/test_filters.py is about the default.
ADAPTIVE = {"epsilon": 1.0, "delta": 1e-5, "mode": "adaptive", "order": filter_cap(1.0, 1e-5, None).order}


def attempts(ledger: Ledger, requests: list[Any], **options: Any) -> list[bool]:
    """Which requests were accepted?"""
    answers = []
    for request in requests:
        try:
            ledger.spend(request, **options)
            answers.append(True)
        except BudgetExceeded:
            answers.append(False)
    return answers


def count(ledger: Ledger, part: Any, most: int = 400) -> int:
    """How often a part fits."""
    return sum(itertools.takewhile(bool, (attempts(ledger, [part])[0] for _ in range(most))))


NOISES = st.one_of(
    st.floats(2.0, 40.0).map(Gaussian),
    st.floats(2.0, 40.0).map(Laplace),
    st.floats(3.0, 40.0).map(lambda s: hush.OSGT(s / 2.0, s)),
    st.floats(0.05, 0.5).map(hush.Staircase),
    st.floats(3.0, 20.0).map(lambda s: hush.Discrete(Gaussian(s))),
)
REQUESTS = st.lists(
    st.tuples(NOISES, st.sampled_from([1.0, 2.0, Sensitivity(linf=1.0, l0=3)]), st.integers(1, 3)),
    min_size=2,
    max_size=7,
)


# -- nonadaptive ---------------------------------------------------------------------------------------------


def private(parts: list[Any], epsilon: float, delta: float) -> bool:
    """By the library's own composition; delta falls with epsilon, so either end may prove it."""
    curve = hush.compose(parts)
    return bool(curve.delta(epsilon) <= delta or curve.epsilon(delta) <= epsilon)


@settings(max_examples=examples(5, 12))
@given(REQUESTS)
def test_planned_accepts_what_composition_proves_and_nothing_else(requests: list[Any]) -> None:
    with Ledger(None, **NONADAPTIVE) as ledger:
        held: list[Any] = []
        for request in requests:
            fits = private([*held, request], 1.0, 1e-5)
            assert attempts(ledger, [request]) == [fits]
            held += [request] if fits else []
        assert [part for entry in ledger.entries for part in entry.charges] == [Charge.of(request) for request in held]
        if held:
            assert private(held, 1.0, 1e-5)
            assert ledger.spent.epsilon <= 1.0 and ledger.spent.delta <= 1e-5
            assert private(held, ledger.spent.epsilon * (1.0 + 1e-9), 1e-5)
        ledger.verify()


def test_planned_charges_the_tight_epsilon() -> None:
    ledger = Ledger(None, **NONADAPTIVE)
    parts = [(Laplace(20.0), 1.0, 5), (hush.OSGT(10.0, 20.0), 1.0, 3)]
    for part in parts:
        ledger.spend(part)
    truth = hush.compose(parts).epsilon_bracket(1e-5)
    assert truth.lower <= ledger.spent.epsilon <= truth.upper * (1.0 + 1e-9)
    assert ledger.left.epsilon == pytest.approx(1.0 - ledger.spent.epsilon, abs=1e-15)
    found = ledger.curve().epsilon_bracket(1e-5)
    assert found.lower == pytest.approx(truth.lower, rel=1e-6) and found.upper == pytest.approx(truth.upper, rel=1e-9)


def test_a_calibrated_budget_is_spent_to_the_end() -> None:
    """Noise calibrated for ten releases fits ten times, one by one or at once, and not eleven times."""
    for family, sensitivity in (("gaussian", 1.0), ("laplace", Sensitivity(linf=1.0, l0=2)), ("osgt", 1.0)):
        plan = hush.calibrate(1.0, 1e-6, sensitivity, family=family, times=10)
        ledger = Ledger(None, epsilon=1.0, delta=1e-6, mode="nonadaptive")
        assert attempts(ledger, [(plan.noise, sensitivity)] * 11) == [True] * 10 + [False]
        assert attempts(
            Ledger(None, epsilon=1.0, delta=1e-6, mode="nonadaptive"),
            [(plan.noise, sensitivity, 10), (plan.noise, sensitivity)],
        ) == [True, False]
        ledger.verify()


def test_sum_model_may_take_everything() -> None:
    for epsilon, delta in ((1.0, 1e-6), (0.1, 1e-9), (5.0, 1e-3)):
        for choice in hush.calibrate(epsilon, delta).ranking:
            if choice.noise is not None:
                assert attempts(Ledger(None, epsilon=epsilon, delta=delta), [(choice.noise, 1.0)]) == [True], (
                    choice.family
                )


def test_equal_laws_meet_under_their_simplest_name() -> None:
    one, two = Ledger(None, **NONADAPTIVE), Ledger(None, **NONADAPTIVE)
    for _ in range(4):
        one.spend((Gaussian(10.0), 1.0))
        two.spend((hush.OSGT(0.0, 10.0), 1.0))
    assert one.spent == two.spent


def test_a_glance_never_accepts_what_composition_would_not() -> None:
    """The shortcut's accounts, recomposed from scratch, are within the cap; it was used, and it ended before the
    cap.
    """
    ledger = Ledger(None, **NONADAPTIVE)
    parts = [(Laplace(40.0 + i), 1.0) for i in range(60)]
    glances = 0
    for accepted in attempts(ledger, parts):
        account = ledger._store._known[1]
        assert isinstance(account, Nonadaptive)
        glances += accepted and bool(account.since)
    assert glances >= 5
    assert Nonadaptive(ledger.cap).plus(ledger.entries).covered()
    ledger.verify()


def test_many_different_mechanisms_without_a_pure_epsilon() -> None:
    """From eight mechanisms on, the shortcut uses (epsilon, delta) pairs; the sum still agrees with composition."""
    ledger = Ledger(None, **NONADAPTIVE)
    noises = [hush.OSGT(20.0 + i, 40.0 + i) for i in range(14)]
    assert attempts(ledger, [(noise, 1.0) for noise in noises]) == [True] * 14
    assert ledger.spent.epsilon == pytest.approx(hush.compose([(n, 1.0, 1) for n in noises]).epsilon(1e-5), rel=1e-9)


def test_a_glance_counts_every_release_of_a_mechanism_without_a_pure_epsilon() -> None:
    def truncated(epsilon: float, delta: float) -> hush.Noise:
        return hush.calibrate(epsilon, delta, family="truncated_laplace").noise

    parts = [(truncated(0.001 + 1e-4 * i, 1e-12), 1.0) for i in range(8)]
    often = (truncated(0.002, 1.5e-7), 1.0, 200)  # delta = 3e-5 in all
    assert attempts(Ledger(None, **NONADAPTIVE), [*parts, often]) == [True] * 8 + [False]


def test_room_far_beyond_the_losses() -> None:
    """Where the cap is far beyond all losses, a composition's delta there may be pure round-off: nothing is refused
    for that.
    """
    ledger = Ledger(None, epsilon=1.0, delta=1e-6, mode="nonadaptive")
    assert attempts(ledger, [(hush.OSGT(100.0, 200.0), 1.0)] * 40) == [True] * 40
    assert ledger.spent.delta <= 1e-9 and ledger.left.delta >= 9e-7


def test_planned_adds_failure_probabilities() -> None:
    plan = hush.calibrate(1.0, 5e-6, family="gaussian")
    assert attempts(Ledger(None, **NONADAPTIVE), [(plan.noise, 1.0)], extra_delta=5e-6) == [True]
    assert attempts(Ledger(None, **NONADAPTIVE), [(plan.noise, 1.0)], extra_delta=5.1e-6) == [False]
    ledger = Ledger(None, **NONADAPTIVE)
    assert attempts(ledger, [(Laplace(1000.0), 1.0)] * 11, extra_delta=1e-6) == [True] * 10 + [False]
    assert ledger.left.delta == pytest.approx(0.0, abs=1e-20) and ledger.left.epsilon > 0.9
    assert attempts(ledger, [(Laplace(1000.0), 1.0), (Gaussian(5.0), 1.0)]) == [True, False]
    ledger.verify()


@settings(max_examples=5)
@given(REQUESTS)
def test_what_is_left_fits_as_a_pure_release(requests: list[Any]) -> None:
    for options in (NONADAPTIVE, ADAPTIVE):
        with Ledger(None, **options) as ledger:
            attempts(ledger, requests)
            before = len(ledger.entries)
            if ledger.left.epsilon > 1e-3:
                assert attempts(ledger, [(Laplace(1.0 / (ledger.left.epsilon * 0.99)), 1.0)]) == [True]
                assert len(ledger.entries) == before + 1


def test_a_bound_of_a_whole_gives_way_to_the_box() -> None:
    ledger = Ledger(None, epsilon=3.0, delta=1e-4, mode="nonadaptive")
    ledger.spend((hush.OSGT(1.0, 30.0), Sensitivity(l2=1.0, l0=4)))
    ledger.spend((hush.OSGT(1.0, 30.0), Sensitivity(l2=1.0, l0=4)))  # equal ones are one longer vector
    alone = ledger.spent.epsilon
    ledger.spend((Laplace(100.0), 1.0))  # Theorem 2 speaks of one charge: beside another one the box counts
    box = (hush.OSGT(1.0, 30.0), Sensitivity(linf=1.0, l0=4), 2)
    assert ledger.spent.epsilon > alone
    assert ledger.spent.epsilon == pytest.approx(hush.compose([box, (Laplace(100.0), 1.0, 1)]).epsilon(1e-4))
    ledger.verify()


def test_theorem_8_of_flipped_huber_counts_once() -> None:
    """Its theorem is about one shift vector, fixed; a second release may be asked after the first answer, so then the
    box counts.
    """
    ledger = Ledger(None, epsilon=3.0, delta=1e-2, mode="nonadaptive")
    noise = hush.FlippedHuber(1.0, 40.0)
    for times in (1, 2):
        ledger.spend((noise, Sensitivity(l2=1.0, l0=2)))
        box = hush.epsilon(noise, 1e-2, Sensitivity(linf=1.0, l0=2), times=times)
        assert ledger.spent.epsilon < box if times == 1 else ledger.spent.epsilon == pytest.approx(box)


@pytest.mark.parametrize("options", [NONADAPTIVE, ADAPTIVE, {"epsilon": 1.0, "delta": 0.0}])
def test_one_ledger_one_neighbour_relation(options: dict[str, Any]) -> None:
    ledger = Ledger(None, **options)
    ledger.spend((Laplace(100.0), Sensitivity(linf=1.0, l0=1, neighbours="replace")))
    for part in ((Laplace(100.0), 1.0), hush.subsample(Laplace(100.0), 0.5)):
        with pytest.raises(InvalidParameter, match="neighbours='replace', and this one has neighbours='add-remove'"):
            ledger.spend(part)
    mixed = [(Laplace(100.0), 1.0), (Laplace(100.0), Sensitivity(linf=1.0, l0=1, neighbours="replace"))]
    with pytest.raises(InvalidParameter, match="neighbours"):
        Ledger(None, **options).spend(mixed)
    assert len(ledger.entries) == 1


# -- pure ----------------------------------------------------------------------------------------------------


@pytest.mark.parametrize("mode", ["nonadaptive", "adaptive"])
@pytest.mark.parametrize(
    ("cap", "share", "times"),
    [(1.0, 0.1, 10), (0.3, 0.1, 3), (0.7, 0.1, 7), (1.0, 1.0, 1), (2.0, 0.4, 5), (1.1, 0.11, 10)],
)
def test_equal_shares_add_up_to_the_cap(mode: str, cap: float, share: float, times: int) -> None:
    """Ten times 0.1 is 1, whatever floats make of it; and then nothing more fits."""
    for noise in (
        hush.Staircase(share),
        Laplace(1.0 / share),
        hush.calibrate(share, 0.0).noise,
        hush.Discrete(Laplace(1.0 / share)),
    ):
        ledger = Ledger(None, epsilon=cap, delta=0.0, mode=mode)
        assert attempts(ledger, [(noise, 1.0)] * (times + 1)) == [True] * times + [False]
        assert attempts(ledger, [(Laplace(1e9), 1.0)]) == [False]
        assert ledger.spent.epsilon <= cap and ledger.spent.delta == 0.0
        ledger.verify()


@pytest.mark.parametrize(("cap", "each", "times"), [(1.0, 0.1, 10), (0.3, 0.1, 3), (2.0, 0.1, 20), (0.7, 0.1, 7)])
@pytest.mark.parametrize("delta", [0.0, 1e-6])
def test_a_full_ledger_refuses_the_smallest_charge(cap: float, each: float, times: int, delta: float) -> None:
    """A charge of 1e-16 is below the tolerance of a comparison, and is refused all the same."""
    ledger = Ledger(None, epsilon=cap, delta=delta)
    for _ in range(times):
        ledger.spend(Charge(Laplace(1.0 / each), Sensitivity.of(1.0)))
    for smaller in (1e-16, 1e-17, 1e-100):
        with pytest.raises(hush.BudgetExceeded):
            ledger.spend(Charge(Laplace(1.0 / smaller), Sensitivity.of(1.0)))
    assert len(ledger.entries) == times


def test_a_comparison_forgives_two_roundings_and_no_more() -> None:
    assert within(Fraction(1) + Fraction(1, 2**52), 1.0)
    assert not within(Fraction(1) + Fraction(1, 2**50), 1.0)


def test_pure_epsilons_are_exact_or_above() -> None:
    one = Sensitivity.of(1.0)
    assert pure_epsilon(Charge(Laplace(3.0), one)) == Fraction(1, 3)
    assert pure_epsilon(Charge(Laplace(3.0), Sensitivity(linf=(0.5, 0.25, 0.25), l0=2))) == Fraction(1, 4)
    assert pure_epsilon(Charge(Laplace(3.0), Sensitivity(l1=2.0))) == Fraction(2, 3)
    assert pure_epsilon(Charge(Gaussian(3.0), one)) is None
    assert pure_epsilon(Charge(hush.Staircase(0.1), Sensitivity(linf=1.0, l0=4))) == 4 * Fraction(0.1)
    for noise in (hush.Stable(1.5, 4.0), hush.Stepped(1.0, (0.3, 0.1), 0.5, 1)):
        assert hush.delta(noise, float(pure_epsilon(Charge(noise, one)) or 0.0)) == 0.0


def test_a_pure_ledger_takes_no_failure_probability_and_no_gaussian() -> None:
    ledger = Ledger(None, epsilon=1.0, delta=0.0)
    assert attempts(ledger, [(Laplace(10.0), 1.0)], extra_delta=1e-12) == [False]
    assert attempts(ledger, [(Gaussian(1e6), 1.0)]) == [False]
    assert ledger.spent == Budget(0.0, 0.0)
    with pytest.raises(Unsupported, match="only a nonadaptive ledger"):
        ledger.curve()


def test_rounding_goes_the_way_it_says() -> None:
    third = Fraction(1, 3)
    assert Fraction(round_down(third)) < third < Fraction(round_up(third))
    assert round_down(Fraction(-1)) == 0.0 and math.copysign(1.0, round_down(Fraction(0))) == 1.0
    assert round_up(Fraction(0.1)) == round_down(Fraction(0.1)) == 0.1


# -- adaptive ------------------------------------------------------------------------------------------------


@pytest.mark.parametrize(
    ("epsilon", "delta"),
    [(1.0, 1e-6), (0.1, 1e-9), (10.0, 1e-3), (1e-3, 1e-12), (100.0, 1e-5), (1.0, 0.3), (1.0, 1e-290)],
)
def test_the_budget_of_an_order_implies_the_cap(epsilon: float, delta: float) -> None:
    cap = filter_cap(epsilon, delta, None)
    assert cap.order is not None and cap.divergence is not None and cap.reserve is not None
    implied = Fraction(rdp_to_delta(cap.order, cap.divergence, epsilon)) + Fraction(cap.reserve)
    assert Fraction(delta) * (1 - Fraction(1, 10**7)) <= implied <= Fraction(delta)
    assert cap.reserve == pytest.approx(delta / 10.0, rel=1e-9, abs=0.0)
    for factor in (0.9, 1.1):  # the order under which most Gaussians fit
        other = filter_cap(epsilon, delta, 1.0 + (cap.order - 1.0) * factor)
        assert other.divergence is not None and other.order is not None
        assert other.divergence / other.order < cap.divergence / cap.order


@settings(max_examples=12)
@given(REQUESTS)
def test_the_divergences_never_pass_the_budget(requests: list[Any]) -> None:
    with Ledger(None, **ADAPTIVE) as ledger:
        order, budget = ledger.cap.order, ledger.cap.divergence
        assert order is not None and budget is not None
        used = 0.0
        for noise, sensitivity, times in requests:
            more = times * renyi(noise, order, sensitivity)
            fits = used + more <= budget
            assert attempts(ledger, [(noise, sensitivity, times)]) == [fits]
            used += more if fits else 0.0
        assert ledger.left.epsilon == pytest.approx(budget - used, abs=1e-12)
        assert ledger.share == pytest.approx(used / budget, abs=1e-12)
        ledger.verify()


@settings(max_examples=25)
@given(st.lists(st.tuples(st.floats(1.0, 40.0).map(Gaussian), st.just(1.0), st.integers(1, 3)), min_size=1, max_size=8))
def test_a_filter_is_valid_and_never_better_than_planned_for_gaussians(requests: list[Any]) -> None:
    with Ledger(None, **ADAPTIVE) as ledger:
        held = [request for request, fits in zip(requests, attempts(ledger, requests), strict=True) if fits]
        if held:
            assert private(held, 1.0, 1e-5)
            assert hush.compose(held).epsilon(1e-5) <= ledger.spent.epsilon <= 1.0
            assert hush.compose(held).delta(1.0) <= ledger.spent.delta <= 1e-5
        nonadaptive = Ledger(None, **NONADAPTIVE)
        assert attempts(nonadaptive, held) == [True] * len(held)
        assert nonadaptive.left.epsilon >= ledger.left.epsilon


def test_the_price_of_choosing_along_the_way() -> None:
    """As a share of releases: a filter takes fewer Gaussians than planning, by a fifth or so, and many more than
    basic composition.
    """
    nonadaptive, adaptive = (
        count(Ledger(None, **options), (Gaussian(40.0), 1.0)) for options in (NONADAPTIVE, ADAPTIVE)
    )
    basic = int(1.0 / hush.epsilon(Gaussian(40.0), 1e-5 / nonadaptive))
    assert 2 * basic < adaptive < nonadaptive and adaptive > 0.7 * nonadaptive


def test_the_reserve_pays_failure_probabilities() -> None:
    ledger = Ledger(None, **ADAPTIVE)
    assert attempts(ledger, [(Gaussian(100.0), 1.0)] * 11, extra_delta=1e-7) == [True] * 10 + [False]
    assert ledger.left.delta == pytest.approx(0.0, abs=1e-20) and ledger.left.epsilon > 0.0
    assert attempts(ledger, [(Gaussian(100.0), 1.0)]) == [True]
    ledger.verify()


@pytest.mark.parametrize(
    "part",
    [
        (hush.TruncatedLaplace(5.0, 100.0), 1.0),
        hush.subsample(Gaussian(2.0), 0.01),
    ],
)
def test_infinite_divergences_are_refused_and_planned_mode_is_named(part: Any) -> None:
    ledger = Ledger(None, **ADAPTIVE)
    with pytest.raises(Unsupported, match='mode="nonadaptive"'):
        ledger.spend(part)
    assert ledger.entries == ()


def test_bounded_noise_on_a_lattice_has_a_divergence_but_for_its_ends() -> None:
    """The divergence is that of the common points; the probability of the others is a failure probability."""
    ledger, noise = Ledger(None, **ADAPTIVE), hush.Discrete(hush.TruncatedLaplace(5.0, 100.0))
    ledger.spend((noise, 1.0))
    ends = float(hush.delta(noise, 0.2000001, 1.0))  # the common points have a loss of 1/5
    assert 0.0 < ends <= ledger._report().extra < 1.01 * ends
    assert 0.0 < ledger.share < 1.0


def test_divergences_by_theorem() -> None:
    """l1 and l2 bounds as far as a theorem goes, and pure epsilons where nothing else is known."""

    def used(part: Any) -> float:
        with Ledger(None, **{**ADAPTIVE, "order": 20.0}) as ledger:
            ledger.spend(part)
            return ledger.share * float(ledger.cap.divergence or 0.0)

    assert used((Laplace(30.0), Sensitivity(l1=2.0))) == pytest.approx(renyi(Laplace(30.0), 20.0, 2.0))
    assert used((Gaussian(30.0), Sensitivity(l2=2.0))) == pytest.approx(renyi(Gaussian(30.0), 20.0, 2.0))
    assert used((Laplace(30.0), Sensitivity(linf=1.0, l0=3))) == pytest.approx(3.0 * renyi(Laplace(30.0), 20.0))
    noise = hush.OSGT(0.1, 30.0)
    assert used((noise, Sensitivity(l2=1.0, l0=2))) == pytest.approx(osgt_theorem2(noise, 20.0, 1.0, k=2))
    pure = hush.curve(hush.Stable(1.5, 40.0), Sensitivity(l1=1.0)).pure_epsilon
    assert used((hush.Stable(1.5, 40.0), Sensitivity(l1=1.0))) == pytest.approx(min(pure, 10.0 * pure * pure))
    sampled = hush.subsample(Laplace(5.0), 0.1, times=2)
    assert used(sampled) == pytest.approx(2.0 * 10.0 * hush.compose([sampled.once]).pure_epsilon ** 2)


def test_an_interactive_ledger_shows_no_curve() -> None:
    ledger = Ledger(None, **ADAPTIVE)
    ledger.spend((Gaussian(30.0), 1.0))
    with pytest.raises(Unsupported, match="only a nonadaptive ledger"):
        ledger.curve()
