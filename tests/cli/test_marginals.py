"""`hush marginals`: tables, plans, synthetic rows, the ledger, and mistakes that spend nothing."""

from __future__ import annotations

import json

import pyarrow as pa
import pyarrow.csv
import pyarrow.parquet
import pytest

import hush
from hush.cli import main

BUDGET = "--epsilon 1 --delta 1e-6"


@pytest.fixture(scope="module")
def source(tmp_path_factory):
    place = tmp_path_factory.mktemp("marginals") / "people.parquet"
    sex, ward = ["F", "M"] * 100, ["a", "b", "b", "c"] * 50
    pyarrow.parquet.write_table(pa.table({"id": list(range(200)), "sex": sex, "ward": ward}), place)
    return str(place)


def asked(source, more=""):
    line = f"marginals {source} --unit id --columns sex,ward --keys sex=F,M --keys ward=a,b,c {BUDGET} {more}"
    return line.split()


def test_tables_are_printed_and_written(source, capsys, tmp_path):
    out = tmp_path / "cells.csv"
    assert main(asked(source, f"--out {out}")) == 0
    shown = capsys.readouterr().out
    assert "sex, ward" in shown and "differential privacy" in shown
    cells = pyarrow.csv.read_csv(out)
    assert cells.column_names == ["table", "sex", "ward", "count", "low", "high"]
    assert cells.num_rows == 2 + 3 + 6
    by_table = {
        name: sum(row["count"] for row in cells.to_pylist() if row["table"] == name) for name in ("sex", "ward")
    }
    assert by_table["sex"] == by_table["ward"]


def test_rows_are_written_and_the_ledger_is_charged_once(source, capsys, tmp_path):
    book, out = tmp_path / "book.ledger", tmp_path / "rows.parquet"
    with hush.Ledger(book, epsilon=1.0, delta=1e-6):
        pass
    more = f"--order 2 --weights tables --synthesise 60 --out {out} --ledger {book} --json"
    assert main(asked(source, more)) == 0
    found = json.loads(capsys.readouterr().out)
    assert found["rows"] == 60 and found["receipt"]["kind"] == "workload"
    assert found["report"][0]["table"] == ["sex", "ward"] and found["report"][0]["kept"] in (True, False)
    rows = pyarrow.parquet.read_table(out)
    assert rows.num_rows == 60 and set(rows.column("ward").to_pylist()) <= {"a", "b", "c"}
    with hush.Ledger(book) as opened:
        assert len(opened.entries) == 1


def test_a_plan_spends_nothing(source, capsys):
    assert main(asked(source, "--plan --json")) == 0
    assert json.loads(capsys.readouterr().out)["rmse"] > 0.0


@pytest.mark.parametrize(
    ("more", "words"),
    [
        ("--synthesise 10", "--out rows.csv"),
        ("--synthesise -1 --out rows.csv", "--synthesise needs"),
        ("--out cells.txt", "--out must end"),
        ("--order two", "--order needs"),
        ("--order 3", "at most 2"),
        ("--keys private", "--keys"),
        ("--keys other=1", "--keys"),
    ],
)
def test_mistakes_are_one_sentence_and_spend_nothing(source, capsys, tmp_path, more, words):
    book = tmp_path / "book.ledger"
    with hush.Ledger(book, epsilon=1.0, delta=1e-6):
        pass
    assert main(asked(source, f"{more} --ledger {book}")) == 2
    out, err = capsys.readouterr()
    assert out == "" and words in err and err.count("\n") == 1
    with hush.Ledger(book) as opened:
        assert not opened.entries


def test_a_block_of_time_is_asked_about_and_charged(capsys, tmp_path):
    """--block counts the rows of one month only, and charges that month."""
    place, book = tmp_path / "months.parquet", tmp_path / "book.ledger"
    months = ["2025-01"] * 1000 + ["2025-02"] * 3000
    pyarrow.parquet.write_table(pa.table({"id": list(range(4000)), "month": months, "sex": ["F", "M"] * 2000}), place)
    with hush.Ledger(book, epsilon=10.0, delta=1e-6, blocks="month"):
        pass
    line = f"marginals {place} --unit id,month --block month=2025-01 --columns sex --keys F,M --ledger {book} --json"
    assert main(f"{line} --epsilon 8 --pure".split()) == 0
    cells = json.loads(capsys.readouterr().out)["cells"]
    assert [abs(cell["count"] - 500) < 50 for cell in cells] == [True, True]  # February has 1,500 of each
    with hush.Ledger(book) as opened:
        assert {entry.block for entry in opened.entries} <= {"", "2025-01"}  # "" counts for every month
