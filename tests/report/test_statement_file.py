"""Ledger files are read as they are: untouched, at their last commit, and with one sentence where they cannot be
read.
"""

from __future__ import annotations

import json
import os
import shlex
import sqlite3
from pathlib import Path

import pytest

import hush
from hush.cli import main
from hush.report import statement


@pytest.fixture
def path(tmp_path: Path) -> Path:
    place = tmp_path / "a census.ledger"
    with hush.Ledger(place, epsilon=2.0, delta=1e-6, source="visits") as ledger:
        ledger.spend((hush.Gaussian(9.0), 1.0), label="in January")
    return place


def state(folder: Path) -> dict[str, tuple[bytes, int]]:
    return {place.name: (place.read_bytes(), place.stat().st_mtime_ns) for place in folder.iterdir()}


def test_the_file_is_left_as_it_was(path: Path) -> None:
    before = state(path.parent)
    made = statement(path)
    assert "in January" in made.markdown and "**Data**: visits" in made.markdown
    assert made.title == "Privacy statement: a census.ledger"
    assert state(path.parent) == before


@pytest.mark.skipif(os.geteuid() == 0, reason="nothing is forbidden to root")
def test_a_folder_that_may_not_be_written_to(path: Path) -> None:
    path.chmod(0o400)
    path.parent.chmod(0o500)
    try:
        assert "in January" in statement(path).markdown
    finally:
        path.parent.chmod(0o700)


def test_the_last_commit_counts_also_while_others_write(path: Path) -> None:
    """A second connection prevents the merge of the write-ahead log, as after a crash; a third holds the write lock."""
    watching = sqlite3.connect(path)
    writing = sqlite3.connect(path, isolation_level=None)
    try:
        watching.execute("BEGIN")
        watching.execute("SELECT count(*) FROM entries").fetchone()
        with hush.Ledger(path) as ledger:
            ledger.spend((hush.Laplace(9.0), 1.0), label="second")
            spent = ledger.spent.epsilon
        assert Path(f"{path}-wal").stat().st_size > 0
        writing.execute("BEGIN IMMEDIATE")
        writing.execute(
            "INSERT INTO entries SELECT 3, time, 'not committed', mechanism, previous, hash FROM entries "
            "WHERE number = 2"
        )
        before = {name: content for name, (content, _) in state(path.parent).items() if not name.endswith("-shm")}
        made = statement(path)
        assert (
            made.facts["spent"]["epsilon"] == spent
            and "second" in made.markdown
            and "not committed" not in made.markdown
        )
        assert {
            name: content for name, (content, _) in state(path.parent).items() if not name.endswith("-shm")
        } == before
        writing.execute("ROLLBACK")
    finally:
        watching.close()
        writing.close()


def test_damage_is_said_with_the_files_own_name(path: Path, tmp_path: Path) -> None:
    content = path.read_bytes()
    changed = tmp_path / "changed.ledger"
    changed.write_bytes(content.replace(b"in January", b"in Februar"))
    cut = tmp_path / "cut.ledger"
    cut.write_bytes(content[: len(content) // 2])
    foreign = tmp_path / "foreign.ledger"
    foreign.write_text("this is a text")
    (tmp_path / "empty.ledger").touch()
    for name, words in (
        ("changed", "entry 1 was changed"),
        ("cut", "damaged"),
        ("foreign", "is not a ledger"),
        ("empty", "is not a ledger"),
    ):
        with pytest.raises(hush.LedgerError) as caught:
            statement(tmp_path / f"{name}.ledger")
        said = str(caught.value)
        assert words in said and f"{tmp_path}/{name}.ledger" in said and said.count(". ") == 0 and "hush-" not in said


def test_a_second_name_and_what_is_no_file_are_refused(path: Path, tmp_path: Path) -> None:
    os.link(path, tmp_path / "other.ledger")
    with pytest.raises(hush.LedgerError, match="2 names"):
        statement(path)
    with pytest.raises(hush.LedgerError, match="is not a file"):
        statement(tmp_path)
    for wrong in ("", "a\0b", b"x"):
        with pytest.raises(hush.InvalidParameter, match=r"ledger must be|subject must be"):
            statement(wrong)


def test_commands_name_the_file_as_it_was_given_and_run(path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    """Of an open ledger and of a receipt, as it can be named where the caller stands."""
    plan = hush.calibrate(1.0, 1e-6, family="laplace")
    monkeypatch.chdir(path.parent.parent)
    given = f"{path.parent.name}/{path.name}"
    with hush.Ledger(path) as ledger:
        made = hush.release(3, plan, ledger=ledger)
        pages = [statement(given), statement(ledger), hush.report.statement(made)]
    for page in pages:
        line = next(line for line in page.markdown.splitlines() if line.startswith("hush ledger verify"))
        assert line == f"hush ledger verify '{given}'" and main(shlex.split(line)[1:]) == 0
    (path.parent / "sub").mkdir()
    monkeypatch.chdir(path.parent / "sub")
    for page in (hush.report.statement(made), statement(path)):  # no folder: it may name people or projects
        assert f"hush ledger verify '{path.name}'" in page.markdown and str(path.parent) not in page.markdown


@pytest.mark.parametrize("way", ["itself", "a link", "its log", "another"])
def test_a_statement_is_never_written_over_a_ledger(
    way: str, tmp_path: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    ledger, out = tmp_path / "b.md", tmp_path / "b.md"
    hush.Ledger(ledger, epsilon=1.0, delta=1e-6).close()
    watching = sqlite3.connect(ledger)
    try:
        watching.execute("SELECT count(*) FROM entries").fetchone()
        if way == "a link":
            out = tmp_path / "link.md"
            out.symlink_to(ledger)
        elif way == "its log":
            out = tmp_path / "log.html"
            out.symlink_to(f"{ledger}-shm")
        elif way == "another":
            out = tmp_path / "c.md"
            hush.Ledger(out, epsilon=1.0, delta=1e-6).close()
        before = {place.name: place.read_bytes() for place in tmp_path.iterdir()}
        assert main(["report", str(ledger), "--out", str(out)]) == 2
        said = capsys.readouterr().err
        assert said == f"hush: {out} is a ledger or another database, and would be lost; choose another file.\n"
        if way != "its log":
            with pytest.raises(hush.InvalidParameter, match="would be lost"):
                statement(ledger).save(out)
        assert {place.name: place.read_bytes() for place in tmp_path.iterdir()} == before
    finally:
        watching.close()
    (tmp_path / "old.md").write_text("an older statement")
    assert main(["report", str(ledger), "--out", str(tmp_path / "old.md")]) == 0  # other files may be written over


def test_the_command_line(path: Path, capsys: pytest.CaptureFixture[str]) -> None:
    assert main(["report", str(path)]) == 0
    assert capsys.readouterr().out.startswith("# Privacy statement: a census.ledger\n\n## Summary")
    page = path.parent / "s.html"
    assert main(["report", str(path), "--out", str(page), "--json"]) == 0
    found = json.loads(capsys.readouterr().out)
    assert found["statement"] == str(page) and found["entries"][0]["parts"][0]["noise"] == {
        "family": "gaussian",
        "sigma": 9.0,
    }
    assert "<!doctype html>" in page.read_text()
    assert main(["report", str(path), "--out", "x.pdf"]) == 2
    assert main(["report", str(path.parent / "none")]) == 2
    said = capsys.readouterr().err.splitlines()
    assert said[0] == "hush: path must be a file name that ends in .html or .md, got 'x.pdf'; write 'statement.html'."
    assert said[1].startswith("hush: there is no ledger ") and len(said) == 2
