"""Vector answers: which theorem covers which charge, and every bound lies above the exact composition."""

from __future__ import annotations

import itertools
import math
import pickle
from fractions import Fraction
from typing import Any

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

import hush
from hush.noise.catalogue import EVERY
from hush.noise.gamma_difference import GammaDifference
from hush.noise.one_way import OneWay
from hush.noise.polya_difference import PolyaDifference
from hush.noise.selection import Selection
from hush.privacy.paper_bounds import FlippedHuberTheorem8
from hush.privacy.theorem import theorems_for

UNPROVED = {
    "staircase": hush.Staircase(0.5),
    "truncated_laplace": hush.TruncatedLaplace(3.0, 30.0),
    "exponential_power": hush.ExponentialPower(1.4, 5.0),
    "asinh": hush.Asinh(0.5, 3.0),
    "stepped": hush.Stepped(0.5, (3.0, 2.0, 1.0)),
    "discrete": hush.Discrete(hush.Gaussian(3.0)),
}
BALLS = {"l2": hush.Sensitivity(l2=1.0), "l1": hush.Sensitivity(l1=1.0)}


def at_shifts(noise: hush.Noise, shifts: tuple[float, ...]) -> hush.Curve:
    """The exact curve when the coordinates move by these shifts."""
    return hush.compose([(noise, shift, 1) for shift in shifts if shift > 0.0])


def assert_dominates(
    bound: hush.Curve, noise: hush.Noise, shifts: tuple[float, ...], epsilons: tuple[float, ...]
) -> None:
    for epsilon in epsilons:
        assert at_shifts(noise, shifts).delta_bracket(epsilon).lower <= bound.delta(epsilon)


# -- no theorem, no number -----------------------------------------------------------------------------------


@pytest.mark.parametrize("ball", BALLS)
@pytest.mark.parametrize("name", UNPROVED)
def test_families_without_a_theorem_are_refused(name: str, ball: str) -> None:
    with pytest.raises(hush.Unsupported, match=r"Sensitivity\(linf=|Gaussian\(") as refused:
        hush.curve(UNPROVED[name], BALLS[ball])
    assert "\n" not in str(refused.value)


def test_laplace_noise_on_a_lattice_under_an_l1_bound() -> None:
    """The pure epsilon is l1/scale; every way to split the move over the numbers costs no more."""
    noise = hush.Discrete(hush.Laplace(3.0))
    bound = hush.curve(noise, hush.Sensitivity(l1=3.0))
    assert bound.pure_epsilon == pytest.approx(1.0, rel=1e-12)
    for shifts in ((3.0,), (2.0, 1.0), (1.0, 1.0, 1.0)):
        assert_dominates(bound, noise, shifts, (0.0, 0.3, 0.9, 1.0))
    assert hush.curve(noise, hush.Sensitivity(l1=4.0)).pure_epsilon > 1.3


@pytest.mark.parametrize(
    ("noise", "bound", "call"),
    [
        (hush.Laplace(1.0), hush.Sensitivity(l2=1.0), r"Sensitivity\(l2=1.0, l0=K\)"),
        (hush.Stable(1.5, 1.0), hush.Sensitivity(l2=1.0), r"Sensitivity\(l2=1.0, l0=K\)"),
        (hush.OSGT(3.0, 6.0), hush.Sensitivity(l2=1.0), r"Sensitivity\(l2=1.0, l0=K\)"),
        (hush.OSGT(3.0, 6.0), hush.Sensitivity(l1=1.0), r"Sensitivity\(l1=1.0, l0=K\)"),
        (hush.FlippedHuber(3.0, 6.0), hush.Sensitivity(l2=1.0), r"Sensitivity\(l2=1.0, l0=K\)"),
        (hush.FlippedHuber(3.0, 6.0), hush.Sensitivity(l1=1.0), r"Sensitivity\(l1=1.0, l0=K\)"),
    ],
)
def test_a_missing_number_of_coordinates_is_asked_for(noise: hush.Noise, bound: hush.Sensitivity, call: str) -> None:
    with pytest.raises(hush.Unsupported, match=call):
        hush.curve(noise, bound)


@pytest.mark.parametrize("ball", [{"l2": 1.0}, {"l1": 1.0}])
@pytest.mark.parametrize("name", UNPROVED)
def test_a_norm_and_a_number_of_moves_make_a_box(name: str, ball: dict[str, float]) -> None:
    """No number moves further than all of them together."""
    box = hush.curve(UNPROVED[name], hush.Sensitivity(linf=1.0, l0=3))
    found = hush.curve(UNPROVED[name], hush.Sensitivity(**ball, l0=3))
    assert found.delta(0.7) == box.delta(0.7)
    assert found.delta_bracket(0.7).lower == 0.0  # the ball is smaller than the box, so the box says nothing from below


def test_what_bounds_a_whole_is_composed_by_its_box() -> None:
    """Theorem 2 of the OSGT paper is about one charge; beside other charges the box counts."""
    noise, ball = hush.OSGT(3.0, 6.0), hush.Sensitivity(l2=1.0, l0=2)
    both = hush.compose([(noise, ball, 1), (hush.Laplace(2.0), 1.0, 1)])
    box = hush.compose([(noise, hush.Sensitivity(linf=1.0, l0=2), 1), (hush.Laplace(2.0), 1.0, 1)])
    assert both.delta(0.7) == box.delta(0.7)


@pytest.mark.parametrize("facts", [{"linf": 1.0}, {"linf": 0.5, "neighbours": "replace"}])
def test_linf_without_a_number_of_moves_is_refused(facts: dict[str, Any]) -> None:
    with pytest.raises(hush.InvalidParameter, match=r"l0=1\) if at most one number moves"):
        hush.Sensitivity(**facts)


def test_all_of_d_numbers() -> None:
    noise = hush.Laplace(3.0)
    assert hush.delta(noise, 0.3, hush.Sensitivity(linf=1.0, dimension=4)) == hush.delta(
        noise, 0.3, hush.Sensitivity(linf=1.0, l0=4)
    )
    assert hush.Sensitivity(linf=1.0, dimension=4).moving == 4
    assert hush.Sensitivity(linf=1.0, l0=2, dimension=4).moving == 2
    with pytest.raises(hush.InvalidParameter, match="at most 4, the number of coordinates"):
        hush.Sensitivity(linf=1.0, l0=5, dimension=4)
    with pytest.raises(hush.InvalidParameter, match="linf lists 2 numbers"):
        hush.Sensitivity(linf=(1.0, 2.0), dimension=3)


# -- knowing more never costs more ---------------------------------------------------------------------------

#: Noises with a bounded part, for which no Renyi divergence is proved.
WITHOUT_DIVERGENCE = {"lifted", "lifted_marginal", "optimal_rule", "rule_marginal"}
LIFTED = hush.Lifted(hush.Bump(8.0, 30.0), (4.0, 4.0), (0.0, 0.0))
EVERY_FAMILY = {
    **UNPROVED,
    "gaussian": hush.Gaussian(4.0),
    "laplace": hush.Laplace(3.0),
    "osgt": hush.OSGT(2.0, 5.0),
    "flipped_huber": hush.FlippedHuber(2.0, 4.0),
    "stable": hush.Stable(1.6, 3.0),
    "skellam": hush.Skellam(4.0),
    "bump": hush.Bump(8.0, 30.0),
    "discrete_gaussian": hush.Discrete(hush.Gaussian(4.0)),
    "gamma_difference": GammaDifference(1.5, 2.0),
    "polya_difference": PolyaDifference(1.5, 2.0, 1.0),
    "ball": hush.Ball(3, 4.0),
    "correlated": hush.Correlated(hush.Ball(3, 4.0), 3, 0.25),
    "cube": hush.Cube(3, 4.0),
    "interval": hush.Interval(3, 4.0, 1.0),
    "plateau": hush.Plateau(("two_sided", "two_sided", "two_sided"), 4.0, (1.0, 0.0, 1.0)),
    "hull": hush.Hull(3, 3, 4.0, 1.0, one_sided=True),
    "stairs": hush.Stairs(3, 0.7, 2.0, 1.0, 1.0, one_sided=True),
    "scaled": hush.Scaled(hush.Cube(3, 4.0), (1.0, 0.5, 0.5)),
    "scaled_law": hush.Scaled(hush.Gaussian(4.0), (1.0, 2.0, 0.75)),
    "level_marginal": hush.Cube(3, 4.0).marginal,
    "one_way": OneWay((3,), 4.0, 1),
    "selection": Selection(4.0),
    "lifted": LIFTED,
    "lifted_marginal": LIFTED.marginal_of(1),
    "optimal_rule": hush.OptimalRule(0.5, 1e-4),
    "rule_marginal": hush.OptimalRule(0.5, 1e-4).marginal,
}


def facts_of(moves: list[int]) -> dict[str, Any]:
    """Everything that is true of the one move: the least bound of every kind."""
    l2 = math.sqrt(sum(m * m for m in moves))
    return {
        "linf": float(max(moves)),
        "l0": sum(m > 0 for m in moves),
        "dimension": len(moves),
        "l1": float(sum(moves)),
        "l2": math.nextafter(l2, math.inf),
    }


def delta_of(noise: hush.Noise, facts: dict[str, Any], epsilon: float) -> float | None:
    """The upper end of delta; None where the facts are too few for any theorem."""
    try:
        return hush.delta(noise, epsilon, hush.Sensitivity(**facts))
    except (hush.Unsupported, hush.InvalidParameter):
        return None


def test_every_family_is_asked() -> None:
    assert {type(noise) for noise in EVERY_FAMILY.values()} == {row.type for row in EVERY}


@pytest.mark.parametrize("name", EVERY_FAMILY)
@pytest.mark.parametrize("moves", [[1], [2], [2, 1]])
def test_every_subset_of_facts_that_is_covered_stays_covered(name: str, moves: list[int]) -> None:
    """All subsets of the true facts: a fact that is added never takes the last theorem away."""
    noise = EVERY_FAMILY[name]
    if noise.dimension is not None:
        moves = [*moves, *([0] * noise.dimension)][: noise.dimension]
    every = facts_of(moves)
    subsets = [frozenset(c) for k in range(1, 6) for c in itertools.combinations(every, k)]
    covered = {names: is_covered(noise, {fact: every[fact] for fact in names}) for names in subsets}
    for fewer, more in itertools.permutations(subsets, 2):
        assert covered[more] or not (fewer < more and covered[fewer]), (sorted(fewer), sorted(more))
    assert any(covered.values()) or name in ("optimal_rule", "rule_marginal")


def is_covered(noise: hush.Noise, facts: dict[str, Any]) -> bool:
    try:
        return bool(theorems_for(hush.Charge(noise, hush.Sensitivity(**facts))))
    except (hush.Unsupported, hush.InvalidParameter):
        return False


@pytest.mark.parametrize("name", EVERY_FAMILY)
@given(st.lists(st.integers(0, 3), min_size=1, max_size=4).filter(any), st.data())
@settings(max_examples=12, deadline=None)
def test_another_true_fact_never_raises_delta(name: str, moves: list[int], data: st.DataObject) -> None:
    """Composition has a grid: two upper ends may differ by what the wider bracket leaves open, and by no more."""
    noise = EVERY_FAMILY[name]
    if noise.dimension is not None:  # the facts must be about as many numbers as the noise has
        moves = [*filter(None, moves), *([0] * noise.dimension)][: noise.dimension]
    every = facts_of(moves)
    names = sorted(every)
    fewer = data.draw(st.lists(st.sampled_from(names), unique=True, min_size=1))
    more = sorted({*fewer, data.draw(st.sampled_from(names))})
    epsilon = data.draw(st.sampled_from([0.0, 0.1, 0.5, 1.5]))
    before = delta_of(noise, {fact: every[fact] for fact in fewer}, epsilon)
    after = delta_of(noise, {fact: every[fact] for fact in more}, epsilon)
    if before is not None:
        assert after is not None, "a fact that is added never takes a theorem away"
        if after > before * (1.0 + 1e-12):  # a lower end takes long to compute, and seldom matters
            known = ("linf", "l0") if noise.dimension is None else ("linf", "l0", "dimension")
            box = hush.curve(noise, hush.Sensitivity(**{fact: every[fact] for fact in known}))
            assert after <= before * (1.0 + 1e-12) + float(box.delta_bracket(epsilon).width)


@pytest.mark.parametrize("order", [1.5, 8.0])
@pytest.mark.parametrize("name", EVERY_FAMILY)
def test_another_true_fact_never_raises_the_divergence(name: str, order: float) -> None:
    noise, every = EVERY_FAMILY[name], facts_of([2, 1, 0])
    steps = [{"l2"}, {"l2", "l0"}, {"l2", "l0", "linf"}, {"l2", "l0", "linf", "l1"}, set(every)]
    known = []
    for facts in steps:
        try:
            known.append(hush.renyi(noise, order, hush.Sensitivity(**{fact: every[fact] for fact in facts})))
        except (hush.Unsupported, hush.InvalidParameter):
            known.append(math.inf)
    assert all(b <= a * (1.0 + 1e-12) for a, b in itertools.pairwise(known))
    assert known[-1] < math.inf or math.isfinite(noise.marginal.support) or name in WITHOUT_DIVERGENCE


@pytest.mark.parametrize(
    "noise",
    [
        hush.Plateau(("people", "one_sided"), 3.0),
        hush.Plateau(("two_sided", "one_sided", "people"), 3.0, (1.0, 1.0, 0.0)),
        hush.Plateau(("one_sided", "two_sided"), 3.0),
        hush.Plateau(("two_sided", "people"), 3.0, step=0.3),
        hush.Hull(5, 2, 3.0),
        hush.Hull(5, 2, 3.0, one_sided=True),
        hush.Interval(3, 3.0),
    ],
    ids=str,
)
def test_a_refusal_names_facts_that_are_covered(noise: hush.Noise) -> None:
    with pytest.raises(hush.Unsupported, match=r"write Sensitivity\(.*\)\.$") as refused:
        hush.curve(noise, hush.Sensitivity(l2=1.0))
    advised = str(refused.value).partition("; write ")[2].removesuffix(".")
    assert hush.curve(noise, eval(advised, {"Sensitivity": hush.Sensitivity})).pure_epsilon < math.inf


# -- exact ---------------------------------------------------------------------------------------------------


@pytest.mark.parametrize("epsilon", [0.1, 1.0, 3.0])
def test_gaussian_needs_only_l2(epsilon: float) -> None:
    noise, exact = hush.Gaussian(3.0), hush.delta(hush.Gaussian(3.0), epsilon, 2.0)
    assert hush.delta(noise, epsilon, hush.Sensitivity(l2=2.0)) == pytest.approx(exact, rel=1e-13)
    assert hush.delta(noise, epsilon, hush.Sensitivity(linf=1.0, l0=4)) == pytest.approx(exact, rel=1e-12)
    assert hush.delta(noise, epsilon, hush.Sensitivity(l1=2.0)) == pytest.approx(exact, rel=1e-13)
    assert hush.delta(noise, epsilon, hush.Sensitivity(l2=2.0, l1=5.0)) == pytest.approx(exact, rel=1e-13)
    assert hush.delta(noise, epsilon, hush.Sensitivity(linf=(1.0, 1.0, math.sqrt(2.0)))) == pytest.approx(
        exact, rel=1e-12
    )


def test_laplace_under_l1_is_one_coordinate() -> None:
    for epsilon in (0.0, 0.2, 0.49):
        assert hush.delta(hush.Laplace(2.0), epsilon, hush.Sensitivity(l1=1.0)) == hush.delta(
            hush.Laplace(2.0), epsilon
        )


@pytest.mark.parametrize(
    "shifts",
    [(0.5, 0.5), (0.9, 0.1), (0.7, 0.3), (1 / 3, 1 / 3, 1 / 3), (0.5, 0.25, 0.25), (0.8, 0.1, 0.1), (0.05, 0.9, 0.05)],
)
@pytest.mark.parametrize("scale", [0.5, 3.0])
def test_laplace_under_l1_dominates_every_split(scale: float, shifts: tuple[float, ...]) -> None:
    whole = hush.curve(hush.Laplace(scale), hush.Sensitivity(l1=1.0))
    split = at_shifts(hush.Laplace(scale), shifts)
    for epsilon in (0.0, 0.3 / scale, 0.7 / scale, 0.95 / scale):
        assert split.delta_bracket(epsilon).lower <= whole.delta(epsilon)
        assert split.delta(epsilon) <= whole.delta(epsilon) * 1.002 + 1e-4


def test_laplace_under_l2_goes_through_l1() -> None:
    noise, bound = hush.Laplace(3.0), hush.Sensitivity(l2=1.0, l0=4)
    for epsilon in (0.1, 0.4, 0.6):
        box = hush.delta(noise, epsilon, hush.Sensitivity(linf=1.0, l0=4))
        assert hush.delta(noise, epsilon, bound) == pytest.approx(min(hush.delta(noise, epsilon, 2.0), box), rel=1e-12)
        assert hush.delta(noise, epsilon, bound) >= at_shifts(noise, (0.5,) * 4).delta_bracket(epsilon).lower
    assert hush.epsilon(noise, 0.0, bound) == pytest.approx(2.0 / 3.0, rel=1e-12)


# -- boxes ---------------------------------------------------------------------------------------------------


def test_a_list_is_a_heterogeneous_composition() -> None:
    noise = hush.OSGT(3.0, 6.0)
    listed = hush.curve(noise, hush.Sensitivity(linf=(1.0, 0.5, 2.0)))
    built = hush.compose([(noise, 2.0, 1), (noise, 1.0, 1), (noise, 0.5, 1)])
    for epsilon in (0.1, 0.6):
        assert listed.delta(epsilon) == pytest.approx(built.delta(epsilon), rel=1e-12)


def test_a_list_takes_the_largest_l0() -> None:
    noise = hush.FlippedHuber(4.0, 3.0)
    two = hush.curve(noise, hush.Sensitivity(linf=(1.0, 0.5, 2.0, 0.1), l0=2))
    built = hush.compose([(noise, 2.0, 1), (noise, 1.0, 1)])
    for epsilon in (0.1, 0.6):
        assert two.delta(epsilon) == pytest.approx(built.delta(epsilon), rel=1e-12)
    assert hush.Sensitivity(linf=(1.0, 0.5, 1.0, 2.0), l0=3).shifts == [(2.0, 1), (1.0, 2)]


def test_an_even_list_is_a_box() -> None:
    noise = hush.Laplace(4.0)
    assert hush.delta(noise, 0.5, hush.Sensitivity(linf=(1.0, 1.0, 1.0))) == hush.delta(
        noise, 0.5, hush.Sensitivity(linf=1.0, l0=3)
    )


def test_smaller_moves_tell_less() -> None:
    for noise in (hush.Laplace(3.0), hush.OSGT(3.0, 6.0), hush.Staircase(0.5)):
        whole = hush.curve(noise, hush.Sensitivity(linf=1.0, l0=2))
        for shifts in ((1.0, 0.4), (0.7, 0.7), (1.0,)):
            assert_dominates(whole, noise, shifts, (0.1, 0.5, 0.8))


# -- bounds --------------------------------------------------------------------------------------------------

DIRECTIONS = {
    "diagonal": (math.sqrt(0.5),) * 2,
    "axis": (1.0,),
    "25 degrees": (math.cos(math.radians(25)), math.sin(math.radians(25))),
}


@pytest.mark.parametrize("direction", DIRECTIONS)
def test_osgt_theorem_2_dominates_every_direction(direction: str) -> None:
    noise = hush.OSGT(3.0, math.sqrt(40.0))
    bound = hush.curve(noise, hush.Sensitivity(l2=1.0, l0=2))
    assert_dominates(bound, noise, DIRECTIONS[direction], (0.05, 0.2, 0.5, 1.0, 2.0))
    assert bound.delta(2.0) < 1e-6


@pytest.mark.parametrize("direction", DIRECTIONS)
@pytest.mark.parametrize(("alpha", "gamma"), [(0.5, 4.0), (3.0, 3.0)])
def test_flipped_huber_theorem_8_dominates_every_direction(alpha: float, gamma: float, direction: str) -> None:
    noise = hush.FlippedHuber(alpha, gamma)
    bound = hush.curve(noise, hush.Sensitivity(l2=1.0, l0=2))
    assert_dominates(bound, noise, DIRECTIONS[direction], (0.05, 0.3, 0.8, 1.2, 1.5, 2.5))
    assert bound.delta(2.5) < 1e-3


def test_flipped_huber_theorem_8_claims_nothing_where_its_hypothesis_fails() -> None:
    """gamma eps - K R/(2 gamma) >= Delta_2 (erratum): R = alpha^2 - (alpha - 1)^2 = 5, K = 2, gamma = 3."""
    noise = hush.FlippedHuber(3.0, 3.0)
    bound = FlippedHuberTheorem8(noise, 1.0, 2)
    edge = (1.0 + 2.0 * 5.0 / 6.0) / 3.0
    assert bound.delta(edge * (1.0 - 1e-9)) == 1.0
    assert bound.delta(edge * (1.0 + 1e-9)) < 1.0
    found, box = hush.curve(noise, hush.Sensitivity(l2=1.0, l0=2)), hush.curve(noise, hush.Sensitivity(linf=1.0, l0=2))
    assert found.delta(0.5 * edge) == box.delta(0.5 * edge)  # the best theorem counts


def test_bounds_fall_with_epsilon_and_grow_with_the_ball() -> None:
    for noise in (hush.OSGT(3.0, 6.0), hush.FlippedHuber(1.0, 4.0)):
        curves = [hush.curve(noise, hush.Sensitivity(l2=r, l0=3)) for r in (0.5, 1.0, 1.5)]
        for curve in curves:
            values = [curve.delta(e) for e in (0.5, 1.0, 2.0, 3.0)]
            assert all(a >= b for a, b in itertools.pairwise(values))
        assert all(a.delta(2.0) <= b.delta(2.0) for a, b in itertools.pairwise(curves))


@pytest.mark.parametrize("noise", [hush.OSGT(3.0, 6.0), hush.FlippedHuber(4.0, 3.0)])
def test_l1_with_k_is_at_most_the_box(noise: hush.Noise) -> None:
    bound = hush.curve(noise, hush.Sensitivity(l1=1.0, l0=2))
    assert bound.delta(0.6) <= hush.delta(noise, 0.6, hush.Sensitivity(linf=1.0, l0=2))
    assert_dominates(bound, noise, (0.5, 0.5), (0.2, 0.6))


@pytest.mark.parametrize("alpha", [1.0, 1.5, 1.9])
@pytest.mark.parametrize("k", [1, 2, 5, 20])
def test_the_stable_bound_is_above_the_even_spread(alpha: float, k: int) -> None:
    noise = hush.Stable(alpha, 2.0)
    for norm, spread, root in (("l1", 1.0 / k, 1.0), ("l2", 1.0 / math.sqrt(k), math.sqrt(k))):
        bound = hush.epsilon(noise, 0.0, hush.Sensitivity(**{norm: 1.0}, l0=k))
        assert bound >= k * noise.max_loss(spread) * (1.0 - 1e-9)
        assert bound == pytest.approx(min(root * noise.sup_score(), k * noise.max_loss(1.0)), rel=1e-12)


def test_stable_in_a_box_adds() -> None:
    noise = hush.Stable(1.5, 4.0)
    box = hush.epsilon(noise, 0.0, hush.Sensitivity(linf=1.0, l0=5))
    assert box == pytest.approx(5.0 * noise.max_loss(1.0), rel=1e-9)


def test_a_pure_bound_composes_by_adding_and_as_randomised_response() -> None:
    noise, ball = hush.Stable(1.5, 4.0), hush.Sensitivity(l1=1.0)
    one = hush.epsilon(noise, 0.0, ball)
    assert hush.epsilon(noise, 0.0, ball, times=3) == pytest.approx(3.0 * one, rel=1e-12)
    assert hush.delta(noise, 0.0, ball) == pytest.approx(math.tanh(0.5 * one), rel=1e-12)
    mixed = hush.compose([(noise, ball, 2), (hush.Laplace(5.0), 1.0, 1)])
    assert mixed.epsilon(0.0) == pytest.approx(2.0 * one + 0.2, rel=1e-10)


def test_a_sensitivity_must_say_something() -> None:
    for wrong in ({}, {"l0": 3}, {"linf": -1.0}, {"linf": 1.0, "l0": 0}, {"linf": (1.0, 2.0), "l0": 3}, {"linf": ()}):
        with pytest.raises(hush.InvalidParameter):
            hush.Sensitivity(**wrong)  # type: ignore[arg-type]


# -- bounds that follow --------------------------------------------------------------------------------------


@pytest.mark.parametrize("scale", [1e-200, 1e-170, 3e-161, 1.0, 1e160, 1e300])
@pytest.mark.parametrize("count", [1, 2, 4, 7])
def test_the_root_of_squares_is_never_below(scale: float, count: int) -> None:
    found = hush.Sensitivity(linf=scale, l0=count).l2_bound
    assert Fraction(found) ** 2 >= count * Fraction(scale) ** 2
    assert found <= scale * math.sqrt(count) * (1.0 + 1e-15)
    assert hush.delta(hush.Gaussian(scale), 0.5, scale) == pytest.approx(hush.delta(hush.Gaussian(1.0), 0.5), rel=1e-12)


@pytest.mark.parametrize("facts", [{"l1": 0.3, "l0": 1}, {"l2": 0.3, "l0": 1}, {"linf": 1.0, "l2": 0.3, "l0": 1}])
def test_a_decimal_stands_for_the_steps_that_it_is_written_as(facts: dict[str, Any]) -> None:
    """0.3 is three steps of 0.1, although Fraction(0.3) is less than 3 Fraction(0.1)."""
    noise = hush.Discrete(hush.Laplace(1.0), 0.1)
    assert hush.curve(noise, hush.Sensitivity(**facts)).pure_epsilon == pytest.approx(0.3)
    assert hush.curve(noise, hush.Sensitivity(l1=0.25, l0=1)).pure_epsilon == pytest.approx(
        0.2
    )  # two whole steps are within 0.25


def test_releases_of_different_relations_are_not_composed() -> None:
    replaced = hush.Sensitivity(linf=1.0, l0=1, neighbours="replace")
    with pytest.raises(hush.InvalidParameter, match="no epsilon covers both"):
        hush.compose([(hush.Laplace(1.0), 1.0, 1), (hush.Laplace(1.0), replaced, 1)])


def test_a_charge_goes_through_pickle_with_an_equal_hash() -> None:
    """The stored hash stays behind: hashes of strings differ between processes."""
    charge = hush.Charge(hush.Laplace(2.0), hush.Sensitivity(linf=1.0, l0=3), times=4)
    assert hash(charge) == hash(charge.once.repeated(4)) and "_hash" not in charge.__getstate__()
    copied = pickle.loads(pickle.dumps(charge))
    assert copied == charge and hash(copied) == hash(charge) and copied.once.times == 1
