"""A warm start: the released weights of the last fit, and the ledger entries that paid for them."""

from __future__ import annotations

from typing import Any

import numpy as np
from numpy.typing import NDArray

from hush.errors import Unsupported
from hush.ledger import Ledger

__all__ = ["last_fit"]

Array = NDArray[np.float64]


def last_fit(model: Any, ledger: Ledger | None) -> tuple[tuple[Array, Array], list[int]] | None:
    """The released weights of a warm start and the ledger entries that paid for them; None for a fresh start.

    One ledger must have paid for all of these fits.
    """
    if not model.warm_start:
        return None
    if ledger is None:
        raise Unsupported(
            "warm_start=True reuses what an earlier fit learned from the data, so every fit must be charged; "
            "give a ledger=, or write warm_start=False."
        )
    if not hasattr(model, "coef_"):
        return None
    if not _charged(model.receipt_["ledger"], ledger):
        raise Unsupported(
            "warm_start=True starts from the last fit, but that fit was not charged to this ledger; "
            "clone the estimator for a fresh start."
        )
    start = np.array(model.coef_, dtype=np.float64), np.array(model.intercept_, dtype=np.float64)
    if start[0].ndim == 2 and len(start[0]) == 1:  # two classes
        start = start[0][0], start[1][0]
    return start, [*model.receipt_.get("started_from", []), model.receipt_["ledger"]["number"]]


def _charged(entry: Any, ledger: Ledger) -> bool:
    """Whether the ledger holds this entry of a receipt."""
    return entry is not None and any(
        (known.number, known.time) == (entry["number"], entry["time"]) for known in ledger.entries
    )
