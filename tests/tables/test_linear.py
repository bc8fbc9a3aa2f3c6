"""Marginals, ranges and trees of a table: exact counts, one person's reach, the ledger, the receipt, and mistakes."""

from __future__ import annotations

import itertools

import numpy as np
import pyarrow as pa
import pytest
from scales import must_have_planned_error

import hush
from hush import tables
from hush.report import statement

KEYS = {"sex": ["F", "M"], "ward": ["A", "B", None]}
EDGES = [0, 20, 40, 60, 80]


def frame(rows):
    """Rows (person, sex, ward, age) as an Arrow table."""
    names, kinds = ("id", "sex", "ward", "age"), (pa.int64(), pa.string(), pa.string(), pa.int64())
    columns = list(zip(*rows, strict=True)) if rows else [()] * 4
    return pa.table({name: pa.array(list(c), kind) for name, kind, c in zip(names, kinds, columns, strict=True)})


def people(seed=4, count=40):
    noise = np.random.default_rng(seed)
    found = []
    for person in range(count):
        for _ in range(int(noise.integers(1, 6))):
            sex, ward = str(noise.choice(["F", "M", "X"])), [None, "A", "B", "Z"][int(noise.integers(0, 4))]
            found.append((person, sex, ward, int(noise.integers(-10, 100))))
    return found


def asked(rows, per_unit):
    table = tables.table(frame(rows), unit="id")
    return (
        table.marginals(["sex", "ward"], order=(1, 2), keys=KEYS, rows_per_unit=per_unit),
        table.ranges("age", edges=EDGES, rows_per_unit=per_unit),
        table.tree("ward", levels=[{"A": "north", "B": "north", "Z": "south"}], rows_per_unit=per_unit),
    )


def test_exact_counts_are_those_of_python():
    """With enough rows for each person nothing is left out but the values outside the lists."""
    rows = people()
    marginals, ranges, tree = asked(rows, 10)
    cells = np.zeros((2, 3), dtype=int)
    for _, sex, ward, _ in rows:
        if sex in KEYS["sex"] and ward in KEYS["ward"]:
            cells[KEYS["sex"].index(sex), KEYS["ward"].index(ward)] += 1
    assert (marginals.exact().table((0, 1)) == cells).all()
    assert (marginals.exact().table((1,)) == cells.sum(axis=0)).all()
    ages = [age for *_, age in rows]
    assert ranges.exact().tolist() == np.histogram(ages, EDGES)[0].tolist()
    assert tree.exact().tolist() == [sum(ward == name for _, _, ward, _ in rows) for name in ("A", "B", "Z")]


@pytest.mark.parametrize("per_unit", [1, 2, 3])
def test_one_person_moves_few_cells(per_unit):
    """For a fixed salt: without a person, at most `rows_per_unit` rows are missing, and none is added."""
    rows, salt = people(), bytes(range(32))
    for place in range(3):
        whole = asked(rows, per_unit)[place].exact(salt=salt)
        for person in (0, 21):
            less = asked([row for row in rows if row[0] != person], per_unit)[place].exact(salt=salt)
            before = whole.table((0, 1)) if place == 0 else whole
            after = less.table((0, 1)) if place == 0 else less
            assert (before >= after).all()
            assert (before - after).sum() <= per_unit


def test_a_count_without_the_limit_on_rows_is_caught(monkeypatch):
    """The same check fails where the engine keeps all rows of a person: person 0 has more than one row."""
    from hush.tables.linear import coding

    monkeypatch.setattr(coding, "keep_rows", lambda rows, keys, column, most, keyed, kept: rows.mutate(w=rows[column]))
    rows, salt = people(), bytes(range(32))
    ranges = asked(rows, 1)[1].exact(salt=salt)
    moved = [asked([row for row in rows if row[0] != person], 1)[1].exact(salt=salt) for person in range(3)]
    assert max(int((ranges - less).sum()) for less in moved) > 1


def test_the_measured_vector_moves_as_the_mechanism_states():
    """Every strategy that a plan may choose: an added person moves the vector within the stated sensitivity."""
    for per_unit in (1, 2):
        for query in asked(people(), per_unit):
            plan = query.plan(1.0, 1e-6).plan
            rows = people()
            salt = bytes(range(32))
            here = plan.strategy.measured(query.exact(salt=salt))
            there = plan.strategy.measured(
                type(query)(
                    tables.table(frame([row for row in rows if row[0] != 3]), unit="id"),
                    query.workload, query.columns, query.rows_per_unit,
                ).exact(salt=salt)
            )  # fmt: skip
            for part, one, other in zip(plan.strategy.parts, here, there, strict=True):
                facts, move = part.sensitivity, (one - other).astype(float)
                assert np.abs(move).sum() <= (facts.l1_bound or np.inf)
                assert np.sqrt((move**2).sum()) <= facts.l2_bound * (1 + 1e-12)


def test_an_answer_is_charged_described_and_stated():
    ledger = hush.Ledger(None, epsilon=3.0, delta=1e-5)
    marginals, ranges, tree = asked(people(), 1)
    answer = marginals.answer(1.0, 1e-6, ledger=ledger, label="tables")
    assert answer.receipt.kind == "workload" and answer.receipt["unit"] == "id"
    assert answer.receipt["source"] == marginals.table.fingerprint
    assert answer.table("sex").sum() == answer.total == answer.table("ward", "sex").sum()
    shown = answer.to_arrow("sex", "ward")
    assert shown.column_names == ["sex", "ward", "count", "low", "high"] and shown.num_rows == 6
    assert answer.sum(sex="F", ward=["A", None]).low < answer.sum(sex="F", ward=["A", None]).high
    between = ranges.answer(1.0, 0.0, ledger=ledger)
    assert between.range(20, 60).low < between.range(20, 60).high
    assert between.quantile(0.5)[0] in EDGES and between.to_arrow().num_rows == 4
    low, high = between.quantile_interval(0.5)
    assert low in EDGES and high in EDGES and low < high
    assert 0.0 <= between.mean().low <= between.mean().value <= between.mean().high <= 80.0
    along = tree.answer(1.0, 1e-6, ledger=ledger)
    assert along.counts(0).sum() == along.counts().sum() and along.labels[0] == ("north", "south")
    assert len(ledger.entries) == 3 if hasattr(ledger, "entries") else True
    with pytest.raises(hush.BudgetExceeded):
        marginals.answer(1.0, 1e-6, ledger=ledger)
    for receipt in (answer.receipt, between.receipt, along.receipt):
        text = str(statement(receipt))
        assert "many counts of one histogram" in text and "at most 1 row" in text


def test_boxes_of_a_table():
    """A grid of age, sex and ward: exact counts, edges and values of the answer, and mistakes."""
    rows = people()
    table = tables.table(frame(rows), unit="id")
    query = table.boxes(edges={"age": EDGES}, keys={"sex": KEYS["sex"], "ward": KEYS["ward"]}, rows_per_unit=10)
    exact = np.zeros((4, 2, 3), dtype=int)
    for _, sex, ward, age in rows:
        if sex in KEYS["sex"] and ward in KEYS["ward"] and 0 <= age <= 80:
            exact[min(age // 20, 3), KEYS["sex"].index(sex), KEYS["ward"].index(ward)] += 1
    assert (query.exact().table((0, 1, 2)) == exact).all()
    answer = query.answer(1000.0, 1e-6, ledger=hush.Ledger(None, epsilon=1000.0, delta=1e-5))
    part = answer.box(age=(20, 60), sex="F", non_negative=True)
    assert part.value == pytest.approx(exact[1:3, 0].sum(), abs=0.01) and answer.histogram.sum() == answer.total
    shown = answer.to_arrow()
    assert shown.column_names == ["age_from", "age_to", "sex", "ward", "count"] and shown.num_rows == 24
    assert "boxes" in str(answer) and answer.receipt["unit"] == "id"
    for wrong, words in (
        ({"age": (20, 41)}, "pair of its edges"),
        ({"sex": "X"}, "listed value"),
        ({"x": 1}, "not one"),
    ):
        with pytest.raises(hush.HushError, match=words):
            answer.box(**wrong)
    with pytest.raises(hush.HushError, match="edges"):
        table.boxes(edges={})
    with pytest.raises(hush.HushError, match="private"):
        table.boxes(edges={"age": EDGES}, keys={"sex": "private"})


def test_a_ledger_protects_one_table():
    ledger = hush.Ledger(None, epsilon=3.0, delta=1e-5)
    asked(people(), 1)[0].answer(1.0, 1e-6, ledger=ledger)
    other = tables.table(frame(people()).rename_columns(["who", "sex", "ward", "age"]), unit="who")
    with pytest.raises(hush.HushError):
        other.marginals(["sex"], order=1, keys={"sex": ["F", "M"]}).answer(1.0, 1e-6, ledger=ledger)


def test_each_row_and_one_row_tables():
    rows = people()
    each = tables.table(frame(rows), unit=tables.each_row).marginals(["sex"], order=1, keys={"sex": ["F", "M"]})
    assert each.exact().table((0,)).tolist() == [sum(r[1] == s for r in rows) for s in ("F", "M")]
    single = tables.table(frame(rows), unit="id").per_unit(visits=lambda t: t.count())
    visits = single.ranges("visits", edges=[1, 2, 3, 6])
    assert visits.rows_per_unit == 1 and visits.exact().sum() == 40


def test_filters_apply_and_noise_is_of_the_planned_size():
    """10,000 answers to cells without rows have the planned error; squares of fewer are too skew for Student's t."""
    table = tables.table(frame(people()), unit="id")
    query = table.filter(table["sex"] == "F").marginals(["sex", "ward"], order=2, keys=KEYS)
    plan = query.plan(1.0, 1e-6)
    exact = query.exact().table((0, 1))
    assert exact[1].sum() == 0
    counts = query.exact()
    answers = [plan.plan.answer(counts, ledger=None) for _ in range(10_000)]
    errors = np.array([answer.estimate("sex", "ward")[1] for answer in answers], dtype=float)
    must_have_planned_error((errors**2).mean(axis=1), plan.mse)


@pytest.mark.parametrize(
    ("call", "words"),
    [
        (lambda t: t.marginals(["sex"], order=1), "missing keys"),
        (lambda t: t.marginals(["sex"], order=1, keys={"sex": "private"}), "public list"),
        (lambda t: t.marginals(["sex", "sex"], order=1, keys=KEYS), "different columns"),
        (lambda t: t.marginals("sex", order=1, keys=KEYS), "list of different columns"),
        (lambda t: t.marginals(["sexx"], order=1, keys={"sexx": ["F"]}), "sexx"),
        (lambda t: t.marginals(["sex"], order=1, keys=KEYS), "not one of the columns"),
        (lambda t: t.marginals(["id"], order=1, keys={"id": [1]}), "unit"),
        (lambda t: t.marginals(["sex"], order=2, keys={"sex": ["F", "M"]}), "at most 1"),
        (lambda t: t.marginals(["sex"], order=1, keys={"sex": ["F", "M"]}, rows_per_unit=0), "rows_per_unit"),
        (lambda t: t.ranges("age", edges=[3, 1]), "increase"),
        (lambda t: t.ranges("age", edges=[1, 3], questions="x"), "questions"),
        (lambda t: t.tree("ward", levels=[]), "levels"),
        (lambda t: t.tree("ward", levels=[{"A": 1}, {"B": 1}]), "same values"),
    ],
)
def test_mistakes_get_one_sentence(call, words):
    with pytest.raises(hush.HushError, match=words) as mistake:
        call(tables.table(frame(people()), unit="id"))
    assert "\n" not in str(mistake.value)


def test_wrong_labels_are_refused():
    marginals, ranges, _ = asked(people(), 1)
    answer, between = marginals.answer(1.0, 1e-6, ledger=None), ranges.answer(1.0, 1e-6, ledger=None)
    for call in (
        lambda: answer.sum(age=3),
        lambda: answer.sum(sex="X"),
        lambda: answer.table("sex", "age"),
        lambda: between.range(1, 20),
    ):
        with pytest.raises(hush.HushError):
            call()


def test_many_cells_are_one_number():
    """All cells of the lists, in the order of the columns."""
    rows = [(i, s, w, 1) for i, (s, w) in enumerate(itertools.product(["F", "M"], ["A", "B", None]))]
    marginals, _, _ = asked(rows, 1)
    assert (marginals.exact().table((0, 1)) == 1).all()
