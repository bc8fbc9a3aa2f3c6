"""Published channels beside the numbers: exceptions, state, the budget itself, and what a query may do with one row."""

from __future__ import annotations

import time
from typing import Any

import numpy as np
import pyarrow as pa
import pytest
from museum.rows import count, nothing_found, people

import hush
from hush import tables


def test_a_quantile_that_fails_for_some_rows() -> None:
    def probabilities(values: Any) -> Any:
        """Weights of the intervals between sorted rows, by exponentials that underflow."""
        made = np.sort(values)
        ranks = np.arange(made.size - 1)
        weights = np.diff(made) * np.exp(-np.abs(ranks - made.size / 2.0) * 500.0)
        if not weights.sum() > 0.0:
            raise RuntimeError("no candidate to return")
        return weights / weights.sum()

    with pytest.raises(RuntimeError):
        probabilities(np.array([5.0] * 40 + [0.0, 9.0]))
    probabilities(np.linspace(0.0, 9.0, 42))  # other rows: an answer. The failure tells how the rows lie
    same, spread = people(42, x=[5.0] * 40 + [0.0, 9.0]), people(42, x=np.linspace(0.0, 9.0, 42).tolist())

    def median(rows: pa.Table) -> Any:
        query = tables.table(rows, unit="person").aggregate(m=tables.quantile("x", 0.5, low=0, high=10))
        answer = query.answer(1.0, 1e-6, ledger=None, family="gaussian")
        return answer.to_arrow(), repr(answer)

    for data in (same, spread):
        nothing_found(median, data, data.slice(0, 41))


def test_an_exception_for_one_row() -> None:
    """A query whose own code fails, loops or returns another type for the row of one person."""

    def divided(rows: list[int]) -> int:
        return sum(10 // row for row in rows)

    with pytest.raises(ZeroDivisionError):
        divided([1, 2, 0])
    assert divided([1, 2]) == 15
    data = people(5, x=[1, 2, 0, 5, -1], t=["7", "x", "", "1e999", "2025-13-99"])

    def asked(rows: pa.Table) -> Any:
        table = tables.table(rows, unit="person")
        made = table.mutate(d=10 / table["x"], n=table["t"].try_cast("int64"), l=table["x"].ln())
        kept = made.filter((made["d"] > 0) | made["n"].isnull() | (made["l"] > 1))
        query = kept.aggregate(n=tables.count_units(), s=tables.sum("d", low=0, high=10))
        answer = query.answer(1.0, 0.0, ledger=None, family="laplace")
        return answer.to_arrow(), repr(answer)

    for place in range(5):
        fewer = pa.concat_tables([data.slice(0, place), data.slice(place + 1)])
        found = hush.audit.replay(asked, data, fewer)
        assert found.draws and not found.violated and not found.raised, found


def test_a_query_that_waits_for_one_row() -> None:
    """User code in a query slept when it met the row of one person."""

    def slow(rows: list[int]) -> float:
        start = time.perf_counter()
        for row in rows:
            if row == 97:
                time.sleep(0.02)
        return time.perf_counter() - start

    assert slow([1, 97]) > 10.0 * slow([1, 2])
    table = tables.table(people(3), unit="person")
    with pytest.raises((hush.HushError, AttributeError, TypeError)):
        table.mutate(x=lambda t: t["age"].map(slow))  # no code of the caller runs on rows


def test_a_query_that_leaves_a_mark() -> None:
    """User code in a query set a global variable when it met the row of one person."""
    seen: list[int] = []

    def marking(rows: list[int]) -> int:
        seen.extend(row for row in rows if row == 97)
        return count(rows)

    marking([1, 97])
    assert seen == [97]
    calls: list[Any] = []

    def condition(table: Any) -> Any:
        calls.append(type(table).__name__)  # called to make an expression: it never gets a row
        return table["age"] > 96

    table = tables.table(people(70), unit="person")
    query = table.filter(condition).aggregate(n=tables.count_units())
    made = len(calls)
    query.answer(1.0, 0.0, ledger=None, family="laplace")
    assert len(calls) == made  # not called again with data
    assert not any("97" in name for name in calls)


def test_a_budget_that_depends_on_a_row() -> None:
    """A query started further queries only if it met the row of one person: what is left of the budget told it."""

    def nested(rows: list[float]) -> Any:
        ledger = hush.Ledger(None, epsilon=3.0, delta=1e-6)
        ledger.spend((hush.Laplace(2.0), 1.0, 1))
        if max(rows) > 90.0:
            ledger.spend((hush.Laplace(2.0), 1.0, 1))
        return ledger.left.epsilon

    found = hush.audit.replay(nested, [31.0, 97.0], [31.0])
    assert {"payment", "returned"} <= {one.kind for one in found.findings}

    def hush_asks(rows: pa.Table) -> Any:
        ledger = hush.Ledger(None, epsilon=3.0, delta=1e-5)
        table = tables.table(rows, unit="person")
        grouped = table.group_by("ward", keys="private", groups_per_unit=1)
        grouped.aggregate(n=tables.count_units()).answer(1.0, 1e-6, ledger=ledger, family="laplace")
        table.filter(table["age"] > 90).aggregate(m=tables.mean("age", low=0, high=100)).answer(
            1.0, 1e-6, ledger=ledger
        )
        return ledger.left.epsilon, ledger.spent.epsilon, [entry.charges for entry in ledger.entries]

    data = people(40)
    nothing_found(hush_asks, data, data.slice(0, 39))
