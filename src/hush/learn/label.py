"""The classes of a classifier, and the place of each row's label among them.

The classes are declared by the user, or found privately (`hush.learn.label_search`). The spelling of a label depends
on the data. So every label is first converted to a canonical form (see `canonical`), and `classes_` is built from the
released labels only: it does not depend on the type, width, sign of zero or order of the array y. The kind of y's numpy
type (booleans, integers, numbers, text, bytes, objects) is treated as public. A list has no such type. It is read label
by label, because numpy would choose one type from all labels.
"""

from __future__ import annotations

import math
from typing import Any

import numpy as np
from numpy.typing import NDArray

from hush.errors import InvalidParameter, reject, shown

__all__ = [
    "NO_LABEL",
    "ORDER",
    "as_labels",
    "canonical",
    "check_type",
    "classes_in_order",
    "declared",
    "kind_of",
    "listed",
    "places_of",
    "to_be_found",
]


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
ORDER: dict[type, int] = {bool: 0, int: 0, float: 0, str: 1, bytes: 2, type(None): 3}
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
        made[place] = canonical(value)
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
        "classes are needed if the labels are not 0 and 1; write classes=('no', 'yes') with all labels, or, for "
        "LogisticRegression with two labels, classes='private'."
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
            "classes=(a, b, ...) with all labels, which must be public knowledge; two labels can also be found with "
            "classes='private' of LogisticRegression."
        )
    return known


def classes_in_order(classes: Any) -> Any:
    """The given classes in order, two or more."""
    given = np.asarray(classes)
    known = np.unique(given)
    if given.ndim != 1 or not 2 <= known.size == given.size <= MOST_CLASSES:
        raise InvalidParameter(
            f"classes must be 2 to {MOST_CLASSES} different labels, got {shown(classes)}; write classes=('no', 'yes')."
        )
    return known


def listed(known: Any) -> str:
    """The classes in words; a few of many."""
    names = [repr(one) for one in known.tolist()]
    few = names if len(names) <= _SHOWN else [*names[: _SHOWN - 2], "...", names[-1]]
    return f"{', '.join(few[:-1])} and {few[-1]}"


def places_of(labels: Any, known: Any, *, same_type: bool = False) -> NDArray[np.int64]:
    """The place of each row's label among the known labels, and -1 for a row with another label.

    With same_type=True the label 1 differs from True and 1.0. The memory does not grow with the number of classes.
    """
    classes, kind = [canonical(one) for one in known.tolist()], labels.dtype.kind
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


def canonical(value: Any) -> Any:
    """The canonical form of a label: a Python bool, int, float (zero without a sign), str, bytes or None.

    NO_LABEL for a value of any other type, and for NaN.
    """
    kind = type(value)
    if kind in _PYTHON:
        value = _PYTHON[kind](value)
        kind = _PYTHON[kind]
    if kind is float:
        return NO_LABEL if math.isnan(value) else value + 0.0
    return value if kind in ORDER else NO_LABEL
