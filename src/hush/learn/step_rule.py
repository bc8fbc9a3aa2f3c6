"""The steps and clips of whitened gradients for squared loss, chosen from released numbers while the fit goes on.

In whitened coordinates a step goes from the weights w to w - g h/q, where g is the noisy gradient and q the curvature.
Four numbers are followed, each for one coordinate: `unknown` is the variance of what the steps have still to correct,
`noise` that of the noise in the weights, `start` that of the noise of the released products in the weights, and `free`
that of the noise of all gradients in a weight which no curvature holds back.

- The residuals have about the variance r^2 = t't - 2 w.X't + w'Hw, from the released products, plus what the noise of
  the products hides. If r is small, a clip of half the size, a quarter and so on has less noise and as little bias. The
  noise of a gradient is proportional to its clip.
- A clip c holds a row with normal residuals with the curvature q = P(|residual| < c) instead of 1.
- The step is that of a Kalman filter: unknown q/(q^2 unknown + noise of the gradient). The first steps are long, and
  later ones average the noise of all gradients.

Everything here is a function of released and public numbers, so it costs no privacy. The sensitivity of a gradient in
integers is the same for every halving (docs/maths/whitened.md).
"""

from __future__ import annotations

import math
from dataclasses import dataclass

import numpy as np
from numpy.typing import NDArray

from hush.learn.moment_solver import Products

__all__ = ["StepRule"]

Array = NDArray[np.float64]

#: The clip is halved while it stays above this part of what it is for residuals of spread 1.
_ROOM = math.sqrt(0.5)
_MOST_HALVINGS = 6
#: The curvature that a clip leaves is taken as at least this: a smaller one would make long steps of mere noise.
_LEAST_CURVATURE = 0.45
#: The part of a squared move that adds to what is unknown, because the curvature is estimated and not known.
_DISTRUST = 0.5
#: A step is at least this part of a full one, so that the last steps still correct the bias of the first ones.
_LEAST_STEP = 0.15


@dataclass
class StepRule:
    """The state of the rule. `gradient` is the variance of the noise of a gradient with the full clip `clip`."""

    products: Products
    hessian: Array
    gradient: float
    clip: float
    target: float
    unknown: float
    noise: float
    start: float
    free: float = 0.0

    @classmethod
    def at(cls, weights: Array, products: Products, hessian: Array, gradient: float, clip: float) -> StepRule:
        """The rule for a descent from the minimum of the released quadratic loss."""
        target = max(float(products.matrix[-1, -1]), products.error)
        inverse = float(np.mean(1.0 / np.linalg.eigvalsh(hessian)))
        noise = products.error**2 * inverse * (1.0 + float(weights @ weights))
        noise = min(noise, target / len(weights))  # the start is no longer than a model that explains the target
        return cls(products, hessian, gradient, clip, target, noise, noise, noise)

    def _residual(self, weights: Array) -> float:
        """The spread of the residuals at these weights."""
        pull = self.products.matrix[:-1, -1]
        found = self.target - 2.0 * float(weights @ pull) + float(weights @ self.hessian @ weights)
        hidden = 2.0 * len(weights) * self.start  # the start was fitted to the noise of the products
        return math.sqrt(min(max(found + hidden, self.products.error, 1e-6), 4.0))

    def next(self, weights: Array) -> tuple[int, float, float]:
        """How often the clip of the next gradient is halved, the length of its step, and the part of the curvature that
        the clip holds. Gradients have about this part of their size, so a penalty must have it too.
        """
        spread = self._residual(weights)
        halvings = min(max(math.floor(math.log2(_ROOM / spread)), 0), _MOST_HALVINGS)
        held = math.erf(math.ldexp(self.clip, -halvings) / (spread * math.sqrt(2.0)))
        held, error = max(held, _LEAST_CURVATURE), math.ldexp(self.gradient, -2 * halvings)
        length = max(self.unknown * held / (held**2 * self.unknown + error), _LEAST_STEP / held)
        self.unknown = (1.0 - length * held) ** 2 * self.unknown + length**2 * error
        left = (1.0 - length * held) ** 2
        self.noise = left * self.noise + length**2 * error
        self.start *= left
        self.free += length**2 * error
        return halvings, length, held

    def moved(self, move: Array) -> None:
        """Take note of the move of a step."""
        self.unknown += _DISTRUST * float(move @ self.hessian @ move) / len(move)
