"""Error bars of vectors whose numbers share one draw of noise: bands, weighted sums, covariance, and what is printed.

Widths are compared with the enumerated law on small lattices, where nothing is random, and with draws of ten numbers.
Tests with draws fail by chance with probability at most 1e-6 each (4.9 standard errors).
"""

from __future__ import annotations

import itertools
import math
from typing import Any

import numpy as np
import pytest

import hush
from hush.noise import level_reach
from hush.noise.level_reach import LevelTable, fourier_reach, reach_of_all, reach_of_sum, whole_weights
from hush.releasing.error_bars import ErrorBars

SMALL: dict[str, tuple[Any, int]] = {
    "cube, 2": (hush.Cube(2, 1.0), 36),
    "cube, 3": (hush.Cube(3, 0.7), 18),
    "interval, 2, no offset": (hush.Interval(2, 1.0), 36),
    "interval, 2": (hush.Interval(2, 1.3, 2.0), 40),
    "interval, 3": (hush.Interval(3, 0.7, 1.0), 18),
    "interval, 2, a large offset": (hush.Interval(2, 1.0, 7.0), 40),
    "interval, 2, half steps": (hush.Interval(2, 0.6, 1.0, step=0.5), 40),
}
TEN = hush.Interval(10, 1.0, 3.0)
COUNTS = hush.Sensitivity(linf=1.0, dimension=10, one_sided=True)


def law(name: str) -> tuple[Any, np.ndarray, np.ndarray]:
    """The noise, the points of its lattice in steps, and their probabilities."""
    noise, reach = SMALL[name]
    axis = np.arange(-reach, reach + 1)
    points = np.stack(np.meshgrid(*[axis] * noise.dimension, indexing="ij"), axis=-1).reshape(-1, noise.dimension)
    return noise, points, np.exp(noise.log_density_of(points * noise.step))


# -- widths against the enumerated law -----------------------------------------------------------------------


@pytest.mark.parametrize("name", SMALL)
@pytest.mark.parametrize("probability", [0.5, 0.2, 0.05, 1e-3, 1e-5])
def test_the_band_is_the_least_one_that_holds(name: str, probability: float) -> None:
    noise, points, mass = law(name)
    largest = np.abs(points).max(axis=1)
    found = noise.reach_of_all(probability) / noise.step
    assert found == round(found)
    assert mass[largest > found].sum() <= probability < mass[largest > found - 1].sum()


@pytest.mark.parametrize("name", SMALL)
@pytest.mark.parametrize("probability", [0.3, 0.05, 1e-3])
@pytest.mark.parametrize("weights", [(1, 1, 1), (1, -1, 0), (2, -1, 3), (0.5, 0.25, -1.0), (0.0, 7.0, 0.0)], ids=str)
def test_a_sum_with_whole_weights_has_the_least_width(
    name: str, probability: float, weights: tuple[float, ...]
) -> None:
    noise, points, mass = law(name)
    used = np.array(weights[: noise.dimension], dtype=float)
    sums = np.abs(points @ used)
    found = noise.reach_of_sum(used, probability) / noise.step
    below = max((s for s in np.unique(sums) if s < found - 1e-9), default=-1.0)
    assert mass[sums > found + 1e-9].sum() <= probability < mass[sums > below + 1e-9].sum()


@pytest.mark.parametrize("name", SMALL)
def test_a_sum_with_other_weights_is_covered_and_not_much_wider(name: str) -> None:
    noise, points, mass = law(name)
    used = np.array([0.31, -math.pi / 4.0, 0.77])[: noise.dimension]
    sums = np.abs(points @ used)
    for probability in (0.3, 0.05, 1e-3):
        found = noise.reach_of_sum(used, probability) / noise.step
        assert mass[sums > found].sum() <= probability < mass[sums > 0.85 * found].sum()


@pytest.mark.parametrize("name", SMALL)
def test_far_tails_of_sums_are_bounded(name: str) -> None:
    """Beyond what Fourier transforms resolve, the bound given the level is used."""
    noise, points, mass = law(name)
    for weights in (np.ones(noise.dimension), np.array([1.0, -1.0, 0.0])[: noise.dimension]):
        sums = np.abs(points @ weights)
        found = noise.reach_of_sum(weights, 1e-8) / noise.step
        assert mass[sums > found].sum() <= 1e-8
        least = next(t for t in range(200) if mass[sums > t].sum() <= 1e-8)
        assert found < 2.0 * least


@pytest.mark.parametrize("noise", [hush.Cube(20, 300.0), hush.Interval(10, 200.0, 600.0)], ids=repr)
def test_fine_lattices_use_a_coarser_one(noise: Any) -> None:
    """The width holds for draws, and is at most 5 % above the least."""
    weights = np.ones(noise.dimension)
    found = noise.reach_of_sum(weights, 0.05)
    sums = np.abs(hush.draw(noise, 40_000).sum(axis=1))
    spread = 4.9 * math.sqrt(0.05 * 0.95 / 40_000)
    assert (sums > found).mean() <= 0.05 + spread < 0.05 + 2.0 * spread < (sums > 0.85 * found).mean()
    assert (sums > found / 1.05).mean() > 0.05 - spread


@pytest.mark.parametrize("name", SMALL)
@pytest.mark.parametrize("factor", [2, 4])
def test_a_coarser_lattice_is_a_bound(name: str, factor: int, monkeypatch: pytest.MonkeyPatch) -> None:
    """By enumeration, far coarser than would be used."""
    noise, points, mass = law(name)
    monkeypatch.setattr(level_reach, "_FACTORS", (factor,))
    bound = level_reach._by_variance
    monkeypatch.setattr(level_reach, "_by_variance", lambda *given: 10.0 * (bound(*given) or 0.0))  # never the least
    for weights in (np.ones(noise.dimension), np.array([2.0, -1.0, 0.5])[: noise.dimension]):
        sums = np.abs(points @ weights)
        for probability in (0.3, 0.05, 1e-3):
            found = reach_of_sum(noise.level_table, weights, probability)
            assert found is not None and mass[sums > found + 1e-9].sum() <= probability


@pytest.mark.parametrize("name", SMALL)
def test_too_much_work_falls_back_to_the_bound(name: str, monkeypatch: pytest.MonkeyPatch) -> None:
    noise, points, mass = law(name)
    monkeypatch.setattr(level_reach, "MOST_WORK", 1)
    for weights in (np.ones(noise.dimension), np.array([1.0, -1.0, 0.0])[: noise.dimension]):
        sums = np.abs(points @ weights)
        found = reach_of_sum(noise.level_table, weights, 0.05)
        assert found is not None and mass[sums > found].sum() <= 0.05 < mass[sums > 0.5 * found].sum()


def test_a_table_that_misses_too_much_has_no_width() -> None:
    table = LevelTable(2, np.array([0.5]), np.array([3.0]), np.array([1.0]), missing=0.5)
    assert reach_of_all(table, 0.1) is None and reach_of_sum(table, np.ones(2), 0.1) is None
    assert reach_of_all(table, 0.6) == 1


def test_the_law_of_a_sum_of_fair_signs() -> None:
    """Fourier inversion of a law that is known exactly: the sum of 12 signs is binomial."""
    cosines = lambda k: np.cos(2.0 * np.pi * k / 64.0) ** 12  # noqa: E731
    beyond = [sum(math.comb(12, j) for j in range(13) if abs(2 * j - 12) > t) / 2.0**12 for t in range(13)]
    for allowed in (0.5, 0.1, 0.01):
        assert fourier_reach(cosines, 64, allowed) == next(t for t in range(13) if beyond[t] <= allowed)
    assert fourier_reach(cosines, 64, 1e-10) is None


def test_weights_are_multiples_of_a_unit_where_they_can_be() -> None:
    for weights, unit in (((1.0, 1.0), 1.0), ((2.0, 3.0, -5.0), 1.0), ((0.5, 0.25), 0.25), ((4.0, 0.0), 4.0)):
        whole, found, off = whole_weights(np.array(weights), 400)
        assert found == unit and off == 0.0 and (whole * unit == np.array(weights)).all()
    weights_ = np.array([0.1, 0.2, 0.3])  # no multiples in binary, and almost so
    whole, unit, off = whole_weights(weights_, 400)
    assert whole.tolist() == [1, 2, 3] and 0.0 < off < 1e-10
    whole, unit, off = whole_weights(np.array([1.0, math.pi]), 8)
    assert np.abs(whole * unit - [1.0, math.pi]).sum() <= off < 0.3


# -- releases ------------------------------------------------------------------------------------------------


def released(values: Any, noise: Any = TEN, bound: hush.Sensitivity = COUNTS) -> hush.Release:
    mechanism = hush.Mechanism(noise, bound, noise.step, integers=True, coordinates=np.size(values))
    return hush.release(values, mechanism, ledger=None)


CASES = {
    "interval": (TEN, COUNTS),
    "cube": (hush.Cube(10, 1.0), hush.Sensitivity(linf=1.0, dimension=10)),
    "independent": (hush.Discrete(hush.Laplace(10.0)), hush.Sensitivity(linf=1.0, dimension=10)),
}
DRAWS = 40_000


@pytest.mark.parametrize("name", CASES)
@pytest.mark.parametrize("level", [0.8, 0.95, 0.99])
def test_bands_and_sums_cover_as_often_as_they_say(name: str, level: float) -> None:
    """And no more than a step's worth oftener. A band of the width for one number fails; so does 2/3 of a width."""
    noise, bound = CASES[name]
    error = released(np.zeros(10, dtype=int), noise, bound).error
    sample = hush.draw(noise, DRAWS if noise.dimension else (DRAWS, 10)).astype(float)
    spread = 4.9 * math.sqrt(level * (1.0 - level) / DRAWS)
    largest = np.abs(sample).max(axis=1)
    width = error.band_half_width(level)
    assert (largest <= width).mean() >= level - spread
    assert (largest <= width - 1.0).mean() <= level + spread
    assert (largest <= error.half_width(level)).mean() < level - spread
    for weights in (np.ones(10), np.array([1, -1] + [0] * 8), np.arange(10) - 3):
        sums = np.abs(sample @ weights)
        width = error.sum_half_width(weights, level)
        assert (sums <= width).mean() >= level - spread
        assert (sums <= width - 1.0).mean() <= level + spread
        assert (sums <= width * 2.0 / 3.0).mean() < level - spread


def test_a_release_has_a_band_and_totals() -> None:
    truth = np.arange(10) * 1000
    made = released(truth)
    low, high = made.band(level=0.999999)
    assert ((low <= truth) & (truth <= high)).all()
    total = made.total(level=0.999999)
    assert total.low <= truth.sum() <= total.high and total.value == pytest.approx(float(np.sum(made.value)))
    weights = np.array([1.0, -1.0] + [0.0] * 8)
    difference = made.total(weights, level=0.999999)
    assert difference.low <= -1000 <= difference.high
    assert difference.high - difference.low < 2.0 * (high - low)[0]
    again = hush.Release.from_json(made.to_json())
    assert again.total(weights) == made.total(weights) and (again.band()[0] == made.band()[0]).all()


def test_sums_know_the_dependence() -> None:
    """Correlated errors: a sum is noisier than independent noise of this variance would make it, a difference less."""
    error = released(np.zeros(10, dtype=int)).error
    own, shared = error.covariance[0, 0], error.covariance[0, 1]
    assert own == pytest.approx(error.standard_deviation**2, rel=1e-6) and shared / own == pytest.approx(0.25, abs=0.02)
    independent = 1.96 * math.sqrt(10.0 * own)
    assert error.sum_half_width(np.ones(10), 0.95) > 1.5 * independent
    assert error.sum_half_width([1.0, -1.0] + [0.0] * 8, 0.95) < 0.95 * 1.96 * math.sqrt(2.0 * own)


def test_denoising_counts_the_common_error_once() -> None:
    """James-Stein shrinks towards the mean, by what noise adds to the spread. A common error adds nothing to it.

    The spread of 4,000 draws agrees with it within 6 standard errors (a false alarm has probability below 1e-6).
    """
    error = released(np.zeros(10, dtype=int)).error
    own, shared = error.covariance[0, 0], error.covariance[0, 1]
    assert error.variance_around_mean == pytest.approx(own - shared)
    sample = hush.draw(TEN, 4000).astype(float)
    spread = sample.var(axis=1, ddof=1)
    assert abs(spread.mean() - (own - shared)) < 6.0 * spread.std() / math.sqrt(4000)
    assert abs(spread.mean() - own) > 6.0 * spread.std() / math.sqrt(4000)
    made = released(np.zeros(10, dtype=int))
    assert np.var(made.denoised().value) <= np.var(made.value)


def test_independent_numbers_have_bands_and_sums_too() -> None:
    plan = hush.calibrate(1.0, 1e-6, hush.Sensitivity(linf=1.0, l0=1), family="gaussian")
    made = hush.release(np.zeros(100), plan, ledger=None)
    sigma = made.error.standard_deviation
    assert made.error.band_half_width(0.95) == pytest.approx(3.4738 * sigma, rel=0.01)  # the normal 1 - 0.000256
    assert made.error.sum_half_width(np.ones(100), 0.95) < 1.5 * 1.96 * 10.0 * sigma
    few = hush.release(np.zeros(3), plan, ledger=None)
    rounding = 1.5 * few.receipt["mechanism"]["step"]
    assert few.error.sum_half_width(np.ones(3), 0.95) == pytest.approx(
        1.96 * math.sqrt(3.0) * sigma + rounding, rel=0.01
    )
    assert few.error.covariance == pytest.approx(np.eye(3) * sigma**2)
    heavy = hush.calibrate(1.0, 0.0, hush.Sensitivity(linf=1.0, l0=1), family="stable", loss="mae")
    stable = hush.release(np.zeros(3), heavy, ledger=None)
    assert stable.error.sum_half_width(np.ones(3), 0.9) >= stable.error.half_width(0.9)
    with pytest.raises(hush.Unsupported, match="independent"):
        _ = ErrorBars.of(hush.Laplace(1.0), 1.0, False, 10_000).covariance


def test_one_number_has_the_band_of_its_interval() -> None:
    made = hush.release(7, hush.calibrate(1.0, 1e-6), ledger=None)
    assert made.band() == made.interval() and made.error.dependence == ""
    assert made.total().value == made.value
    assert (made.total().low, made.total().high) == pytest.approx(made.interval(), rel=1e-3)


class Bare(hush.Cube):
    """A joint noise without laws of its own for bands and sums."""

    def reach_of_all(self, probability: float) -> None:
        return None

    def reach_of_sum(self, weights: Any, probability: float) -> None:
        return None


def test_a_noise_without_laws_gets_proved_bounds() -> None:
    bare, full = (ErrorBars.of(kind(10, 1.0), 1.0, False, 10) for kind in (Bare, hush.Cube))
    for level in (0.8, 0.95, 0.999):
        assert full.band_half_width(level) <= bare.band_half_width(level) < 1.5 * full.band_half_width(level)
        for weights in (np.ones(10), np.arange(10.0)):
            assert full.sum_half_width(weights, level) <= bare.sum_half_width(weights, level)
    assert bare.sum_half_width(np.eye(10)[0], 0.95) == bare.half_width(0.95)  # one number is itself


def test_rounding_to_the_lattice_is_added() -> None:
    plan = hush.calibrate(1.0, 0.0, COUNTS)  # real values, rounded to a fine lattice
    made = hush.release(np.zeros(10), plan, ledger=None)
    step, exact = made.receipt["mechanism"]["step"], ErrorBars.of(plan.noise, plan.noise.step, False, 10)
    assert made.error.band_half_width(0.95) == pytest.approx(exact.band_half_width(0.95) + 0.5 * step)
    assert made.error.sum_half_width(np.ones(10), 0.95) == pytest.approx(
        exact.sum_half_width(np.ones(10), 0.95) + 5.0 * step
    )


def test_values_at_the_limit_have_open_ends() -> None:
    made = released(np.array([2**62] + [0] * 9))
    low, high = made.band()
    assert math.isinf(high[0]) and np.isfinite(high[1:]).all() and np.isfinite(low).all()
    assert math.isinf(made.total().high) and math.isinf(made.total().low)
    rest = made.total([0.0] + [1.0] * 9)
    assert math.isfinite(rest.low) and math.isfinite(rest.high)


@pytest.mark.parametrize("weights", [[1.0, 2.0], 1.0, [[1.0] * 10], [math.nan] * 10, ["a"] * 10])
def test_bad_weights_are_refused(weights: Any) -> None:
    with pytest.raises(hush.InvalidParameter, match="weights"):
        released(np.zeros(10, dtype=int)).total(weights)


def test_the_widths_of_a_noise_refuse_bad_requests() -> None:
    for weights in ([1.0, 2.0], [math.inf] * 10):
        with pytest.raises(hush.InvalidParameter, match="10 finite numbers"):
            TEN.reach_of_sum(weights, 0.05)
    for probability in (-0.1, 1.5, math.nan):
        with pytest.raises(hush.InvalidParameter, match="probability"):
            TEN.reach_of_all(probability)
    assert TEN.reach_of_sum(np.zeros(10), 0.05) == 0.0


@pytest.mark.parametrize("factor", [1e-200, 1e200])
def test_weights_of_any_size(factor: float) -> None:
    error = released(np.zeros(10, dtype=int)).error
    assert error.sum_half_width(np.full(10, factor), 0.95) == pytest.approx(52.0 * factor, rel=1e-6)


@pytest.mark.parametrize("level", [0.0, 1.0, "x"])
def test_bad_levels_are_refused(level: Any) -> None:
    made = released(np.zeros(10, dtype=int))
    for call in (made.band, made.total):
        with pytest.raises(hush.InvalidParameter, match="level"):
            call(level=level)


# -- what is printed -----------------------------------------------------------------------------------------


def test_dependence_is_printed_and_in_the_receipt_and_the_statement() -> None:
    made = released(np.arange(10))
    sentence = "these 10 numbers share one draw of noise: their errors are dependent, with correlation 0.25"
    assert made.error.dependence == sentence == made.receipt["error"]["dependence"]
    assert f"+-{made.error.band_half_width(0.95):g} for all at once; {sentence}" in repr(made)
    assert sentence in made._repr_html_() and sentence in " ".join(str(hush.report.statement(made)).split())
    cube = released(np.arange(10), *CASES["cube"])
    assert cube.error.dependence.endswith("their errors are dependent, but not correlated")


def test_independent_numbers_do_not_mention_dependence() -> None:
    made = released(np.arange(10), *CASES["independent"])
    assert made.error.dependence == "" and "dependence" not in made.receipt["error"]
    assert "together" not in repr(made) and "share one draw" not in str(hush.report.statement(made))


def test_bands_of_many_levels_are_ordered() -> None:
    error = released(np.zeros(10, dtype=int)).error
    widths = [error.band_half_width(level) for level in (0.5, 0.9, 0.99, 0.999, 1.0 - 1e-6)]
    assert all(a < b for a, b in itertools.pairwise(widths))
    sums = [error.sum_half_width(np.ones(10), level) for level in (0.5, 0.9, 0.99, 0.999, 1.0 - 1e-9)]
    assert all(a < b for a, b in itertools.pairwise(sums))


# -- numbers with different laws -----------------------------------------------------------------------------

MIXED = {
    "counts and people": hush.Plateau(("one_sided", "one_sided", "people"), 0.6, (1.0, 1.0, 0.0)),
    "a count and two sums": hush.Plateau(("one_sided", "two_sided", "two_sided"), 0.5, (1.0, 0.0, 1.0)),
    "people first": hush.Plateau(("people", "two_sided"), 0.7, (0.0, 2.0)),
}


@pytest.mark.parametrize("name", MIXED)
@pytest.mark.parametrize("level", [0.5, 0.8, 0.95, 0.999, 0.999999])
def test_every_number_is_covered_by_its_own_law(name: str, level: float) -> None:
    """The enumerated law: each number in its interval, all in the band, sums in theirs. The width of the number with
    the least noise would miss the others.
    """
    noise = MIXED[name]
    axis = np.arange(-24, 25) if noise.dimension == 3 else np.arange(-60, 61)
    points = np.stack(np.meshgrid(*[axis] * noise.dimension, indexing="ij"), axis=-1).reshape(-1, noise.dimension)
    mass = np.exp(noise.log_density_of(points))
    assert mass.sum() > 1.0 - 1e-9
    error = ErrorBars.of(noise, 1.0, False, noise.dimension)
    widths = error.half_width(level)
    assert widths.shape == (noise.dimension,)
    for place, width in enumerate(widths.tolist()):
        beyond = np.abs(points[:, place])
        assert mass[beyond > width].sum() <= 1.0 - level + 1e-9
        assert mass[beyond > width - 1.0].sum() > 1.0 - level - 1e-9
    band = error.band_half_width(level)
    assert mass[(np.abs(points) > band).any(axis=1)].sum() <= 1.0 - level + 1e-9
    for weights in (np.ones(noise.dimension), np.eye(noise.dimension)[-1], np.arange(noise.dimension) - 1.0):
        sums = np.abs(points @ weights)
        found = error.sum_half_width(weights, level)
        assert mass[sums > found].sum() <= 1.0 - level + 1e-9
        least = min(w for w in np.unique(sums) if mass[sums > w].sum() <= 1.0 - level)
        assert found <= 1.1 * least + 2.0 * np.abs(weights).sum()  # rounding to the lattice is added for each number


def test_a_common_error_drops_out_of_a_difference() -> None:
    """Counts and people share the middle of their intervals: the difference of two counts is known better."""
    error = ErrorBars.of(hush.Plateau(("people", "one_sided", "one_sided"), 4.0), 1.0, False, 3)
    assert error.sum_half_width([0.0, 1.0, -1.0], 0.95) < 0.85 * error.sum_half_width([0.0, 1.0, 1.0], 0.95)


def test_a_release_of_numbers_with_different_laws() -> None:
    bound = hush.Sensitivity(linf=1.0, dimension=5, one_sided=True, people=4)
    plan = hush.calibrate(1.0, 0.0, bound, values="integer")
    assert isinstance(plan.noise, hush.Plateau)
    made = hush.release(np.arange(5) * 100, plan, ledger=None)
    low, high = made.interval()
    assert len(set((high - low).tolist())) == 2 and (high - low)[4] > (high - low)[0]
    assert made.receipt["error"]["half_width95"] == ((high - low) / 2.0).tolist()
    assert made.error.standard_deviation == pytest.approx(np.sqrt(plan.noise.variance))
    again = hush.Release.from_json(made.to_json())
    assert (again.interval()[0] == low).all()
    assert "soft-threshold" in str(made.denoised(method="soft-threshold").receipt["post_processing"])
