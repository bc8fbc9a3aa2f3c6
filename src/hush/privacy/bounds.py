"""Curves that theorems bound rather than give exactly: vector answers under an l2 ball."""

from __future__ import annotations

import math
from dataclasses import dataclass

import numpy as np
from numpy.typing import NDArray
from scipy.special import log_ndtr

from hush.noise.flipped_huber import FlippedHuber
from hush.noise.osgt import OSGT
from hush.numerics.bracket import Bracket
from hush.privacy.curve import Curve
from hush.privacy.renyi import best_delta, osgt_theorem2

__all__ = ["FlippedHuberTheorem8", "OSGTTheorem2"]

Array = NDArray[np.float64]


@dataclass(frozen=True)
class OSGTTheorem2(Curve):
    """K coordinates of OSGT noise, moved by at most `l2` in any direction: the Renyi bound of OSGT paper, Theorem 2, by eq. (20)."""

    noise: OSGT
    l2: float
    coordinates: int

    def _forward(self, epsilon: Array) -> Bracket:
        def divergence(order: float) -> float:
            return osgt_theorem2(self.noise, order, self.l2, k=self.coordinates)

        flat = np.asarray(epsilon, dtype=np.float64)
        upper = np.array([min(best_delta(divergence, float(e)), 1.0) for e in flat.ravel()]).reshape(flat.shape)
        return Bracket(np.zeros_like(upper), np.minimum(upper * (1.0 + 1e-13) + 5e-324, 1.0))


@dataclass(frozen=True)
class FlippedHuberTheorem8(Curve):
    """K coordinates of flipped Huber noise, moved by at most `l2`: FH paper, Theorem 8, with linf <= l2 and l1 <= sqrt(K) l2.

    The bound grows with the l2 norm only while gamma eps - K R/(2 gamma) >= l2 (erratum A5); below that epsilon nothing is claimed and
    delta is 1.
    """

    noise: FlippedHuber
    l2: float
    coordinates: int

    def _forward(self, epsilon: Array) -> Bracket:
        gamma, alpha, k = self.noise.gamma, self.noise.alpha, self.coordinates
        epsilon = np.asarray(epsilon, dtype=np.float64)
        short = max(alpha - self.l2, 0.0)
        spread = k * (alpha - short) * (alpha + short)  # K R
        room = gamma * epsilon - spread / (2.0 * gamma)
        held = (room >= self.l2) & (room >= self.l2**2 / (2.0 * gamma))
        near = room / self.l2 - self.l2 / (2.0 * gamma)
        far = gamma * epsilon / self.l2 + self.l2 / (2.0 * gamma) + spread / (2.0 * gamma * self.l2)
        far = far + self.noise.theta * math.sqrt(k) / gamma
        first, second = log_ndtr(-near), epsilon + log_ndtr(-far)
        with np.errstate(under="ignore"):
            value = np.exp(first) * -np.expm1(np.minimum(second - first, 0.0))
        upper = np.where(held, np.minimum(value * (1.0 + 1e-11) + 5e-324, 1.0), 1.0)
        return Bracket(np.zeros_like(upper), upper)
