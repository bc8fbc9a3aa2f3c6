"""Several processes, killed processes, forks, read-only files and full disks.

Every test starts one Python that forks by itself, so that no thread or plugin of the test runner is carried along.
"""

from __future__ import annotations

import json
import os
import subprocess
import sys
import tempfile
import textwrap
from collections.abc import Iterator
from pathlib import Path
from typing import Any

import pytest
from effort import examples

import hush
from hush import Gaussian, Laplace
from hush.ledger import Ledger

pytestmark = pytest.mark.skipif(not hasattr(os, "fork"), reason="needs fork")

HEAD = """
import json, os, random, signal, sys, time, traceback
import sqlite3
import hush
from hush import *
from hush.errors import HushError, LedgerError
from hush.ledger import Ledger
import hush.ledger.file, hush.ledger.log

path = sys.argv[1]
Ledger(None, epsilon=1.0, delta=1e-6).spend((Gaussian(100.0), 1.0))  # what is loaded at its first use: children have it

def forked(work, *arguments):
    child = os.fork()
    if child:
        return child
    try:
        work(*arguments)
    except BaseException:
        traceback.print_exc()
        os._exit(1)
    os._exit(0)

def racing(work, count):  # all start at once, when the parent closes the gate
    read, write = os.pipe()
    def gated():
        os.close(write)
        os.read(read, 1)
        work()
    children = [forked(gated) for _ in range(count)]
    os.close(read)
    time.sleep(0.2)
    os.close(write)
    return waited(children)

def waited(children):
    return [os.waitstatus_to_exitcode(os.waitpid(child, 0)[1]) for child in children]
"""


def run(code: str, path: Path, **options: Any) -> Any:
    """The last line that a separate program prints, read as JSON; `path` is the path of its ledger."""
    folder = str(Path(hush.__file__).parents[1])
    program = HEAD + textwrap.dedent(code)
    command = [sys.executable, "-W", "ignore", "-c", program, str(path)]
    done = subprocess.run(
        command, capture_output=True, text=True, env={**os.environ, "PYTHONPATH": folder}, timeout=300, **options
    )
    assert done.returncode == 0, done.stderr
    return json.loads(done.stdout.splitlines()[-1])


@pytest.fixture
def path(tmp_path: Path) -> Path:
    return tmp_path / "a.ledger"


def test_killed_at_random_it_never_released_more_than_it_spent(path: Path) -> None:
    """Many releases, by processes that die at random points; each release is a line written after its charge."""
    least = examples(60, 200)
    Ledger(path, epsilon=10.0, delta=1e-6)
    released = path.with_suffix(".released")
    kills = run(
        """
        def work():
            ledger = Ledger(path)
            out = os.open(sys.argv[1].replace(".ledger", ".released"), os.O_WRONLY | os.O_CREAT | os.O_APPEND)
            while True:
                entry = ledger.spend((Gaussian(100.0), 1.0), label=str(os.getpid()))
                os.write(out, f"{entry.number}\\n".encode())
                os.fsync(out)

        def lines():
            try:
                return open(sys.argv[1].replace(".ledger", ".released")).read().count("\\n")
            except FileNotFoundError:
                return 0

        kills = 0
        while (lines() < LEAST or kills < 10) and kills < 400:
            children = [forked(work) for _ in range(2)]
            time.sleep(random.uniform(0.002, 0.12) + 0.001 * kills)  # longer where the machine is slow
            for child in children:
                os.kill(child, signal.SIGKILL)
            assert set(waited(children)) == {-signal.SIGKILL}
            kills += len(children)
        print(json.dumps(kills))
        """.replace("LEAST", str(least)),
        path,
    )
    numbers = [int(line) for line in released.read_text().split()]
    ledger = Ledger(path)
    ledger.verify()
    paid = {entry.number for entry in ledger.entries}
    assert kills >= 10 and len(numbers) >= least
    assert len(set(numbers)) == len(numbers) and set(numbers) <= paid
    assert ledger.spent.epsilon >= hush.epsilon(Gaussian(100.0), 1e-6, times=len(numbers))
    ledger.spend((Gaussian(100.0), 1.0))


@pytest.mark.parametrize("mode", ["nonadaptive", "adaptive"])
def test_eight_processes_never_pass_the_cap(path: Path, mode: str) -> None:
    """Together they get exactly as many releases as one process would."""
    noise = Laplace(30.0)
    alone = Ledger(None, epsilon=1.0, delta=1e-6, mode=mode)
    most = 0
    try:
        while True:
            most = alone.spend((noise, 1.0)).number
    except hush.BudgetExceeded:
        pass
    Ledger(path, epsilon=1.0, delta=1e-6, mode=mode)
    codes = run(
        """
        def work():
            ledger = Ledger(path)
            try:
                while True:
                    ledger.spend((Laplace(30.0), 1.0), label=str(os.getpid()))
            except BudgetExceeded:
                pass
        print(json.dumps(racing(work, 8)))
        """,
        path,
    )
    ledger = Ledger(path)
    assert codes == [0] * 8 and len(ledger.entries) == most >= 40
    assert len({entry.label for entry in ledger.entries}) >= 2
    if mode == "nonadaptive":
        curve = hush.compose([(noise, 1.0, 1)] * most)
        assert curve.delta(1.0) <= 1e-6 < hush.delta(noise, 1.0, times=most + 1)
    ledger.verify()


def test_eight_processes_create_one_ledger(path: Path) -> None:
    codes = run(
        """
        def work():
            Ledger(path, epsilon=1.0, delta=1e-6, source="people").spend((Gaussian(100.0), 1.0))
        print(json.dumps(racing(work, 8)))
        """,
        path,
    )
    assert codes == [0] * 8 and len(Ledger(path).entries) == 8
    Ledger(path).verify()
    assert [p.name for p in path.parent.iterdir() if p.name.startswith(".")] == []


def test_a_ledger_carried_through_a_fork(path: Path) -> None:
    """Parent and child continue with the same object; each reads the entries of the other; no connection is shared."""
    found = run(
        """
        import threading
        ledger = Ledger(path, epsilon=1.0, delta=1e-6)
        memory = Ledger(None, epsilon=1.0, delta=1e-6)
        ledger.spend((Gaussian(100.0), 1.0), label="before")
        memory.spend((Gaussian(100.0), 1.0))
        stop = threading.Event()
        def hold():
            with ledger._store.exclusive():
                stop.wait(60)
        holder = threading.Thread(target=hold)
        holder.start()
        while ledger._store._lock.acquire(blocking=False):  # fork while a thread holds the lock
            ledger._store._lock.release()

        def work():
            for _ in range(20):
                ledger.spend((Gaussian(100.0), 1.0), label="child")
            try:
                memory.spend((Gaussian(100.0), 1.0))
            except LedgerError as failure:
                assert "another process" in str(failure)
            else:
                raise AssertionError("a ledger in memory was spent twice")
            memory.close()

        children = [forked(work) for _ in range(2)]
        stop.set()
        holder.join()
        for _ in range(20):
            ledger.spend((Gaussian(100.0), 1.0), label="parent")
        codes = waited(children)
        ledger.verify()
        memory.spend((Gaussian(100.0), 1.0))
        print(json.dumps([codes, len(ledger.entries), len(memory.entries)]))
        """,
        path,
    )
    assert found == [[0, 0], 61, 2]


# -- read-only, and full -------------------------------------------------------------------------------------


@pytest.fixture
def public_folder() -> Iterator[Path]:
    """A folder that another user can look into: the test runner's own are closed to others."""
    with tempfile.TemporaryDirectory() as name:
        os.chmod(name, 0o755)
        yield Path(name)


@pytest.mark.parametrize(("file_mode", "folder_mode"), [(0o444, 0o555), (0o444, 0o777), (0o666, 0o555)])
def test_a_read_only_ledger_is_a_clear_error(public_folder: Path, file_mode: int, folder_mode: int) -> None:
    """Nothing is read-only for root, so root changes to another user first."""
    path = public_folder / "a.ledger"
    Ledger(path, epsilon=1.0, delta=1e-6).spend((Gaussian(100.0), 1.0))
    before = path.read_bytes()
    path.chmod(file_mode)
    public_folder.chmod(folder_mode)
    try:
        said = run(
            """
            # load all modules while they can be read
            Ledger(None, epsilon=1.0, delta=1e-6).spend((Gaussian(100.0), 1.0))
            if os.getuid() == 0:
                os.setgroups([])
                os.setgid(65534)
                os.setuid(65534)
            try:
                Ledger(path).spend((Gaussian(100.0), 1.0))
                said = "spent"
            except LedgerError as failure:
                said = str(failure)
            print(json.dumps(said))
            """,
            path,
        )
    finally:
        public_folder.chmod(0o755)
    assert "read-only" in said or "may be written to" in said, said
    assert said.count(". ") == 0 and path.read_bytes() == before


@pytest.mark.parametrize("room", [0, 20_000, 60_000])
def test_a_full_disk_is_a_clear_error_and_no_release(path: Path, room: int) -> None:
    """A limit on file sizes simulates a full disk: writes beyond it fail. Afterwards everything works again."""
    said, released, count = run(
        f"""
        import resource
        ledger = Ledger(path, epsilon=10.0, delta=1e-6)
        ledger.spend((Gaussian(100.0), 1.0))
        most = resource.getrlimit(resource.RLIMIT_FSIZE)[1]
        resource.setrlimit(resource.RLIMIT_FSIZE, ({room}, most))
        said, released = "", 1
        try:
            for _ in range(400):
                ledger.spend((Gaussian(100.0), 1.0), label="x" * 1000)
                released += 1
        except LedgerError as failure:
            said = str(failure)
        resource.setrlimit(resource.RLIMIT_FSIZE, (most, most))
        ledger.verify()
        ledger.spend((Gaussian(100.0), 1.0))
        ledger.verify()
        print(json.dumps([said, released, len(Ledger(path).entries)]))
        """,
        path,
    )
    assert "the disk" in said and "nothing" in said, said
    assert released + 1 <= count <= released + 2  # the last charge may stand; nothing was released for it


def test_no_room_to_create(path: Path) -> None:
    said = run(
        """
        import resource
        Ledger(None, epsilon=1.0, delta=1e-6)
        resource.setrlimit(resource.RLIMIT_FSIZE, (8192, resource.getrlimit(resource.RLIMIT_FSIZE)[1]))
        try:
            Ledger(path, epsilon=1.0, delta=1e-6)
            said = "created"
        except LedgerError as failure:
            said = str(failure)
        print(json.dumps(said))
        """,
        path,
    )
    assert "the disk" in said and "nothing was created" in said
    assert list(path.parent.iterdir()) == []
