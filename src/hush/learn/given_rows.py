"""Checks of what `fit` and `predict` receive as rows, and error texts that quote no data."""

from __future__ import annotations

import contextlib
from collections.abc import Iterator
from typing import Any

import numpy as np
from numpy.typing import NDArray

from hush.errors import InvalidParameter, Unsupported, shown

__all__ = ["UNREADABLE", "floats", "is_table", "must_be_rows", "quiet", "without_values"]

#: The beginnings and parts of scikit-learn's texts that quote an array, or the number of its rows.
_ONE_DIMENSION = ("Expected 2D array, got 1D array", "Expected 2D array, got scalar array")
_WITH_SHAPES = ("shape", "samples", "sample(s)", "feature(s)", "length", "dim ")
_NUMERIC = ("int", "uint", "float", "bool", "decimal")
_TIMES = ("date", "time", "duration")
_SHOWN = 3  # columns that an error names
#: What is said in the place of any text that is not known to be safe.
UNREADABLE = "X and y must hold numbers or labels, and at least one value cannot be read as one."
#: The beginnings of texts of scikit-learn and numpy that have shapes, names of columns and of types, and no value.
_SAFE = (
    *("Found array with", "Found input variables", "Expected 2D input", "X has ", "The feature names", "Feature names"),
    *("Sparse data was passed", "Only sparse matrices", "dtype='numeric'", "np.matrix is not supported", "y should be"),
    *("y cannot be None", "Unable to find the number of features", "Expected sequence or array-like"),
    *("float() argument", "setting an array element with a sequence", "len() of unsized object", "Input contains NaN"),
)


def quiet() -> Any:
    """No warnings of numpy about values: whether they appear would depend on single rows."""
    return np.errstate(all="ignore")


def floats(values: Any) -> NDArray[np.float64]:
    """Numbers as float64, without a warning for wider numbers that overflow."""
    with quiet():
        return np.asarray(values, dtype=np.float64)


def is_table(thing: Any) -> bool:
    """Is it a table that `hush.tables.table` has opened?"""
    return callable(getattr(thing, "row_blocks", None))


def must_be_rows(model: Any, X: Any, y: Any = None) -> None:
    """Refuse a table, the name of a file, and the name of a column where arrays are needed."""
    kind = type(model).__name__
    if is_table(X):
        raise Unsupported(
            f"X is a table of hush.tables, and this call of {kind} needs an array or a data frame with the rows; "
            "write X = frame[['age', 'income']] with the names of your columns."
        )
    if isinstance(X, str | bytes) or hasattr(X, "__fspath__"):
        raise InvalidParameter(
            "X is a text, and must be an array, a data frame or a table; for a file write "
            "X = hush.tables.table('file.parquet', unit='person')."
        )
    if type(X).__name__ == "LazyFrame":
        raise InvalidParameter("X is a polars LazyFrame, which has no rows yet; write X.collect().")
    if isinstance(y, str | bytes):
        raise InvalidParameter(
            f"y={shown(y)} is the name of a column, which is for tables, and X is of another kind; write "
            f"fit(frame[['age', 'income']], frame[{shown(y)}]), or fit(hush.tables.table(frame, unit='person'), "
            f"{shown(y)})."
        )
    _must_be_columns(X)


def _must_be_columns(X: Any) -> None:
    """Refuse two columns of one name, and columns of dates or durations by their type: numpy makes numbers of them."""
    seen = set()
    for name, kind in _columns(X):
        if name in seen:
            raise InvalidParameter(
                f"X has two columns with the name {shown(name)}; give each column a different name, or leave one out."
            )
        seen.add(name)
        if kind.lower().startswith(_TIMES):
            raise InvalidParameter(_no_times("X") + text_columns(X))
    held: Any = getattr(X, "dtype", None)
    if isinstance(X, list | tuple):
        with contextlib.suppress(ValueError, TypeError):
            held = np.asarray(X).dtype
    if getattr(held, "kind", "") in ("m", "M"):
        raise InvalidParameter(_no_times("X"))


def _no_times(name: str) -> str:
    return (
        f"{name} must hold numbers, and not dates or durations; write a number of days since a public date, such as "
        "(frame['day'] - pandas.Timestamp('2000-01-01')).dt.days."
    )


def _columns(X: Any) -> Iterator[tuple[Any, str]]:
    """The name of each column of a data frame, and its type in words without the values of an enumeration."""
    types, names = getattr(X, "dtypes", None), getattr(X, "columns", None)
    if types is not None and names is not None:
        for name, kind in zip(names, list(types), strict=False):
            yield name, str(kind).split("(")[0]


def text_columns(X: Any) -> str:
    """The columns of a data frame whose type is no type of numbers, in words; types are public, values are not read."""
    other = [(name, kind) for name, kind in _columns(X) if not kind.lower().startswith(_NUMERIC)]
    words = ", ".join(f"{shown(name)} ({kind})" for name, kind in other[:_SHOWN]) + ", ..." * (len(other) > _SHOWN)
    if not other:
        return ""
    return f" Columns that are not numbers by their type: {words}."


def without_values(
    text: str, X: Any = None, y: Any = None, *, hidden: bool = False, fit: bool = False, tables: bool = False
) -> str | None:
    """A replacement for error texts that may quote the data, or that advise what the guarantee does not cover; None for
    texts of numpy and scikit-learn that are safe.

    `hidden` means that the number of rows is not public, so texts with shapes are replaced too. `fit` says that these
    are the rows of a fit, and `tables` that the call takes tables, which may be advised.
    """
    if text.startswith(_ONE_DIMENSION):  # the message of scikit-learn contains the array
        return (
            "Expected 2D array, got an array of fewer dimensions instead: X must have one row for each person and one "
            "column for each feature. Reshape your data: write X.reshape(-1, 1) for one feature."
        )
    for name in ("X", "y"):
        if text.startswith(f"Input {name} contains NaN"):  # scikit-learn advises an imputer, which learns from the rows
            return _about_nan(name, X if name == "X" else y, hidden=hidden, fit=fit, tables=tables)
        if text.startswith(f"Input {name} contains infinity"):
            return (
                f"Input {name} contains infinity. Replace it by a public value, such as the end of its range: write "
                f"{name}.clip(0, 100)."
            )
    if hidden and any(word in text for word in _WITH_SHAPES):
        return (
            "X must have one row for each person and at least one column, and y must have one value for each row of X "
            "(no shape is shown here, because the number of rows is not public)."
        )
    if "requires y to be passed" in text:
        return text.rstrip(".") + "; write fit(X, y)."
    if text.startswith("Complex data not supported"):  # the message of scikit-learn contains the array
        return "Complex data not supported: X, and the target of a regression, must hold real numbers."
    if text.startswith("could not convert"):  # the message of numpy contains the text
        return (
            "X, and the target of a regression, must hold numbers; at least one value is a text that is not a number."
            + text_columns(X)
        )
    if "could not be promoted" in text:
        return f"X must hold numbers.{text_columns(X)}"
    # a method of an object in X may raise a ValueError with any text
    return None if text.startswith(_SAFE) else UNREADABLE


def _about_nan(name: str, given: Any, *, hidden: bool, fit: bool, tables: bool) -> str:
    """How to replace missing values in an array or a frame of this type."""
    write = f"np.nan_to_num({name}, nan=0.0)"
    if hasattr(given, "fillna"):
        write = f"{name}.fillna(0)"
    elif hasattr(given, "fill_nan"):
        write = f"{name}.fill_nan(0).fill_null(0)"
    elif hasattr(given, "tocsr"):
        write = f"{name}.data = np.nan_to_num({name}.data, nan=0.0)"
    table = ", or fit a table of hush.tables, which leaves such rows out" if tables else ""
    drop = " Do not drop such rows: the number of rows is public here." if fit and not hidden else ""
    return (
        f"Input {name} contains NaN. Replace it by a public value, such as 0: write {write}{table}.{drop} (A value "
        "that is computed from the rows is not covered by the guarantee.)"
    )
