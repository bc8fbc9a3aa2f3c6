"""A fit on arrays and sparse matrices in memory: plan, pay, choose, train.

If neighbours have one row more or less, the number of rows is released or declared first (`counting`). After that only
the released number is used, apart from the exact sums over all rows.
"""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import replace
from typing import TYPE_CHECKING, Any

import numpy as np
from numpy.typing import NDArray

from hush.errors import InvalidParameter, Unsupported
from hush.learn.block_rows import MemoryRows, must_be_streamed, must_hold_zero
from hush.learn.counting import Counting, declared_rows
from hush.learn.fit_words import about_arrays
from hush.learn.kept_fit import attempted, keep_refusal, question_of, remember
from hush.learn.label_search import must_have_rows
from hush.learn.ledger_noise import covered_plan, for_ledger, rest_of_fit
from hush.learn.paid import Paid
from hush.learn.progress import known_passes, level, reporter
from hush.learn.training import Plan, Request, must_be_payable, pay, plan, trained
from hush.learn.warm_start import continued, last_fit
from hush.ledger.access import Access
from hush.ledger.payment import must_be_secure
from hush.ledger.refusal import must_be_ledger

if TYPE_CHECKING:
    from hush.learn.model import LinearModel

__all__ = ["fit_arrays"]

Array = NDArray[np.float64]


def fit_arrays(
    model: LinearModel,
    rows: Any,
    target: Array | Callable[[Plan, Paid], Array],
    weights: Array | None = None,
    n_rows: int | None = None,
    classes: Any = None,
) -> None:
    """Plan, pay, train, and set the fitted attributes.

    If the target is a function, it is called after the payment. `classes` are those of a classifier, if they are known.
    """
    ledger, entropy = model.ledger, model.entropy
    must_be_ledger(ledger)
    must_be_secure(entropy)
    level("verbose", model.verbose)
    counting = Counting(model._relation, lambda: rows.shape[0], declared_rows(n_rows))
    request = _request(model, rows, weights, counting.guess)
    _must_suit(plan(request, counting.guess), model, rows, weights)
    must_be_payable(request, ledger)
    before, started_from = last_fit(model, ledger, request, classes) or (None, [])
    rest = rest_of_fit(lambda count: _request(model, rows, weights, count))
    access = Access(ledger, label=f"fit of {type(model).__name__}")
    question = question_of(model, rows.shape[1], n_rows, weights is None, started_from)
    counted = counting.counted(request.epsilon, access, question, entropy, delta=request.delta, rest=rest)
    with counted.explained():
        made = plan(_request(model, rows, weights, counted.rows), counted.rows, counted.made)
        made = covered_plan(made, access, question)
        _must_suit(made, model, rows, weights)
        must_have_rows(made.labels, counted.rows)
    with reporter(model.verbose, known_passes(made), type(model).__name__) as after_pass:
        with counted.explained():
            payment = pay(made, access, question, about=about_arrays(model, rows.shape[1]))
        paid = Paid(payment, entropy)
        source = MemoryRows(rows, _values(target, made, paid), weights, public_rows=counted.rows)
        fit = attempted(payment, lambda: trained(made, source, paid, before=before, after_pass=after_pass))
    remember(model, payment)
    model._write(fit, None if payment is None else payment.entry, [*started_from, *counted.entries], ledger)


def _values(target: Array | Callable[[Plan, Paid], Array], made: Plan, paid: Paid) -> Array:
    """The targets. A search for labels that finds too few or too many says which it found: that is its answer."""
    if not callable(target):
        return target
    try:
        return target(made, paid)
    except InvalidParameter as failure:
        keep_refusal(paid.payment, str(failure))
        raise


def _plain(model: LinearModel, rows: Any, weights: Array | None) -> bool:
    """Are choices before the fit possible?"""
    return weights is None and isinstance(rows, np.ndarray) and not model.warm_start


def _request(model: LinearModel, rows: Any, weights: Array | None, count: int) -> Request:
    """The request of a fit on so many rows."""
    request = for_ledger(continued(model, model._request_for(count)), model.ledger)
    if weights is not None:
        request = replace(request, max_weight=model.checked_max_weight, weighted=True)
    if not _plain(model, rows, weights) and isinstance(request.keep, str) and request.keep == "auto":
        request = replace(request, keep="all")
    return request


def _must_suit(made: Plan, model: LinearModel, rows: Any, weights: Array | None) -> None:
    """Refuse a plan that these rows or a warm start cannot have."""
    if not isinstance(rows, np.ndarray):
        must_hold_zero(made.request.span)
        must_be_streamed(made, "a sparse matrix")
    if made.first.choices and not _plain(model, rows, weights):
        raise Unsupported(
            "private bounds and a choice of columns are for dense arrays without weights and without a warm start; "
            "declare bounds, and write n_features_to_keep='all'."
        )
    if model.warm_start and made.request.solver == "statistics":
        raise Unsupported(
            "solver='statistics' is not iterative and cannot use warm_start=True; "
            "write warm_start=False, or solver='whitened'."
        )
