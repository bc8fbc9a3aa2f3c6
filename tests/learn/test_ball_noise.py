"""Joint noise in a fit: ball noise on vectors with an l2 bound, and joint noise on full gradients."""

from __future__ import annotations

import math
from dataclasses import replace

import numpy as np
import pytest
from learn import small_fits as small
from scipy.stats import gamma

import hush
from hush import Ledger, compose
from hush.errors import NotPaid, Unsupported
from hush.learn import LogisticRegression
from hush.learn.budget import Part, allot
from hush.learn.defaults import setting
from hush.learn.descent import Noise, updates_wish
from hush.learn.means_and_spreads import moments_wish
from hush.learn.moment_solver import products_wish
from hush.learn.objective import SQUARED
from hush.learn.paid import Paid
from hush.learn.training import plan
from hush.ledger import unaccounted
from hush.noise.ball import Ball
from hush.privacy.charge import Budget
from hush.sampling.entropy import DeterministicTestEntropy

FALSE_ALARM = 1e-6
VECTORS = (moments_wish(4, 0.25), products_wish(1000, 5, 2.0, 0.75))
ALONE = (products_wish(1000, 5, 2.0, 1.0),)


def full_gradients(passes: int, columns: int = 4, share: float = 1.0):
    chosen = setting(SQUARED, 0.1, columns, solver="gd", passes=passes, step=None, clip=None)
    return updates_wish(2.0**20, columns, chosen, share)


def parts_of(wishes, family=None, epsilon: float = 1.0, delta: float = 1e-6) -> tuple[Part, ...]:
    return allot(epsilon, delta, wishes, family=family, accounting="exact")


class Repeated(DeterministicTestEntropy):
    """The same bits again, under a false name: no data are involved here."""

    secure = True


# -- how much noise ------------------------------------------------------------------------------------------


@pytest.mark.parametrize(("epsilon", "delta"), [(1.0, 1e-6), (0.1, 1e-9), (8.0, 1e-3)])
@pytest.mark.parametrize("wishes", [VECTORS, ALONE])
def test_balls_meet_the_budget_and_no_less_would(wishes, epsilon, delta):
    parts = parts_of(wishes, epsilon=epsilon, delta=delta)
    assert all(isinstance(part.mechanism.noise, Ball) for part in parts)
    charges = [part.charge for part in parts]
    assert float(compose(charges).delta(epsilon)) <= delta
    assert float(compose([charge.widened(0.995) for charge in charges]).delta(epsilon)) > delta


def test_every_part_has_less_noise_than_with_gaussian_noise():
    for wishes, ratio in ((VECTORS, 0.765), (ALONE, 0.631)):
        least, plain = parts_of(wishes), parts_of(wishes, "gaussian")
        for one, other in zip(least, plain, strict=True):
            assert (one.deviation / other.deviation) ** 2 == pytest.approx(ratio, abs=0.003)


def test_without_delta_balls_have_less_noise_than_laplace_noise():
    least, plain = parts_of(VECTORS, delta=0.0), parts_of(VECTORS, "laplace", delta=0.0)
    for one, other in zip(least, plain, strict=True):
        assert isinstance(one.mechanism.noise, Ball) and isinstance(other.mechanism.noise, hush.Laplace)
        assert one.deviation < other.deviation
    products = least[-1]  # (d + 1) (l2/epsilon)^2
    size = products.wish.bound.l2_bound / 0.75
    assert products.deviation**2 == pytest.approx((products.wish.numbers + 1.0) * size**2, rel=1e-3)
    assert 0.999 < compose([part.charge for part in least]).pure_epsilon <= 1.0


def test_long_vectors_keep_gaussian_noise_without_a_search(monkeypatch):
    import hush.learn.vector_noise as module

    monkeypatch.setattr(module, "compose", None)  # a search would fail
    wide = (moments_wish(31, 0.25), products_wish(1000, 32, 2.0, 0.75))
    for wishes, epsilon in ((wide, 1.0), (VECTORS, 600.0)):
        found = parts_of(wishes, epsilon=epsilon, delta=1.01e-6)
        assert {type(part.mechanism.noise) for part in found} == {hush.Gaussian}


def test_full_gradients_have_joint_noise_where_it_is_less():
    for passes, delta in ((1, 1e-6), (3, 1e-6), (3, 0.0)):
        wish = (full_gradients(passes),)
        least = parts_of(wish, delta=delta)[0]
        plain = parts_of(wish, "gaussian" if delta else "laplace", delta=delta)[0]
        assert least.mechanism.noise.dimension == 4 and least.deviation < 0.9 * plain.deviation
        made = compose([least.charge])
        assert float(made.delta(1.0)) <= delta if delta else made.pure_epsilon <= 1.0
    beside = (moments_wish(5, 0.25), full_gradients(1, share=0.75))
    parts = parts_of(beside)
    assert parts[1].mechanism.noise.dimension == 4
    assert float(compose([part.charge for part in parts]).delta(1.0)) <= 1e-6
    assert isinstance(parts_of((full_gradients(20),))[0].mechanism.noise, hush.Gaussian)


def test_balls_are_used_beside_class_counts_where_they_have_less_noise():
    """Before, class counts switched the search off."""
    numbers = np.random.default_rng(2)
    X, y = numbers.uniform(-1, 1, (100, 8)), numbers.integers(0, 2, 100)
    model = LogisticRegression(epsilon=1.0, delta=1e-6, bounds=(-1, 1)).fit(X, y)
    counts, *vectors = model.receipt_["parts"]
    assert counts["name"] == "class counts" and {part["noise"]["family"] for part in vectors} == {"ball"}
    assert Budget(1.0, 1e-6).covers(compose(model.receipt_.charges))
    plain = allot(
        1.0,
        1e-6,
        tuple(part.wish for part in plan(model._request_for(100), 100).parts[1:]),
        family="gaussian",
        accounting="exact",
        others=(model.receipt_.charges[0],),
    )
    assert model.noise_.variance < 0.98 * plain[-1].mechanism.noise.variance


def test_balls_with_more_noise_are_not_searched_for(monkeypatch):
    import hush.learn.vector_noise as module

    monkeypatch.setattr(module, "safe_secant", None)  # a search would fail
    wishes = (moments_wish(6, 0.25), products_wish(1200, 7, 2.0, 0.2), full_gradients(5, share=0.55))
    vectors = tuple(replace(wish, bound=replace(wish.bound, linf=None, l2=wish.bound.l2_bound)) for wish in wishes)
    assert {type(part.mechanism.noise) for part in parts_of(vectors, epsilon=0.1)} == {hush.Gaussian}


# -- the name ------------------------------------------------------------------------------------------------


def test_ball_noise_by_name():
    X, y, side = small.rows(400)
    model = small.ridge(family="ball", solver="auto").fit(X, y)
    assert model.receipt_["solver"] == "statistics" and isinstance(model.noise_, Ball)
    model = small.ridge(family="ball", solver="auto", passes=2).fit(X, y)
    assert model.receipt_["solver"] == "gd" and model.noise_.dimension == 4 == model.receipt_["parts"][1]["numbers"]
    model = LogisticRegression(epsilon=1.0, delta=1e-6, bounds=(-1, 1), family="ball", passes=1).fit(X, side)
    assert model.receipt_["solver"] == "gd" and isinstance(model.noise_, Ball)


@pytest.mark.parametrize(
    ("changed", "words"),
    [
        ({"family": "ball", "solver": "cd"}, "one number at a time"),
        ({"family": "ball", "solver": "statistics", "accounting": "zcdp"}, "zCDP"),
        ({"family": "cube", "solver": "gd"}, "joint noise"),
        ({"family": "staircase", "solver": "statistics"}, "only gaussian and ball noise"),
        ({"family": "staircase", "solver": "statistics", "delta": 0.0}, "only laplace and ball noise"),
    ],
)
def test_refused_where_it_does_not_apply(changed, words):
    X, y, _ = small.rows(50)
    paid = small.ledger()
    with pytest.raises(Unsupported, match=words):
        small.ridge(ledger=paid, **changed).fit(X, y)
    assert paid.entries == ()


def test_a_search_without_delta_uses_ball_noise():
    X, y, _ = small.rows(300)
    search = small.search(small.ridge(family=None, solver="statistics"), delta=0.0)
    assert isinstance(search.fit(X, y).best_estimator_.noise_, Ball)
    with pytest.raises(Unsupported, match="joint noise take too long; write family=None"):
        small.search(small.ridge(family="ball", solver="statistics")).fit(X, y)


# -- what is paid and drawn ----------------------------------------------------------------------------------


@pytest.mark.parametrize("mode", ["adaptive", "nonadaptive"])
@pytest.mark.parametrize(
    "changed", [{"solver": "statistics"}, {"solver": "statistics", "delta": 0.0}, {"solver": "gd", "passes": 1}]
)
def test_the_ledger_is_charged_for_what_is_drawn(changed, mode):
    X, y, _ = small.rows(300)
    paid = Ledger(None, epsilon=4.0, delta=1e-4, mode=mode)
    model = small.ridge(family=None, ledger=paid, **changed).fit(X, y)
    charges, delta = paid.entries[0].charges, changed.get("delta", 1e-6)
    used = [part["noise"] for part in model.receipt_["parts"]]
    assert used == [hush.noise.catalogue.plain_values(charge.noise) for charge in charges]
    assert charges[-1].noise.dimension == model.receipt_["parts"][-1]["numbers"]
    made = compose(charges)
    assert made.pure_epsilon <= 1.0 if delta == 0.0 else float(made.delta(1.0)) <= delta
    once = paid.spent.epsilon
    small.ridge(family=None, ledger=paid, **changed).fit(X, y)
    assert len(paid.entries) == 2 and once < paid.spent.epsilon <= 4.0


@pytest.mark.parametrize("place", [0, 1])
def test_the_drawn_vectors_have_the_length_that_was_paid_for(place):
    """|x|/scale has the gamma law of shape d. The sum of 120 draws fits it, and neither 2/3 nor 3/2 of the scale."""
    part, count = parts_of(VECTORS)[place], 120
    mechanism, noise = part.mechanism, part.mechanism.noise
    zero = np.zeros(mechanism.coordinates, dtype=np.int64)
    vectors = [mechanism.value_of(unaccounted(part.charge).noise(mechanism, zero)) for _ in range(count)]
    total = math.fsum(float(np.linalg.norm(np.asarray(vector, dtype=float))) for vector in vectors) / noise.scale
    shape = count * noise.dimension
    low, high = gamma.isf(1.0 - FALSE_ALARM / 2.0, shape), gamma.isf(FALSE_ALARM / 2.0, shape)
    assert low < total < high
    assert not low < total * 1.5 < high and not low < total / 1.5 < high


def test_joint_draws_ahead_are_given_out_vector_by_vector_and_only_once():
    part = parts_of((full_gradients(3),))[0]
    noise = Noise(part, Paid(unaccounted(part.charge), Repeated(9)))
    given = np.concatenate([noise.on(np.zeros(4)) for _ in range(3)])
    drawn = hush.draw(part.mechanism.noise, 3, part.mechanism.step, Repeated(9))
    np.testing.assert_array_equal(given, drawn.reshape(-1) * part.mechanism.step)
    with pytest.raises(NotPaid, match="made in advance are used"):
        noise.on(np.zeros(4))


def test_the_last_warm_start_is_composed_with_ball_noise():
    X, y, _ = small.rows(300)
    paid = small.ledger()
    model = small.ridge(family=None, solver="gd", passes=1, warm_start=True, ledger=paid).fit(X, y).fit(X, y)
    assert model.guarantee_.epsilon <= 2.0 and model.receipt_["started_from"] == [1]
