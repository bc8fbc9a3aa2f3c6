"""The classes of `hush learn --model logistic`: those of the column, and those that were typed."""

from __future__ import annotations

import argparse
from typing import Any

from hush.cli.text import number
from hush.errors import InvalidParameter, shown

__all__ = ["classes_of_table", "labels_of", "shown_classes", "typed"]

#: Names of false and true that an engine reads as truth values.
_TRUTHS = (("no", "yes"), ("false", "true"), ("n", "y"), ("f", "t"), ("0", "1"))


def typed(options: argparse.Namespace) -> list[str] | None:
    """The labels of --classes; None if there are none, or if they are found privately."""
    if options.classes is None or options.classes == "private":
        return None
    return [one.strip() for one in str(options.classes).split(",")]


def labels_of(values: Any, target: str, classes: str | None) -> tuple[Any, Any]:
    """The labels of a column in memory, and the declared classes with the type of the labels."""
    import numpy as np

    floats = str(values.type) in ("float", "double", "halffloat")
    if classes == "private" and floats:
        raise InvalidParameter(
            f"--classes private finds labels, but a target of type {values.type} holds measurements; "
            "write --classes a,b."
        )
    # the type of the file's column, or objects: numpy would choose a type by the values
    labels = np.empty(len(values), dtype=np.float64 if floats else object)
    labels[:] = values.to_pylist()
    if str(values.type) == "bool":  # the two classes of a boolean column are known
        _must_be_truths(target, classes)
        return labels.astype(bool) if not values.null_count else labels, None
    if classes is None or classes == "private":
        return labels, classes
    return np.array([str(label) for label in labels], dtype=object), tuple(classes.split(","))


def classes_of_table(people: Any, target: str, given: str | None) -> Any:
    """The declared classes as values of a table's column: truth values, texts, or numbers."""
    from hush.tables.expression import must_have

    if given == "private":
        raise InvalidParameter(
            "--classes private needs one row per person, without --rows-per-unit; write --classes a,b."
        )
    must_have(people.columns, target, "the target")
    kind = people[target].type()
    if kind.is_boolean():
        _must_be_truths(target, given)
        return (False, True)
    if given is None:
        return None
    names = given.split(",")
    if kind.is_string():
        return tuple(names)
    try:
        return tuple(number(name) for name in names)
    except argparse.ArgumentTypeError as failure:
        raise InvalidParameter(f"--classes: the target {shown(target)} holds numbers, and {failure}.") from failure


def _must_be_truths(target: str, given: str | None) -> None:
    """Refuse classes that are no names of false and true, for a column of truth values."""
    if given in (None, "private"):
        return
    names = sorted(one.strip().lower() for one in str(given).split(","))
    if tuple(names) not in _TRUTHS:
        raise InvalidParameter(
            f"--classes {given} does not fit the column {shown(target)}, which is read as boolean (yes and no "
            "become true and false); leave --classes out."
        )


def shown_classes(model: Any, names: list[str] | None) -> list[str]:
    """The classes of a fitted model in their order, by the names that were typed for truth values."""
    known = model.classes_.tolist()
    if not all(isinstance(one, bool) for one in known):
        return [str(int(one)) if isinstance(one, float) and one.is_integer() else str(one) for one in known]
    return ["false", "true"] if names is None else sorted(names, key=str.lower)
