"""Totals, shares, ratios and differences of an answer: their levels hold, and a wrong scale is noticed.

Every comparison of coverage has a false-alarm rate of 1e-6.
"""

from __future__ import annotations

from dataclasses import replace
from functools import cache

import numpy as np
import pyarrow as pa
import pytest
from effort import examples
from paid import noisy_columns
from scipy.stats import binom

from hush import tables

RISK = 1e-6
TIMES = 400  # repeated releases of one table
FEWER = examples(200, TIMES)  # where shares and ratios, which take long, are computed too
GROUPS = 5


def rows(groups: int = GROUPS):
    """People in `groups` groups of different sizes, in up to two of them, with days from 0 to 30."""
    size = np.array([400, 250, 120, 60, 30])[:groups]
    first = np.repeat(np.arange(groups), size)
    person = np.arange(first.size)
    second = (first + 1) % groups
    return pa.table(
        {
            "person": np.concatenate([person, person[::2]]),
            "ward": [f"ward {n}" for n in np.concatenate([first, second[::2]])],
            "days": np.concatenate([person, person[::2]]) * 7 % 31,
        }
    )


AGGREGATES = {
    "people": tables.count_units(),
    "visits": tables.count(rows_per_unit=2),
    "days": tables.sum("days", low=0, high=30, rows_per_unit=1),
    "stay": tables.mean("days", low=0, high=30),
}
#: family, delta and the aggregates to ask for: independent noise, a draw for each group, a draw for the whole table
LAYOUTS = {
    "independent laplace": ("laplace", 0.0, tuple(AGGREGATES)),
    "independent gaussian": ("gaussian", 1e-6, tuple(AGGREGATES)),
    "a draw for each group": ("plateau", 0.0, ("people", "visits", "days", "stay")),
    "a draw for the table": ("interval", 0.0, ("people",)),
}


@cache
def planned(layout: str, epsilon: float = 1.0):
    """A query, its plan, and one answer, whose noise is replaced in each repetition."""
    family, delta, names = LAYOUTS[layout]
    keys = [f"ward {n}" for n in range(GROUPS)]
    grouped = tables.table(rows(), unit="person").group_by("ward", keys=keys, groups_per_unit=2)
    query = grouped.aggregate(**{name: AGGREGATES[name] for name in names})
    plan = query.plan(epsilon, delta, family=family, limits_share=0.0)
    return query, plan, plan.answer(ledger=None)


def released(answer, plan, exact, spent=None):
    """The answer with new noise."""
    noisy = noisy_columns(exact, spent or plan.spent)
    return replace(answer, released=pa.table({name: pa.array(column) for name, column in noisy.items()}))


def exact_of(query):
    found = query.aggregates(salt=b"sixteen bytes or more").to_arrow()
    return {name: found.column(name).to_numpy() for name in found.column_names if name != "ward"}


def figures(answer, names, level):
    """Every derived number with its interval and the name of its truth."""
    for name in names:
        if name != "stay":
            yield f"total {name}", [answer.total(name, level=level)]
            between = ("ward 0", "ward 3")
            yield f"difference {name}", [answer.difference(name, between=between, level=level)]
            share = answer.share(name, level=level)
            yield f"share {name}", list(zip(*(share[f"{name}_share{e}"] for e in ("", "_low", "_high")), strict=True))
    if "visits" in names:
        for top, bottom in (("visits", "people"), ("days", "people")):
            made = answer.ratio(top, bottom, level=level)
            found = [made[f"{top}_per_{bottom}{e}"] for e in ("", "_low", "_high")]
            yield f"ratio {top}", list(zip(*found, strict=True))
        made = answer.difference("visits", "people", level=level)
        yield "less", list(zip(*(made[f"visits_less_people{e}"] for e in ("", "_low", "_high")), strict=True))


def truths(answer, exact):
    quiet = replace(answer, released=pa.table(dict(exact)))
    values = {name: quiet.basis.value(form, quiet.released) for name, form in quiet.basis.forms.items()}
    found = {}
    for name, value in values.items():
        found[f"total {name}"] = [value.sum()]
        found[f"difference {name}"] = [value[0] - value[3]]
        found[f"share {name}"] = value / value.sum()
    if "visits" in values:
        found["ratio visits"] = values["visits"] / values["people"]
        found["ratio days"] = values["days"] / values["people"]
        found["less"] = values["visits"] - values["people"]
    return found


def totals(answer, names, level):
    """The totals alone."""
    for name in names:
        if name != "stay":
            yield f"total {name}", [answer.total(name, level=level)]


def misses(layout, level, derived, wrong=None, times=TIMES):
    """How often each number was missed in `times` releases. `wrong`: the epsilon of the noise that is really drawn."""
    query, plan, first = planned(layout)
    exact = exact_of(query)
    truth = truths(first, exact)
    spent = planned(layout, wrong)[1].spent if wrong else None
    missed = {name: np.zeros(len(values)) for name, values in truth.items()}
    for _ in range(times):
        answer = released(first, plan, exact, spent)
        for name, numbers in derived(answer, LAYOUTS[layout][2], level):
            for place, (_, low, high) in enumerate(numbers):
                missed[name][place] += not low - 1e-9 <= truth[name][place] <= high + 1e-9
    return missed


@pytest.mark.parametrize("layout", LAYOUTS)
def test_levels_hold(layout: str) -> None:
    """Totals, shares, ratios and differences miss no more often than they may."""
    level = 0.9
    for name, missed in misses(layout, level, figures, times=FEWER).items():
        assert missed.max() <= binom.isf(RISK, FEWER, 1.0 - level), name


@pytest.mark.parametrize("layout", LAYOUTS)
def test_a_wrong_scale_is_noticed(layout: str) -> None:
    """Noise of 3/2 the scale: every total is refused by the test above. Noise of 2/3: every total misses too seldom."""
    level, times = 0.8, 1000  # of 400 releases, noise of 3/2 the scale would pass now and then
    large, small = (misses(layout, level, totals, wrong=wrong, times=times) for wrong in (2 / 3, 3 / 2))
    for name in large:
        if name.startswith("total"):
            assert large[name].max() > binom.isf(RISK, times, 1.0 - level), name
            assert small[name].max() < binom.isf(1.0 - RISK, times, 1.0 - level), name


def test_the_dependence_is_used() -> None:
    """One draw for the table: the common part cancels in a difference, and adds up in a total."""
    answer = planned("a draw for the table")[2]
    layout, one = answer.basis.layout, np.ones(1)
    alone = replace(layout, joint=None, whole_table=False)  # the same law for each number, independent
    total, gap = ([(one, GROUPS)], [(one, 1), (-one, 1)])
    assert layout.whole_table and layout.half_width(total, 0.95).by_law
    assert layout.half_width([(one, 1)], 0.95) == alone.half_width([(one, 1)], 0.95)
    assert layout.half_width(gap, 0.95).half < alone.half_width(gap, 0.95).half
    assert layout.half_width(total, 0.95).half > 1.2 * alone.half_width(total, 0.95).half


def test_no_law_of_the_sum_is_said() -> None:
    """Hull noise has no law of weighted sums here: the width is a bound, and the figure says so."""
    grouped = tables.table(rows(), unit="person").group_by(
        "ward", keys=[f"ward {n}" for n in range(GROUPS)], groups_per_unit=2
    )
    plan = grouped.aggregate(n=tables.count_units()).plan(1.0, 0.0, family="hull", limits_share=0.0)
    answer = plan.answer(ledger=None)
    total = answer.total("n")
    assert "is a bound" in repr(total) and total.low < total.value < total.high
    exact = 1290  # people in their wards, each in at most two
    assert total.low - 200 < exact < total.high + 200


# -- counts are whole numbers --------------------------------------------------------------------------------


@pytest.mark.parametrize("family", ["gaussian", "laplace", "plateau"])
def test_counts_are_whole_numbers_and_cover(family: str, tmp_path) -> None:
    """20,000 groups of 7 people: int64, and the rounded ends miss no more often than the level allows."""
    import pandas
    import pyarrow.parquet

    from hush.tables.output import Recipe, answer_table

    query, plan, answer = planned("a draw for each group") if family == "plateau" else planned(f"independent {family}")
    number, level = 20_000, 0.9
    exact = {name: np.full(number, 7) for name in plan.spent.mechanisms}
    made = answer_table(Recipe.of(query, plan.spent, level), pa.table({"ward": ["w"] * number}),
                        noisy_columns(exact, plan.spent))  # fmt: skip
    for name in ("people", "visits"):
        value, low, high = (made.column(f"{name}{end}") for end in ("", "_low", "_high"))
        assert value.type == low.type == high.type == pa.int64()
        low, high = low.to_numpy(), high.to_numpy()
        assert (low <= value.to_numpy()).all() and (value.to_numpy() <= high).all()
        missed = int(((low > 7) | (high < 7)).sum())
        assert missed <= binom.isf(RISK, number, 1.0 - level), name
        assert int(((low > 6) | (high < 8)).sum()) > missed  # the ends are not wider than they need to be
    assert made.column("days").type == made.column("stay_low").type == pa.float64()
    answer.to_parquet(tmp_path / "a.parquet")
    answer.to_csv(tmp_path / "a.csv")
    assert answer.to_pandas()["people_low"].dtype == np.int64
    assert pyarrow.parquet.read_table(tmp_path / "a.parquet").schema.field("visits").type == pa.int64()
    assert pandas.read_csv(tmp_path / "a.csv")["people"].dtype == np.int64


def test_an_empty_answer_has_the_same_types() -> None:
    found = tables.table(rows(), unit="person").group_by("ward", keys="private", groups_per_unit=2)
    plan = found.aggregate(people=tables.count_units(), stay=tables.mean("days", low=0, high=30)).plan(
        0.01, 1e-9, family="gaussian"
    )
    answer = plan.answer(ledger=None)
    assert len(answer) == 0 and answer.to_arrow().schema.field("people_high").type == pa.int64()
    assert answer.to_arrow().schema.field("stay").type == pa.float64()
    assert answer.total("people").value == 0 and len(answer.share("people")) == 0
    assert len(answer.long()) == 0 and answer.to_markdown()
