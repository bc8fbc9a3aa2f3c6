"""Groups found by sums of weights: every pair of neighbours of small tables, enumerated, against the curve."""

from __future__ import annotations

import itertools
import math

import numpy as np
import pytest

import hush
from hush.privacy.by_keys import KeyedCurve, quick_delta
from hush.privacy.by_rungs import blocks, rung_delta
from hush.privacy.failure import divergence_but_for
from hush.tables.which.ladder import Ladder, ladder
from hush.tables.which.rough import rough_delta

EPSILON, DELTA = 1.0, 0.02


@pytest.fixture(scope="module")
def small() -> Ladder:
    """At most four groups a person, with a delta that enumeration can reach."""
    return ladder(4, EPSILON, DELTA)


def outcomes(made: Ladder, size: int | None, *, numbers: bool) -> np.ndarray:
    """The probability of each outcome of a group with a sum of weights: hidden (first), then shown, as one outcome or
    with each noisy number.
    """
    last = made.noise.points - 1
    noise = np.arange(-last, last + 1)
    mass = np.exp(made.noise.log_density(noise.astype(float)))
    found = np.zeros(4 * last if numbers else 2)
    if size is None:  # the group does not exist
        found[0] = 1.0
        return found
    shown = size + noise >= made.threshold
    place = np.where(shown, size + noise - made.threshold + 1 if numbers else 1, 0)
    np.add.at(found, place, mass)
    return found


def worst(made: Ladder, weight: int, groups: int, sizes: list[int | None], *, numbers: bool = False) -> float:
    """The largest delta over all tables in which a person has that many groups, in both directions."""
    pairs = [
        [outcomes(made, one, numbers=numbers) for one in (size, weight if size is None else size + weight)]
        for size in sizes
    ]
    most = 0.0
    for chosen in itertools.combinations_with_replacement(pairs, groups):
        without, with_one = chosen[0]
        for one, other in chosen[1:]:
            without, with_one = np.multiply.outer(without, one).ravel(), np.multiply.outer(with_one, other).ravel()
        for p, q in ((with_one, without), (without, with_one)):
            most = max(most, float(np.maximum(p - math.exp(EPSILON) * q, 0.0).sum()))
    return most


def sizes_of(made: Ladder, few: bool) -> list[int | None]:
    """Sums of weights from 1 to far above the threshold."""
    steps = 5 if few else 40
    return [None, 1, *range(made.unit, 2 * made.threshold, max(1, 2 * made.threshold // steps))]


def test_every_pair_of_neighbours_is_within_the_curve(small: Ladder) -> None:
    claimed = float(hush.compose([small.charge]).delta(EPSILON))
    assert claimed <= DELTA
    found = {groups: worst(small, small.weight(groups), groups, sizes_of(small, groups > 2)) for groups in range(1, 5)}
    assert max(found.values()) <= claimed * (1.0 + 1e-9)
    assert max(found.values()) > 0.05 * DELTA
    # the curve also covers the noisy sums of one group, which are not published
    numbers = worst(small, small.weight(1), 1, sizes_of(small, False), numbers=True)
    assert 0.5 * DELTA < numbers <= claimed * (1.0 + 1e-9)


def test_broken_variants_are_caught(small: Ladder) -> None:
    """A weight that is not certified, and a threshold that is too low."""
    sizes = sizes_of(small, False)
    heavy = worst(small, 2 * small.weight(1), 1, sizes, numbers=True)
    assert heavy > DELTA
    low = Ladder(small.noise, small.unit, small.threshold - 3 * small.unit, small.rungs)
    assert worst(low, small.weight(1), 1, [None]) > small.rungs[0][2] * (1.0 + 1e-6)
    assert worst(low, small.weight(4), 4, [None]) > DELTA


def test_weights_fall_with_the_number_of_groups(small: Ladder) -> None:
    weights = [small.weight(groups) for groups in range(1, 5)]
    assert weights == sorted(weights, reverse=True) and weights[0] > weights[-1] == small.unit
    # a rung is as large as its budget allows: one and a half times the weight is too much
    charge = small.charge
    for most, weight, _ in small.rungs[:-1]:
        chance = float(small.noise.sf(small.threshold - 1.5 * weight - 1))
        assert float(rung_delta(charge, (most, float(round(1.5 * weight)), chance), np.array(EPSILON))) > DELTA


def test_a_rung_is_bounded_by_blocks() -> None:
    """The blocks bound the sharp maximum over all numbers of new groups, and are not far above it."""
    charge = hush.Charge(hush.Bump(8.0, 60.0), hush.Sensitivity(linf=2.0, l0=9), keys=hush.Keys(9, 3e-7))
    for groups in (1, 2, 3, 8, 9):
        covered = [j for first, last in blocks(groups) for j in range(first, last + 1)]
        assert covered == list(range(groups))
    for groups, move in ((9, 2.0), (3, 3.0), (1, 4.0)):
        one = hush.Charge(charge.noise, hush.Sensitivity(linf=move, l0=groups), keys=hush.Keys(groups, 3e-7))
        sharp = float(KeyedCurve(one).delta(EPSILON))
        found = float(rung_delta(charge, (groups, move, 3e-7), np.array(EPSILON)))
        assert sharp <= found <= 1.3 * sharp


def test_the_curve_is_the_maximum_over_the_rungs(small: Ladder) -> None:
    charge, places = small.charge, np.array([0.3, 1.0, 2.0])
    each = [rung_delta(charge, (most, float(weight), chance), places) for most, weight, chance in small.rungs]
    assert np.asarray(hush.compose([charge]).delta(places)) == pytest.approx(np.max(each, axis=0), rel=1e-12)
    twice = hush.compose([charge.repeated(2)])
    assert float(twice.delta(1.0)) > float(hush.compose([charge]).delta(1.0))
    found, plain = divergence_but_for(charge, 8.0), hush.Charge(charge.noise, charge.sensitivity)
    assert found.failure >= max(most * chance for most, _, chance in small.rungs)
    assert found.divergence >= divergence_but_for(plain, 8.0).divergence


def test_the_rough_estimate_is_close() -> None:
    noise = hush.Bump(6.0, 200.0)
    for move, groups in ((4, 1), (2, 10), (1, 40)):
        exact = quick_delta(hush.Charge(noise, hush.Sensitivity(linf=float(move), l0=groups)), EPSILON)
        assert rough_delta(noise, move, groups, EPSILON) == pytest.approx(exact, rel=0.05)


def test_rungs_are_stored_and_refused(small: Ladder) -> None:
    charge = small.charge
    assert hush.Charge.from_plain(charge.to_plain()) == charge
    ledger = hush.Ledger(None, epsilon=1.5, delta=0.05)
    ledger.spend(charge)
    assert ledger.spent.epsilon <= 1.5
    with pytest.raises(hush.InvalidParameter, match="rungs"):
        hush.Keys(4, 1e-8, rungs=((1, 2.0),))
    with pytest.raises(hush.InvalidParameter, match="cut"):
        hush.Keys(4, 1e-8, 3.0, rungs=((1, 2.0, 1e-8),))
    with pytest.raises(hush.InvalidParameter, match="one number in each group"):
        hush.Charge(
            hush.Gaussian(9.0), hush.Sensitivity(linf=1.0, l0=8), keys=hush.Keys(4, 1e-8, rungs=((1, 2.0, 1e-8),))
        )
