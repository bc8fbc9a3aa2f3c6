"""BLAS has one thread during fits, and as many as before after the last one, whatever order they end in."""

from __future__ import annotations

import threading
from contextlib import ExitStack

import numpy as np
import pytest
from threadpoolctl import ThreadpoolController

from hush.learn import PCA, GaussianNB, KMeans, LogisticRegression, Ridge, scikit_learn, sum_model, training
from hush.learn.scikit_learn import one_thread


def threads() -> list[int]:
    """The number of threads of every BLAS in the process."""
    return [one["num_threads"] for one in ThreadpoolController().select(user_api="blas").info()]


@pytest.fixture(autouse=True)
def two_threads():
    with ThreadpoolController().limit(limits=2, user_api="blas"):
        if set(threads()) != {2}:
            pytest.skip("this BLAS has no second thread")
        yield


@pytest.mark.parametrize("order", [(0, 1), (1, 0)])
def test_the_last_fit_restores_what_was_before(order):
    fits = [ExitStack(), ExitStack()]
    for fit in fits:
        fit.enter_context(one_thread())
        assert set(threads()) == {1}
    fits[order[0]].close()
    assert set(threads()) == {1}, "the other fit still runs"
    fits[order[1]].close()
    assert set(threads()) == {2}


def test_fits_in_many_threads_restore_the_number_of_threads():
    begin = threading.Barrier(6)

    def fit():
        begin.wait()
        for _ in range(20):
            with one_thread():
                pass

    running = [threading.Thread(target=fit) for _ in range(6)]
    for one in running:
        one.start()
    for one in running:
        one.join()
    assert set(threads()) == {2}


def test_a_library_that_is_loaded_later_is_limited_too(monkeypatch):
    """Libraries are looked for again after an import, and only then: a search takes a millisecond."""
    looked = []
    monkeypatch.setattr(scikit_learn, "ThreadpoolController", lambda: looked.append(1) or ThreadpoolController())
    monkeypatch.setattr(scikit_learn, "_LIMIT", scikit_learn._Limit())
    for _ in range(3):
        with one_thread():
            pass
    assert len(looked) == 1
    monkeypatch.setitem(scikit_learn.sys.modules, "a_module_that_was_just_imported", scikit_learn)
    with one_thread():
        pass
    assert len(looked) == 2


@pytest.mark.parametrize("model", [LogisticRegression, Ridge, GaussianNB, PCA, KMeans])
def test_every_fit_uses_one_thread_and_a_failed_one_restores(model, monkeypatch):
    seen = []

    def watched(*_, **__):
        seen.extend(threads())
        raise KeyboardInterrupt

    monkeypatch.setattr(training, "solve", watched)
    monkeypatch.setattr(sum_model, "allot", watched)
    target = {"target_bounds": (0, 1)} if model is Ridge else {}
    X, y = np.random.default_rng(1).uniform(-1, 1, (50, 2)), np.arange(50) % 2
    with pytest.raises(KeyboardInterrupt):
        model(epsilon=1.0, delta=1e-6, bounds=(-1, 1), **target).fit(X, y)
    assert set(seen) == {1} and set(threads()) == {2}
