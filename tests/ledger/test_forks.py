"""Forks at a bad moment: while another thread is inside a ledger call, and in the middle of a call of the same
thread.
"""

from __future__ import annotations

from pathlib import Path

import pytest
from ledger.test_processes import pytestmark, run  # noqa: F401 - the mark skips where there is no fork

from hush.ledger import Ledger


@pytest.fixture
def path(tmp_path: Path) -> Path:
    return tmp_path / "a.ledger"


@pytest.mark.parametrize("kind", ["reading", "writing"])
@pytest.mark.parametrize("in_memory", [False, True])
def test_a_fork_waits_for_the_calls_of_other_threads(path: Path, kind: str, in_memory: bool) -> None:
    """Then the lock tables of SQLite, which the child inherits, are empty."""
    codes, left, count = run(
        f"""
        import threading
        file = Ledger(path, epsilon=1.0, delta=0.0)
        ledger = Ledger(None, epsilon=1.0, delta=0.0) if {in_memory} else file
        inside, over = threading.Event(), []
        def hold():
            with ledger._store.file.{kind}() as connection:
                connection.execute("SELECT * FROM entries").fetchall()
                inside.set()
                time.sleep(0.3)
                over.append(True)
        holder = threading.Thread(target=hold)
        holder.start()
        inside.wait()

        def work():
            assert over == [True], "forked while the call was under way"
            for _ in range(5):
                file.spend((Laplace(100.0), 1.0))
        child = forked(work)
        holder.join()
        for _ in range(5):
            file.spend((Laplace(100.0), 1.0))
        codes = waited([child])
        file.verify()
        print(json.dumps([codes, file.left.epsilon, len(file.entries)]))
        """,
        path,
    )
    assert (codes, count) == ([0], 10) and left == pytest.approx(0.9)


def test_busy_threads_and_forks_never_pass_the_cap(path: Path) -> None:
    """A thread reads all the time while the program forks; then parent and child spend everything: 40 releases fit."""
    found = run(
        """
        import threading
        def some(ledger):
            count = 0
            try:
                while True:
                    ledger.spend((Laplace(40.0), 1.0))
                    count += 1
            except BudgetExceeded:
                return count

        found = []
        for round in range(6):
            ledger, stop = Ledger(f"{path}{round}", epsilon=1.0, delta=0.0), threading.Event()
            def ask():
                while not stop.is_set():
                    ledger.left
            asker = threading.Thread(target=ask)
            asker.start()
            time.sleep(random.uniform(0.002, 0.006))
            def work():
                os.write(write, bytes([some(ledger)]))
            read, write = os.pipe()
            child = forked(work)
            stop.set()
            asker.join()
            mine = some(ledger)
            assert waited([child]) == [0]
            theirs = os.read(read, 1)[0]
            ledger.verify()
            found.append([mine + theirs, len(Ledger(f"{path}{round}").entries)])
        print(json.dumps(found))
        """,
        path,
    )
    assert found == [[40, 40]] * 6


def test_a_fork_in_the_middle_of_a_call_leaves_a_child_without_ledgers(path: Path) -> None:
    """The fork cannot wait for its thread. The child neither commits nor closes the inherited connection; the parent
    continues.
    """
    codes, count = run(
        """
        import threading
        ledger = Ledger(path, epsilon=1.0, delta=0.0)
        memory = Ledger(None, epsilon=1.0, delta=0.0)
        plus, children, here = type(ledger._store._known[1]).plus, [], os.getpid()

        def forking(self, entries):  # called while the transaction of `spend` is open
            if not children and os.getpid() == here:
                children.append(os.fork())
            return plus(self, entries)

        type(ledger._store._known[1]).plus = forking
        try:
            ledger.spend((Laplace(100.0), 1.0))
        except LedgerError as failure:
            assert os.getpid() != here and "forked during a ledger call" in str(failure), failure
        if os.getpid() != here:
            spend = lambda: ledger.spend((Laplace(100.0), 1.0))
            for attempt in (lambda: Ledger(path), lambda: ledger.left, spend, lambda: memory.left):
                try:
                    attempt()
                except LedgerError as failure:
                    assert "process" in str(failure)
                else:
                    raise AssertionError("the child used a ledger")
            sys.exit(7)
        thread = threading.Thread(target=ledger.spend, args=((Laplace(100.0), 1.0),))  # other threads are not held up
        thread.start()
        thread.join()
        codes = waited(children)
        ledger.spend((Laplace(100.0), 1.0))
        ledger.verify()
        later = forked(lambda: ledger.spend((Laplace(100.0), 1.0)))
        print(json.dumps([codes + waited([later]), len(ledger.entries)]))
        """,
        path,
    )
    assert codes == [7, 0] and count == 4
    Ledger(path).verify()


def test_a_fork_does_not_wait_forever(path: Path) -> None:
    """If a call does not end in time, the child cannot use ledgers, but the program does not hang."""
    codes = run(
        """
        import threading
        import hush.ledger.fork_guard
        hush.ledger.fork_guard.LONGEST = 0.2
        ledger, inside, go = Ledger(path, epsilon=1.0, delta=0.0), threading.Event(), threading.Event()
        def hold():
            with ledger._store.file.reading():
                inside.set()
                go.wait()
        holder = threading.Thread(target=hold)
        holder.start()
        inside.wait()
        def work():
            try:
                Ledger(path)
            except LedgerError as failure:
                assert "forked during a ledger call" in str(failure)
            else:
                raise AssertionError("the child used a ledger")
        codes = waited([forked(work)])
        go.set()
        holder.join()
        codes += waited([forked(lambda: Ledger(path).spend((Laplace(100.0), 1.0)))])
        print(json.dumps(codes))
        """,
        path,
    )
    assert codes == [0, 0] and len(Ledger(path).entries) == 1


def test_the_lock_of_a_ledger_in_memory_is_new_in_a_child(path: Path) -> None:
    """A thread of the parent held the lock and does not exist in the child."""
    codes = run(
        """
        import threading
        memory, held, stop = Ledger(None, epsilon=1.0, delta=1e-6), threading.Event(), threading.Event()
        def hold():
            with memory._store.exclusive():
                held.set()
                stop.wait(60)
        holder = threading.Thread(target=hold)
        holder.start()
        held.wait()
        def work():
            signal.alarm(30)
            try:
                memory.spend((Gaussian(100.0), 1.0))
            except LedgerError as failure:
                assert "another process" in str(failure)
        codes = waited([forked(work)])
        stop.set()
        holder.join()
        memory.spend((Gaussian(100.0), 1.0))
        print(json.dumps(codes))
        """,
        path,
    )
    assert codes == [0]
