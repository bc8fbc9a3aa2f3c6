"""The rows of `hush learn`: no value of a row decides whether the command fails, and one person moves one row."""

from __future__ import annotations

import datetime
import decimal
from collections.abc import Sequence
from pathlib import Path

import numpy as np
import pyarrow as pa
import pyarrow.parquet as pq
import pytest

from hush.cli import main
from hush.cli.learn_classes import labels_of
from hush.cli.learn_rows import LEFT_OUT, REPLACED, numbers, one_row_each
from hush.ledger import Ledger

_LOW_HIGH = {"age": (0.0, 100.0)}
_MODELS = {
    "ridge": ["--target", "spent:0:300"],
    "logistic": ["--target", "smoker", "--classes", "no,yes"],
    "private": ["--target", "smoker", "--classes", "private"],
    "truths": ["--target", "truth"],
}
_LINES = [f"{i},{20 + i % 60}.5,{i % 300}.25,{('no', 'yes')[i % 2]},{('false', 'true')[i % 2]}" for i in range(400)]
#: The last line of a file: a good one, and lines that do not fit.
_HOSTILE = [
    "400,30.5,5.5,no,true",
    "400,,5.5,no,true",
    "400,nan,5.5,no,true",
    "400,inf,5.5,no,true",
    "400,-inf,5.5,no,true",
    "400,2001-02-03,5.5,no,true",
    "400,30.5,,no,true",
    "400,30.5,inf,no,true",
    "400,30.5,much,no,true",
    "400,30.5,5.5,,true",
    "400,30.5,5.5,hiv,true",
    "400,30.5,5.5,no,",
    "400,30.5,5.5,no,perhaps",
    "399,30.5,5.5,no,true",
    ",30.5,5.5,no,true",
]


def _asked(path: Path, model: str, *more: str) -> list[str]:
    kind = model if model == "ridge" else "logistic"
    words = ["learn", str(path), "--unit", "person", "--model", kind, "--feature", "age:0:100"]
    return [*words, *_MODELS[model], "--epsilon", "9", "--delta", "1e-6", *more]


@pytest.mark.parametrize("model", _MODELS)
@pytest.mark.parametrize("neighbours", ["replace", "add-remove"])
def test_the_last_row_of_a_file_decides_neither_the_outcome_nor_the_price(
    model: str, neighbours: str, tmp_path: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    for place, line in enumerate(_HOSTILE):
        path, book = tmp_path / f"{place}.csv", tmp_path / f"{place}.ledger"
        path.write_text("\n".join(["person,age,spent,smoker,truth", *_LINES, line]) + "\n")
        Ledger(book, epsilon=10.0, delta=1e-5).close()
        code = main(_asked(path, model, "--ledger", str(book), "--neighbours", neighbours))
        out, err = capsys.readouterr()
        assert code == 0, (line, err)
        assert (LEFT_OUT if neighbours == "add-remove" else REPLACED) in out
        with Ledger(book) as ledger:
            assert sum(entry.epsilon or 0.0 for entry in ledger.entries) == pytest.approx(9.0), line


def _moved(before: Sequence[object], after: Sequence[object], kind: pa.DataType) -> None:
    made = [
        numbers(pa.table({"age": pa.array(ages, kind)}), _LOW_HIGH, np.ones(3, bool))[0] for ages in (before, after)
    ]
    assert np.isfinite(made).all() and (made[0] != made[1]).any(axis=1).sum() <= 1


def test_one_value_moves_one_row() -> None:
    for bad in (None, np.nan, np.inf, -np.inf, 1e308):
        _moved([1.0, 2.0, 3.0], [1.0, bad, 3.0], pa.float64())
        _moved([np.nan, None, np.inf], [np.nan, bad, np.inf], pa.float64())
    _moved([1, None, 2**63 - 1], [1, 7, 2**63 - 1], pa.int64())
    _moved([True, None, False], [True, False, False], pa.bool_())
    _moved([decimal.Decimal(1)] * 3, [decimal.Decimal(1), None, decimal.Decimal(1)], pa.decimal128(38, 0))


def test_the_type_alone_decides_whether_a_column_holds_numbers() -> None:
    day = datetime.date(2000, 1, 1)
    for values in (pa.array(["1", "2"]), pa.array([day, day]), pa.array([[1.0], [2.0]])):
        with pytest.raises(ValueError, match="must be numbers"):
            numbers(pa.table({"age": values}), _LOW_HIGH, np.ones(2, bool))


def test_the_first_row_of_a_person_counts_and_the_others_are_as_if_nothing_was_known() -> None:
    rows = pa.table({"person": ["b", "a", "b", None, "c", "a"], "age": [1.0, 2.0, 3.0, 4.0, None, np.inf]})
    used = one_row_each(rows, "person")
    assert used.tolist() == [True, True, False, False, True, False]
    made, fits = numbers(rows, _LOW_HIGH, used)
    assert made[:, 0].tolist() == [1.0, 2.0, 50.0, 50.0, 50.0, 50.0]
    assert fits.tolist() == [True, True, True, True, False, True]
    labels, known, fits = labels_of(pa.array(["y", "x", "y", "y", "?", None]), "t", "x,y", used)
    assert labels.tolist() == ["y", "x", "x", "x", "x", "x"] and known == ("x", "y")
    assert fits.tolist() == [True, True, True, True, False, False]
    assert one_row_each(rows, None).all()


def test_parquet_labels_of_every_type_have_their_classes(tmp_path: Path) -> None:
    every = np.ones(4, dtype=bool)
    for values, classes, expected in (
        (pa.array([0, 1, 7, None], pa.int32()), None, [0, 1, 0, 0]),
        (pa.array([0.0, 1.0, np.nan, None]), None, [0, 1, 0, 0]),
        (pa.array([2.0, 1.0, 1.5, None]), "1,2", ["2", "1", "1", "1"]),
        (pa.array([True, False, None, True]), None, [True, False, False, True]),
    ):
        assert labels_of(values, "t", classes, every)[0].tolist() == expected
    pq.write_table(pa.table({"person": ["a"], "age": [1.0], "smoker": ["no"]}), tmp_path / "t.parquet")
    words = _asked(tmp_path / "t.parquet", "private")
    assert main([*words[: words.index("--classes")], *words[words.index("--classes") + 2 :]]) == 2
