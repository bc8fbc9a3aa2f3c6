"""`hush.check`: sound classes pass, and every kind of slip in a class is noticed."""

from __future__ import annotations

import dataclasses
from dataclasses import dataclass
from typing import Any

import numpy as np
import pytest

import hush
from hush.auditing.joint_check import joint_rows
from hush.noise.catalogue import families

SOUND = [
    hush.Gaussian(0.3),
    hush.Laplace(30.0),
    hush.FlippedHuber(2.0, 1.0),
    hush.TruncatedLaplace(1.0, 0.4),
    hush.Staircase(0.3, 2.0, 0.2),
    hush.Stepped(0.25, (5.0, 3.0, 3.0, 1.0), ratio=0.5, period=3),
    hush.Stepped(1.0, (1.0, 2.0)),
    hush.Stable(1.0, 1.0),
    hush.Discrete(hush.OSGT(3.0, 6.0)),
    hush.Skellam(3.0, step=0.5),
]


@pytest.mark.parametrize("noise", SOUND, ids=str)
def test_sound_noises_pass(noise: hush.Law) -> None:
    found = hush.check(noise)
    assert found.passed, str(found)
    assert found.must_pass() is found and "all checks passed" in str(found)


@pytest.mark.parametrize("name", ["laplace", "staircase", "skellam"])
def test_a_registered_class_is_checked_by_its_reference(name: str) -> None:
    row = next(row for row in families() if row.name == name)
    found = hush.check(row.type)
    assert found.passed and found.rows[-1].name == "reference"


@dataclass(frozen=True)
class Slip(hush.Laplace):
    """A Laplace class with one thing wrong."""

    @property
    def unit(self) -> float:
        return self.scale


def wrong(**changes: Any) -> hush.Law:
    return type("Slip", (Slip,), changes)(2.0)


SLIPS = {
    "density": {"log_density": lambda self, x: hush.Laplace.log_density(self, x) + 1e-5},
    "symmetry": {"log_density": lambda self, x: hush.Laplace.log_density(self, x) + 1e-6 * np.tanh(x)},
    "tail": {"log_tail": lambda self, x: hush.Laplace.log_tail(self, x) - 1e-5 * x},
    "inverse tail": {"inverse_tail": lambda self, v: hush.Laplace.inverse_tail(self, v) * (1.0 + 1e-5)},
    "variance": {"variance": property(lambda self: 2.00001 * self.scale**2)},
    "mean_abs": {"mean_abs": property(lambda self: 0.99999 * self.scale)},
    "fisher_information": {"fisher_information": property(lambda self: 1.00001 / self.scale**2)},
    "divergence": {"surplus": lambda self, *given: hush.Laplace.surplus(self, *given) * (1.0 - 1e-5)},
    "max_loss": {"max_loss": lambda self, shift: 0.999 * shift / self.scale},
    "worst shift": {"worst_shifts": lambda self, shift: (0.5 * shift,)},
    "scaled": {"scaled": lambda self, k: dataclasses.replace(self, scale=self.scale * k * 1.00001)},
}


@pytest.mark.parametrize("name", SLIPS)
def test_every_slip_is_noticed(name: str) -> None:
    found = hush.check(wrong(**SLIPS[name]))
    assert name in {row.name for row in found.rows if row.state == "wrong"}, str(found)
    with pytest.raises(hush.NotCertified, match="does not agree with its density"):
        found.must_pass()


def test_a_class_that_raises_is_wrong_and_raises_nothing() -> None:
    def broken(self: Any, *given: Any) -> Any:
        raise ZeroDivisionError("no")

    assert not hush.check(wrong(log_density=broken)).passed
    assert not hush.check(wrong(inverse_tail=broken)).passed


def test_an_unregistered_class_is_told_what_is_missing() -> None:
    rows = {row.name: row for row in hush.check(Slip(2.0)).rows}
    assert rows["registered"].state == "absent" and "hush.register" in rows["registered"].detail


@pytest.mark.parametrize("given", [3, "laplace", Slip, None])
def test_other_things_are_refused(given: Any) -> None:
    with pytest.raises(hush.InvalidParameter, match="check takes a noise"):
        hush.check(given)


# -- joint noises --------------------------------------------------------------------------------------------


@dataclass(frozen=True)
class Twins(hush.Noise):
    """Three Gaussian numbers: the noise of two is independent, the third is their sum."""

    sigma: float
    #: the truth for the draws; another value makes the class wrong
    drawn: float = 1.0
    dimension = 3

    @property
    def marginal(self) -> hush.Law:
        return hush.Gaussian(self.sigma)

    @property
    def covariance(self) -> Any:
        half = 0.5**0.5
        return self.sigma**2 * np.array([[1.0, 0.0, half], [0.0, 1.0, half], [half, half, 1.0]])

    def scaled(self, k: float) -> Twins:
        return dataclasses.replace(self, sigma=self.sigma * k)

    def pair(self, sensitivity: Any) -> Any:
        return hush.curve(hush.Gaussian(self.sigma), 1.0) if sensitivity.l2 is not None else None

    def lattice_draws(self, bits: Any, count: int, step: float) -> Any:
        from hush.sampling.exact import draw_from

        two = draw_from(bits, hush.Gaussian(self.sigma * self.drawn), 2 * count, step).reshape(count, 2)
        third = np.rint(two.sum(axis=1) * 0.5**0.5).astype(np.int64)
        return np.column_stack([two, third])


def test_a_joint_noise_is_drawn_as_rows_and_checked() -> None:
    """False alarms 1e-6; two thirds and three halves of the scale are refused by both comparisons."""
    noise = Twins(5.0)
    sample = hush.draw(noise, (4, 5), step=0.5)
    assert sample.shape == (4, 5, 3) and sample.dtype == np.int64
    found = hush.check(noise)
    assert found.passed, str(found)
    assert {row.name for row in found.rows} >= {"covariance", "marginal", "scaled", "pair"}
    for factor in (2.0 / 3.0, 3.0 / 2.0):
        states = {name: state for name, state, _ in joint_rows(Twins(5.0, factor))}
        assert states["covariance"] == states["marginal"] == "wrong"


@pytest.mark.parametrize(
    "answer",
    [np.zeros((7, 3)), np.zeros((7, 2), dtype=np.int64), np.full((7, 3), 1 << 62, dtype=np.int64) + 1, [[0, 0, 0]] * 7],
)
def test_draws_of_the_wrong_shape_or_kind_are_refused(answer: Any) -> None:
    noise = type("Odd", (Twins,), {"lattice_draws": lambda self, bits, count, step: answer})(1.0)
    with pytest.raises(hush.NotCertified, match="nothing was drawn"):
        hush.draw(noise, 7)


@pytest.mark.parametrize(
    "noise", [hush.Cube(4, 2.0), hush.Interval(4, 2.0, 3.0), hush.Interval(3, 1.0, 1.0, step=0.25)]
)
def test_our_joint_noises_pass(noise: hush.Noise) -> None:
    found = hush.check(noise)
    states = {row.name: row.state for row in found.rows}
    assert found.passed, str(found)
    assert states["joint density"] == states["reach"] == "ok"


class WrongDensity(hush.Cube):
    """The density of a cube of another scale."""

    def log_density_of(self, vectors: Any) -> Any:
        return hush.Cube(self.dimension, 1.5 * self.scale).log_density_of(vectors)


class WrongReach(hush.Cube):
    """Widths of a cube of 2/3 of the scale."""

    def reach_of_all(self, probability: float) -> Any:
        return hush.Cube(self.dimension, self.scale / 1.5).reach_of_all(probability)


@pytest.mark.parametrize(("kind", "name"), [(WrongDensity, "joint density"), (WrongReach, "reach")])
def test_a_joint_noise_with_a_slip_is_noticed(kind: Any, name: str) -> None:
    states = {row: state for row, state, _ in joint_rows(kind(4, 2.0))}
    assert states[name] == "wrong" and states["covariance"] == "ok"
