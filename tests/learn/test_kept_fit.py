"""A charge buys one fit: one that was stopped runs again for nothing, and what a fit tells is kept with its entry."""

from __future__ import annotations

import numpy as np
import pyarrow as pa
import pytest

import hush
from hush import learn, tables
from hush.ledger.kept import KeptAnswer
from hush.ledger.payment import Draws, Payment

X = np.random.default_rng(3).uniform(-1.0, 1.0, (400, 2))
Y = (X[:, 0] > 0.0).astype(int)
MANY = np.random.default_rng(4).uniform(-1.0, 1.0, (3000, 2))
LABELS = np.where(MANY[:, 0] > 0.0, "yes", "no")
COUNTS = hush.calibrate(1.0, 1e-6, hush.Sensitivity(linf=1.0, l0=1), family="gaussian")
BUDGET = {"epsilon": 1.0, "delta": 1e-6, "bounds": (-1.0, 1.0)}


def of_table(ledger):
    people = tables.table(pa.table({"id": range(400), "a": X[:, 0], "b": X[:, 1]}), unit="id")
    model = learn.Ridge(epsilon=1.0, delta=1e-6, bounds={"a": (-1, 1)}, target_bounds=(-1, 1), ledger=ledger)
    return model.fit(people, "b", rows_per_unit=1)


def of_search(ledger):
    one = learn.Ridge(**BUDGET, target_bounds=(-1, 1), family="gaussian")
    return learn.PrivateSearchCV(one, {"alpha": [0.1, 1.0]}, epsilon=1.0, delta=1e-6, ledger=ledger).fit(X, X[:, 1])


def of_hidden_search(ledger):
    one = learn.Ridge(**BUDGET, target_bounds=(-1, 1), family="gaussian", neighbours="add-remove")
    return learn.PrivateSearchCV(one, {"alpha": [0.1, 1.0]}, epsilon=1.0, delta=1e-6, ledger=ledger).fit(X, X[:, 1])


def ridge(**more):
    return learn.Ridge(**BUDGET, target_bounds=(-1, 1), family="gaussian", **more)


#: Each call that spends, with the number of entries of its charge.
CALLS = {
    "ridge": (lambda book: ridge(ledger=book).fit(X, X[:, 1]), 1),
    "one row more or less": (lambda book: ridge(ledger=book, neighbours="add-remove").fit(X, X[:, 1]), 2),
    "labels": (lambda book: learn.LogisticRegression(**BUDGET, classes="private", ledger=book).fit(MANY, LABELS), 1),
    "table": (of_table, 2),
    "naive bayes": (lambda book: learn.GaussianNB(**BUDGET, ledger=book).fit(X, Y), 1),
    "pca": (lambda book: learn.PCA(**BUDGET, n_components=1, ledger=book).fit(X), 1),
    "k-means": (lambda book: learn.KMeans(**BUDGET, n_clusters=2, ledger=book).fit(X), 1),
    "search": (of_search, 1),
    "hidden search": (of_hidden_search, 2),
    "release": (lambda book: hush.release([3, 4], COUNTS, ledger=book), 1),
}


def stopped_at(monkeypatch, number):
    """Ctrl-C at a draw of noise."""
    usual, seen = Draws.add, []

    def add(draws, steps):
        seen.append(1)
        if len(seen) == number:
            raise KeyboardInterrupt
        return usual(draws, steps)

    monkeypatch.setattr(Draws, "add", add)
    return seen


@pytest.mark.parametrize("at", [1, 2])
@pytest.mark.parametrize("name", CALLS)
def test_a_call_that_was_stopped_runs_again_for_its_one_charge(name, at, monkeypatch):
    """The budget is for one call alone, so a second charge would be refused. A third call is refused."""
    call, entries = CALLS[name]
    with hush.Ledger(None, epsilon=1.0, delta=1e-6) as book:
        with monkeypatch.context() as patch:
            draws = stopped_at(patch, at)
            try:
                call(book)
            except KeyboardInterrupt:
                assert len(draws) == at and 1 <= len(book.entries) <= entries
            else:
                assert len(draws) < at and len(book.entries) == entries
                return
        made = call(book)
        assert len(book.entries) == entries
        receipt = getattr(made, "receipt_", None) or made.receipt
        assert receipt["ledger"]["number"] == entries
        with pytest.raises(hush.BudgetExceeded):
            call(book)


@pytest.mark.parametrize("name", CALLS)
def test_what_is_told_is_kept_before_it_is_shown(name, monkeypatch):
    """Every fitted number, and the receipt; if it cannot be kept, nothing is shown and the call can be made again."""
    call, entries = CALLS[name]
    kept, usual = [], Payment.keep

    def keep(payment, content):
        if not payment.entry.step:
            kept.append(KeptAnswer.from_bytes(content))
            if len(kept) == 1:
                raise hush.LedgerError("the disk is full")
        return usual(payment, content)

    monkeypatch.setattr(Payment, "keep", keep)
    with hush.Ledger(None, epsilon=1.0, delta=1e-6) as book:
        with pytest.raises(hush.LedgerError):
            call(book)
        made = call(book)
        assert len(book.entries) == entries and len(kept) == 2
    told = kept[1]
    if name == "release":
        assert hush.Release.from_json(told.parts["release"].decode()).value.tolist() == made.value.tolist()
        return
    assert dict(told.receipt) == dict(made.receipt_) and told.kind in repr(told)
    known = getattr(made, "best_estimator_", made)
    for attribute in ("coef_", "intercept_", "theta_", "var_", "components_", "cluster_centers_", "classes_"):
        if hasattr(known, attribute):
            np.testing.assert_array_equal(told.numbers[attribute], getattr(known, attribute))
    assert not any(held.endswith("_paid_with") for held in vars(made))


def test_a_finished_fit_is_charged_again():
    with hush.Ledger(None, epsilon=3.0, delta=1e-5) as book:
        assert [ridge(ledger=book).fit(X, X[:, 1]).receipt_["ledger"]["number"] for _ in range(2)] == [1, 2]


def test_another_question_is_charged_again(monkeypatch):
    """Other parameters, and a fit that printed released numbers before it was stopped."""
    with hush.Ledger(None, epsilon=5.0, delta=1e-4) as book:
        for verbose in (0, 2):
            with monkeypatch.context() as patch:
                stopped_at(patch, 1)
                with pytest.raises(KeyboardInterrupt):
                    ridge(ledger=book, verbose=verbose).fit(X, X[:, 1])
        ridge(ledger=book, alpha=0.5).fit(X, X[:, 1])
        ridge(ledger=book, verbose=2).fit(X, X[:, 1])
        assert len(book.entries) == 4
        ridge(ledger=book).fit(X, X[:, 1])
        assert len(book.entries) == 4


def test_labels_that_an_error_tells_are_the_answer():
    """A private search for labels that finds one says which: the charge is used."""
    with hush.Ledger(None, epsilon=3.0, delta=1e-5) as book:
        model = learn.LogisticRegression(**BUDGET, classes="private", ledger=book)
        for number in (1, 2):
            with pytest.raises(ValueError, match="found one label"):
                model.fit(MANY, np.full(3000, "yes"))
            assert len(book.entries) == number


def test_a_failure_after_the_charge_tells_nothing(monkeypatch):
    """One constant sentence, whatever the reason; then the same call gets its answer."""

    def broken(*_):
        raise ValueError("Ada Lovelace")

    with hush.Ledger(None, epsilon=1.0, delta=1e-6) as book:
        with monkeypatch.context() as patch:
            patch.setattr(Draws, "add", broken)
            with pytest.raises(hush.errors.QueryFailed, match="entry 1 of a ledger in memory stays charged") as caught:
                ridge(ledger=book).fit(X, X[:, 1])
        assert caught.value.__cause__ is caught.value.__context__ is None
        ridge(ledger=book).fit(X, X[:, 1])
        assert len(book.entries) == 1


def test_a_fit_that_another_process_made_counts(monkeypatch):
    monkeypatch.setattr(Payment, "keep", lambda payment, content: b"another")
    with hush.Ledger(None, epsilon=1.0, delta=1e-6) as book:
        model = ridge(ledger=book)
        with pytest.raises(hush.NotPaid, match=r"ledger\.answer\(1\)"):
            model.fit(X, X[:, 1])
        assert not hasattr(model, "coef_")
