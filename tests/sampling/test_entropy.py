"""Bits: fresh at every call, different after a fork, never seedable; the test source says what it is."""

from __future__ import annotations

import inspect
import multiprocessing
import os

import numpy as np
import pytest

from hush import Gaussian, Laplace
from hush.sampling.entropy import DeterministicTestEntropy, SecureEntropy
from hush.sampling.exact import draw


def test_every_call_draws_anew():
    assert not np.array_equal(draw(Laplace(1e6), 50), draw(Laplace(1e6), 50))
    source = SecureEntropy()
    assert not np.array_equal(draw(Laplace(1e6), 50, entropy=source), draw(Laplace(1e6), 50, entropy=source))


def test_there_is_no_seed():
    """Nothing to set on the secure source; the other one names its purpose."""
    assert not inspect.signature(SecureEntropy).parameters
    assert SecureEntropy().secure and not DeterministicTestEntropy(1).secure
    assert "Test" in DeterministicTestEntropy.__name__


def test_the_test_source_repeats_itself():
    one, two = (draw(Gaussian(3.0), 100, entropy=DeterministicTestEntropy(4)) for _ in range(2))
    assert np.array_equal(one, two)
    source = DeterministicTestEntropy(4)
    draw(Gaussian(3.0), 100, entropy=source)
    assert not np.array_equal(one, draw(Gaussian(3.0), 100, entropy=source))  # a second call has its own bits


def test_more_bits_depend_on_draw_and_round_only():
    source = DeterministicTestEntropy(4).begin()
    together = source.more(np.array([3, 5]), 1)
    assert np.array_equal(together[1:], source.more(np.array([5]), 1))
    assert len({tuple(row) for turn in range(3) for row in source.more(np.arange(4), turn).tolist()}) == 12


def test_words_are_fair_bits():
    """Each of 64 bit positions within 4.9 + a little deviations of half (1e-6 for each; 64 positions, so 6.4e-5 for the test)."""
    source = SecureEntropy().begin()
    words = source.words(100_000, np.uint64)
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
