"""`hush policy` and `hush answer --policy`, as typed by a curator and by an analyst who tries to leave the policy."""

from __future__ import annotations

import json
import tomllib
from pathlib import Path
from typing import Any

import pyarrow.parquet
import pytest

import hush
from hush.cli import main
from hush.tables import Policy
from hush.tables.sample_table import sample

POLICY = """
[tables.visits]
source = "visits.parquet"
unit = "patient_id"
groups_per_unit = 2
rows_per_unit = 1
ledger = "visits.ledger"
max_epsilon = 1

[tables.visits.columns]
stay_days = { low = 0, high = 30 }
ward = { values = ["surgery", "emergency"] }
age = { low = 0, high = 120 }
"""
BUDGET = ["--epsilon", "1", "--delta", "1e-6", "--family", "gaussian"]


@pytest.fixture
def folder(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Path:
    """A curator's folder: data, other data, a policy and its ledger."""
    monkeypatch.chdir(tmp_path)
    pyarrow.parquet.write_table(sample("visits", 2000), "visits.parquet")
    pyarrow.parquet.write_table(sample("visits", 10), "other.parquet")
    Path("hush.toml").write_text(POLICY)
    hush.Ledger("visits.ledger", epsilon=3, delta=1e-5).close()
    hush.Ledger("other.ledger", epsilon=3, delta=1e-5).close()
    return tmp_path


def run(capsys: Any, *arguments: Any) -> tuple[int, str, str]:
    try:
        code = main([str(argument) for argument in arguments])
    except SystemExit as stopped:
        code = int(stopped.code or 0)
    out = capsys.readouterr()
    return code, out.out, out.err


def test_a_draft_comes_from_the_schema_alone(folder: Path, capsys: Any) -> None:
    """The draft of a table with rows and of the same table without rows is the same text, and it is a good policy."""
    code, out, _ = run(capsys, "policy", "new", "a.toml", "--source", "visits.parquet", "--unit", "patient_id")
    assert code == 0 and "a draft for the table visits" in out
    first = Path("a.toml").read_text()
    rows = pyarrow.parquet.read_table("visits.parquet")
    pyarrow.parquet.write_table(rows.slice(0, 0), "visits.parquet")
    run(capsys, "policy", "new", "b.toml", "--source", "visits.parquet", "--unit", "patient_id")
    assert first == Path("b.toml").read_text()
    assert tomllib.loads(first)["tables"]["visits"]["columns"] == {}  # nothing may be asked before the curator says so
    for line in first.splitlines():
        assert not any(value in line for value in ("surgery", "emergency"))
    code, out, _ = run(capsys, "policy", "check", "a.toml")
    assert code == 0 and "1 table, no mistake" in out and "no column may be asked yet" in out
    assert run(capsys, "policy", "new", "a.toml", "--source", "visits.parquet", "--unit", "patient_id")[0] == 2
    uncommented = first.replace("# stay_days =", "stay_days =").replace("# day =", "day =")
    Path("c.toml").write_text(uncommented)
    assert run(capsys, "policy", "check", "c.toml")[0] == 0
    assert Policy.read("c.toml").open("visits").columns == ("day", "stay_days")


def test_drafts_of_other_units(folder: Path, capsys: Any) -> None:
    (folder / "sub").mkdir()
    for name, given, unit in (
        ("a.toml", ["--unit", "patient_id,ward"], ("patient_id", "ward")),
        ("sub/b.toml", ["--each-row"], "row"),
        ("c.toml", ["--unit", "patient_id", "--table", "stays"], "patient_id"),
    ):
        assert run(capsys, "policy", "new", name, "--source", "visits.parquet", *given)[0] == 0
        policy = Policy.read(name)
        (table,) = policy.tables
        assert policy.tables[table].unit == unit and table == ("stays" if "c.toml" in name else "visits")
        assert policy.mistakes() == []  # also from a folder below: the source is relative to the policy
    for given, words in (
        ([], "--unit is needed"),
        (["--unit", "patient_id", "--each-row"], "leave --unit out"),
        (["--unit", "patent_id"], "did you mean 'patient_id'"),
    ):
        code, _, err = run(capsys, "policy", "new", "d.toml", "--source", "visits.parquet", *given)
        assert code == 2 and words in err and not Path("d.toml").exists()


def test_check_and_show(folder: Path, capsys: Any) -> None:
    code, out, _ = run(capsys, "policy", "check", "hush.toml")
    assert code == 0 and "protects each patient_id, at most 2 groups" in out and "3 columns may be asked" in out
    code, out, _ = run(capsys, "policy", "show", "hush.toml", "--json")
    shown = json.loads(out)["visits"]
    assert shown["columns"]["stay_days"] == "from 0 to 30" and shown["ledger"] == "visits.ledger"
    assert "stay_days" in run(capsys, "policy", "show", "hush.toml")[1]
    Path("bad.toml").write_text(POLICY.replace("low = 0, high = 30", "low = 3, high = 0").replace("= 2", "= 0"))
    code, _, err = run(capsys, "policy", "check", "bad.toml")
    assert code == 2 and "2 mistakes" in err and "tables.visits.columns.stay_days.low: " in err
    Path("url.toml").write_text(POLICY.replace("visits.parquet", "postgresql://ana:secret@db/clinic"))
    assert "secret" not in run(capsys, "policy", "show", "url.toml")[1]


def test_facts_come_from_the_policy(folder: Path, capsys: Any) -> None:
    asked = ["--by", "ward", "--count", "--mean", "stay_days", "--quantile", "age:0.5", "--histogram", "ward"]
    code, out, err = run(capsys, "answer", "--policy", "hush.toml", "--json", *asked, *BUDGET)
    assert code == 0 and "no ledger" not in err
    found = json.loads(out)
    assert [row["ward"] for row in found["answer"]] == ["surgery", "emergency"]
    receipt = found["receipt"]
    assert receipt["guarantee"]["groups_per_unit"] == 2 and receipt["ledger"]["ledger"].endswith("visits.ledger")
    assert "stay_days_mean: at most 1 row per person and group, each in [0, 30]" in receipt["bounds"]
    # the same, and narrower, by hand
    same = ["--table", "visits", "--unit", "patient_id", "--ledger", "visits.ledger"]
    narrow = ["--by", "ward", "--keys", "surgery", "--groups-per-unit", "1", "--mean", "stay_days:1:20", "--count", "1"]
    code, out, _ = run(capsys, "answer", "--policy", "hush.toml", *same, *narrow, *BUDGET)
    assert code == 0 and "each in [1, 20]" in out
    with hush.Ledger("visits.ledger") as ledger:
        assert len(ledger.entries) == 2


LEAVES = {
    "another file": (["other.parquet", "--count"], "so 'other.parquet' is not opened"),
    "a file as a table": (["--table", "other.parquet", "--count"], "has no table 'other.parquet'"),
    "a function as a table": (["--table", "read_csv('x')", "--count"], "has no table"),
    "another table": (["--table", "Visits", "--count"], "has no table 'Visits'"),
    "another unit": (["--unit", "visit_id", "--count"], "the unit is visit_id, but the policy declares patient_id"),
    "each row": (["--each-row", "--count"], "the unit is row, but the policy declares patient_id"),
    "two units": (["--unit", "patient_id,ward", "--count"], "the unit is patient_id and ward"),
    "another ledger": (["--ledger", "other.ledger", "--count"], "the ledger is other.ledger, but the policy charges"),
    "another engine": (["--engine", "sc://evil:1", "--count"], "leave --engine sc://evil:1 out"),
    "hidden column": (["--mean", "cost:0:10"], "names the column 'cost', which the table does not have"),
    "the unit as a value": (["--mean", "patient_id:0:10"], "which the table does not have"),
    "the key as a value": (["--count", "--where", ".unit==5"], ""),
    "hidden condition": (["--count", "--where", "patient_id==5"], "--where names the column 'patient_id'"),
    "hidden group": (["--by", "visit_id", "--keys", "private", "--count"], "group_by names the column 'visit_id'"),
    "quoted name": (["--mean", '"cost":0:10'], "which the table does not have"),
    "look-alike": (["--mean", "\u0441ost:0:10"], "which the table does not have"),
    "a comment": (["--mean", "stay_days--:0:10"], "which the table does not have"),
    "a statement": (["--count", "--where", "age>=1; DROP TABLE visits"], ""),
    "wider low": (["--mean", "stay_days:-1:10"], "is -1, but the policy declares 0"),
    "wider high": (["--sum", "stay_days:0:31:1"], "is 31, but the policy declares 30"),
    "wider total": (["--sum", "stay_days:0:31"], "is 31, but the policy declares 30"),
    "private bounds": (["--mean", "stay_days:private"], "found privately, but the policy declares [0, 30]"),
    "wider edges": (["--histogram", "age:0,200"], "reach 200, but the policy declares [0, 120]"),
    "wider quantile": (["--quantile", "age:0.5:0:121"], "is 121, but the policy declares 120"),
    "more rows": (["--count", "2"], "is 2, but the policy allows at most 1"),
    "more rows of a mean": (["--mean", "stay_days:0:30:5"], "is 5, but the policy allows at most 1"),
    "more groups": (["--by", "ward", "--groups-per-unit", "3", "--count"], "is 3, but the policy allows at most 2"),
    "other keys": (["--by", "ward", "--keys", "surgery,burns", "--count"], "'burns', which the policy does not list"),
    "undeclared keys": (["--by", "age", "--count"], "the policy declares no values of 'age'"),
}


@pytest.mark.parametrize("what", LEAVES)
def test_an_analyst_cannot_leave_the_policy(folder: Path, capsys: Any, what: str) -> None:
    """One sentence, exit code 2, nothing is charged."""
    asked, words = LEAVES[what]
    code, out, err = run(capsys, "answer", "--policy", "hush.toml", *asked, *BUDGET)
    assert code == 2 and out == "" and words in err and len(err.strip().splitlines()) == 1
    with hush.Ledger("visits.ledger") as ledger:
        assert not ledger.entries


def test_more_budget_than_one_question_may_spend(folder: Path, capsys: Any) -> None:
    code, _, err = run(capsys, "answer", "--policy", "hush.toml", "--count", "--epsilon", "2", "--delta", "1e-6")
    assert code == 2 and "epsilon is 2, but the policy allows at most 1" in err
    Path("visits.ledger").unlink()
    code, _, err = run(capsys, "answer", "--policy", "hush.toml", "--count", *BUDGET)
    assert code == 2 and "there is no ledger" in err


def test_tables_are_chosen_where_there_are_several(folder: Path, capsys: Any) -> None:
    more = POLICY + '\n[tables.old]\nsource = "other.parquet"\nunit = "row"\n'
    Path("two.toml").write_text(more)
    code, _, err = run(capsys, "answer", "--policy", "two.toml", "--count", *BUDGET)
    assert code == 2 and "the policy has 2 tables; choose one with --table: visits, old" in err
    code, out, _ = run(capsys, "answer", "--policy", "two.toml", "--table", "old", "--count", *BUDGET)
    assert code == 0 and "for each row, added or removed" in out


def test_units_without_a_policy(folder: Path, capsys: Any) -> None:
    code, out, _ = run(
        capsys, "answer", "visits.parquet", "--each-row", "--by", "ward", "--keys", "burns", "--count", *BUDGET
    )
    assert code == 0 and "for each row" in out and "not covered:" in out
    code, out, _ = run(capsys, "answer", "visits.parquet", "--unit", "patient_id,ward", "--count", *BUDGET)
    assert code == 0 and "for each patient_id and ward" in out
    assert "a source is needed" in run(capsys, "answer", "--unit", "patient_id", "--count", *BUDGET)[2]
    assert "--unit is needed" in run(capsys, "answer", "visits.parquet", "--count", *BUDGET)[2]


def test_mistakes_of_the_form_and_of_the_schema_are_listed_together(folder: Path, capsys: Any) -> None:
    """The example of docs/policy.md, and three more mistakes. A value is reported once."""
    Path("wrong.toml").write_text(
        '[tables.visits]\nsource = "visits.parquet"\nunit = "patient_id"\ngroups_per_unit = 0\n\n'
        "[tables.visits.columns]\nstay_days = { low = 30, high = 0 }\nwrad = { values = ['a'] }\n"
        "day = { low = 0, high = 2025-12-31 }\nage = { low = 2020-01-01, high = 2021-01-01 }\n"
    )
    code, out, err = run(capsys, "policy", "check", "wrong.toml")
    lines = err.replace("tables.visits.", "").splitlines()
    assert (
        code == 2
        and not out
        and lines
        == [
            "hush: wrong.toml has 6 mistakes:",
            '  groups_per_unit: must be a whole number, 1 or greater, or "private", got 0.',
            "  columns.stay_days.low: low is 30 and high is 0, but low must be below high; exchange them.",
            "  columns.day.low: low and high must both be numbers or both be dates, got 0 and 2025-12-31.",
            "  columns.wrad: the source has no such column; did you mean 'ward'?",
            "  columns.age.low: must be a number, because the column is of type int64, got 2020-01-01.",
            "  columns.age.high: must be a number, because the column is of type int64, got 2021-01-01.",
        ]
    )
