"""The rows of a fit: every engine keeps the same rows and gives the same numbers."""

from __future__ import annotations

import math
from collections import Counter, defaultdict

import numpy as np
import pytest


def usable(rows):
    """The rows with a value in all three columns, as numbers."""
    for row in rows:
        values = [row["cost"], row["stay"], row["fee"]]
        if None not in values and not any(math.isnan(float(value)) for value in values):
            yield row["who"], tuple(float(value) for value in values)


@pytest.mark.parametrize("most", [1, 3])
def test_rows_of_a_fit(engine, visits, rows, most):
    blocks = visits.row_blocks(["cost", "stay"], "fee", rows_per_unit=most)
    found = Counter(tuple(row) for block in blocks.blocks(64) for row in block.tolist())
    again = Counter(tuple(row) for block in blocks.blocks(7) for row in block.tolist())
    each = defaultdict(list)
    for who, values in usable(rows):
        if who is not None:
            each[who].append(values)
    assert found == again and blocks.count() == sum(min(most, len(theirs)) for theirs in each.values())
    assert sum(found.values()) == blocks.count() and not found - Counter(v for theirs in each.values() for v in theirs)


def test_labels_and_rows_without_a_unit(engine, visits, rows):
    blocks = visits.row_blocks(["stay"], "urgent", classes=(False, True), weight="floor", rows_per_unit=100_000)
    found = np.concatenate(list(blocks.blocks()))
    expected = [
        (float(row["stay"]), float(row["urgent"]), float(row["floor"]))
        for row in rows
        if None not in (row["stay"], row["urgent"], row["floor"], row["who"])
    ]
    assert Counter(map(tuple, found.tolist())) == Counter(expected)
    named = visits.row_blocks(["stay"], "ward", classes=("é", "A"), rows_per_unit=100_000)
    found = np.concatenate(list(named.blocks()))
    expected = [
        (float(row["stay"]), float(row["ward"] == "A"))
        for row in rows
        if row["ward"] in ("é", "A") and row["stay"] is not None and row["who"] is not None
    ]
    assert Counter(map(tuple, found.tolist())) == Counter(expected)
