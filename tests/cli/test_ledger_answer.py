"""`hush ledger answer`: an answer that was paid for is printed again and written again, for nothing."""

from __future__ import annotations

import json

import pyarrow as pa
import pyarrow.csv
import pyarrow.parquet
import pytest

import hush
from hush.cli import main
from hush.ledger.access import Access


@pytest.fixture
def book(tmp_path, capsys):
    """A ledger with an answer, made by a command; and what the command printed."""
    ids = list(range(300))
    rows = pa.table({"id": ids, "ward": ["a" if i % 3 else "b" for i in ids], "cost": [float(i % 10) for i in ids]})
    pyarrow.parquet.write_table(rows, tmp_path / "v.parquet")
    path = str(tmp_path / "v.ledger")
    assert main(["ledger", "new", path, "--epsilon", "9", "--delta", "1e-5"]) == 0
    asked = ["answer", str(tmp_path / "v.parquet"), "--unit", "id", "--by", "ward", "--keys", "a,b", "--count-units"]
    asked += ["--groups-per-unit", "1", "--epsilon", "1", "--delta", "1e-6", "--family", "gaussian", "--ledger", path]
    capsys.readouterr()
    assert main(asked) == 0
    return path, capsys.readouterr().out


def test_an_answer_is_printed_again(book, capsys):
    path, printed = book
    assert main(["ledger", "answer", path, "1"]) == 0
    assert capsys.readouterr().out == printed
    with hush.Ledger(path) as ledger:
        assert len(ledger.entries) == 1 and ledger.unanswered == ()


@pytest.mark.parametrize("ending", ["csv", "parquet", "xlsx", "md", "tex", "html", "json"])
def test_an_answer_is_written_again(book, tmp_path, ending):
    path, out = book[0], tmp_path / f"again.{ending}"
    assert main(["ledger", "answer", path, "1", "--out", str(out)]) == 0
    assert out.stat().st_size > 0
    if ending == "csv":
        with hush.Ledger(path) as ledger:
            assert pyarrow.csv.read_csv(out)["units"].to_pylist() == ledger.answer(1).table["units"].to_pylist()
    assert main(["ledger", "answer", path, "1", "--out", str(out)]) == 2, "an existing file is not replaced silently"
    assert main(["ledger", "answer", path, "1", "--out", str(out), "--overwrite"]) == 0


def test_the_answer_as_json(book, capsys):
    assert main(["ledger", "answer", book[0], "1", "--json"]) == 0
    document = json.loads(capsys.readouterr().out)
    assert [row["ward"] for row in document["answer"]] == ["a", "b"] and document["receipt"]["ledger"]["number"] == 1


def test_entries_without_an_answer_are_named(book, capsys):
    path = book[0]
    with hush.Ledger(path) as ledger:
        Access(ledger, label="unfinished").pay("a question", (hush.Gaussian(20.0), 1.0, 1))
        ledger.spend((hush.Gaussian(20.0), 1.0, 1))
    assert main(["ledger", "show", path]) == 0
    assert "entry 2 has no answer yet: the call that charged it gets one" in capsys.readouterr().out
    for number, why in (("2", "gets its answer"), ("3", "noise that the caller draws"), ("4", "has 3 entries")):
        assert main(["ledger", "answer", path, number]) == 2
        assert why in capsys.readouterr().err
