"""CalibrationRequest: a budget, a sensitivity, a number of releases and the loss to minimise."""

from __future__ import annotations

import contextlib
import dataclasses
import math
from collections.abc import Callable
from dataclasses import dataclass, field
from fractions import Fraction
from functools import lru_cache
from typing import Any

import numpy as np

from hush.calibration import scale, shape
from hush.calibration.estimate import Estimate
from hush.calibration.scale import FINE
from hush.errors import Unsupported
from hush.noise.contract import Law, Noise
from hush.noise.discrete import Discrete
from hush.noise.family import Family
from hush.privacy import gaussian
from hush.privacy.charge import Charge
from hush.privacy.compose import compose, curve
from hush.privacy.composed_curve import Composed
from hush.privacy.curve import OneNumber
from hush.privacy.sensitivity import Sensitivity
from hush.privacy.theorem import pure_epsilon

__all__ = ["FINE", "LOSSES", "VALUES", "CalibrationRequest", "average", "half_width"]

#: The kinds of answers that `calibrate` and `limit` distinguish.
VALUES = ("real", "integer")


Weights = tuple[float, ...]
_TYPICAL_LAPLACE = -math.log(0.3)  # the 85 % quantile of Laplace noise of scale 1


def half_width(noise: Noise, outside: float, weights: Weights = ()) -> float:
    """Half the width of the interval that contains the noise of one number with probability 1 - outside."""
    return average(noise, lambda law: float(np.asarray(law.isf(0.5 * outside))), weights)


def average(noise: Noise, number: Callable[[Law], float], weights: Weights = ()) -> float:
    """The average over the numbers of a noise of something that their laws have, with these weights."""
    if noise.dimension is None:
        return number(noise.marginal)
    shares: dict[Law, float] = {}
    for place, share in enumerate(weights or (1.0,) * noise.dimension):
        law = noise.marginal_of(place)
        shares[law] = shares.get(law, 0.0) + share
    return math.fsum(share * number(law) for law, share in shares.items()) / math.fsum(shares.values())


def _mean_variance(noise: Noise, weights: Weights = ()) -> float:
    each = np.asarray(noise.variance, dtype=np.float64)
    return float(np.average(each, weights=weights or None)) if each.size > 1 else float(each.mean())


#: The losses that a calibration can minimise, averages over the numbers with given weights. The percentiles are half
#: widths of intervals.
LOSSES: dict[str, Callable[..., float]] = {
    "variance": _mean_variance,
    "mae": lambda noise, weights=(): average(noise, lambda law: law.mean_abs, weights),
    "p95": lambda noise, weights=(): half_width(noise, 0.05, weights),
    "p999": lambda noise, weights=(): half_width(noise, 0.001, weights),
}


@lru_cache(maxsize=256)  # the rules of several families ask about the same Laplace and Gaussian noise
def _delta(
    noise: Noise, bound: Sensitivity, times: int, epsilon: float, relative: float, rate: float | None = None
) -> float:
    """The delta of a noise, composed on a grid of this width where several numbers move."""
    if rate is not None:
        return float(np.asarray(compose([Charge(noise, bound, times=times, rate=rate)]).delta(epsilon)))
    if bound.is_box and isinstance(noise, Law) and not noise.isotropic:
        parts = tuple((OneNumber(noise, shift), count * times) for shift, count in bound.shifts)
        alone = len(parts) == 1 and parts[0][1] == 1
        released: Any = parts[0][0] if alone else Composed(parts, relative)
    else:
        released = curve(noise, bound, times=times)
    return float(np.asarray(released.delta(epsilon)))


@lru_cache(maxsize=64)  # the rules of all families start from the Gaussian noise
def _sigma(epsilon: float, delta: float, reach: float, method: str = "optimal") -> float:
    return float(np.asarray(gaussian.sigma(epsilon, delta, reach, method=method)))


@dataclass(frozen=True)
class CalibrationRequest:
    """A budget, a sensitivity, a number of releases, a loss, and perhaps a lattice. It implements the `Request` that
    the calibration rules of families receive.
    """

    epsilon: float
    delta: float
    bound: Sensitivity
    times: int
    loss: str
    step: float | None
    notion: str = "dp"
    #: The weight of each number in the loss; empty if all count the same.
    weights: Weights = ()
    #: The rate of a Poisson sample on which each release is made; None for releases on all people.
    rate: float | None = None
    #: The least loss so far, if all families are compared: one with far more loss need not be calibrated.
    rival: float | None = field(default=None, compare=False)

    @property
    def power(self) -> int:
        """The loss of k X is k to this power times that of X."""
        return 2 if self.loss == "variance" else 1

    @property
    def count(self) -> int:
        """How many one-dimensional releases a box is equal to."""
        return (self.bound.moving or 1) * self.times

    @property
    def of_one_group(self) -> CalibrationRequest:
        """The request for joint noise: one draw for each group, so every group that a person moves is a release."""
        groups = 1 if self.bound.columns is None else self.bound.l0 or 1
        return dataclasses.replace(self, bound=self.bound.of_one_group, times=self.times * groups)

    @property
    def plain(self) -> bool:
        """Do all coordinates have the same shift?"""
        if self.bound.columns is not None:
            return len(set(self.bound.columns)) == 1
        return self.bound.is_box and not isinstance(self.bound.linf, tuple)

    @property
    def shift(self) -> float:
        assert self.plain
        return self.bound.each_move[0]

    def value(self, noise: Noise) -> float:
        return LOSSES[self.loss](noise, self.weights)

    def on_lattice(self, noise: Law) -> Law:
        return noise if self.step is None else Discrete(noise, self.step)

    def off_lattice(self) -> CalibrationRequest:
        """The same request without a lattice."""
        return dataclasses.replace(self, step=None)

    def excess(self, noise: Noise, relative: float | None = None) -> float:
        """log(delta/target), or log(pure epsilon/target) for delta = 0. At most 0 means private."""
        noise = noise.plain()
        if self.delta == 0.0:
            return self._pure_excess(noise)
        got = _delta(noise, self.bound, self.times, self.epsilon, FINE if relative is None else relative, self.rate)
        return math.log(got / self.delta) if got > 0.0 else -60.0

    def _pure_excess(self, noise: Noise) -> float:
        """The same for delta = 0, in exact numbers: at most 0 only if the pure epsilon is at most the target."""
        one = pure_epsilon(Charge(noise, self.bound, rate=self.rate))
        if one is None:
            raise Unsupported("no pure epsilon")
        total, target = one * self.times, Fraction(self.epsilon)
        ratio = math.log(total / target) if total > 0 else -60.0
        return min(ratio, 0.0) if total <= target else max(ratio, 5e-324)

    def estimate(self, noise: Law) -> float:
        """About the same without a certificate, where `shape.estimates` allows it."""
        if not shape.estimates(self):
            return self.excess(noise)
        parts = tuple((shift, count * self.times) for shift, count in self.bound.shifts)
        return Estimate(noise, self.epsilon, self.delta, parts).excess(0.0)

    def meets(self, noise: Noise) -> bool:
        return self.excess(noise) <= 0.0

    # -- for the calibration rules of families ---------------------------------------------------------------

    def gaussian_sigma(self) -> float:
        """The least standard deviation of Gaussian noise."""
        reach = self.bound.l2_bound * math.sqrt(self.times)
        method = "pdp_optimal" if self.notion == "pdp" else "optimal"
        return _sigma(self.epsilon, self.delta, reach, method)

    @property
    def rough_size(self) -> float:
        """A first guess of the size of the noise: the smaller of the Gaussian and the pure Laplace."""
        sizes = []
        if self.delta > 0.0:
            reach = self.bound.l2_bound * math.sqrt(self.times)
            sizes.append(_sigma(self.epsilon, self.delta, reach))
        if self.bound.is_box:
            total = math.fsum(shift * count for shift, count in self.bound.shifts) * self.times
            sizes.append(total / self.epsilon * _TYPICAL_LAPLACE)
        return min(sizes) if sizes else self.bound.l2_bound * self.times / self.epsilon

    @property
    def regime(self) -> float:
        """r = variance of the pure Laplace noise over that of the Gaussian. The best shape depends on little else."""
        if self.delta == 0.0 or not self.plain:
            return 1.0
        sigma = _sigma(self.epsilon, self.delta, 1.0)
        return 2.0 * (self.count / self.epsilon) ** 2 / (self.count * sigma * sigma)

    def least(
        self, noise_at: Callable[[float], Law], start: float, *, tolerance: float, relative: float | None = None
    ) -> Law:
        """See `scale.least`. For several numbers with the same bound, an estimate moves the start to the root first."""
        like: scale.Seen = []
        alike = self.count > 1 and shape.estimates(self) and len(self.bound.shifts) == 1
        if alike and isinstance(noise_at(start), Law):
            with contextlib.suppress(Unsupported):
                start = scale.private_end(lambda x: self.estimate(noise_at(x)), start, tolerance=1e-6, like=like)
        grid = FINE if relative is None else relative
        return scale.least(self, noise_at, start, relative=grid, tolerance=tolerance, like=like)

    def at_scale(self, unit: Law, guess: float, *, fine: bool = True) -> Law:
        """See `scale.at_scale`."""
        return scale.at_scale(self, unit, guess, fine=fine)

    def search(self, family: Family) -> Law:
        """See `shape.search`."""
        return shape.search(self, family)

    def limits(self, family: Family) -> list[Law]:
        """See `shape.limits`."""
        return shape.limits(self, family)
