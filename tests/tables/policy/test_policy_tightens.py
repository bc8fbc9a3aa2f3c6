"""A question may leave out what the policy declares, or narrow it; it never loosens it.

Each hand argument is drawn inside or outside the policy. A question is accepted if and only if all of its arguments
are inside, and what it then uses lies within the policy.
"""

from __future__ import annotations

import datetime
from typing import Any

import pyarrow as pa
import pytest
from effort import examples
from hypothesis import given, settings
from hypothesis import strategies as st

import hush
from hush.errors import HushError, IncompleteCall, InvalidParameter
from hush.tables import ColumnRule, Policy, TableRule, count, histogram, mean, quantile, table, variance
from hush.tables import sum as total
from hush.tables.counts import Count

FRAME = pa.table(
    {
        "who": [1, 2, 3],
        "x": [1.0, 2.0, 3.0],
        "day": [datetime.date(2024, 1, 1)] * 3,
        "ward": ["a", "b", "c"],
        "region": ["n", "s", "n"],
        "free": [1.0, 2.0, 3.0],
        "unknown": [1.0, 2.0, 3.0],
        "secret": [7.0, 8.0, 9.0],
    }
)
WARDS = ("a", "b", "c")
DAYS = (datetime.date(2024, 1, 1), datetime.date(2024, 12, 31))


def policy_of(low: float, high: float, rows: int | None, groups: int | None) -> Policy:
    columns = {
        "x": ColumnRule(low, high),
        "day": ColumnRule(*DAYS),
        "ward": ColumnRule(values=WARDS),
        "region": ColumnRule(values="private"),
        "free": ColumnRule(),
        "unknown": ColumnRule("private", "private"),
    }
    return Policy({"t": TableRule(FRAME, None, "who", groups, rows, columns, max_epsilon=1.0, max_delta=1e-6)})


BOUNDED = {
    "mean": mean,
    "variance": variance,
    "sum": total,
    "quantile": lambda column, **given: quantile(column, 0.5, **given),
}
numbers = st.integers(-5, 5)


@settings(max_examples=examples(40, 150), deadline=None)
@given(
    ends=st.tuples(numbers, numbers).filter(lambda pair: pair[0] < pair[1]),
    rows=st.none() | st.integers(1, 3),
    name=st.sampled_from(sorted(BOUNDED)),
    low=st.none() | numbers,
    high=st.none() | numbers,
    by_hand=st.none() | st.integers(1, 4),
)
def test_bounds_and_rows_never_loosen(ends: Any, rows: Any, name: str, low: Any, high: Any, by_hand: Any) -> None:
    opened = policy_of(*ends, rows, 2).open("t")
    first, last = ends[0] if low is None else low, ends[1] if high is None else high
    most, total_of_rows = rows or (by_hand or 1), name == "sum" and None not in (low, high) and by_hand is None
    inside = ends[0] <= first < last <= ends[1] and (by_hand is None or rows is None or by_hand <= rows)
    if total_of_rows:
        most = rows or 1
        inside = first < last and min(0, most * ends[0]) <= first and last <= max(0, most * ends[1])
    try:
        query = opened.aggregate(a=BOUNDED[name]("x", low=low, high=high, rows_per_unit=by_hand))
    except InvalidParameter:
        assert not inside
        return
    assert inside
    ((_, used),) = query.declared
    if total_of_rows:
        assert used.rows_per_unit is None
    else:
        assert ends[0] <= used.low < used.high <= ends[1] and used.rows_per_unit <= most
        assert (used.low, used.high) == (first, last) and used.rows_per_unit == (by_hand or rows or 1)


@settings(max_examples=examples(30, 100), deadline=None)
@given(
    declared=st.none() | st.integers(1, 3),
    groups=st.none() | st.integers(1, 5),
    keys=st.none() | st.just("private") | st.lists(st.sampled_from([*WARDS, "d", None]), min_size=1, unique=True),
    by=st.sampled_from([("ward",), ("ward", "region"), ("region",)]),
)
def test_groups_and_keys_never_loosen(declared: Any, groups: Any, keys: Any, by: tuple[str, ...]) -> None:
    opened = policy_of(0, 1, 1, declared).open("t")
    listed = isinstance(keys, list)
    given = [(key, "n") for key in keys] if listed and len(by) == 2 else keys
    inside = (groups or declared) is not None and (declared is None or groups is None or groups <= declared)
    inside = inside and not (listed and (by != ("ward",) or set(keys) - set(WARDS)))
    try:
        grouped = opened.group_by(*by, keys=given, groups_per_unit=groups)
    except InvalidParameter:
        assert not inside
        return
    if (groups or declared) is None:  # listed groups may be asked for the largest ones, but not for numbers
        with pytest.raises(InvalidParameter, match="groups_per_unit"):
            grouped.aggregate(n=count())
        return
    assert inside and grouped.grouping.groups <= (groups or declared)
    found = grouped.grouping.keys
    if found is None:  # keys are found privately: rows outside a list are left out first
        assert by != ("ward",) or keys == "private"
        assert ("ward" in by) == any("ward is one of the 3 values of the policy" in f for f in grouped.table.filters)
    else:
        assert {key[0] for key in found} <= set(WARDS) and (listed or len(found) == 3)


def test_private_keys_stay_on_the_list() -> None:
    """keys="private" under a list of the policy never shows another value."""
    rows = 4000
    frame = pa.table({"who": range(rows), "ward": ["a" if i % 2 else "z" for i in range(rows)]})
    columns = {"ward": ColumnRule(values=("a", "b"))}
    opened = Policy({"t": TableRule(frame, unit="who", groups_per_unit=1, columns=columns)}).open("t")
    answer = opened.group_by("ward", keys="private").aggregate(n=count()).answer(1, 1e-6, ledger=None, family="laplace")
    assert answer.to_arrow().column("ward").to_pylist() == ["a"]


def test_histograms_and_edges_never_loosen() -> None:
    opened = policy_of(0, 10, 2, 2).open("t")
    used = dict(opened.aggregate(h=histogram("ward"), e=histogram("x", edges=[0, 5, 10])).declared)
    assert used["h"].categories == WARDS and used["h"].rows_per_unit == 2
    for bad, words in (
        (histogram("ward", categories=["a", "z"]), "'z', which the policy does not list"),
        (histogram("region", categories=["n"]), "found privately"),
        (histogram("x", edges=[-1, 5]), r"reach -1, but the policy declares \[0, 10\]"),
        (histogram("x", edges=[0, float("inf")]), "reach inf"),
        (histogram("day", edges=[DAYS[0], datetime.date(2026, 1, 1)]), "reach 2026-01-01"),
        (quantile("x", 0.5, edges=[0, 5, 11]), "reach 11"),
        (mean("day", low=datetime.date(2023, 1, 1), high=DAYS[1]), "2023-01-01, but the policy declares 2024-01-01"),
        (mean("x", low="private", high="private"), "to be found privately, but the policy declares"),
        (mean("x", low=float("nan"), high=5), "finite"),
        (mean("x", low="0", high=5), "low of"),
        (count(rows_per_unit=3), "rows_per_unit of 'a' is 3, but the policy allows at most 2"),
    ):
        with pytest.raises(InvalidParameter, match=words):
            opened.aggregate(a=bad)
    with pytest.raises(IncompleteCall, match="missing edges or categories"):
        opened.aggregate(a=histogram("region"))


def test_an_aggregate_that_knows_no_policy_is_held_to_its_rows() -> None:
    """An aggregate of another package may leave `declared` as it is."""

    class Own(Count):
        def declared(self, name: str, facts: Any) -> Any:
            return self

    opened = policy_of(0, 10, 2, 2).open("t")
    assert opened.aggregate(a=Own(2)).sensitivity.linf == {"a": 2}
    with pytest.raises(InvalidParameter, match="rows_per_unit of 'a' is 3, but the policy allows at most 2"):
        opened.aggregate(a=Own(3))


def test_columns_without_a_declaration_are_stated_by_hand() -> None:
    opened = policy_of(0, 10, 2, 2).open("t")
    with pytest.raises(IncompleteCall, match="the policy declares no bounds"):
        opened.aggregate(a=mean("free"))
    assert dict(opened.aggregate(a=mean("free", low=-100, high=100)).declared)["a"].high == 100
    assert dict(opened.aggregate(a=mean("unknown")).declared)["a"].low == "private"
    assert dict(opened.aggregate(a=mean("unknown", low=0, high=9)).declared)["a"].high == 9
    computed = opened.mutate(y=opened["x"] * 2, z=opened["x"])
    with pytest.raises(IncompleteCall, match="the policy declares no bounds"):
        computed.aggregate(a=mean("y"))
    assert dict(computed.aggregate(a=mean("z")).declared)["a"].high == 10  # another name of the same column
    replaced = opened.mutate(x=opened["x"] * 100)  # no longer the column of the policy
    with pytest.raises(IncompleteCall):
        replaced.aggregate(a=mean("x"))
    kept = opened.filter(opened["x"] > 0).mutate(w=1)
    assert dict(kept.aggregate(a=mean("x"), s=total("x")).declared)["s"].rows_per_unit == 2


def test_hidden_columns_do_not_exist() -> None:
    """A column without a line, a hidden one and the unit are in no expression, and no message has their name."""
    policy = policy_of(0, 10, 2, 2)
    opened = policy.open("t")
    for name in ("secret", "who", "Secret", ".unit"):
        tries = [
            lambda name=name: opened[name],
            lambda name=name: opened.filter(lambda t: t[name] > 3),
            lambda name=name: opened.filter(FRAME_TABLE[name] > 3),
            lambda name=name: opened.mutate(y=lambda t: t[name]),
            lambda name=name: opened.group_by(name, keys="private", groups_per_unit=1),
            lambda name=name: opened.aggregate(a=mean(name, low=0, high=1)),
            lambda name=name: opened.aggregate(a=histogram(lambda t: t[name], edges=[0, 1])),
        ]
        for attempt in tries:
            with pytest.raises((HushError, KeyError)) as caught:
                attempt()
            assert name == "secret" or "'secret'" not in str(caught.value)


class _Other:
    """Columns of another table of the same data."""

    def __getitem__(self, name: str) -> Any:
        return table(FRAME, unit="who")[name if name in FRAME.column_names else "who"]


FRAME_TABLE = _Other()


def test_budget_and_ledger_of_a_question(tmp_path: Any) -> None:
    rule = policy_of(0, 10, 2, 2).tables["t"]
    from dataclasses import replace

    policy = Policy({"t": replace(rule, ledger="a.ledger")}, tmp_path)
    query = policy.open("t").aggregate(n=count())
    for epsilon, delta, words in (
        (1.5, 1e-6, "epsilon is 1.5, but the policy allows at most 1 for one question"),
        (1.0, 1e-5, "delta is 1e-05, but the policy allows at most 1e-06"),
    ):
        with pytest.raises(InvalidParameter, match=words):
            query.plan(epsilon, delta)
        with pytest.raises(InvalidParameter, match=words):
            policy.check_budget("t", epsilon, delta)
    policy.check_budget("t", 1.0, 1e-6)
    with pytest.raises(InvalidParameter, match="there is no ledger"):
        policy.ledger("t")
    plan = query.plan(1.0, 1e-6, family="gaussian")
    other = hush.Ledger(tmp_path / "b.ledger", epsilon=3, delta=1e-5)
    for ledger in (None, hush.Ledger(None, epsilon=3, delta=1e-5), other):
        with pytest.raises(InvalidParameter, match="the policy charges every question to"):
            plan.answer(ledger=ledger)
        with pytest.raises(InvalidParameter, match="the policy charges every question to"):
            plan.write(tmp_path / "out.parquet", ledger=ledger)
    other.close()
    hush.Ledger(tmp_path / "a.ledger", epsilon=3, delta=1e-5).close()
    with policy.ledger("t") as ledger:
        plan.answer(ledger=ledger)
        assert len(ledger.entries) == 1


def test_names_of_tables() -> None:
    policy = Policy({"t": policy_of(0, 1, 1, 1).tables["t"], "w": TableRule(FRAME, public=True)})
    for name in ("u", "../t", "t; DROP TABLE t", "read_csv('x')", "T", None, 3):
        with pytest.raises(InvalidParameter, match="the policy has no table"):
            policy.open(name)
    with pytest.raises(InvalidParameter, match="public table, which protects nobody"):
        policy.open("w")
    with pytest.raises(InvalidParameter, match="its rows are protected"):
        policy.lookup("t")
    assert policy.lookup("w").columns == tuple(FRAME.column_names)
