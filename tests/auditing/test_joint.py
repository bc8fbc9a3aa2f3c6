"""Audits of vectors: right joint noises pass, and each way to break one is found.

Draws of the numpy releases are seeded: those tests are deterministic. Were they not, an audit of a right release would
raise a false alarm with probability at most 1e-6. The same rate holds for the tests of hush's own draws, which use
fresh entropy.
"""

from __future__ import annotations

import dataclasses
import json
from typing import Any

import numpy as np
import pytest
from auditing.joint_releases import ball, cube, interval
from auditing.releases import lattice_vector
from effort import thinned

import hush
from hush.auditing.lattice import of_lattice
from hush.auditing.moves import vector_moves
from hush.cli import main

SAMPLES = 20_000


def box(d: int, **facts: Any) -> hush.Sensitivity:
    return hush.Sensitivity(linf=1.0, dimension=d, **facts)


def counts(d: int) -> hush.Sensitivity:
    return box(d, one_sided=True)


def euclidean(d: int) -> hush.Sensitivity:
    return hush.Sensitivity(l2=1.0, dimension=d)


#: (release, sensitivity, epsilon): right for this sensitivity.
RIGHT: dict[str, Any] = {
    "cube": lambda seed: (cube(4, 1.0, seed), box(4), 1.0),
    "cube for counts": lambda seed: (cube(4, 1.0, seed), counts(4), 1.0),
    "interval": lambda seed: (interval(4, 1.0, 1, seed), counts(4), 1.0),
    "interval, both signs": lambda seed: (interval(3, 1.0, 1, seed), box(3), 2.0),
    "ball": lambda seed: (ball(3, 1.0, seed), euclidean(3), 1.0),
    "independent": lambda seed: (lattice_vector(3.0, 3, seed), box(3), 1.0),
}
#: The same with a mistake, and what the audit has to show at least.
BROKEN: dict[str, Any] = {
    "cube of 2/3 of the scale": lambda seed: (cube(4, 2.0 / 3.0, seed), box(4), 1.0),
    "interval of 2/3 of the scale": lambda seed: (interval(4, 2.0 / 3.0, 1, seed), counts(4), 1.0),
    "ball of 2/3 of the scale": lambda seed: (ball(2, 2.0 / 3.0, seed), euclidean(2), 1.0),
    "ball with an exponential radius": lambda seed: (ball(4, 1.0, seed, shape=1.0), euclidean(4), 1.0),
    "offset from the data": lambda seed: (interval(4, 1.0, lambda v: np.abs(v).max(), seed), counts(4), 1.0),
    "two numbers share one uniform": lambda seed: (cube(4, 1.0, seed, twice=True), box(4), 1.0),
    "the same, for counts": lambda seed: (cube(7, 1.0, seed, twice=True), counts(7), 1.0),
    "one-sided noise under replace": lambda seed: (interval(4, 1.0, 1, seed), box(4, neighbours="replace"), 1.0),
    "independent noise of 2/3 of the scale": lambda seed: (lattice_vector(2.0, 3, seed), box(3), 1.0),
    "a level for every number": lambda seed: (cube(5, 1.0 / 3.0, seed, levels="each"), box(5), 3.0),
}


@pytest.mark.parametrize("name", RIGHT)
@pytest.mark.parametrize("seed", thinned([1, 2], 1))
def test_nothing_in_right_joint_noise(name: str, seed: int) -> None:
    release, bound, epsilon = RIGHT[name](seed)
    found = hush.audit(release, epsilon=epsilon, sensitivity=bound, samples=SAMPLES)
    assert not found.violated and found.collisions is None
    assert found.pairs == len(vector_moves(bound, bound.dimension or 0)) > 1


@pytest.mark.parametrize("name", BROKEN)
@pytest.mark.parametrize("seed", thinned([3, 4], 1))
def test_every_mistake_is_found(name: str, seed: int) -> None:
    release, bound, epsilon = BROKEN[name](seed)
    found = hush.audit(release, epsilon=epsilon, sensitivity=bound, samples=2 * SAMPLES)
    assert found.violated, str(found)


@pytest.mark.parametrize(("scale", "violated"), [(2.0 / 3.0, True), (1.0, False)])
def test_ball_noise_of_five_numbers_by_its_likelihood_ratio(scale: float, violated: bool) -> None:
    """The events that tell are rare. The difference of two distances, the likelihood ratio of a ball, finds them."""
    found = hush.audit(
        ball(5, scale, 3), epsilon=1.0, inputs=(np.zeros(5), np.array([1.0, 0.0, 0.0, 0.0, 0.0])), samples=200_000
    )
    assert found.violated == violated, str(found)
    assert not violated or found.event.startswith("Euclidean distance from the second input minus that from the first")


@pytest.mark.parametrize("name", ["two numbers share one uniform", "one-sided noise under replace"])
def test_one_pair_of_inputs_is_not_enough(name: str) -> None:
    """All numbers moved together show nothing in these: it takes moves of some numbers, or of both signs."""
    release, bound, epsilon = BROKEN[name](5)
    size = bound.dimension or 0
    found = hush.audit(release, epsilon=epsilon, inputs=(np.zeros(size), np.ones(size)), samples=2 * SAMPLES)
    assert not found.violated and found.pairs == 1


def test_inputs_that_are_no_vectors_are_attacked_jointly_too() -> None:
    """The inputs are names of data sets: the medians of the outputs stand for them."""
    sets = {"without": np.zeros(4), "with": np.array([1.0, 0.0, 0.0, 0.0])}
    for shape, violated in ((None, False), (1.0, True)):
        release = ball(4, 1.0, 7, shape=shape)
        found = hush.audit(
            lambda name, size, release=release: release(sets[name], size),
            epsilon=1.0,
            inputs=("without", "with"),
            samples=2 * SAMPLES,
        )
        assert found.violated == violated, str(found)
    assert "distance" in found.event


def test_noise_without_a_theorem_needs_a_claim() -> None:
    bound = hush.Sensitivity(l2=1.0, dimension=3)
    with pytest.raises(hush.InvalidParameter, match="epsilon is missing"):
        hush.audit(hush.Gaussian(2.0), sensitivity=bound, samples=2000)  # no pure epsilon
    found = hush.audit(hush.Gaussian(4.0), sensitivity=bound, delta=1e-3, samples=SAMPLES)
    assert not found.violated and found.epsilon == pytest.approx(hush.epsilon(hush.Gaussian(4.0), 1e-3, bound))


# -- hush's own noises ---------------------------------------------------------------------------------------

KINDS = box(3, one_sided=(True, True, False), people=0)
OWN: dict[str, tuple[hush.Noise, hush.Sensitivity]] = {
    "cube": (hush.Cube(4, 1.0), box(4)),
    "interval": (hush.Interval(4, 1.0, 1.0), counts(4)),
    "interval, both signs": (hush.Interval(3, 1.0, 1.0), box(3)),
    "half steps": (hush.Interval(3, 1.0, 1.0, step=0.5), counts(3)),
    "independent": (hush.Discrete(hush.Laplace(3.0)), box(3)),
    "hull": (hush.Hull(3, 2, 1.0), box(3, l0=2)),
    "hull, one sign": (hush.Hull(3, 2, 1.0, 1.0, one_sided=True), box(3, l0=2, one_sided=True)),
    "plateau": (hush.Plateau(("people", "one_sided", "two_sided"), 1.0, (0.0, 1.0, 0.0)), KINDS),
    "plateau without people": (hush.Plateau(("one_sided", "two_sided"), 1.0), box(2, one_sided=(True, False))),
    "two groups of three columns": (
        hush.Interval(3, 1.0, 1.0),
        hush.Sensitivity(columns=(1.0,) * 3, l0=2, one_sided=True),
    ),
}


@pytest.mark.parametrize("name", OWN)
def test_ours_are_as_private_as_stated_and_no_more(name: str) -> None:
    """The claim is what hush proves. The audit comes near it, and refutes a claim of 2/3 of it."""
    noise, bound = OWN[name]
    proved = hush.epsilon(noise, 0.0, bound)
    found = hush.audit(noise, sensitivity=bound, samples=2 * SAMPLES)
    assert found.epsilon == pytest.approx(proved) and not found.violated
    if noise.dimension is not None:
        assert found.epsilon_lower > 2.0 / 3.0 * proved


@pytest.mark.parametrize("name", OWN)
def test_the_attack_on_ours_uses_their_densities(name: str) -> None:
    """The privacy loss of an output, straight from the density; two releases side by side add up."""
    noise, bound = OWN[name]
    found = of_lattice(noise, None, bound, 0.0)
    assert found is not None
    groups, size = (bound.l0 if bound.columns else 1), noise.dimension or bound.dimension
    points = np.arange(12).reshape(-1, groups * size) * noise.step  # type: ignore[operator]
    for target in found[0]:
        assert target.loss is not None and target.centres is not None
        first, second = target.centres
        here, there = (noise.log_density_of((points - c).reshape(-1, size)) for c in (first, second))
        loss = (here - there).reshape(len(points), -1).sum(axis=1)
        assert target.loss(points) == pytest.approx(loss)
        assert np.abs(loss).max() <= found[1][0] + 1e-9  # type: ignore[operator]


def test_a_plan_with_joint_noise_is_attacked_by_many_moves() -> None:
    plan = hush.calibrate(1.0, 0.0, counts(5), values="integer")
    found = hush.audit(plan, samples=SAMPLES)
    assert (found.epsilon, found.delta, found.pairs) == (1.0, 0.0, 6) and not found.violated
    assert "6 pairs of inputs" in repr(found) and json.loads(found.to_json())["pairs"] == 6
    assert isinstance(plan.noise, hush.Interval)
    narrow = dataclasses.replace(plan.noise, scale=plan.noise.scale * 2.0 / 3.0)
    assert hush.audit(dataclasses.replace(plan, noise=narrow), samples=2 * SAMPLES).violated
    one = hush.audit(plan, inputs=(np.zeros(5), np.ones(5)), samples=SAMPLES)
    assert one.pairs == 1 and not one.violated


def test_a_plan_for_two_releases_is_attacked_as_a_whole() -> None:
    plan = hush.calibrate(1.0, 0.0, counts(3), times=2, values="integer")
    found = hush.audit(plan, samples=SAMPLES)
    assert not found.violated and found.epsilon_lower > 0.4


# -- moves ---------------------------------------------------------------------------------------------------


@pytest.mark.parametrize("size", [1, 2, 3, 7, 10])
@pytest.mark.parametrize("one_sided", [False, True])
def test_moves_are_allowed_and_separate_every_two_numbers(size: int, one_sided: bool) -> None:
    found = [move for _, move in vector_moves(box(size, one_sided=one_sided), size)]
    assert len({move.tobytes() for move in found}) == len(found)
    for move in found:
        assert np.abs(move).max() == 1.0
        assert not one_sided or (move >= 0.0).all()
    assert any((move == 1.0).all() for move in found)
    for i in range(size):
        for j in range(i):
            assert any(move[i] != move[j] for move in found)
    assert one_sided or size == 1 or any((move == -1.0).any() for move in found)


def test_moves_obey_every_fact() -> None:
    for bound in (
        hush.Sensitivity(linf=2.0, l0=3, dimension=8),
        hush.Sensitivity(l2=1.5, dimension=8),
        hush.Sensitivity(l1=1.5, linf=1.0, dimension=8),
        hush.Sensitivity(linf=(1.0, 2.0, 3.0)),
    ):
        size = bound.dimension or 3
        for _, move in vector_moves(bound, size):
            assert 0 < np.count_nonzero(move) <= (bound.moving or size)
            assert bound.l1 is None or np.abs(move).sum() <= bound.l1 + 1e-12
            assert bound.l2 is None or np.sqrt((move**2).sum()) <= bound.l2 + 1e-12
            limits = np.broadcast_to(np.inf if bound.linf is None else np.array(bound.linf), move.shape)
            assert (np.abs(move) <= limits).all()


def test_moves_obey_the_kinds_of_numbers() -> None:
    """Numbers of both signs also move down, one-sided ones only up, and a number of people always fully."""
    found = [move for _, move in vector_moves(box(4, one_sided=(True, False, True, False)), 4)]
    assert all((move[[0, 2]] >= 0.0).all() for move in found) and any((move[[1, 3]] < 0.0).any() for move in found)
    for bound in (box(5, one_sided=True, people=3), box(5, l0=2, one_sided=True, people=4), KINDS):
        moves = [move for _, move in vector_moves(bound, bound.dimension or 0)]
        assert len(moves) > 2 and all(move[bound.people or 0] == 1.0 for move in moves)
        assert all(np.count_nonzero(move) <= (bound.moving or 0) for move in moves)


def test_people_who_do_not_move_are_what_plateau_noise_does_not_hide() -> None:
    """The facts about kinds are needed: without the number of people, or with a count that may fall, it is refuted."""
    noise = hush.Plateau(("people", "one_sided", "two_sided"), 1.0, (0.0, 1.0, 0.0))
    for facts in ({"one_sided": (True, True, False)}, {"one_sided": (True, False, False), "people": 0}):
        found = hush.audit(noise, sensitivity=box(3, **facts), epsilon=1.0, samples=SAMPLES)
        assert found.violated, str(found)


def test_inputs_obey_the_kinds_of_numbers() -> None:
    plan = hush.calibrate(1.0, 0.0, KINDS, values="integer")
    assert hush.audit(plan, inputs=([0, 0, 0], [1, 1, -1]), samples=2000).pairs == 1
    for second in ([0, 1, 1], [1, -1, 0], [0.5, 0, 0]):
        with pytest.raises(hush.InvalidParameter, match="more than the sensitivity"):
            hush.audit(plan, inputs=([0, 0, 0], second), samples=2000)


def test_moves_start_where_the_caller_says() -> None:
    seen: list[list[float]] = []

    def release(value: np.ndarray, size: int) -> np.ndarray:
        seen.append(value.tolist())
        return cube(3, 1.0, 9)(value, size)

    hush.audit(release, epsilon=1.0, sensitivity=counts(3), inputs=[5.0, 6.0, 7.0], samples=2000)
    assert [5.0, 6.0, 7.0] in seen and [6.0, 7.0, 8.0] in seen and [0.0, 0.0, 0.0] not in seen


def test_progress_counts_all_pairs() -> None:
    told: list[tuple[int, int]] = []
    hush.audit(
        hush.Cube(2, 1.0), sensitivity=counts(2), samples=2000, progress=lambda done, total: told.append((done, total))
    )
    pairs = len(vector_moves(counts(2), 2))
    assert told == [(2000 * (i + 1), 2000 * pairs) for i in range(pairs)]


# -- what is refused -----------------------------------------------------------------------------------------


@pytest.mark.parametrize(
    ("target", "options", "words"),
    [
        (hush.Cube(3, 1.0), {"epsilon": 1.0}, "sensitivity=hush.Sensitivity(linf=1.0, dimension=3)"),
        (hush.Cube(3, 1.0), {"sensitivity": 1.0}, "sensitivity must be a Sensitivity"),
        (hush.Cube(3, 1.0), {"sensitivity": counts(3), "inputs": (0.0, 1.0)}, "one vector of 3 finite numbers"),
        (cube(3, 1.0, 1), {"sensitivity": counts(3)}, "epsilon is missing"),
        (cube(3, 1.0, 1), {"sensitivity": hush.Sensitivity(l2=1.0), "epsilon": 1.0}, "how many numbers"),
        (cube(3, 1.0, 1), {"sensitivity": box(5000), "epsilon": 1.0}, "at most 4096 numbers"),
        (hush.calibrate(1.0, 0.0, counts(3)), {"sensitivity": counts(3)}, "has its own sensitivity"),
        (hush.calibrate(1.0, 0.0, counts(3)), {"inputs": ([0, 0, 0], [1, 1, -1])}, "more than the sensitivity"),
        (hush.calibrate(1.0, 0.0, counts(3)), {"inputs": ([0, 0], [1, 1])}, "two vectors of 3 numbers"),
    ],
)
def test_bad_requests_are_refused_in_one_sentence(target: Any, options: dict[str, Any], words: str) -> None:
    with pytest.raises(hush.InvalidParameter) as failure:
        hush.audit(target, samples=2000, **options)
    assert words in str(failure.value) and "\n" not in str(failure.value)


# -- the command line ----------------------------------------------------------------------------------------


def test_the_command_attacks_a_vector(capsys: pytest.CaptureFixture[str]) -> None:
    line = "audit --epsilon 1 --pure --dimension 4 --one-sided --family interval --samples 10000"
    assert main(line.split()) == 0
    out = capsys.readouterr().out
    assert "Interval(dimension=4" in out and "5 pairs of inputs" in out and "nothing found" in out


def test_the_command_refuses_one_sided_without_a_dimension(capsys: pytest.CaptureFixture[str]) -> None:
    assert main(["audit", "--epsilon", "1", "--pure", "--one-sided"]) == 2
    assert "--one-sided needs --dimension" in capsys.readouterr().err
