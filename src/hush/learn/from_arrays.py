"""A fit on arrays and sparse matrices in memory: plan, pay, choose, train."""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import replace
from typing import TYPE_CHECKING, Any

import numpy as np
from numpy.typing import NDArray

from hush.errors import Unsupported
from hush.learn.block_rows import MemoryRows, must_be_streamed, must_hold_zero
from hush.learn.first_steps import take
from hush.learn.paid import Paid
from hush.learn.progress import known_passes, reporter
from hush.learn.training import Plan, Request, pay, plan, train
from hush.learn.warm_start import last_fit
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
    request: Request,
    weights: Array | None = None,
) -> None:
    """Plan, pay, train, and set the fitted attributes.

    If the target is a function, it is called after the payment.
    """
    ledger, entropy = model.ledger, model.entropy
    must_be_ledger(ledger)
    must_be_secure(entropy)
    if weights is not None:
        request = replace(request, max_weight=model.checked_max_weight)
    plain = weights is None and isinstance(rows, np.ndarray) and not model.warm_start
    if not plain and isinstance(request.keep, str) and request.keep == "auto":
        request = replace(request, keep="all")
    made = plan(request, rows.shape[0])
    if not isinstance(rows, np.ndarray):
        must_hold_zero(request.span)
        must_be_streamed(made, "a sparse matrix")
    if made.first.choices and not plain:
        raise Unsupported(
            "private bounds and a choice of columns are for dense arrays without weights and without a warm start; "
            "declare bounds, and write n_features_to_keep='all'."
        )
    if model.warm_start and made.setting.solver == "statistics":
        raise Unsupported(
            "solver='statistics' is not iterative and cannot use warm_start=True; "
            "write warm_start=False, or solver='cd'."
        )
    before, started_from = last_fit(model, ledger) or (None, [])
    with reporter(model.verbose, known_passes(made), type(model).__name__) as after_pass:
        payment = pay(made, ledger, f"fit of {type(model).__name__}")
        paid = Paid(payment, entropy)
        values = target(made, paid) if callable(target) else target
        taken = take(made, MemoryRows(rows, values, weights), paid)
        options: dict[str, Any] = {"before": before, "after_pass": after_pass}
        fit = taken.whole(train(taken.plan, taken.source, payment=payment, entropy=entropy, **options), made)
    model._write(fit, None if payment is None else payment.entry, started_from, ledger)
