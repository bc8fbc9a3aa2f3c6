"""Half widths of weighted sums of the numbers of one joint draw, where these numbers have different intervals.

Given its level u, a joint noise is a sum of independent uniform variables: the middle of the interval, times a factor
for each number, and each number's distance from it (`half_widths_given`). So a weighted sum is, given u, a sum of at
most a few independent uniforms, and P(|sum| > w) has a closed form,

    P(S > w) = 1/(n! 2^n a_1 ... a_n) times the sum over signs s of s_1 ... s_n max(s_1 a_1 + ... + s_n a_n - w, 0)^n,

for uniforms on [-a_j, a_j]. The half width is the least w at which the average over the levels is 1 - level.

Guarantees: P(|sum| <= w) >= level. Three steps make the probability of a miss larger, never smaller. (1) A lattice
variable is replaced by a continuous one: it differs by at most half a step, which is added to w. (2) The level is
rounded up to one of a few hundred nodes. All half widths grow with the level, and a sum of independent symmetric
unimodal variables becomes less peaked if one of them does (Birnbaum 1948), so P(|S| > w) grows with the level. (3) A
uniform that is far narrower than the widest one is replaced by its largest absolute value, which is added to w. Levels
beyond the last node, and the rounding errors of the formula, are treated as a miss.
"""

from __future__ import annotations

import itertools
import math
from typing import Any, Protocol

import numpy as np
from numpy.typing import NDArray

from hush.numerics.arrays import distinct
from hush.numerics.rounding import SUM_OF_POSITIVE_TERMS
from hush.numerics.search import first_true_from

__all__ = ["joint_half_widths"]

Array = NDArray[np.float64]
_NODES = 256
_NARROW = 1e-3  # relative to the widest uniform; narrower ones are bounded by their largest value
_OUTSIDE = 0.002  # share of 1 - level: the probability of levels beyond the last node
_HALVINGS = 27
_NEGLIGIBLE = 1e-4  # relative to the probability of a miss: rounding errors that floats may have
_MOST = 1 << 40  # levels


class Levels(Protocol):
    """What is needed of a noise: the law of its level, and the half widths of its numbers given the level."""

    @property
    def middle_factors(self) -> Array: ...

    def half_widths_given(self, level: Array) -> tuple[Array, Array]: ...

    def log_level_tail(self, level: Array) -> Array: ...


def joint_half_widths(noise: Levels, factors: Array, level: float) -> Array:
    """For each row of `factors` the w with P(|sum of factor times number| <= w) >= level, for numbers in steps."""
    missed = 1.0 - level
    nodes, share = _level_nodes(noise, _OUTSIDE * missed)
    around, middle = noise.half_widths_given(nodes)
    size = np.abs(factors)
    through_middle = np.abs(factors @ noise.middle_factors)  # the middle of all intervals drops out of differences
    widths = np.concatenate([size[:, None, :] * around, (through_middle[:, None] * middle)[:, :, None]], axis=2)
    allowed = missed * (1.0 - _OUTSIDE - _NEGLIGIBLE) - SUM_OF_POSITIVE_TERMS.share
    found = np.zeros(len(factors))
    narrow_share = _narrow_share(int((widths[:, -1, :] > 0.0).sum(axis=1).max()), missed)
    kept = widths[:, -1, :] > narrow_share * widths[:, -1, :].max(axis=1, keepdims=True)
    for pattern in {tuple(row) for row in kept.tolist()}:
        rows = np.flatnonzero((kept == pattern).all(axis=1))
        wide, narrow = widths[rows][:, :, list(pattern)], widths[rows][:, :, [not k for k in pattern]].sum(axis=2)
        if wide.shape[2]:
            wide = np.maximum(wide, narrow_share * wide.max(axis=2, keepdims=True))  # wider is on the safe side
            found[rows] = _least(wide, narrow, share, allowed)
    lattice = size @ (around[-1] > 0.0).astype(np.float64) + through_middle
    return found + 0.5 * lattice


def _narrow_share(count: int, missed: float) -> float:
    """The share of the widest uniform below which a uniform counts as narrow.

    The terms of P(S > w) cancel. Their rounding errors add up to at most (n + 2) n^n/n! units in the last place,
    divided by r^(n-1) if every half width is at least r times the widest. r keeps this below a small part of 1 - level.
    """
    if count < 2:
        return _NARROW
    units = (count + 2) * count**count / math.factorial(count) * float(np.finfo(np.longdouble).eps)
    return max(_NARROW, (units / (_NEGLIGIBLE * missed)) ** (1.0 / (count - 1)))


def _level_nodes(noise: Levels, outside: float) -> tuple[Array, Array]:
    """Levels, the last of which is exceeded with probability at most `outside`, and the probability of each cell up to
    its node.
    """

    def exceeded(k: int) -> float:
        return float(np.exp(noise.log_level_tail(np.array([float(k)])))[0])

    last = first_true_from(1, _MOST, lambda k: exceeded(k) <= outside)
    assert last is not None
    nodes = distinct(np.ceil(np.linspace(0.0, float(last), _NODES + 1)))
    beyond = np.exp(noise.log_level_tail(nodes))
    return nodes, np.concatenate([[1.0 - beyond[0]], beyond[:-1] - beyond[1:]])


def _least(wide: Array, narrow: Array, share: Array, allowed: float) -> Array:
    """The least w with an average of P(|S| > w - narrow) of at most `allowed`, from above, by halving."""
    low, high = np.zeros(len(wide)), wide[:, -1, :].sum(axis=1) + narrow[:, -1]
    ratio, count = float((wide.min(axis=2) / wide.max(axis=2)).min()), wide.shape[2]
    units = (count + 2) * count**count / math.factorial(count) * np.finfo(np.float64).eps
    terms = _Terms(wide.astype(np.float64 if units <= _NEGLIGIBLE * allowed * ratio ** (count - 1) else np.longdouble))
    for _ in range(_HALVINGS):
        w = 0.5 * (low + high)
        misses = np.minimum(2.0 * terms.beyond(np.maximum(w[:, None] - narrow, 0.0)), 1.0) @ share
        low, high = np.where(misses > allowed, w, low), np.where(misses > allowed, high, w)
    return high


class _Terms:
    """P(S > w) for sums of uniforms, for many sums at once, in the precision of their half widths: terms cancel."""

    def __init__(self, widths: NDArray[Any]) -> None:
        count = widths.shape[2]
        signs = np.array(list(itertools.product((1.0, -1.0), repeat=count)), dtype=widths.dtype)
        reach = np.einsum("rln,sn->rls", widths, signs)
        useful = (reach > 0.0).any(axis=(0, 1))
        self._reach, self._sign, self._count = reach[:, :, useful], signs.prod(axis=1)[useful], count
        self._scale = math.factorial(count) * 2.0**count * widths.prod(axis=2)

    def beyond(self, w: Array) -> Array:
        left = np.maximum(self._reach - w[:, :, None], 0.0)
        powers = left
        for _ in range(self._count - 1):
            powers = powers * left
        return np.maximum((powers @ self._sign) / self._scale, 0.0).astype(np.float64)
