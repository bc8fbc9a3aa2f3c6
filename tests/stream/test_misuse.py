"""Streams under misuse: files with other types, ledgers from a backup, secrets of other streams, texts as lists."""

from __future__ import annotations

import shutil

import pytest

import hush
from hush.stream.people import people_between


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
    with pytest.raises(hush.InvalidParameter, match="must hold dates"):
        people_between(tmp_path / "d.csv", unit="id", column="day", first="2026-01-01")


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
