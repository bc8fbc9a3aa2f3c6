"""Published bugs where one person moves a number further than the noise was made for."""

from __future__ import annotations

import math
import warnings
from typing import Any

import numpy as np
import pyarrow as pa
import pytest
from museum.rows import nothing_found, people

import hush
import hush.learn
from hush import tables
from hush.workload import Marginals


def released(value: float, sensitivity: float) -> float:
    plan = hush.calibrate(1.0, 0.0, sensitivity, family="laplace")
    return float(hush.release(value, plan, ledger=None).value)


def is_found(function: Any, data: Any, neighbour: Any, kind: str = "sensitivity") -> None:
    """The attack has power: a replay of the few lines with the bug finds it."""
    found = hush.audit.replay(function, data, neighbour)
    assert kind in {one.kind for one in found.findings}, found


def mean_of(column: str, low: float, high: float) -> Any:
    def function(data: pa.Table) -> Any:
        query = tables.table(data, unit="person").aggregate(m=tables.mean(column, low=low, high=high))
        answer = query.answer(1.0, 1e-6, ledger=None, family="laplace")
        return answer.to_arrow(), repr(answer)

    return function


@pytest.fixture(scope="module")
def fitted() -> Any:
    """A private regression as a function of rows."""

    def function(rows: Any) -> Any:
        model = hush.learn.Ridge(
            epsilon=2.0, delta=1e-5, bounds=[(0, 100), (5, 10)], target_bounds=(9000, 10000), neighbours="add-remove"
        )
        with warnings.catch_warnings():
            warnings.simplefilter("ignore")
            model.fit(rows[:, :2], rows[:, 2])
        return model.coef_, model.intercept_, repr(model.receipt_)

    return function


def table_of(rows: int) -> Any:
    random = np.random.default_rng(7)
    return np.column_stack([random.uniform(0, 1, rows), random.uniform(5, 10, rows), random.uniform(9000, 10000, rows)])


def test_clipped_rows_that_were_not_used() -> None:
    def covariance(values: list[float]) -> float:
        np.clip(values, 0.0, 5.0)  # the clipped copy is thrown away
        return released(float(np.sum(values)), 5.0)

    is_found(covariance, [1.0, 2.0, 3.0, 100.0], [1.0, 2.0, 3.0])
    data = people(9, x=[1.0, 2.0, 3.0, 100.0, -50.0, 1e300, 2.0, 3.0, 4.0])
    nothing_found(mean_of("x", 0.0, 5.0), data, data.slice(0, 8))
    nothing_found(mean_of("x", 0.0, 5.0), data, pa.concat_tables([data.slice(0, 5), data.slice(6)]))


def test_lower_bound_used_twice(fitted: Any) -> None:
    low, high = 0.0, 100.0
    sensitivity = max(abs(low), abs(low)) ** 2
    assert sensitivity == 0.0  # so no noise at all: the released square is the exact one
    with pytest.raises(hush.InvalidParameter):
        hush.calibrate(1.0, 0.0, sensitivity)
    is_found(lambda rows: released(float((rows[:, 0] ** 2).sum()), 1.0), np.array([[90.0], [1.0]]), np.array([[1.0]]))
    assert high > low
    data = np.vstack([table_of(60), [[100.0, 10.0, 10000.0]]])
    nothing_found(fitted, data, data[:-1])


def test_one_share_of_the_budget_for_centres_of_x_and_y(fitted: Any) -> None:
    """Two centres were released on one share: the composition of both is more than was counted."""
    share = hush.Laplace(1.0)
    assert float(hush.compose([(share, 1.0, 2)]).epsilon(0.0)) > 1.9 * float(hush.curve(share).epsilon(0.0))
    data = table_of(50)
    spent: list[float] = []

    def charged(rows: Any) -> Any:
        ledger = hush.Ledger(None, epsilon=4.0, delta=1e-4)
        model = hush.learn.Ridge(
            epsilon=2.0,
            delta=1e-5,
            bounds=[(0, 100), (5, 10)],
            target_bounds=(9000, 10000),
            neighbours="add-remove",
            ledger=ledger,
        )
        with warnings.catch_warnings():
            warnings.simplefilter("ignore")
            model.fit(rows[:, :2], rows[:, 2])
        charges = [charge for entry in ledger.entries for charge in entry.charges]
        spent.append(float(hush.compose(charges).epsilon(1e-5)))
        return model.coef_

    nothing_found(charged, data, data[:-1])  # every draw of the fit, the centres too, is in the charge
    assert max(spent) <= 2.0


def test_range_for_the_size_of_targets(fitted: Any) -> None:
    """Noise for max - min of the targets, where a person adds a target of up to the largest one."""

    def noisy_sum(targets: list[float]) -> float:
        return released(float(np.sum(targets)), 10000.0 - 9000.0)

    is_found(noisy_sum, [9500.0, 10000.0], [9500.0])
    data = np.vstack([table_of(50), [[0.0, 5.0, 10000.0]]])
    nothing_found(fitted, data, data[:-1])


def test_missing_numbers_pass_a_clip(fitted: Any) -> None:
    def clipped_sum(values: list[float]) -> float:
        return float(np.sum(np.clip(values, 0.0, 5.0)))

    assert math.isnan(clipped_sum([1.0, math.nan])) and clipped_sum([1.0]) == 1.0
    data = people(6, x=[1.0, math.nan, 3.0, math.inf, -math.inf, None])
    for place in range(6):
        fewer = pa.concat_tables([data.slice(0, place), data.slice(place + 1)])
        found = hush.audit.replay(mean_of("x", 0.0, 5.0), data, fewer)
        assert found.draws and not found.violated, found
    with_nan = np.vstack([table_of(40), [[math.nan, 7.0, 9500.0]]])
    with pytest.raises(ValueError, match="NaN"):
        fitted(with_nan)


def test_sensitivity_of_shares_for_counts() -> None:
    """PrivBayes: noise for probabilities, which move by 2/n, was added to counts, which move by 2."""
    rows = 50

    def too_little(records: Any) -> list[float]:
        return [released(float((records[:, 0] == k).sum()), 2.0 / rows) for k in range(2)]

    records = np.random.default_rng(3).integers(0, 2, (rows, 2))
    is_found(too_little, records, records[:-1])
    plan = Marginals({"a": 2, "b": 2}, order=2).plan(1.0, 1e-6)

    def tables_of_two(given: Any) -> Any:
        answer = plan.answer(given, ledger=None)
        return answer.table("a", "b"), answer.table("a")

    nothing_found(tables_of_two, records, records[:-1])


def test_noise_that_vanishes_at_a_limit_of_a_setting() -> None:
    """The scale 2 (d - k)/(n epsilon) is 0 for k = d: all attributes in one table, and no noise."""
    attributes = parents = 2
    scale = 2.0 * (attributes - parents) / (50 * 1.0)
    assert 17.0 + np.random.default_rng().laplace(0.0, scale) == 17.0  # the exact count is published
    records = np.random.default_rng(4).integers(0, 2, (50, 2))
    for order in (1, 2):  # 2 is the full table of all attributes
        plan = Marginals({"a": 2, "b": 2}, order=order).plan(1.0, 0.0)
        assert plan.rmse > 0.5
        nothing_found(lambda given, plan=plan: plan.answer(given, ledger=None).table("a"), records, records[:-1])
    with pytest.raises(hush.InvalidParameter):
        hush.Laplace(0.0)


def test_scale_divided_by_the_number_of_dimensions() -> None:
    """MWEM: a count moves by 1 whatever the number of attributes, but the noise was divided by it."""
    noise, claimed = hush.Laplace(1.0 / 4.0), 1.0
    assert float(hush.curve(noise).epsilon(0.0)) > 3.9 * claimed
    for attributes in (1, 2, 4, 8):
        plan = Marginals({f"a{i}": 2 for i in range(attributes)}, order=1).plan(1.0, 0.0)
        assert float(plan.rmse) >= 1.0  # never less than the noise for one count
        records = np.random.default_rng(5).integers(0, 2, (20, attributes))
        nothing_found(lambda given, plan=plan: plan.answer(given, ledger=None).table("a0"), records, records[:-1])


def test_a_column_that_is_computed_after_its_groups_were_limited() -> None:
    """A person had at most one row in each of 10 groups; then the column was overwritten, and all are one group."""

    def merged_after_the_limit(rows: list[tuple[int, int]]) -> float:
        kept = sorted(set(rows))[:40]
        return released(float(len([1 for _ in kept])), 1.0)

    many = [(person, group) for person in range(3) for group in range(10)]
    is_found(merged_after_the_limit, many, [row for row in many if row[0] != 0])
    made = pa.table({"person": [p for p, _ in many], "g": [g for _, g in many]})

    def merged(data: pa.Table) -> Any:
        table = tables.table(data, unit="person")
        one = table.mutate(g=table["g"] * 0)
        query = one.group_by("g", keys=[0], groups_per_unit=1).aggregate(n=tables.count(rows_per_unit=2))
        return query.answer(1.0, 0.0, ledger=None, family="laplace").to_arrow()

    nothing_found(merged, made, made.filter(pa.compute.greater(made["person"], 0)))


def test_codes_that_follow_the_order_of_rows() -> None:
    """The code of a category was the order of its first row: one row at the top changed the value of all others."""

    def coded(values: list[float]) -> float:
        bins = [value > 1.0 for value in values]
        code = {b: place for place, b in enumerate(dict.fromkeys(bins))}
        return released(float(sum(code[b] for b in bins)), 1.0)

    data = [2.0] + [0.5] * 100
    is_found(coded, data, data[1:])
    made = people(101, x=data)

    def histogram(rows: pa.Table) -> Any:
        table = tables.table(rows, unit="person")
        high = table.mutate(code=(table["x"] > 1.0).cast("int64"))
        query = high.aggregate(s=tables.sum("code", low=0, high=1))
        return query.answer(1.0, 0.0, ledger=None, family="laplace").to_arrow()

    nothing_found(histogram, made, made.slice(1))
    nothing_found(histogram, made, made.slice(0, 100))


def test_less_noise_for_less_budget() -> None:
    """A platform charged less for an answer with less noise."""

    def charged(sigma: float) -> float:
        return sigma / 100.0  # the direction of the bug

    assert charged(0.01) < charged(1.0)
    spent = []
    for sigma in (0.5, 1.0, 2.0, 4.0, 8.0):
        ledger = hush.Ledger(None, epsilon=50.0, delta=1e-5)
        ledger.spend((hush.Gaussian(sigma), 1.0, 1))
        spent.append(ledger.spent.epsilon)
    assert spent == sorted(spent, reverse=True) and len(set(spent)) == 5
