"""The rivals of `bench/learn_rivals.py`: published methods with numpy's noise and exact Gaussian accounting."""

from __future__ import annotations

import math
from collections.abc import Callable
from functools import cache

import numpy as np
from hush_papers.flipped_huber.learning_data import LearningSet
from scipy.stats import norm

import hush

__all__ = ["DELTA", "RIVALS", "Array", "Random", "Scaled"]

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


def whitened(data: Scaled) -> Array:
    size, steps, clip = data.u.shape[1], (10 if data.logistic else 3), (0.25 if data.logistic else 0.5)
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


def _ridge(hessian: Array, error: float) -> Array:
    """AdaSSP's matrix: a ridge as large as the noise, less what the smallest eigenvalue already has."""
    size = len(hessian)
    noise = error * math.sqrt(size * math.log(2.0 * size**2 / 0.05))
    least = max(float(np.linalg.eigvalsh(hessian)[0]) - noise, 0.0)
    return hessian + max(0.0, noise - least) * np.eye(size)


def adassp(data: Scaled) -> Array:
    found, error = data.products(data.share)
    return np.linalg.solve(_ridge(found[:-1, :-1], error), found[:-1, -1])


def boosted(data: Scaled) -> Array:
    size, steps = data.u.shape[1], 5
    found, error = data.products(0.3 * data.share)
    matrix, weights = _ridge(found[:-1, :-1], error), np.zeros(size)
    rows = data.u * np.minimum(1.0, math.sqrt(size) / np.linalg.norm(data.u, axis=1))[:, None]
    for _ in range(steps):
        residual = np.clip(-data.slope(weights), -1.0, 1.0)
        pull = residual @ rows / data.count + data.noise(2.0 * math.sqrt(size), 0.7 * data.share / steps, size)
        weights = weights + np.linalg.solve(matrix, pull)
    return weights


def _perturbed_delta(sigma: float, ridge: float, curvature: float, bound: float, epsilon: float) -> float:
    left = epsilon + math.log1p(-min(curvature / ridge, 1.0 - 1e-12))
    shift, most = bound / sigma, left - 0.5 * (bound / sigma) ** 2

    def stick(e: float) -> float:
        return float(norm.cdf(shift / 2.0 - e / shift) - math.exp(min(e, 700.0)) * norm.cdf(-shift / 2.0 - e / shift))

    if most >= 0.0:
        return 2.0 * stick(left)
    return 1.0 - math.exp(most) + math.exp(most) * 2.0 * stick(0.5 * shift**2)


def perturbed(data: Scaled) -> Array:
    """A fifth of epsilon pays for the ridge; sigma is the least one. The scaling lowers epsilon by sqrt(1 - SHARE)."""
    size = data.u.shape[1]
    reach = math.sqrt(size)
    rows = data.u * np.minimum(1.0, reach / np.linalg.norm(data.u, axis=1))[:, None]
    epsilon = data.epsilon * math.sqrt(data.share)
    curvature = 2.0 * 0.25 * reach**2
    ridge = curvature / -math.expm1(-0.2 * epsilon)
    low, high = 0.01 * reach, 1e5 * reach
    while high > 1.001 * low:
        middle = math.sqrt(low * high)
        safe = _perturbed_delta(middle, ridge, curvature, 2.0 * reach, epsilon) <= DELTA
        low, high = (low, middle) if safe else (middle, high)
    push, weights = data.random.normal(scale=high, size=size) / data.count, np.zeros(size)
    held = np.maximum(data.penalty, ridge / data.count)
    for _ in range(30):
        chance = 1.0 / (1.0 + np.exp(-np.clip(rows @ weights, -500.0, 500.0)))
        gradient = (chance - data.t) @ rows / data.count + push + held * weights
        second = (rows * (chance * (1.0 - chance))[:, None]).T @ rows / data.count + np.diag(held)
        weights = weights - np.linalg.solve(second, gradient)
    return weights


SMALL_STEP, LONG_STEP = (lambda size: 1.0 / math.sqrt(size)), (lambda size: 0.5)
RIVALS: dict[str, tuple[Callable[[Scaled], Array], str]] = {
    "row-clipped GD, 40 steps": (row_clipped(40, 0.5, SMALL_STEP), "both"),
    "row-clipped GD, 10 steps": (row_clipped(10, 0.5, LONG_STEP), "both"),
    "whitened GD": (whitened, "both"),
    "AdaSSP": (adassp, "numbers"),
    "boosted AdaSSP": (boosted, "numbers"),
    "objective perturbation": (perturbed, "classes"),
}
