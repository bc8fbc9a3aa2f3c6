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

from hush.calibrate import calibrate
from hush.errors import InvalidParameter, Unsupported, one_of
from hush.mechanism import Mechanism
from hush.sampling.entropy import Entropy
from hush.sensitivity import Sensitivity

__all__ = ["Labels", "declared", "found", "labels_plan", "to_be_found"]

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
        raise InvalidParameter(
            f"y holds labels other than the classes {known[0]} and {known[1]}; write classes=(a, b) with the labels that are public "
            "knowledge, or classes='private'."
        )
    return known


def found(labels: Any, plan: Labels | None, entropy: Entropy | None) -> Any:
    """The labels whose noisy count passes the threshold; without a plan (no privacy asked for) those that occur."""
    values, counts = np.unique(labels, return_counts=True)
    if plan is None:
        return declared(values, labels)
    made = plan.mechanism
    noisy = made.value_of(made.noisy(made.on_lattice(counts.astype(np.int64)), entropy))
    shown = values[noisy >= plan.threshold]
    if len(shown) > 2:  # in scikit-learn's words
        raise InvalidParameter(
            "Only binary classification is supported. The type of the target is multiclass: "
            f"{len(shown)} labels were found privately, and the budget for it is spent; declare classes=(a, b) and leave other rows out."
        )
    if shown.shape != (2,):
        raise InvalidParameter(
            f"{len(shown)} labels were found privately where two are needed, the budget for it is spent; "
            f"a label needs about {plan.threshold:.0f} rows to be seen, or declare classes=(a, b)."
        )
    return shown
