"""Exact tables of counts, from records, from a histogram or from larger tables."""

from __future__ import annotations

import math
from collections.abc import Mapping, Sequence
from typing import Any

import numpy as np
from numpy.typing import NDArray

from hush.errors import InvalidParameter
from hush.workload.residual import Subset

__all__ = ["MOST_ROWS", "Counts", "from_cells", "from_histogram", "from_records", "from_tables", "whole_array"]

Whole = NDArray[np.int64]
#: The most rows that may be counted, so that sums of products stay within 64 bits.
MOST_ROWS = 1 << 40
_MOST_CELLS = 1 << 27  # of one table


def whole_array(name: str, values: Any) -> Whole:
    """The values as an array of whole numbers. Messages name types and shapes, never values."""
    array = np.asarray(values)
    if array.dtype.kind not in "iub":
        raise InvalidParameter(f"{name} must be an array of whole numbers, got one of {array.dtype}.")
    return array.astype(np.int64)


class Counts:
    """The exact table of every set of attributes: `counts.table(subset)`."""

    def __init__(
        self,
        sizes: Sequence[int],
        known: Mapping[Subset, Whole],
        records: Whole | None = None,
        times: Whole | None = None,
    ) -> None:
        self._sizes, self._known, self._records, self._times = tuple(sizes), dict(known), records, times

    def table(self, subset: Subset) -> Whole:
        """The table of these attributes, with an axis for each of them."""
        if self._records is not None:
            return self._counted(subset)
        best = None
        for table in self._known:
            if set(subset) <= set(table) and (best is None or len(table) < len(best)):
                best = table
        if best is None:
            raise InvalidParameter(f"no given table contains the attributes {list(subset)}; give the tables asked for.")
        axes = tuple(axis for axis, i in enumerate(best) if i not in subset)
        return self._known[best].sum(axis=axes) if axes else self._known[best]

    def prepared(self, tables: Sequence[Subset]) -> Counts:
        """The same counts, with these tables at hand: smaller ones are then sums of them."""
        return Counts(self._sizes, {table: self.table(table) for table in tables})

    def _counted(self, subset: Subset) -> Whole:
        assert self._records is not None
        shape = tuple(self._sizes[i] for i in subset)
        place = np.zeros(len(self._records), dtype=np.int64)
        for i in subset:
            place = place * self._sizes[i] + self._records[:, i]
        cells = math.prod(shape)
        if cells > _MOST_CELLS:
            raise InvalidParameter(f"a table of {cells} cells is too large; at most {_MOST_CELLS} are allowed.")
        found = np.bincount(place, weights=self._times, minlength=cells)  # floats add whole numbers exactly here
        return found.astype(np.int64).reshape(shape)


def _checked(array: Whole) -> Whole:
    """Reject more rows than sums of 64 bits allow."""
    if array.size > _MOST_CELLS:
        raise InvalidParameter(f"a table of {array.size} cells is too large; at most {_MOST_CELLS} are allowed.")
    if float(np.abs(array).astype(np.float64).sum()) > MOST_ROWS:
        raise InvalidParameter("the counts must be those of at most 2^40 rows.")
    return array


def from_records(records: Any, sizes: Sequence[int]) -> Counts:
    """Counts of records: one row for each record, one column for each attribute, values from 0 to n - 1."""
    array = whole_array("records", records)
    if array.ndim != 2 or array.shape[1] != len(sizes):
        raise InvalidParameter(f"records must have {len(sizes)} columns, one for each attribute, got {array.shape}.")
    if len(array) > MOST_ROWS:
        raise InvalidParameter("the counts must be those of at most 2^40 rows.")
    if len(array) and (array.min() < 0 or (array.max(axis=0) >= np.array(sizes)).any()):
        raise InvalidParameter("a record has a value outside 0, ..., n - 1; give such values a number of their own.")
    return Counts(sizes, {}, array)


def from_cells(places: Whole, times: Whole, sizes: Sequence[int]) -> Counts:
    """Counts of cells that are listed with the number of their rows."""
    _checked(times)
    return Counts(sizes, {}, places, times)


def from_histogram(histogram: Any, sizes: Sequence[int]) -> Counts:
    """Counts of a whole histogram, an array with an axis for each attribute."""
    array = whole_array("histogram", histogram)
    if array.shape != tuple(sizes):
        raise InvalidParameter(f"histogram must have the shape {tuple(sizes)}, got {array.shape}.")
    return Counts(sizes, {tuple(range(len(sizes))): _checked(array)})


def from_tables(tables: Mapping[Subset, Any], sizes: Sequence[int]) -> Counts:
    """Counts of given tables; every table that is needed must be one of them or a sum of one of them."""
    known = {}
    for subset, values in tables.items():
        array, shape = whole_array("tables", values), tuple(sizes[i] for i in subset)
        if array.shape != shape:
            raise InvalidParameter(f"a table must have the shape {shape}, got {array.shape}.")
        known[subset] = _checked(array)
    return Counts(sizes, known)
