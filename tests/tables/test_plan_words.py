"""A column may be given as a name, an expression, `_.name` or a function: plans, receipts and ledgers name each."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

import ibis
import numpy as np
import pandas as pd
import pytest

from hush import Ledger, tables

FRAME = pd.DataFrame({"id": np.arange(60) % 20, "a": np.arange(60) % 7 * 1.0, "c": 2.0, "ward": ["A", "B"] * 30})
T = tables.table(FRAME, unit="id")

#: The same kind of column in every form that an aggregate accepts, and the words for it.
FORMS: dict[str, tuple[Any, str]] = {
    "name": ("a", "a"),
    "expression": (T["a"] * T["c"], "Multiply(a, c)"),
    "deferred": (ibis._.a * ibis._.c, "Multiply(a, c)"),
    "deferred column": (ibis._.a, "a"),
    "function": (lambda t: t.a * t.c, "Multiply(a, c)"),
    "function of one column": (lambda t: t["a"], "a"),
}
AGGREGATES: dict[str, Callable[[Any], Any]] = {
    "sum": lambda column: tables.sum(column, low=0, high=14),
    "mean": lambda column: tables.mean(column, low=0, high=14),
    "variance": lambda column: tables.variance(column, low=0, high=14),
    "quantile": lambda column: tables.quantile(column, 0.5, low=0, high=14),
    "histogram": lambda column: tables.histogram(column, edges=[0, 7, 15]),
}


@pytest.mark.parametrize(
    ("form", "kind"),
    [*((form, "sum") for form in FORMS), *(("function", kind) for kind in AGGREGATES if kind != "sum")],
)
def test_every_form_of_a_column_plans_answers_and_is_named(form: str, kind: str) -> None:
    column, words = FORMS[form]
    query = T.group_by("ward", keys=["A", "B"], groups_per_unit=2).aggregate(x=AGGREGATES[kind](column))
    plan = query.plan(5.0, 1e-6, family="gaussian")
    assert plan.described()
    with Ledger(None, epsilon=10.0, delta=1e-5) as ledger:
        answer = plan.answer(ledger=ledger)
        assert f" of {words}" in ledger.entries[0].about
    assert len(answer) == 2 and dict(answer.receipt)


def test_a_function_of_the_table_may_have_private_bounds() -> None:
    column, words = FORMS["function"]
    query = T.aggregate(x=tables.sum(column, low="private", high="private", rows_per_unit=1))
    with Ledger(None, epsilon=10.0, delta=1e-5) as ledger:
        query.plan(5.0, 1e-6, family="gaussian").answer(ledger=ledger)
        assert f" of {words}, bounds found privately" in ledger.entries[-1].about


@pytest.mark.parametrize(
    "condition", [T["a"] > 1, ibis._.a > 1, lambda t: t.a > 1], ids=["expression", "_", "function"]
)
def test_every_form_of_a_condition_is_named(condition: Any) -> None:
    with Ledger(None, epsilon=10.0, delta=1e-5) as ledger:
        plan = T.filter(condition).aggregate(n=tables.count_units()).plan(1.0, 0.0, family="laplace")
        plan.answer(ledger=ledger)
        assert "only rows where a is above 1" in ledger.entries[0].about
