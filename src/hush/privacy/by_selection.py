"""Choices (the exponential mechanism): the loss of each lies in an interval of known length (docs/maths/top.md).

The laws P and Q of a choice have log P(i)/Q(i) in an interval [t - r, t], where r is the range. The number t may depend
on the data and on earlier choices. With delta_0(e) = max(1 - e^e, 0), the worst delta of k choices is

    delta_k(e) = max over t in [0, r] of  p_t delta_(k-1)(e - t) + (1 - p_t) delta_(k-1)(e - t + r),

p_t = (1 - e^(t - r))/(1 - e^-r). It is computed on a grid of epsilons, with chords in e^e between its points. Between
two points of the grid the maximum over t is then bounded by that of a quadratic function.
"""

from __future__ import annotations

import math
from dataclasses import dataclass
from fractions import Fraction
from functools import lru_cache

import numpy as np
from numpy.lib.stride_tricks import sliding_window_view
from numpy.typing import NDArray

from hush.errors import Unsupported
from hush.noise.selection import Selection
from hush.numerics.bracket import Bracket
from hush.numerics.rounding import CLOSED_FORM, FEW_ROUNDINGS, SPARE, down, round_up, up
from hush.numerics.search import nudged, safe_secant
from hush.privacy.by_box import Pairs
from hush.privacy.charge import Charge
from hush.privacy.curve import Mirrored
from hush.privacy.sensitivity import Sensitivity
from hush.privacy.theorem_class import Theorem

__all__ = ["ONE_BY_ONE", "SELECTION", "Choices", "least_selection"]

Array = NDArray[np.float64]
_FINEST, _COARSEST = 32, 8  # cells of the grid in one range
_CELLS = 3200  # cells of the grid for all choices together
_LONGEST = 600.0  # the longest step whose exponential is a float
_LEAST, _LARGEST, _LEAST_DELTA = 1e-9, 1e3, 1e-100  # budgets for which Gumbel noise is calibrated
_FEW = 4  # choices for which composing one curve with itself may be the better bound
_MOST = _CELLS // _COARSEST  # choices in one grid; more are composed one by one


@dataclass(frozen=True)
class Choices(Mirrored):
    """The worst curve of `times` choices, each with this range, in which the data of each may depend on the others."""

    range: Fraction
    times: int = 1

    @property
    def pure_epsilon(self) -> float:
        return round_up(self.range * self.times)

    def _forward(self, epsilon: Array) -> Bracket:
        if self.times == 1:
            upper = up(_one_choice(np.asarray(epsilon, dtype=np.float64), round_up(self.range)), CLOSED_FORM)
            return Bracket(np.zeros_like(upper), np.minimum(upper, 1.0))
        step, values = _grid(round_up(self.range), self.times)
        # the curve is convex in e^epsilon and falls: a chord is above it, and so is a point further left
        place = np.minimum(down(np.asarray(epsilon, dtype=np.float64) / step, SPARE), float(values.size - 1))
        left = np.minimum(np.floor(place).astype(np.int64), values.size - 2)
        # beyond this step the point further left is taken: its share of the chord is 0
        inside = np.clip(place - left, 0.0, 1.0) if step <= _LONGEST else np.zeros_like(place)
        share = np.expm1(min(step, _LONGEST) * inside) / math.expm1(min(step, _LONGEST))
        found = up(values[left] + (values[left + 1] - values[left]) * share, CLOSED_FORM)
        upper = np.where(np.asarray(epsilon) >= self.pure_epsilon, 0.0, np.minimum(found, 1.0))
        return Bracket(np.zeros_like(upper), upper)


def _one_choice(epsilon: Array, length: float) -> Array:
    """delta of one choice, at any epsilon."""
    inside = np.expm1((np.clip(epsilon, -length, length) - length) / 2.0) ** 2 / -math.expm1(-length)
    return np.where(epsilon < -length, -np.expm1(epsilon), inside)


@lru_cache(maxsize=64)
def _grid(length: float, times: int) -> tuple[float, Array]:
    """The step of the grid, and delta at the epsilons 0, 1, 2, ... steps, up to where it is 0."""
    n = max(_COARSEST, min(_FINEST, _CELLS // times))
    step = up(length / n, FEW_ROUNDINGS)
    cells = np.arange(n + 1)
    whole = -math.expm1(-step * n)
    curvature = math.expm1(step) / whole
    high = -np.expm1(-step * (n - cells)) / whole  # the probability of the loss t
    low = np.exp(-step * (n - cells)) * -np.expm1(-step * cells) / whole
    values = up(_one_choice(step * np.arange((1.0 - times) * n, 3.0 * n + 1.0), step * n), CLOSED_FORM)
    for _ in range(times - 1):
        windows = sliding_window_view(values, 2 * n + 1)  # from a range below a point to a range above it
        near, far = windows[:, n::-1], windows[:, : n - 1 : -1]  # at e - t and at e - t + r, for each t
        values = up(_largest(near, far, high, low, step * n, curvature), CLOSED_FORM)
        values = np.concatenate([values, np.zeros(2 * n)])
    return step, np.minimum(values[: times * n + 1], 1.0)


def _largest(near: Array, far: Array, high: Array, low: Array, length: float, curvature: float) -> Array:
    """The largest of p near + (1 - p) far, with chords between the points of the grid."""
    ends = high * near + low * far
    # on a cell: at most a chord of the ends plus bend s(1 - s), 0 <= s <= 1 (docs/maths/top.md)
    bend = np.maximum(curvature * np.diff(near - math.exp(-length) * far, axis=1), 0.0)
    first, last = ends[:, :-1], ends[:, 1:]
    rise = np.abs(last - first)
    with np.errstate(divide="ignore", invalid="ignore"):
        inside = 0.5 * (first + last) + 0.25 * bend + np.where(bend > 0.0, rise**2 / (4.0 * bend), 0.0)
    best = np.where(rise < bend, inside, np.maximum(first, last))
    return np.asarray(best.max(axis=1))


def _range(charge: Charge) -> Fraction:
    """The length of the interval of losses of one choice."""
    bound, noise = charge.sensitivity, charge.noise
    assert isinstance(noise, Selection)
    return Fraction(max(bound.each_move)) / Fraction(noise.scale) * (1 if bound.one_sided is True else 2)


def _covers(charge: Charge) -> bool:
    """Is it a choice, and the largest move of a score is known?"""
    plain = charge.rate is None and charge.keys is None
    return isinstance(charge.noise, Selection) and plain and bool(charge.sensitivity.each_move)


def _pairs(charge: Charge) -> Pairs:
    """The curve of all choices together; of very many, that of one choice, composed."""
    length = _range(charge)
    if charge.times > _MOST:
        return [(Choices(length), charge.times)]
    return [(Choices(length, charge.times), 1)]


def _pure(charge: Charge) -> Fraction | None:
    return _range(charge)


def _renyi(charge: Charge, order: float) -> float:
    """order r^2/8 for a range r (Cesar and Rogers 2021; docs/maths/top.md has a proof)."""
    return up(order * float(_range(charge)) ** 2 / 8.0, FEW_ROUNDINGS)


SELECTION = Theorem(
    "selection",
    "the loss of each choice lies in an interval of known length, wherever it begins: the worst curve of all choices, "
    "each of which may depend on those before it (Durfee and Rogers 2019; Dong, Durfee and Rogers 2020)",
    ("durfee2019", "dongdurfee2020", "cesar2021"),
    covers=_covers,
    pairs=_pairs,
    renyi=_renyi,
    pure=_pure,
)
ONE_BY_ONE = Theorem(
    "selection, one by one",
    "few choices: the worst curve of one choice, composed with itself, which also covers choices that depend on each "
    "other",
    ("dongdurfee2020",),
    covers=lambda charge: _covers(charge) and 1 < charge.times <= _FEW,
    pairs=lambda charge: [(Choices(_range(charge)), charge.times)],
    alone=True,  # beside other charges the one curve of all choices is composed: every way would need a composition
)


@lru_cache(maxsize=64)
def least_selection(times: int, epsilon: float, delta: float, *, one_sided: bool = True) -> Selection:
    """The choices of least scale with which `times` of them meet the budget, among scores that a person moves by at
    most 1: all in one direction, or (`one_sided=False`) each in its own.
    """
    bound, range_ = Sensitivity(linf=1.0, dimension=1, one_sided=one_sided), 1 if one_sided else 2
    if not _LEAST <= epsilon <= _LARGEST or 0.0 < delta < _LEAST_DELTA:
        raise Unsupported(
            f"choices need an epsilon from {_LEAST:g} to {_LARGEST:g} and a delta that is 0 or at least "
            f"{_LEAST_DELTA:g}, got epsilon {epsilon:g} and delta {delta:g}."
        )
    pure = round_up(Fraction(range_ * times) / Fraction(epsilon))
    if delta == 0.0:
        return Selection(pure)

    def at(scale: float) -> float:
        from hush.privacy.compose import compose

        return float(np.asarray(compose([Charge(Selection(scale), bound, times=times)]).delta(epsilon)))

    def excess(log_scale: float) -> float:
        return math.log(max(at(math.exp(log_scale)), 1e-300) / delta)

    # range^2 times/8 is a bound in zCDP, and rho = epsilon^2/(4 (log 1/delta + epsilon)) is enough for the budget
    rho = epsilon**2 / (4.0 * (math.log(1.0 / delta) + epsilon))
    safe = min(pure, range_ * math.sqrt(times / (8.0 * rho)) * 1.05)
    unsafe = safe / 1.5
    while excess(math.log(unsafe)) <= 0.0:
        unsafe /= 1.5
    if excess(math.log(safe)) > 0.0:
        safe = pure
    near = math.exp(safe_secant(excess, math.log(unsafe), math.log(safe), relative=1e-6, near=1e-3))
    scale = nudged(lambda s: at(s) <= delta, near, first=1e-6, growth=4.0, turns=9)
    if scale is None:
        raise Unsupported("no scale of a choice could be certified for this budget; use a larger delta.")
    return Selection(min(scale, pure))
