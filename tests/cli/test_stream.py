"""`hush stream new|add|show`: from counts and from a table, with sentences for mistakes."""

from __future__ import annotations

import json

import pytest

from hush.cli import main


@pytest.fixture
def book(tmp_path):
    path = str(tmp_path / "budget.ledger")
    assert main(["ledger", "new", path, "--epsilon", "1", "--delta", "1e-6"]) == 0
    return path


NEW = ["--horizon", "12", "--epsilon", "0.5", "--pure"]


def test_counts(book, capsys):
    assert main(["stream", "new", book, "visits", *NEW, "--plan"]) == 0
    assert "nothing was spent" in capsys.readouterr().out
    assert main(["stream", "new", book, "visits", *NEW]) == 0
    assert "charged once: entry 1" in capsys.readouterr().out
    for count in ("10", "20", "30"):
        assert main(["stream", "add", book, "visits", count]) == 0
    assert "period 3" in capsys.readouterr().out
    assert main(["stream", "add", book, "visits", "31", "--period", "3"]) == 2
    assert "another input" in capsys.readouterr().err
    assert main(["stream", "show", book, "--json"]) == 0
    (listed,) = json.loads(capsys.readouterr().out)["streams"]
    assert listed["name"] == "visits" and listed["periods"] == 3
    assert main(["stream", "show", book, "visits", "--json", "--window", "2:3"]) == 0
    shown = json.loads(capsys.readouterr().out)
    assert [row["period"] for row in shown["rows"]] == [1, 2, 3] and shown["window"]["low"] < shown["window"]["high"]
    assert main(["stream", "show", book, "visits"]) == 0
    assert "total now" in capsys.readouterr().out
    assert main(["ledger", "verify", book]) == 0


def test_a_table_of_people(book, tmp_path, capsys):
    """A DuckDB file: people who return too early are left out, and a row that arrives late changes nothing."""
    import duckdb

    file = str(tmp_path / "visits.duckdb")
    with duckdb.connect(file) as base:
        base.execute("CREATE TABLE visits (id INTEGER, day DATE)")
        for day, people in ((1, "1, 2"), (2, "1, 3"), (3, "1, 1")):
            for one in people.split(", "):
                base.execute(f"INSERT INTO visits VALUES ({one}, '2026-01-0{day}')")
    given = ["--horizon", "12", "--appears", "2", "--apart", "2", "--epsilon", "0.5", "--pure"]
    assert main(["stream", "new", book, "people", *given]) == 0
    add = ["stream", "add", book, "people", "--from", file, "--table", "visits", "--unit", "id", "--date", "day"]
    for day in (1, 2, 3):
        assert main([*add, "--on", f"2026-01-0{day}"]) == 0
    from pathlib import Path

    from hush.stream.secret import Secret, secret_path

    kept = Secret(secret_path(Path(book), "people", None)).inputs()
    assert [one.count for one in kept] == [2, 1, 1]
    with duckdb.connect(file) as base:
        base.execute("INSERT INTO visits VALUES (9, '2026-01-01')")
    assert main([*add, "--on", "2026-01-03"]) == 0, "a day is added once, however often the command is run"
    assert len(Secret(secret_path(Path(book), "people", None)).inputs()) == 3
    capsys.readouterr()
    assert main([*add, "--on", "2026-01-01"]) == 2
    assert "another input" in capsys.readouterr().err


@pytest.mark.parametrize(
    ("words", "said"),
    [
        (["new", "BOOK", "a", "--epsilon", "1", "--pure"], "--horizon N is needed"),
        (["new", "BOOK", "a", "--horizon", "4", "--epsilon", "1"], "--delta is needed"),
        (["new", "BOOK", "a", "--horizon", "4", "--epsilon", "2", "--pure"], "of the ledger's 1 is left"),
        (["new", "BOOK", "a", "--horizon", "4", "--question", "sum", "--epsilon", "1", "--pure"], "question must be"),
        (["add", "BOOK", "a", "3"], "it has none"),
        (["add", "BOOK", "a"], "give the count"),
        (["add", "BOOK", "a", "--from", "x.duckdb"], "--from needs"),
        (["show", "BOOK", "a"], "it has none"),
        (["show", "nowhere.ledger"], "there is no ledger"),
    ],
)
def test_mistakes_get_one_sentence(book, capsys, words, said):
    assert main(["stream", *[book if word == "BOOK" else word for word in words]]) == 2
    error = capsys.readouterr().err
    assert said in error and error.count("\n") == 1


def test_help_shows_examples(capsys):
    for command in ("new", "add", "show"):
        with pytest.raises(SystemExit):
            main(["stream", command, "--help"])
        assert "examples:" in capsys.readouterr().out
