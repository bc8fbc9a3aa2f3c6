"""Intervals of quotients A/B of released sums: shares and ratios.

At the true quotient r, q A - p B with p/q = r is noise alone, and its law is known. The interval holds every r that
this test does not rule out (Fieller 1954): |q A - p B| <= w(q, p), where P(|noise of q A - p B| <= w(q, p)) >= level.
So it contains the true quotient at least as often as the level states, however small B is. If B can be 0, it has no
upper end.

w is computed at the nodes of a path of directions (q, p) with whole numbers. Between two nodes the larger of the two
widths is used. Tests check the coverage of this step; it is not proved.
"""

from __future__ import annotations

from collections.abc import Callable, Sequence

import numpy as np
from numpy.typing import NDArray

__all__ = ["Node", "accepted", "ratio_path", "share_path"]

Array = NDArray[np.float64]
#: (q, p): the statistic is q A - p B, and the quotient is p/q.
Node = tuple[int, int]
_CELLS = 16


def share_path() -> list[Node]:
    """Directions for quotients from 0 to 1."""
    return [(_CELLS, p) for p in range(_CELLS + 1)]


def ratio_path(signed: bool) -> list[Node]:
    """Directions for quotients from 0 to infinity; with `signed` from minus infinity."""
    upwards = share_path() + [(q, _CELLS) for q in range(_CELLS - 1, -1, -1)]
    return [(q, -p) for q, p in upwards[:0:-1]] + upwards if signed else upwards


def accepted(a: Array, b: Array, path: Sequence[Node], width: Callable[[Node], float]) -> tuple[Array, Array]:
    """The least and the largest quotient on the path that the test does not rule out; for each pair of numbers.

    Where the whole path is ruled out, both ends are the end of the path that the test rules out least.
    """
    widths = [width(node) for node in path]
    low, high = np.full(a.shape, np.inf), np.full(a.shape, -np.inf)
    for first, last, wide in zip(path, path[1:], np.maximum(widths[:-1], widths[1:]), strict=False):
        start, end = _inside(a, b, first, last, float(wide))
        any_point = start <= end
        at_start, at_end = (_quotient(first, last, np.where(any_point, x, 0.0)) for x in (start, end))
        low = np.where(any_point, np.minimum(low, at_start), low)
        high = np.where(any_point, np.maximum(high, at_end), high)
    gaps = [np.abs(q * a - p * b) - w for (q, p), w in ((path[0], widths[0]), (path[-1], widths[-1]))]
    ends = [_quotient(node, node, np.zeros(1))[0] for node in (path[0], path[-1])]
    nearest = np.where(gaps[0] <= gaps[1], *ends)
    ruled_out = low > high
    return np.where(ruled_out, nearest, low), np.where(ruled_out, nearest, high)


def _inside(a: Array, b: Array, first: Node, last: Node, wide: float) -> tuple[Array, Array]:
    """The places x in [0, 1] between two nodes at which |statistic| <= wide; the first is larger if there are none."""
    start = first[0] * a - first[1] * b
    rise = (last[0] - first[0]) * a - (last[1] - first[1]) * b
    flat = rise == 0.0
    safe = np.where(flat, 1.0, rise)
    one, other = (-wide - start) / safe, (wide - start) / safe
    least = np.where(flat, np.where(np.abs(start) <= wide, 0.0, 2.0), np.minimum(one, other))
    most = np.where(flat, 1.0, np.maximum(one, other))
    return np.maximum(least, 0.0), np.minimum(most, 1.0)


def _quotient(first: Node, last: Node, x: Array) -> Array:
    """p/q at a place between two nodes."""
    q, p = (first[i] + x * (last[i] - first[i]) for i in (0, 1))
    with np.errstate(divide="ignore"):
        return np.asarray(p / np.maximum(q, 0.0))
