"""Every question of a table is paid for before its rows are read, at one door, and its answer is kept."""

from __future__ import annotations

import datetime
from typing import Any

import numpy as np
import pyarrow as pa
import pyarrow.parquet as pq
import pytest

import hush
from hush import tables
from hush.errors import InvalidParameter, QueryFailed
from hush.tables import ColumnRule, Policy, TableRule
from hush.tables.engines.contract import Engine

WARDS, MONTHS = ["a", "b"], ("2025-01", "2025-02")
ROWS = {
    "id": [i // 2 for i in range(400)],
    "ward": [WARDS[i % 2] for i in range(400)],
    "age": [i % 99 for i in range(400)],
    "month": [MONTHS[i % 2] for i in range(400)],
}
FRAME = pa.table(ROWS)

#: Every kind of question of a table: (its plan for a budget).
QUESTIONS: dict[str, Any] = {
    "answer": lambda t, e, d: t.aggregate(n=tables.count_units()).plan(e, d, family="laplace"),
    "private bounds": lambda t, e, d: t.aggregate(
        s=tables.sum("age", low="private", high="private", rows_per_unit=1)
    ).plan(e, d, family="laplace"),
    "private keys": lambda t, e, d: (
        t.group_by("ward", keys="private", groups_per_unit=1)
        .aggregate(n=tables.count_units())
        .plan(e, d, family="gaussian")
    ),
    "private limits": lambda t, e, d: (
        t.group_by("ward", keys=WARDS, groups_per_unit="private")
        .aggregate(n=tables.count_units())
        .plan(e, d, family="laplace")
    ),
    "keys": lambda t, e, d: t.group_by("ward", keys="private", groups_per_unit=1).keys().plan(e, d),
    "top": lambda t, e, d: t.group_by("ward", keys=WARDS, groups_per_unit=1).top(1).plan(e, d, family="selection"),
    "top of counts": lambda t, e, d: (
        t.group_by("ward", keys=WARDS, groups_per_unit=1).top(1).plan(e, d, family="laplace")
    ),
    "marginals": lambda t, e, d: t.marginals(["ward"], keys={"ward": WARDS}, order=1).plan(e, d),
    "ranges": lambda t, e, d: t.ranges("age", edges=range(0, 91, 10)).plan(e, d),
    "boxes": lambda t, e, d: t.boxes(edges={"age": range(0, 91, 10)}).plan(e, d),
    "tree": lambda t, e, d: t.tree("ward", levels=[{"a": "x", "b": "x"}]).plan(e, d),
}
each_question = pytest.mark.parametrize("name", QUESTIONS)


def opened() -> Any:
    return tables.table(FRAME, unit="id")


def book(**given: Any) -> hush.Ledger:
    return hush.Ledger(None, epsilon=5.0, delta=1e-4, **given)


@pytest.fixture
def engine_that(monkeypatch):
    """Replace what engines do with every query: `engine_that(act)` calls `act(number of the query)` first."""
    real = Engine.batches

    def watch(act: Any) -> None:
        runs = iter(range(1, 1000))

        def batches(self: Engine, source: Any, relation: Any, size: int) -> Any:
            act(next(runs))
            yield from real(self, source, relation, size)

        monkeypatch.setattr(Engine, "batches", batches)

    return watch


# -- pay first -----------------------------------------------------------------------------------------------


@each_question
def test_the_charge_stands_before_the_engine_runs(name, engine_that):
    ledger, before = book(), []
    engine_that(lambda run: before.append(len(ledger.entries)))
    QUESTIONS[name](opened(), 0.5, 1e-6).answer(ledger=ledger)
    assert before and min(before) >= 1


@each_question
def test_a_failure_costs_the_charge_and_keeps_the_right(name, engine_that):
    """Whatever the engine says is not shown. The same call gets the one answer that was paid for."""
    ledger, failing, told = book(), [True], set()

    def act(run: int) -> None:
        if failing[0]:
            raise ValueError("the row of Ada")

    engine_that(act)
    for _ in range(2):
        with pytest.raises(QueryFailed) as caught:
            QUESTIONS[name](opened(), 0.5, 1e-6).answer(ledger=ledger)
        assert caught.value.__context__ is None and "Ada" not in str(caught.value)
        told.add(str(caught.value))
    assert len(told) == 1 and len(ledger.entries) == 1 and ledger.unanswered == (1,)
    failing[0] = False
    made = QUESTIONS[name](opened(), 0.5, 1e-6).answer(ledger=ledger)
    assert ledger.unanswered == () and made.receipt["ledger"]["number"] == len(ledger.entries)
    paid = len(ledger.entries)
    QUESTIONS[name](opened(), 0.5, 1e-6).answer(ledger=ledger)
    assert len(ledger.entries) == 2 * paid, "a question that was answered is paid for again"


def test_a_failure_of_the_answer_leaves_the_limits_that_were_paid_for(engine_that):
    """The limits are found and kept; the query of the answer fails. The next call takes the limits from the ledger."""
    ledger, failing = book(), [True]

    def act(run: int) -> None:
        if failing[0] and len(ledger.entries) == 2:
            raise ValueError

    engine_that(act)
    with pytest.raises(QueryFailed):
        QUESTIONS["private limits"](opened(), 0.5, 1e-6).answer(ledger=ledger)
    failing[0] = False
    QUESTIONS["private limits"](opened(), 0.5, 1e-6).answer(ledger=ledger)
    assert [entry.step for entry in ledger.entries] == ["contribution limits", ""] and ledger.unanswered == ()


def test_an_interrupt_keeps_the_right(engine_that):
    ledger = book()

    def act(run: int) -> None:
        if run == 1:
            raise KeyboardInterrupt

    engine_that(act)
    with pytest.raises(KeyboardInterrupt) as caught:
        QUESTIONS["answer"](opened(), 0.5, 0.0).answer(ledger=ledger)
    assert "entry 1 of a ledger in memory stays charged" in caught.value.__notes__[0]
    QUESTIONS["answer"](opened(), 0.5, 0.0).answer(ledger=ledger)
    assert len(ledger.entries) == 1


def test_a_file_that_cannot_be_finished_is_written_by_the_same_call(tmp_path, engine_that):
    ledger = book()

    def act(run: int) -> None:
        if run == 1:
            raise ValueError

    engine_that(act)
    plan = QUESTIONS["answer"](opened(), 0.5, 0.0)
    with pytest.raises(QueryFailed):
        plan.write(tmp_path / "a.parquet", ledger=ledger)
    assert list(tmp_path.iterdir()) == []
    plan.write(tmp_path / "a.parquet", ledger=ledger)
    assert len(ledger.entries) == 1 and pq.read_table(tmp_path / "a.parquet").num_rows == 1
    assert ledger.answer(1).kind == "file" and str(tmp_path / "a.parquet") in str(ledger.answer(1))
    plan.write(tmp_path / "b.parquet", ledger=ledger)
    assert len(ledger.entries) == 2


# -- keep ----------------------------------------------------------------------------------------------------


@each_question
def test_every_answer_is_kept_as_it_prints(name):
    ledger = book()
    made = QUESTIONS[name](opened(), 0.5, 1e-6).answer(ledger=ledger)
    assert str(ledger.answer(made.receipt["ledger"]["number"])) == repr(made)


def test_an_answer_that_is_kept_has_its_table_and_its_receipt():
    ledger = book()
    made = QUESTIONS["answer"](opened(), 0.5, 0.0).answer(ledger=ledger)
    kept = ledger.answer(1)
    assert kept.table.equals(made.to_arrow()) and kept.receipt == made.receipt
    assert tables.Answer.from_kept(kept).to_arrow().equals(made.to_arrow())


# -- one door ------------------------------------------------------------------------------------------------


@pytest.fixture
def policy(tmp_path):
    """A policy of one table, and its ledger."""
    path = str(tmp_path / "v.ledger")
    hush.Ledger(path, epsilon=5.0, delta=1e-4).close()
    columns = {"ward": ColumnRule(values=("a", "b")), "age": ColumnRule(0, 90)}
    rule = TableRule(FRAME, unit="id", groups_per_unit=2, ledger=path, max_epsilon=0.5, max_delta=1e-5, columns=columns)
    return Policy({"visits": rule}), path


UNDER_POLICY = [name for name in QUESTIONS if name not in ("private bounds", "private keys", "keys")]


@pytest.mark.parametrize("name", UNDER_POLICY)
def test_the_policy_holds_for_every_question(name, policy):
    table, path = policy[0].open("visits"), policy[1]
    with pytest.raises(InvalidParameter, match=r"epsilon is .*, but the policy allows at most 0\.5"):
        QUESTIONS[name](table, 50.0, 1e-6)
    with pytest.raises(InvalidParameter, match=r"delta is .*, but the policy allows at most"):
        QUESTIONS[name](table, 0.5, 1e-3)
    for other in (None, book()):
        with pytest.raises(InvalidParameter, match="the policy charges every question to"):
            QUESTIONS[name](table, 0.5, 1e-6).answer(ledger=other)
    with hush.Ledger(path) as ledger:
        assert ledger.entries == ()
        QUESTIONS[name](table, 0.5, 1e-6).answer(ledger=ledger)


def test_advice_is_bought_at_the_same_door(policy):
    """It was sold for any epsilon, to any ledger and to none."""
    table = policy[0].open("visits")
    query = table.group_by("ward", groups_per_unit="private").aggregate(n=tables.count_units())
    with pytest.raises(InvalidParameter, match="policy allows at most"), hush.Ledger(policy[1]) as ledger:
        tables.advise(query, 50.0, 1e-6, ledger=ledger)
    with pytest.raises(InvalidParameter, match="the policy charges every question to"):
        tables.advise(query, 0.5, 1e-6, ledger=None)
    with hush.Ledger(policy[1]) as ledger:
        assert ledger.entries == ()


@each_question
def test_one_block_of_time_is_charged(name):
    """Two months at 0.7 of 1: each is charged to its own month."""
    ledger = hush.Ledger(None, epsilon=1.0, delta=1e-5, blocks="month")
    table = tables.table(FRAME, unit=["id", "month"])
    for month in MONTHS:
        QUESTIONS[name](table.in_block("month", month), 0.7, 1e-6).answer(ledger=ledger)
    assert {entry.block for entry in ledger.entries} == set(MONTHS)


def test_advice_charges_the_block_and_states_its_pair():
    ledger = hush.Ledger(None, epsilon=1.0, delta=1e-5, blocks="month")
    table = tables.table(FRAME, unit=["id", "month"]).in_block("month", MONTHS[0])
    query = table.group_by("ward", keys=WARDS, groups_per_unit="private").aggregate(n=tables.count_units())
    tables.advise(query, 0.8, 1e-6, ledger=ledger, label="wards")
    (entry,) = ledger.entries
    assert (entry.block, entry.label, entry.epsilon, entry.delta) == (MONTHS[0], "wards", pytest.approx(0.04), 0.0)


def test_searches_work_under_a_policy_and_plans_are_refused_alike(policy):
    query = policy[0].open("visits").aggregate(n=tables.count_units())
    free = opened().aggregate(n=tables.count_units())
    assert query.epsilon_for(error=20) == free.epsilon_for(error=20)
    assert [plan.shares.epsilon for plan in hush.plan_all([query, query], hush.Budget(0.6, 1e-6))]
    with pytest.raises(InvalidParameter, match=r"but the policy allows at most 0\.5"):
        hush.plan_all([query, query], hush.Budget(50.0, 1e-6))


# -- bounds of a policy --------------------------------------------------------------------------------------

DAYS = {"day": [datetime.date(2025, 1, 1)] * 30, "p": list(range(30)), "age": [20] * 30, "code": [1] * 30}
WIDE = [0, 91, 96, 120]
EARLY = [datetime.date(2019, 1, 1), datetime.date(2026, 1, 1)]
BEYOND: dict[str, Any] = {
    "histogram": lambda t: t.aggregate(h=tables.histogram("age", edges=WIDE)),
    "quantile": lambda t: t.aggregate(h=tables.quantile("age", 0.5, edges=WIDE)),
    "ranges": lambda t: t.ranges("age", edges=WIDE),
    "ranges of dates": lambda t: t.ranges("day", edges=EARLY),
    "boxes": lambda t: t.boxes(edges={"age": WIDE}),
    "sum": lambda t: t.aggregate(s=tables.sum("age", low=0, high=120)),
    "keys": lambda t: t.group_by("code", keys=[1, 7], groups_per_unit=1),
    "marginals": lambda t: t.marginals(["code"], keys={"code": [1, 7]}, order=1),
    "tree": lambda t: t.tree("code", levels=[{1: "x", 7: "y"}]),
    "categories": lambda t: t.aggregate(h=tables.histogram("code", categories=[7])),
    "histogram of listed values": lambda t: t.aggregate(h=tables.histogram("code", edges=[6, 8])),
    "ranges of listed values": lambda t: t.ranges("code", edges=[0, 6, 8]),
}


@pytest.mark.parametrize("name", BEYOND)
def test_no_question_goes_beyond_the_bounds_of_the_policy(name):
    columns = {"age": ColumnRule(0, 90), "code": ColumnRule(values=(1, 2))}
    columns["day"] = ColumnRule(datetime.date(2025, 1, 1), datetime.date(2025, 12, 31))
    table = Policy({"v": TableRule(pa.table(DAYS), unit="p", columns=columns)}).open("v")
    with pytest.raises(InvalidParameter, match="polic"):
        BEYOND[name](table)


# -- who is protected ----------------------------------------------------------------------------------------

UNITS: dict[str, Any] = {"person": "id", "person by month": ["id", "month"], "row": tables.each_row}


@pytest.mark.parametrize("first", UNITS)
@pytest.mark.parametrize("second", UNITS)
def test_a_ledger_makes_one_promise_to_a_population(first, second):
    ledger = book()
    for kind in (first, second):
        table = tables.table(FRAME, unit=UNITS[kind], population="patients")
        query = table.aggregate(n=tables.count_units())
        if kind == first:
            query.answer(0.5, 0.0, ledger=ledger, family="laplace")
        else:
            with pytest.raises(InvalidParameter, match="of 'population patients', and this question protects each"):
                query.answer(0.5, 0.0, ledger=ledger, family="laplace")
    assert len(ledger.entries) == 1 + (first == second)
    assert ledger.people is not None and ledger.people.name == "population patients"


# -- what is read is what was opened -------------------------------------------------------------------------


@pytest.mark.parametrize(
    "changed",
    [{"p": [1.0, 1.5], "x": [1, 2]}, {"p": ["1", "1.0"], "x": [1, 2]}, {"p": [1, 2], "x": ["5", "6"]}, {"p": [1, 2]}],
)
def test_a_file_with_other_types_is_refused_before_the_charge(changed, tmp_path):
    path, ledger = tmp_path / "v.parquet", book()
    pq.write_table(pa.table({"p": [1, 2, 3], "x": [1, 2, 3]}), path)
    table = tables.table(path, unit="p")
    plans = [table.aggregate(s=tables.sum("x", low=0, high=9)).plan(0.5, 0.0), table.ranges("x", edges=[0, 5, 9])]
    pq.write_table(pa.table(changed), path)
    for plan in (plans[0], plans[1].plan(0.5, 0.0)):
        with pytest.raises(InvalidParameter, match=r"the columns of .* have changed since it was opened"):
            plan.answer(ledger=ledger)
    assert ledger.entries == ()


def test_a_block_has_one_spelling():
    """A subclass that spells itself in another way is charged to the same block."""

    class Sly(str):
        def __str__(self) -> str:
            return "another budget"

    class Day(datetime.date):
        def __str__(self) -> str:
            return "another day"

    table = tables.table(FRAME, unit=["id", "month"])
    assert table.in_block("month", Sly(MONTHS[0])).block == ("month", MONTHS[0])
    days = pa.table({"id": [1], "day": [datetime.date(2025, 1, 1)]})
    made = tables.table(days, unit=["id", "day"]).in_block("day", Day(2025, 1, 1))
    assert made.block == ("day", "2025-01-01")


def meanwhile(ledger: hush.Ledger, ask: Any) -> list[Any]:
    """The list that gets the answer of `ask()`, which is asked between the charge and the answer of the next call."""
    keep, found = ledger.keep_answer, []

    def late(number: int, content: bytes) -> bytes:
        ledger.keep_answer = keep  # type: ignore[method-assign]
        found.append(ask())
        return keep(number, content)

    ledger.keep_answer = late  # type: ignore[method-assign]
    return found


def test_noise_of_a_kept_answer_is_not_drawn_again(tmp_path):
    """Two plans of one question about a file at once: both get the answer that was kept first."""
    pq.write_table(FRAME, tmp_path / "visits.parquet")
    ledger, table = book(), tables.table(tmp_path / "visits.parquet", unit="id")
    plan = QUESTIONS["answer"](table, 0.5, 0.0)
    found = meanwhile(ledger, lambda: plan.answer(ledger=ledger))
    made = plan.answer(ledger=ledger)
    assert len(ledger.entries) == 1 and np.array_equal(made["n"], found[0]["n"])


ONE = {"edges": range(0, 91, 90)}  # one bin
OF_FRAMES: dict[str, tuple[Any, Any]] = {
    "answer": (QUESTIONS["answer"], lambda made: made["n"][0]),
    "top": (
        lambda t, e, d: t.group_by("ward", keys=WARDS, groups_per_unit=1).top(1, counts=True).plan(e, d),
        lambda made: made["people"][0],
    ),
    "ranges": (lambda t, e, d: t.ranges("age", **ONE).plan(e, d), lambda made: made.histogram[0]),
}


@pytest.mark.parametrize("name", OF_FRAMES)
def test_an_answer_about_one_frame_is_not_given_for_another(name):
    """Another process may ask the same of a frame with other rows at the same time: each gets the number of its own."""
    question, number = OF_FRAMES[name]
    rows = {"id": range(5_000), "ward": ["a"] * 5_000, "age": [30] * 5_000, "month": [MONTHS[0]] * 5_000}
    ledger, large = hush.Ledger(None, epsilon=9.0, delta=0.0), tables.table(pa.table(rows), unit="id")
    found = meanwhile(ledger, lambda: question(large, 2.0, 0.0).answer(ledger=ledger))
    made = question(opened(), 2.0, 0.0).answer(ledger=ledger)
    assert abs(number(found[0]) - 5_000) < 100 and number(made) < 500 and len(ledger.entries) == 2
