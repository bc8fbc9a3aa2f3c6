"""The file: append-only, damage noticed, one clear sentence for every failure, and nothing spent by what fails."""

from __future__ import annotations

import os
import shutil
import sqlite3
import threading
from collections.abc import Iterator
from contextlib import closing, contextmanager
from pathlib import Path
from typing import Any

import pytest

from hush import BudgetExceeded, Gaussian, Laplace
from hush.errors import HushError, LedgerError
from hush.ledger import Ledger, file

SMALL = (Gaussian(50.0), 1.0, 1)


@pytest.fixture
def path(tmp_path: Path) -> Path:
    """A ledger with five entries and a source."""
    place = tmp_path / "a.ledger"
    with Ledger(place, epsilon=1.0, delta=1e-6, source="people") as ledger:
        for i in range(5):
            ledger.spend((Gaussian(50.0 + i), 1.0), label=f"answer {i}")
    return place


@contextmanager
def opened(path: Path) -> Iterator[sqlite3.Connection]:
    """The file as any program may open it."""
    with closing(sqlite3.connect(path, isolation_level=None)) as connection:
        yield connection


def triggers(connection: sqlite3.Connection) -> dict[str, str]:
    return dict(connection.execute("SELECT name, sql FROM sqlite_master WHERE type = 'trigger'").fetchall())


def edit(path: Path, statement: str) -> None:
    """An attack with SQLite: drop the triggers, change a row, create the triggers again."""
    with opened(path) as connection:
        kept = triggers(connection)
        for name in kept:
            connection.execute(f"DROP TRIGGER {name}")
        connection.execute(statement)
        for text in kept.values():
            connection.execute(text)


# -- append-only ---------------------------------------------------------------------------------------------


@pytest.mark.parametrize(
    "statement",
    [
        "UPDATE entries SET label = 'other' WHERE number = 3",
        "DELETE FROM entries WHERE number = 5",
        "DELETE FROM entries",
        "INSERT OR REPLACE INTO entries "
        "SELECT 3, time, 'other', mechanism, previous, hash FROM entries WHERE number = 3",
        "INSERT INTO entries SELECT 9, time, label, mechanism, previous, hash FROM entries WHERE number = 5",
        "UPDATE cap SET content = '{}'",
        "DELETE FROM cap",
        "INSERT OR REPLACE INTO cap SELECT 1, time, '{}', hash FROM cap",
        "UPDATE source SET text = 'cars'",
        "DELETE FROM source",
        "INSERT OR REPLACE INTO source VALUES (1, 0, 'cars', '')",
    ],
)
def test_the_database_itself_refuses_changes(path: Path, statement: str) -> None:
    with opened(path) as connection, pytest.raises(sqlite3.IntegrityError, match="append-only"):
        connection.execute(statement)
    ledger = Ledger(path)
    ledger.verify()
    assert len(ledger.entries) == 5 and ledger.source == "people"


@pytest.mark.parametrize(
    "statement",
    [
        "UPDATE entries SET label = 'other' WHERE number = 3",
        "UPDATE entries SET time = '2020-01-01' WHERE number = 1",
        "UPDATE entries SET mechanism = REPLACE(mechanism, '53.0', '530.0') WHERE number = 4",
        "UPDATE entries SET mechanism = '{}' WHERE number = 5",
        "UPDATE entries SET mechanism = x'00ff' WHERE number = 5",
        "UPDATE entries SET hash = previous WHERE number = 5",
        "DELETE FROM entries WHERE number = 1",
        "DELETE FROM entries WHERE number = 3",
        "DELETE FROM entries WHERE number = 5",
        "DELETE FROM entries",
        "UPDATE entries SET number = 10 WHERE number = 5",
        "UPDATE cap SET content = REPLACE(content, '\"epsilon\": 1.0', '\"epsilon\": 9.0')",
        "DELETE FROM cap",
        "UPDATE source SET text = 'cars'",
        "UPDATE source SET after = 7",
        "DELETE FROM source",
        "DROP TABLE source",
        "DROP TABLE entries",
    ],
)
def test_an_edited_file_is_damaged(path: Path, statement: str) -> None:
    """Opening, an open ledger and verify all notice it, and nothing can be spent."""
    ledger = Ledger(path)
    if statement.startswith("DROP TABLE"):
        with opened(path) as connection:
            connection.execute(statement)
    else:
        edit(path, statement)
    with pytest.raises(LedgerError):
        ledger.verify()
    with pytest.raises(LedgerError, match="damaged"):
        Ledger(path)


def test_a_changed_end_stops_a_ledger_that_is_open(path: Path) -> None:
    ledger = Ledger(path)
    edit(path, "UPDATE entries SET hash = previous WHERE number = 5")
    with pytest.raises(LedgerError, match="replaced"):
        ledger.spend(SMALL)


def test_missing_triggers_are_noticed_by_verify(path: Path) -> None:
    with opened(path) as connection:
        connection.execute("DROP TRIGGER entries_no_update")
    with pytest.raises(LedgerError, match="append-only, were changed"):
        Ledger(path).verify()


def test_entries_beyond_the_cap_are_noticed_by_verify(path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    """A file whose chain is sound but whose sum is not: written by something that did not check."""
    from hush.ledger.filters import Filters

    ledger = Ledger(path)
    with monkeypatch.context() as patch:
        patch.setattr(Filters, "settled", lambda self: self)
        ledger.spend((Gaussian(0.5), 1.0))
    with pytest.raises(LedgerError, match="together exceed its cap"):
        Ledger(path).verify()


# -- damage --------------------------------------------------------------------------------------------------


def test_not_a_database(tmp_path: Path) -> None:
    place = tmp_path / "a.ledger"
    place.write_text("a shopping list\n" * 100)
    with pytest.raises(LedgerError, match="not a ledger"):
        Ledger(place)
    with pytest.raises(LedgerError, match="not a ledger"):
        Ledger(place, epsilon=1.0, delta=1e-6)
    assert place.read_text().startswith("a shopping list")


def test_an_empty_file_is_not_taken_for_a_new_ledger(path: Path) -> None:
    """A truncated ledger must not be opened as a new one with its full budget."""
    path.write_bytes(b"")
    with pytest.raises(LedgerError, match="empty"):
        Ledger(path, epsilon=1.0, delta=1e-6)
    assert path.read_bytes() == b""


def test_somebody_elses_database_is_left_alone(tmp_path: Path) -> None:
    place = tmp_path / "other.db"
    with opened(place) as connection:
        connection.execute("CREATE TABLE t (x)")
    before = place.read_bytes()
    with pytest.raises(LedgerError, match="belongs to another program"):
        Ledger(place, epsilon=1.0, delta=1e-6)
    assert place.read_bytes() == before


@pytest.mark.parametrize("share", [0.02, 0.3, 0.6, 0.9])
def test_a_truncated_file(path: Path, share: float) -> None:
    content = path.read_bytes()
    path.write_bytes(content[: int(len(content) * share)])
    with pytest.raises(LedgerError):
        Ledger(path).verify()


@pytest.mark.parametrize("page", range(1, 5))
def test_a_page_overwritten(path: Path, page: int) -> None:
    content = bytearray(path.read_bytes())
    content[4096 * page : 4096 * page + 200] = os.urandom(200)
    path.write_bytes(bytes(content))
    with pytest.raises(LedgerError):
        Ledger(path).verify()


def test_an_unknown_schema_version(path: Path) -> None:
    with opened(path) as connection:
        connection.execute("PRAGMA user_version = 7")
    with pytest.raises(LedgerError, match="schema version 7, and this version of hush reads version 4"):
        Ledger(path)


def test_a_folder_is_no_ledger(tmp_path: Path) -> None:
    with pytest.raises(LedgerError, match="cannot be opened"):
        Ledger(tmp_path)
    with pytest.raises(LedgerError, match="cannot be opened"):
        Ledger(tmp_path / "missing" / "a.ledger", epsilon=1.0, delta=1e-6)


def test_a_deleted_file_is_not_made_anew(path: Path) -> None:
    ledger = Ledger(path)
    path.unlink()
    with pytest.raises(LedgerError, match="does not exist any more"):
        ledger.spend(SMALL)
    assert not path.exists()


def test_an_older_copy_put_back_is_noticed_by_whoever_is_open(path: Path, tmp_path: Path) -> None:
    shutil.copy(path, tmp_path / "copy")
    ledger = Ledger(path)
    ledger.spend(SMALL)
    shutil.copy(tmp_path / "copy", path)
    with pytest.raises(LedgerError, match="replaced"):
        ledger.spend(SMALL)


# -- nothing is spent by what fails --------------------------------------------------------------------------


class Stubborn(sqlite3.Connection):
    """A connection that fails at one statement."""

    word = ""
    failure: BaseException = sqlite3.OperationalError("")

    def execute(self, sql: str, *rest: Any) -> sqlite3.Cursor:
        if self.word and sql.startswith(self.word):
            raise self.failure
        return super().execute(sql, *rest)


@contextmanager
def failing(monkeypatch: pytest.MonkeyPatch, word: str, failure: BaseException) -> Iterator[None]:
    connect = sqlite3.connect
    with monkeypatch.context() as patch:
        kind = type("Failing", (Stubborn,), {"word": word, "failure": failure})
        patch.setattr(file.sqlite3, "connect", lambda *args, **options: connect(*args, factory=kind, **options))
        yield


@pytest.mark.parametrize("word", ["BEGIN", "INSERT", "COMMIT"])
@pytest.mark.parametrize(
    ("message", "words"),
    [
        ("attempt to write a readonly database", "cannot be written: the file or its folder is read-only"),
        ("database or disk is full", "the disk is full"),
        ("disk I/O error", "the disk reports an error"),
        ("database disk image is malformed", "is damaged"),
        ("something new", r"does not work \(something new\)"),
    ],
)
def test_a_failing_disk_spends_nothing(
    path: Path, monkeypatch: pytest.MonkeyPatch, word: str, message: str, words: str
) -> None:
    ledger = Ledger(path)
    failure = sqlite3.OperationalError(message)
    outcome = "the charge may have been recorded" if word == "COMMIT" else "nothing was spent"
    with failing(monkeypatch, word, failure), pytest.raises(LedgerError, match=f"{words}.*{outcome}"):
        ledger.spend(SMALL)
    assert len(ledger.entries) == 5
    ledger.verify()
    ledger.spend(SMALL)


@pytest.mark.parametrize("word", ["BEGIN", "INSERT", "COMMIT"])
@pytest.mark.parametrize("failure", [KeyboardInterrupt(), MemoryError(), RuntimeError("anything")])
def test_an_interrupt_rolls_back(
    path: Path, monkeypatch: pytest.MonkeyPatch, word: str, failure: BaseException
) -> None:
    ledger = Ledger(path)
    with failing(monkeypatch, word, failure), pytest.raises(type(failure)):
        ledger.spend(SMALL)
    assert len(ledger.entries) == 5
    ledger.spend(SMALL)
    ledger.verify()


def test_an_interrupt_while_composing_rolls_back(path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    from hush.ledger.filters import Filters

    ledger = Ledger(path)

    def interrupted(self: Filters) -> None:
        raise KeyboardInterrupt

    with monkeypatch.context() as patch:
        patch.setattr(Filters, "settled", interrupted)
        with pytest.raises(KeyboardInterrupt):
            ledger.spend(SMALL)
    ledger.spend(SMALL)
    assert [entry.number for entry in Ledger(path).entries] == [1, 2, 3, 4, 5, 6]


def test_an_interrupt_in_memory_rolls_back_too(monkeypatch: pytest.MonkeyPatch) -> None:
    from hush.ledger import log

    ledger = Ledger(None, epsilon=1.0, delta=1e-6)
    append = log.append

    def interrupted(*arguments: Any) -> None:
        append(*arguments)
        raise KeyboardInterrupt

    with monkeypatch.context() as patch:
        patch.setattr(log, "append", interrupted)
        with pytest.raises(KeyboardInterrupt):
            ledger.spend(SMALL)
    assert ledger.entries == () and ledger.spend(SMALL).number == 1


def test_a_locked_ledger_says_how_long_it_waited(path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(file, "PATIENCE", 0.2)
    ledger = Ledger(path)
    with opened(path) as other:
        other.execute("BEGIN IMMEDIATE")
        with pytest.raises(
            LedgerError, match=r"locked by another process for more than 0\.2 seconds; nothing was spent"
        ):
            ledger.spend(SMALL)
        assert len(ledger.entries) == 5  # reading goes on meanwhile
        other.execute("ROLLBACK")
    ledger.spend(SMALL)


def test_a_lock_that_ends_is_waited_for(path: Path) -> None:
    ledger = Ledger(path)
    with opened(path) as other:
        other.execute("BEGIN IMMEDIATE")
        thread = threading.Thread(target=ledger.spend, args=(SMALL,))
        thread.start()
        thread.join(0.7)
        assert thread.is_alive()
        other.execute("ROLLBACK")
        thread.join(60.0)
    assert len(ledger.entries) == 6


def test_creating_where_there_are_no_hard_links(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    def link(*_: object) -> None:
        raise OSError(95, "Operation not supported")

    monkeypatch.setattr(os, "link", link)
    place = tmp_path / "a.ledger"
    Ledger(place, epsilon=1.0, delta=1e-6).spend(SMALL)
    Ledger(place).verify()
    assert [p.name for p in tmp_path.iterdir()] == ["a.ledger"]


def test_somebody_faster_at_creating(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    """The ledger of the faster process is opened, or rejected if its cap differs."""
    place, link = tmp_path / "a.ledger", os.link

    def beaten(*arguments: Any) -> None:
        monkeypatch.setattr(os, "link", link)
        Ledger(place, epsilon=1.0, delta=1e-6).spend(SMALL)
        link(*arguments)

    monkeypatch.setattr(os, "link", beaten)
    assert len(Ledger(place, epsilon=1.0, delta=1e-6).entries) == 1
    assert [p.name for p in tmp_path.iterdir()] == ["a.ledger"]


# -- threads -------------------------------------------------------------------------------------------------


@pytest.mark.parametrize("in_memory", [True, False])
def test_threads_share_one_ledger(tmp_path: Path, in_memory: bool) -> None:
    ledger = Ledger(None if in_memory else tmp_path / "a.ledger", epsilon=1.0, delta=0.0)
    accepted: list[int] = []
    failures: list[BaseException] = []

    def work() -> None:
        try:
            while True:
                accepted.append(ledger.spend((Laplace(20.0), 1.0)).number)
        except BudgetExceeded:
            pass
        except HushError as failure:
            failures.append(failure)

    threads = [threading.Thread(target=work) for _ in range(4)]
    for thread in threads:
        thread.start()
    for thread in threads:
        thread.join()
    assert failures == [] and sorted(accepted) == list(range(1, 21))
    ledger.verify()
