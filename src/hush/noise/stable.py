"""The symmetric alpha-stable law. It has a pure epsilon, and sums of independent noises are of the same family.

Lengths are in units of gamma, measured to the left: y = -x/gamma, s = shift/gamma. The privacy loss is an integral of
the score,

    M(y) = log p(y)/p(y + s) = integral over (|y|, y + s) of -p'/p,     y > -s/2.

It rises from 0 at y = -s/2 to one maximum and falls back to 0 as y grows, so it exceeds epsilon on a bounded interval.
The numerics are in stable_density.py (density and tail) and stable_loss.py (loss).
"""

from __future__ import annotations

import math
from dataclasses import dataclass
from fractions import Fraction
from typing import Any, ClassVar

import numpy as np
from numpy.typing import NDArray

from hush.errors import epsilons, positive, reals, reject, within
from hush.noise.contract import Law
from hush.noise.divisible import scale_of
from hush.noise.family import Family, Reference, Shape, TwoUniforms
from hush.noise.gaussian import Gaussian
from hush.noise.region import Region
from hush.noise.stable_density import law
from hush.noise.stable_exact import tail, two_uniforms
from hush.noise.stable_loss import information, largest_loss, loss, nodes_between, peak_of_score
from hush.numerics.bracket import unwrap
from hush.numerics.root import ridders
from hush.numerics.rounding import FEW_ROUNDINGS, POWER, STABLE_LOSS, SUPREMUM, down, up

__all__ = ["FAMILY", "Stable"]

Array = NDArray[np.float64]

#: Roots are sought for losses of at least this size: smaller ones have no quotient. It changes a delta by as little.
_LEAST_LOSS = 1e-290
_PLAIN = 0.02  # a difference of tails is used directly if it is at least this fraction of the larger one


@dataclass(frozen=True)
class Stable(Law):
    """The symmetric alpha-stable law, 1 <= alpha <= 2, gamma > 0: characteristic function exp(-|gamma t|^alpha).

    alpha = 1 is the Cauchy law and alpha = 2 the Gaussian with sigma = gamma sqrt 2. The sum of n independent copies is
    n^(1/alpha) times one of them (SaS paper, Lemma V.1).

    Guarantees: for alpha < 2 pure privacy with epsilon = sup_y M(y) (SaS paper, Theorem IV.4, which proves it finite);
    E|X| = 2 gamma Gamma(1 - 1/alpha)/pi (Theorem V.2). Density, tail and score have a relative error below 1e-13 from
    the centre to x = 1e300.

    >>> round(Stable(1.0, 1.0).max_loss(1.0), 12)      # 2 asinh(1/2)
    0.962423650119
    """

    alpha: float
    gamma: float

    relative_error: ClassVar[float] = 1e-11  # for epsilon up to 0.999 of max_loss; see surplus

    def __post_init__(self) -> None:
        object.__setattr__(self, "alpha", within("alpha", self.alpha, 1.0, 2.0, "write Stable(1.7, 1.0)"))
        object.__setattr__(self, "gamma", positive("gamma", self.gamma, "write Stable(1.7, 1.0)"))

    @property
    def _gaussian(self) -> Gaussian | None:
        return Gaussian(self.gamma * math.sqrt(2.0)) if self.alpha == 2.0 else None

    def in_units(self, x: Array) -> Array:
        with np.errstate(over="ignore", under="ignore"):
            return np.abs(x) / self.gamma

    def log_density(self, x: Array) -> Array:
        if self._gaussian:
            return self._gaussian.log_density(x)
        return law(self.alpha).log_density(self.in_units(x)) - math.log(self.gamma)

    def log_tail(self, x: Array) -> Array:
        if self._gaussian:
            return self._gaussian.log_tail(x)
        return law(self.alpha).log_tail(self.in_units(x))

    def inverse_tail(self, v: Array) -> Array:
        if self._gaussian:
            return self._gaussian.inverse_tail(v)
        with np.errstate(over="ignore", under="ignore"):
            return law(self.alpha).quantile(np.asarray(v, dtype=np.float64)) * self.gamma

    def score(self, x: Any) -> Any:
        """Return -p'(x)/p(x), an odd function.

        >>> Stable(1.0, 2.0).score(2.0)                # 2 x/(gamma^2 + x^2)
        0.5
        """
        x = reals("x", x)
        if self.alpha == 2.0:
            return unwrap(x / self.gamma / (2.0 * self.gamma))
        return unwrap(np.copysign(law(self.alpha).score(self.in_units(x)) / self.gamma, x))

    @property
    def variance(self) -> float:
        return self._gaussian.variance if self._gaussian else math.inf

    @property
    def mean_abs(self) -> float:
        """2 gamma Gamma(1 - 1/alpha)/pi, infinite at alpha = 1 (SaS paper, Theorem V.2, eq. (35))."""
        return (
            math.inf if self.alpha == 1.0 else 2.0 * self.gamma * math.gamma((self.alpha - 1.0) / self.alpha) / math.pi
        )

    @property
    def fisher_information(self) -> float:
        """E (p'/p)^2: 1/(2 gamma^2) for alpha = 1 and alpha = 2, slightly less between."""
        return (0.5 if self.alpha in (1.0, 2.0) else information(self.alpha)) / self.gamma**2

    @property
    def subgaussian_proxy(self) -> float:
        return self._gaussian.subgaussian_proxy if self._gaussian else math.inf

    def plain(self) -> Law:
        return self._gaussian or self

    @property
    def slow_tail(self) -> bool:
        return self.alpha > 1.0

    def scaled(self, k: float) -> Stable:
        return self.scaled_by(k, "gamma")

    @property
    def stability(self) -> tuple[float, float]:
        return self.alpha, self.gamma

    def power(self, ratio: Fraction, *, upwards: bool = True) -> Stable:
        return Stable(self.alpha, scale_of(self.gamma * float(ratio) ** (1.0 / self.alpha), POWER, upwards=upwards))

    def sup_score(self) -> float:
        """Return sup |p'/p|, rounded up: the slope of `max_loss` at shift 0, infinite at alpha = 2.

        >>> round(Stable(1.0, 0.5).sup_score(), 9)
        2.0
        """
        return math.inf if self.alpha == 2.0 else up(peak_of_score(self.alpha)[1] / self.gamma, SUPREMUM)

    def max_loss(self, shift: float) -> float:
        """Return sup M, rounded up: the pure epsilon of SaS paper, Theorem IV.4.

        It is 2 asinh(s/2) at alpha = 1, and infinite at alpha = 2.
        """
        s = positive("shift", shift) / self.gamma
        if self.alpha == 2.0:
            return math.inf
        if self.alpha == 1.0:
            return up(2.0 * math.asinh(0.5 * s), FEW_ROUNDINGS)
        return up(largest_loss(self.alpha, s)[1], SUPREMUM)

    def exceeds(self, epsilon: Any, shift: float) -> Region:
        epsilon = epsilons("epsilon", epsilon)
        if (epsilon < 0.0).any():
            raise reject("epsilon", epsilon, "0 or greater", "use hush.curve for a negative epsilon")
        shift = positive("shift", shift)
        if self._gaussian:
            return self._gaussian.exceeds(epsilon, shift)
        s = shift / self.gamma
        near, far = np.zeros(epsilon.shape), np.zeros(epsilon.shape)  # equal ends mean an empty interval
        inside = (epsilon > 0.0) & (epsilon < self.max_loss(shift))
        if inside.any():
            near[inside], far[inside] = (self._quadratic if self.alpha == 1.0 else self._ends)(epsilon[inside], s)
        with np.errstate(over="ignore"):
            lower = np.where(epsilon == 0.0, -np.inf, -far * self.gamma)
        return Region(lower[..., None], np.where(epsilon == 0.0, 0.5 * shift, -near * self.gamma)[..., None])

    @staticmethod
    def _quadratic(epsilon: Array, s: float) -> tuple[Array, Array]:
        """Return the y with M(y) = epsilon at alpha = 1, the roots of k y^2 - 2 s y + k - s^2 = 0, k = e^eps - 1."""
        k = np.expm1(epsilon)
        root = np.sqrt(np.maximum((s - k) * (s + k) + k * s * s, 0.0))
        far = (s + root) / k
        return (k - s * s) / (s + root), far

    def _ends(self, epsilon: Array, s: float) -> tuple[Array, Array]:
        """Return the two y with M(y) = epsilon."""
        alpha = self.alpha
        top, most = largest_loss(alpha, s)
        epsilon = np.minimum(np.maximum(down(epsilon, STABLE_LOSS), _LEAST_LOSS), most)
        with np.errstate(over="ignore"):
            reach = np.minimum(top + peak_of_score(alpha)[2] * s / epsilon + 1.0, 1e300)  # M(y) <= s/y sup(y score)
        start = np.full_like(epsilon, -0.5 * s)
        near = ridders(lambda y: loss(alpha, y, s) / epsilon - 1.0, start, np.full_like(epsilon, top))
        level, first = np.log(epsilon), np.full_like(epsilon, math.log1p(top))
        far = ridders(lambda w: np.log(loss(alpha, np.expm1(w), s)) - level, first, np.log1p(reach))
        return near, np.expm1(far)

    def error_at(self, epsilon: Array, shift: float) -> Array:
        """Return `relative_error` up to 0.999 of the pure epsilon; beyond, 1: the value is an upper bound only."""
        return np.where(epsilon <= 0.999 * self.max_loss(shift), self.relative_error, 1.0)

    def surplus(self, region: Region, epsilon: Array, shift: float) -> Array:
        """Return the sum of P(I) - e^epsilon P(I - shift) over the intervals I.

        Where few digits cancel, it is computed as a difference of tails. Elsewhere it is computed as the integral of
        p(y) (1 - e^(epsilon - M(y))) on graded panels.

        Guarantees: the relative error is at most `relative_error` for epsilon up to 0.999 max_loss. For larger epsilon,
        delta falls like (max_loss - epsilon)^(3/2), and M has an error of 5e-15. So epsilon is lowered by that error
        first. The result is an upper bound on delta, too large by 1e-14 epsilon/(max_loss - epsilon).
        """
        if self._gaussian:
            return self._gaussian.surplus(region, epsilon, shift)
        s = shift / self.gamma
        low, high, epsilon = np.broadcast_arrays(
            -region.upper / self.gamma, -region.lower / self.gamma, np.asarray(epsilon, dtype=np.float64)[..., None]
        )
        filled = low < high
        raised = np.exp(np.where(filled, epsilon, 0.0))
        left, right = self._tail(low), raised * self._tail(low + s)
        total = np.where(filled, left - self._tail(high) - (right - raised * self._tail(high + s)), 0.0)
        for index in zip(*np.nonzero(filled & (total < _PLAIN * np.maximum(left, right))), strict=True):
            total[index] = self._by_panels(float(low[index]), float(high[index]), float(epsilon[index]), s)
        return (total * region.weight).sum(axis=-1)

    def _tail(self, y: Array) -> Array:
        with np.errstate(under="ignore"):
            beyond = np.exp(law(self.alpha).log_tail(np.abs(y)))
        return np.where(y >= 0.0, beyond, 1.0 - beyond)

    def _by_panels(self, low: float, high: float, epsilon: float, s: float) -> float:
        high = min(high, 1e9 * max(1.0, s))  # the integrand falls like y^(-2-alpha): the omitted part is below 1e-18
        y, weight = nodes_between(low, high)
        with np.errstate(under="ignore"):
            share = -np.expm1(down(epsilon, STABLE_LOSS) - loss(self.alpha, y, s))
            return float(np.sum(weight * np.exp(law(self.alpha).log_density(np.abs(y))) * np.maximum(share, 0.0)))


def _two_uniforms(noise: Stable) -> TwoUniforms:
    return TwoUniforms(noise.gamma, *two_uniforms(noise.alpha))


FAMILY = Family(
    "stable",
    Stable,
    paper="Zawacki and Abed 2023",
    vectors=False,
    cites=("zawacki2023",),
    shape=Shape(lambda a: Stable(a, 1.0), 1.05, 1.98, 0.08, lambda r: 1.7, logarithmic=False, least_regime=0.9),
    tail=lambda noise: tail(noise.alpha, noise.gamma),
    two_uniforms=_two_uniforms,
    reference=Reference(Stable(1.0, 1.0), 0.5, 0.11907165294524971),
)
