"""Quantiles from nested blocks of bins: exact without noise, private, with the planned error, and never worse than the
histogram.
"""

from __future__ import annotations

import itertools
import pickle

import numpy as np
import pytest
from scales import must_cover, must_have_planned_error

pa = pytest.importorskip("pyarrow")
pytest.importorskip("ibis")

from paid import noisy_columns  # noqa: E402

import hush  # noqa: E402
from hush import tables  # noqa: E402
from hush.cli import main  # noqa: E402
from hush.tables import count, histogram, mean, quantile  # noqa: E402
from hush.tables.contribution import Part  # noqa: E402
from hush.tables.nested.blocks import Nested  # noqa: E402
from hush.tables.nested.search import excess_error, levels_for  # noqa: E402
from hush.tables.quantile_estimate import QuantileOf  # noqa: E402

LAYOUTS = [
    (48, (8, 1), (0.4, 0.6)),
    (50, (8, 1), (1.0, 1.0)),
    (101, (20, 5, 1), (0.3, 0.3, 0.4)),
    (7, (3, 1), (0.5, 0.5)),
]


def nested(bins, sizes, shares):
    return Nested(tuple(f"q.{i}" for i in range(bins)), sizes, shares)


def measured(made, counts):
    """The exact counts of all blocks."""
    columns = {}
    for size in made.sizes:
        starts = range(0, len(made.bins), size)
        columns |= {name: counts[..., a : a + size].sum(-1) for name, a in zip(made.columns(size), starts, strict=True)}
    return columns


def line(values, **others):
    rows = {"who": np.arange(len(values)), "x": values, **others}
    return tables.table(pa.table(rows), unit="who")


@pytest.fixture(scope="module")
def ages():
    return line(np.random.default_rng(3).integers(0, 101, 4000))


# -- the estimate --------------------------------------------------------------------------------------------


@pytest.mark.parametrize("layout", LAYOUTS)
def test_without_noise_the_bins_are_exact(layout):
    made = nested(*layout)
    counts = np.random.default_rng(1).integers(0, 900, (5, layout[0]))
    assert np.allclose(made.counts(measured(made, counts)), counts, rtol=0, atol=1e-9)


@pytest.mark.parametrize("layout", LAYOUTS[:1])
def test_the_estimate_is_that_of_least_squares(layout):
    made, random = nested(*layout), np.random.default_rng(2)
    rows = [measured(made, row) for row in np.eye(layout[0])]
    matrix = np.array([[row[name] for row in rows] for size in made.sizes for name in made.columns(size)])
    weight = np.concatenate([np.full(len(made.columns(s)), w) for s, w in zip(made.sizes, made.shares, strict=True)])
    noisy = random.normal(size=len(matrix))
    best = np.linalg.lstsq(matrix * weight[:, None], noisy * weight, rcond=None)[0]
    names = [name for size in made.sizes for name in made.columns(size)]
    assert np.allclose(made.counts(dict(zip(names, noisy, strict=True))), best)


@pytest.mark.parametrize("layout", LAYOUTS)
def test_the_factors_are_those_of_the_estimate(layout):
    made, random = nested(*layout), np.random.default_rng(2)
    names = [name for size in made.sizes for name in made.columns(size)]
    noisy = random.normal(size=len(names))
    weights = np.tri(layout[0]) - 0.3
    found = np.concatenate(made.factors(weights), axis=-1) @ noisy
    assert np.allclose(found, weights @ made.counts(dict(zip(names, noisy, strict=True))))


@pytest.mark.parametrize("layout", LAYOUTS)
def test_the_error_has_its_closed_form(layout):
    """With whole blocks the two agree; a last block that is cut has a little less error than the closed form."""
    made, levels = nested(*layout), (0.25, 0.5)
    variances = tuple(7.0 / share**2 for share in made.shares)
    direct = 0.0
    for q in levels:
        each = zip(made.factors(np.tri(layout[0]) - q), variances, strict=True)
        direct += sum(float((factors**2).sum()) * variance for factors, variance in each)
    planned = excess_error(layout[0], levels, made.sizes, variances)
    direct /= layout[0] * len(levels)
    assert direct == pytest.approx(planned) if layout[0] % layout[1][0] == 0 else 0.9 * planned < direct <= planned


def test_a_group_has_the_same_bits_alone():
    made, random = nested(101, (20, 5, 1), (0.3, 0.3, 0.4)), np.random.default_rng(5)
    names = [name for size in made.sizes for name in made.columns(size)]
    released = {name: random.integers(-50, 400, 997) * 0.125 for name in names}
    together = made.counts(released)
    for a, b in itertools.pairwise([0, 1, 2, 9, 500, 997]):
        assert (made.counts({name: column[a:b] for name, column in released.items()}) == together[a:b]).all()
    assert pickle.loads(pickle.dumps(made)) == made


# -- privacy -------------------------------------------------------------------------------------------------


@pytest.mark.parametrize("layout", LAYOUTS)
@pytest.mark.parametrize("rows", [1, 3])
def test_one_person_moves_no_more_than_is_charged(layout, rows):
    """All placements of one row, and many of several: each block part moves within its bounds, and reaches them."""
    made = nested(*layout)
    part = Part("q", made.bins, rows, min(rows, layout[0]), rows, one_sided=True)
    parts, random = made.parts(part), np.random.default_rng(4)
    places = [[i] for i in range(layout[0])] if rows == 1 else random.integers(0, layout[0], (300, rows)).tolist()
    places += [[i] * rows for i in range(layout[0])]
    most = dict.fromkeys(range(len(parts)), 0)
    for place in places:
        moves = measured(made, np.bincount(place, minlength=layout[0]))
        for number, one in enumerate(parts):
            moved = np.array([moves[name] for name in one.columns])
            assert moved.min() >= 0 and moved.max() <= one.linf and moved.sum() <= one.l1
            assert np.count_nonzero(moved) <= one.coordinates
            most[number] = max(most[number], int(moved.max()))
    assert set(most.values()) == {rows}
    assert {name for one in parts for name in one.columns} == set(measured(made, np.zeros(layout[0])))


def test_neighbouring_tables_differ_as_charged():
    """In the engine, with all rows of one person left out: the columns that get noise move within their bounds."""
    random = np.random.default_rng(6)
    rows = pa.table(
        {"who": random.integers(0, 10, 80), "x": random.integers(0, 60, 80), "k": random.integers(0, 3, 80)}
    )

    def asked(data):
        table = tables.table(data, unit="who")
        wards = table.group_by("k", keys=[0, 1, 2], groups_per_unit=2)
        return wards.aggregate(m=quantile("x", 0.5, low=0, high=59, rows_per_unit=2))

    plan = asked(rows).plan(1.0, 1e-6, limits_share=0.0, family="laplace")
    assert "blocks" in plan.query.measures[0].note
    bound, salt = plan.spent.plan.sensitivity, bytes(32)
    weights = {name: 1.0 / law.noise.scale for name, law in plan.spent.mechanisms.items()}
    unit = 1.0 / plan.spent.noise.scale

    def exact(data):
        found = asked(data).aggregates(salt=salt).to_arrow()
        return plan.spent.with_sums({name: found.column(name).to_numpy() for name in plan.spent.counted})

    before, furthest = exact(rows), 0.0
    for person in range(10):
        after = exact(rows.filter(pa.compute.not_equal(rows["who"], person)))
        moved = sum(weights[name] * float(np.abs(before[name] - after[name]).sum()) for name in weights) / unit
        furthest = max(furthest, moved)
    assert 0.0 < furthest <= bound.l1_bound * (1 + 1e-9)


def test_the_ledger_is_charged_for_all_blocks(ages):
    ledger = hush.Ledger(None, epsilon=1.0, delta=1e-6)
    plan = ages.aggregate(m=quantile("x", 0.5, low=0, high=100)).plan(1.0, 1e-6)
    assert plan.spent.plan.sensitivity.l0 == 2
    made = plan.answer(ledger=ledger)
    (entry,) = ledger.entries
    assert plan.spent.charge in entry.charges and entry.charges[0].sensitivity.l0 == 2
    assert "blocks of 1 and" in made.receipt["measured"][0]
    block = plan.query.measures[0].answer.nested.columns(plan.query.measures[0].answer.nested.sizes[0])[0]
    assert block in made.released.column_names and made.receipt["columns"][block]["moves_by"] == 1
    with pytest.raises(hush.BudgetExceeded):
        plan.answer(ledger=ledger)


# -- errors --------------------------------------------------------------------------------------------------


@pytest.mark.parametrize(("bins", "most"), [(128, 34.4), (1000, 92.8)])
def test_the_error_of_the_median(bins, most):
    """One row of a person, (1, 1e-6): 58.9 and 460 with noise on each bin."""
    edges = np.arange(bins + 1).tolist()
    plan = line([1, 2]).aggregate(m=quantile("x", 0.5, edges=edges)).plan(1.0, 1e-6, limits_share=0.0)
    blocks = plan.query.measures[0].answer.nested
    variances = tuple(float(plan.spent.mechanisms[blocks.columns(size)[0]].noise.variance) for size in blocks.sizes)
    assert excess_error(bins, (0.5,), blocks.sizes, variances) <= most


@pytest.mark.parametrize("family", ["laplace", "gaussian"])
def test_draws_have_the_planned_error(family):
    edges = np.arange(65).tolist()
    others = {} if family == "gaussian" else {"n": count()}
    query = line([1, 2]).aggregate(m=quantile("x", 0.5, edges=edges), **others)
    plan = query.plan(1.0, 1e-6, family=family, limits_share=0.0)
    blocks = plan.query.measures[0].answer.nested
    variances = tuple(float(plan.spent.mechanisms[blocks.columns(size)[0]].noise.variance) for size in blocks.sizes)
    empty = {name: np.zeros(3000, dtype=np.int64) for name in plan.spent.counted}
    excess = plan.query.measures[0].answer.excess(blocks.counts(noisy_columns(empty, plan.spent)))
    must_have_planned_error((excess**2).mean(axis=1), excess_error(64, (0.5,), blocks.sizes, variances))


@pytest.mark.parametrize("level", [0.5, 0.95, 0.999])
@pytest.mark.parametrize("family", ["laplace", "gaussian"])
def test_intervals_hold_the_truth(ages, level, family):
    query = ages.aggregate(m=quantile("x", [0.1, 0.5], low=0, high=100))
    plan = query.plan(0.5, 1e-6, family=family, limits_share=0.0)
    (measure,) = plan.query.measures
    exact = query.aggregates().to_arrow()
    columns = {name: np.repeat(exact.column(name).to_numpy(), 4000) for name in plan.spent.counted}
    low, high = measure.interval(noisy_columns(columns, plan.spent), plan.spent.mechanisms, level)
    truth = query.measures[0].answer({name: column[:1] for name, column in columns.items()})
    for place in range(2):
        must_cover((low[:, place] <= truth[0, place]) & (truth[0, place] <= high[:, place]), level)


def test_half_widths_are_those_of_the_law():
    """The reach of each bin covers draws at its level, and noise of 3/2 the scale clearly not."""
    edges = np.arange(65).tolist()
    plan = line([1, 2]).aggregate(m=quantile("x", 0.3, edges=edges)).plan(1.0, 0.0, limits_share=0.0)
    (measure,) = plan.query.measures
    reach = measure.answer.reach(plan.spent.mechanisms, 0.95)
    empty = {name: np.zeros(20_000, dtype=np.int64) for name in plan.spent.counted}
    excess = measure.answer.excess(measure.answer.counts(noisy_columns(empty, plan.spent)))
    inside = (np.abs(excess) <= reach).mean(axis=0)
    wide = 4.9 * np.sqrt(0.95 * 0.05 / 20_000)  # a false alarm with probability 1e-6 in each bin
    assert inside.min() >= 0.95 - wide and inside.max() <= 0.97
    assert (np.abs(1.5 * excess) <= reach).mean(axis=0).max() < 0.95 - wide


# -- when --------------------------------------------------------------------------------------------------


@pytest.mark.parametrize(
    ("bins", "epsilon", "delta", "groups"),
    [
        (4, 1.0, 1e-6, 1),
        (33, 0.2, 0.0, 1),
        (60, 8.0, 1e-6, 1),
        (300, 0.2, 0.0, 1),
        (300, 1.0, 1e-6, 1),
        (300, 1.0, 1e-6, 60),
    ],
)
def test_never_worse_than_the_histogram(bins, epsilon, delta, groups):
    """For the quantile and for the count beside it."""
    data = line([1, 2], k=[0, 1])
    wards = data.group_by("k", keys=list(range(groups)), groups_per_unit=groups) if groups > 1 else data
    edges = np.arange(bins + 1).tolist()
    for family in ("laplace", "gaussian") if delta else ("laplace",):
        query = wards.aggregate(m=quantile("x", 0.5, edges=edges), n=count())
        plan = query.plan(epsilon, delta, family=family, limits_share=0.0)
        flat = wards.aggregate(m=histogram("x", edges=edges), n=count()).plan(
            epsilon, delta, family=family, limits_share=0.0
        )
        made, single = plan.spent.mechanisms, flat.spent.mechanisms
        blocks = plan.query.measures[0].answer.nested
        sizes = (1,) if blocks is None else blocks.sizes
        names = ["m.0"] if blocks is None else [blocks.columns(size)[0] for size in sizes]
        error = excess_error(bins, (0.5,), sizes, tuple(float(made[name].noise.variance) for name in names))
        of_flat = excess_error(bins, (0.5,), (1,), (float(single["m.0"].noise.variance),))
        assert error <= of_flat if blocks is None else error <= 0.98 * of_flat
        assert float(made["n"].noise.variance) <= 1.002 * float(single["n"].noise.variance)
        assert blocks is not None or bins < 300


def test_where_the_histogram_is_measured(ages):
    """Plans and receipts say why."""

    def note(query, **options):
        plan = query.plan(1.0, 1e-6, limits_share=0.0, **options)
        assert (
            plan.query.measures[0].answer.__class__.__name__ != "QuantileOf"
            or plan.query.measures[0].answer.nested is None
        )
        return plan.query.measures[0].note, repr(plan)

    middle = quantile("x", 0.5, low=0, high=100)
    found, shown = note(
        ages.mutate(k=ages["x"] % 3).group_by("k", keys="private", groups_per_unit=1).aggregate(m=middle)
    )
    assert "because its groups are found privately" in found and "found privately" in shown
    found, _ = note(ages.aggregate(m=quantile("x", 0.5, low="private", high="private")))
    assert "because its bounds are found privately" in found
    edges = list(range(0, 101, 2))
    assert note(ages.aggregate(m=quantile("x", 0.5, edges=edges), h=histogram("x", edges=edges)))[0] == ""
    assert note(ages.aggregate(m=quantile("x", [0.0, 0.5], low=0, high=100)))[0] == ""
    assert note(ages.aggregate(m=middle), family="staircase")[0] == ""


def test_quantiles_of_one_column_share_the_blocks(ages):
    grid = {"low": 0, "high": 100}
    query = ages.aggregate(a=quantile("x", [0.25, 0.75], **grid), b=quantile("x", 0.5, **grid), n=count())
    plan = query.plan(1.0, 1e-6, limits_share=0.0, weights={"b": 2.0})
    assert plan.spent.plan.sensitivity.l1_bound == pytest.approx(3.0, rel=0.1)  # 2 for the blocks, 1 for the count
    first, second = (measure.answer for measure in plan.query.measures[:2])
    assert second.nested == first.parts[0].nested
    made = plan.answer(ledger=None)
    assert made["a_q25"][0] <= made["b"][0] <= made["a_q75"][0]
    assert len([name for name in plan.spent.mechanisms if "-" in name]) == len(
        second.nested.columns(second.nested.sizes[0])
    )


def test_a_mean_and_two_columns_have_blocks_too(ages):
    plan = (
        ages.mutate(y=ages["x"] * 2)
        .aggregate(
            a=quantile("x", 0.5, low=0, high=100), b=quantile("y", 0.5, low=0, high=200), m=mean("x", low=0, high=100)
        )
        .plan(1.0, 1e-6, limits_share=0.0)
    )
    assert [bool(measure.note) for measure in plan.query.measures] == [True, True, False]
    assert plan.answer(ledger=None).names == ("a", "b", "m")


def test_releases_that_are_planned_together(ages):
    ledger = hush.Ledger(None, epsilon=1.0, delta=1e-6)
    plan = ages.aggregate(m=quantile("x", 0.5, low=0, high=100)).plan(1.0, 1e-6, times=2, family="laplace")
    assert plan.query.measures[0].answer.nested is not None
    first = plan.answer(ledger=ledger)
    again = plan.answer(ledger=ledger, release=1)
    assert (first["m"] == again["m"]).all() and len(ledger.entries) == 1
    plan.answer(ledger=ledger)
    assert len(ledger.entries) == 2


def test_the_grid_of_a_quantile_is_exact_with_much_budget(ages):
    exact = np.sort(np.asarray(ages.relation.to_pyarrow()["x"]))
    made = ages.aggregate(m=quantile("x", [0.1, 0.5, 0.9], low=0, high=100)).plan(30.0, 1e-6).answer(ledger=None)
    for q in (0.1, 0.5, 0.9):
        assert made[f"m_q{q * 100:.0f}"][0] == exact[int(np.ceil(q * len(exact))) - 1]


def test_one_bin_alone_has_no_blocks():
    assert levels_for("sum", 24, (0.5,)).sizes == (1,)
    assert QuantileOf(("q.0",), 0.5, (0.0,), ((0.0, 0.0),)).nested is None


def test_on_the_command_line_and_in_sql(tmp_path, capsys):
    path = tmp_path / "ages.csv"
    path.write_text("who,x\n" + "".join(f"{i},{i % 101}\n" for i in range(2000)))
    main(
        [
            "answer",
            str(path),
            "--unit",
            "who",
            "--quantile",
            "x:0.5:0:100",
            "--epsilon",
            "1",
            "--delta",
            "1e-6",
            "--plan",
        ]
    )
    assert "measured are blocks of 1 and" in capsys.readouterr().out
    rule = tables.TableRule(str(path), unit="who", rows_per_unit=1, columns={"x": tables.ColumnRule(0, 100)})
    asked = {"epsilon": 1.0, "delta": 1e-6}
    plan = hush.sql("EXPLAIN SELECT MEDIAN(x) AS m FROM ages", tables.Policy({"ages": rule}), **asked)
    assert "measured are blocks of 1 and" in repr(plan)
