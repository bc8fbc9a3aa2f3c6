"""Bounds found privately: right at every magnitude, for both signs and for dates, or the answer is unknown and says
so.
"""

from __future__ import annotations

import datetime
import itertools

import numpy as np
import pytest
from effort import thinned

pa = pytest.importorskip("pyarrow")
pytest.importorskip("ibis")

from grid_quantile import grid_quantile  # noqa: E402

import hush  # noqa: E402
from hush import tables  # noqa: E402
from hush.tables import count_units, mean, quantile, table  # noqa: E402
from hush.tables.private_bounds import DATES, NUMBERS  # noqa: E402

PEOPLE = 4000
_random = np.random.default_rng(11)


@pytest.fixture(autouse=True)
def _quiet(monkeypatch):
    """Counts without noise: with it one of some 1,700 empty bins rises above the threshold in one run of a hundred."""
    monkeypatch.setattr("hush.ledger.payment.Draws.add", lambda draws, steps: steps)


def asked(values, measure=mean, **options):
    people = table(pa.table({"who": range(len(values)), "x": values}), unit="who")
    query = people.aggregate(x=measure("x", low="private", high="private", **options), n=count_units())
    return query.plan(4.0, 1e-6, family="laplace").answer(ledger=None)


def test_edges_are_increasing_and_hold_every_number():
    assert all(a < b for a, b in itertools.pairwise(NUMBERS)) and [-x for x in reversed(NUMBERS)] == NUMBERS
    assert NUMBERS[-1] == np.finfo(float).max and 0.0 in NUMBERS
    assert all(a < b for a, b in itertools.pairwise(DATES)) and (DATES[0], DATES[-1]) == (
        datetime.date.min,
        datetime.date.max,
    )


SIZES = [1e-250, 3e-13, 1e-7, 1.0, 4e9, 1.3e12, 2.1e18, 7e30]


@pytest.mark.parametrize(("size", "sign"), thinned(itertools.product(SIZES, [1.0, -1.0]), 6))
def test_the_range_holds_the_values_and_the_interval_the_mean(size, sign):
    """All values are in the range, and the 99.9999 % interval holds their mean (false alarm 1e-6 each)."""
    values = sign * _random.uniform(size, 1.5 * size, PEOPLE)
    people = table(pa.table({"who": range(PEOPLE), "x": values}), unit="who")
    plan = people.aggregate(x=mean("x", low="private", high="private")).plan(4.0, 1e-6, family="laplace")
    made = plan.answer(ledger=None, level=1.0 - 1e-6)
    low, high = made.receipt["bounds_found"]["x"]
    assert low <= values.min() and values.max() <= high
    assert made["x_low"][0] <= values.mean() <= made["x_high"][0]


def test_both_signs():
    made = asked(_random.normal(0.0, 1e13, PEOPLE))
    low, high = made.receipt["bounds_found"]["x"]
    assert -(2.0**46) <= low <= -2e13 and 2e13 <= high <= 2.0**46


def test_nanoseconds_as_whole_numbers():
    made = asked(pa.array(_random.integers(1_600_000_000_000_000_000, 1_700_000_000_000_000_000, PEOPLE), pa.int64()))
    assert made.receipt["bounds_found"]["x"] == [2.0**60, 2.0**61]
    assert 1.6e18 < made["x"][0] < 1.7e18


def test_dates_to_the_year():
    days = [datetime.date(1961, 5, 1) + datetime.timedelta(days=int(d)) for d in _random.integers(0, 9000, PEOPLE)]
    for made in (asked(days), asked(days, measure=lambda column, **ends: quantile(column, 0.5, **ends))):
        assert made.receipt["bounds_found"]["x"] == ["1961-01-01", "1986-01-01"]
        assert abs(made["x"].astype(float)[0] - (datetime.date(1973, 8, 26) - datetime.date(1970, 1, 1)).days) < 400
        assert "1961-01-01" in repr(made)


def test_timestamps_are_refused_with_what_to_write():
    people = table(pa.table({"who": [1], "x": pa.array([0], pa.timestamp("ns"))}), unit="who")
    with pytest.raises(hush.InvalidParameter, match=r"epoch_seconds"):
        people.aggregate(x=mean("x", low="private", high="private"))


@pytest.mark.parametrize(
    "values", [np.full(20, 3.0), np.full(PEOPLE, 1e300), np.full(PEOPLE, -np.inf), np.full(PEOPLE, np.nan)]
)
def test_where_no_range_is_found_the_answer_is_unknown(values, tmp_path):
    """Too few rows, beyond 2^448, infinite or none: null in the table and the file, said in print, and the other
    answers stand.
    """
    made = asked(values)
    assert made.receipt["bounds_found"] == {"x": None}
    assert made.to_arrow().column("x").to_pylist() == [None] == made.to_arrow().column("x_low").to_pylist()
    assert "unknown" in repr(made) and "no range was found" in repr(made) and "[0.0, 1.0]" not in repr(made)
    assert abs(made["n"][0] - len(values)) < 50
    made.to_csv(tmp_path / "a.csv")
    assert not [share for share in made.left_out["shares"] if "outside" in share["what"]] if made.left_out else True
    assert str(hush.report.statement(made))


def test_infinities_do_not_stretch_the_range():
    values = np.where(_random.random(PEOPLE) < 0.1, np.inf, _random.uniform(1.0, 2.0, PEOPLE))
    assert asked(values).receipt["bounds_found"]["x"] == [1.0, 2.0]


def test_sums_of_rows_too():
    made = asked(_random.uniform(5.0, 7.0, PEOPLE), measure=tables.sum, rows_per_unit=1)
    assert made.receipt["bounds_found"]["x"] == [4.0, 8.0] and abs(made["x"][0] - 6.0 * PEOPLE) < 300


def test_what_is_charged_covers_whatever_bounds_are_found():
    """The number of a quantile's bins follows its bounds; how many of them a person reaches is fixed before."""
    people = table(pa.table({"id": np.arange(50), "x": np.arange(50.0)}), unit="id")
    query = people.aggregate(q=grid_quantile("x", 0.5, low="private", high="private", bins=10, rows_per_unit=9))
    charged = query.plan(1.0, 1e-6, family="laplace").spent.plan.sensitivity.l0
    for bounds in ((0.0, 1.0), (0.0, 4.0), (-7.0, 512.0)):
        assert query.with_bounds({"q": bounds}).sensitivity.l0 <= charged
