"""The rivals of `bench/learn_rivals.py`: published methods with numpy's noise and exact Gaussian accounting.

Steps, clips and step lengths were chosen for each rival, loss and epsilon: the best geometric mean of the error over
the five data sets, from grids of 5 to 40 settings, on 8 or 12 splits (Adult: 2 or 3) that the benchmark does not use.

**Objective perturbation for a replaced row.** theta minimises sum of losses + ridge |theta|^2/2 + b.theta with normal b
of deviation sigma. A row is at most R long, a logistic slope at most 1, a second derivative at most 1/4. b is a
function of theta, so the density of theta is that of b times a determinant.

- *Determinant.* With A = ridge + the second derivatives of the other rows, the two determinants are det(A + h x x') and
  det(A + k y y'). Each is between det A and (1 + beta/ridge) det A with beta = R^2/4. So their ratio costs at most
  log(1 + beta/ridge), as for an added row. (Kifer et al. 2012 and Redberg et al. 2023 use -log(1 - beta/ridge), which
  is larger.)
- *Noise.* b moves by v = g x - k y with |g|, |k| <= 1, so |v| <= 2R, and the loss is at most (|b.x| + |b.y|)/sigma^2 +
  2 R^2/sigma^2. If y = x or y = -x, this is the loss of Redberg, Koskela and Wang (2023, Theorem 3.1) with 2R instead
  of R, for a normal number without its sign. |b.x| + |b.y| = max(|b.(x+y)|, |b.(x-y)|), and |x+y|^2 + |x-y|^2 <= 4R^2.
  At delta = 1e-6 the tail of one normal number of deviation 2R is larger than the two tails for any other pair of
  rows; quadrature over six angles at epsilon 0.1, 1 and 10 agrees.

So the formula of the theorem holds with 2R for the noise and beta for the determinant. One thing favours this rival:
the scaling takes its share of the budget as if the rival composed like Gaussian noise. No theorem says so.
"""

from __future__ import annotations

import math
from collections.abc import Callable, Sequence
from functools import cache

import numpy as np
from hush_papers.flipped_huber.learning_data import LearningSet
from scipy.stats import norm

import hush

__all__ = ["DELTA", "EPSILONS", "LONG", "Array", "Random", "Scaled", "rivals", "row_clipped"]

EPSILONS = (0.1, 0.3, 1.0, 3.0, 10.0)
DELTA, SHARE, WIDE = 1e-6, 0.25, 3.0  # SHARE of the budget for the scaling; limits at WIDE spreads

Array = np.ndarray
Random = np.random.Generator


@cache
def amount(epsilon: float) -> float:
    """The Gaussian sigma for an l2 bound of 1."""
    return float(hush.gaussian.sigma(epsilon, DELTA))


class Scaled:
    """Rows in units of a private spread, with the constant last; the rest of the budget is `share`."""

    def __init__(self, data: LearningSet, X: Array, y: Array, epsilon: float, random: Random) -> None:
        columns = X if data.logistic else np.column_stack([X, y])
        low, high = np.array([*data.bounds, *([] if data.logistic else [data.target_bounds])]).T
        middle, half = (low + high) / 2.0, (high - low) / 2.0
        z = np.clip((columns - middle) / half, -1.0, 1.0)
        noise = 2.0 * math.sqrt(len(low)) * amount(epsilon) / math.sqrt(SHARE) / len(X)
        first, second = (part.mean(axis=0) + noise * random.normal(size=len(low)) for part in (z, z * z))
        trust = 0.15**2 / (0.15**2 + noise**2)  # the shrinkage of hush
        seen = trust * (second - first**2 + noise**2) + (1.0 - trust) * 0.1
        self.centre = middle + half * np.clip(first / (1.0 + 9.0 * noise**2), -1.0, 1.0)
        self.spread = half * np.sqrt(np.clip(seen, min(noise, 0.1), 1.0))
        self.low = np.maximum(low, self.centre - WIDE * self.spread)
        self.high = np.minimum(high, self.centre + WIDE * self.spread)
        self.logistic, self.width, self.share = data.logistic, X.shape[1], 1.0 - SHARE
        self.sigma, self.count, self.random = amount(epsilon), len(X), random
        self.epsilon = epsilon
        self.u = self.rows(X)
        self.t = y if data.logistic else self._units(y, slice(-1, None))
        self.penalty = np.append(np.full(self.width, 1.0 / self.count), 0.0)

    def _units(self, values: Array, part: slice) -> Array:
        return (np.clip(values, self.low[part], self.high[part]) - self.centre[part]) / self.spread[part]

    def rows(self, X: Array) -> Array:
        return np.column_stack([self._units(X, slice(self.width)), np.ones(len(X))])

    def predict(self, X: Array, weights: Array) -> Array:
        margin = self.rows(X) @ weights
        return margin if self.logistic else self.centre[-1] + self.spread[-1] * margin

    def slope(self, weights: Array) -> Array:
        margin = self.u @ weights
        return (1.0 / (1.0 + np.exp(-np.clip(margin, -500.0, 500.0))) if self.logistic else margin) - self.t

    def noise(self, l2: float, share: float, *shape: int) -> Array:
        """Gaussian noise on a mean whose sum moves by at most `l2`, for a share of the budget."""
        return self.random.normal(scale=l2 * self.sigma / math.sqrt(share) / self.count, size=shape)

    def products(self, share: float) -> tuple[Array, float]:
        """The noisy mean of (u, t)(u, t)' for rows of length at most sqrt(K + 1), and the noise of an entry."""
        rows = np.column_stack([self.u, 2.0 * self.t - 1.0 if self.logistic else self.t])
        size = rows.shape[1]
        rows = rows * np.minimum(1.0, math.sqrt(size) / np.linalg.norm(rows, axis=1))[:, None]
        above = np.triu(self.noise(size, share, size, size), 1)  # off-diagonal entries count twice in the l2 norm
        noisy = rows.T @ rows / self.count + above + above.T + np.diag(self.noise(math.sqrt(2.0) * size, share, size))
        return noisy, size * self.sigma / math.sqrt(share) / self.count


def row_clipped(steps: int, clip: float, length: Callable[[int], float]) -> Callable[[Scaled], Array]:
    def fit(data: Scaled) -> Array:
        size = data.u.shape[1]
        most, norms, weights = clip * math.sqrt(size), np.linalg.norm(data.u, axis=1), np.zeros(size)
        step = length(size) * (4.0 if data.logistic else 1.0)
        for _ in range(steps):
            slope = np.clip(data.slope(weights), -most / norms, most / norms)
            noisy = slope @ data.u / data.count + data.noise(2.0 * most, data.share / steps, size)
            weights = weights - step * (noisy + data.penalty * weights)
        return weights

    return fit


def whitened(steps: int, clip: float) -> Callable[[Scaled], Array]:
    def fit(data: Scaled) -> Array:
        size = data.u.shape[1]
        found, error = data.products(0.3 * data.share)
        values, vectors = np.linalg.eigh(found[:-1, :-1])
        roots = np.sqrt(np.maximum(values, 2.0 * error * math.sqrt(size)))
        rows, most, weights = data.u @ (vectors / roots), clip * math.sqrt(size), np.zeros(size)
        norms, curvature = np.linalg.norm(rows, axis=1), (0.25 if data.logistic else 1.0)
        for _ in range(steps):
            slope = np.clip(data.slope(weights), -most / norms, most / norms)
            noisy = slope @ rows / data.count + data.noise(2.0 * most, 0.7 * data.share / steps, size)
            weights = weights - ((vectors / roots) @ noisy + data.penalty * weights) / curvature
        return weights

    return fit


def _ridge(hessian: Array, error: float) -> Array:
    """AdaSSP's matrix: a ridge as large as the noise, less what the smallest eigenvalue already has."""
    size = len(hessian)
    noise = error * math.sqrt(size * math.log(2.0 * size**2 / 0.05))
    least = max(float(np.linalg.eigvalsh(hessian)[0]) - noise, 0.0)
    return hessian + max(0.0, noise - least) * np.eye(size)


def adassp(data: Scaled) -> Array:
    found, error = data.products(data.share)
    return np.linalg.solve(_ridge(found[:-1, :-1], error), found[:-1, -1])


def boosted(steps: int, clip: float) -> Callable[[Scaled], Array]:
    def fit(data: Scaled) -> Array:
        size = data.u.shape[1]
        found, error = data.products(0.3 * data.share)
        matrix, weights = _ridge(found[:-1, :-1], error), np.zeros(size)
        rows = data.u * np.minimum(1.0, math.sqrt(size) / np.linalg.norm(data.u, axis=1))[:, None]
        for _ in range(steps):
            residual = np.clip(-data.slope(weights), -clip, clip)
            noise = data.noise(2.0 * clip * math.sqrt(size), 0.7 * data.share / steps, size)
            weights = weights + np.linalg.solve(matrix, residual @ rows / data.count + noise)
        return weights

    return fit


def _perturbed_delta(sigma: float, left: float, bound: float) -> float:
    """The delta of the noise for a move of at most `bound`, if `left` of epsilon is not used by the determinant."""
    shift, most = bound / sigma, left - 0.5 * (bound / sigma) ** 2

    def stick(e: float) -> float:
        return float(norm.cdf(shift / 2.0 - e / shift) - math.exp(min(e, 700.0)) * norm.cdf(-shift / 2.0 - e / shift))

    if most >= 0.0:
        return 2.0 * stick(left)
    return 1.0 - math.exp(most) + math.exp(most) * 2.0 * stick(0.5 * shift**2)


@cache
def _least_sigma(left: float, bound: float) -> float:
    low, high = 0.01 * bound, 1e5 * bound
    while high > 1.001 * low:
        middle = math.sqrt(low * high)
        low, high = (low, middle) if _perturbed_delta(middle, left, bound) <= DELTA else (middle, high)
    return high


def perturbed(part: float) -> Callable[[Scaled], Array]:
    """`part` of epsilon pays for the ridge; sigma is the least one. The scaling lowers epsilon by sqrt(1 - SHARE)."""

    def fit(data: Scaled) -> Array:
        size = data.u.shape[1]
        reach, epsilon = math.sqrt(size), data.epsilon * math.sqrt(data.share)
        rows = data.u * np.minimum(1.0, reach / np.linalg.norm(data.u, axis=1))[:, None]
        ridge = 0.25 * reach**2 / math.expm1(part * epsilon)
        sigma = _least_sigma((1.0 - part) * epsilon, 2.0 * reach)
        push, weights = data.random.normal(scale=sigma, size=size) / data.count, np.zeros(size)
        held = np.maximum(data.penalty, ridge / data.count)
        for _ in range(30):
            chance = 1.0 / (1.0 + np.exp(-np.clip(rows @ weights, -500.0, 500.0)))
            gradient = (chance - data.t) @ rows / data.count + push + held * weights
            second = (rows * (chance * (1.0 - chance))[:, None]).T @ rows / data.count + np.diag(held)
            weights = weights - np.linalg.solve(second, gradient)
        return weights

    return fit


SHORT, LONG = (lambda size: 1.0 / math.sqrt(size)), (lambda size: 0.5)
#: steps, clip and step length (or the part of the ridge) at epsilon 0.1, 0.3, 1, 3 and 10, for each loss
_CHOSEN: dict[str, tuple[Callable[..., Callable[[Scaled], Array]], dict[str, Sequence[tuple]]]] = {
    "row-clipped GD": (
        row_clipped,
        {
            "classes": ((20, 0.25, SHORT), (40, 0.25, LONG), (40, 0.25, LONG), (80, 0.5, LONG), (80, 0.5, LONG)),
            "numbers": ((5, 0.25, SHORT), (5, 0.25, SHORT), (20, 0.25, LONG), (20, 0.25, LONG), (40, 1.0, SHORT)),
        },
    ),
    "whitened GD": (
        whitened,
        {
            "classes": ((10, 0.1), (10, 0.25), (10, 0.5), (10, 0.25), (3, 0.5)),
            "numbers": ((3, 0.1), (5, 0.25), (20, 0.1), (10, 0.25), (3, 1.0)),
        },
    ),
    "AdaSSP": (lambda: adassp, {"numbers": ((),) * 5}),
    "boosted AdaSSP": (boosted, {"numbers": ((2, 1.0), (3, 1.0), (10, 0.5), (10, 0.5), (3, 1.0))}),
    "objective perturbation": (perturbed, {"classes": ((0.1,), (0.05,), (0.05,), (0.1,), (0.1,))}),
}


def rivals(*, logistic: bool, epsilon: float) -> dict[str, Callable[[Scaled], Array]]:
    """The rivals for a loss, with the settings that were chosen at the nearest epsilon of `EPSILONS`."""
    place = min(range(len(EPSILONS)), key=lambda i: abs(math.log(EPSILONS[i] / epsilon)))
    kind = "classes" if logistic else "numbers"
    return {name: make(*chosen[kind][place]) for name, (make, chosen) in _CHOSEN.items() if kind in chosen}
