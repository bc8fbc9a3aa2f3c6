"""Columns that are equal by construction are measured once: what that saves, what is said of it, and what it never
merges.
"""

from __future__ import annotations

import dataclasses

import ibis
import numpy as np
import pyarrow as pa
import pytest
from grid_quantile import grid_quantile
from paid import noisy_columns
from scipy.stats import binom

import hush
from hush import tables
from hush.tables import count, count_units, histogram, mean, quantile, variance

pytestmark = pytest.mark.filterwarnings("ignore::DeprecationWarning")  # Ibis 12 on DuckDB 2

STAY = {"low": 0, "high": 30}


@pytest.fixture(scope="module")
def visits() -> tables.Table:
    return tables.table(tables.sample("visits", 5000), unit="patient_id")


@pytest.fixture(scope="module")
def complete(visits) -> tables.Table:
    """The same rows: the filters say that no stay, age or cost is missing."""
    return visits.filter(visits["stay_days"] >= 0, visits["age"].notnull(), visits["cost"] < 1e9)


def moved(query: tables.Query) -> int:
    """How many numbers one person moves in one group."""
    return query.plan(1.0, 0.0, family="laplace", limits_share=0.0).spent.plan.sensitivity.l0 // query.grouping.groups


# -- what is shared ------------------------------------------------------------------------------------------

SHARED = {
    "people, twice": ({"a": count_units(), "b": count_units()}, 1),
    "people and one row each": ({"n": count(), "people": count_units()}, 1),
    "rows, twice": ({"a": count(rows_per_unit=3), "b": count(rows_per_unit=3)}, 1),
    "a count and a mean": ({"n": count(), "m": mean("stay_days", **STAY)}, 2),
    "means of two columns": ({"m": mean("stay_days", **STAY), "a": mean("age", low=0, high=100)}, 3),
    "mean, variance and sum": (
        {
            "s": tables.sum("stay_days", **STAY, rows_per_unit=2),
            "m": mean("stay_days", **STAY, rows_per_unit=2),
            "v": variance("stay_days", **STAY, rows_per_unit=2),
        },
        3,
    ),
    "a person's totals, twice": ({"a": tables.sum("cost", low=0, high=9), "b": tables.sum("cost", low=0, high=9)}, 1),
    "three quantiles": ({f"q{i}": grid_quantile("age", i / 4, low=0, high=100, bins=20) for i in (1, 2, 3)}, 1),
    "a list of quantiles": ({"q": grid_quantile("age", [0.25, 0.5, 0.75], low=0, high=100, bins=20)}, 1),
    "histogram and quantiles": (
        {"h": histogram("age", edges=[0, 40, 80, 120]), "q": quantile("age", [0.1, 0.9], edges=[0, 40, 80, 120])},
        1,
    ),
    "categories, twice": ({name: histogram("ward", categories=["burns", "surgery"]) for name in "ab"}, 1),
}


@pytest.mark.parametrize("name", SHARED)
def test_equal_columns_are_charged_once(complete, name):
    aggregates, expected = SHARED[name]
    query = complete.group_by("ward", keys=["surgery", "burns"], groups_per_unit=2).aggregate(**aggregates)
    assert moved(query) == expected


APART = {
    "other row limits": {"a": count(rows_per_unit=2), "b": count(rows_per_unit=3)},
    "people and two rows each": {"a": count_units(), "b": count(rows_per_unit=2)},
    "two rows and a mean of one": {"a": count(rows_per_unit=2), "b": mean("stay_days", **STAY)},
    "other bounds": {"a": tables.sum("cost", low=0, high=9), "b": tables.sum("cost", low=0, high=10)},
    "other bins": {
        "a": grid_quantile("age", 0.5, low=0, high=100, bins=20),
        "b": grid_quantile("age", 0.5, low=0, high=100, bins=22),
    },
    "other edges": {"a": histogram("age", edges=[0, 40, 80]), "b": histogram("age", edges=[0, 40, 90])},
    "other rows of bins": {
        "a": histogram("age", edges=[0, 40, 80]),
        "b": quantile("age", 0.5, edges=[0, 40, 80], rows_per_unit=2),
    },
    "clipped and dropped": {
        "a": grid_quantile("age", 0.5, low=0, high=3, bins=6),
        "b": histogram("age", edges=[0, 1, 2, 3, 4]),
    },
    "a sum of totals and a mean": {"a": tables.sum("stay_days", **STAY), "b": mean("stay_days", **STAY)},
    "a sum of other rows": {"a": tables.sum("stay_days", **STAY, rows_per_unit=2), "b": mean("stay_days", **STAY)},
    "other categories": {
        "a": histogram("ward", categories=["burns", "surgery"]),
        "b": histogram("ward", categories=["surgery", "burns"]),
    },
}


@pytest.mark.parametrize("name", APART)
def test_other_columns_stay_apart(complete, name):
    query = complete.aggregate(**APART[name])
    assert query.shared == {} and moved(query) == query.sensitivity.l0


def test_where_values_may_be_missing_counts_stay_apart(visits):
    assert visits.aggregate(n=count(), m=mean("stay_days", **STAY), a=mean("age", low=0, high=100)).shared == {}


def test_a_schema_without_nulls_is_enough():
    backend = ibis.duckdb.connect()
    backend.raw_sql("CREATE TABLE t (who BIGINT NOT NULL, x INTEGER NOT NULL, y DOUBLE NOT NULL, z INTEGER)")
    t = tables.table(backend.table("t"), unit="who")
    query = t.aggregate(n=count(), **{name: mean(name, low=0, high=9) for name in "xyz"})
    assert query.shared == {"x.count": "n"}  # y may be NaN, z may be null


# -- private keys --------------------------------------------------------------------------------------------


@pytest.mark.parametrize(
    ("aggregates", "columns", "decides"),
    [
        ({"n": count()}, 1, "n"),
        ({"n": count(), "people": count_units()}, 1, "n"),
        ({"people": count_units(), "again": count_units()}, 1, "people"),
        ({"m": mean("stay_days", **STAY)}, 2, "m.count"),
        ({"n": count(rows_per_unit=2)}, 2, ".units"),
        ({"m": mean("stay_days", **STAY, rows_per_unit=2)}, 3, ".units"),
    ],
)
def test_the_threshold_uses_a_column_that_is_there(complete, aggregates, columns, decides):
    """The number of people that decides which groups are shown is not measured a second time."""
    query = complete.group_by("ward", keys="private", groups_per_unit=3).aggregate(**aggregates)
    plan = query.plan(2.0, 1e-6, family="laplace", limits_share=0.0)
    assert plan.spent.plan.sensitivity.l0 == 3 * columns and plan.spent.units == decides
    made = plan.answer(ledger=None)
    people = made.released.to_pydict()[decides]
    assert len(made) > 3 and min(people) >= made.receipt["threshold"]
    if decides == "m.count":
        assert "the threshold" in made.receipt["shared"][0] and ".units" not in repr(made)


def test_bounds_to_be_found_are_found_once(visits):
    """Both histograms of magnitudes are one, so both get the same bounds and have the same sums. A mean with declared
    bounds stays apart, even if these turn out to be the same.
    """
    private = {"low": "private", "high": "private"}
    query = visits.aggregate(
        m=mean("stay_days", **private), v=variance("stay_days", **private), s=mean("stay_days", low=0.0, high=64.0)
    )
    assert query.search.shared and set(query.search.shared.values()) == set(query.search.measures[0].bin_columns)
    plan = query.plan(50.0, 1e-6, family="laplace")
    assert plan.shares.bounds.plan.sensitivity.l0 == 1
    assert plan.spent.shared == {"v.sum": "m.sum", "v.count": "m.count"}
    made = plan.answer(ledger=None)
    assert made.receipt["bounds_found"]["m"] == made.receipt["bounds_found"]["v"]
    released = made.released.to_pydict()
    assert released["m.sum"] == released["v.sum"] and released["m.sum"] != released["s.sum"]
    assert made.receipt["shared"] == ["m and v share 2 noisy columns"]


def test_bins_with_bounds_to_be_found_stay_apart(visits):
    """31 and 33 bins are one grid for a range of 1, but not for a range of 30. Other columns are searched apart."""
    private = {"low": "private", "high": "private"}
    a, b = (grid_quantile("stay_days", 0.5, **private, bins=bins) for bins in (31, 33))
    query = visits.aggregate(a=a, b=b, c=a, m=mean("stay_days", **private), n=mean("age", **private))
    assert len({measure.bins for measure in query.measures[:3]}) == 1 and query.shared == {}
    plan = query.plan(50.0, 1e-6, family="laplace")
    assert plan.shares.bounds.plan.sensitivity.l0 == 2
    made = plan.answer(ledger=None)
    assert made.receipt["bounds_found"]["a"] == made.receipt["bounds_found"]["b"]


def test_columns_that_turn_out_to_differ_are_not_released(visits, monkeypatch):
    """Search and placeholders are the same. An aggregate whose columns differ for other bounds is caught."""
    from hush.tables.means import Mean

    honest = Mean.prepare

    def dependent(self, name, relation, limits):
        made = honest(self, name, relation, limits)
        return made if name == "m" or self.high <= 1 else dataclasses.replace(made, value=made.value + 1)

    monkeypatch.setattr(Mean, "prepare", dependent)
    private = {"low": "private", "high": "private"}
    query = visits.aggregate(m=mean("stay_days", **private), n=mean("stay_days", **private))
    plan = query.plan(50.0, 1e-6, family="laplace")
    assert plan.spent.shared == {"n.sum": "m.sum", "n.count": "m.count"}
    with pytest.raises(hush.errors.QueryFailed, match="the reason is hidden"):
        plan.answer(ledger=None)


def test_a_sum_with_bounds_to_be_found_has_its_own_column(visits):
    """Even where the bounds that are found equal those of a mean: the plan was charged for both."""
    query = visits.aggregate(
        s=tables.sum("stay_days", low="private", high="private", rows_per_unit=1),
        **{f"m{high}": mean("stay_days", low=0.0, high=float(high)) for high in (16, 32, 64)},
    )
    plan = query.plan(50.0, 1e-6, family="laplace")
    made = plan.answer(ledger=None)
    assert made.receipt["bounds_found"]["s"][1] in (16.0, 32.0, 64.0)
    assert {"s"} <= set(made.released.column_names) and len(plan.spent.mechanisms) == 7


# -- what it saves -------------------------------------------------------------------------------------------


def test_the_noise_of_all_columns_becomes_smaller(complete):
    """The example of docs/tables.md: four numbers in a group instead of ten. The variance of Laplace noise falls with
    the square of their number, that of Gaussian noise in proportion to it.
    """
    asked = {
        "rows": count(),
        "stay": mean("stay_days", **STAY),
        "spread": variance("stay_days", **STAY),
        "days": tables.sum("stay_days", **STAY, rows_per_unit=1),
        "quartiles": grid_quantile("stay_days", [0.25, 0.5, 0.75], **STAY, bins=18),
    }
    wards = complete.group_by("ward", keys=["surgery", "burns"], groups_per_unit=2)
    query = wards.aggregate(**asked)
    alone = {name: moved(wards.aggregate(**{name: measure})) for name, measure in asked.items()}
    assert alone == {"rows": 1, "stay": 2, "spread": 3, "days": 1, "quartiles": 1}
    on_its_own = sum(alone.values()) + 2  # three quartiles, each with a histogram
    assert (moved(query), on_its_own) == (4, 10)
    for family, delta, once, apart in (("gaussian", 1e-6, 142.8, 357.0), ("laplace", 0.0, 128.0, 800.0)):
        spent = query.plan(1.0, delta, family=family, limits_share=0.0).spent
        assert spent.plan.variance == pytest.approx(once, rel=1e-3)
        other = hush.calibrate(1.0, delta, hush.Sensitivity(linf=1.0, l0=2 * on_its_own), family=family)
        assert other.variance == pytest.approx(apart, rel=1e-3)
        assert spent.mechanisms["rows"].noise.variance == pytest.approx(once, rel=1e-3)


@pytest.mark.parametrize(("low", "high"), [(0, 30), (-15, 15), (20, 30), (-30, 10)])
def test_a_sum_beside_a_mean_is_more_accurate(complete, low, high):
    """Than a sum with a column of its own in the same query, for bounds of every kind."""
    bounds = {"low": low, "high": high, "rows_per_unit": 1}
    alone = complete.aggregate(s=tables.sum("stay_days", **bounds), n=count(), m=mean("age", low=0, high=100))
    beside = complete.aggregate(s=tables.sum("stay_days", **bounds), n=count(), m=mean("stay_days", **bounds))
    apart, together = (query.plan(1.0, 0.0, family="laplace").errors()["s"] for query in (alone, beside))
    assert together < apart


def test_a_sum_beside_a_mean_is_right(complete):
    """The same sum from the exact columns; its intervals hold it as often as they say (false alarm 1e-6), and the test
    refuses noise of 3/2 the scale. Noise of 2/3 the scale misses less than it may.
    """
    query = complete.aggregate(m=mean("stay_days", **STAY), s=tables.sum("stay_days", **STAY, rows_per_unit=1))
    alone = complete.aggregate(s=tables.sum("stay_days", **STAY, rows_per_unit=1))
    salt, measure = bytes(32), query.measures[1]
    exact, own = (q.aggregates(salt=salt).to_arrow().to_pydict() for q in (query, alone))
    truth = measure.answer({name: np.array(column) for name, column in exact.items()})[0]
    assert truth == pytest.approx(alone.measures[0].answer({"s": np.array(own["s"])})[0], abs=2 * 30 / 2**20)
    planned = {scale: query.plan(scale, 0.0, family="laplace", limits_share=0.0).spent for scale in (2.0, 3.0, 4.5)}
    missed = {}
    for scale, spent in planned.items():
        released = noisy_columns({name: np.repeat(column, 20_000) for name, column in exact.items()}, spent)
        low, high = measure.interval(released, planned[3.0].mechanisms, 0.95)
        missed[scale] = int(((low > truth) | (truth > high)).sum())
    least, most = binom.ppf(1e-6, 20_000, 0.9 * 0.05), binom.isf(1e-6, 20_000, 0.05)
    assert missed[4.5] < least <= missed[3.0] <= most < missed[2.0]


# -- weights -------------------------------------------------------------------------------------------------


def test_a_shared_column_has_the_largest_weight(complete):
    """A weight of an aggregate counts for all of its columns, also for those that another one names first."""
    query = complete.aggregate(n=count(), v=variance("stay_days", **STAY), m=mean("stay_days", **STAY))
    made = query.plan(1.0, 0.0, family="laplace", weights={"m": 4.0}).spent.sources
    sizes = {name: each.noise.variance / each.sensitivity.linf**2 for name, each in made.items()}
    assert made["n"] is made["m.count"] is made["v.count"] and made["v.sum"] is made["m.sum"]
    assert sizes["v.sum"] == pytest.approx(sizes["n"], rel=1e-6)
    assert sizes["v.square"] == pytest.approx(16 * sizes["n"], rel=1e-6)
    bound = query.plan(1.0, 0.0, family="laplace", weights={"m": 4.0}).spent.plan.sensitivity
    assert sorted(bound.linf) == [1.0, 4.0, 4.0]


# -- what is said --------------------------------------------------------------------------------------------


def test_plan_receipt_and_statement_say_what_is_shared(complete):
    query = complete.aggregate(
        n=count(),
        m=mean("stay_days", **STAY),
        v=variance("stay_days", **STAY),
        q=grid_quantile("age", [0.25, 0.75], low=0, high=100, bins=20),
    )
    plan = query.plan(3.0, 1e-6, family="laplace")
    expected = [
        "the answers of q use the same noisy counts",
        "n, m and v share 1 noisy column",
        "m and v share 1 noisy column",
    ]
    made = plan.answer(ledger=None)
    assert made.receipt["shared"] == expected
    for text in (repr(plan), repr(made), str(hush.report.statement(made))):
        joined = " ".join(text.split())
        assert all(words in joined for words in expected)
    assert "not independent" in repr(made) and "not independent" in str(hush.report.statement(made))
    released = made.released.to_pydict()
    assert released["n"] == released["m.count"] == released["v.count"] and released["m.sum"] == released["v.sum"]


def test_nothing_is_said_where_nothing_is_shared(visits):
    plan = visits.aggregate(n=count(), m=mean("stay_days", **STAY)).plan(3.0, 1e-6, family="laplace")
    made = plan.answer(ledger=None)
    assert made.receipt["shared"] == [] and "shared" not in repr(made) and "measured once" not in repr(plan)
    older = hush.Receipt({name: value for name, value in made.receipt.items() if name != "shared"})
    assert "measured once" not in str(hush.report.statement(older))


def test_one_draw_serves_all(complete):
    """Payments are opened for the first of equal columns only."""
    query = complete.aggregate(a=count_units(), b=count_units(), q=quantile("age", 0.5, edges=[0, 50, 100]))
    spent = dataclasses.replace(query.plan(3.0, 1e-6, family="laplace").spent)
    from hush.ledger import unaccounted

    assert set(spent.open(unaccounted(spent.charge), "answers")) == {"a", "q.0", "q.1"}


def test_frames_of_other_libraries_still_work():
    """A schema that forbids nulls does not survive a frame; nothing is claimed of it."""
    schema = pa.schema([pa.field("who", pa.int64(), nullable=False), pa.field("x", pa.int64(), nullable=False)])
    rows = pa.table({"who": [1, 2], "x": [1, 2]}, schema=schema)
    assert tables.table(rows, unit="who").aggregate(n=count(), m=mean("x", low=0, high=9)).shared == {}
