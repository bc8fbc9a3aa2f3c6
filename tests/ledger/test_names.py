"""One ledger, one name, one write-ahead log; and interrupts that come late."""

from __future__ import annotations

import os
import shutil
import sqlite3
from contextlib import closing
from pathlib import Path
from typing import Any

import pytest
from ledger.test_processes import run

from hush import Gaussian
from hush.cli import main
from hush.errors import InvalidParameter, LedgerError
from hush.ledger import Ledger, file

SMALL = (Gaussian(50.0), 1.0, 1)


@pytest.fixture
def path(tmp_path: Path) -> Path:
    place = tmp_path / "a.ledger"
    Ledger(place, epsilon=1.0, delta=1e-6).spend(SMALL)
    return place


# -- names ---------------------------------------------------------------------------------------------------


def test_a_second_name_is_refused(path: Path) -> None:
    """SQLite keeps one write-ahead log for each name, so two names would be two budgets."""
    ledger, other = Ledger(path), path.with_name("b.ledger")
    os.link(path, other)
    for attempt in (lambda: ledger.spend(SMALL), lambda: Ledger(path), lambda: Ledger(other), lambda: ledger.left):
        with pytest.raises(LedgerError, match="has 2 names"):
            attempt()
    other.unlink()
    assert ledger.spend(SMALL).number == 2


def test_a_symbolic_link_is_the_same_ledger(path: Path) -> None:
    other = path.with_name("b.ledger")
    other.symlink_to(path)
    Ledger(other).spend(SMALL)
    assert len(Ledger(path).entries) == 2 and not os.path.lexists(f"{other}-wal")


def test_the_draft_of_a_creator_that_died_is_removed(path: Path) -> None:
    """A crash between naming the file and removing the draft: only a draft of the same file is removed."""
    draft, stranger = (path.with_name(f".hush-{digit * 16}") for digit in "0a")
    os.link(path, draft)
    stranger.write_bytes(b"")
    Ledger(path).spend(SMALL)
    assert not draft.exists() and stranger.exists()


def test_names_that_cannot_be(tmp_path: Path) -> None:
    for name in ("a\0b", "a" * 256, "\ud800", os.fsencode("bytes")):
        with pytest.raises(InvalidParameter, match="path must be the name of a file"):
            Ledger(name if isinstance(name, bytes) else str(tmp_path / name), epsilon=1.0, delta=1e-6)  # type: ignore[arg-type]
    assert list(tmp_path.iterdir()) == []
    longest = tmp_path / ("a" * 247)
    Ledger(longest, epsilon=1.0, delta=1e-6).spend(SMALL)
    Ledger(longest).verify()


# -- what a crash leaves -------------------------------------------------------------------------------------


@pytest.fixture
def crashed(path: Path) -> Path:
    """Three charges, two of them in the write-ahead log of a process that died."""
    run(
        """
        ledger = Ledger(path)
        other = sqlite3.connect(path)  # while somebody has the file open, its log is kept
        other.execute("SELECT * FROM entries").fetchall()
        for _ in range(2):
            ledger.spend((Gaussian(50.0), 1.0))
        print(0, flush=True)
        os._exit(0)
        """,
        path,
    )
    assert path.with_name("a.ledger-wal").stat().st_size > 0
    return path


def test_opening_folds_the_log_in(crashed: Path, tmp_path: Path) -> None:
    """Also while others have the file open. Afterwards the file alone contains every charge."""
    with closing(sqlite3.connect(crashed)) as other:
        other.execute("SELECT * FROM entries").fetchall()
        assert len(Ledger(crashed).entries) == 3
        assert file.LedgerFile(crashed).leftover() == 0
        shutil.copy(crashed, tmp_path / "copy.ledger")
    copy = Ledger(tmp_path / "copy.ledger")
    copy.verify()
    assert len(copy.entries) == 3


def test_verify_says_that_there_was_a_log(crashed: Path, capsys: pytest.CaptureFixture[str]) -> None:
    assert main(["ledger", "verify", str(crashed)]) == 0
    said = capsys.readouterr().out
    assert "sound; 3 entries" in said and f"{crashed}-wal contained further charges" in said
    assert main(["ledger", "verify", str(crashed)]) == 0
    assert "-wal" not in capsys.readouterr().out


# -- interrupts that come late -------------------------------------------------------------------------------


class Late(sqlite3.Connection):
    """A connection that executes a statement and then raises KeyboardInterrupt, once."""

    after = ""

    def execute(self, sql: str, *rest: Any) -> sqlite3.Cursor:
        done = super().execute(sql, *rest)
        self._interrupt(sql)
        return done

    def close(self) -> None:
        self._interrupt("CLOSE")  # before it is closed: the worse case
        super().close()

    def _interrupt(self, what: str) -> None:
        if Late.after and what.startswith(Late.after):
            Late.after = ""
            raise KeyboardInterrupt


@pytest.fixture
def late(monkeypatch: pytest.MonkeyPatch) -> type[Late]:
    connect = sqlite3.connect
    monkeypatch.setattr(file.sqlite3, "connect", lambda *args, **options: connect(*args, factory=Late, **options))
    monkeypatch.setattr(Late, "after", "")
    return Late


@pytest.mark.parametrize(("in_memory", "after"), [(False, "COMMIT"), (False, "CLOSE"), (True, "COMMIT")])
def test_an_interrupt_after_the_commit_says_that_the_charge_stands(
    tmp_path: Path, late: type[Late], in_memory: bool, after: str
) -> None:
    ledger = Ledger(None if in_memory else tmp_path / "a.ledger", epsilon=1.0, delta=1e-6)
    ledger.spend(SMALL)
    late.after = after
    with pytest.raises(KeyboardInterrupt) as caught:
        ledger.spend(SMALL)
    assert [note for note in caught.value.__notes__ if "The charge was recorded: entry 2 of the ledger" in note]
    assert not in_memory or ledger._store.file._memory is not None
    if not in_memory:
        assert not os.path.exists(f"{ledger.path}-wal")  # closed, though the traceback is still here
    assert len(ledger.entries) == 2 and ledger.spend(SMALL).number == 3
    ledger.verify()


@pytest.mark.parametrize("in_memory", [False, True])
@pytest.mark.parametrize("after", ["BEGIN", "PRAGMA user_version", "INSERT"])
def test_an_interrupt_before_the_commit_spends_nothing(
    tmp_path: Path, late: type[Late], in_memory: bool, after: str
) -> None:
    """After BEGIN too: a ledger in memory has one connection, and a transaction left open would stay."""
    ledger = Ledger(None if in_memory else tmp_path / "a.ledger", epsilon=1.0, delta=1e-6)
    late.after = after
    with pytest.raises(KeyboardInterrupt) as caught:
        ledger.spend(SMALL)
    assert not hasattr(caught.value, "__notes__")
    if in_memory:
        assert ledger._store.file._memory is not None and not ledger._store.file._memory.in_transaction
    assert ledger.entries == () and ledger.spend(SMALL).number == 1
    ledger.verify()
