"""Published bugs where something public was computed from private rows: labels, ranges, sizes."""

from __future__ import annotations

import warnings
from typing import Any

import numpy as np
import pyarrow as pa
import pytest
from museum.rows import count, nothing_found, people

import hush
import hush.learn
from hush import tables
from hush.workload import Marginals


def is_found(function: Any, data: Any, neighbour: Any, kind: str) -> None:
    """The attack has power: a replay of the few lines with the bug finds it."""
    found = hush.audit.replay(function, data, neighbour)
    assert kind in {one.kind for one in found.findings}, found


def classifier(rows: Any) -> Any:
    model = hush.learn.LogisticRegression(epsilon=2.0, delta=1e-5, bounds=[(0, 1), (0, 1)], neighbours="add-remove")
    with warnings.catch_warnings():
        warnings.simplefilter("ignore")
        model.fit(rows[:, :2], rows[:, 2].astype(int))
    return model.classes_, model.coef_, model.intercept_, repr(model.receipt_)


def test_labels_from_the_rows() -> None:
    def classes(rows: Any) -> Any:
        found = np.unique(rows[:, 2])
        return found, [count([row for row in rows if row[2] == label]) for label in found]

    data = np.column_stack([np.random.default_rng(1).uniform(size=(40, 2)), np.zeros(40)])
    data = np.vstack([data, [0.5, 0.5, 1.0]])  # one person has the label 1
    is_found(classes, data, data[:-1], "noise")
    nothing_found(classifier, data, data[:-1])


def test_the_largest_value_as_the_domain() -> None:
    def sizes(records: Any) -> Any:
        domain = records.max(axis=0) + 1
        return [count(records) for _ in range(int(domain[0]))]

    records = np.array([[0, 1], [1, 0], [1, 1], [6, 1]])
    is_found(sizes, records, records[:-1], "noise")
    plan = Marginals({"a": 7, "b": 2}, order=1).plan(1.0, 0.0)
    nothing_found(lambda given: plan.answer(given, ledger=None).table("a"), records, records[:-1])

    def tabled(data: pa.Table) -> Any:
        asked = tables.table(data, unit="person").group_by("a", keys=range(7), groups_per_unit=1)
        return asked.aggregate(n=tables.count_units()).answer(1.0, 0.0, ledger=None, family="laplace").to_arrow()

    made = people(4, a=[0, 1, 1, 6])
    nothing_found(tabled, made, made.slice(0, 3))
    outside = people(5, a=[0, 1, 1, 6, 9])  # a value that nobody declared is in no group, and nothing is said
    nothing_found(lambda data: (tabled(data), count(data)), outside, outside.slice(0, 4))


def test_categories_of_the_rows_that_are_passed() -> None:
    def one_hot(data: pa.Table) -> Any:
        names = sorted(set(data["ward"].to_pylist()))
        return {name: count([w for w in data["ward"].to_pylist() if w == name]) for name in names}

    data = pa.table({"person": [1, 2, 3, 4], "ward": ["a", "a", "b", "rare"]})
    is_found(one_hot, data, data.slice(0, 3), "noise")

    def private(rows: pa.Table) -> Any:
        asked = tables.table(rows, unit="person").group_by("ward", keys="private", groups_per_unit=1)
        return asked.aggregate(n=tables.count_units()).answer(1.0, 1e-6, ledger=None, family="laplace").to_arrow()

    found = hush.audit.replay(private, data, data.slice(0, 3))
    assert found.draws and not found.violated, found
    with pytest.raises(hush.InvalidParameter, match="keys"):
        tables.table(data, unit="person").group_by("ward").aggregate(n=tables.count_units())


def test_the_number_of_rows_as_a_public_divisor() -> None:
    def mean(values: list[float]) -> float:
        plan = hush.calibrate(1.0, 0.0, 1.0, family="laplace")
        return float(hush.release(float(np.clip(values, -1.0, 1.0).sum()), plan, ledger=None).value) / len(values)

    is_found(mean, [0.5, 0.5, 0.5], [0.5, 0.5], "returned")
    data = people(20, x=[0.5] * 20)

    def private(rows: pa.Table) -> Any:
        query = tables.table(rows, unit="person").aggregate(m=tables.mean("x", low=-1.0, high=1.0))
        return query.answer(1.0, 1e-6, ledger=None, family="laplace").to_arrow()

    nothing_found(private, data, data.slice(1))


def test_bounds_from_the_rows() -> None:
    def clipped(values: list[float]) -> float:
        low, high = min(values), max(values)
        plan = hush.calibrate(1.0, 0.0, high - low, family="laplace")
        return float(hush.release(float(np.sum(values)), plan, ledger=None).value)

    is_found(clipped, [1.0, 2.0, 50.0], [1.0, 2.0], "noise")
    data = people(30, x=[float(i) for i in range(29)] + [1e6])

    def private_bounds(rows: pa.Table) -> Any:
        query = tables.table(rows, unit="person").aggregate(m=tables.mean("x", low="private", high="private"))
        return query.answer(2.0, 1e-6, ledger=None, family="laplace").to_arrow()

    nothing_found(private_bounds, data, data.slice(0, 29))
    with pytest.raises(hush.HushError, match="bounds"):
        hush.learn.LogisticRegression(epsilon=1.0, delta=1e-6).fit(np.zeros((9, 2)), np.zeros(9))


def steps_of(rows: int, batch: int) -> tuple[int, float]:
    """A trainer that computes rate and divisor from the number of rows."""
    loader = -(-rows // batch)
    rate = 1.0 / loader
    return int(rows * rate), rate


def test_a_divisor_of_gradients_from_the_number_of_rows() -> None:
    (ours, _), (theirs, _) = steps_of(1000, 50), steps_of(999, 50)
    assert (ours, theirs) == (50, 49)  # the released numbers are multiples of another unit: one of them tells
    unit = 2.0**-20
    noisy = hush.draw(hush.Gaussian(2.0**20), 200) * unit
    assert np.mean(np.abs(noisy / ours * ours / unit - np.rint(noisy / ours * ours / unit)) < 1e-6) == 1.0
    told = np.abs(noisy / theirs * ours / unit - np.rint(noisy / theirs * ours / unit)) < 1e-6
    assert np.mean(told) < 0.2
    # hush: rate, steps and divisor are arguments, and the same for both numbers of rows
    for_both = [hush.training(rows=1000, batch=50, steps=20, sigma=1.0) for _ in (1000, 999)]
    assert for_both[0].rate == for_both[1].rate and for_both[0].epsilon(1e-5) == for_both[1].epsilon(1e-5)

    def gradients(rows: Any) -> Any:
        made = hush.Mechanism.of(
            hush.calibrate(1.0, 1e-6, hush.Sensitivity(l2=1.0, dimension=2), family="gaussian"), coordinates=2
        )
        steps = made.on_lattice(np.clip(rows, -0.5, 0.5).sum(axis=0))
        return made.value_of(hush.unaccounted(made.charge).noise(made, steps)) / 50.0

    data = np.random.default_rng(2).uniform(-0.5, 0.5, (30, 2))
    nothing_found(gradients, data, data[:-1])


def test_a_floor_in_the_normaliser() -> None:
    """The floor of rows times rate changes with one row: with many outputs the two data sets are told apart."""
    for rows in (1000, 2000, 5000):
        (ours, _), (theirs, _) = steps_of(rows, 50), steps_of(rows - 1, 50)
        noise = np.random.default_rng().normal(size=10_000)
        spread = [float(np.std(noise / divisor)) for divisor in (ours, theirs)]
        assert abs(spread[0] / spread[1] - 1.0) > 0.019
    data = np.column_stack([np.random.default_rng(3).uniform(size=(31, 2)), np.arange(31) % 2])
    nothing_found(classifier, data, data[:-1])  # a fit of hush with one row less: the same scale, step and divisor
