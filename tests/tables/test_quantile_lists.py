"""Several quantiles from one histogram, and quantiles from the bins of a histogram."""

from __future__ import annotations

import datetime
import json
import pickle

import numpy as np
import pyarrow as pa
import pytest
from grid_quantile import grid_quantile
from hypothesis import given, settings
from hypothesis import strategies as st

import hush
from hush import InvalidParameter
from hush.cli import main
from hush.tables import count, histogram, quantile, sample, table
from hush.tables.quantile_estimate import QuantileOf, QuantilesOf
from hush.tables.quantiles import level_name

QUARTILES = [0.25, 0.5, 0.75]


@pytest.fixture(scope="module")
def visits():
    return table(sample("visits", 5000), unit="patient_id")


def estimate(levels, bins=9):
    names, labels = tuple(f"q.{i}" for i in range(bins)), tuple(float(i) for i in range(bins))
    cells = tuple((label, label) for label in labels)
    return QuantilesOf(tuple(QuantileOf(names, q, labels, cells) for q in levels))


# -- names ---------------------------------------------------------------------------------------------------


def test_names_are_in_per_cent():
    levels = {0.5: "q50", 0.25: "q25", 0.0: "q0", 1.0: "q100", 0.125: "q12_5", 0.005: "q0_5", 0.999: "q99_9"}
    assert {q: level_name(q) for q in levels} == levels
    assert level_name(1e-7) == "q0_00001" and level_name(0.1 + 0.2) == "q30_000000000000004"


@given(st.lists(st.floats(0.0, 1.0), min_size=2, max_size=9, unique=True))
def test_different_levels_have_different_names(levels):
    assert len({level_name(abs(q)) for q in levels}) == len({abs(q) for q in levels})


def test_the_answer_has_a_column_for_each_level_in_the_order_of_the_list(visits):
    query = visits.aggregate(ages=quantile("age", [0.75, 0.25, 0.5], low=0, high=100), n=count())
    made = query.plan(30.0, 1e-6, family="laplace").answer(ledger=None)
    assert made.names == ("ages_q75", "ages_q25", "ages_q50", "n")
    assert made["ages_q25"][0] <= made["ages_q50"][0] <= made["ages_q75"][0]
    for name in made.names:
        assert made[f"{name}_low"][0] <= made[name][0] <= made[f"{name}_high"][0]
    assert made.receipt["aggregates"]["ages"] == "quantile"


def test_names_that_collide_are_refused(visits):
    both = quantile("age", QUARTILES, low=0, high=100)
    with pytest.raises(InvalidParameter, match="'ages_q25' and 'ages_q25'"):
        visits.aggregate(ages=both, ages_q25=count())
    with pytest.raises(InvalidParameter, match="too much alike"):
        visits.aggregate(ages=both, Ages_Q25=count())
    with pytest.raises(InvalidParameter, match="too much alike"):
        visits.aggregate(ages=both, ages_q50_low=count())
    with pytest.raises(InvalidParameter, match="same name as a grouping column"):
        visits.group_by("age", keys=[1, 2], groups_per_unit=1).aggregate(age=both)


@pytest.mark.parametrize(
    ("q", "message"),
    [
        ([], "q must be 1 to 100 levels, got 0"),
        (np.linspace(0, 1, 101), "q must be 1 to 100 levels, got 101"),
        ([0.5, 0.25, 0.5], "q lists a level twice, at place"),
        ([0.5, 1.5], "q must be a number from 0 to 1"),
        ([0.5, 1.0], r"ask twice: ends=quantile\('cost', q=\[1.0\], ...\)"),
        ([0.5, float("nan")], "q must be a number from 0 to 1"),
        ([0.5, None], "q must be a number from 0 to 1, got None"),
        ([[0.5]], "q must be a number from 0 to 1"),
        ("0.5,0.75", "q must be a number from 0 to 1"),
    ],
)
def test_bad_levels(q, message):
    with pytest.raises(InvalidParameter, match=message):
        quantile("age", q, low=0, high=100)


# -- order ---------------------------------------------------------------------------------------------------


@settings(max_examples=300)
@given(
    counts=st.lists(st.integers(-40, 40), min_size=9, max_size=9),
    levels=st.lists(st.sampled_from([0.0, 0.01, 0.1, 0.25, 1 / 3, 0.5, 0.75, 0.9, 1.0]), min_size=1, unique=True),
    step=st.sampled_from([1.0, 0.125, 1.0 / 3.0]),
)
def test_quantiles_never_decrease(counts, levels, step):
    """Whatever the noisy counts are, also where they sum to less than 0. Levels between 0 and 1 have the place that
    they have alone.
    """
    made, each = estimate(levels), np.asarray([counts], float) * step
    places = dict(zip(levels, (int(place[0]) for place in made.places(each)), strict=True))
    ordered = [places[q] for q in sorted(places)]
    assert ordered == sorted(ordered)
    alone = {part.q: int(part.place(each)[0]) for part in made.parts}
    assert {q: place for q, place in places.items() if 0 < q < 1} == {q: p for q, p in alone.items() if 0 < q < 1}
    assert places.get(0.0, min(alone.values())) == min(alone.values())
    assert places.get(1.0, max(alone.values())) == max(alone.values())


def test_the_ends_would_be_out_of_order_alone():
    """So the rule above can fail: the noise hides the rows of the first bins from q = 0, but not from q = 0.01."""
    counts = np.array([[30.0, 30.0, 30.0, 30.0, -20.0, 500.0, 0.0, 0.0, 0.0]])
    made = estimate([0.0, 0.01, 1.0])
    alone = [int(part.place(counts)[0]) for part in made.parts]
    assert alone[0] > alone[1]
    assert [int(place[0]) for place in made.places(counts)] == [alone[1], alone[1], alone[2]]


def test_a_list_answers_as_single_calls_do(visits):
    """From counts on a grid: from the same released numbers, with the same intervals."""
    grid = {"low": 0, "high": 100, "bins": 30}
    query = visits.group_by("ward", keys=["surgery", "burns", "nobody"], groups_per_unit=1).aggregate(
        several=grid_quantile("age", QUARTILES, **grid),
        **{level_name(q): grid_quantile("age", q, **grid) for q in QUARTILES},
    )
    plan = query.plan(2.0, 1e-6, family="laplace")
    assert plan.spent.plan.sensitivity.l0 == 1
    made = plan.answer(ledger=None)
    for q in QUARTILES:
        for end in ("", "_low", "_high"):
            assert (made[f"several_{level_name(q)}{end}"] == made[f"{level_name(q)}{end}"]).all()
    alone, several = (plan.errors()[name] for name in ("q50", "several"))
    assert several == max(plan.errors()[level_name(q)] for q in QUARTILES) >= alone


def test_executors_can_be_sent_it():
    made = estimate([0.0, 0.5])
    assert pickle.loads(pickle.dumps(made)) == made


def test_bounds_may_be_found_for_a_list(visits):
    query = visits.aggregate(ages=grid_quantile("age", [0.1, 0.9], low="private", high="private", bins=40))
    made = query.plan(30.0, 1e-6, family="laplace").answer(ledger=None)
    assert made.receipt["bounds_found"]["ages"] == [0.0, 128.0]
    assert 10 < made["ages_q10"][0] < made["ages_q90"][0] < 100


# -- the bins of a histogram ---------------------------------------------------------------------------------


def test_a_quantile_between_edges_is_the_middle_of_its_bin():
    """A budget so large that the noise is nothing. Rows outside the edges are dropped."""
    ages = [3] * 10 + [15] * 30 + [22] * 20 + [80] * 30 + [500] * 300
    people = table(pa.table({"who": range(len(ages)), "age": ages}), unit="who")
    made = (
        people.aggregate(
            q=quantile("age", [0.0, 0.4, 0.5, 1.0], edges=[0, 10, 20, 65, 120]),
            h=histogram("age", edges=[0, 10, 20, 65, 120]),
        )
        .plan(50.0, 1e-6, family="laplace")
        .answer(ledger=None)
    )
    found = {q: tuple(made[f"q_q{q}{end}"][0] for end in ("_low", "", "_high")) for q in (0, 40, 50, 100)}
    assert found == {0: (0, 4.5, 9), 40: (10, 14.5, 19), 50: (20, 42, 64), 100: (65, 92.5, 120)}


def test_bins_of_numbers_that_are_not_whole():
    people = table(pa.table({"who": range(4), "x": [0.1, 0.2, 0.6, 0.7]}), unit="who")
    query = people.aggregate(q=quantile("x", 0.5, edges=[0, 0.5, 1]), r=quantile("who", 0.5, edges=[0.25, 0.75, 1.5]))
    cells = [measure.answer.cells for measure in query.measures]
    assert cells == [((0, 0.5), (0.5, 1)), ((0.25, 0.75), (1, 1))]  # no whole number is in the first bin of r


def test_bins_of_dates():
    days = [datetime.date(2024, 1, 1), datetime.date(2024, 7, 1), datetime.date(2025, 1, 1)]
    people = table(pa.table({"who": range(100), "day": [datetime.date(2024, 8, 8)] * 100}), unit="who")
    made = people.aggregate(d=quantile("day", 0.5, edges=days)).plan(50.0, 1e-6, family="laplace").answer(ledger=None)
    assert [made.table.column(name)[0].as_py() for name in ("d_low", "d", "d_high")] == [
        days[1],
        datetime.date(2024, 10, 1),
        days[2],
    ]


@pytest.mark.parametrize(
    ("given", "message"),
    [
        ({}, "quantile is missing low; write quantile.*low=0, high=20000.*, or edges="),
        ({"low": 0}, "quantile is missing high; write quantile.*low=0, high=20000.*, or edges="),
        ({"low": 0, "high": 9, "edges": [0, 9]}, "needs either low= and high=, or edges="),
        ({"low": 0, "edges": [0, 9]}, "needs either low= and high=, or edges="),
        ({"edges": [0, 9], "step": 20}, "leave step out"),
        ({"edges": [0, float("inf")]}, "edges of 'q' must be finite"),
        ({"edges": [0]}, "edges of 'q' must be 2 to 1001 numbers"),
        ({"edges": [1, 0]}, "edges of 'q' must increase"),
    ],
)
def test_bad_bins(visits, given, message):
    with pytest.raises(InvalidParameter, match=message):
        visits.aggregate(q=quantile("age", 0.5, **given))


# -- the command line ----------------------------------------------------------------------------------------


def run(capsys, *arguments):
    code = main(["answer", *map(str, arguments), "--unit", "patient_id", "--epsilon", "9", "--pure"])
    out = capsys.readouterr()
    return code, out.out, out.err


@pytest.fixture(scope="module")
def file(tmp_path_factory):
    import pyarrow.parquet

    path = tmp_path_factory.mktemp("data") / "visits.parquet"
    pyarrow.parquet.write_table(sample("visits", 2000), path)
    return path


def test_levels_in_a_comma_list(capsys, file):
    code, out, err = run(
        capsys,
        file,
        "--quantile",
        "age:0.25,0.5,0.75:0:100",
        "--quantile",
        "age:0.9:0:100",
        "--json",
        "--family",
        "laplace",
    )
    assert code == 0, err
    made = json.loads(out)
    (row,) = made["answer"]
    assert row["age_q25"] <= row["age_q50"] <= row["age_q75"] <= row["age_q90"]
    assert all(row[f"age_q{q}_low"] <= row[f"age_q{q}"] <= row[f"age_q{q}_high"] for q in (25, 50, 75, 90))
    # the quartiles in two levels, the decile in one, and two ends of each
    assert made["receipt"]["choices"]["times"] == 2 + 1 + 8


@pytest.mark.parametrize(
    ("options", "message"),
    [
        (["--quantile", "age:0.25,1.5:0:100"], "Q comes before the bounds"),
        (["--quantile", "age:0.25,:0:100"], "'' is not a number"),
        (["--quantile", "age:0.5,0.5:0:100"], "q lists a level twice, at place"),
        (["--quantile", "age:2025-01-01:0:100"], "Q comes before the bounds"),
        (["--quantile", "age:0.5:0:100", "--quantile", "age:0.50:0:90"], "is given twice"),
        (["--quantile", "age:0.5,0.6:0:100", "--quantile", "age:0.7,0.8:0:90"], "is given twice"),
        (["--histogram", "age:0,9", "--histogram", "age:0,9,10"], "is given twice"),
    ],
)
def test_bad_options(capsys, file, options, message):
    code, out, err = run(capsys, file, *options)
    assert code == 2 and message in err and out == ""


def test_the_public_call_is_shown_where_it_fails():
    with pytest.raises(TypeError, match=r"write quantile\('cost', 0.5, low=0, high=20000\)"):
        quantile("cost", low=0, high=9)
    assert issubclass(InvalidParameter, hush.HushError)
