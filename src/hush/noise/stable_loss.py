"""The privacy loss of the symmetric alpha-stable law at scale 1: its value, its maximum, and nodes to integrate it.

    M(y) = log p(y)/p(y + s) = integral over (|y|, y + s) of -p'/p,     y > -s/2.

The loss rises from 0 at y = -s/2 to one maximum and falls back to 0 as y grows.
"""

from __future__ import annotations

import math
from functools import lru_cache

import numpy as np
from numpy.typing import NDArray

from hush.noise.stable_density import FAR, law
from hush.numerics.arrays import distinct
from hush.numerics.quadrature import gauss
from hush.numerics.search import narrowed_minimum

__all__ = ["information", "largest_loss", "loss", "nodes_between", "peak_of_score"]

Array = NDArray[np.float64]


def loss(alpha: float, y: Array, s: float) -> Array:
    """Return M(y) for y >= -s/2: an integral of the score for a short interval, a difference of logs for a long one."""
    unit = law(alpha)
    start = np.abs(y)
    way = np.where(y >= 0.0, s, np.maximum(s + 2.0 * y, 0.0))
    short = (way <= 0.25) | ((start >= FAR) & (way < 0.5 * start))
    out = np.empty_like(start)
    nodes, weights = gauss(10)
    a, d = start[short], way[short]
    out[short] = (unit.score(a[:, None] + d[:, None] * nodes) * weights).sum(axis=1) * d
    a, d = start[~short], way[~short]
    out[~short] = unit.log_density(a) - unit.log_density(a + d)
    return out


@lru_cache(maxsize=256)
def peak_of_score(alpha: float) -> tuple[float, float, float]:
    """Return the place of the maximum of the score, the maximum, and a bound on y times the score."""
    unit = law(alpha)
    y = np.arange(1, 1281) / 64.0
    score = unit.score(y)
    steep = 1.05 * max(float((y * score).max()), 1.0 + alpha)
    near = float(y[score.argmax()])
    place, least = narrowed_minimum(lambda x: -unit.score(x), near - 1.0 / 64.0, near + 1.0 / 64.0, points=(65,) * 5)
    return place, -least, steep


@lru_cache(maxsize=256)
def largest_loss(alpha: float, s: float) -> tuple[float, float]:
    """Return the y >= 0 where M is largest, and M there.

    The scores at y and y + s are equal, and these points are on different sides of the maximum of the score.
    """
    from scipy.optimize import brentq  # here, because it is slow to import

    unit = law(alpha)
    peak = peak_of_score(alpha)[0]

    def gap(y: float) -> float:
        ends = unit.score(np.array([y, y + s]))
        return float(ends[1] - ends[0])

    low = max(0.0, peak - s)
    y = float(brentq(gap, low, peak)) if gap(low) > 0.0 > gap(peak) else peak - 0.5 * min(s, peak)
    seen = np.concatenate([[y], np.geomspace(1e-9, 1e3, 400)])
    losses = loss(alpha, seen, s)
    best = int(losses.argmax())
    return float(seen[best]), float(losses[best])


def nodes_between(low: float, high: float, *, order: int = 16) -> tuple[Array, Array]:
    """Return nodes and weights on (low, high): panels of width 1/2 for |y| < 20, and fourfold growing ones beyond."""
    inner = np.arange(0.0, FAR, 0.5)
    far = max(abs(low), abs(high), FAR)
    outer = FAR * 4.0 ** np.arange(0, math.ceil(math.log(far / FAR, 4.0)) + 1)
    cuts = np.concatenate([-outer, -inner, inner, outer])
    edges = distinct(np.concatenate([[low], cuts[(cuts > low) & (cuts < high)], [high]]))
    nodes, weights = gauss(order)
    width = np.diff(edges)[:, None]
    return (edges[:-1, None] + width * nodes).ravel(), (width * weights).ravel()


@lru_cache(maxsize=256)
def information(alpha: float) -> float:
    """Return the Fisher information of location at scale 1, the integral of score^2 p."""
    y, weight = nodes_between(0.0, 1e6)
    with np.errstate(under="ignore"):
        return 2.0 * float(np.sum(weight * law(alpha).score(y) ** 2 * np.exp(law(alpha).log_density(y))))
