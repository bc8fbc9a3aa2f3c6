"""What limits leave out is told as what it is: an average over people, which is not the share of all rows."""

from __future__ import annotations

import numpy as np
import pandas as pd
import pytest

import hush
from hush import tables
from hush.tables.left_out import left_out_lines


def test_the_average_over_people_is_named_and_is_below_the_share_of_all_rows() -> None:
    """90 people with one row and 10 with fifty: an analyst who scaled by 1 / (1 - 0.09) missed most of the rows."""
    rows = pd.DataFrame({"id": [*range(90), *np.repeat(np.arange(90, 100), 50)]})
    query = tables.table(rows, unit="id").aggregate(n=tables.count(rows_per_unit=5))
    with hush.Ledger(None, epsilon=2_000.0, delta=0.0) as ledger:
        answer = query.plan(1_000.0, 0.0, family="laplace", limits_share=0.5).answer(ledger=ledger)
    (share,) = answer.receipt["left_out"]["shares"]
    assert share["share"] == pytest.approx(0.09, abs=0.01)
    (line,) = left_out_lines(answer.receipt)
    assert "on average over people" in line and "of all rows it is usually more" in line


def test_in_one_group_the_share_of_all_rows_is_never_smaller() -> None:
    """The claim of the words, for random numbers of rows and limits: Chebyshev's inequality on sums."""
    draw = np.random.default_rng(3)
    for _ in range(2_000):
        n, most = draw.geometric(draw.uniform(0.02, 0.9), draw.integers(1, 40)), draw.integers(1, 30)
        unused = np.maximum(n - most, 0)
        assert np.mean(unused / n) <= unused.sum() / n.sum() + 1e-12
