"""The private search for the labels of a classifier, with a share of the budget.

The set of labels depends on the data: one row can have a label that no other row has. The private search counts the
rows of each label, adds noise, and shows the labels whose noisy count reaches a threshold (Korolova et al. 2009).
Replacing one row moves at most two counts by 1, and one row more or less moves one count. A label of a single row is
shown with probability at most delta.
"""

from __future__ import annotations

import math
from collections import Counter
from dataclasses import dataclass, replace
from typing import Any

import numpy as np

from hush.errors import InvalidParameter, Unsupported
from hush.learn.count_noise import laplace_for_counts
from hush.learn.label import NO_LABEL, ORDER, canonical
from hush.learn.paid import Paid
from hush.learn.relation import REPLACED_ROW, Relation
from hush.numerics.rounding import CLOSED_FORM, SPECIAL_FUNCTION, up
from hush.privacy.sensitivity import Sensitivity
from hush.sampling.mechanism import Mechanism

__all__ = ["DELTA_SHARE", "EPSILON_SHARE", "Labels", "found", "labels_plan", "must_have_rows"]

#: The shares of epsilon and of delta that the private search for labels uses.
EPSILON_SHARE, DELTA_SHARE = 0.05, 0.1
_WRITTEN = 20  # released labels that an error writes out


@dataclass(frozen=True)
class Labels:
    """The plan of a private search for labels: integer noise, and the smallest noisy count that shows a label."""

    mechanism: Mechanism
    threshold: float
    delta: float


def labels_plan(epsilon: float, delta: float, relation: Relation = REPLACED_ROW) -> Labels:
    """Laplace noise for the counts that one row moves by 1 (two if it is replaced), and the threshold for delta."""
    if delta == 0.0:
        raise Unsupported(
            "classes='private' needs a delta greater than 0, because showing a label found in the data has no pure "
            "epsilon; write classes=(0, 1)."
        )
    moved = 2 if relation.neighbours == "replace" else 1
    bound = Sensitivity(linf=1.0, l0=moved, neighbours=relation.neighbours)
    made = laplace_for_counts(epsilon, bound)
    made = replace(made, part_of=made.charge)  # the number of counts is the number of labels, which is not known yet
    law: Any = getattr(made.noise, "noise", made.noise)  # Laplace noise, on whole numbers or rounded to them
    scale = up(max(law.scale, moved / epsilon), SPECIAL_FUNCTION)
    # P(1 + K >= t) = e^(-(t-1)/s) / (1 + e^(-1/s)) for two-sided geometric K of scale s, and it grows with s;
    # P(1 + round(L) >= t) <= e^(-(t-3/2)/s) / 2 for Laplace noise L that is rounded to steps of at most 1
    tail, rounded = (1.0 + math.exp(-1.0 / scale), 0.0) if made.noise.discrete else (2.0, 0.5)
    needed = up(scale * -math.log(delta * tail), CLOSED_FORM) + rounded
    threshold = 1.0 + max(math.ceil(needed), 1)
    return Labels(made, threshold, delta)


def must_have_rows(plan: Labels | None, rows: int) -> None:
    """Refuse a search for labels in too few rows; the number of rows is public or was released."""
    if plan is None or rows >= 2.0 * plan.threshold:
        return
    raise InvalidParameter(
        f"classes='private' finds a label that has about {plan.threshold:.0f} rows at this budget, so two labels need "
        f"{2.0 * plan.threshold:.0f} rows, and there are {rows}; write classes=(a, b) with the publicly known labels, "
        "or a larger epsilon. Nothing was spent."
    )


def found(labels: Any, plan: Labels | None, paid: Paid) -> Any:
    """The labels whose noisy count reaches the threshold; without a plan (epsilon = inf) all labels of y."""
    counts = _counted(labels)
    if plan is None:
        if len(counts) != 2:
            raise InvalidParameter(
                f"y must hold two different labels, got {len(counts)}; classes='private' finds two; for "
                "more write classes=('a', 'b', 'c')."
            )
        return _array([value for _, value in counts])
    noisy = paid.release(plan.mechanism, np.array([*counts.values(), 0], dtype=np.int64), "labels")
    shown = [value for (_, value), count in zip(counts, noisy, strict=False) if count >= plan.threshold]
    if len(shown) != 2:
        raise InvalidParameter(_not_two(_array(shown).tolist(), plan, labels.dtype.kind == "f"))
    return _array(shown)


def _not_two(shown: list[Any], plan: Labels, numbers: bool) -> str:
    """The error after a search that found more or fewer than two labels. What it found is released, so it is shown."""
    names = ", ".join(repr(one) for one in shown[:_WRITTEN]) + ", ..." * (len(shown) > _WRITTEN)
    if len(shown) > 2:  # the first words are scikit-learn's, which its checks expect
        return (
            "Only binary classification is supported. The type of the target is multiclass: classes='private' found "
            f"{len(shown)} labels, and the budget of this fit is spent. The labels are released now, so write "
            f"classes=({names})."
        )
    words = "Unknown label type: " if numbers else ""  # as above
    seen = f"one label ({names})" if shown else "no label"
    call = f"classes=({names}, b) with the other label for b" if shown else "classes=(a, b)"
    return (
        f"{words}classes='private' found {seen} and needs two, and the budget of this fit is spent; a label must be a "
        f"number, a text, bytes or None, and needs about {plan.threshold:.0f} rows to be found; write {call} if the "
        "labels are public."
    )


def _counted(labels: Any) -> dict[tuple[type, Any], int]:
    """The number of rows of each label, by type and canonical value."""
    if labels.dtype.kind == "O":
        values = [canonical(value) for value in labels.tolist()]
        return dict(Counter((type(value), value) for value in values if value is not NO_LABEL))
    if labels.dtype.kind == "f":
        labels = labels.astype(np.float64) + 0.0  # -0.0 becomes 0.0
    different, counts = np.unique(labels, return_counts=True)
    return {(type(value), value): count for value, count in zip(different.tolist(), counts.tolist(), strict=True)}


def _array(values: list[Any]) -> Any:
    """Canonical labels in order (numbers, texts, bytes, None); the array's type depends on these labels only."""
    ordered = sorted(
        values, key=lambda value: (ORDER[type(value)], 0 if value is None else value, type(value).__name__)
    )
    kinds = {type(value) for value in ordered}
    kind = kinds.pop() if len(kinds) == 1 else object
    made = np.empty(len(ordered), dtype=object)
    made[:] = ordered
    if kind is int and all(abs(value) < 1 << 63 for value in ordered):
        return made.astype(np.int64)
    if kind in (bool, float):
        return made.astype(kind)
    if kind in (str, bytes):
        typed = made.astype(np.str_ if kind is str else np.bytes_)
        return typed if typed.tolist() == ordered else made  # numpy drops trailing null characters of a text
    return made
