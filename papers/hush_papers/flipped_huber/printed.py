"""The flipped Huber paper's formulas as printed, for comparison with hush's numbers only."""

from __future__ import annotations

import math
from typing import Any

import numpy as np
from numpy.typing import NDArray

from hush import OSGT, FlippedHuber, Gaussian

__all__ = [
    "cdf",
    "fisher",
    "inverse_loss",
    "loss",
    "loss_bound",
    "mgf",
    "omega",
    "osgt_profile",
    "profile",
    "quantile",
    "theorem8",
    "variance",
]

Array = NDArray[np.float64]
_UNIT = Gaussian(1.0)


def _q(x: Any) -> float:
    return float(_UNIT.sf(x))


def omega(a: float, g: float) -> float:
    """(9)."""
    return 2.0 * (math.sqrt(2.0 * math.pi) * _q(a / g) + 2.0 * g / a * math.sinh(a * a / (2.0 * g * g)))


def cdf(t: float, a: float, g: float) -> float:
    """(10)."""
    if abs(t) <= a:
        return 0.5 + 2.0 * g / (a * omega(a, g)) * math.exp(a / (2.0 * g * g) * (a - abs(t))) * math.sinh(
            a * t / (2.0 * g * g)
        )
    return 0.5 + math.copysign(0.5 - math.sqrt(2.0 * math.pi) / omega(a, g) * _q(abs(t) / g), t)


def variance(a: float, g: float) -> float:
    """(11)."""
    x = a * a / (2.0 * g * g)
    return g * g * (1.0 - (2.0 * g / a) ** 3 / omega(a, g) * (x * math.cosh(x) - math.sinh(x)))


def fisher(a: float, g: float) -> float:
    """(12)."""
    x = a * a / (2.0 * g * g)
    return (1.0 + 4.0 * g / (a * omega(a, g)) * (x * math.exp(x) - math.sinh(x))) / g**2


def mgf(s: float, a: float, g: float) -> float:
    """Sec. III-B-2."""

    def part(s: float) -> float:
        m = a / g + g * s
        return math.expm1(m * a / g) * math.exp(-0.5 * m * m) / (m * math.sqrt(2.0 * math.pi)) + _q(m)

    return math.sqrt(2.0 * math.pi) / omega(a, g) * (part(s) + part(-s)) * math.exp(0.5 * (g * s) ** 2)


def quantile(u: float, a: float, g: float) -> float:
    """(23)."""
    sign, wide = math.copysign(1.0, 2.0 * u - 1.0), abs(2.0 * u - 1.0)
    if min(u, 1.0 - u) >= math.sqrt(2.0 * math.pi) / omega(a, g) * _q(a / g):
        return -g * g / a * sign * math.log1p(-a * omega(a, g) / (2.0 * g) * wide * math.exp(-a * a / (2.0 * g * g)))
    return g * sign * float(_UNIT.isf(omega(a, g) * (1.0 - wide) / (2.0 * math.sqrt(2.0 * math.pi))))


def profile(epsilon: float, a: float, g: float) -> tuple[int, float]:
    """(13) for Delta = 1: the number of the branch, read from the top without empty ranges, and its value."""
    w, e, x = omega(a, g), math.exp(epsilon), a * a / (2.0 * g * g)
    tail, centre = math.sqrt(2.0 * math.pi) / w, g / (a * w) * math.exp(x)
    gaussian = tail * (_q(g * epsilon - 0.5 / g) - e * _q(g * epsilon + 0.5 / g))
    turn = (max(1.0 - a, 0.0) ** 2 + 2.0 * a) / (2.0 * g * g)
    if epsilon < (1.0 - 2.0 * a) / (2.0 * g * g):
        return 1, 1.0 - tail + gaussian
    if epsilon < min(2.0 * a - 1.0, 1.0) * a / g**2:
        return 2, 0.5 * (1.0 - e) + centre * (1.0 + e - 2.0 * math.exp(0.5 * epsilon - a / (2.0 * g * g)))
    if (max(2.0 * a, 1.0) ** 2 - 2.0 * a) / (2.0 * g * g) <= epsilon < turn:
        root = math.sqrt(2.0 * (g * g * epsilon + a))
        return 3, 0.5 + centre * (1.0 - math.exp(a / g**2 * (root - a - 1.0))) - e * tail * _q((root - a) / g)
    if turn <= epsilon < (1.0 + 2.0 * a) / (2.0 * g * g):
        root = math.sqrt(2.0 * (g * g * epsilon - a))
        return 4, 0.5 - centre * (1.0 - math.exp(a / g**2 * (1.0 - a - root))) - e * tail * _q((root + a) / g)
    return 5, gaussian


def inverse_loss(nu: float, a: float, g: float) -> float:
    """(15) for Delta = 1 and nu >= 0."""

    def j(b: float) -> float:
        return math.sqrt(2.0 * (g * g * nu + b)) - 0.5 - b

    first = (max(1.0 - a, 0.0) ** 2 + 2.0 * a) / (2.0 * g * g)
    if nu < min(2.0 * a - 1.0, 1.0) * a / g**2:
        return g * g * nu / (2.0 * a)
    if (max(2.0 * a, 1.0) ** 2 - 2.0 * a) / (2.0 * g * g) <= nu < first:
        return j(a)
    if first <= nu < (1.0 + 2.0 * a) / (2.0 * g * g):
        return j(-a)
    return g * g * nu


def loss(t: Array, d: float, a: float, g: float) -> Array:
    """(25) for d > 0."""
    size = np.abs(t)
    pieces = [
        size < min(a - d / 2.0, d / 2.0),
        (size >= d / 2.0) & (size < a - d / 2.0),
        (size >= abs(a - d / 2.0)) & (size < d / 2.0),
        (size >= max(a - d / 2.0, d / 2.0)) & (size < a + d / 2.0),
    ]
    values = [
        2.0 * a * size,
        a * d + 0.0 * size,
        0.5 * (size + a + d / 2.0) ** 2 - a * d,
        0.5 * (size - a + d / 2.0) ** 2 + a * d,
    ]
    return np.asarray(np.sign(t) * np.select(pieces, values, size * d) / g**2)


def loss_bound(t: Array, d: float, a: float, g: float) -> Array:
    """App. C: the line through the ridge."""
    return np.asarray((t * d + 0.5 * (a * a - max(a - d, 0.0) ** 2)) / g**2)


def theorem8(ratio: float, gammas: Array, epsilon: float, k: int) -> Array:
    """The delta of Theorem 8 for k coordinates that move by 1 each, at alpha = ratio gamma.

    It is 1 where the restriction on alpha is violated.
    """
    g = np.asarray(gammas, dtype=np.float64)
    root, a = math.sqrt(k), ratio * g
    spread = k * np.where(a < 1.0, a * a, 2.0 * a - 1.0)  # k R(alpha), in the form of (21)
    near = g * epsilon / root - root / (2.0 * g) - spread / (2.0 * g * root)
    far = g * epsilon / root + root / (2.0 * g) + spread / (2.0 * g * root) + FlippedHuber(ratio, 1.0).theta * root
    value = np.asarray(_UNIT.sf(near)) - np.exp(epsilon + np.asarray(_UNIT.logsf(far)))
    return np.where(spread <= 2.0 * g * g * epsilon - k, value, 1.0)


def theorem8_at(norm: float, noise: FlippedHuber, epsilon: float) -> float:
    """The bound behind Theorem 8 for one coordinate that moves by `norm` <= 1, with R taken at the largest move, as
    in its proof.
    """
    a, g = noise.alpha, noise.gamma
    spread = a * a if a < 1.0 else 2.0 * a - 1.0
    near, far = ((g * epsilon + sign * (0.5 * norm**2 + 0.5 * spread) / g) / norm for sign in (-1.0, 1.0))
    return _q(near) - math.exp(epsilon) * _q(far + noise.theta / g)


def osgt_profile(epsilon: float, noise: OSGT) -> float:
    """App. F (c) for Delta = 1."""
    wide, r = 1.0 + 2.0 * noise.m, noise.sigma
    head = 1.0 / (2.0 * _q(noise.m / r))
    if epsilon <= wide / (2.0 * r * r):
        return 1.0 - head * (
            _q(wide / (2.0 * r) - r * epsilon / wide) + math.exp(epsilon) * _q(wide / (2.0 * r) + r * epsilon / wide)
        )
    return head * (_q(r * epsilon - 0.5 / r) - math.exp(epsilon) * _q(r * epsilon + 0.5 / r))
