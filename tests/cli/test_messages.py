"""Messages of the command line name options, not arguments of Python."""

from __future__ import annotations

from pathlib import Path

import pytest

from hush.cli import main

REFUSED = {
    "--times 0": "--times must be a whole number, 1 or greater, got 0; write --times 12 for twelve releases.",
    "--series x": "--series names releases that are planned together; write --times 12, or leave it out.",
    "--release 1": "--release is for a plan of several releases.",
    "--limits-share 2": "write --limits-share 0.03, or 0 to measure nothing.",
    "--level 2": "--level must be a number above 0 and at most 0.999999999, got 2.0; write --level 0.95.",
    "--by w --keys a,b --groups-per-unit 0": "--groups-per-unit must be a whole number, 1 or greater, got 0.",
    "--by w --keys private --groups-per-unit 1 --pure": "--keys private needs a delta greater than 0",
    "--by w --keys a,b --groups-per-unit private --times 3 --ledger none": "a number for --groups-per-unit",
}


@pytest.fixture
def file(tmp_path: Path) -> Path:
    made = tmp_path / "a.csv"
    made.write_text("id,w,month\n1,a,1\n2,b,2\n")
    return made


@pytest.mark.parametrize("words", REFUSED)
def test_an_answer_names_options(words: str, file: Path, capsys: pytest.CaptureFixture[str]) -> None:
    budget = ["--epsilon", "1"] + ([] if "--pure" in words else ["--delta", "1e-6"])
    assert main(["answer", str(file), "--unit", "id", "--count-units", *budget, *words.split()]) == 2
    said = capsys.readouterr().err.splitlines()[-1]
    assert REFUSED[words] in said and "=" not in said.replace(str(file), "")


def test_contingency_tables_name_their_own_option_and_check_the_level_first(
    file: Path, tmp_path: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    ledger = tmp_path / "a.ledger"
    assert main(["ledger", "new", str(ledger), "--epsilon", "1", "--pure"]) == 0
    asked = ["marginals", str(file), "--unit", "id", "--epsilon", "1", "--pure", "--ledger", str(ledger)]
    for words, text in {
        "--columns w,none --keys w=a,b": "--columns names the column 'none'",
        "--columns w": "--columns needs --keys",
        "--columns w --keys a,b --level 2": "--level must be a number",
    }.items():
        assert main([*asked, *words.split()]) == 2
        assert text in capsys.readouterr().err
    assert main(["ledger", "show", str(ledger)]) == 0
    assert "spent  epsilon 0 at delta 0" in capsys.readouterr().out


def test_a_ledger_with_blocks_is_shown_by_block(file: Path, tmp_path: Path, capsys: pytest.CaptureFixture[str]) -> None:
    ledger = tmp_path / "b.ledger"
    assert main(["ledger", "new", str(ledger), "--epsilon", "1", "--pure", "--blocks", "month"]) == 0
    assert "for each value of month" in capsys.readouterr().out
    asked = ["answer", str(file), "--unit", "id,month", "--count-units", "--pure", "--ledger", str(ledger)]
    for month, epsilon in (("1", "0.9"), ("2", "0.5")):
        assert main([*asked, "--epsilon", epsilon, "--block", f"month={month}", "--family", "laplace"]) == 0
    capsys.readouterr()
    assert main(["ledger", "show", str(ledger)]) == 0
    out = capsys.readouterr().out
    assert "the budget is for each value of month" in out
    assert "block  month 1: spent epsilon 0.9, 90.0 %" in out and "block  month 2: spent epsilon 0.5, 50.0 %" in out


@pytest.mark.parametrize(
    ("words", "said"),
    [
        ("answer nowhere.csv --unit id --count --epsilon 1 --pure", "hush: source names the file 'nowhere.csv'"),
        ("policy new visits.parquet", "write hush policy new hush.toml --source visits.parquet --unit COLUMN."),
        ("policy new mine.toml", "write hush policy new mine.toml --source visits.parquet --unit COLUMN."),
        ("policy check typo.toml", 'a text is written in quotes; write unit = "patient" in line 3.'),
    ],
)
def test_what_is_typed_without_an_option_keeps_its_name(
    words: str, said: str, tmp_path: Path, monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]
) -> None:
    monkeypatch.chdir(tmp_path)
    Path("typo.toml").write_text('[tables.visits]\nsource = "visits.parquet"\nunit = patient\n')
    assert main(words.split()) == 2
    assert said in capsys.readouterr().err


def test_groups_that_are_left_out_and_facts_have_their_words(
    tmp_path: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    file = tmp_path / "many.csv"
    file.write_text("id,w\n" + "".join(f"{i},{i % 40}\n" for i in range(200)))
    asked = ["answer", str(file), "--each-row", "--by", "w", "--keys", ",".join(map(str, range(40))), "--count"]
    assert main([*asked, "--epsilon", "1", "--pure", "--family", "laplace"]) == 0
    out = capsys.readouterr().out
    assert "more groups; --all shows all" in out and "not covered: each row" in out
