"""One joint draw for the columns of a group: its size, its privacy facts, its intervals and its draws."""

from __future__ import annotations

import math
import sys
from pathlib import Path

import numpy as np
import pyarrow as pa
import pytest
from scipy.stats import binom

import hush
from hush import tables
from hush.noise.level_noise import LevelNoise
from hush.noise.level_sums import joint_half_widths
from hush.tables.asking import Asking
from hush.tables.column_draws import named_noise
from hush.tables.output import Recipe

sys.path.insert(0, str(Path(__file__).parents[1]))
from paid import noisy_columns

ROWS = pa.table(
    {
        "person": np.arange(3000) % 900,
        "ward": [f"ward {n % 7}" for n in range(3000)],
        "days": (np.arange(3000) * 7) % 30,
        "change": (np.arange(3000) * 5) % 21 - 10,
    }
)


def query(**aggregates):
    grouped = tables.table(ROWS, unit="person").group_by("ward", keys="private", groups_per_unit=3)
    return grouped.aggregate(**aggregates)


DEMO = {"people": tables.count_units(), "days": tables.mean("days", low=0, high=30)}


def planned(found, **options):
    return found.plan(1.0, 1e-6, limits_share=0.0, **options)


def test_the_demo_query_needs_a_third_of_the_variance_and_a_lower_threshold() -> None:
    """People, a sum and a count in three unknown groups: 139.7 each and a threshold of 93 with independent noise."""
    joint = planned(query(**DEMO), keys_for="variance")
    alone = planned(query(**DEMO), family="independent", keys_for="variance")
    sizes = dict(zip((part.columns[0] for part in joint.spent.drawn), joint.spent.noise.variance, strict=True))
    assert sizes["people"] <= 50.0 and sizes["days.sum"] <= 60.0 and sizes["days.count"] <= 50.0
    assert joint.spent.threshold <= 55.0
    assert alone.spent.plan.variance > 130.0 and alone.spent.threshold > 70.0
    # pure noise leaves all of delta for the keys
    assert 0.9e-6 < joint.spent.key_delta <= 1e-6 and joint.spent.plan.delta == 0.0
    charge = joint.spent.charge
    assert hush.curve(charge.noise, charge.sensitivity).pure_epsilon <= 1.0


def test_the_facts_of_the_charge_are_those_of_the_columns() -> None:
    bound = planned(query(**DEMO)).spent.plan.sensitivity
    assert (bound.l0, bound.people, bound.one_sided) == (3, 0, (True, False, True))
    signed = planned(query(n=tables.count(), up=tables.sum("days", low=0, high=30),
                           both=tables.sum("change", low=-10, high=10)))  # fmt: skip
    # one row of a person counts, so the number of rows is the number of people, which decides about private keys
    assert signed.spent.plan.sensitivity.one_sided == (True, True, False)
    assert signed.spent.plan.sensitivity.people == 0
    rows = planned(query(n=tables.count(rows_per_unit=2), up=tables.sum("days", low=0, high=30)))
    assert rows.spent.plan.sensitivity.people == 2  # a hidden number of people comes last


def test_columns_whose_bounds_are_found_later_count_as_two_sided() -> None:
    """The placeholder [0, 1] would be one-sided, but the bounds that are found may have both signs."""
    found = query(
        people=tables.count_units(), total=tables.sum("change", low="private", high="private", rows_per_unit=1)
    )
    spent = found.plan(1.0, 1e-6).spent
    assert spent.plan.sensitivity.one_sided == (True, False)


def test_counts_that_move_by_one_have_whole_number_noise() -> None:
    grouped = tables.table(ROWS, unit="person").group_by("ward", keys=["ward 1", "ward 2"], groups_per_unit=2)
    plan = planned(grouped.aggregate(n=tables.count(), people=tables.count_units()))
    assert plan.spent.noise.step == 1.0 and plan.spent.plan.variance < planned(
        grouped.aggregate(n=tables.count(), people=tables.count_units()), family="independent"
    ).spent.plan.variance  # fmt: skip
    answer = plan.answer(ledger=hush.Ledger(None, epsilon=1.0, delta=1e-6))
    assert all(float(value).is_integer() for value in answer.to_arrow().column("n").to_pylist())


def test_weights_choose_the_offsets() -> None:
    plain, weighted = planned(query(**DEMO)), planned(query(**DEMO), weights={"people": 4.0})
    assert weighted.spent.noise.variance[0] < 0.9 * plain.spent.noise.variance[0]


@pytest.mark.parametrize("level", [0.8, 0.95, 0.999])
def test_intervals_of_counts_means_and_variances_cover(level: float) -> None:
    """20,000 groups with known exact columns, at 1e-6; intervals three quarters as wide would not cover."""
    made = planned(query(people=tables.count_units(), days=tables.mean("days", low=0, high=30),
                         spread=tables.variance("days", low=0, high=30)))  # fmt: skip
    spent, groups, rows = made.spent, 20_000, 400
    assert isinstance(spent.noise, LevelNoise)
    days = np.arange(rows) % 31
    exact = _exact(made, days)
    released = noisy_columns({name: np.full(groups, number) for name, number in exact.items()}, spent)
    truths = {"people": rows, "days": days.mean(), "spread": days.var()}
    recipe = Recipe.of(made.query, spent, level)
    for aggregate, name in zip(recipe.shown, recipe.names, strict=True):
        low, high = (np.asarray(end).ravel() for end in aggregate.ends(released))
        inside = int(((low <= truths[name] + 1e-9) & (truths[name] - 1e-9 <= high)).sum())
        assert inside >= binom.isf(1.0 - 1e-6, groups, level), name
        if name == "people":
            middle, half = 0.5 * (low + high), 0.375 * (high - low)
            narrow = int((np.abs(middle - truths[name]) <= half).sum())
            assert narrow < binom.isf(1.0 - 1e-6, groups, level), name


def _exact(made, days) -> dict[str, int]:
    """The integer columns of one group with these values, one row for each person."""
    relation = pa.table({"person": np.arange(days.size), "ward": ["w"] * days.size, "days": days, "change": days})
    found = tables.table(relation, unit="person").group_by("ward", keys=["w"], groups_per_unit=1)
    aggregates = {"people": tables.count_units(), "days": tables.mean("days", low=0, high=30),
                  "spread": tables.variance("days", low=0, high=30)}  # fmt: skip
    exact = found.aggregate(**aggregates).aggregates().to_arrow()
    return {name: exact.column(name)[0].as_py() for name in made.spent.mechanisms}


@pytest.mark.parametrize("level", [0.5, 0.95, 0.9999])
def test_half_widths_of_weighted_sums_are_those_of_the_draws(level: float) -> None:
    """The law of weighted sums by simulation (400,000 draws, 1e-6): covered, and hardly wider than needed."""
    noise = hush.Plateau(("people", "two_sided", "one_sided", "one_sided"), 20.0, (0.0, 5.0, 12.0, 12.0))
    draws = hush.draw(noise, 400_000)
    factors = np.array([[1.0, 0, 0, 0], [0, 1.0, 0, 0], [0, 0, 1.0, 0], [0, 1.0, 0.7, 0], [0, 0, 1.0, 1.0],
                        [1.0, 0.0, 0.5, 0.0], [0.001, 1.0, 0.0002, 0.0]])  # fmt: skip
    widths = joint_half_widths(noise, factors, level)
    for row, width in zip(factors, widths, strict=True):
        inside = int((np.abs(draws @ row) <= width).sum())
        assert inside >= binom.isf(1.0 - 1e-6, 400_000, level)
        narrower = (0.97 if level <= 0.95 else 0.9) * width - 1.0  # forty misses are expected at the last level
        assert (np.abs(draws @ row) <= narrower).mean() < level


def test_half_widths_grow_with_the_level_up_to_the_highest() -> None:
    """The formula cancels; at the highest levels its rounding errors are bounded, and widths stay near those of one
    column with a wide and a narrow part.
    """
    noise = hush.Plateau(("two_sided", "one_sided"), 20.0, (5.0, 12.0))
    levels = [0.5, 0.9, 0.99, 0.9999, 0.999999, 0.99999999, 0.999999999]
    for factors in ([1.0, 0.002], [1.0, 0.03], [1.0, 1.0]):
        widths = [float(joint_half_widths(noise, np.array([factors]), level)[0]) for level in levels]
        assert widths == sorted(widths)
        for width, level in zip(widths, levels, strict=True):
            alone = float(noise.marginal_of(0).isf(0.5 * (1.0 - level)))
            assert alone <= width <= 1.1 * alone + 3.0 if factors[1] < 0.1 else alone <= width


def test_factors_of_both_signs_are_covered() -> None:
    """A difference of two counts has less noise than a sum; the half width is that of the sum."""
    noise = hush.Plateau(("one_sided", "one_sided"), 20.0, (4.0, 4.0))
    draws = hush.draw(noise, 200_000)
    (width,) = joint_half_widths(noise, np.array([[1.0, -1.0]]), 0.95)
    assert (np.abs(draws[:, 0] - draws[:, 1]) <= width).mean() > 0.95


def test_noise_by_name_repeats_and_is_one_draw_for_each_group() -> None:
    spent = planned(query(**DEMO)).spent
    from hush.ledger import unaccounted

    size = 2000
    names = np.random.default_rng(3).integers(0, 2**63, (size, 2), dtype=np.uint64)
    exact = {name: np.full(size, 700, dtype=np.int64) for name in spent.mechanisms}

    def noisy(keep, secret=bytes(64)):
        draws = spent.open(unaccounted(spent.charge), "answers")
        part = {name: column[: len(keep)] for name, column in exact.items()}
        return named_noise(part, spent, draws, names[keep], secret)

    whole, some = noisy(np.arange(size)), noisy(np.array([7, 3, 490]))
    assert all((some[name] == whole[name][[7, 3, 490]]).all() for name in whole)
    assert any((noisy(np.arange(size), bytes(range(64)))[name] != whole[name]).any() for name in whole)
    people, count, covariance = whole["people"] - 700.0, whole["days.count"] - 700.0, spent.plan.noise.covariance
    expected = covariance[0, 2] / math.sqrt(covariance[0, 0] * covariance[2, 2])
    assert expected > 0.4  # they share the middle of their interval
    # of Laplace tails: their kurtosis doubles the variance of a correlation; a false alarm has probability 1e-6
    deviation = math.sqrt(2.0 / size) * (1.0 - expected**2)
    assert np.corrcoef(people, count)[0, 1] == pytest.approx(expected, abs=4.9 * deviation)


def test_a_query_may_name_joint_noise_or_refuse_it() -> None:
    assert planned(query(**DEMO), family="plateau").spent.plan.family == "plateau"
    assert planned(query(**DEMO), family="independent").spent.joint is None
    assert planned(query(people=tables.count_units()), family="plateau").spent.plan.family == "plateau"
    with pytest.raises(hush.Unsupported, match="no threshold for private keys is proved with interval noise"):
        planned(query(people=tables.count_units()), family="interval")


def test_a_histogram_in_the_query_keeps_independent_noise() -> None:
    bins = query(people=tables.count_units(), ages=tables.histogram("days", edges=[0, 10, 20, 30]))
    assert planned(bins, family="laplace").spent.joint is None
    assert bins.plan(1.0, 1e-6, limits_share=0.0).spent.joint is None


def test_receipt_ledger_and_statement_speak_of_the_joint_draw(tmp_path) -> None:
    ledger = hush.Ledger(tmp_path / "book.ledger", epsilon=2.0, delta=1e-5)
    answer = query(**DEMO).answer(1.0, 1e-6, ledger=ledger, label="wards")
    assert answer.receipt["noise"]["family"] == "plateau"
    again = hush.Ledger(tmp_path / "book.ledger")
    assert 0.99 < again.spent.epsilon <= 1.0
    text = str(hush.report.statement(answer))
    assert "Plateau" in text or "plateau" in text


def test_intervals_of_a_row_hold_together() -> None:
    """20,000 rows of two answers, at 1e-6. Intervals for each answer alone hold together less often than 95 %."""
    made = planned(query(people=tables.count_units(), both=tables.sum("change", low=-10, high=10)))
    rows, held = 20_000, {}
    exact = {name: np.full(rows, 300, dtype=np.int64) for name in made.spent.mechanisms}
    released = noisy_columns(exact, made.spent)
    for together in (False, True):
        request = made._request(Asking(None, together=together))
        inside = np.ones(rows, dtype=bool)
        for aggregate in Recipe.of(made.query, made.spent, request.level_of_each).shown:
            truth = float(aggregate.answer(exact)[0])
            low, high = aggregate.ends(released)
            inside &= (low <= truth) & (truth <= high)
        held[together] = int(inside.sum())
    assert held[True] >= binom.isf(1.0 - 1e-6, rows, 0.95) > held[False]
    answer = made.answer(ledger=None, together=True)
    assert answer.receipt["together"] and "for all numbers of a row at once" in str(answer)
    with pytest.raises(hush.InvalidParameter, match="together"):
        made.answer(ledger=None, together=1)
