"""`hush learn` speaks of options and of labels: errors, warnings, and the label that the coefficients are for."""

from __future__ import annotations

import json

import duckdb
import pytest

from hush.cli import main

BUDGET = ["--epsilon", "1", "--delta", "1e-6"]


@pytest.fixture
def habits(tmp_path):
    """2000 people with a column of yes and no, which the engine reads as boolean."""
    path = tmp_path / "habits.csv"
    lines = [f"{i},{20 + i % 60}.5,{i % 300}.25,{'yes' if i % 60 > 30 else 'no'}" for i in range(2000)]
    path.write_text("id,age,cost,smoker\n" + "\n".join(lines) + "\n")
    return path


@pytest.mark.parametrize("by_person", [[], ["--unit", "id", "--rows-per-unit", "2"]])
def test_classes_of_a_boolean_column(habits, capsys, by_person):
    typed = habits.with_suffix(".parquet")
    duckdb.sql(f"COPY (SELECT * FROM read_csv('{habits}')) TO '{typed}' (FORMAT parquet)")
    words = ["learn", str(typed), "--model", "logistic", "--target", "smoker", "--feature", "age:0:100", *BUDGET]
    for given, second in (([], "true"), (["no,yes"], "yes"), (["yes,no"], "yes"), (["False,True"], "True")):
        classes = ["--classes", *given] if given else []
        assert main([*words, *classes, *by_person]) == 0
        assert f"The coefficients are for the log odds of '{second}'" in capsys.readouterr().out
    assert main([*words, "--classes", "no,yes", *by_person, "--json"]) == 0
    shown = json.loads(capsys.readouterr().out)
    assert (shown["log_odds_of"], shown["against"]) == ("yes", "no") and shown["coefficients"]["age"] > 0.0
    for wrong in ("apple,pear", "a,b,c"):
        assert main([*words, "--classes", wrong, *by_person]) == 2
        text = capsys.readouterr().err
        assert "is read as boolean" in text and "leave --classes out" in text and text.count("\n") == 1


@pytest.mark.parametrize(
    ("words", "sentence"),
    [
        (["ridge", "cost:0:300", "--classes", "a,b"], "--classes is for --model logistic"),
        (["ridge", "cost:0:0"], "--target cost:0:0 must have low below high"),
        (["ridge", "cost:0:1e200"], "--target must be pairs of finite numbers"),
        (
            ["ridge", "cost:0:300", "--penalty", "-1"],
            "--penalty must be a finite number, 0 or greater, got -1.0; write",
        ),
        (["logistic", "smoker", "--penalty", "0"], "--penalty must be a finite number greater than 0"),
        (["lasso", "cost:0:300", "--penalty", "1"], "--penalty must be below 1, got 1"),
        (
            ["ridge", "cost:0:300", "--keep", "10"],
            "--keep must be at most 1, the number of columns, got 10; write --keep all.",
        ),
    ],
)
def test_mistakes_have_the_names_of_options(habits, capsys, words, sentence):
    model, target, *more = words
    assert (
        main(["learn", str(habits), "--model", model, "--target", target, *more, "--feature", "age:0:100", *BUDGET])
        == 2
    )
    shown = capsys.readouterr().err
    assert sentence in shown and shown.count("\n") == 1
    assert not any(word in shown for word in ("alpha", "n_features", "target_bounds", "penalise"))


@pytest.mark.filterwarnings("default")
def test_warnings_are_lines_with_options(habits, capsys):
    words = ["learn", str(habits), "--model", "ridge", "--epsilon", "50", "--delta", "0.01", "--json"]
    words += ["--target", "cost:-1e6:1e6", "--feature", "age:-1e5:1e5"]
    assert main(words) == 0
    out, err = capsys.readouterr()
    assert json.loads(out)["receipt"]["rows"] == 2000
    assert err.count("gives little privacy") == 2  # epsilon, and delta
    lines = [line for line in err.splitlines() if "gives little privacy" not in line]
    assert len(lines) == 3 and all(line.startswith("hush: warning: ") for line in lines)
    assert "--delta 0.01 is larger than 1/N for N = 2,000 rows" in lines[0]
    assert "1 column ('age')" in lines[1] and "write --refine-bounds." in lines[1]
    assert "the range -1e+06:1e+06 of --target is" in lines[2] and "refine_bounds" not in err and ".py" not in err
