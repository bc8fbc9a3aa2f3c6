"""The privacy loss of the symmetric alpha-stable law at unit scale: its value, its largest value, and nodes to integrate it.

    M(y) = log p(y)/p(y + s) = integral over (|y|, y + s) of -p'/p,     y > -s/2,

rises from 0 at y = -s/2 to one maximum and falls back to 0 as y grows.
"""

from __future__ import annotations

import math
from collections.abc import Callable
from functools import lru_cache

import numpy as np
from numpy.typing import NDArray

from hush.noise.stable_density import FAR, law
from hush.numerics.quadrature import gauss

__all__ = ["information", "largest_loss", "loss", "nodes_between", "peak_of_score", "root"]

Array = NDArray[np.float64]


def loss(alpha: float, y: Array, s: float) -> Array:
    """M(y) for y >= -s/2: an integral of the score over a short way, a difference of logarithms over a long one."""
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
    """Where the score peaks, its peak, and a bound on y times the score."""
    unit = law(alpha)
    y = np.arange(1, 1281) / 64.0
    score = unit.score(y)
    steep = 1.05 * max(float((y * score).max()), 1.0 + alpha)
    centre, width = float(y[score.argmax()]), 1.0 / 64.0
    for _ in range(5):  # shrink a fan of points about the best one
        fan = np.maximum(centre + width * np.linspace(-1.0, 1.0, 65), 0.0)
        centre, width = float(fan[unit.score(fan).argmax()]), width / 16.0
    return centre, float(unit.score(np.array([centre]))[0]), steep


@lru_cache(maxsize=256)
def largest_loss(alpha: float, s: float) -> tuple[float, float]:
    """The y >= 0 where M is largest, and M there: the scores at y and y + s agree, on either side of the score's peak."""
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
    """Nodes and weights on (low, high): panels of 1/2 below |y| = 20, where body and tail meet, and growing fourfold beyond."""
    inner = np.arange(0.0, FAR, 0.5)
    far = max(abs(low), abs(high), FAR)
    outer = FAR * 4.0 ** np.arange(0, math.ceil(math.log(far / FAR, 4.0)) + 1)
    cuts = np.concatenate([-outer, -inner, inner, outer])
    edges = np.unique(np.concatenate([[low], cuts[(cuts > low) & (cuts < high)], [high]]))
    nodes, weights = gauss(order)
    width = np.diff(edges)[:, None]
    return (edges[:-1, None] + width * nodes).ravel(), (width * weights).ravel()


@lru_cache(maxsize=256)
def information(alpha: float) -> float:
    """Fisher information of location at unit scale: the integral of score^2 p."""
    y, weight = nodes_between(0.0, 1e6)
    with np.errstate(under="ignore"):
        return 2.0 * float(np.sum(weight * law(alpha).score(y) ** 2 * np.exp(law(alpha).log_density(y))))


def root(function: Callable[[Array], Array], a: Array, b: Array) -> Array:
    """Ridders' method, elementwise, where the function changes sign between a and b; the bracket halves at every step."""
    at_a, at_b = function(a), function(b)
    last, settled = a, np.zeros(a.shape, dtype=bool)
    for _ in range(100):
        middle = 0.5 * (a + b)
        at_middle = function(middle)
        with np.errstate(over="ignore"):
            spread = np.sqrt(at_middle**2 - np.minimum(at_a * at_b, 0.0))
        move = np.divide(at_middle, spread, out=np.zeros_like(spread), where=spread > 0.0)
        point = middle + (middle - a) * np.sign(at_a - at_b) * move
        at_point = function(point)
        crossed = np.sign(at_middle) != np.sign(at_point)
        left = np.sign(at_a) != np.sign(at_point)  # else the root is on the far side of the point
        a, at_a, b, at_b = (
            np.where(crossed, middle, np.where(left, a, point)),
            np.where(crossed, at_middle, np.where(left, at_a, at_point)),
            np.where(crossed | left, point, b),
            np.where(crossed | left, at_point, at_b),
        )
        # a root that has settled stays put, so that it does not depend on its company
        settled |= np.abs(point - last) <= 1e-15 * np.abs(point)
        last = np.where(settled, last, point)
        if settled.all():
            break
    return last
