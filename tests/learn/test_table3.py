"""The learning experiment of the flipped Huber paper on a small grid: checks of the claims in docs/learn_results.md."""

from __future__ import annotations

import json
import os
from pathlib import Path

import numpy as np
import pytest
from hush_papers.flipped_huber import table3
from hush_papers.flipped_huber.learning_data import NAMES, learning_set

ROOT = Path(__file__).resolve().parents[2]


@pytest.fixture(scope="module")
def folder() -> Path:
    named = os.environ.get("HUSH_DATA")
    found = Path(named) if named else ROOT.parent / "shared" / "data"
    if not (found / "heart.dat").is_file():
        pytest.skip(f"no data sets in {found}: set HUSH_DATA, or put shared/data beside the repository")
    return found


#: rows and columns as the data sets' descriptions give them
SHAPES = {
    "houses": (20_640, 8),
    "wine": (6_497, 11),
    "pumpkin": (2_500, 12),
    "heart": (270, 13),
    "california": (20_640, 8),
    "boston": (506, 13),
    "airfoil": (1_503, 5),
    "diabetes": (442, 10),
}


@pytest.mark.parametrize("name", NAMES)
def test_data_sets_are_read_whole_and_lie_in_their_public_ranges(folder, name):
    """The ranges come from general knowledge; they contain at least 99 % of every column."""
    data = learning_set(name, folder)
    assert data.X.shape == SHAPES[name] and data.y.shape == (SHAPES[name][0],)
    low, high = np.array(data.bounds).T
    assert (np.clip(data.X, low, high) == data.X).mean(axis=0).min() > 0.99
    if data.logistic:
        assert set(np.unique(data.y)) == {0.0, 1.0}
    else:
        assert data.target_bounds is not None
        assert ((data.y >= data.target_bounds[0]) & (data.y <= data.target_bounds[1])).mean() > 0.99


def test_metrics_by_hand(folder):
    """The non-private optimum has squared error 0; the paper's residual metric is that of numpy's least squares
    when the penalty is small."""
    data = learning_set("airfoil", folder)
    split = table3._split(data, 0)
    off, test = table3._errors(data, split, split.optimum)
    assert off == 0.0
    free = np.linalg.lstsq(split.X, split.y, rcond=None)[0]
    by_hand = np.sum((split.y_test - split.X_test @ free) ** 2) / np.sum(split.y_test**2)
    assert test == pytest.approx(by_hand, abs=0.02)
    assert table3._errors(data, split, 2.0 * split.optimum)[0] == pytest.approx(1.0)


def test_a_row_of_the_table(folder):
    """Quick grid on Heart: the zCDP route's flipped Huber noise is the Gaussian there, and exact accounting has less
    noise for it.
    """
    data = learning_set("heart", folder)
    splits = [table3._split(data, 0)]
    rows = {kind[0]: table3.row(data, "heart", kind, splits, quick=True) for kind in table3.KINDS[1:3]}
    assert rows["flipped Huber, zCDP"].family == "Gaussian"
    assert all(0.0 < row.fresh_squared_error < 3.0 and 0.0 < row.fresh_test_error < 0.6 for row in rows.values())
    noises = []
    for accounting in ("zcdp", "exact"):
        model = table3._model(data, len(splits[0].y), epsilon=1.0, family="gaussian", accounting=accounting, passes=5)
        noises.append(model.fit(splits[0].X, splits[0].y).noise_.variance)
        assert not model.guarantee_.holds and "from the data" in model.receipt_["leaks"][0]
    delta = 1.0 / len(splits[0].y) ** 2
    assert noises[1] / noises[0] == pytest.approx(0.562, abs=0.002), (
        f"the saving at epsilon 1, delta {delta:g} on Heart"
    )


def test_the_page_shows_the_stored_results():
    """docs/learn_results.md contains the numbers of the stored run, for every data set and kind."""
    text = (ROOT / "docs" / "learn_results.md").read_text()
    rows = [json.loads(line) for line in table3.stored().read_text().splitlines()]
    assert {(row["name"], row["kind"]) for row in rows} == {(name, kind[0]) for name in NAMES for kind in table3.KINDS}
    for row in rows:
        assert f"{row['squared_error']:.3g} ({row['fresh_squared_error']:.3g})" in text, f"{row['name']}, {row['kind']}"
