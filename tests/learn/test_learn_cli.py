"""`hush learn`: coefficients and a receipt, or one sentence."""

from __future__ import annotations

import json

import numpy as np
import pandas as pd
import pytest

from hush import Ledger
from hush.cli import main


@pytest.fixture
def people(tmp_path):
    """4000 people whose spending and habit follow their age."""
    random = np.random.default_rng(5)
    age = random.uniform(20, 80, 4000)
    spending, smoker = (
        3.0 * age + random.normal(size=4000),
        np.where(age + random.normal(scale=5.0, size=4000) > 50, "daily", "never"),
    )
    lines = [f"{a:.3f},{s:.3f},{w}" for a, s, w in zip(age, spending, smoker, strict=True)]
    path = tmp_path / "people.csv"
    path.write_text("age,spending,smoker\n" + "\n".join(lines) + "\n")
    return path


BUDGET = ["--epsilon", "1", "--delta", "1e-6"]


def ridge(feature: str, target: str) -> list[str]:
    """The options of a regression on one column."""
    return ["--model", "ridge", "--target", target, "--feature", feature]


RIDGE = ridge("age:0:100", "spending:0:300")


def test_regression_with_a_ledger(people, tmp_path, capsys):
    ledger = tmp_path / "people.ledger"
    Ledger(ledger, epsilon=1.2, delta=1e-6).close()
    words = ["learn", str(people), *RIDGE, *BUDGET]
    assert main([*words, "--ledger", str(ledger), "--json"]) == 0
    shown = json.loads(capsys.readouterr().out)
    assert (
        shown["coefficients"]["age"] == pytest.approx(3.0, abs=1.0) and shown["receipt"]["guarantee"]["epsilon"] == 1.0
    )
    assert len(Ledger(ledger).entries) == 1
    assert main([*words, "--ledger", str(ledger)]) == 2
    assert "left" in capsys.readouterr().err and len(Ledger(ledger).entries) == 1


@pytest.mark.filterwarnings("default")
def test_a_small_budget_gives_the_mean_and_says_so(people, capsys):
    words = ["learn", str(people), *RIDGE]
    for more in ([], ["--json"]):
        assert main([*words, "--epsilon", "0.001", "--delta", "1e-6", *more]) == 0
        out, err = capsys.readouterr()
        assert (
            "the model is the mean of the target" in err and "the mean of" not in out and err.count("the mean of") == 1
        )


def test_classification_prints_a_table_and_the_guarantee(people, capsys):
    words = ["learn", str(people), "--model", "logistic", "--target", "smoker", "--classes", "never,daily"]
    assert main([*words, "--feature", "age:0:100", *BUDGET]) == 0
    text = capsys.readouterr().out
    assert "(intercept)" in text and "(epsilon = 1, delta = 1e-06)-differential privacy" in text


def test_yes_and_no_need_no_classes(people, capsys):
    """The engine reads them as booleans."""
    people.write_text(people.read_text().replace("daily", "yes").replace("never", "no"))
    words = ["learn", str(people), "--model", "logistic", "--target", "smoker", "--feature", "age:0:100", *BUDGET]
    for extra in ([], ["--classes", "no,yes"]):
        assert main([*words, *extra]) == 0


@pytest.mark.parametrize(
    ("words", "sentence"),
    [
        (ridge("age:0:100", "spending"), "--target needs column:low:high"),
        (ridge("ages:0:100", "spending:0:300"), "did you mean 'age'"),
        (ridge("age:0:100", "spending:300:0"), "write --target spending:0:300"),
        (
            ["--model", "lasso", "--target", "spending:0:300", "--feature", "age:0:100", "--family", "loud"],
            "family must be one of",
        ),
        (ridge("age:0:100", "age:0:300"), "column 'age' is given twice"),
        (
            ["--model", "logistic", "--target", "smoker", "--classes", "a,b", "--feature", "smoker:0:1"],
            "column 'smoker' is given twice",
        ),
        (
            [*RIDGE, "--feature", "age:0:9"],
            "column 'age' is given twice",
        ),
        (
            [*RIDGE, "--unit", "age"],
            "column 'age' is given twice",
        ),
        (
            [*RIDGE, "--verbose", "7"],
            "verbose must be 0, 1 or 2",
        ),
    ],
)
def test_mistakes_end_in_one_sentence(people, capsys, words, sentence):
    assert main(["learn", str(people), *words, *BUDGET]) == 2
    shown = capsys.readouterr().err
    assert sentence in shown and shown.count("\n") == 1


def test_an_empty_table_is_refused(tmp_path, capsys):
    (tmp_path / "t.csv").write_text("age,spending\n")
    assert main(["learn", str(tmp_path / "t.csv"), *ridge("age:0:100", "spending:0:9"), *BUDGET]) == 2
    assert "no rows" in capsys.readouterr().err


def test_the_help_says_what_a_penalty_is(capsys):
    with pytest.raises(SystemExit):
        main(["learn", "--help"])
    text = " ".join(capsys.readouterr().out.split())
    assert "default 0.01 for lasso and elastic-net, 1 for ridge" in text and "a larger number penalises less" in text


def test_one_row_of_a_person_counts_and_the_output_says_it(people, capsys):
    named = "person,age,spending\n" + "\n".join(f"{i},{20 + i % 60}.5,{i % 300}.25" for i in range(500)) + "\n"
    people.write_text(named)
    words = ["learn", str(people), *RIDGE, *BUDGET]
    assert main([*words, "--unit", "person"]) == 0
    assert "and one row of each person (column person) counts" in capsys.readouterr().out
    assert main(words) == 0
    assert "each row is assumed to be one person" in capsys.readouterr().out


def test_the_examples_have_a_person_a_row(capsys):
    with pytest.raises(SystemExit):
        main(["learn", "--help"])
    text = capsys.readouterr().out
    assert "visits.parquet" not in text and "--unit person_id" in text


def test_a_person_with_several_rows(tmp_path, capsys):
    numbers = np.random.default_rng(2)
    age = numbers.uniform(18, 100, 3000)
    frame = pd.DataFrame({"id": np.arange(3000) // 3, "age": age, "sick": np.where(age > 60, "yes", "no"), "cost": age})
    path = tmp_path / "visits.parquet"
    frame.to_parquet(path)
    common = [str(path), "--unit", "id", "--feature", "age:18:100", "--epsilon", "5", "--delta", "1e-6"]
    assert main(["learn", *common, "--model", "ridge", "--target", "cost:0:100", "--rows-per-unit", "2"]) == 0
    shown = capsys.readouterr().out
    assert "at most 2 rows of each person" in shown and "one person more or less" in shown
    options = ["--model", "logistic", "--target", "sick", "--classes", "no,yes", "--rows-per-unit", "3", "--json"]
    assert main(["learn", *common, *options]) == 0
    assert json.loads(capsys.readouterr().out)["receipt"]["rows_per_unit"] == 3
    without = [part for part in common if part not in ("--unit", "id")]
    assert main(["learn", *without, "--model", "ridge", "--target", "cost:0:100", "--rows-per-unit", "2"]) != 0
    assert "--rows-per-unit needs --unit" in capsys.readouterr().err


def test_ranges_are_refined_and_features_chosen(people, capsys):
    """The coefficient has the mean 3.000 and the deviation 0.025: its limits are 40 deviations away."""
    words = ["learn", str(people), *ridge("age:-3000:3000", "spending:-9000:9000")]
    assert main([*words, *BUDGET, "--refine-bounds", "--keep", "1", "--json"]) == 0
    shown = json.loads(capsys.readouterr().out)
    assert shown["receipt"]["bounds"] == "found privately: features and target"
    assert shown["coefficients"]["age"] == pytest.approx(3.0, abs=1.0)
    assert main([*words, *BUDGET, "--keep", "2"]) == 2
    assert "--keep must be at most 1" in capsys.readouterr().err


@pytest.mark.parametrize(
    ("more", "words"),
    [
        (["--classes", "private"], "--classes private needs one row per person"),
        (["--refine-bounds"], "too few to find bounds privately at this budget"),
        (
            ["--neighbours", "replace"],
            "--neighbours replace cannot be used with --rows-per-unit; leave one of them out.",
        ),
        (["--n-rows", "1"], "--n-rows must be"),
        (["--keep", "few"], "--keep must be"),
    ],
)
def test_options_that_a_fit_by_person_does_not_have(more, words, tmp_path, capsys):
    path = tmp_path / "visits.csv"
    path.write_text("id,age,sick,cost\n" + "".join(f"{i // 2},{20 + i}.5,{i % 2},{i}.5\n" for i in range(9)))
    common = ["learn", str(path), "--unit", "id", "--rows-per-unit", "2", "--model", "logistic", "--target", "sick"]
    assert main([*common, "--feature", "age:18:100", *BUDGET, *more]) == 2
    shown = capsys.readouterr().err
    assert words in shown and shown.count("\n") == 1


def test_one_row_more_or_less(people, tmp_path, capsys):
    """The number of rows is released, or declared; for replaced rows it is public."""
    ledger = tmp_path / "people.ledger"
    Ledger(ledger, epsilon=2.5, delta=1e-5).close()
    words = ["learn", str(people), *RIDGE, *BUDGET]
    less = [*words, "--neighbours", "add-remove", "--ledger", str(ledger)]
    assert main([*less, "--json"]) == 0
    receipt = json.loads(capsys.readouterr().out)["receipt"]
    assert receipt["guarantee"]["neighbours"] == "add-remove" and receipt["row_count"]["epsilon"] == 0.03
    assert main([*less, "--n-rows", "4000"]) == 0
    assert "4000 rows" in (text := capsys.readouterr().out) and "for one row more or less: each row is" in text
    assert [entry.epsilon for entry in Ledger(ledger).entries] == [0.03, pytest.approx(0.97), 1.0]
    assert main([*words, "--n-rows", "4000"]) == 2
    assert "--n-rows is for a table, or for --neighbours add-remove" in capsys.readouterr().err
    people.write_text("age,spending,smoker\n20.5,1.5,never\n")
    assert main([*words, "--neighbours", "add-remove"]) == 0 and main(words) == 2


def test_intervals_stand_beside_the_coefficients(people, capsys):
    words = ["learn", str(people), *RIDGE]
    words += ["--epsilon", "8", "--delta", "1e-6"]
    assert main(words) == 0
    assert "±" not in capsys.readouterr().out
    assert main([*words, "--level", "0.9"]) == 2
    assert "this fit has none; write --interval-share 0.3, or leave --level out." in capsys.readouterr().err
    words += ["--interval-share", "0.3"]
    assert main([*words, "--json"]) == 0
    shown = json.loads(capsys.readouterr().out)
    found = shown["intervals"]["age"]
    assert (
        found["low"] < found["estimate"] < found["high"]
        and abs(found["estimate"] - 3.0) < 8.0 * found["standard_error"]
    )
    assert shown["receipt"]["intervals"]["share"] == 0.3
    assert main([*words, "--level", "0.8"]) == 0
    text = capsys.readouterr().out
    assert "estimate and 80 % interval" in text and "±" in text and "30 % of the budget" in text
    assert main([*words, "--level", "2"]) == 2 and "--level" in capsys.readouterr().err


def test_a_model_without_valid_intervals_says_why(people, capsys):
    words = ["learn", str(people), "--model", "ridge", "--target", "spending:0:300", *BUDGET, "--keep", "1"]
    words += ["--feature", "age:0:100", "--feature", "noise:0:1"]
    lines = people.read_text().splitlines()
    people.write_text("\n".join([lines[0] + ",noise", *(f"{line},0.5" for line in lines[1:])]) + "\n")
    assert main(words) == 0
    assert "±" not in capsys.readouterr().out
    assert main([*words, "--interval-share", "0.3"]) == 2
    assert "--keep all" in capsys.readouterr().err


def test_the_label_of_the_coefficients_is_said(people, capsys):
    words = ["learn", str(people), "--model", "logistic", "--target", "smoker", "--classes", "never,daily"]
    assert main([*words, "--feature", "age:0:100", *BUDGET]) == 0
    assert "the log odds of 'never' against 'daily'" in capsys.readouterr().out


def test_a_fit_that_cannot_be_printed_is_kept(people, tmp_path, capsys, monkeypatch):
    """On a full device one sentence names the call that prints the fit again, for nothing."""
    import errno
    import sys

    book = tmp_path / "people.ledger"
    Ledger(book, epsilon=1.0, delta=1e-6).close()
    line = f"learn {people} --model ridge --target spending:0:300 --feature age:18:90 --ledger {book}".split()

    def full(_: str) -> int:
        raise OSError(errno.ENOSPC, "")

    with monkeypatch.context() as patch:
        patch.setattr(sys.stdout, "write", full)
        assert main([*line, *BUDGET]) == 2
    assert f"the answer is kept: `hush ledger answer {book} 1` gives it again" in capsys.readouterr().err
    assert main(["ledger", "answer", str(book), "1"]) == 0
    shown = capsys.readouterr().out
    assert "coef_: [" in shown and "guarantee: (epsilon = 1" in shown and "receipt_" not in shown
