"""Draws are exact: the slow and the fast path give the same draws, and error bounds hold against ball arithmetic."""

from __future__ import annotations

import math
import threading

import numpy as np
import pytest
from effort import examples
from flint import arb
from hypothesis import given
from hypothesis import strategies as st
from sampling.families import CONTINUOUS, LATTICE, name

from hush import (
    OSGT,
    Discrete,
    FlippedHuber,
    Gaussian,
    InvalidParameter,
    Laplace,
    Stable,
    Staircase,
    Stepped,
    TruncatedLaplace,
    Unsupported,
)
from hush.noise.stable import FAMILY as STABLE
from hush.sampling.entropy import DeterministicTestEntropy
from hush.sampling.exact import SATURATED, draw, plain_law, sampler
from hush.sampling.lookup import Guide
from hush.sampling.polynomial import Panels
from hush.sampling.stable_transform import Transformation
from hush.sampling.tail_ball import precision, tail
from hush.sampling.threshold import _BLOCK, MARGIN, Tails, fill_all, tails

COARSE = 1e20  # an artificial error bound: ball arithmetic decides every draw
CASES = [(noise, step) for noise in CONTINUOUS for step in (1.0, 1e-4)] + [(noise, noise.step) for noise in LATTICE]


def sample(noise, step, margin, size, seed=5):
    out = np.empty(size, dtype=np.int64)
    fill_all(out, sampler(plain_law(noise), step, margin), DeterministicTestEntropy(seed).begin())
    return out


@pytest.mark.parametrize(("noise", "step"), CASES, ids=[f"{name(n)}-{s:g}" for n, s in CASES])
def test_the_slow_path_gives_the_same_draws(noise, step):
    """From the same bits, ball arithmetic for every draw gives the same numbers as the fast path."""
    size = examples(12, 30) if noise.slow_tail else examples(60, 150)
    assert np.array_equal(sample(noise, step, MARGIN, size), sample(noise, step, COARSE, size))


@pytest.mark.exhaustive
@pytest.mark.parametrize(("noise", "step"), [case for case in CASES if not case[0].slow_tail], ids=str)
def test_the_slow_path_gives_the_same_draws_in_the_thousands(noise, step):
    assert np.array_equal(sample(noise, step, MARGIN, 5000, 8), sample(noise, step, COARSE, 5000, 8))


#: Draws of the slow path from the test source of seed 42. They change only if the law or the use of the bits changes.
PINNED = {
    (Gaussian(10.0), 1.0): [5, -1, 19, 5, -3, 10, -1, -6],
    (Laplace(1e6), 1.0): [-1220630, 269178, -72540, -868845, 243527, -422633, 136841, 791415],
    (Stable(1.5, 1e6), 1.0): [-1058541, 768073, -140751, -1575848, 258882, -193375, 299299, 459815],
    (Discrete(OSGT(3.0, 6.0)), 1.0): [2, 0, 10, 2, -1, 5, 0, -3],
    (Staircase(0.3, 5.0), 0.5): [15, -1, 96, 17, -8, 36, -2, -21],
}


@pytest.mark.parametrize(("noise", "step"), list(PINNED), ids=str)
def test_known_draws_of_the_slow_path(noise, step):
    assert sample(noise, step, COARSE, 8, seed=42).tolist() == PINNED[noise, step]


class ChosenEntropy:
    """Bits chosen by the test: the same word for every draw, then only zeros or only ones."""

    def __init__(self, word: int, bit: int) -> None:
        self.word, self.bit, self.asked = word, bit, 0

    def words(self, count, dtype, lanes=1):
        return np.full((lanes, count), self.word, dtype=dtype)

    def more(self, draws, turn):
        self.asked += 1
        return np.full((draws.size, 2), (1 << 64) - 1 if self.bit else 0, dtype=np.uint64)


@pytest.mark.parametrize(
    "noise",
    [Laplace(1e5), Gaussian(1e5), OSGT(1e5, 1e5), Staircase(0.3, 5e4), Stepped(4e4, (3.0, 2.0, 1.0), 0.4, 2)],
    ids=str,
)
@pytest.mark.parametrize("k", [0, 3, 1000, 123_456, 400_000])
def test_a_word_that_holds_a_threshold_is_decided_by_the_bits_that_follow(noise, k):
    """The interval of V contains T_k: more zeros put V below T_k (magnitude > k), more ones above (magnitude <= k)."""
    law = Tails(noise, 1.0)
    with precision(256):
        word = int((law.ball(k) * 2**63).floor().unique_fmpz())
    way = sampler(noise, 1.0)
    assert isinstance(way, Panels)
    drawn = []
    for bit in (0, 1):
        entropy, out = ChosenEntropy(word << 1, bit), np.empty(3, dtype=np.int64)
        fill_all(out, way, entropy)
        assert entropy.asked >= 3
        drawn.append(out.tolist())
    assert drawn == [[k + 1] * 3, [k] * 3]


@pytest.mark.parametrize("noise", [Gaussian(20.0), Discrete(Laplace(20.0)), Stable(1.5, 5.0)], ids=str)
@pytest.mark.parametrize("k", [0, 7, 31])
def test_the_table_leaves_rows_with_a_threshold(noise, k):
    """The same for a 15-bit row of `Guide`."""
    law = Tails(noise, 1.0)
    with precision(256):
        row = int((law.ball(k) * 2**15).floor().unique_fmpz())
    way = sampler(noise, 1.0)
    assert isinstance(way, Guide)
    low, high = np.empty(1, dtype=np.int64), np.empty(1, dtype=np.int64)
    fill_all(low, way, ChosenEntropy(row | 1 << 15, 0))
    fill_all(high, way, ChosenEntropy(row, 1))
    assert -low[0] > k >= high[0] >= 0


@pytest.mark.parametrize("noise", [*CONTINUOUS, *LATTICE], ids=name)
def test_the_float_bound_is_a_thousand_times_what_balls_show(noise):
    """The check uses other points than the construction."""
    step = noise.step if isinstance(noise, Discrete) else 0.25
    law = Tails(plain_law(noise), step)
    count = 8 if noise.slow_tail else 100
    points = np.unique(np.floor(np.geomspace(1.0, max(float(law.guess(np.array(1e-9))), 2.0), count) * 0.97))
    with precision(192):
        for k, value in zip(points, law.at(points), strict=True):
            truth = law.ball(int(k))
            assert abs(float(value) - truth) * 1000 <= truth * law.slack or truth < 2.0**-100


@pytest.mark.parametrize("noise", [n for n in CONTINUOUS if not isinstance(n, Stable)], ids=name)
def test_the_panels_bound_is_a_thousand_times_what_balls_show(noise):
    """The tail in ball arithmetic at the x of the polynomial gives V."""
    law = Tails(noise, 1e-4)
    way, beyond, unit = Panels(law), tail(noise), float(noise.isf(0.25))
    rng = np.random.default_rng(4)
    words = (rng.random(12 if noise.slow_tail else 300) ** 3 * 2.0**63).astype(np.uint64)
    checked = 0
    for word in words:
        x = float(way.quantile(np.array([word], dtype=np.uint64), np.empty((4, 1)))[0]) * law.step
        if math.isnan(x):
            continue
        checked += 1
        with precision(192):
            error = abs(float(beyond(arb(float(x))) - arb(int(word)) / 2**63)) / (2.0 * noise.pdf(x))
        own_width = 2.0**-42 * (int(word) / 2.0**63) / (2.0 * noise.pdf(x))
        assert MARGIN * max(error - own_width, 0.0) <= way.tolerance * (unit + x)
    assert checked > len(words) // 4 or isinstance(noise, Stepped | Staircase)


@pytest.mark.parametrize(
    "noise",
    [Gaussian(1e6), Laplace(3e4), FlippedHuber(1e6, 1e6), Stable(1.0, 1e5), OSGT(1e6, 1.5e6)],
    ids=str,
)
def test_parabolas_are_as_close_to_the_polynomials_as_stated(noise):
    """Both at words in all octaves of V; a parabola is missing for few of them only."""
    way = Panels(tails(noise, 1.0))
    assert way.fine is not None and way.fine.error <= 0.002
    rng = np.random.default_rng(4)
    words = np.concatenate(
        [rng.integers(0, 2**63, 20_000, dtype=np.uint64), (2.0 ** rng.uniform(44, 63, 2000)).astype(np.uint64)]
    )
    exact = way.quantile(words, np.empty((4, words.size))).copy()
    v = words.astype(np.float64)
    row = np.clip((v.view(np.int64) >> 42) - ((1023 + 43) << 10) + 1, 0, way.fine.columns[0].size - 1)
    first, second, third = (column[row] for column in way.fine.columns)
    quick = first + v * (second + v * third)
    assert np.isnan(quick[:20_000]).mean() < 0.01
    apart = np.nanmax(np.abs(quick - exact))
    assert 0.0 < apart <= way.fine.error


@pytest.mark.parametrize("alpha", [1.0, 1.05, 1.3, 1.7, 1.95, 1.999])
def test_the_transformation_gives_the_stable_law(alpha):
    """Its bound holds against balls at scattered words, and its quantiles are the law's (z below 4.9: 1e-6
    two-sided).
    """
    noise = Stable(alpha, 1e6)
    way = Transformation(noise, STABLE.two_uniforms(noise), 1.0)
    assert way.tolerance < 1e-10
    out = np.empty(100_000, dtype=np.int64)
    fill_all(out, way, DeterministicTestEntropy(9).begin())
    for level in (0.25, 0.01, 0.001):
        hits = np.count_nonzero(np.abs(out) > noise.isf(level))
        assert abs(hits - 2e5 * level) < 4.9 * math.sqrt(2e5 * level)


class EveryBlock:
    """A sampler that leaves the first and the last draw of each block undecided, with the place that it knows."""

    def __init__(self) -> None:
        self.blocks: list[int] = []

    def fill(self, out, entropy, scratch):
        start, self.blocks = sum(self.blocks), [*self.blocks, out.size]
        out[:] = np.arange(start, start + out.size)
        places = np.unique([0, out.size - 1])
        out[places] = -1
        return places, np.zeros((places.size, 2), dtype=np.uint64)

    def settle(self, draws, words, entropy):
        assert len(draws) == len(words) and len(set(draws.tolist())) == len(draws)
        return draws


@pytest.mark.parametrize("size", [1, _BLOCK, _BLOCK + 1, 3 * _BLOCK + 7])
def test_undecided_draws_of_every_block_are_settled_at_their_own_places(size):
    """The draws of the second block begin where the first ends: none is overwritten, and none is left undecided."""
    made, way = np.empty(size, dtype=np.int64), EveryBlock()
    fill_all(made, way, DeterministicTestEntropy(1).begin())
    assert np.array_equal(made, np.arange(size)) and len(way.blocks) == -(-size // _BLOCK)


def test_draws_beyond_the_largest_integer_saturate():
    """Draws that do not fit are returned as 2^62 with their sign."""
    for noise in (Laplace(1e30), Stable(1.5, 1e30)):
        out = draw(noise, 8, 1.0, DeterministicTestEntropy(1))
        assert set(np.abs(out).tolist()) == {SATURATED} and len(set(np.sign(out).tolist())) == 2
    some = draw(Stable(1.0, 2.0**61), 200, 1.0, DeterministicTestEntropy(2))
    assert 40 < np.count_nonzero(np.abs(some) == SATURATED) < 120


@pytest.mark.parametrize(
    "noise", [Gaussian(1e-3), Laplace(1e-4), Stable(1.5, 1e-9), Discrete(Gaussian(1e-2)), Staircase(50.0)], ids=str
)
def test_noise_far_smaller_than_a_step(noise):
    assert np.count_nonzero(draw(noise, 1000, 1.0)) <= (0 if not isinstance(noise, Stable) else 3)


@given(st.floats(-6.0, 6.0), st.floats(-3.0, 8.0), st.sampled_from(["gaussian", "laplace", "osgt"]))
def test_any_scale_and_step_can_be_drawn(scale, fineness, family):
    """On fine lattices about half of the draws are within the median of |X|: 30 to 70 of 100, except for 1e-4."""
    size = 10.0**scale
    noise = {"gaussian": Gaussian(size), "laplace": Laplace(size), "osgt": OSGT(size, 2.0 * size)}[family]
    step = size / 10.0**fineness
    out = draw(noise, 100, step, DeterministicTestEntropy(6))
    if fineness > 1.5:
        inside = np.count_nonzero(np.abs(out) * step <= noise.isf(0.25))
        assert 30 <= inside <= 70


def test_threads_draw_what_one_thread_draws():
    """Four threads at once, with ball arithmetic for every draw, get the same numbers as one thread."""
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


# -- extreme parameters ---------------------------------------------------------------------------------------


@pytest.mark.parametrize("alpha", [1.0 + 1e-15, 1.0001, 1.01, 1.02, 1.05])
@pytest.mark.parametrize("step", [0.1, 1e17, 1e110])
def test_stable_shapes_near_one(alpha, step):
    """The choice of the series uses logarithms, which do not overflow."""
    assert draw(Stable(alpha, 1.0), 50, step).size == 50


def test_step_densities_with_very_slow_tails():
    for noise in (Staircase(1e-9), Staircase(1e-12), Stepped(1.0, (1.0, 0.5), 1.0 - 1e-8, 2)):
        assert draw(noise, 50, 1.0).size == 50


def test_wide_lattice_laws_are_drawn():
    """Geometric weights have a closed form, so a support far beyond the mass costs nothing."""
    for noise in (
        Discrete(Laplace(5000.0)),
        Discrete(TruncatedLaplace(1.0, 1e8)),
        Discrete(TruncatedLaplace(3.0, 40.0)),
    ):
        assert np.abs(draw(noise, 1000)).max() <= 40 * 5000


@pytest.mark.parametrize("b", [1e-40, 1e-30, 1e-25, 1e-12, 1e-6])
def test_flipped_huber_with_a_tiny_centre(b):
    assert draw(FlippedHuber(b, 1.0), 50, 1e-3).size == 50


# -- errors ---------------------------------------------------------------------------------------------------


def test_bad_requests():
    """Every bad argument raises an error that names it."""
    for size in (-1, 2.5, "many", None, (3, -1)):
        with pytest.raises(InvalidParameter, match="size"):
            draw(Gaussian(1.0), size)
    for step in (0.0, -1.0, math.nan, math.inf, "1"):
        with pytest.raises(InvalidParameter, match="step"):
            draw(Gaussian(1.0), 3, step)
    with pytest.raises(InvalidParameter, match="noise"):
        draw(1.0, 3)
    with pytest.raises(Unsupported, match="own lattice"):
        draw(Discrete(Gaussian(1.0)), 3, 0.5)
    assert draw(Gaussian(1.0), 0).shape == (0,)
    assert draw(Gaussian(1.0), (2, 3)).shape == (2, 3)
