"""Rows drawn from a model: clique by clique, each new attribute given those that are already drawn.

Rows with the same values of the common attributes form a group. The new values of a group are drawn at equal distances
along the cumulative distribution, from one random start, and are given to the rows of the group in a random order
(systematic sampling). Each count differs from its expected value by less than independent draws would make it.
"""

from __future__ import annotations

import math
from collections.abc import Sequence

import numpy as np
from numpy.typing import NDArray

from hush.sampling.entropy import Bits
from hush.workload.synthetic.model import Model

__all__ = ["drawn_rows"]

Array = NDArray[np.float64]
Whole = NDArray[np.int64]

_WORD = 2.0**-64


def _coded(rows: Whole, attributes: Sequence[int], sizes: Sequence[int]) -> Whole:
    """One number for the values of some attributes of each row."""
    code: Whole = np.zeros(len(rows), dtype=np.int64)
    for i in attributes:
        code = code * sizes[i] + rows[:, i]
    return code


def _drawn(conditional: Array, groups: Whole, bits: Bits) -> Whole:
    """A column of the table for each row, drawn from the row of the table that is its group."""
    count = groups.size
    order = np.lexsort((bits.words(count, np.uint64)[0], groups))  # random within each group
    ordered = groups[order]
    first = np.flatnonzero(np.r_[True, ordered[1:] != ordered[:-1]])
    sizes = np.diff(np.r_[first, count])
    begins = bits.words(first.size, np.uint64)[0] * _WORD
    places = np.arange(count) - np.repeat(first, sizes)
    along = (places + np.repeat(begins, sizes)) / np.repeat(sizes, sizes)
    sums = np.cumsum(conditional, axis=1)
    ends = sums / np.where(sums[:, -1:] > 0.0, sums[:, -1:], 1.0)
    lines = np.arange(len(ends))[:, None] + np.minimum(ends, 1.0)  # one increasing line for all groups
    found = np.searchsorted(lines.ravel(), ordered + along, side="right") - ordered * conditional.shape[1]
    drawn = np.empty(count, dtype=np.int64)
    drawn[order] = np.clip(found, 0, conditional.shape[1] - 1)
    return drawn


def drawn_rows(model: Model, count: int, sizes: Sequence[int], bits: Bits) -> Whole:
    """Rows of the places of the values, one column for each attribute."""
    rows: Whole = np.zeros((count, len(sizes)), dtype=np.int64)
    tree = model.tree
    for clique, common, table in zip(tree.cliques, tree.shared, model.tables(), strict=True):
        new = [i for i in clique if i not in common]
        turned = np.transpose(table, [clique.index(i) for i in (*common, *new)])
        conditional = turned.reshape(math.prod(sizes[i] for i in common), -1)
        drawn = _drawn(conditional, _coded(rows, common, sizes), bits)
        for i in reversed(new):
            rows[:, i], drawn = drawn % sizes[i], drawn // sizes[i]
    return rows
