"""An answer that a command keeps waits until it is shown; until then the same question gets it again for nothing."""

from __future__ import annotations

import contextlib

import pytest

import hush
from hush.ledger.series import showing

PLAN = hush.calibrate(1.0, 0.0, family="laplace")


def ask(path, *, fails=False):
    """One question in a block that shows its answer, or fails to."""
    with contextlib.suppress(OSError), hush.Ledger(path) as book, showing():
        made = hush.release(100, PLAN, ledger=book)
        if fails:
            raise OSError
    return made.value


@pytest.fixture
def path(tmp_path):
    with hush.Ledger(tmp_path / "a.ledger", epsilon=100.0, delta=0.0) as book:
        return book.path


def test_an_answer_that_was_not_shown_is_given_again(path):
    """Twenty draws of this noise are equal with a probability below 1e-6."""
    first = [ask(path, fails=True) for _ in range(20)]
    with hush.Ledger(path) as book:
        assert len(book.entries) == 1
    assert len(set(first)) == 1
    assert ask(path) == first[0]
    later = [ask(path) for _ in range(20)]
    with hush.Ledger(path) as book:
        assert len(book.entries) == 21 and len(set(later)) > 1
        book.verify()


def test_outside_of_a_command_an_answer_is_shown_when_it_is_returned(path):
    with hush.Ledger(path) as book:
        for _ in range(2):
            hush.release(100, PLAN, ledger=book)
        assert len(book.entries) == 2


def test_marks_cannot_be_changed(path):
    import sqlite3

    ask(path, fails=True)
    with contextlib.closing(sqlite3.connect(path)) as connection:
        for change in ("UPDATE outputs SET state = 'shown'", "DELETE FROM outputs"):
            with pytest.raises(sqlite3.IntegrityError, match="append-only"):
                connection.execute(change)


def test_an_answer_that_is_too_large_to_keep_is_given_and_its_entry_is_answered(path, monkeypatch):
    monkeypatch.setattr("hush.ledger.series._LARGEST", 10)
    for number in (1, 2, 3):
        assert isinstance(ask(path, fails=number == 1), float)  # a failure to show it gives no second answer
        with hush.Ledger(path) as book:
            assert len(book.entries) == number and book.unanswered == ()
            assert "it was given once" in str(book.answer(number))
            book.verify()


def test_another_call_does_not_draw_an_answer_again_that_was_too_large_to_keep(path, monkeypatch):
    monkeypatch.setattr("hush.ledger.series._LARGEST", 10)
    with hush.Ledger(path) as book:
        payment = book.spend(hush.Charge(hush.Laplace(20.0), hush.Sensitivity.of(1.0)))
        assert payment.keep(b"x" * 11) == b"x" * 11
        again = type(payment)(payment.charges, payment.entry, payment.receipt["ledger"], keeper=book.keep_answer)
        with pytest.raises(hush.NotPaid, match="given once"):
            again.keep(b"y" * 11)
        assert len(book.entries) == 1 and book.unanswered == ()
