"""The default rule of a ledger: valid for every adaptive choice, and close to composition for equal releases."""

from __future__ import annotations

import functools
import math
import re
from dataclasses import replace
from fractions import Fraction
from pathlib import Path
from typing import Any

import numpy as np
import pytest

import hush
from hush import Budget, BudgetExceeded, Gaussian, Laplace, Ledger, Sensitivity
from hush.errors import HushError
from hush.ledger.account import Account, Nonadaptive
from hush.ledger.entry import Cap, Entry
from hush.ledger.filter import Filter
from hush.ledger.filters import Filters, filters_cap
from hush.ledger.series import Turn
from hush.ledger.sums import Normal, pair_of, root_down, root_up

CUBE = Sensitivity(linf=1.0, dimension=2)


def entry(part: Any, **options: Any) -> Entry:
    """An entry of one charge."""
    return Entry(0, "", "", (hush.Charge.of(part),), **options)


def fits(account: Account, part: Any, most: int, **options: Any) -> int:
    """How often a release fits, one after the other."""
    for number in range(most):
        grown = account.plus([entry(part, **options)]).settled()
        if grown is None:
            return number
        account = grown
    return most


# -- every adaptive strategy, enumerated ---------------------------------------------------------------------


def worst_delta(
    start: Account, menu: dict[float, Any], epsilon: float, *, fails: float = 0.0, states: Budget | None = None
) -> float:
    """The largest delta of all strategies that choose the next release of a menu after seeing all answers.

    The releases are pure, and nothing else is known about them, so the worst answers are those of randomised response:
    the loss is +e with probability e^e/(1 + e^e), else -e. The rule depends on the first release and on the numbers of
    each, the strategy on the loss so far too. The largest release of the menu may also fail, with a loss without limit;
    the first release may state the pair of one that follows.
    """
    failing = {e: fails * (e == max(menu)) for e in menu}

    @functools.cache
    def account(first: float | None, counts: tuple[int, ...]) -> Account | None:
        if first is None:
            return start
        order = [first, *(e for e, n in zip(menu, counts, strict=True) for _ in range(n - (e == first)))]
        grown: Account = start
        for e in order:  # every accepted list is accepted in this order too, because each rule depends on sums
            said = states if grown is start else None
            grown = grown.plus([entry(menu[e], extra_delta=failing[e], followed_by=said)])
        return grown if grown.covered() else None

    @functools.cache
    def value(first: float | None, counts: tuple[int, ...], loss: float) -> float:
        best = max(1.0 - math.exp(epsilon - loss), 0.0)
        for place, e in enumerate(menu):
            more = tuple(n + (place == i) for i, n in enumerate(counts))
            if account(first if first is not None else e, more) is None:
                continue
            up = 1.0 / (1.0 + math.exp(-e))
            begun = first if first is not None else e
            high, low = (value(begun, more, round(loss + sign * e, 12)) for sign in (1.0, -1.0))
            best = max(best, failing[e] + (1.0 - failing[e]) * (up * high + (1.0 - up) * low))
        return best

    return value(None, (0,) * len(menu), 0.0)


MENU = {e: (hush.Cube(2, 1.0 / e, 0.25), CUBE) for e in (0.4, 0.25)}


@pytest.mark.parametrize(("epsilon", "delta"), [(1.0, 0.05), (0.9, 0.1)])
def test_no_adaptive_strategy_passes_the_cap(epsilon: float, delta: float) -> None:
    found = worst_delta(Filters(filters_cap(epsilon, delta)), MENU, epsilon)
    assert 0.2 * delta < found <= delta * (1.0 + 1e-9)


@pytest.mark.parametrize("times", [3, 5])
def test_no_strategy_passes_the_cap_with_noise_that_was_calibrated_for_some_releases(times: int) -> None:
    """The menu has a noise of which `times` releases need all of delta, and two others. Whoever repeats the first one
    comes close to delta; nobody passes it.
    """
    epsilon, delta = 1.0, 0.05
    low, high = 0.1, 2.0
    for _ in range(40):
        middle = 0.5 * (low + high)
        kept = hush.compose([(hush.Cube(2, 1.0 / middle, 0.25), CUBE, times)]).delta(epsilon) <= delta
        low, high = (middle, high) if kept else (low, middle)
    menu = {low: (hush.Cube(2, 1.0 / low, 0.25), CUBE)} | MENU
    start = Filters(filters_cap(epsilon, delta))
    alike = start.plus([entry(menu[low])])
    assert alike.plus([entry(menu[low])] * (times - 1)).covered()
    assert not alike.plus([entry(menu[low])] * times).covered()
    found = worst_delta(start, menu, epsilon)
    assert 0.97 * delta < found <= delta * (1.0 + 1e-9)


@pytest.mark.parametrize("share", [0.2, 0.6, 0.97])
def test_no_strategy_passes_the_cap_if_the_first_release_states_what_follows(share: float) -> None:
    """The largest release of the menu fails with most of the reserved delta. A strategy may take the one that was
    stated, several of them, or others.
    """
    epsilon, delta = 1.0, 0.05
    stated, usual = Budget(0.4, share * delta), Filters(filters_cap(epsilon, delta))
    found = worst_delta(usual, MENU, epsilon, fails=share * delta, states=stated)
    assert share * delta * (1.0 - 1e-9) <= found <= delta * (1.0 + 1e-9)
    first, follows = entry(MENU[0.25], followed_by=stated), entry(MENU[0.4], extra_delta=share * delta)
    assert usual.plus([first]).plus([follows]).covered()
    assert not usual.plus([replace(first, followed_by=None)]).plus([follows]).covered()


def test_a_stated_pair_reserves_delta_once_and_only_if_it_fits() -> None:
    cap = filters_cap(1.0, 1e-6)
    first = entry((Laplace(100.0), 1.0))

    def parts(pair: Budget | None) -> list[tuple[str, float]]:
        return [(m.rule, m.cap.delta) for m in Filters(cap).plus([replace(first, followed_by=pair)]).members]

    usual = parts(None)
    for pair in (Budget(0.5, 1e-6), Budget(0.5, 0.5e-6), Budget(0.99, 0.9e-6)):
        made = parts(pair)
        assert math.fsum(part for _, part in made) <= 1e-6 * (1.0 + 1e-12) and made[-1] == ("basic", pair.delta)
    for pair in (Budget(0.995, 1e-6), Budget(0.5, 1.1e-6), Budget(0.5, 1e-7), Budget(0.5, 0.0)):
        assert parts(pair) == usual
    both = Filters(cap).plus([replace(first, followed_by=Budget(0.99, 1e-6))])
    gaussian = (Gaussian(float(hush.gaussian.sigma(0.99, 1e-6)) * 1.0001), 1.0)
    assert both.plus([entry(gaussian, epsilon=0.99, delta=1e-6)]).covered()
    assert not both.plus([entry(gaussian, epsilon=0.99, delta=1e-6)] * 2).covered()


def test_the_enumeration_finds_what_composition_in_advance_does_not_cover() -> None:
    """The same strategies against a rule that is valid only for mechanisms fixed in advance: some pass the cap."""
    assert worst_delta(Nonadaptive(Cap(1.0, 0.05, "nonadaptive")), MENU, 1.0) > 1.04 * 0.05


# -- Gaussian noise chosen by past outcomes ------------------------------------------------------------------


def adversary(budget: float, epsilon: float, runs: int, seed: int) -> tuple[float, float]:
    """delta of a strategy that takes large steps where the loss is near epsilon and small ones elsewhere, with its
    standard error.
    """
    random = np.random.default_rng(seed)
    loss, left = np.zeros(runs), np.full(runs, budget)
    for _ in range(12):
        near = np.abs(loss - epsilon) < 0.5 * epsilon
        step = np.where(near, left / 2.0, left / 6.0)
        loss += step / 2.0 + np.sqrt(step) * random.standard_normal(runs)
        left -= step
    loss += left / 2.0 + np.sqrt(left) * random.standard_normal(runs)
    gained = np.maximum(1.0 - np.exp(epsilon - loss), 0.0)
    return float(gained.mean()), float(gained.std() / math.sqrt(runs))


def test_gaussian_noise_chosen_by_outcomes_stays_within_the_cap() -> None:
    """False-alarm rate 1e-6: 4.76 standard errors. A limit 3/2 times as large is noticed."""
    epsilon, delta = 1.0, 0.05
    account = Filters(filters_cap(epsilon, delta)).plus([entry((Gaussian(40.0), 1.0))])
    (member,) = (each for each in account.members if isinstance(each, Normal))
    part = Fraction(filters_cap(epsilon, delta).first or 0) * Fraction(delta)
    found, error = adversary(float(member.limit), epsilon, 400_000, 7)
    assert found <= float(part) + 4.76 * error
    wrong, error = adversary(1.5 * float(member.limit), epsilon, 400_000, 7)
    assert wrong > float(part) + 4.76 * error
    assert root_down(member.limit) <= float(member.cap.mu or 0.0)


# -- what fits -----------------------------------------------------------------------------------------------


@pytest.mark.parametrize("times", [12, 100])
@pytest.mark.parametrize("kind", ["gaussian", "laplace", "cube"])
def test_at_least_93_percent_of_equal_releases_fit(kind: str, times: int) -> None:
    """The noise is such that composition in advance fits the number of releases and half of one more."""
    sizes = {"gaussian": 4.4, "laplace": 3.9, "cube": 4.3}
    make = {
        "gaussian": lambda s: (Gaussian(s), 1.0),
        "laplace": lambda s: (Laplace(s), 1.0),
        "cube": lambda s: (hush.Cube(2, s, 1.0 / 64.0), CUBE),
    }[kind]
    low, high = 1.0, 40.0 * sizes[kind]
    for _ in range(18):
        middle = math.sqrt(low * high)
        kept = hush.compose([(*make(middle), times)]).delta(1.0) <= 1e-6
        low, high = (low, middle) if kept else (middle, high)
    part = make(high * math.sqrt((times + 0.5) / times))
    in_advance = Nonadaptive(Cap(1.0, 1e-6, "nonadaptive"))
    most = times if in_advance.plus([entry(part)] * times).covered() else times - 1
    account = Filters(filters_cap(1.0, 1e-6))
    least = math.ceil(0.93 * most)
    assert account.plus([entry(part)] * least).covered()


def test_the_table_of_equal_releases_says_what_fits() -> None:
    """Every row of docs/maths/budgets.md is at least 0.93, and the Gaussian ones are computed again."""
    page = (Path(__file__).parents[2] / "docs" / "maths" / "budgets.md").read_text()
    rows = re.findall(r"^\| (\S.*?) \| (\d+) \| (\d+) \| (\S+) \| \d+ \|$", page, flags=re.MULTILINE)
    assert len(rows) == 9 and min(float(share) for *_, share in rows) >= 0.93
    limit = {name: float(hush.gaussian.sigma(1.0, part)) ** -2 for name, part in (("all", 1e-6), ("first", 0.75e-6))}
    for name, advance, adaptive, _ in rows:
        if name == "Gaussian":
            assert int((int(advance) + 0.5) * limit["first"] / limit["all"]) == int(adaptive)


def test_sum_model_may_take_the_whole_budget_and_then_nothing_else_fits() -> None:
    for noise in (Gaussian(float(hush.gaussian.sigma(1.0, 1e-6))), hush.calibrate(1.0, 1e-6, family="osgt").noise):
        ledger = Ledger(None, epsilon=1.0, delta=1e-6)
        ledger.spend((noise, 1.0), epsilon=1.0, delta=1e-6)
        assert ledger.share > 0.99
        with pytest.raises(BudgetExceeded):
            ledger.spend((noise, 1.0))
        ledger.verify()


def test_a_small_first_release_does_not_bind_the_next() -> None:
    ledger = Ledger(None, epsilon=1.0, delta=1e-6)
    ledger.spend((Gaussian(300.0), 1.0))
    ledger.spend((Laplace(2.5), 1.0))
    ledger.spend((hush.Staircase(0.05), 1.0))
    ledger.verify()


def test_pure_releases_and_pairs_add_up() -> None:
    ledger = Ledger(None, epsilon=1.0, delta=1e-6)
    for scale in (4.0, 2.0, 4.0):
        ledger.spend((Laplace(scale), 1.0), extra_delta=1e-7)
    assert ledger.spent.epsilon <= 1.0
    with pytest.raises(BudgetExceeded):
        ledger.spend((Laplace(1000.0), 1.0), extra_delta=2e-7)
    pairs = Ledger(None, epsilon=1.0, delta=1e-5)
    noise = hush.calibrate(0.4, 1e-7, family="truncated_laplace").noise  # no Renyi divergence
    pairs.spend((Gaussian(100.0), 1.0), epsilon=0.1, delta=1e-7)
    pairs.spend((noise, 1.0), epsilon=0.4, delta=1e-7)
    with pytest.raises(BudgetExceeded):
        Ledger(None, epsilon=0.3, delta=1e-5).spend((noise, 1.0), epsilon=0.4, delta=1e-7)


def test_a_failure_probability_beside_a_stated_delta_adds_to_it() -> None:
    noise = Gaussian(float(hush.gaussian.sigma(0.4, 1e-7)) * 1.0001)
    made = entry((noise, 1.0), epsilon=0.4, delta=1e-7, extra_delta=5e-7)
    assert pair_of(made) == (Fraction(0.4), Fraction(1e-7) + Fraction(5e-7))


def test_equal_noise_with_another_failure_probability_is_another_release() -> None:
    account = Filters(filters_cap(1.0, 1e-6)).plus([entry((Laplace(30.0), 1.0))])
    with pytest.raises(hush.Unsupported, match="differs"):
        account.members[0].plus([entry((Laplace(30.0), 1.0), extra_delta=1e-9)])


def test_gaussian_releases_that_can_fail_are_counted_as_equal_ones() -> None:
    """The sum of mu^2 has no place for a failure probability, so its filter would cover nothing."""
    account = Filters(filters_cap(1.0, 1e-6)).plus([entry((Gaussian(9.0), 1.0), extra_delta=1e-9)])
    assert account.members[0].covered()


def test_a_plan_that_is_named_with_the_first_release_fits_whole() -> None:
    noise = hush.calibrate(1.0, 1e-6, times=12, family="laplace").noise
    account = Filters(replace(filters_cap(1.0, 1e-6), equal=None))
    planned = [entry((noise, 1.0), turn=Turn("year", number, 12)) for number in range(1, 13)]
    assert account.plus(planned).covered()
    assert not account.plus([entry((noise, 1.0))] * 12).covered()  # without a plan, the others keep their part of delta
    assert not account.plus([*planned, entry((noise, 1.0))]).covered()


@pytest.mark.parametrize("times", [2, 7, 12, 24])
@pytest.mark.parametrize("family", ["gaussian", "laplace", "osgt"])
def test_noise_calibrated_for_some_releases_fits_exactly_so_often(family: str, times: int) -> None:
    noise = hush.calibrate(1.0, 1e-6, times=times, family=family).noise
    account = Filters(filters_cap(1.0, 1e-6)).plus([entry((noise, 1.0))])
    assert account.plus([entry((noise, 1.0))] * (times - 1)).covered()
    assert not account.plus([entry((noise, 1.0))] * times).covered()
    assert sum(Fraction(each.cap.delta) for each in account.members) <= Fraction(1e-6)


def test_other_noise_keeps_its_part_of_delta() -> None:
    """The noise of 12.05 releases was not calibrated for twelve, so other rules keep a quarter of delta."""
    noise = Gaussian(float(hush.gaussian.sigma(1.0, 1e-6)) * math.sqrt(12.05))
    account = Filters(filters_cap(1.0, 1e-6)).plus([entry((noise, 1.0))])
    assert any(isinstance(each, Filter) for each in account.members)
    assert account.plus([entry((hush.Staircase(0.05), 1.0))]).covered()


def test_another_gaussian_release_takes_the_place_of_planned_ones() -> None:
    noise = hush.calibrate(1.0, 1e-6, times=12, family="gaussian").noise
    account = Filters(filters_cap(1.0, 1e-6)).plus([entry((noise, 1.0))] * 8)
    assert account.plus([entry((noise.scaled(0.51), 1.0))]).covered()  # slightly less than four of them
    assert not account.plus([entry((noise.scaled(0.49), 1.0))]).covered()


def test_a_plan_whose_first_release_differs_fits_whole_but_not_twice() -> None:
    later = hush.calibrate(0.9, 1e-6, times=11, family="laplace").noise
    first = Laplace(11.0)
    turns = [Turn("year", number, 12, (hush.Charge(later, 1.0),)) for number in range(1, 13)]
    rows = [entry((first if turn.release == 1 else later, 1.0), turn=turn) for turn in turns]
    account = Filters(replace(filters_cap(1.0, 1e-6), equal=None)).plus(rows[:1])
    assert account.plus(rows[1:]).covered()
    assert isinstance(account.members[0], Nonadaptive)
    with pytest.raises(hush.Unsupported):
        account.members[0].plus(rows[:1])  # a second release like the first was not planned


def test_roots_are_on_their_side() -> None:
    for square in (Fraction(2), Fraction(3), Fraction(1, 7), Fraction(10) ** -30, Fraction(10) ** 30 + 1):
        low, high = root_down(square), root_up(square)
        assert Fraction(low) ** 2 <= square <= Fraction(high) ** 2 and high <= math.nextafter(low, math.inf)


def test_the_parts_of_delta_add_up_to_the_cap() -> None:
    for part, extra in [((Gaussian(9.0), 1.0), 0.0), ((Laplace(3.0), 1.0), 1e-7), ((hush.OSGT(2.0, 3.0), 1.0), 0.0)]:
        account = Filters(filters_cap(1.0, 1e-6)).plus([entry(part, extra_delta=extra)])
        assert sum(Fraction(each.cap.delta) for each in account.members) <= Fraction(1e-6)


def test_rules_are_stable_when_a_ledger_is_opened_again(tmp_path: Any) -> None:
    path = tmp_path / "a.ledger"
    with Ledger(path, epsilon=1.0, delta=1e-6) as ledger:
        for _ in range(3):
            ledger.spend((Laplace(30.0), 1.0))
        spent = ledger.spent
    with Ledger(path) as again:
        assert again.spent == spent and again.mode == "adaptive"
        again.verify()


def test_a_stated_pair_is_kept_when_a_ledger_is_opened_again(tmp_path: Any) -> None:
    path, fit = tmp_path / "stated.ledger", (Gaussian(float(hush.gaussian.sigma(0.97, 1e-6)) * 1.0001), 1.0)
    with Ledger(path, epsilon=1.0, delta=1e-6) as ledger:
        ledger.spend((Laplace(1.0 / 0.03), 1.0), followed_by=Budget(0.97, 1e-6))
        with pytest.raises(HushError, match="followed_by must be a Budget"):
            ledger.spend((Laplace(1e6), 1.0), followed_by=(0.97, 1e-6))
    with Ledger(path) as again:
        assert again.entries[0].followed_by == Budget(0.97, 1e-6)
        again.spend(fit, epsilon=0.97, delta=1e-6)
        again.verify()
    with Ledger(None, epsilon=1.0, delta=1e-6) as other:
        other.spend((Laplace(1.0 / 0.03), 1.0))
        with pytest.raises(BudgetExceeded):
            other.spend(fit, epsilon=0.97, delta=1e-6)


def test_a_refusal_does_not_contradict_itself() -> None:
    """What is left is stated for a release of delta 0. A release with a delta may cost less and still not fit."""
    ledger = Ledger(None, epsilon=1.1, delta=2e-6)
    ledger.spend((Laplace(1.0 / 0.03), 1.0))
    fit = (Gaussian(float(hush.gaussian.sigma(0.97, 1e-6)) * 1.0001), 1.0)
    with pytest.raises(BudgetExceeded) as failure:
        ledger.spend(fit, epsilon=0.97, delta=1e-6)
    found = re.search(r"costs epsilon ([0-9.]+), and ([0-9.]+) of the ledger's", str(failure.value))
    assert found is not None and float(found[1]) <= float(found[2])
    assert "is left for releases of delta 0, but less for those that need a delta" in str(failure.value)
