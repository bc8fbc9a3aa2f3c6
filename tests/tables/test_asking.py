"""What a newcomer meets when asking tables: what was read is shown, what is printed agrees with itself, refusals say
what to write.
"""

from __future__ import annotations

import json
import re

import numpy as np
import pytest

import hush
from hush.cli import main
from hush.cli.text import condition, listed
from hush.ledger.entry import as_entry

pa = pytest.importorskip("pyarrow")
pytest.importorskip("ibis")

from hush import tables  # noqa: E402

BUDGET = ["--epsilon", "1", "--delta", "1e-6", "--family", "gaussian"]
SUBJECTS = ["maths", "art, music"]


@pytest.fixture(scope="module")
def school(tmp_path_factory):
    """300 pupils with one mark in each subject; `text` is numbers stored as text."""
    import pyarrow.csv

    pupils = np.repeat(np.arange(300), 2)
    frame = pa.table(
        {
            "pupil": pupils,
            "class": np.where(pupils % 2, "7A", "7B"),
            "subject": SUBJECTS * 300,
            "mark": (pupils * 7) % 101,
            "text": ["x", "3"] * 300,
        }
    )
    path = tmp_path_factory.mktemp("school") / "school.csv"
    pyarrow.csv.write_csv(frame, path)
    return path


@pytest.fixture(scope="module")
def marks(school):
    return tables.table(str(school), unit="pupil", types={"mark": "whole"})


@pytest.fixture
def ask(school, capsys):
    def asked(*flags, code=0):
        assert main(["answer", str(school), "--unit", "pupil", *BUDGET, *map(str, flags)]) == code
        out = capsys.readouterr()
        return out.err if code else out.out

    return asked


# -- what was read -------------------------------------------------------------------------------------------


@pytest.mark.parametrize(
    "text",
    [
        "class == '7A' and mark > 50",
        "class==7A or class==7B",
        "mark>3 & mark<9",
        "class==7A|7B",
        "mark > 5 < 9",
        "class == 'a' AND x",
        "class == '7A",
    ],
)
def test_two_conditions_in_one_are_refused(text):
    with pytest.raises(hush.InvalidParameter, match="repeat --where"):
        condition(text)


@pytest.mark.parametrize(
    ("text", "read"),
    [
        ("class == '7A and 7B'", ("class", "==", "7A and 7B")),
        ('team="R & D"', ("team", "=", "R & D")),
        ("mark>=50", ("mark", ">=", "50")),
        ("city == Portland", ("city", "==", "Portland")),  # holds "or" and "and" inside words
    ],
)
def test_one_condition_is_read(text, read):
    assert condition(text) == read


def test_lists_have_quotes():
    assert listed('maths,"art, music"', "keys") == SUBJECTS
    assert listed("a, b,c", "keys") == ["a", "b", "c"]
    with pytest.raises(hush.InvalidParameter, match="--keys needs a comma list"):
        listed('"a,b', "keys")


def test_plan_and_receipt_show_what_was_read(ask):
    flags = [
        "--count",
        "--where",
        "class=7A",
        "--where",
        "mark > 50",
        "--by",
        "subject",
        "--keys",
        'maths,"art, music"',
    ]
    flags += ["--groups-per-unit", 2]
    plan, answer = ask(*flags, "--plan", "--rows", 50), ask(*flags)
    for text in (plan, answer):
        assert "only where class is '7A', and mark is above 50" in text
    assert "subject = 'maths', 'art, music' (2 listed)" in plan and "group of 50 rows" in plan
    receipt = json.loads(ask(*flags, "--json"))["receipt"]
    assert receipt["filters"] == ["class == '7A'", "mark > 50"]


def test_a_plan_lists_the_first_keys(marks):
    query = marks.group_by("mark", keys=range(9), groups_per_unit=1).aggregate(n=tables.count())
    assert "mark = 0, 1, 2, 3, 4, and 4 more (9 listed)" in repr(query.plan(1.0, 1e-6, family="gaussian"))


def test_filters_in_python_are_told(marks):
    kept = marks.filter(marks["mark"] > 50).filter(marks["class"] == "7A")
    assert len(kept.filters) == 2 and "mark" in kept.filters[0] and "7A" in kept.filters[1]
    assert kept.fingerprint == marks.fingerprint


# -- what is printed -----------------------------------------------------------------------------------------


def test_values_lie_inside_their_intervals(marks):
    """200 empty groups: with ends cut at 0, about half of the values would lie below their interval (all of them
    above: 2^-200).
    """
    query = marks.group_by("mark", keys=list(range(200, 400)), groups_per_unit=1).aggregate(
        n=tables.count(), people=tables.count_units(), h=tables.histogram("mark", edges=[0, 50, 100])
    )
    made = query.plan(1.0, 1e-6, family="gaussian").answer(ledger=None)
    for name in made.names:
        assert ((made[f"{name}_low"] < made[name]) & (made[name] < made[f"{name}_high"])).all()
        assert (made[name] < 0).any()
        # ends of counts are rounded to whole numbers, so the two sides differ by at most 1
        np.testing.assert_allclose(made[name] - made[f"{name}_low"], made[f"{name}_high"] - made[name], atol=1.0)


def test_a_count_says_what_it_counts(ask, capsys):
    assert "count (at most 1 row per pupil)" in ask("--count")
    assert "count (at most 3 rows per pupil and group)" in ask(
        "--count", 3, "--by", "class", "--keys", "7A,7B", "--groups-per-unit", 1
    )
    with pytest.raises(SystemExit):
        main(["answer", "--help"])
    told = " ".join(capsys.readouterr().out.split())
    for words in (
        "at most ROWS per person in each group",
        "values outside",
        "--family gaussian is the quick",
        "COLUMN:Q:LOW:HIGH",
        "--rows N",
    ):
        assert words in told


def test_the_last_bin_is_closed(ask):
    out = ask("--histogram", "mark:0,50,100")
    assert "mark_histogram [0, 50)" in out and "mark_histogram [50, 100]" in out
    assert "values outside [0, 100] are dropped" in " ".join(out.split())


def test_no_group_says_why(marks):
    query = marks.group_by("mark", keys="private", groups_per_unit=2).aggregate(n=tables.count())
    made = query.plan(0.5, 1e-9, family="gaussian").answer(ledger=None)
    assert len(made) == 0
    for text in (repr(made), made._repr_html_()):
        assert re.search(
            r"no group reached the threshold of [\d.]+ people; use larger groups, list the keys, or spend more", text
        )


def test_bars_have_a_heading(marks):
    """Named and explained; none for a single row."""
    plan = marks.group_by("class", keys=["7A", "7B"], groups_per_unit=1).aggregate(
        people=tables.count_units(), m=tables.mean("mark", low=0, high=100)
    )
    text = repr(plan.plan(5.0, 1e-6, family="gaussian").answer(ledger=None))
    assert (
        re.match(r"class +people +m +people\n", text)
        and "(bars of people: # up to the published value, [ ] its noise interval)" in text
    )
    assert "bars of" not in repr(
        marks.aggregate(people=tables.count_units()).plan(5.0, 1e-6, family="gaussian").answer(ledger=None)
    )


def test_a_receipt_is_no_advice_and_fits_the_page(marks):
    many = {f"mean_{i}": tables.mean("mark", low=0, high=100) for i in range(5)}
    made = marks.aggregate(**many).plan(1.0, 1e-6, family="gaussian").answer(ledger=None)
    assert "Use " not in made.summary() and ") was used: its variance" in made.summary()
    assert max(map(len, made.summary().splitlines())) <= 100 and made.summary().count("\n") > 4


# -- files, ledgers, warnings --------------------------------------------------------------------------------


@pytest.mark.parametrize(("name", "kept"), [("a.csv", "holds no receipt"), ("a.parquet", "in its metadata")])
def test_files_come_with_a_receipt(school, tmp_path, capsys, name, kept):
    asked = ["answer", str(school), "--unit", "pupil", *BUDGET, "--count", "--out", str(tmp_path / name)]
    assert main(asked) == 0
    out, err = capsys.readouterr()
    assert all(word in out for word in ("guarantee:", "noise:", "ledger:"))
    assert "1 group written to" in err and kept in err


@pytest.mark.filterwarnings("default::hush.WeakGuarantee")
def test_warnings_are_for_the_reader_only(school, tmp_path, capsys):
    ledger = tmp_path / "b.ledger"
    main(["ledger", "new", str(ledger), "--epsilon", "5", "--delta", "0.1"])
    capsys.readouterr()
    asked = ["answer", str(school), "--unit", "pupil", "--count", "--epsilon", "1", "--family", "gaussian"]
    assert main([*asked, "--delta", "1e-2"]) == 0
    err = capsys.readouterr().err
    assert "hush: warning: delta = 0.01 gives little privacy" in err and "no ledger: nothing keeps count" in err
    assert main([*asked, "--delta", "1e-4", "--ledger", str(ledger)]) == 0
    assert capsys.readouterr().err == ""


def test_the_ledger_keeps_the_pair_asked_for(marks, tmp_path, capsys):
    path = tmp_path / "b.ledger"
    with hush.Ledger(path, epsilon=9.0, delta=1e-5) as ledger:
        marks.aggregate(n=tables.count()).plan(1.0, 1e-6, family="laplace").answer(ledger=ledger)
        found = marks.group_by("class", keys="private", groups_per_unit=1).aggregate(n=tables.count())
        found.plan(1.5, 1e-6, family="gaussian").answer(ledger=ledger)
        sought = marks.aggregate(m=tables.mean("mark", low="private", high="private"))
        sought.plan(1.0, 1e-6, family="gaussian").answer(ledger=ledger)
        assert [(e.epsilon, e.delta) for e in ledger.entries] == [(1.0, 1e-6), (1.5, 1e-6), (1.0, 1e-6)]
        ledger.verify()
    assert main(["ledger", "show", str(path)]) == 0
    text = capsys.readouterr().out
    assert "calibrated for" in text and "(1.5, 1e-06)" in text and not re.search(r"\d\.\d{8}", text)


def test_a_refusal_names_an_epsilon_that_fits(marks):
    """And a release of that epsilon and noise does fit."""
    ledger, query = hush.Ledger(None, epsilon=1.0, delta=1e-5), marks.aggregate(n=tables.count())
    with pytest.raises(hush.BudgetExceeded) as caught:
        query.plan(3.0, 1e-6, family="gaussian").answer(ledger=ledger)
    found = re.search(r"times as large would fit: that is about epsilon ([\d.]+) at delta 1e-06;", str(caught.value))
    assert found and 0.5 < float(found[1]) < 3.0
    query.plan(float(found[1]), 1e-6, family="gaussian").answer(ledger=ledger)
    assert len(ledger.entries) == 1


def test_a_refusal_without_a_pair_names_none():
    ledger = hush.Ledger(None, epsilon=1.0, delta=1e-5)
    with pytest.raises(hush.BudgetExceeded, match="times as large would fit; nothing"):
        ledger.spend([(hush.Gaussian(0.5), 1.0, 1)])
    assert as_entry([(hush.Gaussian(0.5), 1.0, 1)], "", 0.0, None, None).epsilon is None


def test_another_table_is_told_about_names(marks):
    ledger = hush.Ledger(None, epsilon=5.0, delta=1e-5)
    marks.aggregate(n=tables.count()).plan(1.0, 1e-6, family="gaussian").answer(ledger=ledger)
    other = tables.table(pa.table({"person": [1, 2]}), unit="person").aggregate(n=tables.count())
    with pytest.raises(
        hush.InvalidParameter,
        match=r"If both are about the same people .* give every table the same population=",
    ):
        other.plan(1.0, 1e-6, family="gaussian").answer(ledger=ledger)


# -- sentences -----------------------------------------------------------------------------------------------


@pytest.mark.parametrize(
    ("flags", "said"),
    [
        (["--quantile", "mark:0:100:0.5"], "COLUMN:Q:LOW:HIGH.*Q comes before"),
        (["--quantile", "mark:50:0:100"], "COLUMN:Q:LOW:HIGH.*Q comes before"),
        (["--quantile", "mark:0.5:0"], "COLUMN:Q:LOW:HIGH"),
        (["--count", "--where", "klass==7A"], r"--where names the column 'klass'.*did you mean 'class'\?$"),
        (["--count", "--rows", "5"], "--rows is the group size"),
    ],
)
def test_the_command_line_says_what_to_write(ask, flags, said):
    err = ask(*flags, code=2)
    assert re.search(said, err.strip()) and err.count("\n") == 1


def test_python_says_what_to_write(marks, tmp_path, monkeypatch):
    for make, said in [
        (lambda: marks.filter("mark > 5"), r'write table\.filter\(table\["mark"\] > 5\)'),
        (lambda: marks.filter("a b"), r"write table\.filter\("),
        (lambda: tables.count("mark"), r"write count\(rows_per_unit=3\)"),
        (lambda: marks.aggregate(tables.count()), r"write aggregate\(n=tables\.count\(\)\)"),
        (lambda: marks.aggregate(n=tables.count()).plan(1.0, 1e-6, family="gaussian").answer(), "missing ledger"),
    ]:
        with pytest.raises(hush.InvalidParameter, match=said) as caught:
            make()
        assert str(caught.value).endswith(".") and "\n" not in str(caught.value)
    with pytest.raises(AttributeError, match=r"write table\['mark'\]"):
        marks.mark  # noqa: B018
    with pytest.raises(AttributeError, match="no attribute 'nothing'"):
        marks.nothing  # noqa: B018


def test_the_ledger_suggested_works_as_it_stands(marks, tmp_path, monkeypatch):
    monkeypatch.chdir(tmp_path)
    plan = marks.aggregate(n=tables.count()).plan(1.0, 1e-6, family="gaussian")
    for make in (
        lambda: plan.answer(),
        lambda: plan.answer(ledger=3),
        lambda: hush.release([1], hush.calibrate(1.0, 1e-6, family="laplace")),
    ):
        with pytest.raises(hush.InvalidParameter) as caught:
            make()
        found = re.search(r"ledger=(hush\.Ledger\([^)]*\))", str(caught.value))
        assert found
        with eval(found[1], {"hush": hush}) as ledger:
            assert ledger.cap.epsilon == 3.0
