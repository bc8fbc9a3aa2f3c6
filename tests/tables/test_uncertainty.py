"""Intervals: they hold the truth as often as they say at every level, and are functions of one group's released
numbers alone.
"""

from __future__ import annotations

import itertools
import math
import pickle

import numpy as np
import pytest
from effort import thinned
from scipy.stats import binom, cauchy, norm

pa = pytest.importorskip("pyarrow")
pytest.importorskip("ibis")

from grid_quantile import grid_quantile  # noqa: E402
from paid import noisy_columns  # noqa: E402

from hush import Gaussian, InvalidParameter, Laplace, Stable, tables  # noqa: E402
from hush.noise.discrete import Discrete  # noqa: E402
from hush.tables import count, count_units, histogram, mean, variance  # noqa: E402
from hush.tables.noise_sum import Term, half_widths  # noqa: E402
from hush.tables.output import Recipe, answer_table  # noqa: E402

LEVELS = (0.5, 0.8, 0.95, 0.99, 0.999, 0.9999)
PAIRS = 20_000
RISK = 1e-9  # of one comparison; about six hundred are made


def people(values):
    return tables.table(pa.table({"who": np.arange(len(values)), "x": values}), unit="who")


def asked(values, **aggregates):
    """A query about all rows, and its exact columns."""
    query = people(values).aggregate(**aggregates)
    exact = query.aggregates(salt=b"sixteen bytes or more").to_arrow()
    return query, {name: exact.column(name).to_numpy() for name in exact.column_names}


# -- the law of a sum of noises ------------------------------------------------------------------------------


@pytest.mark.parametrize("level", LEVELS)
def test_sums_of_gaussians_have_their_normal_width(level):
    """Never below the exact width; at most 1 % above it."""
    noise = Gaussian(3.0)
    few = [Term(noise, 0.01, 1.0), Term(noise, 0.01, 1.5), Term(noise, 0.01, 0.3)]
    many = [Term(noise, 0.01, 0.3, 40), Term(noise, 0.01, 0.7, 88)]
    for terms in (few, many):
        exact = 3.0 * math.sqrt(sum(t.times * t.factor**2 for t in terms)) * norm.isf(0.5 * (1.0 - level))
        assert exact <= half_widths([terms], level)[0] <= 1.01 * exact


@pytest.mark.parametrize("level", LEVELS)
def test_heavy_tails_are_counted(level):
    """The sum of Cauchy noises is Cauchy: the far tail decides at high levels. Steps of 0.05 show a little at the
    level 0.5.
    """
    noise = Stable(1.0, 2.0)
    exact = 3.0 * cauchy.isf(0.5 * (1.0 - level))
    assert (
        0.99 * exact <= half_widths([[Term(noise, 0.05, 1.0), Term(noise, 0.05, 0.5)]], level)[0] <= 1.04 * exact + 0.1
    )


def test_a_lattice_law_is_added_up_on_its_lattice():
    """Two-sided geometric noise: the sum of two by convolution in integers."""
    noise = Discrete(Laplace(1.0))
    k = np.arange(-200, 201)
    single = np.exp(-np.abs(k)) * math.tanh(0.5)
    both = np.convolve(single, single)
    for level in LEVELS:
        inside = np.cumsum(both[400:]) * 2.0 - both[400]
        least = int(np.searchsorted(inside, level))
        found = half_widths([[Term(noise, 1.0, 1.0), Term(noise, 1.0, 1.0)]], level)[0]
        assert least <= found < least + 1


def test_no_noise_has_no_width():
    assert half_widths([[Term(Laplace(1.0), 1.0, 0.0)], []], 0.95).tolist() == [0.0, 0.0]


# -- coverage ------------------------------------------------------------------------------------------------

_random = np.random.default_rng(7)
ROWS = {
    "many rows": _random.uniform(0.2, 0.9, 3000),
    "few rows": _random.uniform(0.2, 0.9, 60),
    "at the bound": np.ones(500),
}
AGGREGATES = {
    "count": count(),
    "people": count_units(),
    "sum": tables.sum("x", low=0, high=1),
    "mean": mean("x", low=0, high=1),
    "variance": variance("x", low=0, high=1),
    "histogram": histogram("x", edges=[0.0, 0.3, 0.6, 1.0]),
    "median": grid_quantile("x", 0.5, low=0, high=1, bins=52),
    "decile": grid_quantile("x", 0.9, low=0, high=1, bins=22),
    "quartiles": grid_quantile("x", [0.25, 0.0, 0.75, 1.0], low=0, high=1, bins=52),  # from the counts of the median
    "rows": tables.sum("x", low=0, high=1, rows_per_unit=1),  # from the columns of the mean
}


@pytest.mark.parametrize(
    ("rows", "family", "delta"),
    thinned([(rows, *noise) for rows in ROWS for noise in (("laplace", 0.0), ("gaussian", 1e-6))], 3),
)
def test_every_level_is_kept(rows, family, delta):
    """20,000 intervals of each aggregate at each level: as few misses as the level allows (false alarm 1e-9 each)."""
    query, exact = asked(ROWS[rows], **AGGREGATES)
    spent = query.plan(2.0, delta, family=family, limits_share=0.0).spent
    released = noisy_columns({name: np.repeat(column, PAIRS) for name, column in exact.items()}, spent)
    for measure in query.measures:
        truth = measure.answer(exact)
        for level in LEVELS:
            low, high = measure.interval(released, spent.mechanisms, level)
            missed = ((low > truth + 1e-12) | (truth - 1e-12 > high)).reshape(PAIRS, -1).sum(axis=0)
            assert missed.max() <= binom.isf(RISK, PAIRS, 1.0 - level), (  # of each answer: some share their noise
                f"{measure.name} at {level}: {missed} of {PAIRS} missed"
            )


@pytest.mark.parametrize("level", LEVELS)
def test_intervals_of_means_are_not_wider_than_needed(level):
    """With many rows the interval of a mean misses about as often as it may: at least 0.9 times as often, less what
    chance explains.
    """
    query, exact = asked(ROWS["many rows"], m=mean("x", low=0, high=1))
    spent = query.plan(2.0, 0.0, family="laplace", limits_share=0.0).spent
    released = noisy_columns({name: np.repeat(column, 5 * PAIRS) for name, column in exact.items()}, spent)
    (measure,) = query.measures
    low, high = measure.interval(released, spent.mechanisms, level)
    truth = measure.answer(exact)
    assert ((low > truth) | (truth > high)).sum() >= binom.ppf(RISK, 5 * PAIRS, 0.9 * (1.0 - level))


def test_a_wrong_scale_is_noticed():
    """Noise of 3/2 the scale that the intervals are made for: the test of coverage refuses it for every aggregate."""
    query, exact = asked(ROWS["many rows"], **{name: AGGREGATES[name] for name in ("sum", "mean", "variance", "rows")})
    assert "rows.sum" in exact, "the sum of rows is not computed from the columns of the mean"
    spent, loud = (query.plan(epsilon, 0.0, family="laplace", limits_share=0.0).spent for epsilon in (3.0, 2.0))
    released = noisy_columns({name: np.repeat(column, PAIRS) for name, column in exact.items()}, loud)
    for measure in query.measures:
        low, high = measure.interval(released, spent.mechanisms, 0.95)
        truth = measure.answer(exact)
        assert ((low > truth) | (truth > high)).sum() > binom.isf(RISK, PAIRS, 0.05), measure.name


# -- a group's interval is its own ---------------------------------------------------------------------------


@pytest.fixture(scope="module")
def plan():
    table = tables.table(pa.table({"who": [1], "k": ["a"], "x": [0.5]}), unit="who")
    return (
        table.group_by("k", keys="private", groups_per_unit=1).aggregate(**AGGREGATES).plan(2.0, 1e-6, family="laplace")
    )


def test_the_company_does_not_show(plan):
    """The same bits for a group alone, in a small batch, in a large one, first or last; and nothing is drawn."""
    recipe = Recipe.of(plan.query, plan.spent, 0.95)
    random, size = np.random.default_rng(3), 20_011
    released = {
        name: random.integers(-50, 400, size).astype(float) * made.step for name, made in plan.spent.mechanisms.items()
    }
    keys = pa.table({"k": [f"group {i}" for i in range(size)]})

    def made(first: int, last: int):
        return answer_table(
            recipe, keys.slice(first, last - first), {name: column[first:last] for name, column in released.items()}
        )

    together = made(0, size)
    for cuts in ([0, 1, 2, 9, 8191, 8192, size], [0, 13_000, size], [0, *range(7, size, 997), size]):
        parts = [made(a, b) for a, b in itertools.pairwise(cuts)]
        assert pa.concat_tables(parts).combine_chunks().equals(together)
    assert made(0, size).equals(together)


def test_executors_can_be_sent_the_recipe(plan):
    recipe = Recipe.of(plan.query, plan.spent, 0.95)
    released = {name: np.full(3, 100.0) for name in plan.spent.mechanisms}
    keys = pa.table({"k": ["a", "b", "c"]})
    assert answer_table(pickle.loads(pickle.dumps(recipe)), keys, released).equals(answer_table(recipe, keys, released))


def test_a_plan_says_the_same_every_time(plan):
    assert plan.errors() == plan.errors() and repr(plan) == repr(plan)


def test_one_group_is_singular():
    """The head of a plan, and the bounds of an answer, in whole sentences."""
    made = people([0.25, 0.75]).aggregate(x=mean("x", low=0, high=1)).plan(0.1, 1e-6, family="gaussian")
    assert "for each who, at most 1 group\n" in repr(made)
    assert "at most 1 group for each who;" in repr(made.answer(ledger=None))


@pytest.mark.parametrize("level", [0.0, 1.0, 1.5, -1.0, float("nan"), "95%", None, 1.0 - 1e-12])
def test_a_level_that_cannot_be_kept_is_refused_before_the_charge(plan, level, tmp_path):
    import hush

    book = hush.Ledger(None, epsilon=5.0, delta=1e-5)
    for ask in (
        lambda: plan.answer(ledger=book, level=level),
        lambda: plan.write(tmp_path / "a.parquet", ledger=book, level=level),
    ):
        with pytest.raises(InvalidParameter, match="level must be"):
            ask()
    assert not book.entries and not list(tmp_path.iterdir())
