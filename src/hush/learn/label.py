"""The classes of a classifier: declared, or found privately for a share of the budget.

Which labels occur is a fact about the data: one row can bring a label that no other has. Labels that are found are those whose noisy number
of rows passes a threshold (Korolova et al. 2009): exchanging one row moves at most two of the numbers by 1, and a label of a single row
passes with probability at most delta.
"""

from __future__ import annotations

import math
from dataclasses import dataclass
from typing import Any

import numpy as np
from numpy.typing import NDArray

from hush.calibrate import calibrate
from hush.errors import InvalidParameter, Unsupported, one_of
from hush.mechanism import Mechanism
from hush.sampling.entropy import Entropy
from hush.sensitivity import Sensitivity

__all__ = ["Labels", "check_type", "declared", "found", "labels_plan", "to_be_found", "where"]

#: What finding labels takes of epsilon and of delta.
EPSILON_SHARE, DELTA_SHARE = 0.05, 0.1


@dataclass(frozen=True)
class Labels:
    """How labels will be found: noise on whole numbers, and the least noisy count that shows a label."""

    mechanism: Mechanism
    threshold: float
    delta: float


def labels_plan(epsilon: float, delta: float) -> Labels:
    """Laplace noise on the integers for two counts that move by 1, and its threshold at delta."""
    if delta == 0.0:
        raise Unsupported("classes='private' needs a delta greater than 0: without it no label may be found; write classes=(0, 1).")
    plan = calibrate(epsilon, 0.0, Sensitivity(linf=1.0, l0=2, neighbours="replace"), family="laplace", step=1.0)
    made = Mechanism.of(plan, integers=True)
    scale = 2.0 / epsilon * (1.0 + 1e-9)  # not below the noise's own
    # P(1 + K >= t) = e^(-(t-1)/s) / (1 + e^(-1/s)) for two-sided geometric K of scale s, and it grows with s
    needed = scale * -math.log(delta * (1.0 + math.exp(-1.0 / scale))) * (1.0 + 1e-12)
    threshold = 1.0 + max(math.ceil(needed), 1)
    return Labels(made, threshold, delta)


def to_be_found(classes: Any) -> bool:
    """Is classes the word "private"?"""
    return isinstance(classes, str) and one_of("classes", classes, ("private",)) == "private"


def declared(classes: Any, labels: Any) -> Any:
    """Classes that were given; without them 0 and 1, or False and True, by the type of y: a public fact."""
    if classes is None:
        if labels.dtype.kind not in "biuf":
            raise InvalidParameter("classes are needed for labels that are not 0 and 1; write classes=('no', 'yes'), or classes='private'.")
        classes = (False, True) if labels.dtype.kind == "b" else (0, 1)
    known = np.unique(np.asarray(classes))
    if known.shape != (2,):
        raise InvalidParameter(f"classes must be two different labels, got {classes!r}; only binary classification is supported.")
    if not np.isin(labels, known).all():
        words = "Unknown label type: " if labels.dtype.kind == "f" else ""  # scikit-learn's, for what may be measurements
        raise InvalidParameter(
            f"{words}y holds labels other than the classes {known[0]} and {known[1]}; write classes=(a, b) with the labels that are public "
            "knowledge, or classes='private'."
        )
    return known


def found(labels: Any, plan: Labels | None, entropy: Entropy | None) -> Any:
    """The labels whose noisy count passes the threshold; without a plan (no privacy asked for) those that occur."""
    counts = _counted(labels)
    if plan is None:
        if len(counts) != 2:
            raise InvalidParameter(f"y must hold two different labels, got {len(counts)}; only binary classification is supported.")
        return _sorted(list(counts), labels.dtype)
    made = plan.mechanism
    noisy = made.value_of(made.noisy(made.on_lattice(np.array([*counts.values(), 0], dtype=np.int64)), entropy))
    shown = _sorted([value for value, count in zip(counts, noisy, strict=False) if count >= plan.threshold], labels.dtype)
    if len(shown) > 2:  # in scikit-learn's words
        raise InvalidParameter(
            "Only binary classification is supported. The type of the target is multiclass: "
            f"{len(shown)} labels were found privately, and the budget for it is spent; declare classes=(a, b) and leave other rows out."
        )
    if shown.shape != (2,):
        words = "Unknown label type: " if labels.dtype.kind == "f" else ""  # scikit-learn's, for what may be measurements
        raise InvalidParameter(
            f"{words}{len(shown)} labels were found privately where two are needed, the budget for it is spent; "
            f"a label needs about {plan.threshold:.0f} rows to be seen, or declare classes=(a, b)."
        )
    return shown


def check_type(labels: Any) -> None:
    """What may be said of labels that are secret: the type of the array that holds them."""
    if labels.dtype.kind not in "biufOUS":
        raise InvalidParameter(f"y must hold labels (numbers, words or objects), got values of type {labels.dtype}.")


def where(labels: Any, one: Any) -> NDArray[np.float64]:
    """1 in the rows whose label is `one`, and 0 in the others."""
    if labels.dtype.kind != "O":
        return np.asarray(labels == one, dtype=np.float64)
    return np.array([_hashable(value) and bool(value == one) for value in labels], dtype=np.float64)


def _counted(labels: Any) -> dict[Any, int]:
    """How many rows have each label. By a dictionary, since objects of different kinds have no order; what it cannot hold is no label."""
    counts: dict[Any, int] = {}
    for value in labels.tolist():
        if _hashable(value):
            counts[value] = counts.get(value, 0) + 1
    return counts


def _hashable(value: Any) -> bool:
    try:
        hash(value)
    except TypeError:
        return False
    return True


def _sorted(values: list[Any], dtype: Any) -> Any:
    """As an array of the labels' own type, in order; of different kinds in the order of their names."""
    made = np.empty(len(values), dtype=dtype)
    try:
        made[:] = sorted(values)
    except TypeError:
        made[:] = sorted(values, key=lambda value: (type(value).__name__, repr(value)))
    return made
