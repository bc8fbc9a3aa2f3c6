"""The only module that imports scikit-learn: the names that hush.learn uses, cloning, and safe error texts."""

from __future__ import annotations

import contextlib
import copy
import numbers
import os
import sys
import threading
from collections.abc import Iterator
from decimal import Decimal
from typing import Any

import numpy as np
from numpy.typing import NDArray

from hush.errors import InvalidParameter, Unsupported, needs, within
from hush.learn.given_rows import UNREADABLE, must_be_rows, quiet, without_values
from hush.learn.kept_fit import keep_fit

with needs("scikit-learn 1.6 or newer", "hush.learn", extra="learn"):
    from sklearn.base import (
        BaseEstimator,
        ClassifierMixin,
        ClassNamePrefixFeaturesOutMixin,
        ClusterMixin,
        MetaEstimatorMixin,
        RegressorMixin,
        TransformerMixin,
        clone,
    )
    from sklearn.model_selection import ParameterGrid
    from sklearn.utils import get_tags
    from sklearn.utils.metaestimators import available_if
    from sklearn.utils.validation import check_array, check_is_fitted, validate_data
    from threadpoolctl import ThreadpoolController

__all__ = [
    "Absent",
    "BaseEstimator",
    "ClassNamePrefixFeaturesOutMixin",
    "ClassifierMixin",
    "ClusterMixin",
    "MetaEstimatorMixin",
    "ParameterGrid",
    "RegressorMixin",
    "TransformerMixin",
    "absent",
    "available_if",
    "check_is_fitted",
    "checked_rows",
    "clone",
    "fitting",
    "get_tags",
    "limit_of_weight",
    "one_thread",
    "python_numbers",
    "shares_of_weight",
    "sharing_clone",
]


@contextlib.contextmanager
def one_thread() -> Iterator[None]:
    """A context in which the BLAS library uses one thread: the matrix products of a fit are small, and threads that
    wait for each other took up to fifty times the time of the work on a busy machine.

    The number of threads belongs to the process. So the first fit that begins sets it, and the last one that ends
    restores it, in whatever order fits in several threads end.
    """
    _LIMIT.enter()
    try:
        yield
    finally:
        _LIMIT.leave()


class _Limit:
    """The limit of BLAS threads that all fits of the process share."""

    def __init__(self) -> None:
        self._lock, self._inside, self._before = threading.Lock(), 0, contextlib.ExitStack()
        self._found: tuple[int, Any] = (-1, None)

    def enter(self) -> None:
        """One fit more: the first one sets the limit."""
        with self._lock:
            if not self._inside:
                self._before.enter_context(self._libraries().limit(limits=1, user_api="blas"))
            self._inside += 1

    def leave(self) -> None:
        """One fit less: the last one restores what was before."""
        with self._lock:
            self._inside -= 1
            if not self._inside:
                self._before.close()

    def _libraries(self) -> Any:
        """The libraries that have threads. They are looked for again if a module was imported since, because it may
        have loaded one.
        """
        modules = len(sys.modules)
        if self._found[0] != modules:
            self._found = modules, ThreadpoolController()
        return self._found[1]

    def new_lock(self) -> None:
        """In a new process: the lock may have been held by a thread that is not there."""
        self._lock = threading.Lock()


_LIMIT = _Limit()
if hasattr(os, "register_at_fork"):
    os.register_at_fork(after_in_child=_LIMIT.new_lock)


class Absent(Unsupported, AttributeError):
    """A method of scikit-learn that hush does not have, for a reason. `hasattr` is False."""


def limit_of_weight(max_weight: Any) -> float:
    """The public limit of a row's weight, checked; None means 1."""
    return 1.0 if max_weight is None else within("max_weight", max_weight, 1e-9, 1e9, "write max_weight=1.0")


def shares_of_weight(given: Any, rows: Any, max_weight: Any, *, hidden: bool = False) -> NDArray[np.float64] | None:
    """The weights of rows as shares of their public limit, numbers in [0, 1]; None if none are given.

    `hidden` means that the number of rows is not public, so the error does not have it.
    """
    most = limit_of_weight(max_weight)
    if given is None:
        return None
    count = rows.shape[0]
    if isinstance(given, numbers.Real):
        given = np.full(count, float(given))
    checked = _weights(given)
    if checked is None:  # outside of the except block, so that the first error's text is not chained
        raise InvalidParameter("sample_weight must hold finite real numbers, and at least one value is not one.")
    if checked.shape != (count,):
        if hidden:
            raise InvalidParameter("sample_weight must have one number for each row of X.")
        raise InvalidParameter(
            f"sample_weight must have one number for each of the {count} rows, got the shape {checked.shape}."
        )
    return np.clip(checked, 0.0, most) / most


def _weights(given: Any) -> NDArray[np.float64] | None:
    """The weights as numbers, or None: the errors of numpy and scikit-learn quote values."""
    try:
        with quiet():
            made = check_array(given, dtype=np.float64, ensure_2d=False, allow_nd=True, ensure_min_samples=0)
    except (TypeError, ValueError):
        return None
    return np.asarray(made)


def python_numbers(given: dict[str, Any]) -> dict[str, Any]:
    """The parameters, with numbers of other types, such as numpy's, as Python's int or float."""
    return {name: _python_number(value) for name, value in given.items()}


def _python_number(value: Any) -> Any:
    value = value[()] if isinstance(value, np.ndarray) and value.ndim == 0 else value
    if isinstance(value, bool | np.bool_) or not isinstance(value, numbers.Real | Decimal):
        return value
    with contextlib.suppress(ValueError, OverflowError):  # a signalling NaN, or a fraction beyond all floats
        return int(value) if isinstance(value, numbers.Integral) else float(value)
    return value


def absent(words: str) -> property:
    """An attribute of scikit-learn's models that hush does not have, for the reason in `words`."""

    def reason(self: Any) -> Any:
        raise Absent(words)

    return property(reason, doc=words)


@contextlib.contextmanager
def fitting(model: Any) -> Iterator[None]:
    """Restore the estimator if its fit fails or is interrupted. Meanwhile its parameters are Python's numbers."""
    before, given = dict(model.__dict__), model.get_params(deep=False)
    try:
        model.__dict__.update(python_numbers(given))
        yield
        keep_fit(model)
    except BaseException:
        model.__dict__.clear()
        model.__dict__.update(before)
        raise
    model.__dict__.update(given)


def sharing_clone(model: Any) -> Any:
    """scikit-learn's clone, but with the same ledger and the same entropy object.

    A copied ledger would be a second budget, and a copied entropy source would give the same bits twice.
    """
    bare = copy.copy(model)
    bare.ledger = bare.entropy = None
    made = BaseEstimator.__sklearn_clone__(bare)
    made.ledger, made.entropy = model.ledger, model.entropy
    return made


def checked_rows(model: Any, X: Any, *y: Any, hidden: bool = False, **settings: Any) -> Any:
    """scikit-learn's `validate_data`, with errors that quote no value of the data.

    `hidden` means that the number of rows is not public, so no error has it.
    """
    must_be_rows(model, X, *y)
    fit = bool(settings.get("reset", True))
    tables = fit and bool(settings.get("accept_sparse"))  # `fit` of a linear model
    try:
        with quiet():
            return validate_data(model, X, *y, **settings)
    except (ValueError, TypeError) as failure:
        words = without_values(str(failure), X, *y, hidden=hidden, fit=fit, tables=tables)
        if words is None:
            raise
    except MemoryError:
        raise
    except Exception:  # raised by an object in X or y: its text may contain anything
        words = UNREADABLE
    raise InvalidParameter(words)  # outside of the except block, so that the first error's text is not chained
