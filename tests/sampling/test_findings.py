"""What reviews found in the draws, kept so that it stays mended."""

from __future__ import annotations

import multiprocessing
import os
import threading

import numpy as np
import pytest

from hush import Asinh, Discrete, FlippedHuber, Laplace, Stable, Staircase, Stepped, TruncatedLaplace
from hush.sampling.entropy import DeterministicTestEntropy, SecureEntropy
from hush.sampling.exact import draw, sampler
from hush.sampling.tail_ball import precision
from hush.sampling.threshold import MARGIN, Tails

COARSE = 1e20
BOUNDED = [
    (TruncatedLaplace(1.0, 1.0), 1e-13),
    (TruncatedLaplace(1.0, 1.0), 1e-9),
    (TruncatedLaplace(10.0, 60.0), 1e-12),
    (TruncatedLaplace(1.0, 1e-8), 1e-18),
    (Stepped(5.0, (1.0, 0.0, 2.0)), 1e-14),
    (Stepped(5.0, (1.0, 0.0, 2.0)), 1e-9),
]


@pytest.mark.parametrize(("noise", "step"), BOUNDED, ids=str)
def test_draws_next_to_the_end_of_a_bounded_law(noise, step):
    """There a rounding of x moves the tail by all of itself: what floats decide, balls must confirm."""
    words = (np.random.default_rng(3).random(300) * 2.0**44).astype(np.uint64)[:, None]  # V below 2^-20
    draws, answers = np.arange(300), []
    for margin in (MARGIN, COARSE):
        answers.append(sampler(noise, step, margin).settle(draws, words, DeterministicTestEntropy(2).begin()))
    assert np.array_equal(*answers)


@pytest.mark.parametrize(
    "noise",
    [
        TruncatedLaplace(1.0, 1.0),
        TruncatedLaplace(1.0, 5.0),
        Stepped(5.0, (1.0, 0.0, 2.0)),
        Stepped(1.0, tuple(np.linspace(3.0, 0.01, 300))),
        Staircase(30.0),
        Staircase(30.0, 1.0, 1e-9),
    ],
    ids=str,
)
def test_the_bound_holds_around_ends_and_jumps(noise):
    """A thousandfold, at points as near to an end or a jump as the lattice has them."""
    step = 2.0**-40
    law = Tails(noise, step)
    places = [noise.support] if np.isfinite(noise.support) else [noise.fraction * noise.sensitivity, noise.sensitivity]
    k = np.concatenate([np.floor(place / step) + np.arange(-40.0, 3.0) ** 3 for place in places])
    k = np.unique(k[k >= 0.0])
    with precision(256):
        for point, value, unit in zip(k, law.at(k), law.spread(k, law.at(k)), strict=True):
            assert abs(float(law.ball(int(point)) - float(value))) * 1000.0 <= law.slack * unit + 1e-300


@pytest.mark.parametrize("alpha", [1.0 + 1e-15, 1.0001, 1.01, 1.02, 1.05])
@pytest.mark.parametrize("step", [0.1, 1e17, 1e110])
def test_stable_shapes_near_one(alpha, step):
    """The series is judged by logarithms, which do not overflow."""
    assert draw(Stable(alpha, 1.0), 50, step).size == 50


def test_endless_staircases_are_not_listed():
    for noise in (Staircase(1e-9), Staircase(1e-12), Stepped(1.0, (1.0, 0.5), 1.0 - 1e-8, 2)):
        assert draw(noise, 50, 1.0).size == 50


def test_wide_lattice_laws_are_drawn():
    """Geometric weights have a closed form; a support far beyond the mass is not walked."""
    for noise in (
        Discrete(Laplace(5000.0)),
        Discrete(TruncatedLaplace(1.0, 1e8)),
        Discrete(TruncatedLaplace(3.0, 40.0)),
    ):
        assert np.abs(draw(noise, 1000)).max() <= 40 * 5000


@pytest.mark.parametrize("b", [1e-40, 1e-30, 1e-25, 1e-12, 1e-6])
def test_flipped_huber_with_hardly_a_centre(b):
    assert draw(FlippedHuber(b, 1.0), 50, 1e-3).size == 50


def test_the_quantile_of_a_very_short_law():
    noise = TruncatedLaplace(1.0, 1e-20)
    assert noise.isf(0.25) == pytest.approx(5e-21, rel=1e-12) and noise.isf(1e-9) == pytest.approx(1e-20, rel=1e-8)


def test_each_call_has_bits_of_its_own():
    """Two calls at once on one source do not share refinement bits."""
    source = SecureEntropy()
    one, two = source.begin(), source.begin()
    assert not np.array_equal(one.more(np.arange(4), 0), two.more(np.arange(4), 0))


def test_threads_draw_what_one_thread_draws():
    """Balls forced on every draw, four threads at once: the same numbers as alone."""
    way = sampler(Laplace(1e6), 1.0, COARSE)
    words = np.random.default_rng(1).integers(0, 2**63, (60, 1)).astype(np.uint64) * np.uint64(2)
    alone = way.settle(np.arange(60), words, DeterministicTestEntropy(1).begin())
    found = []
    threads = [
        threading.Thread(
            target=lambda: found.append(way.settle(np.arange(60), words, DeterministicTestEntropy(1).begin()))
        )
        for _ in range(4)
    ]
    for thread in threads:
        thread.start()
    for thread in threads:
        thread.join()
    assert len(found) == 4 and all(np.array_equal(one, alone) for one in found)


def _in_child(connection):
    connection.send(int(draw(Asinh(1.0, 10.0), 5).size))
    connection.close()


@pytest.mark.skipif(not hasattr(os, "fork"), reason="this system cannot fork")
@pytest.mark.filterwarnings("ignore:.*fork.*:DeprecationWarning")
def test_a_child_forked_while_a_thread_works_can_draw():
    """The precision's lock is held by another thread at the fork; the child has a free one."""
    held, done = threading.Event(), threading.Event()

    def hold() -> None:
        with precision(100):
            held.set()
            done.wait()

    thread = threading.Thread(target=hold)
    thread.start()
    held.wait()
    here, there = multiprocessing.get_context("fork").Pipe()
    child = multiprocessing.get_context("fork").Process(target=_in_child, args=(there,))
    child.start()
    try:
        assert here.poll(60) and here.recv() == 5
    finally:
        done.set()
        thread.join()
        child.kill()
        child.join()
