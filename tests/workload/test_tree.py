"""Counts along a tree: least squares, consistent whole numbers, privacy and intervals."""

from __future__ import annotations

import math
from fractions import Fraction

import numpy as np
import pytest
from scales import must_cover, must_have_planned_error

import hush
from hush.privacy.charge import Budget
from hush.workload import Tree
from hush.workload.tree import _gaussian, _laplace
from hush.workload.tree_levels import Levels

REGIONS = ["n", "n", "n", "s", "s", "s", "s", "w"]
STATES = ["n1", "n1", "n2", "s1", "s2", "s2", "s2", "w1"]
LEAVES = list("abcdefgh")


def rows_of(nodes: Levels, variances) -> np.ndarray:
    """All measured rows, divided by their standard deviations."""
    rows = []
    for level, variance in enumerate(variances):
        if math.isfinite(variance):
            each = np.zeros((nodes.size(level), nodes.leaves))
            each[nodes.nodes[level], np.arange(nodes.leaves)] = 1.0
            rows.append(each / math.sqrt(variance))
    return np.vstack(rows)


@pytest.mark.parametrize("variances", [(2.0, 3.0, 5.0), (math.inf, 3.0, 1.0), (1.0, math.inf, 4.0)])
def test_it_is_least_squares(variances):
    """Against the inverse of the normal equations: estimates and variances of all nodes."""
    nodes = Levels.of([REGIONS, STATES, LEAVES])
    rows = rows_of(nodes, variances)
    inverse = np.linalg.inv(rows.T @ rows)
    noise = np.random.default_rng(2)
    noisy = [noise.normal(size=nodes.size(level)) * 9 for level in range(3)]
    said = np.concatenate([y / math.sqrt(v) for y, v in zip(noisy, variances, strict=True) if math.isfinite(v)])
    leaves = inverse @ rows.T @ said
    found = nodes.solved(noisy, variances)
    for level, sums in enumerate(nodes.sums(leaves)):
        assert np.allclose(found[level], sums)
        member = (nodes.nodes[level][None, :] == np.arange(nodes.size(level))[:, None]).astype(float)
        assert np.allclose(nodes.variances(variances)[level], np.diag(member @ inverse @ member.T))


def test_one_row_moves_one_node_of_each_level():
    tree = Tree([REGIONS, STATES, LEAVES])
    strategy = _laplace(tree, Budget(1.0, 0.0), 1, True)
    for leaf in np.eye(8, dtype=np.int64):
        assert all(move.sum() == move.max() == 1 for move in strategy.measured(leaf))
    spent = sum(Fraction(1) / Fraction(part.noise.noise.scale) for part in strategy.parts)
    assert spent <= 1 and float(spent) > 1.0 - 1e-7
    gaussian = _gaussian(tree, Budget(1.0, 1e-6), 2)
    limit = Fraction(gaussian.parts[0].sensitivity.l2) ** 2
    longest = max(sum(int(k) ** 2 for k in gaussian.measured(2 * leaf)[0]) for leaf in np.eye(8, dtype=np.int64))
    assert 0.999 * float(limit) < longest <= limit


@pytest.fixture(scope="module")
def large():
    """Four regions with 10 districts of 10 wards each: several levels are measured."""
    regions = np.repeat(np.arange(4), 100).tolist()
    districts = np.repeat(np.arange(40), 10).tolist()
    tree = Tree([regions, districts, list(range(400))])
    return tree, tree.plan(1.0, 1e-6)


def test_several_levels_are_better_than_leaves(large):
    tree, plan = large
    flat = next(one for one in plan.candidates if one.name == "Laplace noise on each leaf")
    assert plan.strategy.error < 0.5 * flat.error
    assert plan.mse == pytest.approx(np.concatenate(plan.variance).mean())
    assert Tree(tree.levels, weights="nodes").plan(1.0, 1e-6).mse <= plan.mse


def test_counts_add_up_and_errors_are_as_planned(large):
    """100 releases; the mean squared error of the regions has 400 nearly independent terms: within 40 % of the plan's,
    which is above five deviations of 7 %. 2/3 and 3/2 of the scale are outside.
    """
    tree, plan = large
    truth = np.arange(400) % 13
    sums = tree.nodes.sums(truth)
    found = [plan.answer(truth, ledger=None) for _ in range(300)]
    one = found[0]
    for level in (0, 1):
        children = np.bincount(tree.nodes.parents[level + 1], weights=one.counts(level + 1))
        assert (children == one.counts(level)).all()
    assert one.total == one.counts().sum()
    assert np.abs(one.counts(0) - one.estimates[0]).max() <= 1.0 + 1e-9
    for level, exact in enumerate(sums):
        squared = [float(np.mean((answer.estimates[level] - exact) ** 2)) for answer in found]
        must_have_planned_error(squared, plan.variance[level].mean())
    covered = [answer.node(2, level=0).low <= sums[0][2] <= answer.node(2, level=0).high for answer in found]
    must_cover(covered, 0.95)
    weights = (tree.nodes.nodes[1] == 7).astype(float)
    assert plan.strategy.law(weights).variance == pytest.approx(plan.variance[1][7], rel=1e-6)
    assert one.deviation(1)[7] == pytest.approx(math.sqrt(plan.variance[1][7]))


def test_counts_without_negative_ones_add_up(large):
    """An empty tree has about as many negative as positive estimates; intervals that are cut at 0 still cover."""
    tree, plan = large
    for _ in range(10):
        answer = plan.answer(np.zeros(400, dtype=int), ledger=None)
        assert answer.counts().min() < 0
        fitted = [answer.non_negative(level) for level in range(3)]
        assert all(one.min() >= 0 for one in fitted) and fitted[0].sum() == max(answer.total, 0)
        for level in (0, 1):
            assert (np.bincount(tree.nodes.parents[level + 1], weights=fitted[level + 1]) == fitted[level]).all()
        plain, cut = answer.node(2, level=0), answer.node(2, level=0, non_negative=True)
        assert cut.low == max(plain.low, 0.0) and cut.value == max(plain.value, 0.0)
        assert cut.low <= 0.0 <= cut.high or not plain.low <= 0.0 <= plain.high


def test_the_ledger_is_charged(large):
    _, plan = large
    ledger = hush.Ledger(None, epsilon=1.0, delta=1e-6)
    plan.answer(np.zeros(400, dtype=int), ledger=ledger)
    assert 0.999 < ledger.spent.epsilon <= 1.0


@pytest.mark.parametrize(
    ("call", "words"),
    [
        (lambda: Tree([]), "levels must list"),
        (lambda: Tree([["a", "b"], ["x"]]), "levels must list"),
        (lambda: Tree([["a", "b", "a"], ["x", "x", "y"], [1, 2, 3]]), "nested"),
        (lambda: Tree([["a", "b"]], weights="x"), "weights"),
        (lambda: Tree([["a", "b"]]).plan(1.0, 0.0).answer([1, 2, 3], ledger=None), "list of 2 counts"),
        (lambda: Tree([["a", "b"]]).plan(1.0, 0.0).answer([1, 2], ledger=None).node("c"), "no node"),
        (lambda: Tree([["a", "b"]]).plan(1.0, 0.0).answer([1, 2], ledger=None).counts(3), "level must be"),
    ],
)
def test_mistakes_get_one_sentence(call, words):
    with pytest.raises(hush.HushError, match=words):
        call()
