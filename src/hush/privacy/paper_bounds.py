"""Bounds that papers state for their noise: Renyi divergences, and curves of vectors under an l2 bound."""

from __future__ import annotations

import math
from dataclasses import dataclass

import numpy as np
from numpy.typing import NDArray

from hush.errors import positive, reject, whole
from hush.noise.flipped_huber import FlippedHuber
from hush.noise.osgt import OSGT
from hush.numerics import special
from hush.numerics.bracket import Bracket
from hush.numerics.rounding import CONVERSION, ELEMENTARY, FEW_ROUNDINGS, TWO_TAILS, UNIT, up
from hush.privacy.conversion import best_delta, check_order
from hush.privacy.curve import Curve

__all__ = ["FlippedHuberTheorem8", "OSGTTheorem2", "flipped_huber_theorem9", "osgt_appendix_e", "osgt_theorem2"]

Array = NDArray[np.float64]


def _expect(noise: object, family: type) -> None:
    if not isinstance(noise, family):
        raise reject(
            "noise",
            noise,
            f"{family.__name__} noise",
            f"write {family.__name__}(...): the theorem covers only this noise",
        )


def osgt_appendix_e(noise: OSGT, order: float, sensitivity: float = 1.0) -> float:
    """The closed form of OSGT paper, Appendix E: three normal integrals, in log space. `renyi` gives the same number
    and is also accurate near order 1.
    """
    _expect(noise, OSGT)
    order, shift = check_order(order), positive("sensitivity", sensitivity)
    if order == 1.0:
        raise reject("order", order, "greater than 1 in Appendix E", "use renyi(noise, 1.0)")
    m, s = noise.m, noise.sigma
    b3 = order * shift - m * (1.0 - 2.0 * order)
    grown = order * (order - 1.0) * (4.0 * m * shift + 4.0 * m * m) / (2.0 * s * s)
    low, high = float(special.log_ndtr(-(b3 - shift) / s)), float(special.log_ndtr(-b3 / s))
    middle = grown + low + math.log(-math.expm1(high - low))
    parts = [
        float(special.log_ndtr((-m + (order - 1.0) * shift) / s)),
        float(special.log_ndtr((-m - order * shift) / s)),
        middle,
    ]
    total = float(np.logaddexp.reduce(parts)) - math.log(2.0) - float(special.log_ndtr(-m / s))
    return order * shift * shift / (2.0 * s * s) + total / (order - 1.0)


def osgt_theorem2(noise: OSGT, order: float, l2: float = 1.0, *, k: int = 1) -> float:
    """The k-dimensional bound D <= zeta + order rho of OSGT paper, Theorem 2, for any direction of a shift of l2 norm
    at most `l2`.

    rho = l2^2/(2 sigma^2), zeta = k log((1 - Q)/Q)/(order - 1), Q = Q(m/sigma). zeta depends on the order, so this is
    a Renyi bound and not a (zeta, rho)-zCDP statement (erratum B.2.2).
    """
    _expect(noise, OSGT)
    order, l2, k = check_order(order), positive("l2", l2), whole("k", k)
    if order == 1.0:
        return math.inf
    r = noise.m / noise.sigma
    # log((1 - Q)/Q) = 2 artanh(1 - 2 Q): for small r a difference of logarithms would lose its digits
    odds = (
        2.0 * math.atanh(math.erf(r / math.sqrt(2.0)))
        if r < 0.5
        else float(special.log_ndtr(r)) - float(special.log_ndtr(-r))
    )
    zeta = k / (order - 1.0) * odds
    return up(zeta + order * l2 * l2 / (2.0 * noise.sigma**2), ELEMENTARY)


def flipped_huber_theorem9(noise: FlippedHuber, order: float, sensitivity: float = 1.0) -> float:
    """The bound xi + order eta of FH paper, Theorem 9.

    xi = R/(2 gamma^2), eta = Delta^2/(2 gamma^2), R = alpha^2 - max(alpha - Delta, 0)^2. Both are constants: it is
    (xi, eta)-zCDP.
    """
    _expect(noise, FlippedHuber)
    order, shift = check_order(order), positive("sensitivity", sensitivity)
    short = max(noise.alpha - shift, 0.0)
    spread = min(noise.alpha, shift) * (noise.alpha + short)  # alpha - short would have the rounding error of short
    return up((spread + order * shift * shift) / (2.0 * noise.gamma**2), FEW_ROUNDINGS)


@dataclass(frozen=True)
class OSGTTheorem2(Curve):
    """K coordinates of OSGT noise, moved by at most `l2` in any direction: the Renyi bound of OSGT paper, Theorem 2,
    by eq. (20).
    """

    noise: OSGT
    l2: float
    coordinates: int

    def _forward(self, epsilon: Array) -> Bracket:
        def divergence(order: float) -> float:
            return osgt_theorem2(self.noise, order, self.l2, k=self.coordinates)

        flat = np.asarray(epsilon, dtype=np.float64)
        upper = np.array([min(best_delta(divergence, float(e)), 1.0) for e in flat.ravel()]).reshape(flat.shape)
        return Bracket(np.zeros_like(upper), np.minimum(up(upper, CONVERSION) + 5e-324, 1.0))


@dataclass(frozen=True)
class FlippedHuberTheorem8(Curve):
    """K coordinates of flipped Huber noise, moved by at most `l2`: FH paper, Theorem 8, with linf <= l2 and l1 <=
    sqrt(K) l2.

    The bound grows with the l2 norm only while gamma eps - K R/(2 gamma) >= l2 (erratum A5); below that epsilon
    there is no bound and delta is 1.
    """

    noise: FlippedHuber
    l2: float
    coordinates: int

    def _forward(self, epsilon: Array) -> Bracket:
        gamma, alpha, k = self.noise.gamma, self.noise.alpha, self.coordinates
        epsilon = np.asarray(epsilon, dtype=np.float64)
        short = max(alpha - self.l2, 0.0)
        spread = k * min(alpha, self.l2) * (alpha + short)  # K R; alpha - short would have the rounding error of short
        excess = gamma * epsilon - spread / (2.0 * gamma)
        held = (excess >= self.l2) & (excess >= self.l2**2 / (2.0 * gamma))
        near = excess / self.l2 - self.l2 / (2.0 * gamma)
        far = gamma * epsilon / self.l2 + self.l2 / (2.0 * gamma) + spread / (2.0 * gamma * self.l2)
        far = far + self.noise.theta * math.sqrt(k) / gamma
        first, second = special.log_ndtr(-near), epsilon + special.log_ndtr(-far)
        with np.errstate(under="ignore"):
            value = np.exp(first) * -np.expm1(np.minimum(second - first, 0.0))
            # near and far have an error of a few units of the larger, and exponents that times themselves; this matters
            # where tails cancel
            error = 8.0 * UNIT * (1.0 + far) * ((1.0 + np.abs(near)) * np.exp(first) + (1.0 + far) * np.exp(second))
        upper = np.where(held, np.minimum(up(value, TWO_TAILS) + error + 5e-324, 1.0), 1.0)
        return Bracket(np.zeros_like(upper), upper)
