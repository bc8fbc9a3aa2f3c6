"""Ctrl-C ends a query: KeyboardInterrupt in Python, exit 130 on the command line, and the engine stops.

The queries here would run for hours. The only time that is asserted is a hang guard.
"""

from __future__ import annotations

import os
import signal
import subprocess
import sys
import threading
from collections.abc import Callable, Iterator
from pathlib import Path

import duckdb
import ibis
import pytest

import hush.tables
from hush.errors import HushError
from hush.tables import count
from hush.tables.interrupt import in_thread, interruptible, still_working

pytestmark = [
    pytest.mark.filterwarnings("ignore::DeprecationWarning"),  # Ibis 12 on DuckDB 2
    pytest.mark.skipif(os.name == "nt", reason="signals are sent as POSIX sends them"),
]

HANG = 60  # seconds
#: 10^12 pairs of rows.
ENDLESS = "CREATE VIEW visits AS SELECT a.i + b.i AS who, a.i % 10 AS ward FROM numbers a, numbers b"
NUMBERS = "CREATE TABLE numbers AS SELECT range AS i FROM range(1000000)"


def interrupted(command: list[str], start: str) -> subprocess.CompletedProcess[str]:
    """Run a command, send SIGINT once it has written `start` to stderr, and return what it left."""
    with subprocess.Popen(command, stdout=subprocess.PIPE, stderr=subprocess.PIPE, text=True) as process:
        guard = threading.Timer(HANG, process.kill)
        guard.start()
        try:
            assert process.stderr is not None
            seen = ""
            while start not in seen:
                line = process.stderr.readline()
                assert line, f"ended before it began: {seen}"
                seen += line
            process.send_signal(signal.SIGINT)
            out, err = process.communicate()
        finally:
            guard.cancel()
            process.kill()
    return subprocess.CompletedProcess(command, process.returncode, out, seen + err)


SCRIPT = f"""
import sys, ibis
from hush import tables

backend = ibis.duckdb.connect()
backend.raw_sql("{NUMBERS}")
backend.raw_sql("{ENDLESS}")
query = tables.table(backend.table("visits"), unit="who").group_by("ward", keys=[1, 2], groups_per_unit=1)
plan = query.aggregate(n=tables.count()).plan(1.0, 0.0, family="laplace")
try:
    plan.answer(ledger=None, progress=lambda text: print(text, file=sys.stderr, flush=True))
except KeyboardInterrupt as stopped:
    print("stopped", stopped.__cause__, stopped.__context__)
print(backend.con.sql("SELECT count(*) FROM numbers").fetchall())
"""


def test_a_query_in_python():
    """KeyboardInterrupt without the engine's message, and the user's connection works afterwards."""
    done = interrupted([sys.executable, "-W", "ignore", "-c", SCRIPT], "aggregating")
    assert done.returncode == 0, done.stderr
    assert done.stdout.splitlines() == ["stopped None None", "[(1000000,)]"]


@pytest.fixture
def database(tmp_path: Path) -> Path:
    path = tmp_path / "visits.duckdb"
    with duckdb.connect(str(path)) as connection:
        connection.execute(NUMBERS)
        connection.execute(ENDLESS)
    return path


#: The command line, with its progress as lines: without a terminal it shows none.
COMMAND = """
import sys
from hush.cli import answer, main
from contextlib import nullcontext
answer.working = lambda text="": nullcontext(lambda now: print(now, file=sys.stderr, flush=True))
sys.exit(main())
"""
ASKED = [
    "--table",
    "visits",
    "--unit",
    "who",
    "--count",
    "--by",
    "ward",
    "--groups-per-unit",
    "1",
    "--family",
    "laplace",
]


def ask(database: Path, *more: str) -> subprocess.CompletedProcess[str]:
    command = [sys.executable, "-W", "ignore", "-c", COMMAND, "answer", str(database), *ASKED, *more]
    return interrupted(command, "aggregating")


def test_the_command_line_keeps_the_right_to_the_answer(database, tmp_path):
    book = tmp_path / "v.ledger"
    hush.Ledger(book, epsilon=3.0, delta=1e-5).close()
    done = ask(database, "--keys", "1,2", "--epsilon", "1", "--pure", "--ledger", str(book))
    assert done.returncode == 130
    assert done.stderr.splitlines()[-1].startswith("hush: stopped; nothing was released, but the ledger ")
    assert done.stderr.splitlines()[-1].endswith("the same command gets its one answer without another charge.")
    assert done.stdout == "" and "Traceback" not in done.stderr
    with hush.Ledger(book) as ledger:
        assert [entry.number for entry in ledger.entries] == [1] and ledger.unanswered == (1,)


def test_a_charge_stands(capsys, monkeypatch, tmp_path):
    """Where the ledger was charged before the interruption, the last line says so."""
    from hush.cli import answer, main

    book = tmp_path / "v.ledger"
    hush.Ledger(book, epsilon=3.0, delta=1e-5).close()
    asked = ["answer", "visits.parquet", "--unit", "who", "--count", "--epsilon", "1", "--pure", "--ledger", str(book)]

    def stopped(charge: bool) -> Callable[..., None]:
        def planned(options: object) -> None:
            if charge:
                with hush.Ledger(book) as ledger:
                    ledger.spend(hush.Laplace(1.0))
            raise KeyboardInterrupt

        return planned

    for charge, said in (
        (False, "released."),
        (True, f"released, but the ledger {book} was charged, and the charge remains."),
    ):
        monkeypatch.setattr(answer, "planned", stopped(charge))
        assert main(asked) == 130
        assert capsys.readouterr().err.splitlines()[-1] == f"hush: stopped; nothing was {said}"


def test_an_interruption_by_the_engine():
    """Somebody calls the connection's interrupt(): it is a KeyboardInterrupt too, not a failure of the engine."""
    backend = ibis.duckdb.connect()
    backend.raw_sql(NUMBERS)
    backend.raw_sql(ENDLESS)
    query = hush.tables.table(backend.table("visits"), unit="who").aggregate(n=count())
    again = threading.Event()

    def interrupt() -> None:
        while not again.wait(0.2):  # until it was noticed: a query that has not begun does not notice
            backend.con.interrupt()

    thread = threading.Thread(target=interrupt)
    thread.start()
    try:
        with pytest.raises(KeyboardInterrupt) as caught:
            query.aggregates().to_arrow()
    finally:
        again.set()
        thread.join()
    assert caught.value.__cause__ is None and caught.value.__context__ is None
    assert backend.con.sql("SELECT 1").fetchall() == [(1,)]


def test_batches_that_nobody_reads_to_the_end():
    """The thread ends, and the user's connection is free."""
    backend = ibis.duckdb.connect()
    backend.raw_sql(NUMBERS)
    t = hush.tables.table(backend.table("numbers"), unit="i").mutate(k=lambda t: t["i"])
    batches = t.group_by("k", keys="private", groups_per_unit=1).aggregate(n=count()).aggregates().batches(size=10)
    assert next(iter(batches)).num_rows == 10
    assert still_working()
    batches.close()  # type: ignore[attr-defined]
    assert not still_working()
    assert backend.con.sql("SELECT count(*) FROM numbers").fetchall() == [(1_000_000,)]


def test_a_thread_hands_over_items_and_failures():
    def produce() -> Iterator[int]:
        yield from range(5)
        raise ValueError("after five")

    items = interruptible(produce, lambda: None)
    assert [next(items) for _ in range(5)] == list(range(5))
    with pytest.raises(ValueError, match="after five"):
        next(items)
    assert not still_working()
    assert in_thread(lambda: 7) == 7
    with pytest.raises(HushError):
        in_thread(lambda: (_ for _ in ()).throw(HushError("no")), lambda: None)


def test_a_thread_that_cannot_begin_is_an_error():
    """A wrapper that fails must not leave the caller waiting."""

    def failing(work: Callable[[], None]) -> Callable[[], None]:
        return lambda: None

    with pytest.raises(RuntimeError, match="ended without a result or an error"):
        in_thread(lambda: 1, inherit=failing)
