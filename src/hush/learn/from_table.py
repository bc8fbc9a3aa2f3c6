"""A fit on a table of `hush.tables`: the rows are read in blocks, and the neighbours are people.

A table is any object with the method `row_blocks`, so this module does not import `hush.tables`. The number of rows is
not public, because one person more or less changes it. So it is released with noise first, unless it is declared. Then
the plan, the penalty and all means use that number. All sums are exact sums over the rows that the table keeps, and a
person adds at most `rows_per_unit` rows to them. No check here reads a value of a row: rows that cannot be used are
left out by the table, row by row.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import replace
from typing import TYPE_CHECKING, Any

import numpy as np

from hush.errors import BudgetExceeded, InvalidParameter, Unsupported, whole
from hush.learn.block_rows import TableRows, must_be_streamed
from hush.learn.first_steps import take
from hush.learn.paid import Paid
from hush.learn.progress import known_passes, reporter
from hush.learn.relation import Relation
from hush.learn.row_count import LEAST_ROWS, RowCount
from hush.learn.training import Plan, Request, must_be_payable, pay, plan, train
from hush.ledger.payment import Payment, must_be_secure
from hush.ledger.refusal import must_be_ledger
from hush.privacy.charge import Budget

if TYPE_CHECKING:
    from hush.learn.model import LinearModel

__all__ = ["fit_table", "is_table"]

_GUESS = 1_000_000  # rows: the options are checked with this number before the number of rows is released


def is_table(thing: Any) -> bool:
    """Is it a table that `hush.tables.table` has opened?"""
    return callable(getattr(thing, "row_blocks", None))


def fit_table(
    model: LinearModel,
    table: Any,
    target: Any,
    weight: Any,
    features: Sequence[str] | None,
    rows_per_unit: int | None,
    n_rows: int | None,
) -> Any:
    """Fit a model on the rows of a table; see `LinearModel.fit`."""
    ledger = model.ledger
    must_be_ledger(ledger)
    must_be_secure(model.entropy)
    names = _names(model, features)
    if model.warm_start:
        raise Unsupported("warm_start=True is for arrays, and X is a table; write warm_start=False.")
    if not isinstance(target, str):
        raise InvalidParameter("y must name the column of the target if X is a table; write fit(table, 'smoker').")
    classes = model._classes_of_table()
    rows = table.row_blocks(names, target, classes=classes, weight=weight, rows_per_unit=rows_per_unit)
    model.n_features_in_, model.feature_names_in_ = len(names), np.array(names, dtype=object)
    given = None if n_rows is None else whole("n_rows", n_rows, LEAST_ROWS, "write n_rows=100_000")
    largest = model.checked_max_weight if weight is not None else 1.0
    request = _request(model, rows, largest, given or _GUESS)
    must_be_streamed(plan(request, given or _GUESS), "a table")  # raises if an option is wrong
    must_be_payable(request, ledger)
    rows.must_be_allowed(request.epsilon, request.delta, ledger)
    _must_agree(rows, request, names, target, classes)
    where = {"source": rows.fingerprint, "block": rows.ledger_block(ledger)}
    made, started_from = _planned(model, rows, request, given, where)
    source = TableRows(rows, made.rows, len(names), None if weight is None else largest)
    with reporter(model.verbose, known_passes(made), type(model).__name__) as after_pass:
        payment = _paid(made, ledger, f"fit of {type(model).__name__}", started_from, where)
        taken = take(made, source, Paid(payment, model.entropy))
        options: dict[str, Any] = {"after_pass": after_pass, "payment": payment, "entropy": model.entropy}
        fit = taken.whole(train(taken.plan, taken.source, **options), made)
    model._write(fit, None if payment is None else payment.entry, started_from, ledger)
    model._write_classes(classes)
    return model


def _must_agree(rows: Any, request: Request, names: list[str], target: str, classes: Any) -> None:
    """Refuse bounds and classes that differ from what the policy of the table declares."""
    ends = np.stack([request.span.low, request.span.high], axis=1).tolist()
    declared = dict(zip(names, ends, strict=True))
    if request.target_span is not None:
        declared[target] = [float(request.target_span.low[0]), float(request.target_span.high[0])]
    rows.must_lie_within(declared)
    if classes is not None:
        rows.must_be_listed(target, classes)


def _names(model: LinearModel, features: Sequence[str] | None) -> list[str]:
    """The names of the features: as given, or the names in `bounds`."""
    if features is None and isinstance(model.bounds, dict):
        return list(model.bounds)
    if features is None or isinstance(features, str) or not len(features):
        raise InvalidParameter(
            "a fit on a table needs the names of its features; write bounds={'age': (18, 100), ...}, or "
            "features=['age', ...]."
        )
    return list(features)


def _request(model: LinearModel, rows: Any, largest: float, count: int) -> Request:
    """The request of a fit on so many rows, with weights of at most `largest`."""
    relation = Relation("add-remove", rows.rows_per_unit)
    return replace(model._request_for(count), relation=relation, max_weight=largest)


def _planned(
    model: LinearModel, rows: Any, request: Request, given: int | None, where: dict[str, str]
) -> tuple[Plan, list[int]]:
    """The plan with the number of rows, which is released if it is not given; and the ledger entry of that release."""
    if given is not None:
        return plan(request, given), []
    if not request.private:
        count, counted, entry = max(rows.count(), LEAST_ROWS), None, None
    else:
        counted = RowCount.planned(request.epsilon, request.relation)
        _must_cover(model.ledger, request, counted, where["block"])
        label = f"number of rows for a fit of {type(model).__name__}"
        count, entry = counted.release(rows.count(), model.ledger, model.entropy, label=label, **where)
    return plan(_request(model, rows, request.max_weight, count), count, counted), [] if entry is None else [
        entry.number
    ]


def _must_cover(ledger: Any, request: Request, counted: RowCount, block: str) -> None:
    """Refuse, before the number of rows is paid for, what the ledger would refuse afterwards.

    The noise of the fit depends on the released number, so it is not fixed in advance.
    """
    if ledger is None:
        return
    if ledger.cap.delta > 0.0 and (ledger.mode == "nonadaptive" or ledger.cap.releases is not None):
        raise Unsupported(
            "the noise of this fit depends on the number of rows, which is released first, and a ledger whose noise "
            "is fixed in advance does not allow that; give n_rows=, or use an adaptive ledger."
        )
    made = plan(request, _GUESS, counted)
    first = ([counted.mechanism.charge], Budget(counted.epsilon, 0.0))
    ledger.must_cover([first, (list(made.charges), made.budget)], block=block)


def _paid(made: Plan, ledger: Any, label: str, started_from: list[int], where: dict[str, str]) -> Payment | None:
    """Pay for the fit. A refusal says so if the number of rows was already paid for."""
    try:
        return pay(made, ledger, label, **where)
    except BudgetExceeded as failure:
        if not started_from:
            raise
        words = str(failure).removesuffix("; nothing was spent.").rstrip(".")
    raise BudgetExceeded(
        f"{words}; the number of rows was released and paid for (entry {started_from[0]}), and the fit was not; give "
        f"n_rows={made.rows} to use that number again."
    )
