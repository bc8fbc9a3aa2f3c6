"""`hush answer` and `hush sample`, as typed."""

from __future__ import annotations

import json

import pytest

import hush
from hush.cli import main
from hush.tables.sample_table import sample

PURE = ["--epsilon", "2", "--pure"]


@pytest.fixture(scope="module")
def visits(tmp_path_factory):
    import pyarrow.parquet

    path = tmp_path_factory.mktemp("data") / "visits.parquet"
    pyarrow.parquet.write_table(sample("visits", 4000), path)
    return str(path)


def run(capsys, *arguments):
    code = main([str(a) for a in arguments])
    out = capsys.readouterr()
    return code, out.out, out.err


def test_sample_writes_a_table(capsys, tmp_path):
    for name in ("a.parquet", "a.csv"):
        code, out, _ = run(capsys, "sample", "visits", "--rows", 50, "--out", tmp_path / name)
        assert code == 0 and "50 made-up visits" in out and (tmp_path / name).stat().st_size > 500
    assert hush.tables.table(str(tmp_path / "a.csv"), unit="patient_id").columns == tuple(
        sample("visits", 1).column_names
    )
    code, _, err = run(capsys, "sample", "visits", "--rows", 5, "--out", tmp_path / "a.xls")
    assert code == 2 and "must end in" in err
    code, _, err = run(capsys, "sample", "visits", "--rows", 0, "--out", tmp_path / "a.csv")
    assert code == 2 and "rows" in err


def test_every_aggregate_has_a_flag(capsys, visits):
    asked = [
        "--count",
        "2",
        "--count-units",
        "--sum",
        "cost:0:9000",
        "--mean",
        "stay_days:0:30:2",
        "--variance",
        "age:0:100",
    ]
    asked += [
        "--histogram",
        "age:0,18,65,120",
        "--quantile",
        "stay_days:0.5:0:30",
        "--where",
        "age>=18",
        "--where",
        "ward!=burns",
    ]
    code, out, err = run(
        capsys, "answer", visits, "--unit", "patient_id", *asked, *PURE, "--json", "--family", "laplace"
    )
    assert code == 0, err
    (row,) = json.loads(out)["answer"]
    for name in (
        "count",
        "units",
        "cost_sum",
        "stay_days_mean",
        "age_variance",
        "age_histogram [18, 65)",
        "stay_days_q50",
    ):
        assert row[f"{name}_low"] <= row[f"{name}_high"]
    assert row["age_histogram [0, 18)"] < row["age_histogram [18, 65)"]


def test_groups_ledger_and_files(capsys, visits, tmp_path):
    book, out = tmp_path / "v.ledger", tmp_path / "answer.parquet"
    assert run(capsys, "ledger", "new", book, "--epsilon", 3, "--delta", 1e-5)[0] == 0
    asked = [
        "answer",
        visits,
        "--unit",
        "patient_id",
        "--by",
        "ward",
        "--groups-per-unit",
        2,
        "--count",
        "--epsilon",
        1,
        "--delta",
        1e-6,
    ]
    code, text, err = run(
        capsys, *asked, "--keys", "surgery,emergency", "--ledger", book, "--label", "one", "--family", "laplace"
    )
    assert code == 0 and "surgery" in text and "entry 1 of v.ledger" in text and not err
    assert str(tmp_path) not in text  # an answer is published: it does not name the folders of this machine
    code, text, err = run(capsys, *asked, "--keys", "private", "--ledger", book, "--out", out, "--family", "laplace")
    assert code == 0 and "groups written to" in err and out.exists() and "entry 2 of" in text and "guarantee" in text
    with hush.Ledger(book) as held:
        assert [entry.label for entry in held.entries] == ["one", "visits.parquet"] and held.entries[1].charges[
            0
        ].keys is not None
    code, text, err = run(capsys, *asked, "--keys", "surgery", "--epsilon", 5, "--ledger", book, "--family", "laplace")
    assert code == 2 and "is left" in err and text == ""


def test_a_plan_spends_nothing(capsys, visits, tmp_path):
    book = tmp_path / "p.ledger"
    run(capsys, "ledger", "new", book, "--epsilon", 3, "--delta", 1e-5)
    code, out, _ = run(
        capsys, "answer", visits, "--unit", "patient_id", "--mean", "stay_days:0:30", *PURE, "--ledger", book, "--plan"
    )
    assert code == 0 and "95 % error" in out and "groups per person" in out
    code, out, _ = run(
        capsys, "answer", visits, "--unit", "patient_id", "--mean", "stay_days:0:30", *PURE, "--plan", "--json"
    )
    assert json.loads(out)["errors"]["stay_days_mean"] > 0
    with hush.Ledger(book) as held:
        assert not held.entries


BAD = [
    (["--count"], "--unit", "nobody", "did you mean|does not have"),
    ([], "--unit", "patient_id", "the query has no aggregate"),
    (["--mean", "stay_days"], "--unit", "patient_id", "column:low:high"),
    (["--mean", "stay_days:30:0"], "--unit", "patient_id", "below high"),
    (["--mean", "stay_days:0:many"], "--unit", "patient_id", "not a number"),
    (["--mean", "ward:0:1"], "--unit", "patient_id", "numbers"),
    (["--mean", "stay:0:1"], "--unit", "patient_id", "stay_days"),
    (["--count", "--where", "age"], "--unit", "patient_id", "a condition is needed"),
    (["--count", "--by", "ward"], "--unit", "patient_id", "groups-per-unit"),
    (["--count", "--by", "ward", "--groups-per-unit", "2"], "--unit", "patient_id", "--keys"),
    (
        ["--count", "--by", "ward", "--groups-per-unit", "2", "--keys", "a,a"],
        "--unit",
        "patient_id",
        "twice|duplicate|more than once",
    ),
    (["--count", "--by", "ward", "--groups-per-unit", "0", "--keys", "a"], "--unit", "patient_id", "--groups-per-unit"),
    (
        ["--count", "--by", "ward", "--groups-per-unit", "2", "--keys", "private"],
        "--unit",
        "patient_id",
        "delta greater than 0",
    ),
    (["--count", "--ledger", "nowhere.ledger"], "--unit", "patient_id", "nowhere.ledger"),
    (["--count", "--out", "answer.xls"], "--unit", "patient_id", "must end in"),
]


@pytest.mark.parametrize(("flags", "unit", "column", "said"), BAD, ids=[" ".join(b[0]) or "nothing" for b in BAD])
def test_bad_requests_get_one_sentence(capsys, visits, tmp_path, monkeypatch, flags, unit, column, said):
    import re

    monkeypatch.chdir(tmp_path)
    code, out, err = run(capsys, "answer", visits, unit, column, *flags, *PURE)
    assert code == 2 and out == "" and err.count("\n") == 1
    assert re.search(said, err), err


def test_missing_files_and_budgets(capsys, tmp_path):
    code, _, err = run(capsys, "answer", tmp_path / "none.parquet", "--unit", "a", "--count", *PURE)
    assert code == 2 and "does not exist" in err
    code, _, err = run(capsys, "answer", tmp_path / "none.parquet", "--unit", "a", "--count", "--epsilon", 1)
    assert code == 2 and "--delta is needed" in err
