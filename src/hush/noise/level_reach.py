"""How far a level noise reaches: all of its numbers at once, and weighted sums of them.

Given its level, such a noise is x_j = s + u_j in steps. The common part s is uniform on `shared` whole or half numbers
around 0, every u_j is uniform on `own` of them, and all of these are independent.

**All numbers.** Given the interval {-b, ..., a}, the numbers lie in {-k, ..., k} with probability (o/own)^d, where o
counts the common points of the two. The mean over s is a sum over the points of s, which has a closed form or one
running sum.

**A weighted sum, exactly.** With whole weights the sum is a whole number. Its characteristic function is the mean over
the levels of a product of ratios sin(n t/2)/(n sin(t/2)), and a Fourier transform inverts it. Mass that wraps round,
levels beyond the table and the error of floats count as outside.

**On a coarser lattice.** Where that is too much work, s and u_j become uniform on real intervals of `shared` and `own`
steps, which moves each by at most half a step. Wider intervals only make |sum| larger in distribution (Birnbaum
1948: the terms are symmetric and unimodal). Intervals of an odd number of coarse steps are whole numbers of coarse
steps plus at most half of one. So the law of a sum on the coarse lattice is a bound, with (1 + factor)/2 steps for each
unit of weight added.

**A weighted sum, by a bound.** A uniform law on n equally spaced points around 0 satisfies
E e^(tu) <= e^(t^2 v/2) with its own variance v. (With g(z) = z^2/6 - log(sinh(z)/z), which grows because
coth z - 1/z <= z/3, the logarithm of E e^(tu) is t^2 (n^2 - 1)/24 - g(n t/2) + g(t/2).) So does a sum of independent
ones, and P(|sum| > t | level) <= 2 e^(-t^2/(2 v)) with the variance v of the sum given the level.
"""

from __future__ import annotations

import math
from collections.abc import Callable
from dataclasses import dataclass, replace
from fractions import Fraction

import numpy as np
from numpy.typing import NDArray

from hush.numerics import special
from hush.numerics.arrays import distinct
from hush.numerics.rounding import CLOSED_FORM, SPECIAL_FUNCTION, down, round_up, up
from hush.numerics.search import first_true, safe_end

__all__ = ["MOST_WORK", "LevelTable", "fourier_reach", "reach_of_all", "reach_of_sum", "whole_weights"]

Array = NDArray[np.float64]
Whole = NDArray[np.int64]

#: Values of a characteristic function that are computed at most; that takes about a second.
MOST_WORK = 1 << 25
_MOST_LEVELS = 1 << 20
_UNITS = (400, 64, 16)  # units in the largest weight, at most
_FACTORS = (1, 2, 4, 8, 16, 32, 64, 128, 256)  # steps in a step of a coarser lattice
_WRAPPED = 1e-12  # probability that may wrap round in a Fourier transform
_BLOCK = 1 << 20  # numbers in one array
_RARE = 1e-7  # below this probability the error of Fourier transforms counts, and the bound is used


@dataclass(frozen=True)
class LevelTable:
    """The levels of a noise of `dimension` numbers, in steps.

    chance: their probabilities, not too small. own, shared: how many points the parts u_j and s have. missing: the
    probability of all other levels, at most.
    """

    dimension: int
    chance: Array
    own: Array
    shared: Array
    missing: float

    def common(self, probability: float) -> LevelTable:
        """The likeliest levels, so that the others have at most this probability together."""
        order = np.argsort(self.chance, kind="stable")
        rare = order[: int(np.searchsorted(np.cumsum(self.chance[order]), down(probability, SPECIAL_FUNCTION)))]
        kept = np.setdiff1d(np.arange(self.chance.size), rare)
        lost = up(float(self.chance[rare].sum()), SPECIAL_FUNCTION)
        return LevelTable(self.dimension, self.chance[kept], self.own[kept], self.shared[kept], self.missing + lost)

    def coarser(self, factor: int) -> LevelTable:
        """The levels on a lattice of `factor` steps: the least odd numbers of points that are at least as wide."""
        if factor == 1:
            return self
        own, shared = (2.0 * np.ceil(0.5 * (np.ceil(part / factor) - 1.0)) + 1.0 for part in (self.own, self.shared))
        both, place = np.unique(own + 1j * shared, return_inverse=True)
        chance = np.bincount(place, weights=self.chance).astype(np.float64)
        return LevelTable(self.dimension, chance, both.real, both.imag, self.missing)


# -- all numbers at once -------------------------------------------------------------------------------------


def reach_of_all(table: LevelTable, probability: float) -> int | None:
    """The least k with P(some |x_j| > k) <= probability, in steps; None if the table is too coarse or too long."""
    if table.chance.size > _MOST_LEVELS:
        return None
    last = math.ceil(float(np.max(table.own + table.shared)) / 2.0)
    found = first_true(0, last, lambda k: _outside(table, k) <= probability)
    return found if found <= last else None


def _outside(table: LevelTable, k: int) -> float:
    """An upper bound on P(some |x_j| > k)."""
    n, m, d = table.own, table.shared, table.dimension
    base = (n - m) / 2.0  # the interval of the i-th point of s is {-(base + m - 1 - i), ..., base + i}
    past = np.maximum(k - base, -1.0)  # points of s that keep one end within k
    both = np.clip(m - 2.0 * past - 2.0, 0.0, m)  # points of s for which both ends lie beyond k
    one = np.clip(np.minimum(past, m - past - 2.0) + 1.0, 0.0, m)  # points for which only the upper end does
    mean = both * -np.expm1(d * np.log((2.0 * k + 1.0) / n).clip(max=0.0))
    for start in distinct(base[one > 0.0]):
        rows = np.flatnonzero((base == start) & (one > 0.0))
        powers = d * np.log(k + start + 1.0 + np.arange(one[rows].max()))
        sums = np.logaddexp.accumulate(powers)[one[rows].astype(np.int64) - 1]
        mean[rows] += 2.0 * np.maximum(one[rows] - np.exp(sums - d * np.log(n[rows])), 0.0)
    at_risk = (both > 0.0) | (one > 0.0)
    rounding = SPECIAL_FUNCTION.share * float(table.chance[at_risk].sum())  # of the differences above
    return up(float((table.chance * mean / m).sum()), SPECIAL_FUNCTION) + rounding + table.missing


# -- weighted sums -------------------------------------------------------------------------------------------


def reach_of_sum(table: LevelTable, weights: Array, probability: float) -> float | None:
    """A t with P(|weights . x| > t) <= probability, in steps; None if the table is too coarse or too long."""
    if table.chance.size > _MOST_LEVELS:
        return None
    bound = _by_variance(table, weights, probability)
    if bound is None or probability < _RARE:
        return bound
    exact = _by_fourier(table.common(_WRAPPED), weights, probability)
    return bound if exact is None else min(bound, exact)


def _by_variance(table: LevelTable, weights: Array, probability: float) -> float | None:
    """The reach by the bound 2 e^(-t^2/(2 v)) at every level."""
    squares, total = float((weights**2).sum()), float(weights.sum()) ** 2
    variance = (squares * (table.own**2 - 1.0) + total * (table.shared**2 - 1.0)) / 12.0
    allowed = down(probability - table.missing, SPECIAL_FUNCTION)
    if allowed <= 0.0:
        return None
    variance = up(variance, SPECIAL_FUNCTION)

    def holds(reach: float) -> bool:
        with np.errstate(divide="ignore", invalid="ignore"):
            beyond = np.where(variance > 0.0, 2.0 * np.exp(-0.5 * reach**2 / variance), 0.0)
        return float((table.chance * np.minimum(beyond, 1.0)).sum()) <= allowed

    surely = math.sqrt(2.0 * float(variance.max()) * math.log(2.0 / allowed))
    return up(safe_end(holds, 0.0, surely, relative=SPECIAL_FUNCTION.share), SPECIAL_FUNCTION)


def _by_fourier(table: LevelTable, weights: Array, probability: float) -> float | None:
    """The reach by the law of a sum with whole weights near the given ones, on the lattice or on a coarser one.

    Of the choices that are little work, the one with the least addition to the width is used; None if there is none.
    """
    share = 0.001 * probability  # for |x_j| beyond `most`, where the weights are not exactly whole
    most = reach_of_all(table, share)
    best: tuple[float, _Plan] | None = None
    for factor in _FACTORS:
        coarse = table.coarser(factor)
        for units in _UNITS:
            plan = _plan(coarse, weights, units)
            if plan is None or most is None:
                continue
            size = plan.unit * float(np.abs(plan.whole).sum() + abs(plan.whole.sum()))
            added = plan.off * most + (0.0 if factor == 1 else 0.5 * (1 + factor) * size)
            if best is None or added < best[0]:
                best = added, replace(plan, unit=plan.unit * factor)
        if best is not None and best[1].off == 0.0:
            break  # coarser lattices only add more
    if best is None:
        return None
    added, plan = best
    allowed = probability - (share if plan.off > 0.0 else 0.0) - 2.0 * (table.missing + _WRAPPED)
    found = fourier_reach(lambda k: _transform(plan.table, plan.whole, k, plan.points), plan.points, allowed)
    if found is None or added > 0.0:
        return None if found is None else up(found * plan.unit + added, CLOSED_FORM)
    return round_up(found * Fraction(plan.unit))


@dataclass(frozen=True)
class _Plan:
    """The sum of whole * x, times `unit`, differs from the weighted sum by at most `off` times the largest |x_j|."""

    table: LevelTable
    whole: Whole
    unit: float
    off: float
    points: int


def _plan(table: LevelTable, weights: Array, units: int) -> _Plan | None:
    """Weights of at most `units` units, and the length of the Fourier transform; None if it is too much work."""
    if table.chance.size > MOST_WORK >> 6:
        return None
    whole, unit, off = whole_weights(weights, units)
    furthest = _by_variance(table, whole.astype(np.float64), _WRAPPED + table.missing)
    if furthest is None:
        return None
    points = 1 << math.ceil(math.log2(2.0 * furthest + 4.0))
    kinds = distinct(np.abs(whole[whole != 0])).size + 1
    return _Plan(table, whole, unit, off, points) if points * table.chance.size * kinds <= 2 * MOST_WORK else None


def whole_weights(weights: Array, units: int) -> tuple[Whole, float, float]:
    """(whole, unit, off): weights = whole * unit but for `off`, the sum of all absolute differences.

    The unit is the largest weight divided by the first number up to `units` that leaves nothing, else by `units`.
    """
    largest = float(np.abs(weights).max())
    for count in range(1, units + 1):
        unit = largest / count
        whole = np.rint(weights / unit)
        rest = float(np.abs(weights - whole * unit).sum())
        if rest <= CLOSED_FORM.share * largest:
            break
    exact = all(Fraction(w) == int(n) * Fraction(unit) for w, n in zip(weights.tolist(), whole.tolist(), strict=True))
    return whole.astype(np.int64), unit, 0.0 if exact else up(rest, SPECIAL_FUNCTION) + CLOSED_FORM.share * largest


def fourier_reach(transform: Callable[[Whole], Array], points: int, allowed: float) -> int | None:
    """The least t with P(|S| > t) <= allowed for a symmetric whole S; None if there is none below `points`/2.

    transform(k) is E cos(2 pi k S/points). The caller subtracts from `allowed` what lies beyond `points`/2.
    """
    rows = max(1, _BLOCK // 64)
    places = np.arange(points // 2 + 1)
    parts = [transform(places[start : start + rows]) for start in range(0, places.size, rows)]
    mass = np.maximum(special.irfft(np.concatenate(parts), points), 0.0)
    folded = mass[: points // 2].copy()
    folded[1:] += mass[points // 2 + 1 :][::-1]
    beyond = np.append(np.cumsum(folded[:0:-1])[::-1], 0.0)  # P(|S| > t) for t = 0, 1, ...
    close = np.flatnonzero(up(beyond, SPECIAL_FUNCTION) + SPECIAL_FUNCTION.share <= allowed)
    return int(close[0]) if close.size else None


def _transform(table: LevelTable, whole: Whole, k: Whole, points: int) -> Array:
    """E cos(2 pi k S/points) of S = whole . x, the mean over the levels; `points` is a power of two."""
    rows = max(1, _BLOCK // table.chance.size)
    kinds, times = np.unique(np.abs(whole[whole != 0]), return_counts=True)
    sines = np.sin(np.pi / points * np.arange(2 * points))
    parts = []
    for start in range(0, k.size, rows):
        part = k[start : start + rows]
        product = _ratio(part * abs(int(whole.sum())), table.shared, sines)
        for kind, count in zip(kinds.tolist(), times.tolist(), strict=True):
            product *= _power(_ratio(part * kind, table.own, sines), count)
        parts.append(product @ table.chance)
    return np.concatenate(parts)


def _ratio(place: Whole, count: Array, sines: Array) -> Array:
    """sin(n h)/(n sin h) at h = pi place/points, for each place (rows) and each n of `count` (columns).

    `sines` lists sin(pi j/points) for j below 2 points. Multiples of pi are removed in whole numbers: h + pi changes
    the sign of the ratio if n is even.
    """
    points = sines.size // 2
    rest, turns = place & (points - 1), place // points
    with np.errstate(divide="ignore", invalid="ignore"):
        value = sines[(rest[:, None] * count.astype(np.int64)) & (2 * points - 1)] / (count * sines[rest][:, None])
    value[rest == 0] = 1.0
    odd = np.flatnonzero(turns % 2)
    value[np.ix_(odd, np.flatnonzero(count % 2 == 0))] *= -1.0
    return np.asarray(value)


def _power(x: Array, exponent: int) -> Array:
    """x to a whole power, by squaring."""
    result: Array | None = None
    while exponent:
        if exponent & 1:
            result = x.copy() if result is None else result * x
        exponent >>= 1
        x = x * x if exponent else x
    assert result is not None
    return result
