"""Step noise: any symmetric density that is constant on cells of equal width.

Numerically optimal noise has this form. The numerics in units of the cell width are in stepped_cells.py.
"""

from __future__ import annotations

import math
from dataclasses import dataclass
from functools import cached_property, lru_cache
from typing import Any

import numpy as np
from numpy.typing import NDArray

from hush.errors import InvalidParameter, Unsupported, positive, reals, whole, within
from hush.noise.contract import Law
from hush.noise.family import Family, Reference, Short
from hush.noise.request import Request
from hush.noise.stepped_cells import Cells
from hush.noise.stepped_exact import tail
from hush.noise.stepped_heights import CELLS, cut_staircase, exposed
from hush.noise.steps import MOST_PIECES, Pieces, Steps
from hush.numerics.rounding import CLOSED_FORM, down

__all__ = ["FAMILY", "Stepped"]

Array = NDArray[np.float64]

_LARGEST_RATIO = 0.999999999999  # below 1, so that the sum of the repeated cells is finite


@dataclass(frozen=True)
class Stepped(Steps):
    """A symmetric piecewise-constant density on cells of equal width.

    f(x) is proportional to heights[i] for i width <= |x| < (i + 1) width. With ratio = 0 the density is 0 after the
    last cell. With 0 < ratio < 1 the last `period` cells are repeated for ever, each time multiplied by ratio. A
    staircase with gamma = j/n is Stepped(Delta/n, (1,)*j + (e^-eps,)*(n-j), ratio=e^-eps, period=n).

    Guarantees: exact delta for every shift. Where the heights rise somewhere, a smaller shift can be worse; the curve
    then takes the maximum over all shifts.

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
        """Return one short line without the heights; `repr` lists them."""
        tail = f", ratio={self.ratio:g}, period={self.period}" if self.ratio > 0.0 else ""
        return f"Stepped(width={self.width:g}, {len(self.heights)} heights{tail})"

    @cached_property
    def _cells(self) -> Cells:
        return Cells(self.heights, self.ratio, self.period)

    @property
    def unimodal(self) -> bool:
        """True if the heights never rise, including from one repetition to the next."""
        return self._cells.unimodal

    @property
    def support(self) -> float:
        return math.inf if self.ratio > 0.0 else len(self.heights) * self.width

    def log_density(self, x: Array) -> Array:
        far = np.isinf(x)
        cell = np.floor(np.abs(np.where(far, 0.0, x)) / self.width)
        return np.where(far, -np.inf, self._cells.log_density(cell) - math.log(self.width))

    def log_tail(self, x: Array) -> Array:
        far = np.isinf(x)
        return np.where(far, -np.inf, self._cells.log_tail(np.where(far, 0.0, x) / self.width))

    def inverse_tail(self, v: Array) -> Array:
        v = np.asarray(v, dtype=np.float64)
        return np.where(v >= 0.5, 0.0, self._cells.quantile(v) * self.width)  # exactly 0 at the median

    # -- privacy ---------------------------------------------------------------------------------------------

    @property
    def recurrence(self) -> float:
        return self.period * self.width

    def pieces(self, shift: float) -> Pieces:
        return _pieces(self, shift)

    def worst_shifts(self, shift: float) -> tuple[float, ...]:
        """Return the full shift, and also every whole number of cells if the heights rise somewhere.

        Between whole numbers of cells the divergence is linear in the shift, so its maximum is at one of them.
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

    @property
    def variance(self) -> float:
        return self._cells.moment(2) * self.width**2

    @property
    def mean_abs(self) -> float:
        return self._cells.moment(1) * self.width

    @property
    def fisher_information(self) -> float:
        """Infinite, because the density jumps."""
        return math.inf

    @property
    def subgaussian_proxy(self) -> float:
        """support^2 by Hoeffding's lemma; infinite with a geometric tail."""
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


@lru_cache(maxsize=256)
def _pieces(noise: Stepped, shift: float) -> Pieces:
    """Return the pieces on which the density and its shifted copy are both constant.

    With shift = (n + t) widths, every breakpoint is a whole number of widths, or t widths after one.
    """
    n = round((shift - math.fmod(shift, noise.width)) / noise.width)
    t = math.fmod(shift, noise.width) / noise.width
    listed = len(noise.heights)
    if n + listed > MOST_PIECES:
        raise Unsupported(f"a shift of {shift:g} spans too many cells of {noise.width:g}; use a wider cell.")
    recurring = noise.period if noise.ratio > 0.0 else 0
    k = np.arange(float(listed + recurring))
    weight = np.where(k >= listed, 1.0 / (1.0 - noise.ratio), 1.0)
    # x and x - shift on one side of 0: u in [k, k + 1 - t) is compared with cell k + n, the rest with k + n + 1
    outer = [(k, k + 1.0 - t, k, k + n, weight), (k + 1.0 - t, k + 1.0, k, k + n + 1.0, weight)]
    j = np.arange(n + 1.0)
    one = np.ones(n + 1)
    # 0 < x < shift: x in [j, j + t) is compared with cell n - j, x in [j + t, j + 1) with cell n - j - 1
    inner = [(j, j + t, j, n - j, one), (j[:-1] + t, j[1:], j[:-1], n - j[:-1] - 1.0, one[:-1])]

    def row(lower: Any, upper: Any, here: Array, there: Array, w: Array) -> tuple[Array, ...]:
        mine, other = noise._cells.log_density(here), noise._cells.log_density(there)
        with np.errstate(invalid="ignore"):
            loss = np.where(np.isneginf(mine), -np.inf, mine - other)
        return lower * noise.width, upper * noise.width, mine - math.log(noise.width), loss, w

    rows = [row(-u1, -u0, a, b, w) for u0, u1, a, b, w in outer]
    rows += [row(x0, x1, a, b, w) for x0, x1, a, b, w in inner]
    rows += [row(n + t + u0, n + t + u1, b, a, w) for u0, u1, a, b, w in outer]
    columns = [np.concatenate(c) for c in zip(*rows, strict=True)]
    keep = columns[1] > columns[0]
    return Pieces(*(c[keep] for c in columns))


# -- calibration: a staircase that is cut off where delta allows -----------------------------------------------------


def _noise(request: Request) -> Law:
    """Return nearly the optimum of the linear programme without solving it, for one number only."""
    if not request.plain or request.count != 1 or request.step is not None:
        raise Unsupported("step noise is calibrated for one number only")
    if request.delta == 0.0:
        raise Unsupported("with delta = 0 the best step noise is the staircase")
    edge = math.log1p(math.expm1(min(request.epsilon, 700.0)) / (2.0 * request.delta)) / request.epsilon
    if edge * CELLS > 50_000:
        raise Unsupported("epsilon is too small for step noise; truncated Laplace noise is as good there")
    best, least = None, math.inf
    cells = math.ceil((edge + 2.0) * CELLS) + CELLS
    for first in range(0, CELLS + 1, 2):
        heights = cut_staircase(request.epsilon, first, cells)
        enough = np.flatnonzero(exposed(heights) <= down(request.delta, CLOSED_FORM))
        if not enough.size:
            continue
        heights = heights[: int(enough[0]) + 1]
        value = _loss(request, heights)
        if value < least:
            best, least = heights, value
    noise = None if best is None else Stepped(request.shift / CELLS, tuple(best))
    if noise is None or not request.meets(noise):
        raise Unsupported("step noise could not be certified for this budget")
    return noise


def _loss(request: Request, heights: Array) -> float:
    """Return the loss of step noise with these heights, in cells for the two losses that are sums over the cells."""
    k = np.arange(float(heights.size))
    if request.loss == "variance":
        return float(heights @ (k * k + k + 1.0 / 3.0) / heights.sum())
    if request.loss == "mae":
        return float(heights @ (k + 0.5) / heights.sum())
    return request.value(Stepped(request.shift / CELLS, tuple(heights)))


def _numbers(noise: Stepped) -> list[float]:
    """Return the number of cells on the first step, and the number of all cells."""
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
