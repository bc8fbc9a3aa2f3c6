"""Everything that a fit shows, with all released numbers replaced by the same ones: two neighbouring tables must show
the same.
"""

from __future__ import annotations

import contextlib
import io
import json
import logging
import math
import pickle
import re
import traceback
import warnings
from unittest.mock import patch

import numpy as np

import hush
from hush import Ledger
from hush.learn import label_search
from hush.ledger.payment import Draws
from hush.sampling.entropy import DeterministicTestEntropy
from hush.sampling.mechanism import Mechanism

__all__ = ["Fixed", "assert_alike", "frozen"]

MANY = 40  # a count that is shown: a single row is far below
PROBE = np.random.default_rng(5).uniform(-1.2, 1.2, (20, 3))


class Released:
    """In place of all noise: the numbers that are released are a function of their number and of the call's number
    alone.

    Counts of labels are shown or not, so there the function is of what is shown.
    """

    def __init__(self) -> None:
        self.calls: list[tuple[str, tuple[int, ...], float]] = []

    def answer(self, mechanism: Mechanism, shape: tuple[int, ...]) -> np.ndarray:
        self.calls.append((repr(mechanism.noise), shape, mechanism.step))
        reach = math.sqrt(mechanism.noise.variance) / mechanism.step
        drawn = np.random.default_rng(len(self.calls)).normal(size=shape)
        return np.rint(reach * drawn).astype(np.int64)

    @contextlib.contextmanager
    def instead(self):
        def add(draws, steps):
            return self.answer(draws.mechanism, steps.shape)

        def found(labels, plan, paid):
            mechanism = plan.mechanism

            def shown(draws, steps):
                assert draws.mechanism is mechanism
                return np.where(steps >= MANY, 10**6, 0)

            with patch.object(Draws, "add", shown):
                return real(labels, plan, paid)

        real = label_search.found
        few = patch("hush.learn.from_arrays.must_have_rows")  # few rows are enough for labels that are counted so
        with patch.object(Draws, "add", add), patch.object(label_search, "found", found), few:
            yield


class Fixed:
    """The same bits at every fit, for what a search draws beside its noise."""

    secure = True

    def begin(self):
        return DeterministicTestEntropy(3).begin()

    def __repr__(self) -> str:
        return "Fixed()"


class Records(logging.Handler):
    def __init__(self) -> None:
        super().__init__(0)
        self.kept: list[str] = []

    def emit(self, record: logging.LogRecord) -> None:
        self.kept.append(record.getMessage())


def frozen(value) -> object:
    """A value with its types, as bytes; times of day are left out."""
    if isinstance(value, dict):
        kept = {key: frozen(inner) for key, inner in value.items() if key != "time"}
        return type(value).__name__, list(kept.items())
    if isinstance(value, np.ndarray) and value.dtype != object:
        return str(value.dtype), value.shape, value.tobytes()
    if isinstance(value, np.ndarray | list | tuple):
        return type(value).__name__, getattr(value, "dtype", None), [frozen(inner) for inner in value]
    if hasattr(value, "receipt_"):
        return everything(value)
    if isinstance(value, Ledger):
        return [(entry.number, entry.label, repr(entry.charges), entry.epsilon, entry.delta) for entry in value.entries]
    return (
        type(value).__qualname__,
        repr(value),
        pickle.dumps(value) if isinstance(value, int | float | str | bytes) else b"",
    )


def everything(model) -> dict[str, object]:
    """All that a fitted estimator shows."""
    seen = {name: frozen(value) for name, value in vars(model).items()}
    seen |= {"predict": frozen(model.predict(PROBE)), "repr": repr(model), "names": list(vars(model))}
    if hasattr(model, "predict_proba"):
        seen |= {"classes": frozen(model.classes_), "proba": frozen(model.predict_proba(PROBE))}
    seen["receipt"] = _timeless(json.dumps(model.receipt_))
    if hasattr(model.receipt_, "report"):
        seen["report"] = _timeless(hush.report.statement(model.receipt_).markdown)
    return seen


def _timeless(text: str) -> str:
    return re.sub(r"\d{4}-\d\d-\d\d[T ][\d:.]+", "some time", text)


def shown(made, rows, target) -> dict[str, object]:
    """Everything that a user, and everybody who reads the screen, sees of one fit."""
    released, records, screen = Released(), Records(), io.StringIO()
    logging.getLogger().addHandler(records)
    try:
        with warnings.catch_warnings(record=True) as warned, contextlib.redirect_stderr(screen), released.instead():
            warnings.simplefilter("always")
            try:
                seen = everything(made().fit(rows, target))
            except Exception as failure:
                lines = "".join(traceback.format_exception(failure)).splitlines()
                chain = failure.__cause__, failure.__context__
                seen = {"error": (type(failure), str(failure), [str(one) for one in chain], lines)}
    finally:
        logging.getLogger().removeHandler(records)
    told = [(one.category, str(one.message)) for one in warned]
    return seen | {"calls": released.calls, "warnings": told, "records": records.kept, "screen": screen.getvalue()}


def assert_alike(made, one, other) -> dict[str, object]:
    """Both fits show the same; the first is made twice, so that what is only kept between fits does not count."""
    shown(made, *one)
    left, right = shown(made, *one), shown(made, *other)
    assert list(left) == list(right)
    for name in left:
        assert left[name] == right[name], name
    return left
