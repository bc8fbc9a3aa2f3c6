"""The rows of a fit: every engine keeps the same rows and gives the same numbers."""

from __future__ import annotations

import math
from collections import Counter, defaultdict
from unittest.mock import patch

import numpy as np
import pyarrow as pa
import pytest

import hush.tables
from hush.learn import LogisticRegression, Ridge
from hush.ledger.payment import Draws
from hush.sampling.entropy import DeterministicTestEntropy


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


class Repeated(DeterministicTestEntropy):
    """The same bits again, under a false name: what is learned from is made up here."""

    secure = True


def released(fit) -> list[list[int]]:
    """All integers that a fit releases, with their noise."""
    found, real = [], Draws.add

    def add(draws, steps):
        noisy = real(draws, steps)
        found.append(noisy.ravel().tolist())
        return noisy

    with patch.object(Draws, "add", add):
        fit()
    return found


@pytest.mark.parametrize("kind", [Ridge, LogisticRegression])
def test_a_fit_releases_the_same_integers_as_on_an_array(engine, kind):
    """To the bit, with the same random bits: spreads, products and gradients, whatever the order of the rows."""
    numbers = np.random.default_rng(4)
    X = numbers.normal(size=(300, 2))
    y = (X[:, 0] > 0.0).astype(int) if kind is LogisticRegression else X[:, 0] + 0.1 * numbers.normal(size=300)
    table = engine.table(pa.table({"id": np.arange(300), "a": X[:, 0], "b": X[:, 1], "y": y}), unit="id")
    settings = {"epsilon": 1.0, "delta": 1e-6, "family": "gaussian", "solver": "whitened", "passes": 3}
    settings |= {"target_bounds": (-3.0, 3.0)} if kind is Ridge else {}
    ours = kind(**settings, bounds={"a": (-4.0, 4.0), "b": (-4.0, 4.0)}, entropy=Repeated(7))
    theirs = kind(**settings, bounds=(-4.0, 4.0), entropy=Repeated(7), neighbours="add-remove")
    seen = released(lambda: ours.fit(table, "y", n_rows=300))
    assert seen == released(lambda: theirs.fit(X, y, n_rows=300)) and [len(one) for one in seen[-3:]] == [3, 3, 3]
    np.testing.assert_array_equal(ours.coef_, theirs.coef_)


def test_nan_that_an_engine_lets_through_is_left_out():
    """An engine that misjudges NaN must not bring one into a sum."""
    people = pa.table({"a": [0.5, 0.25, 0.75], "y": [1.0, 0.0, 1.0], "person": [1, 2, 3]})
    blocks = hush.tables.table(people, unit="person", population="people").row_blocks(["a"], "y")
    wrong = pa.record_batch({"a": [0.5, math.nan, 0.75], "y": [math.nan, 0.0, 1.0]})
    with patch.object(type(blocks), "_batches", lambda *_: iter([wrong])):
        assert np.concatenate(list(blocks.blocks())).tolist() == [[0.75, 1.0]]
