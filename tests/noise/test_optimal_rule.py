"""Optimal-rule noise: exact checks of its table, draws, its curve, and answers that use it."""

from __future__ import annotations

import itertools
import math
from fractions import Fraction

import numpy as np
import pyarrow as pa
import pytest

import hush
from hush import tables
from hush.noise.optimal_rule import OptimalRule
from hush.numerics.ball import flint_module, precision
from hush.privacy.failure import divergence_but_for
from hush.sampling.entropy import DeterministicTestEntropy, NamedBits
from hush.sampling.exact import draw, draw_from, law_of
from hush.tables.publish.rule_sum import reach_of_sum

WHOLE = 1 << 192
BUDGETS = [(1.0, 1e-6), (2.0, 1e-6), (0.3, 1e-6), (0.1, 1e-7), (1.0, 0.01), (2.0, 0.001), (0.5, 0.05), (3.0, 0.3)]
PEOPLE = hush.Sensitivity(columns=(1.0,), l0=1, one_sided=True, people=0)


def below(epsilon: float) -> Fraction:
    """A lower bound of e^epsilon, less than 2^-250 below it."""
    with precision(512):
        arb = flint_module().arb
        return Fraction(int((arb(epsilon).exp() * arb(2) ** 256).floor().unique_fmpz()), 1 << 256)


def excess(weights: tuple[int, ...], epsilon: float) -> tuple[Fraction, Fraction]:
    """delta at epsilon of the law and its copy moved by one, exactly, in both directions."""
    e = below(epsilon)
    more, less = (0, *weights), (*weights, 0)
    pairs = ((less, more), (more, less))
    first, second = (sum(max(a - e * b, Fraction(0)) for a, b in zip(p, q, strict=True)) for p, q in pairs)
    return Fraction(first) / WHOLE, Fraction(second) / WHOLE


@pytest.mark.parametrize(("epsilon", "delta"), BUDGETS)
def test_the_table_keeps_epsilon_and_delta_exactly(epsilon: float, delta: float) -> None:
    noise = OptimalRule(epsilon, delta)
    assert noise.sums[-1] == WHOLE and min(noise.weights) > 0
    assert noise.weights[0] <= Fraction(delta) * WHOLE  # a group of one person
    for found in excess(noise.weights, epsilon):
        assert found <= Fraction(delta)
        assert found >= Fraction(delta) * (1 - Fraction(1, 10**12))  # all of delta is used


@pytest.mark.parametrize(("epsilon", "delta"), BUDGETS)
def test_groups_are_shown_as_often_as_the_best_rule_allows(epsilon: float, delta: float) -> None:
    noise, pi, n = OptimalRule(epsilon, delta), 0.0, 0
    while pi < 1.0 - 1e-12:
        n += 1
        pi = min(math.exp(epsilon) * pi + delta, 1.0 - math.exp(-epsilon) * (1.0 - pi - delta), 1.0)
        assert float(noise.shown(n)) == pytest.approx(pi, rel=1e-9)
    assert float(noise.shown(0)) == 0.0 and float(noise.shown(10 * n)) == 1.0


def outcomes(noise: OptimalRule, size: int, threshold: int | None = None) -> dict[int | None, int]:
    """The probability of every outcome of a group, in units of 2^-192: hidden (None), or the noisy number in steps."""
    if size == 0:
        return {None: WHOLE}
    least, found = threshold or round(noise.threshold / noise.step), {}
    for value, weight in zip(noise.values.tolist(), noise.weights, strict=True):
        noisy = 256 * size + value
        key = noisy if noisy >= least else None
        found[key] = found.get(key, 0) + weight
    return found


def worst(noise: OptimalRule, groups: int, epsilon: float, most: int, threshold: int | None = None) -> Fraction:
    """The largest exact delta over all sizes of the groups without the person, in both directions."""
    e, largest = below(epsilon), Fraction(0)
    laws = [outcomes(noise, size, threshold) for size in range(most + 2)]
    for sizes in itertools.combinations_with_replacement(range(most + 1), groups):
        both = []
        for add in (0, 1):
            law = {(): 1}
            for size in sizes:
                law = {(*old, key): p * q for old, p in law.items() for key, q in laws[size + add].items()}
            both.append(law)
        for p, q in (both, both[::-1]):
            largest = max(largest, sum((max(v - e * q.get(key, 0), Fraction(0)) for key, v in p.items()), Fraction(0)))
    return largest / WHOLE**groups


@pytest.mark.parametrize(
    ("groups", "epsilon", "delta", "most"), [(1, 1.0, 0.01, 12), (1, 0.5, 0.05, 12), (2, 2.0, 0.02, 5)]
)
def test_every_pair_of_neighbours_stays_within_delta(groups: int, epsilon: float, delta: float, most: int) -> None:
    """By enumeration in exact arithmetic; delta is reached. A threshold one lower, or a mean that is not public, is not
    private.
    """
    noise = OptimalRule(epsilon / groups, delta / groups)
    found = worst(noise, groups, epsilon, most)
    assert found <= Fraction(delta)
    assert found >= Fraction(1.0 - math.expm1(groups * math.log1p(-delta / groups)) - 1.0) * (1 - Fraction(1, 10**9))
    bound = hush.Sensitivity(columns=(1.0,), l0=groups, one_sided=True, people=0)
    charge = hush.Charge(noise, bound, keys=hush.Keys(groups, noise.chance))
    assert found <= Fraction(float(hush.compose([charge]).delta(epsilon)))
    low = round(noise.threshold / noise.step) - 256
    assert worst(noise, groups, epsilon, most, low) > Fraction(delta)


def test_a_mean_that_depends_on_the_data_is_caught() -> None:
    """If groups of an odd size had another mean taken off, neighbours would have no value in common."""
    noise = OptimalRule(1.0, 0.01)
    laws = [{k if k is None else k + size % 2: p for k, p in outcomes(noise, size).items()} for size in (8, 9)]
    assert sum(max(v - below(1.0) * laws[1].get(k, 0), 0) for k, v in laws[0].items()) > Fraction(0.01) * WHOLE


def test_the_curve_is_that_of_randomised_responses_with_failures() -> None:
    noise = OptimalRule(0.5, 1e-6)
    assert hush.curve(noise, PEOPLE).delta(0.5) == pytest.approx(1e-6, rel=1e-12)
    three = hush.Sensitivity(columns=(1.0,), l0=3, one_sided=True, people=0)
    assert hush.curve(noise, three).delta(1.5) == pytest.approx(3e-6, rel=1e-5)
    assert 1e-3 < float(hush.curve(noise, three).delta(1.0)) < 0.2
    both = hush.compose([(noise, three), (hush.Gaussian(20.0), 1.0)])
    assert float(both.epsilon(1e-5)) > 1.5 > float(hush.compose([(hush.Gaussian(20.0), 1.0)]).epsilon(1e-5))
    found = divergence_but_for(hush.Charge(noise, three, keys=hush.Keys(3, 1e-6)), 4.0)
    assert found.failure == pytest.approx(3e-6) and found.divergence <= 3 * 0.5 * (1.0 + 1e-12)
    for bound in (
        1.0,
        hush.Sensitivity(linf=1.0, dimension=1),
        hush.Sensitivity(columns=(2.0,), l0=1, one_sided=True, people=0),
    ):
        with pytest.raises(hush.Unsupported):  # the number may move by less, or by more
            hush.curve(noise, bound)
    with pytest.raises(hush.Unsupported):
        hush.delta(noise.marginal, 0.5)


def chi_squared(drawn: np.ndarray, noise: OptimalRule) -> float:
    """The deviation of the counts from the law, in deviations of the chi-squared statistic; rare values together."""
    index = (noise.values[0] - drawn) // 256
    wanted = noise.masses * drawn.size
    counts = np.bincount(index, minlength=wanted.size).astype(float)
    often = wanted >= 20.0
    seen, hoped = np.append(counts[often], counts[~often].sum()), np.append(wanted[often], wanted[~often].sum())
    freedom = seen.size - 1
    return float((((seen - hoped) ** 2 / hoped).sum() - freedom) / math.sqrt(2.0 * freedom))


def test_draws_have_the_law() -> None:
    """The statistic passes 8 deviations less than once in a million runs; other scales are seen."""
    noise = OptimalRule(0.5, 1e-4)
    drawn = draw(noise, 40_000, entropy=DeterministicTestEntropy(7))[:, 0]
    assert chi_squared(drawn, noise) < 8.0
    for factor in (2.0 / 3.0, 1.5):
        wrong = draw(OptimalRule(0.5 * factor, 1e-4), 40_000, entropy=DeterministicTestEntropy(7))[:, 0]
        shifted = np.clip(
            (wrong - round(float(wrong.mean()))) // 256 * 256 + noise.values[0] % 256, *noise.values[[-1, 0]]
        )
        assert chi_squared(shifted, noise) > 100.0
    mean = float(drawn.mean()) * noise.step
    assert abs(mean) < 4.9 * math.sqrt(noise.variance / drawn.size) + noise.step
    assert float((drawn * noise.step).var()) == pytest.approx(noise.variance, rel=0.1)
    assert float(noise.log_density_of(drawn[:5, None] * noise.step).max()) < 0.0


def test_a_draw_whose_first_word_does_not_decide() -> None:
    """Words that equal the first bits of a sum: the 128 bits after them decide, exactly."""
    noise = OptimalRule(0.5, 1e-4)

    class Edge:
        def __init__(self, after: int) -> None:
            self.after = after

        def words(self, count: int, dtype: object, lanes: int = 1) -> np.ndarray:
            return np.array([[each >> 128 for each in noise.sums[:-1]]], dtype=np.uint64)

        def more(self, draws: np.ndarray, turn: int) -> np.ndarray:
            rest = [(noise.sums[i] & ((1 << 128) - 1)) + self.after for i in draws.tolist()]
            return np.array([[each >> 64, each & ((1 << 64) - 1)] for each in rest], dtype=np.uint64)

    count = len(noise.sums) - 1
    for after, first in ((-1, 0), (0, 1)):  # V just below a sum, and equal to it
        found = noise.lattice_draws(Edge(after), count, noise.step)[:, 0]
        assert (found == noise.values[np.arange(count) + first]).all()


def test_named_draws_repeat() -> None:
    noise, names = OptimalRule(0.5, 1e-4), np.arange(4000, dtype=np.uint64).reshape(-1, 2)
    first = draw_from(NamedBits(bytes(64), names), noise, 2000, noise.step)
    again = draw_from(NamedBits(bytes(64), names[::-1].copy()), noise, 2000, noise.step)
    assert (first == again[::-1]).all() and len(np.unique(first)) > 5


def test_the_magnitude_has_its_law_in_floats_and_balls() -> None:
    noise = OptimalRule(1.0, 1e-6)
    law = noise.marginal
    assert law_of(law, law.step).slack < 1e-6
    sizes = np.abs(noise.values) * noise.step
    for x in (0.5, 2.0, 7.0):
        assert 2.0 * float(law.sf(x)) == pytest.approx(float(noise.masses[sizes > x].sum()), rel=1e-9)
    assert law.variance == pytest.approx(float(noise.masses @ sizes**2), rel=1e-9)
    assert noise.scaled(2.0).variance == pytest.approx(4.0 * noise.variance)
    assert noise.scaled(2.0).threshold == 2.0 * noise.threshold


def test_sums_and_differences_have_their_own_law() -> None:
    """Two draws added, and one subtracted from another, by their definition."""
    noise = OptimalRule(1.0, 0.01)
    for weights in ((1.0, 1.0), (1.0, -1.0), (-2.0, -2.0)):
        chances: dict[float, float] = {}
        for (x, p), (y, q) in itertools.product(zip(noise.values, noise.masses, strict=True), repeat=2):
            size = abs(weights[0] * x + weights[1] * y)
            chances[size] = chances.get(size, 0.0) + p * q
        for missed in (0.3, 0.01):
            wanted = min(w for w in chances if sum(p for size, p in chances.items() if size > w) <= missed)
            assert reach_of_sum(noise, [((w,), 1) for w in weights], missed) == wanted
    assert reach_of_sum(noise, [((1.0,), 1), ((2.0,), 1)], 0.1) is None


def test_bad_parameters_are_refused() -> None:
    for epsilon, delta in ((0.0, 1e-6), (1.0, 0.0), (1.0, 0.9), (100.0, 1e-6), (1.0, 1e-30)):
        with pytest.raises(hush.InvalidParameter):
            OptimalRule(epsilon, delta)
    with pytest.raises(hush.Unsupported, match="points"):
        OptimalRule(1e-4, 1e-6)


ROWS = pa.table({"person": np.arange(9000), "group": [f"g{int(i**0.5)}" for i in range(9000)]})


def test_an_answer_with_optimal_rule_noise() -> None:
    """Charge, draws, intervals, totals, receipt and statement."""
    query = (
        tables.table(ROWS, unit="person")
        .group_by("group", keys="private", groups_per_unit=1)
        .aggregate(people=tables.count_units())
    )
    plan = query.plan(1.0, 1e-6, limits_share=0.0)
    assert "OptimalRule" in plan.why and "all 1 numbers" not in plan.why
    ledger = hush.Ledger(None, epsilon=1.0, delta=1e-6)
    answer = plan.answer(ledger=ledger, level=0.99)
    assert answer.receipt["noise"]["family"] == "optimal_rule"
    found = answer.to_arrow().to_pydict()
    truth = {f"g{i}": 2 * i + 1 for i in range(94)} | {"g94": 9000 - 94 * 94}
    inside = [
        low <= truth[g] <= high
        for g, low, high in zip(found["group"], found["people_low"], found["people_high"], strict=True)
    ]
    assert 80 <= len(inside) <= 95 and sum(not one for one in inside) <= 12  # 8 deviations and more
    assert min(found["people"]) >= plan.spent.threshold - 0.5  # shown as whole numbers
    total = answer.total("people", level=1.0 - 1e-6)
    assert total.low <= sum(truth[g] for g in found["group"]) <= total.high
    deviation = math.sqrt(len(inside) * plan.spent.noise.variance)
    assert 4.0 * deviation < (total.high - total.low) / 2.0 < 6.5 * deviation  # 4.9 for a Gaussian law
    assert "OptimalRule" in hush.report.statement(answer, ledger=ledger).markdown
    assert ledger.spent.epsilon <= 1.0 and ledger.spent.delta <= 1e-6
