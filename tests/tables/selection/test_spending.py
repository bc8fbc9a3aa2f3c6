"""Quantiles of queries by exact selection: their law through the public call, their cost, and what they show."""

from __future__ import annotations

import datetime
import itertools
import json
import math
from fractions import Fraction

import numpy as np
import pytest

pa = pytest.importorskip("pyarrow")
pytest.importorskip("ibis")

from tables.selection.laws import counts_of, law_of, spread  # noqa: E402

import hush  # noqa: E402
import hush.cli  # noqa: E402
from hush import tables  # noqa: E402
from hush.privacy.charge import Budget  # noqa: E402
from hush.privacy.compose import compose  # noqa: E402
from hush.tables.selection.law import Shape, quantile_cells  # noqa: E402

INCOME = np.minimum(np.exp(np.random.default_rng(5).normal(10.0, 0.8, 20_000)), 1e6)
WARDS = np.arange(20_000) % 5
PEOPLE = tables.table(
    pa.table({"who": np.arange(20_000), "income": INCOME, "age": (INCOME % 90).astype(int), "ward": WARDS}),
    unit="who",
)
MEDIAN = float(np.median(INCOME))


def ranks_off(values: np.ndarray, q: float, rows: np.ndarray = INCOME) -> np.ndarray:
    """How many rows values miss a quantile by."""
    ordered = np.sort(rows)
    below, upto = np.searchsorted(ordered, values, "left"), np.searchsorted(ordered, values, "right")
    return np.maximum(0.0, np.maximum(below - q * rows.size, q * rows.size - upto))


def test_a_median_is_right_whatever_its_bounds() -> None:
    for high in (1e6, 1e12):
        asked = PEOPLE.aggregate(m=tables.median("income", low=0, high=high, step=0.5))
        answer = asked.answer(1.0, 1e-6, ledger=None)
        assert answer["m_low"][0] <= MEDIAN <= answer["m_high"][0] and ranks_off(answer["m"], 0.5)[0] < 60.0
        assert answer["m_low"][0] <= answer["m"][0] <= answer["m_high"][0]


def test_the_law_through_the_public_call_has_the_range_that_is_charged() -> None:
    """All tables of up to five rows on four values, and one person more: at the rate of the plan, never above."""
    rows = tables.table(pa.table({"who": [1], "x": [0]}), unit="who")
    plan = rows.aggregate(m=tables.median("x", low=0, high=3, intervals=False)).plan(1.0, 0.0, limits_share=0.0)
    choices, largest = plan.shares.choices, 0.0
    (measure,) = plan.query.shown
    shape, grid, (q,) = choices.shape(measure), measure.chosen.grid, measure.chosen.fractions
    eta = float(hush.epsilon(choices.noise, 0.0, 1.0))
    assert choices.choices == 1 and eta == pytest.approx(0.99, rel=1e-6) and grid.size == 4
    for n in range(6):
        for cells in itertools.combinations_with_replacement(range(4), n):
            before = law_of(counts_of(cells, 4), q * n, q, shape)
            for more in range(4):
                after = law_of(counts_of((*cells, more), 4), q * (n + 1), q, shape)
                largest = max(largest, spread(after, before))
    assert 0.999 * eta < largest <= eta * (1.0 + 1e-12)


def test_draws_of_a_payment_have_the_law() -> None:
    """4,000 draws; the chi-squared statistic of 6 cells exceeds 37 with probability 1e-6 at most. Two thirds and three
    halves of the rate are rejected.
    """
    cells, draws = [0, 1, 1, 1, 1, 1, 1, 1, 1, 2, 3, 5] * 3, 4000
    rows = tables.table(pa.table({"who": np.arange(len(cells)), "x": cells}), unit="who")
    asked = rows.aggregate(m=tables.quantile("x", 0.75, low=0, high=5, intervals=False))
    choices = asked.plan(0.35, 0.0, limits_share=0.0).shares.choices
    counts, q, rate = counts_of(cells, 6), Fraction(3, 4), 1.0 / choices.noise.scale
    payment = hush.unaccounted(choices.charge.repeated(draws))

    def once(draw, bits):
        return [quantile_cells(counts, [q], Shape(rate), draw)[0] for _ in range(draws)]

    found = np.bincount(payment.select(choices.charge.repeated(draws), draws, once), minlength=6)

    def distance(factor: float) -> float:
        law = law_of(counts, q * len(cells), q, Shape(rate * factor))
        return sum((found[g] - draws * p) ** 2 / (draws * p) for g, p in law.items())

    assert distance(1.0) < 37.0 < min(distance(2.0 / 3.0), distance(1.5))
    with pytest.raises(hush.NotPaid):
        payment.select(choices.charge, 1, once)


def test_quartiles_by_ward_and_their_charge() -> None:
    asked = PEOPLE.group_by("ward", keys=list(range(5)), groups_per_unit=2)
    plan = asked.aggregate(q=tables.quantile("income", [0.75, 0.25, 0.5], low=0, high=1e6)).plan(1.0, 1e-6)
    assert plan.shares.choices.choices == 2 * (2 + 6)
    ledger = hush.Ledger(None, epsilon=1.0, delta=1e-6)
    answer = plan.answer(ledger=ledger)
    assert answer.names == ("q_q75", "q_q25", "q_q50")
    (entry,) = ledger.entries
    assert Budget(1.0, 1e-6).covers(compose(list(entry.charges)))
    for ward in range(5):
        rows = INCOME[ward == WARDS]
        for q in (0.25, 0.5, 0.75):
            name = f"q_q{int(100 * q)}"
            truth = float(np.quantile(rows, q, method="inverted_cdf"))
            assert answer[f"{name}_low"][ward] <= truth <= answer[f"{name}_high"][ward]
        assert answer["q_q25"][ward] <= answer["q_q50"][ward] <= answer["q_q75"][ward]


def test_groups_that_are_found_privately_get_choices_only_if_they_are_shown() -> None:
    wards = pa.table({"who": np.arange(2003), "x": np.arange(2003.0), "ward": ["a"] * 1000 + ["b"] * 1000 + ["c"] * 3})
    asked = tables.table(wards, unit="who").group_by("ward", keys="private", groups_per_unit=1)
    answer = asked.aggregate(m=tables.median("x", low=0, high=1e4)).answer(2.0, 1e-6, ledger=None)
    assert answer.to_arrow().column("ward").to_pylist() == ["a", "b"]
    assert answer["m"][0] < 1000.0 <= answer["m"][1] < 2000.0


def test_empty_tables_and_groups_have_an_answer_of_the_same_form() -> None:
    empty = tables.table(pa.table({"who": pa.array([], pa.int64()), "x": pa.array([], pa.float64())}), unit="who")
    for q in (0.5, [0.1, 0.5, 0.9]):
        answer = empty.aggregate(m=tables.quantile("x", q, low=-1, high=1)).answer(1.0, 0.0, ledger=None)
        for name in answer.names:
            assert -1.0 <= answer[f"{name}_low"][0] <= answer[name][0] <= answer[f"{name}_high"][0] <= 1.0
    values = pa.array([None, math.nan], pa.float64())
    null = tables.table(pa.table({"who": [1, 2], "x": values}), unit="who")
    assert len(null.aggregate(m=tables.median("x", low=0, high=1)).answer(1.0, 0.0, ledger=None)) == 1


def test_without_intervals_the_ends_are_unknown() -> None:
    levels = [i / 10 for i in range(1, 10)]
    answer = PEOPLE.aggregate(d=tables.quantile("income", levels, low=0, high=1e6)).answer(1.0, 1e-6, ledger=None)
    assert answer.to_arrow().column("d_q50_low").to_pylist() == [None]
    values = [answer[f"d_q{int(100 * q)}"][0] for q in levels]
    assert values == sorted(values) and "[" not in answer.text().split("\n")[1]
    assert float(np.mean([ranks_off(np.array([v]), q)[0] for q, v in zip(levels, values, strict=True)])) < 60.0


def test_many_equal_values_have_right_quartiles() -> None:
    zeros = np.concatenate([np.zeros(18_000), 500.0 * np.arange(1, 2001)])
    rows = tables.table(pa.table({"who": np.arange(zeros.size), "stay": zeros}), unit="who")
    answer = rows.aggregate(s=tables.quantile("stay", [0.25, 0.5, 0.75], low=0, high=1e6)).answer(1.0, 0.0, ledger=None)
    assert [answer[name][0] for name in answer.names] == [0.0, 0.0, 0.0]


def test_a_plan_says_beforehand_how_many_rows_an_interval_is_off() -> None:
    plan = PEOPLE.aggregate(m=tables.median("age", low=0, high=1_000_000)).plan(1.5, 0.0, limits_share=0.0)
    # three ranges of 0.495 each
    assert plan.errors()["m"] == pytest.approx(math.log(2 * 1_000_002 / 0.05) / 0.495, rel=1e-6)
    assert "within 36 rows" in plan.described() and "no noise is added" in plan.why


def test_releases_that_are_planned_together_and_answers_that_are_kept() -> None:
    ledger = hush.Ledger(None, epsilon=1.0, delta=1e-6)
    plan = PEOPLE.aggregate(m=tables.median("income", low=0, high=1e6), n=tables.count()).plan(1.0, 1e-6, times=3)
    first = plan.answer(ledger=ledger, release=1)
    again = plan.answer(ledger=ledger, release=1)
    assert first["m"][0] == again["m"][0] and first["m_low"][0] == again["m_low"][0]
    with pytest.raises(hush.InvalidParameter, match=r"write level=0\.95"):
        plan.answer(ledger=ledger, release=1, level=0.5)
    for release in (2, 3):
        plan.answer(ledger=ledger, release=release)
    assert ranks_off(first["m"], 0.5)[0] < 300.0


def test_dates_are_days_and_bounds_may_be_found() -> None:
    first = datetime.date(2020, 1, 1)
    days = [first + datetime.timedelta(days=int(i)) for i in np.arange(3000) % 365]
    rows = tables.table(pa.table({"who": np.arange(3000), "day": days}), unit="who")
    asked = rows.aggregate(d=tables.median("day", low=first, high=datetime.date(2020, 12, 31)))
    found = asked.answer(5.0, 0.0, ledger=None).table.column("d")[0].as_py()
    assert abs((found - first).days - 177) < 4
    found = PEOPLE.aggregate(m=tables.median("income", low="private", high="private", rows_per_unit=1))
    assert ranks_off(found.answer(3.0, 1e-6, ledger=None)["m"], 0.5)[0] < 300.0


def test_a_written_file_has_the_same_columns(tmp_path) -> None:
    import pyarrow.parquet

    plan = PEOPLE.aggregate(m=tables.median("income", low=0, high=1e6)).plan(1.0, 1e-6)
    receipt = plan.write(tmp_path / "m.parquet", ledger=None)
    assert receipt["choices"]["levels"] == {"m": ["1/2"]}
    assert pyarrow.parquet.read_table(tmp_path / "m.parquet").column_names == ["m", "m_low", "m_high"]


def test_on_the_command_line_and_in_sql(tmp_path, capsys) -> None:
    import pyarrow.parquet

    path = tmp_path / "people.parquet"
    pyarrow.parquet.write_table(pa.table({"who": np.arange(20_000), "income": INCOME}), path)
    options = ["--unit", "who", "--epsilon", "1", "--delta", "1e-6", "--json"]
    assert hush.cli.main(["answer", str(path), "--median", "income:0:1000000", *options]) == 0
    (row,) = json.loads(capsys.readouterr().out)["answer"]
    assert row["income_median_low"] <= MEDIAN <= row["income_median_high"]
    assert ranks_off(np.array([row["income_median"]]), 0.5)[0] < 60.0
    income = {"income": tables.ColumnRule(low=0, high=1e6)}
    rule = tables.TableRule(str(path), unit="who", columns=income, rows_per_unit=1)
    policy = tables.Policy({"people": rule})
    text = "SELECT MEDIAN(income) AS m, PERCENTILE_CONT(0.9) WITHIN GROUP (ORDER BY income) AS p FROM people"
    answer = hush.sql(text, policy, epsilon=2.0, delta=1e-6, ledger=None)
    assert ranks_off(answer["m"], 0.5)[0] < 60.0 and ranks_off(answer["p"], 0.9)[0] < 120.0
