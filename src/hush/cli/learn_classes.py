"""The classes of `hush learn --model logistic`: those of the column, and those that were typed."""

from __future__ import annotations

import argparse
import math
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


def labels_of(values: Any, target: str, classes: str | None, used: Any) -> tuple[Any, Any, Any]:
    """The labels of a column in memory, the declared classes with the type of the labels, and which rows have one.

    A row that has none of them, or that is not `used`, has the first class; where labels are found privately, it has
    none. Only the type of the column is refused.
    """
    import numpy as np

    kind = str(values.type)
    floats = kind in ("float", "double", "halffloat")
    if classes == "private" and kind != "bool":
        if floats:
            raise InvalidParameter(
                f"--classes private finds labels, but a target of type {values.type} holds measurements; "
                "write --classes a,b."
            )
        given = values.to_pylist()
        fits = np.array([label is not None for label in given], dtype=bool)
        labels = np.empty(len(given), dtype=object)
        labels[:] = [one if fit and use else math.nan for one, fit, use in zip(given, fits, used, strict=True)]
        return labels, classes, fits
    known = _known(kind, target, classes)
    texts = not isinstance(known[0], bool | int)
    given = [_text(label) if texts else label for label in values.to_pylist()]
    fits = np.array([label in known for label in given], dtype=bool)
    labels = np.empty(len(given), dtype=bool if kind == "bool" else object if texts else np.int64)
    labels[:] = [label if fit and use else known[0] for label, fit, use in zip(given, fits, used, strict=True)]
    return labels, None if kind == "bool" else known, fits


def _known(kind: str, target: str, classes: str | None) -> tuple[Any, ...]:
    """The classes of a column of this type: truth values, the texts that were typed, or 0 and 1."""
    if kind == "bool":  # the two classes of a boolean column are known
        _must_be_truths(target, classes)
        return (False, True)
    if classes is not None:
        return tuple(classes.split(","))
    if not kind.startswith(("int", "uint", "float", "double", "halffloat", "decimal")):
        raise InvalidParameter(f"the target {shown(target)} is of the type {kind}; write --classes no,yes.")
    return (0, 1)


def _text(label: Any) -> str | None:
    """A label as it is typed: a whole number has no decimal point."""
    whole = isinstance(label, float) and label.is_integer()
    return None if label is None else str(int(label)) if whole else str(label)


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
