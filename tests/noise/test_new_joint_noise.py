"""A joint noise of two numbers that hush does not have: two classes with their descriptors, registered by two lines.

Square noise on the whole numbers: P(k) = q^max(|k_1|, |k_2|) / Z with q = e^(-1/scale) and Z = 1 + 8 q/(1 - q)^2. A
move of at most m in each number changes the exponent by at most m, so the pure epsilon is m/scale. Its curve is that of
randomised response.
"""

from __future__ import annotations

import math
from collections.abc import Iterator
from dataclasses import dataclass
from functools import cached_property
from pathlib import Path
from typing import Any, ClassVar

import numpy as np
import pytest

import hush
from hush.noise import catalogue
from hush.noise.lattice import Lattice
from hush.report import statement
from hush.sampling.exact import draw_from

BOX = hush.Sensitivity(linf=1.0, dimension=2)


@dataclass(frozen=True)
class SquareMarginal(Lattice):
    """One number of square noise: P(k) = q^|k| (2 |k| + 1 + 2 q/(1 - q)) / Z."""

    FAMILY: ClassVar[hush.Family]
    step: ClassVar[float] = 1.0  # type: ignore[misc]

    scale: float

    @property
    def q(self) -> float:
        return math.exp(-1.0 / self.scale)

    @property
    def whole(self) -> float:
        return 1.0 + 8.0 * self.q / (1.0 - self.q) ** 2

    @cached_property
    def points(self) -> int:
        return int(700.0 * self.scale)

    def log_mass(self, k: Any) -> Any:
        return -k / self.scale + np.log(2.0 * k + 1.0 + 2.0 * self.q / (1.0 - self.q)) - math.log(self.whole)

    @cached_property
    def masses(self) -> Any:
        return np.exp(self.log_mass(np.arange(float(self.points))))

    def losses(self, n: int) -> Any:
        k = np.arange(math.floor(n / 2), -self.points, -1, dtype=np.float64)
        here = self.log_mass(np.abs(k))
        return here - self.log_mass(np.abs(k - n)), np.exp(here)

    def max_loss(self, shift: float) -> float:
        return float(self.losses(self.steps_in(shift))[0].max())


def _beyond(noise: SquareMarginal) -> Any:
    """P(|X| > k) in balls: sums of q^j and of j q^j from k + 1 on."""
    from flint import arb

    def beyond(k: int) -> Any:
        q = (-1 / arb(noise.scale)).exp()
        start, rest = q ** (k + 1), 1 - q
        plain, by_place = start / rest, start * ((k + 1) / rest + q / rest**2)
        return 2 * (2 * by_place + (1 + 2 * q / rest) * plain) / (1 + 8 * q / rest**2)

    return beyond


SquareMarginal.FAMILY = hush.Family("square_marginal", SquareMarginal, ranked=False, tail=_beyond, cites=("hush",))


@dataclass(frozen=True)
class Square(hush.Noise):
    """Square noise of two numbers."""

    FAMILY: ClassVar[hush.Family]
    dimension: ClassVar[int] = 2  # type: ignore[misc]
    discrete: ClassVar[bool] = True
    step: ClassVar[float] = 1.0  # type: ignore[misc]

    scale: float

    @property
    def marginal(self) -> SquareMarginal:
        return SquareMarginal(self.scale)

    @property
    def covariance(self) -> Any:
        return np.eye(2) * self.marginal.variance  # signs are independent

    def scaled(self, k: float) -> Square:
        raise hush.Unsupported("square noise stays on the whole numbers; write widened.")

    def widened(self, k: float) -> Square:
        return Square(self.scale * k)

    def pair(self, sensitivity: hush.Sensitivity) -> hush.Curve | None:
        box = sensitivity.box
        if box is None:
            return None
        return hush.curve(hush.Staircase(max(shift for shift, _ in box) / self.scale, 1.0, gamma=0.5))

    def lattice_draws(self, bits: Any, count: int, step: float) -> Any:
        """Draw a radius by rejection, then a point of the edge of the square, all in whole numbers.

        The sum r of two geometric counts has weight (r + 1) q^r. A square of radius r has 8 r points (one for r = 0),
        so r is kept with probability r/(r + 1) (1/8 for r = 0).
        """
        found = np.empty((0, 2), dtype=np.int64)
        while len(found) < count:
            signed = draw_from(bits, hush.Discrete(hush.Laplace(self.scale)), 8 * count + 64, 1.0)
            counts = signed[signed >= 0]  # a geometric count
            radius = counts[: counts.size // 2] + counts[counts.size // 2 : 2 * (counts.size // 2)]
            kept = np.where(radius == 0, _below(bits, np.full(radius.size, 8)) == 0, _below(bits, radius + 1) > 0)
            radius = radius[kept]
            found = np.concatenate([found, _edge(radius, _below(bits, np.maximum(8 * radius, 1)))])
        return found[:count]


def _below(bits: Any, most: Any) -> Any:
    """Return exactly uniform whole numbers below each `most`; words that would favour small numbers are drawn again."""
    limit = (2**62 // most) * most
    words = (bits.words(most.size, np.uint64)[0] >> np.uint64(2)).astype(np.int64)
    while (again := words >= limit).any():
        words[again] = (bits.words(int(again.sum()), np.uint64)[0] >> np.uint64(2)).astype(np.int64)
    return words % most


def _edge(radius: Any, place: Any) -> Any:
    """Return the point with this number on the edge of the square, which has four sides of 2 r points each."""
    side, along = np.divmod(place, np.maximum(2 * radius, 1))
    first = np.choose(side, [radius, radius - along, -radius, along - radius])
    second = np.choose(side, [along - radius, radius, radius - along, -radius])
    return np.stack([np.where(radius == 0, 0, first), np.where(radius == 0, 0, second)], axis=1)


Square.FAMILY = hush.Family("square", Square, ranked=False, paper="this test", cites=("hush",))


@pytest.fixture(autouse=True)
def _registered() -> Iterator[None]:
    with catalogue.restored():
        hush.register(SquareMarginal)
        hush.register(Square)
        yield


def test_the_class_is_what_it_says() -> None:
    """`hush.check` compares covariance, marginal, curve and the density of the marginal."""
    assert hush.check(Square(2.0)).passed, str(hush.check(Square(2.0)))
    assert hush.check(SquareMarginal(2.0)).passed, str(hush.check(SquareMarginal(2.0)))


def test_draws_have_the_joint_law() -> None:
    """Chi-squared over the points of radius 0 to 3 (false-alarm rate 1e-6); it rejects scales of 2/3 and 3/2."""
    sample = hush.draw(Square(2.0), 40_000)
    assert sample.shape == (40_000, 2) and sample.dtype == np.int64

    def statistic(scale: float) -> float:
        q = math.exp(-1.0 / scale)
        whole, total = 1.0 + 8.0 * q / (1.0 - q) ** 2, 0.0
        for point in [(i, j) for i in range(-3, 4) for j in range(-3, 4)]:
            expected = len(sample) * q ** max(map(abs, point)) / whole
            total += (int((sample == point).all(axis=1).sum()) - expected) ** 2 / expected
        return total

    limit = 49 + 5.0 * math.sqrt(2.0 * 49) + 30.0  # far above the 1 - 1e-6 quantile of 49 degrees of freedom, about 112
    assert statistic(2.0) < limit < min(statistic(4.0 / 3.0), statistic(3.0))


def test_it_has_the_curve_that_it_proves_and_composes() -> None:
    assert hush.epsilon(Square(4.0), 0.0, BOX) == pytest.approx(0.25)
    assert hush.delta(Square(4.0), 0.1, BOX) == pytest.approx((math.exp(0.25) - math.exp(0.1)) / (math.exp(0.25) + 1.0))
    both = hush.compose([(Square(4.0), BOX, 2), (hush.Gaussian(9.0), 1.0, 1)])
    assert both.delta(1.0) < hush.compose([(Square(3.0), BOX, 2), (hush.Gaussian(9.0), 1.0, 1)]).delta(1.0)
    assert hush.renyi(Square(4.0), 3.0, BOX) <= 0.25
    with pytest.raises(hush.Unsupported, match="a noise of 2 numbers"):
        hush.curve(Square(4.0), hush.Sensitivity(l2=1.0))
    with pytest.raises(hush.InvalidParameter, match="for 2 numbers, but the sensitivity is for 3"):
        hush.curve(Square(4.0), hush.Sensitivity(linf=1.0, dimension=3))


@pytest.mark.parametrize("mode", ["nonadaptive", "adaptive"])
def test_a_ledger_charges_it_and_a_statement_reports_it(tmp_path: Path, mode: str) -> None:
    path = tmp_path / "joint.ledger"
    mechanism = hush.Mechanism(Square(4.0), BOX, 1.0, integers=True, coordinates=2)
    with hush.Ledger(path, epsilon=3.0, delta=1e-6, mode=mode) as ledger:
        made = hush.release(np.array([120, 80]), mechanism, ledger=ledger, label="two counts")
        assert made.value.shape == (2,) and made.receipt.charges == (mechanism.charge,)
    with hush.Ledger(path) as again:
        again.verify()
        assert again.entries[0].charges[0].noise == Square(4.0)
    page = str(statement(path))
    assert "Square(scale=4.0)" in page and "the theorem of the noise" in page
    assert "Square" in str(hush.report.statement(made)) and made.error.half_width95 < 40
    assert hush.Release.from_json(made.to_json()).receipt == made.receipt
    assert "@misc{hush" in hush.cite(Square(4.0))


def test_the_intervals_of_the_marginal_contain_the_truth() -> None:
    """95 % intervals of 4,000 joint draws miss no more often than allowed (false-alarm rate below 1e-6)."""
    payment = hush.unaccounted(hush.Charge(Square(4.0), BOX, times=4000))
    mechanism = hush.Mechanism(Square(4.0), BOX, 1.0, integers=True, coordinates=2)
    drawn = payment.open(mechanism).add(np.zeros((4000, 2), dtype=np.int64))
    half = hush.release(np.array([0, 0]), mechanism, ledger=None).error.half_width95
    missed = float((np.abs(drawn) > half).mean())
    assert missed < 0.05 + 5.0 * math.sqrt(0.05 * 0.95 / 4000)  # the two numbers of a draw depend on each other


def test_a_sample_of_joint_noise_has_the_curve_of_all_numbers() -> None:
    """The unchanged number reveals something about the noise of the other: the curve of the marginal is too small. With
    rate q, delta at epsilon is q times the delta of the release at log(1 + (e^epsilon - 1)/q).
    """
    rate, epsilon = 0.5, 0.5
    inner = math.log1p(math.expm1(epsilon) / rate)
    found = hush.compose([hush.Charge(Square(1.0), BOX, rate=rate)]).delta(epsilon)
    joint = rate * float(hush.compose([hush.Charge(Square(1.0), BOX)]).delta(inner))
    assert found == pytest.approx(joint, rel=1e-6)


@pytest.mark.parametrize("facts", [{"linf": (1.0, 1.0, 1.0)}, {"linf": 1.0, "l0": 5}, {"linf": 1.0, "dimension": 3}])
def test_a_sensitivity_of_more_numbers_is_refused(facts: dict[str, Any]) -> None:
    with pytest.raises(hush.InvalidParameter, match="noise is for 2 numbers"):
        hush.Charge(Square(1.0), hush.Sensitivity(**facts))
