"""Lower bounds for vectors and lattices: known values, every step of the proofs, and no noise below them."""

from __future__ import annotations

import itertools
import math

import numpy as np
import pytest
from numpy.typing import NDArray

import hush
from hush.calibration import projection_bound, pure_bound
from hush.calibration.lower_limit import lower_limit
from hush.calibration.one_number import least, least_on_lattice

Array = NDArray[np.float64]

#: d: d times the least variance of one number at (1, 1e-6); the volume bound and the field bound at epsilon 1
BOX = {
    2: (3.834, 0.401, 4.0),
    3: (5.752, 0.749, 6.667),
    5: (9.586, 1.66, 12.98),
    10: (19.17, 5.17, 31.51),
    20: (38.34, 17.3, 76.87),
    50: (95.86, 92.9, 253.0),
    100: (191.7, 347.8, 627.7),
}
#: K: a weaker bound for K counts, from weights of size 1 only
ONE_SIDED = {2: 2.397, 3: 2.769, 5: 3.758, 10: 6.231, 20: 11.02, 50: 25.40, 100: 49.37}
#: (numbers, at most so many move): the variance of the best correlated Gaussian noise over that of one number
CORRELATED = {(10, 9): 4.3077, (20, 10): 7.1795, (50, 20): 14.6633}


def box(d: int, **facts: object) -> hush.Sensitivity:
    return hush.Sensitivity(linf=1.0, dimension=d, **facts)  # type: ignore[arg-type]


# -- known values --------------------------------------------------------------------------------------------


@pytest.mark.parametrize("d", BOX)
def test_bounds_for_the_box(d: int) -> None:
    sums, volume, field = BOX[d]
    assert lower_limit(1.0, 1e-6, box(d), "variance", None) == pytest.approx(sums, rel=5e-4)
    assert pure_bound._cap(d, pure_bound._log_growth(d, 1.0) + d * math.log(2.0), "variance") == pytest.approx(
        volume, rel=5e-3
    )
    assert pure_bound._field_of_box(d) == pytest.approx(field, rel=5e-4)
    pure = lower_limit(1.0, 0.0, box(d), "variance", None)
    assert pure == pytest.approx(max(d * least(1.0, 0.0, "variance"), volume, field / math.e), rel=5e-4)


@pytest.mark.parametrize("k", ONE_SIDED)
def test_bounds_for_moves_of_one_sign(k: int) -> None:
    """Above the weaker bound, and below the box, whose moves include these."""
    found = lower_limit(1.0, 1e-6, box(k, one_sided=True), "variance", None)
    assert ONE_SIDED[k] < found < lower_limit(1.0, 1e-6, box(k), "variance", None)


def test_the_bound_for_one_sign_is_the_least_ellipsoid() -> None:
    """The least mean variance of Gaussian noise with this worst length, by a search over a and b of b I + a J."""
    for (d, l0), known in CORRELATED.items():
        bound = hush.Sensitivity(linf=1.0, l0=l0, dimension=d, one_sided=True)
        assert projection_bound._one_direction(bound, d, l0) == pytest.approx(known, rel=1e-4)
    for d, l0 in ((2, 2), (3, 2), (7, 7), (12, 5)):
        bound = hush.Sensitivity(linf=1.0, l0=l0, dimension=d, one_sided=True)
        j = np.arange(1, l0 + 1)
        ratios = np.geomspace(1e-4, 1e3, 20_001)[:, None]
        longest = (j - ratios * j**2 / (1.0 + d * ratios)).max(axis=1)  # with b = 1 and a = ratio
        least_mean = float((longest * (1.0 + ratios[:, 0])).min())
        found = projection_bound._one_direction(bound, d, l0)
        assert found <= least_mean <= found * (1.0 + 3e-4)  # the grid of ratios is that coarse


def test_at_most_some_of_the_numbers() -> None:
    one = least(1.0, 1e-6, "variance")
    for facts, factor in (
        ({"linf": 1.0, "l0": 4, "dimension": 10}, 4.0),
        ({"linf": 1.0, "l0": 4}, 4.0),
        ({"linf": 2.0, "l0": 1, "dimension": 10}, 4.0),
        ({"l2": 3.0, "dimension": 10}, 9.0),
        ({"l1": 3.0, "dimension": 10}, 9.0),
        ({"linf": 1.0, "l1": 3.0, "dimension": 10}, 3.0),
        ({"linf": 1.0, "l2": 2.0, "dimension": 10}, 4.0),
        ({"linf": (1.0, 2.0), "dimension": 2}, 4.5),
        ({"linf": (1.0, 2.0), "l0": 1}, 2.5),
    ):
        found = lower_limit(1.0, 1e-6, hush.Sensitivity(**facts), "variance", None)  # type: ignore[arg-type]
        assert found == pytest.approx(factor * one, rel=1e-9), facts


def test_unequal_bounds_of_one_sign() -> None:
    """Equal ones, written as a list, get the bound for equal ones; unequal ones nearly the mean that bounds them."""
    listed, equal = hush.Sensitivity(linf=(1.0,) * 9, one_sided=True), box(9, one_sided=True)
    same = [lower_limit(1.0, 1e-6, bound, "variance", None) for bound in (listed, equal)]
    assert same[0] == pytest.approx(same[1], rel=1e-12)
    signs = np.array(list(itertools.product((-1.0, 1.0), repeat=5)))
    sizes = np.array([1.0, 0.5, 2.0, 1.0, 3.0])
    reach = np.maximum(((signs > 0) * sizes).sum(axis=1), ((signs < 0) * sizes).sum(axis=1))
    exact = float((reach**2).mean()) / 5.0  # the mean that the bound is below
    bound = hush.Sensitivity(linf=tuple(sizes), one_sided=True)
    assert 0.85 * exact <= projection_bound._unequal(bound, bound.linf, 5) <= exact  # type: ignore[arg-type]


# -- the proofs ----------------------------------------------------------------------------------------------


def cone_field(x: Array, mu: float) -> Array:
    """The vector field of the proof for the box, epsilon 1, at a point whose first number is the largest."""
    d, top = len(x), x[0]
    y = x / top
    m = float(y @ y)
    side = np.sign(y) * np.maximum(mu * np.abs(y) - d * np.abs(y) ** 3 / 3.0, -(1.0 + y**2) * (1.0 + np.abs(y)))
    side[0] = 0.0
    return x * (m * top + (d + 1.0) * m) + top * (d + 1.0) * side


def worst_surplus(d: int, mu: float, points: int = 400) -> float:
    """The least of div F - (lambda - |x|^2 + |F|_inf) over random points, with the divergence by differences."""
    rng = np.random.default_rng(d)
    rate, worst, h = (d + 1.0) * (d + (d - 1.0) * mu), math.inf, 1e-5
    for _ in range(points):
        x = rng.uniform(-0.999, 0.999, d) * rng.gamma(2.0, 0.5 * d)
        x[0] = np.abs(x).max() * 1.001 + 0.01
        steps = h * np.eye(d)
        div = sum((cone_field(x + s, mu) - cone_field(x - s, mu))[i] / (2.0 * h) for i, s in enumerate(steps))
        need = rate - float(x @ x) + float(np.abs(cone_field(x, mu)).max())
        worst = min(worst, (div - need) / rate)
    return worst


@pytest.mark.parametrize("d", [2, 3, 5, 12, 40])
def test_the_vector_field_of_the_proof(d: int) -> None:
    """It satisfies the inequality at every point, and where two cones meet it only adds; a larger mu breaks one of
    the two.
    """
    mu = (pure_bound._field_of_box(d) * d / (d + 1.0) - d) / (d - 1.0)
    assert worst_surplus(d, mu) >= -1e-6
    assert mu <= d / 3.0 + 1e-12  # the field points outwards at the faces between cones
    y = np.linspace(1e-3, 1.0, 2001)
    slack = (1.0 + y**2) * (1.0 - y) - (1.01 * mu * y - d * y**3 / 3.0)
    assert slack.min() < 0.0  # 1 % more, and the largest number is no longer the first one


def test_the_volume_is_a_sum_over_cells() -> None:
    """Cells of unit moves, added one by one, for two numbers."""
    q, last = math.exp(-1.0), 60
    n = np.arange(1, last + 1)
    cells = q ** np.maximum(n[:, None], n)
    assert pure_bound._log_growth(2, 1.0) == pytest.approx(math.log(cells.sum()), rel=1e-9)
    same = 2.0 * cells.sum()  # both numbers up, or both down
    mixed = 2.0 * (q ** (n[:, None] + n)).sum()  # one up and one down: moves of both directions are needed
    assert pure_bound._log_one_sided(2, 1.0) == pytest.approx(math.log(same + mixed), rel=1e-9)


def test_a_lattice_noise_spread_over_its_cells_is_as_private() -> None:
    """For a random law on the plane lattice and half-step moves: never above the worst of the rounded moves."""
    rng = np.random.default_rng(7)

    def divergence(p: Array, move: tuple[int, int]) -> float:
        grid = np.zeros((p.shape[0] + 4, p.shape[1] + 4))
        grid[2:-2, 2:-2] = p
        return float(np.maximum(grid - 1.3 * np.roll(grid, move, axis=(0, 1)), 0.0).sum())

    for _ in range(20):
        p = rng.dirichlet(np.full(25, 0.5)).reshape(5, 5)
        whole = max(divergence(p, move) for move in itertools.product((0, 1), repeat=2))
        fine = np.kron(p, np.full((2, 2), 0.25))  # every cell in four quarters: a half step is one of them
        assert divergence(fine, (1, 1)) <= whole + 1e-12
        assert divergence(fine, (2, 1)) <= whole + 1e-12


@pytest.mark.parametrize("epsilon", [0.3, 1.0, 4.0])
def test_whole_numbers_with_unit_moves(epsilon: float) -> None:
    """At delta = 0 discrete Laplace noise is optimal; a tiny delta lowers the bound by little."""
    q = math.exp(-epsilon)
    exact = {"variance": 2.0 * q / (1.0 - q) ** 2, "mae": 2.0 * q / (1.0 - q * q)}
    for loss, value in exact.items():
        assert least_on_lattice(epsilon, 0.0, 1, loss) == pytest.approx(value, rel=1e-11)
        assert least_on_lattice(epsilon, 0.0, 1, loss) <= value
        assert 0.99 * value <= least_on_lattice(epsilon, 1e-6, 1, loss) <= value
    bracket = hush.limit(epsilon, 0.0, values="integer")
    assert bracket.contains(exact["variance"]) and bracket.width <= 1e-8 * bracket.upper


def test_a_noise_for_real_answers_may_be_below_the_limit_of_the_lattice() -> None:
    """Uniform noise on [-1, 1] against the lattice at epsilon ~ 0 and delta = 1/2: the two limits must not be mixed."""
    assert least_on_lattice(1e-6, 0.5, 1, "variance") > 1.0 / 3.0 > least(1e-6, 0.5, "variance")


# -- no noise is below ---------------------------------------------------------------------------------------


@pytest.mark.parametrize("values", ["real", "integer"])
@pytest.mark.parametrize("loss", ["variance", "mae"])
@pytest.mark.parametrize(
    "bound",
    [
        box(2),
        box(3, one_sided=True),
        box(25, one_sided=True),
        hush.Sensitivity(linf=3.0, l0=2, dimension=5),
        hush.Sensitivity(linf=2.0, l2=5.0, dimension=9),
        hush.Sensitivity(linf=(1.0, 2.0, 4.0), dimension=3),
        hush.Sensitivity(l2=1.0, dimension=5),
    ],
    ids=str,
)
def test_every_noise_of_a_ranking_is_above_its_limit(bound: hush.Sensitivity, loss: str, values: str) -> None:
    for epsilon in (0.2, 1.0, 6.0):
        plan = hush.calibrate(epsilon, 0.0, bound, loss=loss, values=values)
        assert plan.limit is not None and 0.0 < plan.limit.lower <= plan.limit.upper
        assert plan.limit.upper == pytest.approx(plan.value, rel=1.1e-4)
        for choice in plan.ranking:
            if choice.noise is not None:
                step = choice.noise.step if choice.noise.discrete else None
                assert choice.loss >= lower_limit(epsilon, 0.0, bound, loss, step)
                assert choice.loss >= plan.limit.lower


def test_the_limit_with_a_delta() -> None:
    plan = hush.calibrate(1.0, 1e-6, box(3))
    assert plan.limit is not None
    assert plan.limit.lower == pytest.approx(5.7513, rel=1e-4) and plan.limit.upper == pytest.approx(plan.variance)
    again = hush.limit(1.0, 1e-6, box(3))
    assert again.lower == pytest.approx(5.7517, rel=1e-4) and again.lower <= again.upper <= 20.0 / 3.0


def test_the_limit_of_several_numbers_and_releases() -> None:
    assert hush.calibrate(1.0, 0.0, box(4), times=2).limit is None
    assert hush.calibrate(1.0, 0.0, box(4), loss="p95").limit is None
    one = hush.limit(0.7, 1e-6, 3.0)
    assert hush.limit(0.7, 1e-6, hush.Sensitivity(linf=3.0, l0=1, dimension=8)) == one
    assert hush.limit(1.0, 0.0, box(4)).lower < hush.limit(0.5, 0.0, box(4)).lower
    assert hush.limit(1.0, 0.0, box(4), values="integer").lower < hush.limit(1.0, 0.0, box(4)).lower


def test_bad_input_is_named() -> None:
    with pytest.raises(hush.InvalidParameter, match="values"):
        hush.limit(1.0, 1e-6, values="whole")
    with pytest.raises(hush.InvalidParameter, match="loss"):
        hush.limit(1.0, 1e-6, box(3), loss="p95")
    with pytest.raises(hush.InvalidParameter, match="sensitivity"):
        hush.limit(1.0, 1e-6, "1")
    with pytest.raises(hush.Unsupported, match="at least one step"):
        hush.limit(1.0, 1e-6, 0.5, values="integer")
    with pytest.raises(hush.Unsupported, match="epsilon from"):
        hush.limit(800.0, 0.0, box(3))
