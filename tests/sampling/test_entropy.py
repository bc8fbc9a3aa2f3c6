"""Random bits: fresh at every call, different after a fork, without a seed; the test source is marked as insecure."""

from __future__ import annotations

import inspect
import multiprocessing
import os

import numpy as np
import pytest

from hush import Gaussian, Laplace, Stable
from hush.sampling.entropy import DeterministicTestEntropy, NamedBits, SecureEntropy
from hush.sampling.exact import draw, draw_from


def test_every_call_draws_anew():
    assert not np.array_equal(draw(Laplace(1e6), 50), draw(Laplace(1e6), 50))
    source = SecureEntropy()
    assert not np.array_equal(draw(Laplace(1e6), 50, entropy=source), draw(Laplace(1e6), 50, entropy=source))


def test_there_is_no_seed():
    """The secure source takes no argument; the name of the other one says that it is for tests."""
    assert not inspect.signature(SecureEntropy).parameters
    assert SecureEntropy().secure and not DeterministicTestEntropy(1).secure
    assert "Test" in DeterministicTestEntropy.__name__


def test_the_test_source_repeats_itself():
    one, two = (draw(Gaussian(3.0), 100, entropy=DeterministicTestEntropy(4)) for _ in range(2))
    assert np.array_equal(one, two)
    source = DeterministicTestEntropy(4)
    draw(Gaussian(3.0), 100, entropy=source)
    assert not np.array_equal(one, draw(Gaussian(3.0), 100, entropy=source))  # a second call has other bits


def test_more_bits_depend_on_draw_and_round_only():
    source = DeterministicTestEntropy(4).begin()
    together = source.more(np.array([3, 5]), 1)
    assert np.array_equal(together[1:], source.more(np.array([5]), 1))
    assert len({tuple(row) for turn in range(3) for row in source.more(np.arange(4), turn).tolist()}) == 12


def test_each_call_has_bits_of_its_own():
    """Two calls on one source have different refinement bits."""
    source = SecureEntropy()
    one, two = source.begin(), source.begin()
    assert not np.array_equal(one.more(np.arange(4), 0), two.more(np.arange(4), 0))


def test_words_are_fair_bits():
    """Each of 64 bit positions is within 6.5 standard deviations of half (false alarms below 1e-6 for the test)."""
    source = SecureEntropy().begin()
    words = source.words(100_000, np.uint64)[0]
    ones = np.array([np.count_nonzero(words >> np.uint64(i) & np.uint64(1)) for i in range(64)])
    assert (np.abs(ones - 50_000) < 6.5 * np.sqrt(25_000)).all()


def _child(connection, source):
    connection.send(draw(Laplace(1e6), 20, entropy=source).tolist())
    connection.close()


@pytest.mark.skipif(not hasattr(os, "fork"), reason="this system cannot fork")
@pytest.mark.filterwarnings("ignore:.*fork.*:DeprecationWarning")
def test_no_two_processes_draw_the_same_after_a_fork():
    """A source made before the fork, used in four children and in the parent."""
    source = SecureEntropy()
    draw(Laplace(1e6), 20, entropy=source)
    context = multiprocessing.get_context("fork")
    drawn = []
    for _ in range(4):
        here, there = context.Pipe()
        child = context.Process(target=_child, args=(there, source))
        child.start()
        drawn.append(tuple(here.recv()))
        child.join()
    drawn.append(tuple(draw(Laplace(1e6), 20, entropy=source).tolist()))
    assert len(set(drawn)) == 5


@pytest.mark.parametrize(
    ("noise", "step"), [(Gaussian(10.0), 1.0), (Laplace(1e6), 1.0), (Stable(1.5, 1e6), 1.0)], ids=str
)
def test_named_bits_repeat_by_name(noise, step):
    """The noise of a name does not depend on the other names or their order; another secret gives other noise."""
    names = np.random.default_rng(1).integers(0, 2**63, (40_000, 2)).astype(np.uint64)
    whole = draw_from(NamedBits(bytes(range(64)), names), noise, len(names), step)
    some = np.random.default_rng(2).permutation(len(names))[:500]
    assert np.array_equal(whole[some], draw_from(NamedBits(bytes(range(64)), names[some]), noise, 500, step))
    other = draw_from(NamedBits(bytes(range(1, 65)), names), noise, len(names), step)
    assert abs(np.corrcoef(np.sign(whole), np.sign(other))[0, 1]) < 4.9 / len(names) ** 0.5  # 1e-6 two-sided
    hits = np.count_nonzero(np.abs(whole) * step > noise.isf(0.05))
    assert (
        abs(hits - 4000) < 4.9 * np.sqrt(3600) + 4000 * (noise == Gaussian(10.0)) * 0.06
    )  # half a step of the coarse lattice
