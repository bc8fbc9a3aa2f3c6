"""Quantiles from noisy counts: where they fall, and how often their intervals hold the truth, whatever the rows."""

from __future__ import annotations

import datetime
import pickle

import numpy as np
import pytest
from scipy.stats import binom

pa = pytest.importorskip("pyarrow")
pytest.importorskip("ibis")

from grid_quantile import grid_quantile  # noqa: E402
from paid import noisy_columns  # noqa: E402

from hush.tables import mean, quantile, table  # noqa: E402

REPEATS = 2000
LEAST = binom.ppf(1e-6, REPEATS, 0.95) / REPEATS  # 92.5 %
_random = np.random.default_rng(20240131)
ROWS = {
    "exponential": np.round(_random.exponential(20.0, 1000), 3),
    "normal": np.round(_random.normal(10.0, 1.0, 1000), 3),
    "spread": np.round(_random.uniform(0.0, 1000.0, 1000), 3),
    "whole": np.minimum(_random.poisson(300, 3000), 1000),
    "middle": np.round(_random.uniform(400.0, 600.0, 20_000), 3),
    "few": np.round(_random.uniform(0.0, 1000.0, 30), 3),
}


class Repeated:
    """One histogram, released many times over."""

    def __init__(self, rows: str, q: float, epsilon: float, **options):
        values = ROWS[rows]
        people = table(pa.table({"who": np.arange(values.size), "x": values}), unit="who")
        plan = people.aggregate(x=grid_quantile("x", q, low=0, high=1000, **options)).plan(epsilon, 1e-6)
        (self.measure,) = plan.query.measures
        exact = plan.query.aggregates().to_arrow()
        columns = {name: exact.column(name).to_numpy() for name in self.measure.bin_columns}
        self.truth = float(self.measure.answer(columns)[0])
        self.before_rounding = float(np.quantile(np.clip(values, 0, 1000), q, method="inverted_cdf"))
        self.step = self.measure.labels[2] - self.measure.labels[1]
        released = noisy_columns({name: np.repeat(column, REPEATS) for name, column in columns.items()}, plan.spent)
        self.value = self.measure.answer(released)
        self.low, self.high = self.measure.interval(released, plan.spent.mechanisms, 0.95)

    def covered(self, truth: float) -> float:
        return float(np.mean((self.low <= truth) & (truth <= self.high)))


CASES = [
    ("exponential", 0.9, 1.0),
    ("exponential", 0.5, 1.0),
    ("normal", 0.95, 1.0),
    ("normal", 0.5, 0.3),
    ("spread", 0.5, 1.0),
    ("spread", 0.1, 0.3),
    ("whole", 0.25, 1.0),
    ("middle", 0.75, 1.0),
    ("middle", 0.001, 1.0),
]


@pytest.mark.parametrize(("rows", "q", "epsilon"), CASES)
def test_intervals_hold_the_truth_and_values_are_near_it(rows, q, epsilon):
    """Intervals of exactly 95 % would hold fewer than LEAST of 2000 truths once in a million.

    The truth is the answer of the exact counts, and also the quantile of the rows before they were rounded to the grid.
    """
    made = Repeated(rows, q, epsilon)
    assert made.covered(made.truth) >= LEAST
    assert made.covered(made.before_rounding) >= LEAST
    assert abs(made.truth - made.before_rounding) <= made.step / 2 + 1e-9
    assert np.all((made.low <= made.value) & (made.value <= made.high))
    if q >= 0.05:
        assert abs(np.median(made.value) - made.truth) <= 2 * made.step


def test_intervals_are_not_the_whole_range():
    """The reviewed case: 1000 rows, of which one in ten is beyond 46; the noise of a whole histogram is about 14
    rows.
    """
    made = Repeated("exponential", 0.9, 1.0)
    assert np.median(made.high - made.low) <= 60.0


def test_few_rows_are_told_from_many():
    """Thirty rows in noise as large: the interval is nearly all of the range, and holds the truth (as above)."""
    made = Repeated("few", 0.5, 0.3)
    assert made.covered(made.truth) >= LEAST
    assert np.all((made.low <= made.value) & (made.value <= made.high))
    assert np.median(made.high - made.low) >= 500.0


@pytest.mark.parametrize("q", [0.0, 1.0])
def test_the_ends(q):
    """Twenty thousand rows in [400, 600]: about 1000 in a bin, so the first (and last) of them is clear in noise of
    10 rows: a value more than two steps away needs the noise of 40 sums to pass three times its size, 5 % of the time
    at most; the median is never there.
    """
    made = Repeated("middle", q, 1.0)
    assert made.truth == (400.0 if q == 0.0 else 600.0)
    assert abs(np.median(made.value) - made.truth) <= made.step
    assert np.mean(np.abs(made.value - made.truth) > 2 * made.step) < 0.2
    assert made.covered(made.truth) >= LEAST
    assert np.all((made.low <= made.value) & (made.value <= made.high))


def test_ends_without_noise_are_those_of_the_rows():
    """A budget so large that the noise is nothing: intervals are the value, within the rounding to the grid; of whole
    numbers on a grid of whole numbers, the value itself."""
    for q, expected in ((0.0, 3.0), (0.5, 5.0), (0.07, 4.0), (1.0, 7.0)):
        people = table(pa.table({"who": range(100), "x": [3] * 6 + [4] * 40 + [5] * 10 + [7] * 44}), unit="who")
        made = people.aggregate(x=grid_quantile("x", q, low=0, high=20)).plan(30.0, 1e-6).answer(ledger=None)
        assert (made["x_low"][0], made["x"][0], made["x_high"][0]) == (expected,) * 3
    made = Repeated("middle", 0.75, 30.0)
    assert set(made.value) == {made.truth}
    assert set(made.low) == {made.truth - made.step / 2} and set(made.high) == {made.truth + made.step / 2}


@pytest.mark.parametrize("q", [0.1, 0.5, 0.9])
def test_the_place_is_that_of_the_isotonic_regression(q):
    """The switch relation against pooled adjacent violators, on noisy running sums."""
    made = Repeated("few", q, 1.0)
    counts = np.random.default_rng(5).normal(3.0, 8.0, (200, made.measure.bins))
    for row, place in zip(counts, made.measure.answer.place(counts), strict=True):
        running = np.cumsum(row)
        blocks: list[tuple[float, int]] = []
        for value in running:
            blocks.append((value, 1))
            while len(blocks) > 1 and blocks[-2][0] >= blocks[-1][0]:
                (a, m), (b, n) = blocks[-2:]
                blocks[-2:] = [((a * m + b * n) / (m + n), m + n)]
        fitted = np.concatenate([np.full(n, v) for v, n in blocks])
        reached = np.flatnonzero(fitted >= q * max(running[-1], 0.0))
        assert place == (reached[0] if reached.size else fitted.size - 1)


def test_executors_can_be_sent_it():
    answer = Repeated("whole", 0.5, 1.0).measure.answer
    assert pickle.loads(pickle.dumps(answer)) == answer


def test_an_empty_table_has_an_answer():
    people = table(pa.table({"who": pa.array([], pa.int64()), "x": pa.array([], pa.float64())}), unit="who")
    for q in (0.0, 0.5, 1.0):
        made = people.aggregate(x=grid_quantile("x", q, low=0, high=20)).plan(1.0, 1e-6).answer(ledger=None)
        assert 0.0 <= made["x_low"][0] <= made["x"][0] <= made["x_high"][0] <= 20.0


def test_dates():
    """Dates, or days since 1970 of a mean; bounds of dates may be found, to the year."""
    days = [datetime.date(2024, 1, 1) + datetime.timedelta(days=i % 31) for i in range(3000)]
    people = table(pa.table({"who": range(3000), "day": days}), unit="who")
    ends = {"low": datetime.date(2024, 1, 1), "high": datetime.date(2024, 1, 31)}
    made = people.aggregate(d=quantile("day", 0.5, **ends)).plan(100.0, 1e-6).answer(ledger=None)
    assert made.table.column("d").to_pylist() == [datetime.date(2024, 1, 16)]
    for asked in (
        grid_quantile("day", 0.5, low="private", high="private", bins=400),
        mean("day", low="private", high="private"),
    ):
        found = people.aggregate(d=asked).plan(100.0, 1e-6, family="laplace").answer(ledger=None)
        assert found.receipt["bounds_found"] == {"d": ["2024-01-01", "2025-01-01"]}
        day = found["d"].astype(np.float64)[0]
        assert abs(day - (datetime.date(2024, 1, 16) - datetime.date(1970, 1, 1)).days) <= 1
