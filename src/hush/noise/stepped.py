"""Any symmetric step density on equal cells: what numerically optimal noise looks like."""

from __future__ import annotations

import math
from dataclasses import dataclass
from functools import cached_property, lru_cache
from typing import Any

import numpy as np
from numpy.typing import NDArray

from hush.errors import InvalidParameter, Unsupported, positive, reals, whole, within
from hush.noise.contract import Law
from hush.noise.family import Family, Reference, Request, Short
from hush.noise.stepped_exact import tail
from hush.noise.stepped_heights import CELLS, cut_staircase, exposed
from hush.noise.steps import MOST_PIECES, Pieces, Steps
from hush.numerics.rounding import CLOSED_FORM, down

__all__ = ["FAMILY", "Stepped"]

Array = NDArray[np.float64]

_LARGEST_RATIO = 0.999999999999  # of a height to the one a period before: below 1, so that a geometric tail has a sum


@dataclass(frozen=True)
class Stepped(Steps):
    """A symmetric piecewise-constant density: cell i of the half line, [i width, (i + 1) width), has density
    proportional to heights[i].

    With ratio = 0 the law ends after the last cell. With 0 < ratio < 1 the last `period` cells recur for ever, each
    time multiplied by ratio. A staircase with gamma = j/n is Stepped(Delta/n, (1,)*j + (e^-eps,)*(n-j), ratio=e^-eps,
    period=n).

    Guarantees: exact delta for every shift; where the heights are not falling, smaller shifts can be worse, and the
    curve checks all.

    >>> Stepped(1.0, (2.0, 1.0)).cdf([0.0, 1.0, 2.0]).round(12).tolist()
    [0.5, 0.833333333333, 1.0]
    """

    width: float
    heights: tuple[float, ...]
    ratio: float = 0.0
    period: int = 1

    def __post_init__(self) -> None:
        hint = "write Stepped(width=0.5, heights=(3.0, 2.0, 1.0))"
        object.__setattr__(self, "width", positive("width", self.width, hint))
        heights = reals("heights", self.heights)
        if (
            heights.ndim != 1
            or heights.size == 0
            or not (np.isfinite(heights) & (heights >= 0.0)).all()
            or heights.max() <= 0.0
        ):
            raise InvalidParameter(f"heights must be a sequence of finite numbers, 0 or greater and not all 0; {hint}.")
        object.__setattr__(self, "heights", tuple(float(h) for h in heights))
        object.__setattr__(self, "ratio", within("ratio", self.ratio, 0.0, _LARGEST_RATIO, hint))
        period = whole("period", self.period, 1, hint)
        if period > heights.size:
            raise InvalidParameter(
                f"period must be at most the number of heights, {heights.size}, got {period}; {hint}."
            )
        object.__setattr__(self, "period", period)

    def __str__(self) -> str:
        """A line, however many heights there are (repr has them all)."""
        tail = f", ratio={self.ratio:g}, period={self.period}" if self.ratio > 0.0 else ""
        return f"Stepped(width={self.width:g}, {len(self.heights)} heights{tail})"

    @cached_property
    def _log_heights(self) -> Array:
        """log density of the listed cells, for a unit width."""
        h = np.array(self.heights)
        total = math.fsum(h) + math.fsum(h[-self.period :]) * self.ratio / (1.0 - self.ratio)
        with np.errstate(divide="ignore"):
            return np.log(h) - math.log(2.0 * total)

    @property
    def unimodal(self) -> bool:
        """Do the heights never rise, the recurrence included?"""
        h = np.append(self.heights, self.heights[-self.period] * self.ratio)
        return bool((np.diff(h) <= 0.0).all())

    @property
    def support(self) -> float:
        return math.inf if self.ratio > 0.0 else len(self.heights) * self.width

    def _log_cell(self, cell: Array) -> Array:
        """log density of cell numbers 0, 1, 2, ... for a unit width."""
        n = len(self.heights)
        past = np.maximum(cell - (n - self.period), 0.0)
        rounds = np.floor(past / self.period)
        inside = np.clip(
            past - rounds * self.period, 0.0, self.period - 1.0
        )  # beyond 2^53 cells floats do not tell cells apart
        index = np.where(cell < n, cell, n - self.period + inside).astype(np.int64)
        if self.ratio == 0.0:
            return np.where(cell < n, self._log_heights[np.minimum(index, n - 1)], -np.inf)
        with np.errstate(invalid="ignore"):
            return self._log_heights[index] + np.where(cell < n, 0.0, rounds * math.log(self.ratio))

    def log_density(self, x: Array) -> Array:
        far = np.isinf(x)
        cell = np.floor(np.abs(np.where(far, 0.0, x)) / self.width)
        return np.where(far, -np.inf, self._log_cell(cell) - math.log(self.width))

    @cached_property
    def _beyond(self) -> Array:
        """P(X > i width) for i = 0 .. number of cells, summed from the outside in."""
        mass = np.exp(self._log_heights)
        tail = mass[-self.period :].sum() * self.ratio / (1.0 - self.ratio)
        return np.append(np.cumsum(np.append(tail, mass[::-1]))[::-1][:-1], tail)

    def _sf_units(self, u: Array) -> Array:
        """(log of) P(X > u width) for u >= 0."""
        n = len(self.heights)
        past = np.maximum(np.floor((u - n) / self.period) + 1.0, 0.0) if self.ratio > 0.0 else np.zeros_like(u)
        folded = np.minimum(u - past * self.period, float(n))
        cell = np.minimum(np.floor(folded), n - 1.0).astype(np.int64)
        part = np.clip(cell + 1.0 - folded, 0.0, 1.0)
        with np.errstate(divide="ignore"):
            log_sf = np.log(self._beyond[cell + 1] + part * np.exp(self._log_heights[cell]))
        return log_sf + (past * math.log(self.ratio) if self.ratio > 0.0 else 0.0)

    def log_tail(self, x: Array) -> Array:
        far = np.isinf(x)
        return np.where(far, -np.inf, self._sf_units(np.where(far, 0.0, x) / self.width))

    def inverse_tail(self, v: Array) -> Array:
        n = len(self.heights)
        asked = v = np.asarray(v, dtype=np.float64)
        past = np.zeros_like(v)
        if self.ratio > 0.0:
            end = self._beyond[-1]
            past = np.where(v < end, np.floor(np.log(np.minimum(v / end, 1.0)) / math.log(self.ratio)) + 1.0, 0.0)
            v = np.exp(np.log(v) - past * math.log(self.ratio))
        cell = np.clip(np.searchsorted(-self._beyond, -v, side="right") - 1, 0, n - 1)
        mass = np.exp(self._log_heights[cell])
        part = np.divide(v - self._beyond[cell + 1], mass, out=np.zeros_like(v), where=mass > 0.0)
        x = (cell + 1.0 - np.clip(part, 0.0, 1.0) + past * self.period) * self.width
        return np.where(asked >= 0.5, 0.0, x)  # the median, whatever rounding made of one half

    # -- privacy ---------------------------------------------------------------------------------------------

    @property
    def recurrence(self) -> float:
        return self.period * self.width

    def pieces(self, shift: float) -> Pieces:
        return _pieces(self, shift)

    def worst_shifts(self, shift: float) -> tuple[float, ...]:
        """Where the heights rise somewhere, every whole number of cells too: between whole cells the divergence is
        linear.
        """
        if self.unimodal:
            return (shift,)
        cells = math.floor(shift / self.width)
        if cells > MOST_PIECES // 100:
            raise Unsupported(
                f"a shift of {shift:g} spans too many cells of {self.width:g} to check each smaller shift."
            )
        return (*(k * self.width for k in range(1, cells + 1) if k * self.width < shift), shift)

    # -- moments ---------------------------------------------------------------------------------------------

    def _moment(self, power: int) -> float:
        """2 sum over cells of height times the integral of x^power, recurring cells summed in closed form."""
        i = np.arange(len(self.heights), dtype=np.float64)
        mass = np.exp(self._log_heights)
        total = float(np.sum(mass * _cell_moment(i, power)))
        if self.ratio > 0.0:
            q, p = self.ratio, float(self.period)
            s0, s1, s2 = (
                q / (1 - q),
                q / (1 - q) ** 2,
                q * (1 + q) / (1 - q) ** 3,
            )  # sums of q^r, r q^r, r^2 q^r over r >= 1
            last, tail = i[-self.period :], mass[-self.period :]
            if power == 1:
                total += float(np.sum(tail * (_cell_moment(last, 1) * s0 + p * s1)))
            else:
                total += float(
                    np.sum(tail * (_cell_moment(last, 2) * s0 + 2.0 * p * _cell_moment(last, 1) * s1 + p * p * s2))
                )
        return 2.0 * total * self.width**power

    @property
    def variance(self) -> float:
        return self._moment(2)

    @property
    def mean_abs(self) -> float:
        return self._moment(1)

    @property
    def fisher_information(self) -> float:
        """Infinite: the density jumps."""
        return math.inf

    @property
    def subgaussian_proxy(self) -> float:
        """support^2 by Hoeffding's lemma, infinite with a geometric tail."""
        return self.support**2

    @property
    def kinks(self) -> tuple[float, ...]:
        rounds = 60 if self.ratio > 0.0 else 0
        return tuple(float(k) * self.width for k in range(1, len(self.heights) + rounds * self.period + 1))

    def breaks(self, reach: float, most: int) -> Array | None:
        count = math.ceil(min(reach, self.support) / self.width) + 1.0
        return None if count > most else np.arange(1.0, count) * self.width

    def scaled(self, k: float) -> Stepped:
        return self.scaled_by(k, "width")


def _cell_moment(i: Array, power: int) -> Array:
    """The integral of x^power over the unit cell [i, i + 1)."""
    return i + 0.5 if power == 1 else i * i + i + 1.0 / 3.0


@lru_cache(maxsize=256)
def _pieces(noise: Stepped, shift: float) -> Pieces:
    """Cells against shifted cells: with shift = (n + t) widths every breakpoint is a whole number of widths, or t
    beyond one.
    """
    n = round((shift - math.fmod(shift, noise.width)) / noise.width)
    t = math.fmod(shift, noise.width) / noise.width
    listed = len(noise.heights)
    if n + listed > MOST_PIECES:
        raise Unsupported(f"a shift of {shift:g} spans too many cells of {noise.width:g}; use a wider cell.")
    recurring = noise.period if noise.ratio > 0.0 else 0
    k = np.arange(float(listed + recurring))
    weight = np.where(k >= listed, 1.0 / (1.0 - noise.ratio), 1.0)
    # both points on one side: u in [k, k + 1 - t) faces cell k + n, the rest faces k + n + 1
    outer = [(k, k + 1.0 - t, k, k + n, weight), (k + 1.0 - t, k + 1.0, k, k + n + 1.0, weight)]
    j = np.arange(n + 1.0)
    one = np.ones(n + 1)
    # between the centres: x in [j, j + t) faces cell n - j, x in [j + t, j + 1) faces n - j - 1
    inner = [(j, j + t, j, n - j, one), (j[:-1] + t, j[1:], j[:-1], n - j[:-1] - 1.0, one[:-1])]

    def row(lower: Any, upper: Any, here: Array, there: Array, w: Array) -> tuple[Array, ...]:
        mine, other = noise._log_cell(here), noise._log_cell(there)
        with np.errstate(invalid="ignore"):
            loss = np.where(np.isneginf(mine), -np.inf, mine - other)
        return lower * noise.width, upper * noise.width, mine - math.log(noise.width), loss, w

    rows = [row(-u1, -u0, a, b, w) for u0, u1, a, b, w in outer]
    rows += [row(x0, x1, a, b, w) for x0, x1, a, b, w in inner]
    rows += [row(n + t + u0, n + t + u1, b, a, w) for u0, u1, a, b, w in outer]
    columns = [np.concatenate(c) for c in zip(*rows, strict=True)]
    keep = columns[1] > columns[0]
    return Pieces(*(c[keep] for c in columns))


# -- calibration: a staircase cut off where delta allows -----------------------------------------------------


def _noise(request: Request) -> Law:
    """Nearly the optimum of the linear programme, without solving it (one number only)."""
    if not request.plain or request.count != 1 or request.step is not None:
        raise Unsupported("step noise is calibrated for one number only")
    if request.delta == 0.0:
        raise Unsupported("without delta the step noise is the staircase")
    edge = math.log1p(math.expm1(min(request.epsilon, 700.0)) / (2.0 * request.delta)) / request.epsilon
    if edge * CELLS > 50_000:
        raise Unsupported("epsilon is too small for step noise; the truncated Laplace is as good there")
    best: tuple[float, Law] | None = None
    cells = math.ceil((edge + 2.0) * CELLS) + CELLS
    for first in range(0, CELLS + 1, 2):
        heights = cut_staircase(request.epsilon, first, cells)
        enough = np.flatnonzero(exposed(heights) <= down(request.delta, CLOSED_FORM))
        if not enough.size:
            continue
        noise = Stepped(request.shift / CELLS, tuple(heights[: int(enough[0]) + 1]))
        value = request.value(noise)
        if best is None or value < best[0]:
            best = (value, noise)
    if best is None or not request.meets(best[1]):
        raise Unsupported("step noise could not be certified for this budget")
    return best[1]


def _numbers(noise: Stepped) -> list[float]:
    """How many cells are on the first step, and how many there are in all."""
    heights = np.asarray(noise.heights)
    return [int(np.count_nonzero(heights[:CELLS] == 1.0)), heights.size]


def _from_numbers(epsilon: float, numbers: list[float]) -> Stepped:
    first, cells = (int(value) for value in numbers)
    return Stepped(1.0 / CELLS, tuple(cut_staircase(epsilon, first, cells)))


FAMILY = Family(
    "stepped",
    Stepped,
    paper="this project",
    vectors=False,
    cites=("hush",),
    calibrate=_noise,
    tail=lambda noise: tail(noise.width, noise.heights, noise.ratio, noise.period),
    reference=Reference(Stepped(0.5, (3.0, 2.0, 1.0)), 0.5, 0.36260656077498932),
    short=Short(_numbers, _from_numbers),
)
