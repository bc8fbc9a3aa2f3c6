"""The rows of `hush learn` in memory. No value of a row makes the fit fail: what does not fit is replaced row by row.

With replaced rows the number of rows is public, so no row is dropped: a missing value becomes the middle of its public
range, an infinite one the nearest end, and another label the first class. With `--unit` the first row of each person
counts, and every other one becomes a row of such middles. Then one person whose rows are exchanged for other rows
changes at most one row. With one row more or less the number of rows is not public, and such rows are left out.
"""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any

import numpy as np
from numpy.typing import NDArray

from hush.errors import InvalidParameter, shown

__all__ = ["LEFT_OUT", "REPLACED", "numbers", "one_row_each"]

REPLACED = (
    "A missing value counts as the middle of its range, and another label as the first class; --unit COLUMN "
    "--rows-per-unit 1 leaves such rows out."
)
LEFT_OUT = "Rows with a missing value or another label are left out."


def one_row_each(rows: Any, unit: str | None) -> NDArray[np.bool_]:
    """Which rows count: the first row of each person, and no row without a person; all rows if there is no unit."""
    count = np.ones(rows.num_rows, dtype=bool)
    if unit is None:
        return count
    column = rows[unit].combine_chunks()
    places = column.dictionary_encode().indices.fill_null(-1).to_numpy(zero_copy_only=False)
    count[:] = False
    count[np.unique(places, return_index=True)[1]] = True
    return count & (places >= 0)


def numbers(
    rows: Any, ranges: Mapping[str, tuple[float, float]], used: NDArray[np.bool_]
) -> tuple[NDArray[np.float64], NDArray[np.bool_]]:
    """The named columns as one array of finite numbers, and which rows have a number in each of them."""
    made, whole = np.empty((rows.num_rows, len(ranges))), np.ones(rows.num_rows, dtype=bool)
    for place, (name, (low, high)) in enumerate(ranges.items()):
        column = _floats(rows[name], name)
        missing = np.isnan(column)
        column = np.where(missing | ~used, 0.5 * low + 0.5 * high, column)
        made[:, place] = np.where(np.isinf(column), np.clip(column, low, high), column)
        whole &= ~missing
    return made, whole


def _floats(column: Any, name: str) -> NDArray[np.float64]:
    """A column of numbers as float64, NaN where it has none. Only the type decides whether it is one of numbers."""
    from pyarrow import types

    kind = column.type
    if not any(is_one(kind) for is_one in (types.is_integer, types.is_floating, types.is_decimal, types.is_boolean)):
        raise InvalidParameter(
            f"column {shown(name)} is of the type {kind}; features, and the target of a regression, must be numbers."
        )
    numbers = column.cast("int8") if types.is_boolean(kind) else column
    found: NDArray[np.float64] = numbers.cast("float64", safe=False).to_numpy()
    return found
