"""Intervals of quotients A/B of released sums: shares and ratios.

At the true quotient r, the statistic q A - p B with p/q = r is noise alone, and its law is known. The interval holds
every r that this test does not rule out (Fieller 1954): |q A - p B| <= W(q, p), where the noise N of the statistic
satisfies P(|N(q, p)| <= W(q, p)) >= level. So the interval contains the true quotient with at least this probability,
however small B is. If B can be 0, it has no upper end.

The directions (q, p) lie on straight legs. Widths w are computed at nodes of a leg, with whole numbers q and p. Between
two nodes W follows from one of two bounds. Let m = 1 - level, and let the place x in [0, 1] lie between the nodes i and
j, so that N(x) = (1 - x) N(i) + x N(j), because N is linear in (q, p).

- Two nodes. w(i) and w(j) hold with probability 1 - m/2 each. Both hold with probability at least 1 - m, and then
  |N(x)| <= (1 - x) w(i) + x w(j).
- One node and the step. N(x) = N(i) + x g D, where D is the noise of one step of the leg, and g the number of steps
  from i to j. |N(i)| <= w(i) holds with probability 1 - 0.98 m, and |D| <= d with probability 1 - 0.02 m. Both hold
  with probability at least 1 - m, and then |N(x)| <= w(i) + x g d. The same holds from j.

Each of these is a valid W for every direction of the leg, whichever nodes i and j are used. So their minimum is valid
too, also if the data decide which nodes are computed: the minimum over all nodes is a constant, and the one over some
of them is no smaller. The second bound is used where d is small beside the widths (about 5 % wider than the law at one
direction), otherwise the first one (about 15 % wider). Nodes are added by bisection, only where an interval ends.
"""

from __future__ import annotations

import math
from collections.abc import Callable, Sequence
from dataclasses import dataclass, field
from itertools import pairwise

import numpy as np
from numpy.typing import NDArray

__all__ = ["Leg", "Node", "accepted", "ratio_path", "share_path"]

Array = NDArray[np.float64]
#: (q, p): the statistic is q A - p B, and the quotient is p/q.
Node = tuple[int, int]
#: The half width of a statistic, from its direction and the probability of a miss.
Width = Callable[[Node, float], float]
_CELLS = 16
#: The share of the probability of a miss that is left for the noise of a step.
_FOR_STEP = 0.02
#: Half a step may make a width larger by this share.
_SMALL_STEP = 0.1


@dataclass(frozen=True)
class Leg:
    """Directions from `start`, one step after another."""

    start: Node
    step: Node

    def node(self, place: int) -> Node:
        """The direction after so many steps."""
        return self.start[0] + place * self.step[0], self.start[1] + place * self.step[1]


def share_path() -> list[Leg]:
    """Directions for quotients from 0 to 1."""
    return [Leg((_CELLS, 0), (0, 1))]


def ratio_path(signed: bool) -> list[Leg]:
    """Directions for quotients from 0 to infinity; with `signed` from minus infinity."""
    upwards = [*share_path(), Leg((_CELLS, _CELLS), (-1, 0))]
    return [Leg((0, -_CELLS), (1, 0)), Leg((_CELLS, -_CELLS), (0, 1)), *upwards] if signed else upwards


def accepted(a: Array, b: Array, path: Sequence[Leg], width: Width, missed: float) -> tuple[Array, Array]:
    """The least and the largest quotient on the path that the test does not rule out; for each pair of numbers.
    `missed` is the probability with which a quotient may lie outside.

    Where the whole path is ruled out, both ends are the end of the path that the test rules out least.
    """
    tests = [_Test.of(leg, width, missed) for leg in path]
    while True:
        found = [test.ends(a, b) for test in tests]
        low, high = np.min([ends[0] for ends in found], axis=0), np.max([ends[1] for ends in found], axis=0)
        finer = [test.refine(low, high) for test in tests]
        if not any(finer):
            break
    outermost = (path[0].node(0), tests[0].width(0)), (path[-1].node(_CELLS), tests[-1].width(_CELLS))
    gaps = [np.abs(q * a - p * b) - wide for (q, p), wide in outermost]
    nearest = np.where(gaps[0] <= gaps[1], *(_value(node) for node, _ in outermost))
    ruled_out = low > high
    return np.where(ruled_out, nearest, low), np.where(ruled_out, nearest, high)


def _value(node: Node) -> float:
    """The quotient of a direction."""
    q, p = node
    return p / q if q else math.copysign(math.inf, p)


@dataclass
class _Test:
    """The test on one leg: the widths at some of its nodes, and the bound between them."""

    leg: Leg
    find: Callable[[Node], float]
    #: the half width of the noise of one step; None: the bound of two nodes is used
    step: float | None
    known: dict[int, float] = field(default_factory=dict)

    @classmethod
    def of(cls, leg: Leg, width: Width, missed: float) -> _Test:
        """The test with the better of the two bounds: a choice by public constants."""
        step = width(leg.step, _FOR_STEP * missed)
        near = cls(leg, lambda node: width(node, (1.0 - _FOR_STEP) * missed), step)
        if 0.5 * step <= _SMALL_STEP * min(near.width(0), near.width(_CELLS)):
            return near
        both = cls(leg, lambda node: width(node, 0.5 * missed), None)
        both.width(0), both.width(_CELLS)
        return both

    def width(self, place: int) -> float:
        """The half width at a node."""
        if place not in self.known:
            self.known[place] = self.find(self.leg.node(place))
        return self.known[place]

    def ends(self, a: Array, b: Array) -> tuple[Array, Array]:
        """The least and the largest quotient on this leg that is not ruled out."""
        places = np.array(sorted(self.known))
        widths = np.array([self.known[place] for place in places.tolist()])
        q, p = (self.leg.start[k] + self.leg.step[k] * places[:, None].astype(np.float64) for k in (0, 1))
        statistic = q * a - p * b
        low, high = np.zeros((places.size - 1, a.size)), np.ones((places.size - 1, a.size))
        for at_first, at_last in self._limits(widths, np.diff(places)):
            for sign in (1.0, -1.0):  # the limit less the statistic, and the limit plus the statistic, are at least 0
                above = at_first[:, None] - sign * statistic[:-1]
                _keep_positive(low, high, above, at_last[:, None] - sign * statistic[1:] - above)
        some = low <= high
        least, most = (_quotient(q, p, np.where(some, x, 0.0)) for x in (low, high))
        return np.where(some, least, np.inf).min(axis=0), np.where(some, most, -np.inf).max(axis=0)

    def _limits(self, widths: Array, gaps: Array) -> list[tuple[Array, Array]]:
        """Bounds of |statistic| between neighbouring nodes: each is linear, given by its values at both."""
        here, there = widths[:-1], widths[1:]
        if self.step is None:
            return [(here, there)]
        far = gaps * self.step
        return [(here, here + far), (there + far, there)]

    def refine(self, low: Array, high: Array) -> bool:
        """Compute the width in the middle of every cell in which an interval ends; is there one?"""
        places = sorted(self.known)
        nodes = [self.leg.node(place) for place in places]
        quotients = [_value(node) for node in nodes]
        ends = np.concatenate([low, high])
        wanted = [
            (i + j) // 2
            for (i, j), (first, last) in zip(pairwise(places), pairwise(quotients), strict=True)
            if j - i > 1 and ((ends >= first) & (ends <= last)).any()
        ]
        for place in wanted:
            self.width(place)
        return bool(wanted)


def _keep_positive(low: Array, high: Array, start: Array, rise: Array) -> None:
    """Cut the places from `low` to `high` in [0, 1] to those where start + x rise >= 0; none are left if low > high."""
    with np.errstate(divide="ignore", invalid="ignore"):
        cross = -start / rise
    np.copyto(low, np.maximum(low, cross), where=rise > 0.0)
    np.copyto(high, np.minimum(high, cross), where=rise < 0.0)
    np.copyto(low, 2.0, where=(rise == 0.0) & (start < 0.0))


def _quotient(q: Array, p: Array, x: Array) -> Array:
    """p/q at the places x between neighbouring nodes."""
    above, below = p[:-1] + x * np.diff(p, axis=0), q[:-1] + x * np.diff(q, axis=0)
    with np.errstate(divide="ignore"):
        return np.asarray(above / np.maximum(below, 0.0))
