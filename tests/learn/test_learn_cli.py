"""`hush learn`: coefficients and a receipt, or one sentence."""

from __future__ import annotations

import json

import numpy as np
import pytest

from hush import Ledger
from hush.cli import main


@pytest.fixture
def people(tmp_path):
    """4000 people whose spending and habit follow their age."""
    random = np.random.default_rng(5)
    age = random.uniform(20, 80, 4000)
    spending, smoker = 3.0 * age + random.normal(size=4000), np.where(age + random.normal(scale=5.0, size=4000) > 50, "daily", "never")
    lines = [f"{a:.3f},{s:.3f},{w}" for a, s, w in zip(age, spending, smoker, strict=True)]
    path = tmp_path / "people.csv"
    path.write_text("age,spending,smoker\n" + "\n".join(lines) + "\n")
    return path


BUDGET = ["--epsilon", "1", "--delta", "1e-6"]


def test_regression_with_a_ledger(people, tmp_path, capsys):
    ledger = tmp_path / "people.ledger"
    Ledger(ledger, epsilon=1.2, delta=1e-6).close()
    words = ["learn", str(people), "--model", "ridge", "--target", "spending:0:300", "--feature", "age:0:100", *BUDGET]
    assert main([*words, "--ledger", str(ledger), "--json"]) == 0
    shown = json.loads(capsys.readouterr().out)
    assert shown["coefficients"]["age"] == pytest.approx(3.0, abs=1.0) and shown["receipt"]["epsilon"] == 1.0
    assert len(Ledger(ledger).entries) == 1
    assert main([*words, "--ledger", str(ledger)]) == 2
    assert "left" in capsys.readouterr().err and len(Ledger(ledger).entries) == 1


def test_classification_prints_a_table_and_the_guarantee(people, capsys):
    words = ["learn", str(people), "--model", "logistic", "--target", "smoker", "--classes", "never,daily"]
    assert main([*words, "--feature", "age:0:100", *BUDGET]) == 0
    text = capsys.readouterr().out
    assert "(intercept)" in text and "(epsilon = 1, delta = 1e-06)-differential privacy" in text


def test_yes_and_no_need_no_classes(people, capsys):
    """The engine reads them as booleans."""
    people.write_text(people.read_text().replace("daily", "yes").replace("never", "no"))
    for extra in ([], ["--classes", "no,yes"]):
        assert main(["learn", str(people), "--model", "logistic", "--target", "smoker", "--feature", "age:0:100", *BUDGET, *extra]) == 0


@pytest.mark.parametrize(
    ("words", "sentence"),
    [
        (["--model", "ridge", "--target", "spending", "--feature", "age:0:100"], "--target needs column:low:high"),
        (["--model", "ridge", "--target", "spending:0:300", "--feature", "ages:0:100"], "did you mean 'age'"),
        (["--model", "ridge", "--target", "spending:0:300", "--feature", "smoker:0:1"], "must be numbers"),
        (["--model", "ridge", "--target", "spending:300:0", "--feature", "age:0:100"], "low below high"),
        (["--model", "logistic", "--target", "smoker", "--feature", "age:0:100"], "classes are needed"),
        (["--model", "lasso", "--target", "spending:0:300", "--feature", "age:0:100", "--noise", "loud"], "noise must be one of"),
    ],
)
def test_mistakes_end_in_one_sentence(people, capsys, words, sentence):
    assert main(["learn", str(people), *words, *BUDGET]) == 2
    shown = capsys.readouterr().err
    assert sentence in shown and shown.count("\n") == 1


def test_empty_cells_and_empty_tables(tmp_path, capsys):
    for text, sentence in (("age,spending\n30,\n40,5\n", "has empty values"), ("age,spending\n", "no rows")):
        (tmp_path / "t.csv").write_text(text)
        words = ["learn", str(tmp_path / "t.csv"), "--model", "ridge", "--target", "spending:0:9", "--feature", "age:0:100", *BUDGET]
        assert main(words) == 2
        assert sentence in capsys.readouterr().err
