"""Synthetic rows: junction trees, expected counts against all cells, fits, draws, reports and mistakes."""

from __future__ import annotations

import math
from itertools import combinations

import numpy as np
import pytest
from scales import FALSE_ALARM
from scipy.stats import chi2

import hush
from hush.sampling.entropy import DeterministicTestEntropy
from hush.workload import Marginals
from hush.workload.synthetic.drawing import drawn_rows
from hush.workload.synthetic.fitting import ranked_pairs
from hush.workload.synthetic.junction import grown, junction_tree
from hush.workload.synthetic.model import Distance, Model, spread_out, summed

SIZES = (3, 2, 4, 2, 3)
CYCLE = [(0, 1), (1, 2), (2, 3), (0, 3), (3, 4)]


def random_model(edges=CYCLE, sizes=SIZES, total=1000.0, seed=3):
    tree, numbers = junction_tree(edges, sizes), np.random.default_rng(seed)
    return Model(tree, [numbers.normal(size=[sizes[i] for i in clique]) for clique in tree.cliques], total)


def every_cell(model, sizes=SIZES):
    """The expected count of each cell of all attributes, by the definition."""
    everything = tuple(range(len(sizes)))
    logs = sum(
        (spread_out(one, clique, everything) for clique, one in zip(model.tree.cliques, model.logs, strict=True)),
        np.zeros(sizes),
    )
    weights = np.exp(logs)
    return model.total * weights / weights.sum()


def people(count=20_000, seed=1):
    """Rows of five attributes: b follows a, c follows b, d is alone, e follows a and c together."""
    numbers = np.random.default_rng(seed)
    a = numbers.integers(0, 3, count)
    b = np.where(numbers.random(count) < 0.8, a % 2, numbers.integers(0, 2, count))
    c = np.where(numbers.random(count) < 0.6, 2 * b, numbers.integers(0, 4, count))
    d = (numbers.random(count) < 0.3).astype(np.int64)
    e = np.where(numbers.random(count) < 0.7, (a + c) % 3, numbers.integers(0, 3, count))
    return np.stack([a, b, c, d, e], axis=1)


def marginals(order, **options):
    return Marginals(dict(zip("abcde", SIZES, strict=True)), order, **options)


def test_junction_trees_contain_the_edges_and_are_connected_along_each_attribute():
    numbers = np.random.default_rng(4)
    for _ in range(30):
        sizes = tuple(int(k) for k in numbers.integers(2, 6, 7))
        pairs = list(combinations(range(7), 2))
        edges = [pairs[k] for k in numbers.choice(len(pairs), 8, replace=False)]
        tree = junction_tree(edges, sizes)
        assert all(any({i, j} <= set(clique) for clique in tree.cliques) for i, j in edges)
        assert {i for clique in tree.cliques for i in clique} == set(range(7))
        for i in range(7):  # one clique with i has no parent that has i: the others hang below it
            tops = [c for c, clique in enumerate(tree.cliques) if i in clique and i not in tree.shared[c]]
            assert len(tops) == 1
        for c, clique in enumerate(tree.cliques[1:], 1):
            assert tree.parents[c] < c
            assert set(tree.shared[c]) == set(clique) & set(tree.cliques[tree.parents[c]])
        small = grown(edges, sizes, 60)
        assert small.cells(sizes) <= 60 < tree.cells(sizes) or small == tree


def test_expected_counts_are_those_of_all_cells():
    """Along a cycle and for parts of the graph that are not joined."""
    for edges in (CYCLE, [(0, 1), (2, 4)], []):
        model = random_model(edges)
        exact = every_cell(model)
        for clique, found in zip(model.tree.cliques, model.tables(), strict=True):
            assert np.allclose(found, summed(exact, tuple(range(5)), clique), rtol=1e-10)


def test_the_slope_is_that_of_the_distance():
    answer = marginals(2).plan(1.0, 1e-6).answer(people(), ledger=None)
    model = random_model(total=float(answer.total))
    distance = Distance(model.tree, answer.residuals, answer.strategy.spreads)
    tables = model.tables()
    here, slopes = distance.at(tables)
    for c, clique in enumerate(model.tree.cliques):
        place = (1,) * len(clique)
        moved = [one.copy() for one in tables]
        moved[c][place] += 1e-3
        slope = np.broadcast_to(slopes[c], tables[c].shape)[place]
        assert (distance.at(moved)[0] - here) / 1e-3 == pytest.approx(2.0 * slope, rel=1e-4, abs=1e-3)


def test_only_pairs_that_depend_on_each_other_are_joined():
    """b follows a, c follows b, and e follows a and c: with little noise these pairs are far beyond chance."""
    answer = marginals((1, 2)).plan(50.0, 1e-6).answer(people(), ledger=None)
    ones = [answer.estimate(name) for name in "abcde"]
    found = ranked_pairs(answer.workload.asked, answer.residuals, answer.strategy.spreads, ones, float(answer.total))
    assert {(0, 1), (1, 2), (0, 4), (2, 4)} <= set(found)
    assert found[0] in {(1, 2), (0, 1)}


def test_rows_keep_the_tables_of_an_almost_exact_release():
    """Every kept table is within 2 % of the rows; the table of all attributes was not released and may differ."""
    records = people()
    answer = marginals((1, 2)).plan(20.0, 1e-6).answer(records, ledger=None)
    made = answer.synthesise(len(records))
    exact = answer.workload.counted(records)
    for fit, table in zip(made.report(), answer.workload.asked, strict=True):
        found = np.zeros([SIZES[i] for i in table])
        np.add.at(found, tuple(made.rows[:, i] for i in table), 1.0)
        if fit.kept:
            assert np.abs(found - exact.table(table)).sum() <= 0.02 * len(records), fit.names
        assert fit.difference == pytest.approx(np.sqrt(np.mean((found - answer.estimate(*fit.names)) ** 2)), rel=0.02)
    assert sum(fit.kept for fit in made.report()) >= 9


def test_the_law_of_the_rows():
    """Rows of a model, one from each of 2,000 draws: chi-square against all cells, with a false-alarm rate of 1e-6. The
    law of independent attributes is rejected.
    """
    model, sizes = random_model([(0, 1), (1, 2)], (2, 3, 2)), (2, 3, 2)
    exact = every_cell(model, sizes) / model.total
    rows = np.vstack([drawn_rows(model, 5, sizes, DeterministicTestEntropy(seed).begin())[:1] for seed in range(2000)])
    counts = np.zeros(sizes)
    np.add.at(counts, tuple(rows.T), 1.0)
    alone = np.ones(sizes)
    for axis in range(3):
        others = tuple(a for a in range(3) if a != axis)
        alone = alone * exact.sum(axis=others, keepdims=True)
    limit = chi2.isf(FALSE_ALARM, counts.size - 1)
    assert ((counts - 2000 * exact) ** 2 / (2000 * exact)).sum() < limit
    assert ((counts - 2000 * alone) ** 2 / (2000 * alone)).sum() > limit


def test_counts_of_many_rows_are_closer_than_independent_draws():
    """Counts of the first clique are within 1 of their expected values, and all others far within chance."""
    model = random_model()
    rows = drawn_rows(model, 10_000, SIZES, DeterministicTestEntropy(1).begin())
    clique, table = model.tree.cliques[0], model.tables()[0]
    counts = np.zeros(table.shape)
    np.add.at(counts, tuple(rows[:, i] for i in clique), 1.0)
    assert np.abs(counts - 10.0 * table).max() <= 1.0 + 1e-9
    for clique, table in zip(model.tree.cliques, model.tables(), strict=True):
        counts = np.zeros(table.shape)
        np.add.at(counts, tuple(rows[:, i] for i in clique), 1.0)
        assert ((counts - 10.0 * table) ** 2).sum() < 0.5 * (10.0 * table).sum()


def test_rows_cost_nothing_and_keep_the_receipt():
    ledger = hush.Ledger(None, epsilon=1.0, delta=1e-6)
    answer = marginals(1).plan(1.0, 1e-6).answer(people(500), ledger=ledger)
    made = answer.synthesise()
    assert len(made) == max(answer.total, 0) and made.receipt == answer.receipt and len(ledger.entries) == 1
    assert made.cliques and all(len(clique) == 1 for clique in made.cliques)  # one-way tables join nothing
    assert set(made.columns) == set("abcde") and made.to_arrow().num_rows == made.to_pandas().shape[0] == len(made)
    assert len(answer.synthesise(0)) == 0
    repeated = [answer.synthesise(30, entropy=DeterministicTestEntropy(7)).rows for _ in range(2)]
    assert (repeated[0] == repeated[1]).all()
    text = str(made.report())
    assert "5 of 5 tables are kept" in text and "excess" in text and len(made.report().as_dicts()) == 5


def test_a_small_model_keeps_fewer_tables():
    answer = marginals(2).plan(20.0, 1e-6).answer(people(), ledger=None)
    fits = {most: answer.synthesise(2000, most_cells=most).report() for most in (20, 1 << 18)}
    kept = {most: sum(fit.kept for fit in report) for most, report in fits.items()}
    assert kept[20] < kept[1 << 18]
    lost = [fit for fit in fits[20] if not fit.kept]
    assert max(fit.excess for fit in lost) > 5 * max(fit.noise for fit in lost)
    assert all(math.isfinite(fit.excess) and fit.excess >= 0.0 for fit in fits[20])


def test_an_empty_release_gives_rows_too():
    """Without people the noise alone is fitted, and the total may be negative: no rows, or those that are asked for."""
    answer = marginals(2).plan(1.0, 1e-6).answer(np.zeros((0, 5), dtype=np.int64), ledger=None)
    assert len(answer.synthesise()) == max(answer.total, 0)
    assert answer.synthesise(10).rows.shape == (10, 5)


@pytest.mark.parametrize(
    ("call", "words"),
    [
        (lambda answer: answer.synthesise(-1), "n must be"),
        (lambda answer: answer.synthesise(1 << 40), "at most"),
        (lambda answer: answer.synthesise(10, most_cells=0), "most_cells"),
        (lambda answer: answer.synthesise(10, entropy=3), "no seed"),
    ],
)
def test_mistakes_get_one_sentence(call, words):
    answer = marginals(1).plan(1.0, 0.0).answer(people(20), ledger=None)
    with pytest.raises(hush.HushError, match=words) as mistake:
        call(answer)
    assert "\n" not in str(mistake.value)
