"""A warm start: the released weights of the last fit, and the ledger entries that paid for them."""

from __future__ import annotations

from dataclasses import replace
from typing import Any

import numpy as np
from numpy.typing import NDArray

from hush.errors import Unsupported, shown
from hush.learn.budget import vector_families
from hush.learn.label import listed
from hush.learn.planning import Request
from hush.ledger import Ledger

__all__ = ["continued", "known_classes", "last_fit", "starts_warm"]

Array = NDArray[np.float64]
_WRITTEN = 20  # classes that an error writes in full


def starts_warm(model: Any) -> bool:
    """Does the next fit start from the last one?"""
    return bool(model.warm_start) and hasattr(model, "coef_")


def continued(model: Any, request: Request) -> Request:
    """The request of a fit that starts from the last one: "auto" is whitened gradients, which have a start.

    Sums of products, and the mean of the target alone, would forget the start.
    """
    usual = request.family in (None, *vector_families(request.delta))
    descent = any(value is not None for value in (request.passes, request.step, request.clip))
    if not starts_warm(model) or request.solver != "auto" or not usual or descent:
        return request
    return replace(request, solver="whitened")


def known_classes(model: Any) -> Any:
    """The classes that a warm start keeps, if they were found privately: they were released. None for a new search."""
    return model.classes_ if starts_warm(model) else None


def last_fit(
    model: Any, ledger: Ledger | None, request: Request, classes: Any = None
) -> tuple[tuple[Array, Array], list[int]] | None:
    """The released weights of a warm start and the ledger entries that paid for them; None for a fresh start.

    One ledger must have paid for all of these fits. `classes` are those of a classifier, and they must be the same.
    """
    if not model.warm_start:
        return None
    if ledger is None:
        raise Unsupported(
            "warm_start=True reuses what an earlier fit learned from the data, so every fit must be charged; "
            "give a ledger=, or write warm_start=False."
        )
    if not starts_warm(model):
        return None
    if not _charged(model.receipt_["ledger"], ledger):
        raise Unsupported(
            "warm_start=True starts from the last fit, but that fit was not charged to this ledger; "
            "clone the estimator for a fresh start."
        )
    _must_have_classes(model, classes)
    start = np.array(model.coef_, dtype=np.float64), np.array(model.intercept_, dtype=np.float64)
    if start[0].ndim == 2 and len(start[0]) == 1:  # two classes
        start = start[0][0], start[1][0]
    _must_have_shape(start, request)
    return start, [*model.receipt_.get("started_from", []), model.receipt_["ledger"]["number"]]


def _must_have_classes(model: Any, classes: Any) -> None:
    """Refuse other classes than those of the last fit: its weights are about those."""
    before = getattr(model, "classes_", None)
    if classes is None or before is None or classes.tolist() == before.tolist():
        return
    again = f"classes={shown(tuple(before.tolist()))}" if len(before) <= _WRITTEN else "the classes of the last fit"
    raise Unsupported(
        f"warm_start=True starts from a fit with the classes {listed(before)}, and this fit has the classes "
        f"{listed(classes)}; write {again}, or warm_start=False."
    )


def _must_have_shape(start: tuple[Array, Array], request: Request) -> None:
    """Refuse weights of another shape than those of this fit."""
    outputs, width = request.objective.outputs, request.span.low.size
    wanted = (width,) if outputs == 1 else (outputs, width)
    if start[0].shape != wanted or start[1].shape != wanted[:-1]:
        raise Unsupported(
            f"warm_start=True starts from coefficients of the shape {start[0].shape}, and this fit needs {wanted}; "
            "write warm_start=False."
        )


def _charged(entry: Any, ledger: Ledger) -> bool:
    """Whether the ledger holds this entry of a receipt."""
    return entry is not None and any(
        (known.number, known.time) == (entry["number"], entry["time"]) for known in ledger.entries
    )
