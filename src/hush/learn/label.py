"""The classes of a classifier: declared by the user, or found privately with a share of the budget.

The set of labels depends on the data: one row can have a label that no other row has. The private search counts the
rows of each label, adds noise, and shows the labels whose noisy count reaches a threshold (Korolova et al. 2009).
Replacing one row moves at most two counts by 1, and one row more or less moves one count. A label of a single row is
shown with probability at most delta.

The spelling of a label depends on the data too. So every label is first converted to a canonical form (see
`_canonical`), and `classes_` is built from the released labels only: it does not depend on the type, width, sign of
zero or order of the array y. The kind of y's numpy type (booleans, integers, numbers, text, bytes, objects) is treated
as public. A list has no such type. It is read label by label, because numpy would choose one type from all labels.
"""

from __future__ import annotations

import math
from collections import Counter
from dataclasses import dataclass, replace
from typing import Any

import numpy as np
from numpy.typing import NDArray

from hush.calibration.ranking import calibrate
from hush.errors import InvalidParameter, Unsupported, reject
from hush.learn.paid import Paid
from hush.learn.relation import REPLACED_ROW, Relation
from hush.numerics.rounding import CLOSED_FORM, SPECIAL_FUNCTION, up
from hush.privacy.sensitivity import Sensitivity
from hush.sampling.mechanism import Mechanism

__all__ = [
    "Labels",
    "as_labels",
    "check_type",
    "classes_in_order",
    "declared",
    "found",
    "kind_of",
    "labels_plan",
    "listed",
    "places_of",
    "to_be_found",
]

#: The shares of epsilon and of delta that the private search for labels uses.
EPSILON_SHARE, DELTA_SHARE = 0.05, 0.1

#: The most classes of a classifier.
MOST_CLASSES = 1000
_SHOWN = 6  # classes that an error names

_NUMBERS, _TEXTS = "biuf", "US"
#: The public description of the type of y: its kind, never its width.
_KINDS = {
    "b": "booleans",
    "i": "integers",
    "u": "integers",
    "f": "numbers",
    "U": "text",
    "S": "bytes",
    "O": "objects",
}
_KINDS |= {"M": "datetime64", "m": "timedelta64", "c": "complex numbers"}
#: The types that a label can have, with their rank in the order of classes.
_ORDER: dict[type, int] = {bool: 0, int: 0, float: 0, str: 1, bytes: 2, type(None): 3}
#: numpy's scalar types and the Python types of the same values. Subclasses are not accepted as labels, because their
#: methods are foreign code that could depend on the data.
_PYTHON: dict[type, type] = {
    np.bool_: bool,
    np.str_: str,
    np.bytes_: bytes,
    **{np.dtype(code).type: int for code in np.typecodes["AllInteger"]},
    **{np.dtype(code).type: float for code in np.typecodes["Float"]},
}


class _NoLabel:
    """Replaces a label of any other type, and NaN."""


NO_LABEL = _NoLabel()


@dataclass(frozen=True)
class Labels:
    """The plan of a private search for labels: integer noise, and the smallest noisy count that shows a label."""

    mechanism: Mechanism
    threshold: float
    delta: float


def labels_plan(epsilon: float, delta: float, relation: Relation = REPLACED_ROW) -> Labels:
    """Discrete Laplace noise for the counts that one row moves by 1 (two if it is replaced), and the threshold for
    delta.
    """
    if delta == 0.0:
        raise Unsupported(
            "classes='private' needs a delta greater than 0, because showing a label found in the data has no pure "
            "epsilon; write classes=(0, 1)."
        )
    moved = 2 if relation.neighbours == "replace" else 1
    bound = Sensitivity(linf=1.0, l0=moved, neighbours=relation.neighbours)
    plan = calibrate(epsilon, 0.0, bound, family="laplace", step=1.0)
    made = Mechanism.of(plan, integers=True)
    made = replace(made, part_of=made.charge)  # the number of counts is the number of labels, which is not known yet
    scale = up(moved / epsilon, SPECIAL_FUNCTION)  # at least the scale of the noise
    # P(1 + K >= t) = e^(-(t-1)/s) / (1 + e^(-1/s)) for two-sided geometric K of scale s, and it grows with s
    needed = up(scale * -math.log(delta * (1.0 + math.exp(-1.0 / scale))), CLOSED_FORM)
    threshold = 1.0 + max(math.ceil(needed), 1)
    return Labels(made, threshold, delta)


def to_be_found(classes: Any) -> bool:
    """Whether `classes` is the word "private"."""
    if isinstance(classes, str) and classes != "private":
        raise reject("classes", classes, "a tuple of labels, or 'private'", "write classes=('no', 'yes')")
    return isinstance(classes, str)


def as_labels(y: Any) -> Any:
    """y with every label in canonical form; arrays of numbers and of text are returned unchanged.

    This function raises nothing and calls no method of a label: both could reveal a single row.
    """
    dtype = getattr(y, "dtype", None)
    kind = getattr(dtype, "kind", "O")
    # T is numpy's text of variable width. pandas has nullable numbers, which scikit-learn would convert to floats.
    by_label = kind in "OT" or (kind in _NUMBERS and not isinstance(dtype, np.dtype))
    if kind == "f" and isinstance(dtype, np.dtype):
        # one width for counting and comparing: wider floats would be rounded in one of the two only
        return np.asarray(y, dtype=np.float64)
    if y is None or isinstance(y, str | bytes) or not by_label:
        return y
    given = np.asarray(y, dtype=object)
    made = np.empty(given.size, dtype=object)
    for place, value in enumerate(given.ravel().tolist()):
        made[place] = _canonical(value)
    return made.reshape(given.shape)


def kind_of(labels: Any) -> str:
    """The kind of an array's type in words. The type itself has a width, which would reveal the longest value."""
    return _KINDS.get(labels.dtype.kind, "another kind")


def check_type(labels: Any) -> None:
    """Reject arrays that cannot hold labels, by the kind of the array only: the labels may be secret."""
    if labels.dtype.kind not in _NUMBERS + _TEXTS + "O":
        raise InvalidParameter(
            f"y must hold labels (numbers, text or objects), got values of the kind {kind_of(labels)}."
        )


def declared(classes: Any, labels: Any) -> Any:
    """The given classes. The default is 0 and 1, or False and True if y is an array of booleans, which is public."""
    kind = labels.dtype.kind
    needed = InvalidParameter(
        "classes are needed if the labels are not 0 and 1; write classes=('no', 'yes'), or classes='private'."
    )
    default = classes is None
    if default:
        if kind not in _NUMBERS + "O":
            raise needed
        classes = (False, True) if kind == "b" else (0, 1)
    known = classes_in_order(classes)
    if (places_of(labels, known) < 0).any():
        if default and kind == "O":
            raise needed
        words = "Unknown label type: " if kind == "f" else ""  # scikit-learn's words for possible measurements
        raise InvalidParameter(
            f"{words}y holds {kind_of(labels)}, and labels other than the classes {listed(known)}; write "
            "classes=(a, b) with the publicly known labels, or classes='private' (LogisticRegression only)."
        )
    return known


def classes_in_order(classes: Any) -> Any:
    """The given classes in order, two or more."""
    given = np.asarray(classes)
    known = np.unique(given)
    if given.ndim != 1 or not 2 <= known.size == given.size <= MOST_CLASSES:
        raise InvalidParameter(
            f"classes must be 2 to {MOST_CLASSES} different labels, got {classes!r}; write classes=('no', 'yes')."
        )
    return known


def listed(known: Any) -> str:
    """The classes in words; a few of many."""
    names = [repr(one) for one in known.tolist()]
    shown = names if len(names) <= _SHOWN else [*names[: _SHOWN - 2], "...", names[-1]]
    return f"{', '.join(shown[:-1])} and {shown[-1]}"


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
    if len(shown) > 2:  # scikit-learn's wording, which its checks expect
        raise InvalidParameter(
            "Only binary classification is supported. The type of the target is multiclass: "
            f"{len(shown)} labels were found privately, and the budget of this fit is spent; write classes=(a, b, c) "
            "if the labels are public."
        )
    if len(shown) != 2:
        words = "Unknown label type: " if labels.dtype.kind == "f" else ""  # as above
        raise InvalidParameter(
            f"{words}{len(shown)} labels were found privately but two are needed, and the budget of this fit is spent; "
            f"a label must be a number, a text, bytes or None and needs about {plan.threshold:.0f} rows to be found; "
            "write classes=(a, b) if the labels are public."
        )
    return _array(shown)


def places_of(labels: Any, known: Any, *, same_type: bool = False) -> NDArray[np.int64]:
    """The place of each row's label among the known labels, and -1 for a row with another label.

    With same_type=True the label 1 differs from True and 1.0. The memory does not grow with the number of classes.
    """
    classes, kind = [_canonical(one) for one in known.tolist()], labels.dtype.kind
    if kind in _NUMBERS:
        made = np.full(labels.shape, -1, dtype=np.int64)
        for place, one in enumerate(classes):
            if isinstance(one, bool | int | float):
                made[labels == one] = place
        return made
    places = {_key(one, same_type): place for place, one in enumerate(classes) if one is not NO_LABEL}
    rows = labels.tolist()
    return np.fromiter((places.get(_key(one, same_type), -1) for one in rows), dtype=np.int64, count=len(rows))


def _key(label: Any, same_type: bool) -> Any:
    """What equal labels have in common."""
    return (type(label), label) if same_type else label


def _canonical(value: Any) -> Any:
    """The canonical form of a label: a Python bool, int, float (zero without a sign), str, bytes or None.

    NO_LABEL for a value of any other type, and for NaN.
    """
    kind = type(value)
    if kind in _PYTHON:
        value = _PYTHON[kind](value)
        kind = _PYTHON[kind]
    if kind is float:
        return NO_LABEL if math.isnan(value) else value + 0.0
    return value if kind in _ORDER else NO_LABEL


def _counted(labels: Any) -> dict[tuple[type, Any], int]:
    """The number of rows of each label, by type and canonical value."""
    if labels.dtype.kind == "O":
        values = [_canonical(value) for value in labels.tolist()]
        return dict(Counter((type(value), value) for value in values if value is not NO_LABEL))
    if labels.dtype.kind == "f":
        labels = labels.astype(np.float64) + 0.0  # -0.0 becomes 0.0
    different, counts = np.unique(labels, return_counts=True)
    return {(type(value), value): count for value, count in zip(different.tolist(), counts.tolist(), strict=True)}


def _array(values: list[Any]) -> Any:
    """Canonical labels in order (numbers, texts, bytes, None); the array's type depends on these labels only."""
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
        return typed if typed.tolist() == ordered else made  # numpy drops trailing null characters of a text
    return made
