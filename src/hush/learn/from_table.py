"""A fit on a table of `hush.tables`: the rows are read in blocks, and the neighbours are people.

A table is any object with the method `row_blocks`, so this module does not import `hush.tables`. The number of rows is
not public, because one person more or less changes it: it is released first, or declared (`counting`). All sums are
exact sums over the rows that the table keeps, and a person adds at most `rows_per_unit` rows to them. No check here
reads a value of a row: rows that cannot be used are left out by the table, row by row.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import replace
from typing import TYPE_CHECKING, Any

import numpy as np

from hush.errors import InvalidParameter, Unsupported, shown
from hush.learn.block_rows import TableRows, must_be_streamed
from hush.learn.counting import Counting, declared_rows
from hush.learn.fit_words import about_table
from hush.learn.kept_fit import attempted, question_of, remember
from hush.learn.ledger_noise import covered_plan, for_ledger, rest_of_fit
from hush.learn.paid import Paid
from hush.learn.progress import known_passes, level, reporter
from hush.learn.relation import Relation
from hush.learn.training import Request, must_be_payable, pay, plan, trained
from hush.ledger.payment import must_be_secure
from hush.ledger.refusal import must_be_ledger
from hush.privacy.budget import Budget

if TYPE_CHECKING:
    from hush.learn.model import LinearModel

__all__ = ["fit_table"]


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
    names = _names(model, features, table)
    _must_suit(model, target)
    classes = model._classes_of_table()
    rows = table.row_blocks(names, target, classes=classes, weight=weight, rows_per_unit=rows_per_unit)
    model.n_features_in_, model.feature_names_in_ = len(names), np.array(names, dtype=object)
    largest = model.checked_max_weight if weight is not None else None
    counting = Counting(Relation("add-remove", rows.rows_per_unit, "person"), rows.count, declared_rows(n_rows))
    request = _request(model, counting.relation, largest, counting.guess)
    must_be_streamed(plan(request, counting.guess), "a table")  # raises if an option is wrong
    access = _access(model, rows, request)
    _must_agree(rows, request, names, target, classes)
    question = question_of(model, names, target, classes, weight, n_rows, rows.rows_per_unit, rows.asked)
    rest = rest_of_fit(lambda count: _request(model, counting.relation, largest, count))
    counted = counting.counted(request.epsilon, access, question, model.entropy, delta=request.delta, rest=rest)
    with counted.explained():
        made = plan(_request(model, counting.relation, largest, counted.rows), counted.rows, counted.made)
        made = covered_plan(made, access, question)
    source = TableRows(rows, made.rows, len(names), largest)
    with reporter(model.verbose, known_passes(made), type(model).__name__) as after_pass:
        with counted.explained():
            payment = pay(made, access, question, about=about_table(model, names, target, rows.rows_per_unit))
        paid = Paid(payment, model.entropy)
        fit = attempted(payment, lambda: trained(made, source, paid, after_pass=after_pass))
    remember(model, payment)
    model._write(fit, None if payment is None else payment.entry, list(counted.entries), ledger)
    model._write_classes(_shown(model, rows, target, classes))
    return model


def _access(model: LinearModel, rows: Any, request: Request) -> Any:
    """The door to these rows; raises if the policy or the ledger does not allow the fit."""
    must_be_payable(request, model.ledger)
    access = rows.access(model.ledger, label=f"fit of {type(model).__name__}")
    access.check()
    if request.private:
        access.allow(Budget(request.epsilon, request.delta))
    return access


def _shown(model: LinearModel, rows: Any, target: str, classes: Any) -> Any:
    """The classes as values of the column: False and True for truth values, unless 0 and 1 are declared."""
    truths = classes is not None and getattr(model, "classes", None) is None and rows.holds_truths(target)
    return np.array([False, True]) if truths else classes


def _must_suit(model: LinearModel, target: Any) -> None:
    """Refuse options that are for arrays, and a target that is not a name."""
    level("verbose", model.verbose)
    if model.warm_start:
        raise Unsupported("warm_start=True is for arrays, and X is a table; write warm_start=False.")
    if model.neighbours is not None and model._relation.neighbours == "replace":
        raise Unsupported(
            "neighbours='replace' is for arrays: a fit on a table protects a person who is added or removed; leave "
            "neighbours out."
        )
    if not isinstance(target, str):
        raise InvalidParameter("y must name the column of the target if X is a table; write fit(table, 'smoker').")


def _must_agree(rows: Any, request: Request, names: list[str], target: str, classes: Any) -> None:
    """Refuse bounds and classes that differ from what the policy of the table declares."""
    ends = np.stack([request.span.low, request.span.high], axis=1).tolist()
    declared = dict(zip(names, ends, strict=True))
    if request.target_span is not None:
        declared[target] = [float(request.target_span.low[0]), float(request.target_span.high[0])]
    rows.must_lie_within(declared)
    if classes is not None:
        rows.must_be_listed(target, classes)


def _names(model: LinearModel, features: Sequence[str] | None, table: Any) -> list[str]:
    """The names of the features: as given, or the names in `bounds`."""
    if features is None and isinstance(model.bounds, dict):
        return list(model.bounds)
    if features is None or isinstance(features, str) or not len(features):
        raise InvalidParameter(
            "a fit on a table needs the names of its features; write bounds={'age': (18, 100), ...}, or "
            "features=['age', ...]."
        )
    names = list(features)
    if isinstance(model.bounds, dict):
        for name in model.bounds:
            if name not in names and name in getattr(table, "columns", ()):
                raise InvalidParameter(
                    f"bounds names the column {shown(name)}, which is not in features=; leave it out, or add it "
                    "to features."
                )
    return names


def _request(model: LinearModel, relation: Relation, largest: float | None, count: int) -> Request:
    """The request of a fit on so many rows, with weights of at most `largest`, or without weights."""
    request = for_ledger(model._request_for(count), model.ledger)
    keep = "all" if isinstance(request.keep, str) and request.keep == "auto" else request.keep
    request = replace(request, relation=relation, keep=keep)
    return request if largest is None else replace(request, max_weight=largest, weighted=True)
