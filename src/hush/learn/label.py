"""The classes of a classifier: declared, or found privately for a share of the budget.

Which labels occur is a fact about the data: one row can bring a label that no other has. Labels that are found are
those whose noisy number of rows passes a threshold (Korolova et al. 2009): exchanging one row moves at most two of
the numbers by 1, and a label of a single row passes with probability at most delta.

The spelling of a label is a fact about the data too. So every label is first put into one canonical form (see
`_plain`), and `classes_` is built from the labels that are shown, and from nothing else: no type, width, sign of zero
or order of the array y reaches it. Of y itself the kind of its numpy type (booleans, whole numbers, numbers, text,
bytes, objects) is taken to be public. A list has no such type: it is taken label by label, because numpy would choose
one type for all labels by looking at every one of them.
"""

from __future__ import annotations

import math
from collections import Counter
from dataclasses import dataclass, replace
from typing import Any

import numpy as np
from numpy.typing import NDArray

from hush.calibration.ranking import calibrate
from hush.errors import InvalidParameter, Unsupported, one_of
from hush.learn.paid import Paid
from hush.numerics.rounding import CLOSED_FORM, SPECIAL_FUNCTION, up
from hush.privacy.sensitivity import Sensitivity
from hush.sampling.mechanism import Mechanism

__all__ = ["Labels", "as_labels", "check_type", "declared", "found", "kind_of", "labels_plan", "to_be_found", "where"]

#: What finding labels takes of epsilon and of delta.
EPSILON_SHARE, DELTA_SHARE = 0.05, 0.1

_NUMBERS, _TEXTS = "biuf", "US"
#: What may be said of the type of y: its kind, never its width.
_KINDS = {
    "b": "booleans",
    "i": "whole numbers",
    "u": "whole numbers",
    "f": "numbers",
    "U": "text",
    "S": "bytes",
    "O": "objects",
}
_KINDS |= {"M": "datetime64", "m": "timedelta64", "c": "complex numbers"}
#: Every type that a label may have, and its place in the order of classes.
_ORDER: dict[type, int] = {bool: 0, int: 0, float: 0, str: 1, bytes: 2, type(None): 3}
#: numpy's scalars and the Python types of the same values. A subclass of any of these is no label: its methods are
#: not ours.
_PYTHON: dict[type, type] = {
    np.bool_: bool,
    np.str_: str,
    np.bytes_: bytes,
    **{np.dtype(code).type: int for code in np.typecodes["AllInteger"]},
    **{np.dtype(code).type: float for code in np.typecodes["Float"]},
}


class _NoLabel:
    """What stands in a row whose label is none of the plain types, or is NaN."""


NO_LABEL = _NoLabel()


@dataclass(frozen=True)
class Labels:
    """How labels will be found: noise on whole numbers, and the least noisy count that shows a label."""

    mechanism: Mechanism
    threshold: float
    delta: float


def labels_plan(epsilon: float, delta: float) -> Labels:
    """Laplace noise on the integers for two counts that move by 1, and its threshold at delta."""
    if delta == 0.0:
        raise Unsupported(
            "classes='private' needs a delta greater than 0: without it no label may be found; write classes=(0, 1)."
        )
    plan = calibrate(epsilon, 0.0, Sensitivity(linf=1.0, l0=2, neighbours="replace"), family="laplace", step=1.0)
    made = Mechanism.of(plan, integers=True)
    made = replace(made, part_of=made.charge)  # as many counts as there are labels, which nobody knows beforehand
    scale = up(2.0 / epsilon, SPECIAL_FUNCTION)  # not below the noise's own
    # P(1 + K >= t) = e^(-(t-1)/s) / (1 + e^(-1/s)) for two-sided geometric K of scale s, and it grows with s
    needed = up(scale * -math.log(delta * (1.0 + math.exp(-1.0 / scale))), CLOSED_FORM)
    threshold = 1.0 + max(math.ceil(needed), 1)
    return Labels(made, threshold, delta)


def to_be_found(classes: Any) -> bool:
    """Is classes the word "private"?"""
    return isinstance(classes, str) and one_of("classes", classes, ("private",)) == "private"


def as_labels(y: Any) -> Any:
    """y with every label in its canonical form; arrays of numbers and of text stay as they are.

    Nothing is raised, and no method of a label is called: both would tell of a single row.
    """
    dtype = getattr(y, "dtype", None)
    kind = getattr(dtype, "kind", "O")
    # T is numpy's text of variable width; pandas has numbers that may be missing, which scikit-learn would turn into
    # floats
    by_label = kind in "OT" or (kind in _NUMBERS and not isinstance(dtype, np.dtype))
    if kind == "f" and isinstance(dtype, np.dtype):
        return np.asarray(
            y, dtype=np.float64
        )  # as they are counted: wider floats would be rounded in one place and compared in another
    if y is None or isinstance(y, str | bytes) or not by_label:
        return y
    given = np.asarray(y, dtype=object)
    made = np.empty(given.size, dtype=object)
    for place, value in enumerate(given.ravel().tolist()):
        made[place] = _plain(value)
    return made.reshape(given.shape)


def kind_of(labels: Any) -> str:
    """The kind of an array's type in words; the type itself has a width, which tells of the longest value."""
    return _KINDS.get(labels.dtype.kind, "another kind")


def check_type(labels: Any) -> None:
    """What may be said of labels that are secret: the kind of the array that holds them."""
    if labels.dtype.kind not in _NUMBERS + _TEXTS + "O":
        raise InvalidParameter(
            f"y must hold labels (numbers, words or objects), got values of the kind {kind_of(labels)}."
        )


def declared(classes: Any, labels: Any) -> Any:
    """Classes that were given; without them 0 and 1, or False and True if y is an array of booleans: a public fact."""
    kind = labels.dtype.kind
    needed = InvalidParameter(
        "classes are needed for labels that are not 0 and 1; write classes=('no', 'yes'), or classes='private'."
    )
    default = classes is None
    if default:
        if kind not in _NUMBERS + "O":
            raise needed
        classes = (False, True) if kind == "b" else (0, 1)
    known = np.unique(np.asarray(classes))
    if known.shape != (2,):
        raise InvalidParameter(
            f"classes must be two different labels, got {classes!r}; only binary classification is supported."
        )
    if (where(labels, known[0]) + where(labels, known[1]) == 0.0).any():
        if default and kind == "O":
            raise needed
        words = "Unknown label type: " if kind == "f" else ""  # scikit-learn's, for what may be measurements
        raise InvalidParameter(
            f"{words}y holds labels other than the classes {known[0]} and {known[1]}; write classes=(a, b) with the labels that are public "
            "knowledge, or classes='private'."
        )
    return known


def found(labels: Any, plan: Labels | None, paid: Paid) -> Any:
    """The labels whose noisy count passes the threshold; without a plan (no privacy asked for) those that occur."""
    counts = _counted(labels)
    if plan is None:
        if len(counts) != 2:
            raise InvalidParameter(
                f"y must hold two different labels, got {len(counts)}; only binary classification is supported."
            )
        return _array([value for _, value in counts])
    noisy = paid.release(plan.mechanism, np.array([*counts.values(), 0], dtype=np.int64), "labels")
    shown = [value for (_, value), count in zip(counts, noisy, strict=False) if count >= plan.threshold]
    if len(shown) > 2:  # in scikit-learn's words
        raise InvalidParameter(
            "Only binary classification is supported. The type of the target is multiclass: "
            f"{len(shown)} labels were found privately, and the budget for it is spent; declare classes=(a, b) and leave other rows out."
        )
    if len(shown) != 2:
        words = (
            "Unknown label type: " if labels.dtype.kind == "f" else ""
        )  # scikit-learn's, for what may be measurements
        raise InvalidParameter(
            f"{words}{len(shown)} labels were found privately where two are needed, the budget for it is spent; "
            f"a label needs about {plan.threshold:.0f} rows to be seen, and is a number, a text, bytes or None; "
            "or declare classes=(a, b)."
        )
    return _array(shown)


def where(labels: Any, one: Any, *, same_type: bool = False) -> NDArray[np.float64]:
    """1 in the rows whose label is `one`, and 0 in the others; with same_type the number 1 is neither True nor 1.0."""
    one = _plain(one)
    kind = labels.dtype.kind
    if kind == "O":
        alike = [value == one and (not same_type or type(value) is type(one)) for value in labels.tolist()]
        return np.array(alike, dtype=np.float64)
    comparable = isinstance(one, (bool, int, float) if kind in _NUMBERS else str if kind == "U" else bytes)
    return np.asarray(labels == one, dtype=np.float64) if comparable else np.zeros(labels.shape)


def _plain(value: Any) -> Any:
    """The one spelling of a label: a Python bool, int, float (without a sign of zero), str, bytes or None; else
    NO_LABEL.
    """
    kind = type(value)
    if kind in _PYTHON:
        value = _PYTHON[kind](value)
        kind = _PYTHON[kind]
    if kind is float:
        return NO_LABEL if math.isnan(value) else value + 0.0
    return value if kind in _ORDER else NO_LABEL


def _counted(labels: Any) -> dict[tuple[type, Any], int]:
    """How many rows have each label, by its type and its canonical value."""
    if labels.dtype.kind == "O":
        plain = [_plain(value) for value in labels.tolist()]
        return dict(Counter((type(value), value) for value in plain if value is not NO_LABEL))
    if labels.dtype.kind == "f":
        labels = labels.astype(np.float64) + 0.0  # -0.0 becomes 0.0
    values, counts = np.unique(labels, return_counts=True)
    return {(type(value), value): count for value, count in zip(values.tolist(), counts.tolist(), strict=True)}


def _array(values: list[Any]) -> Any:
    """Canonical labels in order (numbers, texts, bytes, None) as an array whose type depends on these labels alone."""
    ordered = sorted(
        values, key=lambda value: (_ORDER[type(value)], 0 if value is None else value, type(value).__name__)
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
        return typed if typed.tolist() == ordered else made  # numpy drops zeros at the end of a text
    return made
