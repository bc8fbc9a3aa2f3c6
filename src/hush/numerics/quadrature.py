"""Gauss-Legendre panels, and an adaptive integrator for non-negative functions that returns a bracket."""

from __future__ import annotations

from collections.abc import Callable
from functools import cache
from typing import Any

import numpy as np
from numpy.typing import NDArray

from hush.errors import NotCertified
from hush.numerics.arrays import distinct
from hush.numerics.bracket import Bracket
from hush.numerics.rounding import ELEMENTARY, next_up

__all__ = ["gauss", "integral", "panels"]

Array = NDArray[np.float64]


@cache
def gauss(order: int) -> tuple[Array, Array]:
    """Return the nodes and weights of the Gauss-Legendre rule on [0, 1]."""
    nodes, weights = np.polynomial.legendre.leggauss(order)
    return 0.5 * (nodes + 1.0), 0.5 * weights


def panels(low: float, high: float, cuts: Any, *, order: int = 24, pieces: int = 16) -> tuple[Array, Array]:
    """Return nodes and weights on (low, high), which is cut at the given points and then into equal pieces."""
    inner = np.asarray(cuts, dtype=np.float64)
    inner = inner[(inner > low) & (inner < high)]
    corners = np.concatenate([[low], inner, [high]])
    share = np.linspace(0.0, 1.0, pieces + 1)
    edges = distinct((corners[:-1, None] + (corners[1:] - corners[:-1])[:, None] * share).ravel())
    nodes, weights = gauss(order)
    width = np.diff(edges)[:, None]
    return (edges[:-1, None] + width * nodes).ravel(), (width * weights).ravel()


def _panel_sums(function: Callable[[Array], Array], left: Array, right: Array) -> tuple[Array, Array]:
    nodes, weights = gauss(20)
    width = (right - left)[:, None]
    middle = 0.5 * (left + right)[:, None]
    whole = function((left[:, None] + width * nodes).ravel()).reshape(-1, nodes.size) @ weights * width[:, 0]
    halves = np.zeros_like(whole)
    for start in (left[:, None], middle):
        values = function((start + 0.5 * width * nodes).ravel()).reshape(-1, nodes.size)
        halves += values @ weights * (0.5 * width[:, 0])
    return whole, halves


def integral(function: Callable[[Array], Array], edges: Any, *, relative: float = 1e-13) -> Bracket:
    """Return a bracket of the integral of a non-negative function over the panels between `edges`.

    Each panel is integrated by the 20-point Gauss-Legendre rule twice: as one piece, and as two halves. Panels are
    halved again while the two results differ by more than their part of the tolerance. The bracket is widened by ten
    times the sum of the remaining differences, and by round-off.
    """
    edges = distinct(np.asarray(edges, dtype=np.float64))
    left, right = edges[:-1], edges[1:]
    done, error = 0.0, 0.0
    for _ in range(60):
        whole, halves = _panel_sums(function, left, right)
        total = done + float(halves.sum())
        difference = np.abs(whole - halves)
        rough = difference > relative * max(total, 1e-320) / max(left.size, 64)
        rough &= (right - left) > 1e-14 * (np.abs(left) + np.abs(right))
        done += float(halves[~rough].sum())
        error += float(difference[~rough].sum())
        if not rough.any():
            slack = 10.0 * error + ELEMENTARY.share * done
            return Bracket(max(done - slack, 0.0), next_up(done + slack))
        if rough.sum() > 100_000:
            break
        middle = 0.5 * (left + right)
        left, right = np.concatenate([left[rough], middle[rough]]), np.concatenate([middle[rough], right[rough]])
    raise NotCertified("the integral did not converge; please report the parameters.")
