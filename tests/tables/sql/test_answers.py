"""Answers of statements: columns, intervals, HAVING, ORDER BY, formulas, EXPLAIN, the ledger, the command line."""

from __future__ import annotations

import datetime
import json
import math

import numpy as np
import pyarrow as pa
import pytest
from tables.sql.conftest import visits

import hush
from hush import Ledger
from hush.cli import main
from hush.tables.execution import Request
from hush.tables.policy import ColumnRule, Policy, TableRule
from hush.tables.sql import StatementPlan, statement
from hush.tables.sql.interval import Triple, constant, divided, plus, sample_factor, times

QUICK = {"family": "gaussian", "limits_share": 0.0}


def ask(text, policy, epsilon=50.0, **given):
    """An answer with hardly any noise."""
    return hush.sql(text, policy, epsilon=epsilon, delta=1e-6, **QUICK, **given)


def test_columns_in_the_order_of_select(policy):
    made = ask("SELECT COUNT(*) AS n, ward AS w, AVG(age) FROM visits GROUP BY ward", policy)
    assert made.to_arrow().column_names == ["n", "n_low", "n_high", "w", "avg_age", "avg_age_low", "avg_age_high"]
    assert made.to_arrow().column("w").to_pylist() == ["surgery", "burns", "maternity"]
    assert "statement" in made.summary()


def test_having_order_and_limit_use_released_values(policy):
    text = "SELECT item, COUNT(*) AS n FROM orders WHERE item IN ('pen', 'paper', 'pencil', 'ink') GROUP BY item"
    plain = ask(text, policy).to_arrow()
    assert plain.num_rows == 4
    made = ask(f"{text} HAVING COUNT(*) > 20 ORDER BY n DESC, item LIMIT 2", policy).to_arrow()
    assert made.num_rows == 2
    numbers = made.column("n").to_pylist()
    assert numbers == sorted(numbers, reverse=True)
    assert "ink" not in made.column("item").to_pylist()
    by_key = ask(f"{text} ORDER BY item DESC LIMIT 1 OFFSET 1", policy).to_arrow()
    assert by_key.column("item").to_pylist() == ["pen"]


def test_functions_of_released_values(policy):
    made = ask(
        "SELECT ward, CASE WHEN COUNT(*) > 10 THEN 'many' ELSE 'few' END AS size, COUNT(*) > 10 AS big FROM visits "
        "GROUP BY ward HAVING AVG(age) BETWEEN 0 AND 120 AND ward LIKE '%u%'",
        policy,
    ).to_arrow()
    assert made.column("size").to_pylist() == ["many"] * made.num_rows
    assert made.column("big").to_pylist() == [True] * made.num_rows
    assert set(made.column("ward").to_pylist()) == {"surgery", "burns"}


def test_dates_come_back_as_dates(policy):
    made = ask("SELECT MIN(day) AS first, MAX(day) AS last FROM visits", policy).to_arrow().to_pylist()[0]
    assert all(isinstance(value, datetime.date) for value in made.values())
    assert made["first_low"] <= made["first"] <= made["last"] <= made["last_high"]


def test_quantiles_of_a_list(policy):
    made = ask("SELECT APPROX_QUANTILES(cost, 4) AS q FROM visits", policy, dialect="bigquery")
    assert made.names == ("q_q0", "q_q25", "q_q50", "q_q75", "q_q100")
    single = ask("SELECT APPROX_QUANTILES(cost, 4)[OFFSET(2)] AS half FROM visits", policy, dialect="bigquery")
    assert single.names == ("half",)


def test_a_list_with_the_ends_is_chosen_between_them(policy):
    """The quartiles of an APPROX_QUANTILES are those of a list without 0 and 1: chosen, not from a coarse grid."""
    with pytest.warns(hush.WeakGuarantee):
        made = ask("SELECT APPROX_QUANTILES(cost, 4) AS q FROM visits", policy, dialect="bigquery", epsilon=200.0)
    assert made.receipt["choices"]["levels"] == {"q": ["1/4", "1/2", "3/4"]}
    row = made.to_arrow().to_pylist()[0]
    assert list(row)[:3] == ["q_q0", "q_q0_low", "q_q0_high"] and list(row)[-3] == "q_q100"
    alone = ask("SELECT APPROX_QUANTILES(cost, 1) AS q FROM visits", policy, dialect="bigquery")
    assert alone.names == ("q_q0", "q_q100") and "choices" not in alone.receipt


def test_a_formula_and_its_interval(policy):
    """With hardly any noise, a formula is close to the one of the counts, and the interval contains it. The 1 keeps the
    quotient from being one mean, which loses other rows at the limits than two counts do.
    """
    made = ask(
        "SELECT 100 * COUNTIF(urgent) / (COUNT(*) + 1) AS share, COUNTIF(urgent) AS u, COUNT(*) AS n FROM visits",
        policy,
    )
    row = made.to_arrow().to_pylist()[0]
    part = row["u"] / (row["n"] + 1)
    # the counts are shown as whole numbers; the formula uses them before they are rounded
    assert abs(row["share"] - 100 * part) <= 50 * (1 + part) / (row["n"] + 0.5)
    assert row["share_low"] < row["share"] < row["share_high"]
    # the ends of the parts, at the level of 97.5 % each, are wider than those of the answer at 95 %
    assert row["share_low"] <= 100 * row["u_low"] / (row["n_high"] + 1)
    assert row["share_high"] >= 100 * row["u_high"] / (row["n_low"] + 1)


def test_a_share_of_the_rows_has_no_bias_of_two_limits(policy):
    """Two counts lose different shares of their rows: with three rows of a person, 37 % were urgent, of truly 30 %."""
    truth = 100.0 * float(np.mean(visits()["urgent"].to_numpy(zero_copy_only=False)))
    text = "SELECT 100 * COUNTIF(urgent) / COUNT(*) AS share, COUNTIF(urgent) AS u, COUNT(*) AS n FROM visits"
    row = ask(text, policy).to_arrow().to_pylist()[0]
    assert abs(row["share"] - truth) < 4.0 < 100 * row["u"] / row["n"] - truth


def test_formulas_cover_the_truth_at_their_level(policy, monkeypatch):
    """Of 60 answers at epsilon 0.5, the 80 % interval of a ratio misses at most as often as the level allows.

    The number of misses is at most binomial(60, 0.2): more than 28 have a probability below 1e-6. The engine runs once;
    noise and formulas are new each time.
    """
    asked = statement("SELECT SUM(stay_days) / COUNT(stay_days) AS r FROM visits", policy)
    plan = asked.plan(0.5, 1e-6, **QUICK)
    run, found = Request._exact, []

    def once(ready):
        found.extend([] if found else [run(ready)])
        return found[0]

    monkeypatch.setattr(Request, "_exact", staticmethod(once))
    rows = [plan.answer(ledger=None, level=0.8).to_arrow().to_pylist()[0] for _ in range(60)]
    exact, _ = found[0]
    columns = {name: exact.column(name).to_numpy() for name in exact.column_names}
    total, number = (float(measure.answer(columns)[0]) for measure in asked.query.shown)
    assert sum(not row["r_low"] <= total / number <= row["r_high"] for row in rows) <= 28
    assert len({row["r"] for row in rows}) > 50


def test_variance_of_a_sample(policy):
    made = ask("SELECT VAR_SAMP(age) AS s, VAR_POP(age) AS p, COUNT(age) AS n, STDDEV(age) AS d FROM visits", policy)
    row = made.to_arrow().to_pylist()[0]
    near = [row["p"] * n / (n - 1) for n in (row["n"] + 0.5, row["n"] - 0.5)]  # the shown count is rounded
    assert near[0] <= row["s"] <= near[1]
    assert row["d"] == pytest.approx(math.sqrt(row["s"]), rel=1e-6)


def test_interval_arithmetic_contains_every_value():
    """Random intervals, and random points of them."""
    draw = np.random.default_rng(3)

    def triple(counts=False):
        ends = np.sort(draw.normal(0.0, 10.0, (2, 400)), axis=0)
        point = ends[0] + draw.random(400) * (ends[1] - ends[0])
        if counts:
            ends, point = np.round(ends), np.maximum(np.round(ends[1]), 1.0)
        return Triple(point, ends[0], ends[1], counts), point

    for counts in (False, True):
        (a, x), (b, y) = triple(), triple(counts)
        for made, truth in (
            (plus(a, b), x + y),
            (plus(a, b, -1.0), x - y),
            (times(a, b), x * y),
            (divided(a, b), x / y),
        ):
            inside = (made.low <= truth) & (truth <= made.high)
            assert inside[(b.high >= 1.0) | ~np.full(400, counts)].all()
    halves = divided(constant(1.0), Triple(np.zeros(1), -np.ones(1), np.ones(1)))
    assert np.isnan(halves.value[0]) and halves.low[0] == -np.inf and halves.high[0] == np.inf
    n = Triple(np.array([10.0]), np.array([5.0]), np.array([20.0]), True)
    made = sample_factor(n)
    assert made.low[0] <= 20 / 19 and made.high[0] >= 5 / 4 and made.value[0] == pytest.approx(10 / 9)


def test_together_widens_the_intervals(policy):
    text = "SELECT COUNT(*) AS n, COUNTIF(urgent) AS u FROM visits"
    alone, together = (ask(text, policy, epsilon=1.0, together=both) for both in (False, True))
    width = [float(made["n_high"][0] - made["n_low"][0]) for made in (alone, together)]
    assert width[1] > width[0]
    assert together.receipt["together"] is True


# -- the budget ----------------------------------------------------------------------------------------------


def test_explain_spends_nothing(policy, tmp_path):
    with Ledger(tmp_path / "budget.ledger", epsilon=3.0, delta=1e-5) as ledger:
        plan = hush.sql("EXPLAIN SELECT COUNT(*) AS n FROM visits", policy, 1.0, 1e-6, ledger=ledger, **QUICK)
        assert isinstance(plan, StatementPlan)
        assert "nothing was spent" in repr(plan) and "n" in plan.errors()
        assert len(ledger.entries) == 0
        made = hush.sql("SELECT COUNT(*) AS n FROM visits", policy, 1.0, 1e-6, ledger=ledger, label="rows", **QUICK)
        assert len(ledger.entries) == 1 and made.receipt["ledger"]["number"] == 1


def test_the_ledger_of_the_policy_is_charged(policy, tmp_path):
    from dataclasses import replace

    path = tmp_path / "visits.ledger"
    Ledger(path, epsilon=1.05, delta=1e-5).close()
    strict = Policy({"visits": replace(policy.tables["visits"], ledger=str(path), max_epsilon=1.0)})
    made = hush.sql("SELECT COUNT(*) AS n FROM visits", strict, 1.0, 1e-6, **QUICK)
    assert made.receipt["ledger"]["number"] == 1
    with pytest.raises(hush.HushError, match="at most 1"):
        hush.sql("SELECT COUNT(*) AS n FROM visits", strict, 1.2, 1e-6, **QUICK)
    with pytest.raises(hush.BudgetExceeded):
        hush.sql("SELECT COUNT(*) AS n FROM visits", strict, 1.0, 1e-6, **QUICK)
    with Ledger(tmp_path / "other.ledger", epsilon=9.0, delta=1e-3) as other:
        with pytest.raises(hush.HushError, match="policy charges"):
            hush.sql("SELECT COUNT(*) AS n FROM visits", strict, 0.1, 1e-6, ledger=other, **QUICK)
        assert len(other.entries) == 0


def test_options_of_the_statement_may_only_be_tighter(policy):
    clause = "SELECT WITH DIFFERENTIAL_PRIVACY OPTIONS(epsilon = 0.5, max_groups_contributed = 1) ward, COUNT(*) AS n"
    asked = statement(f"{clause} FROM visits GROUP BY ward", policy, "bigquery")
    assert asked.query.grouping.groups == 1
    assert asked.plan(1.0, 1e-6, **QUICK).plan.shares.epsilon == 0.5
    with pytest.raises(hush.HushError, match="asks for epsilon"):
        asked.plan(0.1, 1e-6, **QUICK)


# -- the command line ----------------------------------------------------------------------------------------

TOML = """
[tables.visits]
source = "visits.parquet"
unit = "patient_id"
groups_per_unit = 2
rows_per_unit = 3

[tables.visits.columns]
ward = { values = ["surgery", "burns", "maternity"] }
age = { low = 0, high = 120 }
"""


@pytest.fixture
def folder(tmp_path, policy):
    database = policy.tables["visits"].source.get_backend()
    database.con.execute(f"COPY visits TO '{tmp_path / 'visits.parquet'}' (FORMAT parquet)")
    (tmp_path / "hush.toml").write_text(TOML)
    return tmp_path


def test_the_command(folder, capsys):
    given = ["--policy", str(folder / "hush.toml"), "--epsilon", "1", "--delta", "1e-6", "--family", "gaussian"]
    text = "SELECT ward, COUNT(DISTINCT patient_id) AS people, AVG(age) FROM visits GROUP BY ward"
    assert main(["sql", text, *given]) == 0
    shown = capsys.readouterr()
    assert "people" in shown.out and "surgery" in shown.out and "no ledger" in shown.err
    out = folder / "answer.csv"
    assert main(["sql", text, *given, "--out", str(out), "--limits-share", "0"]) == 0
    assert out.read_text().startswith('"ward","people","people_low"')
    capsys.readouterr()
    assert main(["sql", f"EXPLAIN {text}", *given, "--json"]) == 0
    assert set(json.loads(capsys.readouterr().out)["errors"]) == {"people", "avg_age"}
    (folder / "q.sql").write_text("SELECT COUNT(*) AS n\nFROM visits;\n")
    assert main(["sql", str(folder / "q.sql"), *given, "--json", "--limits-share", "0"]) == 0
    assert json.loads(capsys.readouterr().out)["answer"][0].keys() == {"n", "n_low", "n_high"}
    assert main(["sql", "SELECT DISTINCT ward FROM visits", *given]) == 2
    assert "Write instead: SELECT ward, COUNT(DISTINCT patient_id)" in capsys.readouterr().err
    assert main(["sql", text, *given[:2]]) == 2
    assert "epsilon" in capsys.readouterr().err


def test_private_bounds_are_found(tmp_path):
    table = pa.table({"u": list(range(500)), "x": [float(i % 50) for i in range(500)]})
    rule = TableRule(table, unit="u", rows_per_unit=1, columns={"x": ColumnRule("private", "private")})
    policy = Policy({"t": rule})
    made = hush.sql("SELECT AVG(x) AS m FROM t", policy, 20.0, 1e-6, family="gaussian", limits_share=0.0)
    assert 15.0 < float(made["m"][0]) < 35.0
    with pytest.raises(hush.HushError, match="found privately"):
        hush.sql("SELECT AVG(x) / COUNT(*) AS m FROM t", policy, 20.0, 1e-6, family="gaussian", limits_share=0.0)
