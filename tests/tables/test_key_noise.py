"""Noise and threshold for private keys, chosen together: against reference values, and in answers."""

from __future__ import annotations

import json
import math
from pathlib import Path

import numpy as np
import pyarrow as pa
import pytest

import hush
from hush import tables
from hush.noise.plateau import Plateau
from hush.tables.column_law import ColumnLaw
from hush.tables.contribution import Part, Reach
from hush.tables.key_rule import key_rule
from hush.tables.noise_choice import spending

PEOPLE = Part("n", ("n",), 1, one_sided=True, people=True)


def reach(groups: int, further: int = 0) -> Reach:
    return Reach(groups, (PEOPLE, *(Part(f"x{i}", (f"x{i}",), 1, one_sided=True) for i in range(further))))


def reference(data_dir: Path, name: str) -> list[tuple[dict, float]]:
    rows = json.loads((data_dir / "keys.json").read_text())["rows"]
    return [(row["args"], row["value"]) for row in rows if row["name"] == name]


def plateau(groups: int, epsilon: float, kinds: int = 0, offset: float = 0.0) -> tuple[Plateau, float]:
    noise = Plateau(("people", *("one_sided",) * kinds), groups / epsilon, (0.0, *(offset,) * kinds))
    bound = hush.Sensitivity(columns=(1.0,) * (kinds + 1), l0=groups, one_sided=True, people=0)
    rule = key_rule(
        hush.Charge(noise, bound), ColumnLaw(noise.marginal_of(0), 1.0), groups, epsilon * (1.0 + 1e-12), 1e-6
    )
    return noise, rule.threshold


def test_cut_noise_has_the_reference_thresholds_and_variances(data_dir) -> None:
    for args, value in reference(data_dir, "truncated_dlap_threshold"):
        assert plateau(args["l0"], args["eps"])[1] == value
    for args, value in reference(data_dir, "truncated_joint_threshold"):  # the offset of a number is half of C
        noise, threshold = plateau(args["l0"], args["eps"], args["m"], args["C"] // 2)
        assert threshold == value
    for args, value in reference(data_dir, "truncated_joint_var_units"):
        noise, _ = plateau(args["l0"], args["eps"], args["m"], args["C"] // 2)
        assert noise.variance[0] == pytest.approx(value, rel=2e-4)
    for args, value in reference(data_dir, "truncated_joint_var_other"):
        noise, _ = plateau(args["l0"], args["eps"], args["m"], args["C"] // 2)
        assert noise.variance[1] == pytest.approx(value, rel=2e-4)


def test_gaussian_noise_with_the_max_rule_has_the_reference_thresholds(data_dir) -> None:
    """On a lattice, so up to one more, or 1 %."""
    for args, value in reference(data_dir, "gaussian_exact_threshold"):
        made = spending(reach(args["l0"]), args["eps"], 1e-6, units="n", family="gaussian")
        assert value - 1e-6 <= made.threshold <= max(value + 1.0, 1.01 * value), args


@pytest.mark.parametrize(("groups", "further", "size"), [(5, 0, 61), (10, 2, 103)])
def test_the_choice_is_at_least_as_good_as_the_reference(groups: int, further: int, size: int) -> None:
    """The least group that is shown with probability 0.9, at (1, 1e-6)."""
    made = spending(reach(groups, further), 1.0, 1e-6, units="n")
    assert made.rule.size_shown(made.mechanisms["n"]) <= size
    assert float(hush.compose([made.charge]).delta(1.0)) <= 1e-6
    assert made.noise.variance is not None and "shown" in made.plan.why


def test_bumps_have_the_reference_thresholds_and_variances(data_dir) -> None:
    for args, value in reference(data_dir, "bump_variance"):
        assert hush.Bump(args["beta"], args["A"]).variance == pytest.approx(value, rel=1e-6)
    args, value = next(row for row in reference(data_dir, "bump_threshold") if row[0]["beta"] == 8)
    law, bound = hush.Bump(8.0, args["A"]), hush.Sensitivity(linf=1.0, l0=10)
    assert key_rule(hush.Charge(law, bound), ColumnLaw(law, 1.0), 10, 1.0, 1e-6).threshold <= value + 1.0


def test_objectives_trade_what_they_say() -> None:
    made = {goal: spending(reach(3, 2), 1.0, 1e-6, units="n", keys_for=goal) for goal in ("shown", "threshold")}
    made["variance"] = spending(reach(3, 2), 1.0, 1e-6, units="n", keys_for="variance", family="plateau")
    sizes = {goal: one.rule.size_shown(one.mechanisms["n"]) for goal, one in made.items()}
    totals = {goal: float(np.sum(one.noise.variance)) for goal, one in made.items()}
    assert sizes["shown"] <= 1.04 * min(sizes.values()) and totals["variance"] <= min(totals.values())
    assert sizes["shown"] < sizes["variance"] and totals["shown"] < totals["threshold"]
    assert made["threshold"].threshold <= min(one.threshold for one in made.values())
    assert made["variance"].threshold <= 50.5 and totals["variance"] <= 1.01 * (39.7 + 2 * 32.2)
    with pytest.raises(hush.InvalidParameter, match="keys_for"):
        spending(reach(3), 1.0, 1e-6, units="n", keys_for="keys")


ROWS = pa.table(
    {
        "person": np.repeat(np.arange(6000), 2),
        "group": [f"g{(i * 7919) % 120}" for i in range(12000)],
        "days": (np.arange(12000) * 7) % 30,
    }
)


def test_lifted_noise_in_an_answer() -> None:
    """Charge, draws, intervals, receipt and statement of a query with five groups and three columns."""
    query = (
        tables.table(ROWS, unit="person")
        .group_by("group", keys="private", groups_per_unit=5)
        .aggregate(people=tables.count_units(), days=tables.mean("days", low=0, high=30))
    )
    plan = query.plan(1.0, 1e-6, family="lifted", limits_share=0.0)
    ledger = hush.Ledger(None, epsilon=1.0, delta=1e-6)
    answer = plan.answer(ledger=ledger)
    assert answer.receipt["noise"]["family"] == "lifted" and len(ledger.entries) == 1
    assert answer.receipt["keys"]["groups"] == 5 and answer.receipt["keys_for"] == "shown"
    table = answer.to_arrow().to_pydict()
    truth = {}
    for group, day in zip(ROWS["group"].to_pylist(), ROWS["days"].to_pylist(), strict=True):
        truth.setdefault(group, []).append(day)
    inside = [
        low <= len(truth[group]) <= high
        for group, low, high in zip(table["group"], table["people_low"], table["people_high"], strict=True)
    ]
    assert len(inside) >= 100  # 100 people in each of 120 groups, against a threshold of about 57
    misses = len(inside) - sum(inside)
    assert misses <= 0.05 * len(inside) + 4.9 * math.sqrt(0.05 * 0.95 * len(inside))
    page = hush.report.statement(answer, ledger=ledger).markdown
    assert "found privately" in page and "Lifted" in page
    assert ledger.spent.epsilon <= 1.0 and ledger.spent.delta <= 1e-6


def test_a_group_beyond_the_cut_is_not_shown() -> None:
    made = spending(reach(2), 1.0, 1e-6, units="n", family="plateau")
    assert made.rule.keys.cut is not None
    exact = {"n": np.array([1000, 1000, 1000])}
    far = {"n": np.array([1000.0, 1001.0 + made.rule.keys.cut, 999.0 - made.rule.keys.cut])}
    assert made.shown(far, exact).tolist() == [0]
