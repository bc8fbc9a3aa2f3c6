"""Copies of tables, queries and plans: the same object; and one sentence where one is pickled."""

from __future__ import annotations

import copy
import pickle
from typing import Any

import pyarrow as pa
import pytest

import hush
from hush import tables

_ROWS = pa.table({"person": list(range(50)), "place": ["x"] * 50, "ward": ["a"] * 50})
_SIDE = pa.table({"person": list(range(50)), "age": [1] * 50})


def _tables() -> dict[str, Any]:
    one = tables.table(_ROWS, unit="person")
    return {
        "one column": one,
        "two columns": tables.table(_ROWS, unit=("person", "place")),
        "each row": tables.table(_ROWS, unit=tables.each_row),
        "joined": one.join(tables.table(_SIDE, unit="person"), on="person"),
    }


def _made() -> dict[str, Any]:
    found: dict[str, Any] = dict(_tables())
    for name, table in _tables().items():
        grouped = table.group_by("ward", keys=["a"], groups_per_unit=1)
        query = grouped.aggregate(n=tables.count(rows_per_unit=1))
        found |= {f"groups, {name}": grouped, f"query, {name}": query}
        found[f"plan, {name}"] = query.plan(1.0, 1e-6, family="gaussian")
        counts = table.marginals(["ward"], tables=[("ward",)], keys={"ward": ["a", "b"]})
        found |= {f"counts, {name}": counts, f"plan of counts, {name}": counts.plan(1.0, 1e-6)}
    return found


def test_a_copy_is_the_same_object_and_a_pickle_is_refused_in_one_sentence() -> None:
    for name, made in _made().items():
        assert copy.copy(made) is made, name
        assert copy.deepcopy(made) is made, name
        for version in (0, pickle.HIGHEST_PROTOCOL):
            with pytest.raises(hush.Unsupported, match="cannot be pickled or sent to another process"):
                pickle.dumps(made, version)


def test_a_copied_plan_is_answered_for_the_price_of_the_plan() -> None:
    for name, plan in _made().items():
        if name.startswith("plan"):
            ledger = hush.Ledger(None, epsilon=1.0, delta=1e-6)
            copy.deepcopy({"a job": [plan]})["a job"][0].answer(ledger=ledger)
            assert len(ledger.entries) == 1, name
            with pytest.raises(hush.Unsupported):
                pickle.dumps(plan)
            assert len(ledger.entries) == 1, name
