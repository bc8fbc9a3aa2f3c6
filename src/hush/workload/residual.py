"""Residuals of contingency tables: integer orthogonal rows, and tables made from their answers.

Let A be a set of attributes with n_i values each. The residual of A is the A-table without what smaller tables say
about it: the table centred in every direction. For one attribute the rows

    h_j = (1, ..., 1, -j, 0, ..., 0)    with j ones, j = 1, ..., n - 1

are orthogonal, are orthogonal to the row of ones, and have the squared length j (j + 1). Products of such rows over the
attributes of A span the residual of A. All entries are whole numbers, so the answers of these rows on a table of counts
are whole numbers.
"""

from __future__ import annotations

import math
from collections.abc import Iterable, Mapping, Sequence
from itertools import combinations

import numpy as np
from numpy.typing import NDArray

__all__ = ["Subset", "cell_variance", "measure", "parts_of", "rebuild", "row_norms", "share", "subsets"]

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


def row_norms(subset: Subset, sizes: Sequence[int]) -> Array:
    """The squared lengths of the rows of the residual, an array with an axis for each attribute."""
    found = np.ones(())
    for i in subset:
        j = np.arange(1.0, sizes[i])
        found = np.multiply.outer(found, j * (j + 1.0))
    return found


def measure(table: Whole) -> Whole:
    """The answers of the rows of a residual on its table of counts: whole numbers, exactly."""
    found = table
    for axis in range(table.ndim):
        moved = np.moveaxis(found, axis, -1)
        before = np.cumsum(moved, axis=-1)[..., :-1]
        found = np.moveaxis(before - moved[..., 1:] * np.arange(1, moved.shape[-1]), -1, axis)
    return found


def _spread_out(values: Array, size: int, axis: int) -> Array:
    """Answers of the rows of one attribute, divided by their squared lengths, as numbers for its cells."""
    moved = np.moveaxis(values, axis, -1)
    j = np.arange(1.0, size)
    scaled = moved / (j * (j + 1.0))
    later = np.cumsum(scaled[..., ::-1], axis=-1)[..., ::-1]  # the ones of h_j reach the cells 0, ..., j - 1
    found = np.zeros((*moved.shape[:-1], size))
    found[..., :-1] += later
    found[..., 1:] -= scaled * j
    return np.moveaxis(found, -1, axis)


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
