"""Values on the lattice: exact rounding, sensitivities that grow by just enough, steps that cost under 0.1 %."""

from __future__ import annotations

import math
from fractions import Fraction
from typing import Any

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st

import hush
from hush import Discrete, Gaussian, InvalidParameter, Laplace, Sensitivity, Unsupported
from hush.sampling.exact import sampler
from hush.sampling.mechanism import FURTHEST, Mechanism

FINITE = st.floats(-1e12, 1e12, allow_nan=False)
STEPS = st.one_of(st.floats(1e-6, 1e6), st.integers(-20, 20).map(lambda k: 2.0**k))


def exactly(value, step):
    return math.floor(Fraction(value) / Fraction(step) + Fraction(1, 2))


@given(st.lists(FINITE, min_size=1, max_size=20), STEPS)
def test_rounding_is_exact(values, step):
    """floor(v/h + 1/2) in rational arithmetic, for every value."""
    got = Mechanism(Laplace(1.0), 1.0, step).on_lattice(np.array(values))
    assert got.tolist() == [min(max(exactly(v, step), -FURTHEST), FURTHEST) for v in values]


@given(st.lists(st.integers(-(2**62), 2**62), min_size=1, max_size=10), STEPS)
def test_rounding_of_integers_is_exact(values, step):
    got = Mechanism(Laplace(1.0), 1.0, step).on_lattice(np.array(values, dtype=np.int64))
    assert got.tolist() == [min(max(exactly(v, step), -FURTHEST), FURTHEST) for v in values]


@given(FINITE, st.floats(1e-6, 1e6), STEPS, st.floats(-1.0, 1.0))
def test_the_grown_sensitivity_covers_every_move(value, bound, step, share):
    """Two values no further apart than the sensitivity end no further apart than the grown one."""
    other = value + share * bound
    if abs(Fraction(other) - Fraction(value)) > Fraction(bound):
        return  # rounding of the sum went beyond
    mechanism = Mechanism(Laplace(1.0), bound, step)
    a, b = mechanism.on_lattice(np.array([value, other]))
    assert abs(int(a) - int(b)) * Fraction(step) <= Fraction(mechanism.sensitivity_on_lattice.linf)


@given(
    st.lists(st.floats(-100.0, 100.0), min_size=3, max_size=3),
    st.lists(st.floats(-1.0, 1.0), min_size=3, max_size=3),
    STEPS,
)
def test_the_grown_l1_and_l2_cover_every_move(values, moves, step):
    a, b = np.array(values), np.array(values) + np.array(moves)
    moved = [abs(Fraction(float(x)) - Fraction(float(y))) for x, y in zip(a, b, strict=True)]
    l1, l2 = (
        float(sum(moved)) * (1 + 1e-15) + 1e-300,
        math.sqrt(float(sum(m * m for m in moved))) * (1 + 1e-15) + 1e-300,
    )
    for bound, norm in (
        (Sensitivity(l1=l1), lambda d: sum(d)),
        (Sensitivity(l2=l2), lambda d: math.sqrt(sum(x * x for x in d))),
    ):
        mechanism = Mechanism(Gaussian(1.0), bound, step, coordinates=3)
        steps = [
            abs(int(x) - int(y)) * step for x, y in zip(mechanism.on_lattice(a), mechanism.on_lattice(b), strict=True)
        ]
        grown = mechanism.sensitivity_on_lattice
        assert norm(steps) <= (grown.l1 or grown.l2) * (1 + 1e-12)


def test_nothing_is_added_for_integers():
    """Counts stay where they are, whatever the sensitivity."""
    for bound in (1.0, 3.0, Sensitivity(l2=2.0), Sensitivity(linf=(1.0, 2.0))):
        mechanism = Mechanism(
            Gaussian(5.0), bound, 0.25, integers=True, coordinates=2 if isinstance(bound, Sensitivity) else 1
        )
        assert mechanism.sensitivity_on_lattice == mechanism.sensitivity
    third = Mechanism(Gaussian(5.0), 1.0, 1.0 / 3.0, integers=True)  # three such floats are not quite 1
    assert third.sensitivity_on_lattice.linf > 1.0


BOUNDS = [
    *(Sensitivity(linf=s, l0=1) for s in (0.3, 7.3, 1e-9, 1e9)),
    Sensitivity(linf=0.7, l0=5),
    Sensitivity(l2=2.0),
    Sensitivity(l1=3.0),
    Sensitivity(linf=(1.0, 0.3, 0.7)),
]


@pytest.mark.parametrize("bound", BOUNDS, ids=str)
@pytest.mark.parametrize(("epsilon", "delta"), [(0.1, 1e-6), (1.0, 1e-6), (20.0, 1e-6)])
@pytest.mark.parametrize("integers", [False, True])
def test_a_plan_on_its_lattice_keeps_its_promise_and_its_accuracy(bound, epsilon, delta, integers):
    """delta at epsilon stays within the plan's, and variance grows by less than 0.1 %, rounding and enlargement
    together.
    """
    family = "gaussian" if Sensitivity.of(bound).l2 or isinstance(Sensitivity.of(bound).linf, tuple) else "laplace"
    plan = hush.calibrate(epsilon, delta, bound, family=family)
    mechanism = Mechanism.of(plan, integers=integers, coordinates=3)
    assert float(np.asarray(mechanism.curve().delta(epsilon))) <= delta
    assert (mechanism.noise.variance / plan.variance) * (1.0 + mechanism.rounding_loss) < 1.001


def test_rounding_loss_is_what_rounding_adds():
    """Against the measured variance of what is released, over a uniform value (4.9 sigma: 1e-6)."""
    mechanism = Mechanism(Gaussian(3.0), hush.Sensitivity(linf=1.0, l0=1), 2.0, coordinates=400_000)
    truth = np.random.default_rng(3).uniform(0.0, 1000.0, 400_000)
    error = mechanism.value_of(hush.unaccounted(mechanism.charge).noise(mechanism, mechanism.on_lattice(truth))) - truth
    seen = error.var() / 9.0 - 1.0
    # uniform values lose h^2/12 twice, half of the bound
    assert abs(seen - 0.5 * mechanism.rounding_loss) < 4.9 * math.sqrt(2.0 / truth.size) * 1.2


def test_a_lattice_plan_keeps_its_lattice():
    plan = hush.calibrate(1.0, 1e-6, hush.Sensitivity(linf=1.0, l0=1), step=1.0, family="laplace")
    mechanism = Mechanism.of(plan, integers=True)
    assert isinstance(mechanism.noise, Discrete) and mechanism.step == 1.0 and mechanism.rounding_loss == 0.0


def test_the_sum_is_limited_as_if_the_noise_were_not():
    """Values near the limit with saturated noise always give the limit, which reveals nothing about the value."""
    mechanism = Mechanism(Laplace(1e40), hush.Sensitivity(linf=1.0, l0=1), 1.0, coordinates=60)
    out = hush.unaccounted(mechanism.charge).noise(mechanism, np.array([-FURTHEST, 0, FURTHEST] * 20))
    assert set(np.abs(out).tolist()) == {FURTHEST}


def test_bad_mechanisms():
    with pytest.raises(InvalidParameter, match="step"):
        Mechanism(Laplace(1.0), 1.0, 0.0)
    with pytest.raises(InvalidParameter, match="noise"):
        Mechanism(3.0, 1.0, 1.0)
    with pytest.raises(Unsupported, match="own lattice"):
        Mechanism(Discrete(Laplace(1.0)), 1.0, 0.5)
    with pytest.raises(InvalidParameter, match="2 coordinates"):
        Mechanism(Laplace(1.0), Sensitivity(linf=(1.0, 2.0)), 1.0)
    for values in ([1.0, math.nan], [math.inf], ["a"], [1 + 2j]):
        with pytest.raises(InvalidParameter, match="values"):
            Mechanism(Laplace(1.0), 1.0, 1.0).on_lattice(values)


@pytest.mark.parametrize("norm", ["l1", "l2"])
def test_norms_grow_beside_listed_bounds(norm):
    """Rounding moves every number by up to a step, so a norm grows whether linf is one number or a list."""
    count = 1000
    plan = hush.calibrate(1.0, 1e-6, hush.Sensitivity(linf=(1.0,) * count, **{norm: 1.0}), family="gaussian")
    mechanism = Mechanism.of(plan, coordinates=count)
    first = np.full(count, 0.5 * mechanism.step - 1e-9)
    moved = (mechanism.on_lattice(first + 2e-9) - mechanism.on_lattice(first)) * mechanism.step
    reach = float(np.abs(moved).sum()) if norm == "l1" else float(np.linalg.norm(moved))
    assert reach <= getattr(mechanism.sensitivity_on_lattice, norm)
    assert mechanism.keeps_guarantee
    small = Mechanism(Laplace(1.0), hush.Sensitivity(linf=(1.0, 1.0), l1=0.1), 1.0, coordinates=2)
    assert small.curve().pure_epsilon == pytest.approx(2.0)


@pytest.mark.parametrize("facts", [{"l1": 1.5, "l0": 1}, {"l2": 1.5, "l0": 2}, {"l1": 1.0, "l0": 3}])
@pytest.mark.parametrize("times", [1, 2])
def test_lattice_noise_is_not_released_on_values_off_its_lattice(facts, times):
    """Rounding to whole numbers moves a value further than a norm below two steps says."""
    plan = hush.calibrate(1.0, 1e-6, hush.Sensitivity(**facts), step=1.0, times=times, family="gaussian")
    values = np.full(facts["l0"], 0.4)
    with pytest.raises(hush.Unsupported, match="for values on that lattice"):
        hush.release(values, plan, ledger=None)
    assert hush.release(np.zeros(facts["l0"], dtype=int), plan, ledger=None).receipt.guarantee.epsilon == 1.0


def test_a_guarantee_that_the_noise_does_not_keep_is_refused():
    claimed = Mechanism(Laplace(0.01), 1.0, 1 / 1024, guarantee=hush.Guarantee(0.1, 0.0))
    with pytest.raises(InvalidParameter, match="does not satisfy its guarantee"):
        hush.release(3.0, claimed, ledger=None)
    part = Mechanism(Laplace(0.01), 1.0, 1 / 1024, part_of=hush.Charge(Laplace(1000.0), hush.Sensitivity.of(1.0)))
    with pytest.raises(InvalidParameter, match="part of another charge"):
        hush.release(3.0, part, ledger=None)


@pytest.mark.parametrize("bound", [Sensitivity(linf=(1e-9, 1e6)), Sensitivity(linf=(1.0, 1e13))], ids=str)
def test_very_different_coordinates_share_a_lattice(bound):
    """The small one is rounded coarsely, which moves privacy and noise by next to nothing."""
    plan = hush.calibrate(1.0, 1e-6, bound, family="gaussian")
    mechanism = Mechanism.of(plan, coordinates=2)
    assert float(np.asarray(mechanism.curve().delta(1.0))) <= 1e-6
    assert mechanism.noise.variance / plan.variance * (1.0 + mechanism.rounding_loss) < 1.001
    assert hush.release([1.0, 2.0], plan, ledger=None).value.shape == (2,)


def test_integers_on_a_very_fine_lattice():
    """A step far below the range of int64 products: the result is still exact, and limited."""
    steps = Mechanism(hush.Laplace(1.0), 1.0, 2.0**-70, integers=True).on_lattice(np.array([0, 1, -3]))
    assert steps.tolist() == [0, 2**61, -(2**61)]
    assert Mechanism(hush.Laplace(1.0), 1.0, 2.0**-50, integers=True).on_lattice(np.array([3])).tolist() == [3 * 2**50]


@pytest.mark.parametrize(("step", "kept"), [(0.25, True), (1.0, True), (0.3, False), (2.0, False), (0.1, False)])
def test_a_number_of_people_between_lattice_points_no_longer_moves_by_exactly_its_bound(step, kept):
    """1.0 is three or four steps of 0.3 after rounding: noise that needs the exact move has no curve there."""
    noise = hush.Plateau(("people", "one_sided"), 4.0, step=step)
    bound = hush.Sensitivity(linf=1.0, dimension=2, one_sided=True, people=0)
    made = hush.Mechanism(noise, bound, step, coordinates=2)
    values = np.linspace(-3.0, 3.0, 6001)
    moves = set((made.on_lattice(values + 1.0) - made.on_lattice(values)).tolist())
    assert (made.sensitivity_on_lattice.people == 0) == kept == (moves == {round(1.0 / step)})
    if kept:
        assert made.curve().pure_epsilon == 0.25
        return
    with pytest.raises(hush.Unsupported, match="no theorem covers Plateau"):
        made.curve()


def test_the_fact_about_people_matters_there():
    """The control: after rounding to steps of 0.3 a person moves 3 steps of people and 4 of the other number. By the
    density that is a larger loss than the one for 4 steps of both.
    """
    noise = hush.Plateau(("people", "one_sided"), 1.0, step=0.3)
    points = 0.3 * np.array([[t, x] for t in range(-9, 10) for x in range(-9, 10)])
    loss = [
        np.abs(noise.log_density_of(points + 0.3 * np.array(move)) - noise.log_density_of(points)).max()
        for move in ((4, 4), (3, 4))
    ]
    assert loss == pytest.approx([1.2, 1.5])


@pytest.mark.parametrize("epsilon", [0.5, 3.0, 30.0, 300.0])
@pytest.mark.parametrize(
    "bound",
    [{"l2": 1.0}, {"l1": 1.0}, {"linf": 1.0}, {"linf": 1.0, "one_sided": True}, {"linf": 1.0, "l2": 1.2}],
    ids=str,
)
def test_the_least_noise_of_every_body_can_be_released(bound: dict[str, Any], epsilon: float) -> None:
    """Real values, rounded to the lattice of the noise, also where the least noise falls in stairs."""
    body = hush.Sensitivity(**bound, dimension=8)
    plan = hush.calibrate(epsilon, 0.0, body)
    made = hush.release(np.linspace(0.0, 7.3, 8), plan, ledger=None)
    assert made.receipt["guarantee"]["epsilon"] == epsilon
    assert hush.compose([Mechanism.of(plan, coordinates=8).charge]).pure_epsilon <= epsilon


@pytest.mark.parametrize(
    "noise",
    [
        hush.Gaussian(2.0),
        hush.Discrete(hush.Laplace(2.0), 0.5),
        hush.Lifted(hush.Bump(6.0, 30.0), (7.0, 4.0), (0.5, 0.0), place=1, step=0.25),
        hush.Scaled(hush.Lifted(hush.Bump(6.0, 30.0), (7.0,), (0.5,), step=0.5), (1.0, 2.0)),
    ],
    ids=str,
)
def test_all_tables_of_a_draw_are_built_before_the_charge(noise):
    """`prepare` is called before anything is spent. Nothing that can fail is left for the draw: it builds no table."""
    many = noise.dimension or 1
    mechanism = Mechanism(
        noise, Sensitivity(linf=1.0, l0=many), noise.step if noise.discrete else 0.5, integers=True, coordinates=many
    )
    sampler.cache_clear()
    mechanism.prepare()
    built = sampler.cache_info().misses
    assert built > 0
    hush.unaccounted(mechanism.charge).noise(mechanism, np.zeros(many, dtype=np.int64))
    assert sampler.cache_info().misses == built
