"""Residuals of contingency tables: integer orthogonal rows, and tables made from their answers.

Let A be a set of attributes with n_i values each. The residual of A is the A-table without what smaller tables say
about it: the table centred in every direction. For one attribute, the n values are split into two parts of a and b
neighbours, each part is split again, and so on. Each of the n - 1 splits gives a row

    b/g for the a values of the first part, -a/g for the b values of the second, 0 elsewhere,   g = gcd(a, b).

These rows are orthogonal, are orthogonal to the row of ones, and have the squared length a b (a + b)/g^2. Products of
such rows over the attributes of A span the residual of A. All entries are whole numbers, so the answers of these rows
on a table of counts are whole numbers. Every split is chosen for a short row: short rows need less fine noise.
"""

from __future__ import annotations

import math
from collections.abc import Iterable, Mapping, Sequence
from functools import lru_cache
from itertools import combinations
from typing import NamedTuple

import numpy as np
from numpy.typing import NDArray

__all__ = [
    "Subset",
    "as_table",
    "cell_variance",
    "centred",
    "longest_row",
    "measure",
    "parts_of",
    "rebuild",
    "row_norms",
    "share",
    "subsets",
]

Array = NDArray[np.float64]
Whole = NDArray[np.int64]
#: A set of attributes: their places, in increasing order.
Subset = tuple[int, ...]


def subsets(tables: Iterable[Subset]) -> list[Subset]:
    """Every set of attributes that is contained in one of the tables, small ones first."""
    found: set[Subset] = set()
    for table in tables:
        if table not in found:
            found.update(parts_of(table))
    return sorted(found, key=lambda subset: (len(subset), subset))


def parts_of(table: Subset) -> list[Subset]:
    """Every set of attributes that is contained in a table, small ones first."""
    return [part for size in range(len(table) + 1) for part in combinations(table, size)]


def share(subset: Subset, sizes: Sequence[int]) -> float:
    """p_A, the product of (n - 1)/n over the attributes of A: the squared length that the residual of A sees of one
    cell, in coordinates of length 1 of the A-table.
    """
    return math.prod((sizes[i] - 1.0) / sizes[i] for i in subset)


class Splits(NamedTuple):
    """The rows of one attribute: row r is `left[r]` from `low[r]` to `middle[r]`, and -`right[r]` from there to
    `high[r]`. Rows of the same `depth` have no value in common. `norms` has the squared lengths.
    """

    low: Whole
    middle: Whole
    high: Whole
    left: Whole
    right: Whole
    depth: Whole
    norms: Array


@lru_cache(maxsize=1024)
def _first_part(size: int) -> int:
    """The size of the first part of the split with the shortest row; of several, the most even one."""
    a = np.arange((size + 1) // 2, size, dtype=np.int64)
    g = np.gcd(a, size)
    return int(a[np.argmin((a // g) * ((size - a) // g))])


@lru_cache(maxsize=256)
def splits(size: int) -> Splits:
    """The rows of an attribute with this many values."""
    found: list[tuple[int, ...]] = []
    left: list[tuple[int, int, int]] = [(0, size, 0)]
    while left:
        low, high, depth = left.pop()
        if high - low > 1:
            a = _first_part(high - low)
            b = high - low - a
            g = math.gcd(a, b)
            found.append((low, low + a, high, b // g, a // g, depth))
            left += [(low, low + a, depth + 1), (low + a, high, depth + 1)]
    columns = np.array(sorted(found, key=lambda row: row[1]), dtype=np.int64).reshape(-1, 6).T
    begin, middle, end, own, other, depths = columns
    norms = own**2 * (middle - begin) + other**2 * (end - middle)
    return Splits(begin, middle, end, own, other, depths, norms.astype(np.float64))


def longest_row(subset: Subset, sizes: Sequence[int]) -> float:
    """The largest squared length of a row of the residual."""
    return math.prod(float(splits(sizes[i]).norms.max()) for i in subset)


def row_norms(subset: Subset, sizes: Sequence[int]) -> Array:
    """The squared lengths of the rows of the residual, an array with an axis for each attribute."""
    found = np.ones(())
    for i in subset:
        found = np.multiply.outer(found, splits(sizes[i]).norms)
    return found


def measure(table: Whole) -> Whole:
    """The answers of the rows of a residual on its table of counts: whole numbers, exactly."""
    found = table
    for axis in range(table.ndim):
        moved: Whole = np.moveaxis(found, axis, -1)
        rows = splits(moved.shape[-1])
        before: Whole = np.zeros((*moved.shape[:-1], moved.shape[-1] + 1), dtype=np.int64)
        np.cumsum(moved, axis=-1, out=before[..., 1:])
        middle = before[..., rows.middle]
        answers = (middle - before[..., rows.low]) * rows.left - (before[..., rows.high] - middle) * rows.right
        found = np.moveaxis(answers, -1, axis)
    return found


def centred(table: Array) -> Array:
    """The table less its means in every direction: its residual."""
    found = table
    for axis in range(table.ndim):
        found = found - found.mean(axis=axis, keepdims=True)
    return found


def _spread_out(values: Array, size: int, axis: int) -> Array:
    """Answers of the rows of one attribute, divided by their squared lengths, as numbers for its cells."""
    moved, rows = np.moveaxis(values, axis, -1), splits(size)
    scaled = moved / rows.norms
    steps = np.zeros((*moved.shape[:-1], size + 1))  # differences of neighbouring cells
    for depth in range(int(rows.depth.max(initial=-1)) + 1):
        at = np.flatnonzero(rows.depth == depth)
        some = scaled[..., at]
        steps[..., rows.low[at]] += some * rows.left[at]
        steps[..., rows.middle[at]] -= some * (rows.left[at] + rows.right[at])
        steps[..., rows.high[at]] += some * rows.right[at]
    return np.moveaxis(np.cumsum(steps[..., :-1], axis=-1), -1, axis)


def as_table(answers: Array, subset: Subset, sizes: Sequence[int]) -> Array:
    """The residual of a set of attributes as a table, from the answers of its rows."""
    found = answers
    for axis, i in enumerate(subset):
        found = _spread_out(found, sizes[i], axis)
    return found


def rebuild(table: Subset, residuals: Mapping[Subset, Array], sizes: Sequence[int]) -> Array:
    """A table of estimated counts from the residual tables of all its parts.

    A part that lacks an attribute is the same in all its cells: it is divided by the number of these cells.
    """
    found = np.zeros(tuple(sizes[i] for i in table))
    for part in parts_of(table):
        if part in residuals:
            missing = [axis for axis, i in enumerate(table) if i not in part]
            cells = math.prod(sizes[table[axis]] for axis in missing)
            found += np.expand_dims(residuals[part], tuple(missing)) / cells
    return found


def cell_variance(table: Subset, spreads: Mapping[Subset, float], sizes: Sequence[int]) -> float:
    """The variance of a cell of a table, if coordinates of length 1 of the residual of A have the variance
    `spreads[A]`: the sum over the parts A of the table of spread p_A prod 1/n^2 over the attributes that A lacks.
    """
    total = 0.0
    for part in parts_of(table):
        if part in spreads:
            lacking = math.prod(sizes[i] for i in table if i not in part)
            total += spreads[part] * share(part, sizes) / float(lacking) ** 2
    return total
