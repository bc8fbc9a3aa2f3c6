"""Streams under misuse: files with other types, ledgers from a backup, secrets of other streams, texts as lists."""

from __future__ import annotations

import shutil
from dataclasses import replace

import pytest

import hush
from hush.cli import main
from hush.stream.people import people_between
from hush.stream.secret import Input, Secret


def started(path, name="visits", **options):
    ledger = hush.Ledger(path / "one.ledger", epsilon=8.0, delta=0.0)
    return hush.stream(horizon=12).plan(1.0, 0.0).start(ledger=ledger, name=name, **options)


def test_people_of_files_with_other_types_are_the_same_people(tmp_path) -> None:
    (tmp_path / "a.csv").write_text("id,day\n1,2026-01-01\n2,2026-01-01\n")
    (tmp_path / "b.csv").write_text("id,day\n1,2026-01-02\n2,2026-01-02\nX3,2026-01-02\n")
    first = people_between(tmp_path / "a.csv", unit="id", column="day", first="2026-01-01")
    second = people_between(tmp_path / "b.csv", unit="id", column="day", first="2026-01-02")
    assert set(first) == {"1", "2"} and set(second) == {"1", "2", "X3"}


def test_dates_that_cannot_be_read_show_nothing(tmp_path) -> None:
    (tmp_path / "c.csv").write_text("id,day\n1,2026-01-01\n2,a secret text\n")
    assert people_between(tmp_path / "c.csv", unit="id", column="day", first="2026-01-01") == ["1"]
    (tmp_path / "d.csv").write_text("id,day\n1,1.5\n")
    assert people_between(tmp_path / "d.csv", unit="id", column="day", first="2026-01-01") == []


def test_a_ledger_from_a_backup_is_refused(tmp_path) -> None:
    running = started(tmp_path)
    running.add(5)
    for side in ("", "-wal", "-shm"):
        if (tmp_path / f"one.ledger{side}").exists():
            shutil.copy(tmp_path / f"one.ledger{side}", tmp_path / f"old{side}")
    for count in (6, 7, 8):
        running.add(count)
    del running
    (tmp_path / "one.ledger").unlink()
    for side in ("", "-wal", "-shm"):
        (tmp_path / f"one.ledger{side}").unlink(missing_ok=True)
        if (tmp_path / f"old{side}").exists():
            shutil.copy(tmp_path / f"old{side}", tmp_path / f"one.ledger{side}")
    again = hush.stream.opened(hush.Ledger(tmp_path / "one.ledger"), "visits")
    with pytest.raises(hush.LedgerError, match="old copy"):
        again.add(6)


def test_a_text_is_not_a_list_of_people(tmp_path) -> None:
    running = started(tmp_path)
    for wrong in ("ada", b"ada", 5):
        with pytest.raises(hush.InvalidParameter, match="list of persons"):
            running.add(people=wrong)
    assert running.periods == 0


def test_totals_without_a_horizon_are_totals_of_all_periods() -> None:
    assert hush.stream(horizon=None).window > 8000


# -- the secret file and the ledger --------------------------------------------------------------------------


def copied(folder, name, to):
    for side in ("", "-wal", "-shm"):
        (folder / f"{to}{side}").unlink(missing_ok=True)
        if (folder / f"{name}{side}").exists():
            shutil.copy(folder / f"{name}{side}", folder / f"{to}{side}")


def test_a_ledger_that_lacks_the_last_period_gets_it_back(tmp_path) -> None:
    """As after a crash: the numbers that were drawn are published again, never others."""
    running = started(tmp_path)
    running.add(5)
    copied(tmp_path, "one.ledger", "old")
    published = running.add(6, period="monday").noisy
    del running
    copied(tmp_path, "old", "one.ledger")
    again = hush.stream.opened(hush.Ledger(tmp_path / "one.ledger"), "visits")
    assert again.periods == 1
    with pytest.raises(hush.InvalidParameter, match="another input"):
        again.add(7, period=2)
    assert again.add(6, period="monday").noisy == published
    assert again.add(7).noisy[:2] == published and again.periods == 3


def test_a_drawn_period_is_never_replaced(tmp_path) -> None:
    secret = Secret.made(tmp_path / "a.secret")
    secret.freeze(1, Input(4))
    secret.freeze(1, Input(5))
    secret.seal(1, [7, 8])
    with pytest.raises(hush.LedgerError, match="another process drew period 1"):
        secret.seal(1, [9, 9])
    with pytest.raises(hush.LedgerError, match="at the same time"):
        secret.freeze(1, Input(6))
    assert [(one.count, one.measured) for one in secret.inputs()] == [(5, (7, 8))]


def test_a_secret_file_belongs_to_one_stream_of_one_ledger(tmp_path) -> None:
    path = tmp_path / "shared.secret"
    first = started(tmp_path, secret=path)
    with pytest.raises(hush.InvalidParameter, match="another stream"):
        started(tmp_path, name="other", secret=path)
    other = hush.Ledger(tmp_path / "two.ledger", epsilon=8.0, delta=0.0)
    with pytest.raises(hush.InvalidParameter, match="another stream"):
        hush.stream(horizon=12).plan(1.0, 0.0).start(ledger=other, name="visits", secret=path)
    assert first.add(3).period == 1 and not other.entries and len(hush.Ledger(tmp_path / "one.ledger").entries) == 1
    bound = Secret(path)
    with pytest.raises(hush.LedgerError, match="another ledger"):
        bound.bind("visits 00")


def test_a_start_without_a_name_says_what_to_write() -> None:
    plan = hush.stream(horizon=3).plan(1.0, 0.0)
    with pytest.raises(hush.IncompleteCall, match=r"plan\.start\(ledger=ledger, name='visits'\)"):
        plan.start(ledger=hush.Ledger(None, epsilon=1.0, delta=0.0))  # type: ignore[call-arg]


def test_a_refused_start_leaves_no_file(tmp_path) -> None:
    ledger = hush.Ledger(tmp_path / "small.ledger", epsilon=0.5, delta=0.0)
    with pytest.raises(hush.BudgetExceeded):
        hush.stream(horizon=12).plan(1.0, 0.0).start(ledger=ledger, name="visits")
    assert sorted(path.name for path in tmp_path.iterdir() if "secret" in path.name) == []
    assert hush.stream(horizon=12).plan(0.5, 0.0).start(ledger=ledger, name="visits").add(3).period == 1


def test_a_ledger_of_tables_needs_the_name_of_the_people(tmp_path) -> None:
    plan, ledger = hush.stream(horizon=12).plan(1.0, 0.0), hush.Ledger(None, epsilon=8.0, delta=0.0)
    ledger.bind("population hospital")
    with pytest.raises(hush.InvalidParameter, match="write population='hospital'"):
        plan.start(ledger=ledger, name="visits")
    with pytest.raises(hush.InvalidParameter, match="protects 'population hospital'"):
        plan.start(ledger=ledger, name="visits", population="school")
    with pytest.raises(hush.InvalidParameter, match="population must be a name"):
        plan.start(ledger=ledger, name="visits", population="")
    assert not ledger.entries
    plan.start(ledger=ledger, name="visits", population="hospital")
    tables = hush.Ledger(None, epsilon=8.0, delta=0.0)
    tables.bind("visits.csv, unit id")
    plan.start(ledger=tables, name="visits", population="visits.csv, unit id")
    free = hush.Ledger(None, epsilon=8.0, delta=0.0)
    plan.start(ledger=free, name="visits", population="school")
    assert free.source == "population school"


def test_two_unnamed_periods_are_never_one(tmp_path, monkeypatch) -> None:
    """Two processes that add the next period at once: one of them is told so, also if the counts are equal."""
    running = started(tmp_path)
    other = hush.stream.opened(hush.Ledger(tmp_path / "one.ledger"), "visits")
    number = type(running)._number

    def late(self, period):
        found = number(self, period)
        monkeypatch.setattr(type(running), "_number", number)
        other.add(5)
        return found

    monkeypatch.setattr(type(running), "_number", late)
    with pytest.raises(hush.LedgerError, match="added this period before"):
        running.add(5)
    assert running.periods == 1 and running.add(5).period == 2


def test_a_plan_is_the_same_if_the_same_was_asked(tmp_path) -> None:
    """The last digit of a float may differ on another machine."""
    running = started(tmp_path)
    plan = running.plan
    nearly = replace(plan, strategy=replace(plan.strategy, error=plan.mse * (1.0 + 1e-15)))
    assert nearly.to_plain() != plan.to_plain()
    assert nearly.start(ledger=hush.Ledger(tmp_path / "one.ledger"), name="visits").periods == 0
    with pytest.raises(hush.InvalidParameter, match="another plan"):
        hush.stream(horizon=12, corrections=True).plan(1.0, 0.0).start(
            ledger=hush.Ledger(tmp_path / "one.ledger"), name="visits"
        )


@pytest.mark.parametrize(
    ("call", "words"),
    [
        (lambda: hush.stream(horizon=12, appears=10**30), "appears must be at most 8192"),
        (lambda: hush.stream(horizon=None, apart=10**30), "apart must be at most 8192"),
    ],
)
def test_too_many_appearances(call, words) -> None:
    with pytest.raises(hush.InvalidParameter, match=words):
        call()


@pytest.mark.parametrize("first", [None, "tomorrow", 1.5])
def test_a_period_needs_a_beginning(tmp_path, first) -> None:
    (tmp_path / "a.csv").write_text("id,day\n1,2026-01-01\n")
    with pytest.raises(hush.InvalidParameter, match="begins with a date"):
        people_between(tmp_path / "a.csv", unit="id", column="day", first=first)


def test_until_needs_on(tmp_path, capsys) -> None:
    running = started(tmp_path)
    assert main(["stream", "add", str(tmp_path / "one.ledger"), "visits", "5", "--until", "2026-02-01"]) != 0
    assert "--until needs --on" in capsys.readouterr().err and running.periods == 0


def test_a_named_period_is_not_lost_to_a_faster_process(tmp_path, monkeypatch):
    """Both count 7: without its name the slower call would return as if its period were published."""
    from hush.stream.running import RunningStream, opened

    ledger = hush.Ledger(tmp_path / "s.ledger", epsilon=1.0, delta=1e-6)
    slow = hush.stream(horizon=10).plan(0.5, 0.0).start(ledger=ledger, name="v")
    fast, number = opened(hush.Ledger(tmp_path / "s.ledger"), "v"), RunningStream._number

    def overtaken(self, period):
        found = number(self, period)
        if self is slow:
            fast.add(7, period="d1")
        return found

    monkeypatch.setattr(RunningStream, "_number", overtaken)
    with pytest.raises(hush.LedgerError, match="another process added period 1"):
        slow.add(7, period="d2")


def test_a_copy_of_the_ledger_publishes_the_same_draw(tmp_path, monkeypatch):
    """The ledger and a copy share a secret file: the slower one may not publish a second draw of a period."""
    from hush.stream.running import opened

    ledger = hush.Ledger(tmp_path / "s.ledger", epsilon=1.0, delta=1e-6)
    where = {"secret": tmp_path / "k.secret"}
    hush.stream(horizon=10).plan(0.5, 0.0).start(ledger=ledger, name="v", **where).add(5)
    ledger.close()
    shutil.copy(tmp_path / "s.ledger", tmp_path / "copy.ledger")
    one, other = (opened(hush.Ledger(tmp_path / f"{name}.ledger"), "v", **where) for name in ("s", "copy"))
    freeze, done = Secret.freeze, []

    def slow(self, period, given):
        freeze(self, period, given)
        if not done:
            done.append(other)
            other.add(1000)

    monkeypatch.setattr(Secret, "freeze", slow)
    with pytest.raises(hush.LedgerError, match="look at the stream before"):
        one.add(1000)
    monkeypatch.undo()
    assert one.add(1000).noisy[:2] == other.answer().noisy
