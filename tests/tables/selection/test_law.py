"""The law of quantiles by selection: against reference values, and over all small tables and all their neighbours."""

from __future__ import annotations

import itertools
import json
import math
from collections import Counter
from collections.abc import Iterator
from fractions import Fraction
from typing import Any

import numpy as np
import pytest
from conftest import oracle_dir
from tables.selection.laws import all_outcomes, counts_of, divergence, law_of, run_errors, spread

from hush.privacy.by_selection import Choices
from hush.sampling.choice import Runs, chosen
from hush.sampling.entropy import DeterministicTestEntropy
from hush.tables.selection.field import Counts, Field
from hush.tables.selection.law import (
    Shape,
    ends_of,
    level_of,
    levels_of,
    move_of,
    quantile_cells,
    shift_of,
    split_cells,
)

LEVELS = [Fraction(1, 4), Fraction(1, 3), Fraction(1, 2), Fraction(2, 3), Fraction(9, 10)]
QUARTILES = [Fraction(1, 4), Fraction(1, 2), Fraction(3, 4)]
UNIT = 2**20


def reference(name: str) -> list[Any]:
    folder = oracle_dir()
    rows = json.loads((folder / "quantiles.json").read_text())["rows"] if folder else []
    asked = [row for row in rows if row["name"] == name]
    return [pytest.param(row["args"], row["value"], id=str(i)) for i, row in enumerate(asked)]


def named(args: dict[str, Any]) -> Counts:
    """The named data sets of the reference values."""
    i = np.arange(1, args["n"] + 1)
    return counts_of(
        {"quad": i * i // 400, "quad_k": 1000 * (i * i // 400000), "unif": 50 * i}[args["data"]], args["grid"]
    )


def weighted(persons: list[list[int]], size: int) -> Counts:
    """Counts in which each person has the weight of one row (2^20 parts), divided among its rows."""
    parts: Counter[int] = Counter()
    for rows in persons:
        for cell in rows:
            parts[cell] += UNIT // len(rows)
    cells = np.array(sorted(parts), dtype=np.int64)
    return Counts(size, cells, np.ones_like(cells), np.array([parts[int(c)] for c in cells], dtype=np.int64))


def one_law(args: dict[str, Any], cells: list[int], rate: float | None = None) -> dict[int, float]:
    q = Fraction(args["q"])
    shape = Shape(args["eta"] / 2.0 if rate is None else rate, args["rows_per_person"])
    return law_of(counts_of(cells, args["grid"]), q * len(cells), q, shape)


# -- one choice ----------------------------------------------------------------------------------------------


@pytest.mark.parametrize(("args", "value"), reference("law"))
def test_the_law_of_one_choice(args: dict[str, Any], value: list[str]) -> None:
    found = one_law(args, args["x"])
    assert [found[g] for g in range(args["grid"])] == pytest.approx([float(v) for v in value], rel=1e-12)


@pytest.mark.parametrize(("args", "value"), reference("person_weighted_law"))
def test_the_law_where_each_person_counts_once(args: dict[str, Any], value: list[str]) -> None:
    counts, q = weighted(args["persons"], args["grid"]), Fraction(args["q"])
    found = law_of(counts, q * counts.total, q, Shape(args["eta"] / 2.0, unit=UNIT))
    assert [found[g] for g in range(args["grid"])] == pytest.approx([float(v) for v in value], rel=1e-12)


def test_draws_have_the_law() -> None:
    """40,000 draws; the chi-squared statistic of 8 cells exceeds 42 with probability 1e-6 at most. Two thirds and three
    halves of the rate are rejected.
    """
    counts, q, draws = counts_of([0, 2, 2, 2, 5, 7, 7], 8), Fraction(1, 4), 40_000
    bits, shape = DeterministicTestEntropy(21).begin(), Shape(0.5)

    def draw(runs: Runs, move: Fraction) -> tuple[int, int]:
        return chosen(runs, Fraction(shape.rate) / move, bits)

    found = Counter(quantile_cells(counts, [q], shape, draw)[0] for _ in range(draws))

    def distance(rate: float) -> float:
        law = law_of(counts, q * counts.total, q, Shape(rate))
        return sum((found[g] - draws * chance) ** 2 / (draws * chance) for g, chance in law.items())

    assert distance(0.5) < 42.0 < min(distance(1.0 / 3.0), distance(0.75))


def data_sets(cells: int, rows: int) -> Iterator[tuple[int, ...]]:
    for n in range(rows + 1):
        yield from itertools.combinations_with_replacement(range(cells), n)


@pytest.mark.parametrize("q", LEVELS)
@pytest.mark.parametrize("most", [1, 2])
def test_the_losses_of_all_small_tables_and_their_neighbours_lie_in_the_interval(q: Fraction, most: int) -> None:
    """T1: one person with up to `most` rows more or less. The largest interval is the one that is charged."""
    eta, size, largest = 1.0, 4, 0.0
    shape = Shape(eta / 2.0, most)

    def law(rows: tuple[int, ...]) -> dict[int, float]:
        return law_of(counts_of(rows, size), q * len(rows), q, shape)

    for rows in data_sets(size, 5):
        before = law(rows)
        for k in range(1, most + 1):
            for more in itertools.combinations_with_replacement(range(size), k):
                found = spread(law(rows + more), before)
                assert found <= eta * (1.0 + 1e-12)
                largest = max(largest, found)
    assert largest > eta * (0.99 if q < Fraction(9, 10) else 0.8)  # few rows do not reach the end of an extreme level


@pytest.mark.parametrize("q", LEVELS)
def test_replaced_people_need_their_own_move(q: Fraction) -> None:
    """T2: c = eta/(2 rows) for one choice from all rows; with the move of added people the interval is too long unless
    the quantile is extreme.
    """
    eta, size, largest, with_other = 1.0, 4, 0.0, 0.0
    scale = float(move_of(q, 1, "replace") / move_of(q))

    def law(rows: tuple[int, ...], rate: float) -> dict[int, float]:
        return law_of(counts_of(rows, size), q * len(rows), q, Shape(rate))

    for rows in data_sets(size, 4):
        for i, cell in itertools.product(range(len(rows)), range(size)):
            changed = (*rows[:i], cell, *rows[i + 1 :])
            found = spread(law(rows, eta / 2.0 / scale), law(changed, eta / 2.0 / scale))
            assert found <= eta * (1.0 + 1e-12)
            largest = max(largest, found)
            with_other = max(with_other, spread(law(rows, eta / 2.0), law(changed, eta / 2.0)))
    assert largest > 0.499 * eta
    assert with_other > eta * 1.0001 or q == Fraction(9, 10)
    assert move_of(q, 3, "replace", parts=True) == 2 * move_of(q, 3)


@pytest.mark.parametrize("q", [Fraction(1, 2), Fraction(3, 4)])
def test_a_person_with_any_number_of_rows_counts_once(q: Fraction) -> None:
    """T4: weights of at most 1 for each person, no limit on rows."""
    eta, size, shape, largest = 1.0, 4, Shape(0.5, unit=UNIT), 0.0
    others: list[list[list[int]]] = [[], [[0]], [[1, 3]], [[0, 0, 2], [3]], [[1], [2], [2, 2, 3]]]
    for rest in others:
        before = weighted(rest, size)
        first = law_of(before, q * before.total, q, shape)
        for k in range(1, 5):
            for rows in itertools.combinations_with_replacement(range(size), k):
                after = weighted([*rest, list(rows)], size)
                found = spread(law_of(after, q * after.total, q, shape), first)
                assert found <= eta * (1.0 + 1e-12)
                largest = max(largest, found)
    assert largest > 0.99 * eta


def test_no_rows_make_a_uniform_choice() -> None:
    counts = counts_of([], 5)
    assert law_of(counts, Fraction(0), Fraction(1, 2), Shape(3.0)) == dict.fromkeys(range(5), 0.2)
    uniform = all_outcomes(lambda draw: tuple(split_cells(Field(counts), QUARTILES, Shape(3.0), draw)), 3.0)
    assert math.fsum(uniform.values()) == pytest.approx(1.0)


# -- accuracy ------------------------------------------------------------------------------------------------


@pytest.mark.parametrize(("args", "value"), reference("mean_rank_error"))
def test_the_mean_rank_error(args: dict[str, Any], value: float) -> None:
    """Only the window is looked at: what is outside changes nothing at this accuracy."""
    q, shape = Fraction(args["q"]), Shape(args["eta"] / 2.0, args["rows_per_person"])
    found = math.fsum(p * max(0.0, -depth) for _, _, p, depth in run_errors(named(args), q, shape))
    assert found == pytest.approx(value, rel=1e-7)


@pytest.mark.parametrize(("args", "value"), reference("tail_of_rank_error"))
def test_the_tail_of_the_rank_error(args: dict[str, Any], value: float) -> None:
    runs = run_errors(named(args), Fraction(args["q"]), Shape(args["eta"] / 2.0))
    assert math.fsum(p for _, _, p, depth in runs if -depth > args["more_than"]) == pytest.approx(value, rel=1e-6)


@pytest.mark.parametrize(("eta", "limit"), [(1.0, 1.05), (0.1, 9.7)])
@pytest.mark.parametrize("high", [10**6, 10**18])
def test_the_median_income_is_right_on_every_grid(eta: float, limit: float, high: int) -> None:
    income = np.minimum(np.exp(np.random.default_rng(5).normal(10.0, 0.8, 20_000)), 1e6).astype(np.int64)
    q = Fraction(1, 2)
    runs = run_errors(counts_of(income, high + 1), q, Shape(eta / 2.0))
    assert math.fsum(p * max(0.0, -depth) for _, _, p, depth in runs) < limit


@pytest.mark.parametrize(("args", "value"), reference("window"))
def test_the_window(args: dict[str, Any], value: int) -> None:
    shape = Shape(args["eta"] / 2.0, args["rows_per_person"])
    assert math.ceil(shape.reach(Fraction(args["q"]), args["grid"])) == value


# -- intervals -----------------------------------------------------------------------------------------------


@pytest.mark.parametrize(("args", "value"), reference("interval_shift"))
def test_the_shift_of_an_end(args: dict[str, Any], value: str) -> None:
    shape, q = Shape(args["epsilon_per_end"] / 2.0, args["rows_per_person"]), Fraction(args["q"])
    found = shape.shift(q, args["grid"], args["beta"])
    assert float(found) == pytest.approx(float(value), rel=1e-9) and found >= Fraction(value) - Fraction(1, 10**12)
    assert shift_of(args["grid"], 1.0, args["beta"]).denominator <= 2**40


@pytest.mark.parametrize(("args", "value"), reference("interval_end_law"))
def test_the_law_of_an_end(args: dict[str, Any], value: list[str]) -> None:
    counts, q, shape = counts_of(args["x"], args["grid"]), Fraction(args["q"]), Shape(args["epsilon_per_end"] / 2.0)
    target = q * counts.total - shape.shift(q, args["grid"], args["beta"])
    found = law_of(counts, target, q, shape, beyond=True)
    assert [found[g] for g in range(-1, args["grid"] + 1)] == pytest.approx([float(v) for v in value], rel=1e-9)


@pytest.mark.parametrize(("args", "value"), reference("interval_misses"))
def test_an_interval_misses_no_more_often_than_it_states(args: dict[str, Any], value: dict[str, float]) -> None:
    """Both ends of T8 on smooth rows, on rows with ties, and on the worst rows that were found."""
    if "data" in args:
        counts = named(args)
    else:
        cells = np.array(args["cells"], dtype=np.int64)
        counts = Counts(args["grid"], cells, np.ones_like(cells), np.array(args["rows"], dtype=np.int64))
    q, shape, total = Fraction(args["q"]), Shape(args["epsilon_per_end"] / 2.0), counts.total
    shift = shape.shift(q, args["grid"], args["beta"])
    ranks = np.concatenate([[0], counts.ends])
    low = math.fsum(
        p
        for first, width, p, _ in run_errors(counts, q, shape, q * total - shift, beyond=True)
        if ranks[np.searchsorted(counts.firsts, first)] >= q * total
    )
    high = math.fsum(
        p
        for first, width, p, _ in run_errors(counts, q, shape, q * total + shift, beyond=True)
        if total - ranks[np.searchsorted(counts.firsts, first, side="right")] >= (1 - q) * total
    )
    assert low == pytest.approx(value["low"], rel=1e-6, abs=1e-15)
    assert high == pytest.approx(value["high"], rel=1e-6, abs=1e-15)
    assert low + high <= args["beta"]


@pytest.mark.parametrize("q", [Fraction(1, 2), Fraction(9, 10)])
def test_the_ends_are_choices_of_the_same_range(q: Fraction) -> None:
    """T8 adds two cells, and the losses of all small tables still lie in the interval."""
    eta, size = 1.0, 4
    shape = Shape(eta / 2.0)
    shift = Fraction(3, 2)

    def law(rows: tuple[int, ...], way: int) -> dict[int, float]:
        return law_of(counts_of(rows, size), q * len(rows) + way * shift, q, shape, beyond=True)

    for rows in data_sets(size, 4):
        for cell, way in itertools.product(range(size), (-1, 1)):
            assert spread(law((*rows, cell), way), law(rows, way)) <= eta * (1.0 + 1e-12)


def test_both_ends_of_an_interval_are_drawn() -> None:
    counts, q, shape = counts_of(range(0, 1000, 2), 1000), Fraction(1, 2), Shape(2.0)
    bits = DeterministicTestEntropy(6).begin()
    for _ in range(50):
        low, high = ends_of(counts, q, shape, lambda runs, move: chosen(runs, Fraction(shape.rate) / move, bits), 0.05)
        assert -1 <= low <= 499 <= high <= 1000


# -- several quantiles ---------------------------------------------------------------------------------------


@pytest.mark.parametrize(("args", "value"), reference("split_three_law"))
def test_three_quantiles_of_a_column_without_ties(args: dict[str, Any], value: dict[str, Any]) -> None:
    counts, shape = counts_of(args["x"], args["grid"]), Shape(args["eta_per_level"] / 2.0)
    found = all_outcomes(lambda draw: tuple(split_cells(Field(counts), QUARTILES, shape, draw)), shape.rate)
    assert math.fsum(found.values()) == pytest.approx(1.0, rel=1e-12)
    for cells, chance in value["likeliest"]:
        assert found[tuple(cells)] == pytest.approx(float(chance), rel=1e-9)
    assert all(list(cells) == sorted(cells) for cells in found)


@pytest.mark.parametrize(("args", "value"), reference("split_tie_bits_law"))
def test_three_quantiles_with_tie_bits(args: dict[str, Any], value: dict[str, Any]) -> None:
    """Over all bits of all rows; and with bits that are drawn as a choice needs them: 400 fields, 6 standard errors."""
    shape, exact = Shape(args["eta_per_level"] / 2.0), Counter[tuple[int, ...]]()

    def triples(field: Field) -> dict[Any, float]:
        return all_outcomes(
            lambda draw: tuple(cell >> 1 for cell in split_cells(field, QUARTILES, shape, draw)), shape.rate
        )

    whole = list(itertools.product((0, 1), repeat=len(args["x"])))
    for coins in whole:
        fine = counts_of([2 * x + coin for x, coin in zip(args["x"], coins, strict=True)], 2 * args["grid"])
        for cells, chance in triples(Field(fine)).items():
            exact[cells] += chance / len(whole)
    for cells, chance in value["likeliest"]:
        assert exact[tuple(cells)] == pytest.approx(float(chance), rel=1e-9)
    bits, times, drawn = DeterministicTestEntropy(5).begin(), 400, []
    for _ in range(times):
        drawn.append(triples(Field(counts_of(args["x"], args["grid"]), 1, bits)))
    for cells, chance in exact.items():
        own = np.array([law.get(cells, 0.0) for law in drawn])
        assert abs(own.mean() - chance) <= 6.0 * own.std() / math.sqrt(times) + 1e-12


@pytest.mark.parametrize("most", [1, 2])
def test_a_level_of_a_split_costs_as_much_as_one_choice(most: int) -> None:
    """T5: three quantiles of up to four rows in four cells, all neighbours: two levels of range 1 each."""
    shape, epsilon = Shape(0.5, most), 0.6

    def law(rows: tuple[int, ...]) -> dict[Any, float]:
        counts = counts_of(rows, 4)
        return all_outcomes(lambda draw: tuple(split_cells(Field(counts), QUARTILES, shape, draw)), shape.rate)

    bound, largest = float(Choices(Fraction(1), 2).delta(epsilon)), 0.0
    for rows in data_sets(4, 3 if most == 1 else 2):
        before = law(rows)
        for more in itertools.combinations_with_replacement(range(4), most):
            after = law(tuple(sorted(rows + more)))
            found = max(divergence(before, after, epsilon), divergence(after, before, epsilon))
            assert all(abs(math.log(p / after[cells])) <= 2.0 for cells, p in before.items())  # the pure epsilon
            largest = max(largest, found)
    assert 0.9 * bound < largest <= bound


def mean_errors(counts: Counts, levels: list[Fraction], shape: Shape, times: int, *, tied: bool = True) -> float:
    """The mean rank error of several quantiles, over draws."""
    bits = DeterministicTestEntropy(8).begin()
    ranks, total = np.concatenate([[0], counts.ends]), 0.0
    for _ in range(times):
        cells = quantile_cells(
            counts, levels, shape, lambda r, move: chosen(r, Fraction(shape.rate) / move, bits), bits if tied else None
        )
        assert cells == sorted(cells)
        for q, cell in zip(levels, cells, strict=True):
            below, upto = (int(ranks[np.searchsorted(counts.firsts, cell, side=side)]) for side in ("left", "right"))
            total += max(0.0, -min(float(q * counts.total - below), float(upto - q * counts.total)))
    return total / times / len(levels)


NINE = [Fraction(i, 10) for i in range(1, 10)]


@pytest.mark.parametrize(("eta", "limit"), [(0.25, 6.7), (0.27551, 5.9)])
def test_nine_quantiles_of_a_smooth_column(eta: float, limit: float) -> None:
    """Four levels at epsilon 1, with delta 0 or 1e-6."""
    i = np.arange(1, 20_001)
    assert mean_errors(counts_of(i * i // 400, 10**6 + 1), NINE, Shape(eta / 2.0), 25) < limit


def test_nine_quantiles_of_a_column_of_mostly_zeros() -> None:
    """Without tie bits the targets of both parts are wrong by up to the share of the zeros."""
    zeros = np.concatenate([np.zeros(18_000, dtype=np.int64), 500 * np.arange(1, 2001)])
    shape = Shape(0.125)
    assert mean_errors(counts_of(zeros, 10**6 + 1), NINE, shape, 10) < 1.5
    wrong = split_cells(
        Field(counts_of(zeros, 10**6 + 1)), QUARTILES, Shape(50.0), lambda runs, move: (int(np.argmax(runs.scores)), 0)
    )
    assert wrong[2] > 100_000


def test_ages_have_right_deciles() -> None:
    ages = np.clip(np.random.default_rng(2).normal(45.0, 18.0, 20_000), 0.0, 127.0).astype(np.int64)
    assert mean_errors(counts_of(ages, 128), NINE, Shape(0.125), 10) < 1.0


def test_numbers_of_choices() -> None:
    assert [levels_of(m) for m in (1, 2, 3, 4, 7, 8, 99)] == [1, 2, 2, 3, 3, 4, 7]
    assert levels_of(5, tied=False) == 5
    assert level_of(0.9) == Fraction(9, 10) and level_of("0.05") == Fraction(1, 20)
