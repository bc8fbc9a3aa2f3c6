"""Streams in a ledger: charged once, measured once, restarted after every kind of death, people limited, intervals."""

from __future__ import annotations

import importlib
import itertools
import json
import os
import signal
import sqlite3
import stat
import threading

import numpy as np
import pytest
from scales import must_cover, must_have_planned_error

import hush
from hush.ledger.streams import Streams
from hush.stream.people import people_between


@pytest.fixture(scope="module")
def short():
    """Twelve periods with Laplace noise on each."""
    return hush.stream(horizon=12).plan(1.0, 0.0)


@pytest.fixture(scope="module")
def banded():
    """Gaussian noise for people who come back."""
    return hush.stream(horizon=30, appears=4, apart=5).plan(1.0, 1e-6)


def started(plan, folder, name="visits"):
    ledger = hush.Ledger(folder / "budget.ledger", epsilon=1.0, delta=1e-6)
    return plan.start(ledger=ledger, name=name)


# -- state ---------------------------------------------------------------------------------------------------


def test_a_stream_is_charged_once_and_continued_by_others(short, tmp_path):
    running = started(short, tmp_path)
    answer = [running.add(count) for count in (10, 20, 30)][-1]
    book = hush.Ledger(tmp_path / "budget.ledger")
    assert len(book.entries) == 1 and book.entries[0].label == "stream visits"
    again = hush.stream.opened(book, "visits")
    assert again.periods == 3 and again.answer().noisy == answer.noisy
    assert short.start(ledger=book, name="visits").periods == 3, "the same plan continues the stream"
    assert again.add(40).period == 4 and len(book.entries) == 1
    assert Streams(book).names() == ["visits"] and "4 of 12" in repr(again)
    with pytest.raises(hush.InvalidParameter, match="another plan"):
        hush.stream(horizon=13).plan(1.0, 0.0).start(ledger=book, name="visits")
    with pytest.raises(hush.NotPaid):  # the entry gives no second payment
        book.spend(short.charges, turn=book.entries[0].turn)


def test_the_same_input_returns_the_same_answer_and_another_is_refused(banded, tmp_path):
    running = started(banded, tmp_path)
    first = running.add(17)
    running.add(5)
    assert running.add(17, period=1).noisy == first.noisy
    with pytest.raises(hush.InvalidParameter, match="another input"):
        running.add(18, period=1)
    with pytest.raises(hush.InvalidParameter, match="next period"):
        running.add(18, period=4)
    assert running.periods == 2


def test_a_named_period_is_added_once(short, tmp_path):
    """A job that runs twice for one day publishes it once."""
    running = started(short, tmp_path)
    first = running.add(7, period="2026-01-31")
    assert running.add(7, period="2026-01-31").noisy == first.noisy and running.periods == 1
    with pytest.raises(hush.InvalidParameter, match="another input"):
        running.add(8, period="2026-01-31")
    assert running.add(7, period="2026-02-01").labels == ("2026-01-31", "2026-02-01")
    assert running.add(9).labels[-1] == ""


def test_what_is_at_rest(banded, tmp_path):
    """The ledger holds the noisy numbers and MACs; the secret file is the owner's; no MAC is a plain digest."""
    import hashlib

    running = started(banded, tmp_path)
    for count in (123456789, 123456789):
        running.add(count)
    secret = tmp_path / "budget.ledger-visits.secret"
    assert stat.S_IMODE(os.stat(secret).st_mode) == 0o600
    with sqlite3.connect(tmp_path / "budget.ledger") as book:
        rows = book.execute("SELECT period, measured, mac FROM periods").fetchall()
    assert rows[0][2] != rows[1][2], "equal counts have different MACs"
    for guess in (b"123456789", b"input visits 1 123456789 "):
        assert hashlib.sha256(guess).hexdigest() not in {row[2] for row in rows}
    book.close()
    content = (tmp_path / "budget.ledger").read_bytes()
    assert b"123456789" not in content and running._secret.key not in content
    os.chmod(secret, 0o644)
    with pytest.raises(hush.LedgerError, match="other users can read"):
        running.add(1)
    os.chmod(secret, 0o600)
    os.unlink(secret)
    fresh = hush.stream.opened(hush.Ledger(tmp_path / "budget.ledger"), "visits")
    assert fresh.answer().period == 2, "reading needs no secret"
    with pytest.raises(hush.LedgerError, match="cannot be continued"):
        fresh.add(1)


def test_an_old_secret_is_refused(short, tmp_path):
    running = started(short, tmp_path)
    running.add(1)
    secret = tmp_path / "budget.ledger-visits.secret"
    old = secret.read_bytes()
    running.add(2)
    secret.write_bytes(old)
    with pytest.raises(hush.LedgerError, match="old copy"):
        running.add(3)
    other = hush.Ledger(tmp_path / "other.ledger", epsilon=1.0, delta=1e-6)
    short.start(ledger=other, name="visits")
    wrong = hush.stream.opened(other, "visits", secret=secret)
    with pytest.raises(hush.LedgerError, match="another stream"):
        wrong.add(3)


@pytest.mark.parametrize(
    "change",
    [
        "UPDATE periods SET measured = '[700]' WHERE period = 1",
        "UPDATE periods SET mac = '00' WHERE period = 2",
        "DELETE FROM periods WHERE period = 1",
        "UPDATE streams SET plan = '{}'",
    ],
)
def test_a_changed_file_is_noticed(short, tmp_path, change):
    running = started(short, tmp_path)
    for count in (4, 5):
        running.add(count)
    with sqlite3.connect(tmp_path / "budget.ledger") as book:
        with pytest.raises(sqlite3.IntegrityError, match="append-only"):
            book.execute(change)
        for table in ("periods", "streams"):
            for verb in ("update", "delete"):
                book.execute(f"DROP TRIGGER {table}_no_{verb}")
        book.execute(change)
    book.close()
    with pytest.raises(hush.LedgerError, match="damaged"):
        hush.stream.opened(hush.Ledger(tmp_path / "budget.ledger"), "visits").answer()
    with pytest.raises(hush.LedgerError, match="damaged"):
        hush.Ledger(tmp_path / "budget.ledger").verify()


# -- death ---------------------------------------------------------------------------------------------------

#: Where a process is killed: the object and the name of a function, and whether before or after it runs.
DEATHS = {
    "before the input is frozen": ("hush.stream.secret", "Secret.freeze", "before"),
    "after the input is frozen": ("hush.stream.secret", "Secret.freeze", "after"),
    "after the noise is drawn": ("hush.ledger.payment", "Payment.noise", "after"),
    "after the numbers are kept in secret": ("hush.stream.secret", "Secret.seal", "after"),
    "after the row is written, before the commit": ("hush.ledger.stream_rows", "append", "after"),
    "after the commit, before the answer": ("hush.ledger.streams", "Streams.add", "after"),
    "before the answer is returned": ("hush.stream.running", "RunningStream._answer", "before"),
}
STARTS = {
    "after the secret file": ("hush.stream.secret", "Secret.made", "after"),
    "after the charge": ("hush.ledger.ledger", "Ledger.charged", "after"),
    "after the record": ("hush.ledger.stream_rows", "insert", "after"),
    "before the end": ("hush.ledger.series", "WithSeries.keep_answer", "before"),
}


def dying_at(place):
    """Replace a function so that the process kills itself before or after it runs."""
    module, path, when = place
    owner = importlib.import_module(module)
    *outer, name = path.split(".")
    for one in outer:
        owner = getattr(owner, one)
    real = owner.__dict__[name]
    call = real.__func__ if isinstance(real, classmethod) else real

    def dying(*args, **kwargs):
        if when == "after":
            call(*args, **kwargs)
        os.kill(os.getpid(), signal.SIGKILL)

    setattr(owner, name, classmethod(dying) if isinstance(real, classmethod) else dying)


def killed(place, work):
    """Run the work in a child process, which is killed at the place."""
    child = os.fork()
    if child == 0:
        try:
            dying_at(place)
            work()
        finally:
            os._exit(1)  # the place was not reached
    _, status = os.waitpid(child, 0)
    assert os.WIFSIGNALED(status) and os.WTERMSIG(status) == signal.SIGKILL


@pytest.mark.parametrize("place", DEATHS, ids=str)
def test_a_killed_process_loses_and_repeats_nothing(short, tmp_path, place):
    """The period is published once or not at all; then it can be added, with another count only if nothing was kept.
    What was kept in secret before the death is published as it is.
    """
    running = started(short, tmp_path)
    before = running.add(10).noisy
    killed(DEATHS[place], lambda: hush.stream.opened(hush.Ledger(tmp_path / "budget.ledger"), "visits").add(20))
    book = hush.Ledger(tmp_path / "budget.ledger")
    again = hush.stream.opened(book, "visits")
    recorded = again.answer().noisy
    done = place in ("after the commit, before the answer", "before the answer is returned")
    assert recorded[:1] == before and len(recorded) == 1 + done
    with sqlite3.connect(tmp_path / "budget.ledger-visits.secret") as file:
        kept = file.execute("SELECT measured FROM inputs WHERE period = 2").fetchone()
    file.close()
    if done:
        assert again.add(20, period=2).noisy == recorded
        with pytest.raises(hush.InvalidParameter, match="another input"):
            again.add(21, period=2)
    elif kept is not None and kept[0] is not None:
        assert place in ("after the numbers are kept in secret", "after the row is written, before the commit")
        with pytest.raises(hush.InvalidParameter, match="another input"):
            again.add(21, period=2)
        assert again.add(20, period=2).noisy == (*before, tuple(json.loads(kept[0])))
        with pytest.raises(hush.InvalidParameter, match="another input"):
            again.add(21, period=2)
    else:
        assert again.add(21, period=2).noisy[:1] == before
        with pytest.raises(hush.InvalidParameter, match="another input"):
            again.add(20, period=2)
    assert again.add(30).period == 3 and len(book.entries) == 1
    book.verify()


@pytest.mark.parametrize("place", STARTS, ids=str)
def test_a_start_that_is_killed_is_charged_once(short, tmp_path, place):
    book = hush.Ledger(tmp_path / "budget.ledger", epsilon=1.0, delta=1e-6)
    killed(STARTS[place], lambda: short.start(ledger=hush.Ledger(tmp_path / "budget.ledger"), name="visits"))
    running = short.start(ledger=book, name="visits")
    assert running.add(5).period == 1 and len(book.entries) == 1
    book.verify()


def test_another_plan_after_a_killed_start(short, tmp_path):
    book = hush.Ledger(tmp_path / "budget.ledger", epsilon=1.0, delta=1e-6)
    killed(STARTS["after the charge"], lambda: short.start(ledger=book, name="visits"))
    with pytest.raises(hush.InvalidParameter, match="another plan"):
        hush.stream(horizon=12).plan(0.5, 0.0).start(ledger=book, name="visits")
    assert len(book.entries) == 1


def test_threads_publish_a_period_once(short, tmp_path):
    """Eight threads add the same period with different counts: one of them is published."""
    started(short, tmp_path)
    outcomes = []

    def work(count):
        running = hush.stream.opened(hush.Ledger(tmp_path / "budget.ledger"), "visits")
        try:
            outcomes.append(running.add(count, period=1).noisy)
        except hush.InvalidParameter:
            outcomes.append(None)

    threads = [threading.Thread(target=work, args=(count,)) for count in range(8)]
    for thread in threads:
        thread.start()
    for thread in threads:
        thread.join()
    assert len(outcomes) == 8 and sum(outcome is not None for outcome in outcomes) == 1


# -- people --------------------------------------------------------------------------------------------------


def test_people_are_counted_as_the_plan_assumes(tmp_path):
    """At most twice, at least two periods apart, whatever the lists say; counted is checked in the secret file."""
    running = started(hush.stream(horizon=12, appears=2, apart=2).plan(1.0, 0.0), tmp_path)
    for _ in range(6):
        running.add(people=["a", "a", "b"])
    running.add(people=["c", "7", "07"])
    counts = [one.count for one in running._secret.inputs()]
    assert counts == [2, 0, 2, 0, 0, 0, 3]
    again = running.add(people=["b", "a"], period=3)
    assert again.period == 3, "the order of the list does not matter"
    with pytest.raises(hush.InvalidParameter, match="another input"):
        running.add(people=["a"], period=3)
    with pytest.raises(hush.InvalidParameter, match="either counts or lists"):
        running.add(5)
    with pytest.raises(hush.InvalidParameter, match="text or a whole number"):
        running.add(people=[1.5])
    assert b"\x00a" not in (tmp_path / "budget.ledger").read_bytes()


def test_people_who_were_counted_meanwhile(tmp_path, monkeypatch):
    """What was computed before another process added a period is computed again, and a difference is refused."""
    from hush.stream.secret import Secret

    running = started(hush.stream(horizon=12).plan(1.0, 0.0), tmp_path)
    running.add(people=["a"])
    real, calls = Secret.allowed, []

    def stale(self, people, period, appears, apart):
        calls.append(people)
        return tuple(people) if len(calls) == 1 else real(self, people, period, appears, apart)

    monkeypatch.setattr(Secret, "allowed", stale)
    with pytest.raises(hush.LedgerError, match="at the same time"):
        running.add(people=["a"])
    assert running.periods == 1 and running.add(people=["a"]).period == 2


def test_people_of_a_table():
    import pyarrow as pa

    day = ["2026-01-01", "2026-01-01", "2026-01-02", "2026-01-03", "2026-01-01", "2026-01-02"]
    frame = pa.table({"id": [1, 1, 2, 3, None, 1], "day": day, "week": [1, 1, 1, 2, 1, 1], "name": list("xxyzwx")})
    found = people_between(frame, unit="id", column="day", first="2026-01-01")
    assert found == ["1"]
    assert sorted(people_between(frame, unit="id", column="day", first="2026-01-01", until="2026-01-03")) == ["1", "2"]
    assert people_between(frame, unit="name", column="week", first=2) == ["z"]
    for wrong, words in (({"unit": "x"}, "unit names the column 'x'"), ({"first": "monday"}, "a date such as")):
        with pytest.raises(hush.InvalidParameter, match=words):
            people_between(frame, **{"unit": "id", "column": "day", "first": "2026-01-01"} | wrong)


# -- answers -------------------------------------------------------------------------------------------------


def replayed(plan, truth, times):
    """The noisy numbers of many streams with the same counts, drawn as a stream draws them."""
    exact = [plan.strategy.measured(truth[:t]) for t in range(1, len(truth) + 1)]
    flat = [one for period in exact for one in period]
    drawn = np.empty((times, len(flat)), dtype=np.int64)
    for place, (part, value) in enumerate(flat):
        made = plan.strategy.single(part)
        drawn[:, place] = value + hush.draw(made.noise, times, made.step)
    ends = np.cumsum([0] + [len(period) for period in exact])
    return [[row[a:b].tolist() for a, b in itertools.pairwise(ends)] for row in drawn]


@pytest.mark.parametrize("kind", ["blocks", "banded", "lift"])
def test_errors_and_intervals_over_many_streams(kind, banded):
    """Hundreds of streams: the mean squared error of all running totals as planned, and the coverage of one window."""
    from hush.stream.answer import StreamAnswer

    plans = {
        "blocks": lambda: hush.stream(horizon=50).plan(1.0, 1e-6),
        "banded": lambda: banded,
        "lift": lambda: hush.stream(horizon=12, appears=12).plan(1.0, 1e-6),
    }
    plan = plans[kind]()
    truth = [k % 7 for k in range(plan.stream.horizon)]
    times = 2000 if kind == "blocks" else 400  # for the ratio of two errors below, 0.76 with a deviation of 0.007
    answers = [StreamAnswer(plan, tuple(map(tuple, one)), {}) for one in replayed(plan, truth, times)]
    errors = np.array([answer.published - np.cumsum(truth) for answer in answers])
    must_have_planned_error((errors**2).mean(axis=1), plan.mse)
    width = answers[0].window(3, 9, level=0.9).high - answers[0].window(3, 9, level=0.9).value
    must_cover([abs(answer.estimates[2:9].sum() - sum(truth[2:9])) <= width for answer in answers], 0.9)
    if kind == "blocks":  # what is known at the end improves the earlier totals
        revised = np.array([np.cumsum(answer.estimates) - np.cumsum(truth) for answer in answers])
        assert (revised**2).mean() < 0.8 * (errors**2).mean()


def test_whole_numbers_and_words(short, tmp_path):
    running = started(short, tmp_path)
    assert "nothing is published" in repr(running.answer())
    answer = [running.add(count) for count in (100, 200, 300)][-1]
    assert (np.cumsum(answer.counts) == answer.totals).all() and answer.totals.size == 3
    assert answer.total == answer.window(1, 3) == answer.latest
    assert answer.at(2).noisy == answer.noisy[:2] and answer.at(2).total.value == answer.published[1]
    assert answer.published[-1] == answer.total.value and "period 3" in repr(answer)
    assert answer.receipt.kind == "stream" and answer.receipt.ledger["number"] == 1
    assert "counts published period by period" in str(hush.report.statement(answer.receipt))
    assert hush.Receipt.from_json(answer.receipt.to_json()) == answer.receipt


def test_a_ledger_in_memory():
    ledger = hush.Ledger(None, epsilon=1.0, delta=1e-6)
    running = hush.stream(horizon=3, corrections=True).plan(1.0, 0.0).start(ledger=ledger, name="a")
    assert [running.add(count).period for count in (1, -2, 3)] == [1, 2, 3]
    assert hush.stream.opened(ledger, "a").add(3, period=3).period == 3
    with pytest.raises(hush.BudgetExceeded, match="3 periods"):
        running.add(4)


@pytest.mark.parametrize(
    ("call", "words"),
    [
        (lambda plan, r: plan.start(ledger=None, name="a"), "needs a ledger"),
        (lambda plan, r: plan.start(ledger=hush.Ledger(None, epsilon=1.0, delta=1e-6), name="a/b"), "letters, digits"),
        (lambda plan, r: plan.start(ledger=hush.Ledger(None, epsilon=0.5, delta=1e-6), name="a"), "0.5|exceed|budget"),
        (lambda plan, r: hush.stream.opened(hush.Ledger(None, epsilon=0.5, delta=1e-6), "a"), "it has none"),
        (lambda plan, r: r.add(), "either the count"),
        (lambda plan, r: r.add(-1), "corrections=True"),
        (lambda plan, r: r.add(1.5), "whole number"),
        (lambda plan, r: r.add(True), "whole number"),
        (lambda plan, r: r.add(1, period=0), "period"),
        (lambda plan, r: (r.add(1), r.answer().window(1, 2)), "first <= last"),
        (lambda plan, r: r.answer().window(1, 1), "nothing is published yet"),
        (lambda plan, r: r.answer().total, "nothing is published yet"),
        (lambda plan, r: r.answer().latest, "nothing is published yet"),
        (lambda plan, r: r.answer().at(1), "the periods so far"),
    ],
)
def test_mistakes_get_one_sentence(short, call, words):
    running = short.start(ledger=hush.Ledger(None, epsilon=1.0, delta=1e-6), name="m")
    with pytest.raises(hush.HushError, match=words) as mistake:
        call(short, running)
    assert "\n" not in str(mistake.value)
