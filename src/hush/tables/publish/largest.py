"""The groups of an answer with the largest numbers."""

from __future__ import annotations

from dataclasses import replace
from typing import Any

import numpy as np

from hush.errors import InvalidParameter, whole
from hush.tables.arrow import chosen_rows

__all__ = ["largest"]


def largest(answer: Any, k: int, by: str | None) -> Any:
    """The k rows with the largest noisy numbers of a column, the largest first. Ties keep the order of the answer."""
    k = whole("k", k, 1, "write answer.top(10)")
    name = _column(answer, by)
    order = np.argsort(-answer[name].astype(np.float64), kind="stable")[:k]
    text = (
        f"only the {order.size} groups with the largest noisy {name} are shown; such groups are too high on average, "
        "and the intervals do not include that"
    )
    receipt = answer.receipt | {"post_processing": [*answer.receipt.get("post_processing", []), text]}
    table, released = chosen_rows(answer.to_arrow(), order), chosen_rows(answer.released, order)
    return replace(answer, table=table, released=released, receipt=receipt, basis=None)


def _column(answer: Any, by: str | None) -> str:
    """The column that decides."""
    if answer.long_form or answer.basis is None:
        raise InvalidParameter("top is for the numbers of an answer; call it on the answer itself.")
    if by is not None:
        answer.basis.form(by, "top")
        return by
    counted = next((name for name in answer.names if name in answer.basis.forms), None)
    if counted is None:
        raise InvalidParameter("top needs a count or a sum; ask for tables.count_units() in the same query.")
    return str(counted)
