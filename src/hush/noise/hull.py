"""Hull noise: joint noise on a lattice for d known numbers of which a person moves at most l0.

Lengths are in steps. For a vector z let g(z) = max(|z|_inf, ceil(|z|_1/l0)); x+ and x- are the positive and the
negative part of x, so x = x+ - x-. With q = e^(-step/scale) and c = offset/step,

    both directions   P(x) ~ q^g(x)
    one direction     P(x) ~ q^((g(x+) - c)^+ + (g(x-) - c)^+)

**Privacy.** Let at most l0 numbers move by at most m whole steps each. Then |x|_inf changes by at most m, and |x|_1 by
at most l0 m, so |x|_1/l0 changes by at most m. As m is a whole number, the rounding up keeps this: ceil(y + m) =
ceil(y) + m. So g(x) changes by at most m. If all numbers move up, x+ does not shrink in any coordinate and x- does not
grow, so g(x+) grows by 0 to m and g(x-) shrinks by 0 to m. The same holds for (g - c)^+, because it grows with g and
never faster. The sum of one term that rises by at most m and one that falls by at most m changes by at most m. Moves
down are the mirror image. Hence the pure epsilon is m/scale. If numbers move in both directions, each term of the
second density can rise by m: the pure epsilon is then 2 m/scale.

**Mixture.** q^g is (1 - q) times the sum of q^R over R >= g. So the first density is uniform on {g <= R} at a level R
of weight q^R times the number of points of this set. The second is, up to a constant, the sum of q^(a + b - 2c) over
the pairs a >= c, b >= c with g(x+) <= a and g(x-) <= b: uniform on this set at the pair (a, b).
"""

from __future__ import annotations

import math
from dataclasses import dataclass, field
from fractions import Fraction
from functools import cached_property, lru_cache
from typing import Any

import numpy as np
from numpy.typing import NDArray

from hush.errors import InvalidParameter, Unsupported, shown, whole
from hush.noise.binomial_sums import ball_sums, log_sums
from hush.noise.family import Family
from hush.noise.hull_body import OneSided, TwoSided
from hush.noise.hull_counts import log_of
from hush.noise.hull_slices import LogSlices, ball_at_least, slices
from hush.noise.level_calibration import calibrated
from hush.noise.level_noise import LevelNoise
from hush.noise.request import Request
from hush.noise.uniform_numbers import UniformNumbers
from hush.numerics.ball import Ball, flint_module, precision
from hush.numerics.search import first_true

__all__ = ["FAMILY", "Hull"]

Array = NDArray[np.float64]
Whole = NDArray[np.int64]

_MOST_NUMBERS = 120  # tables of whole numbers for more numbers take more than a second to build
_MOST_PRODUCT = 3000  # the same for dimension times l0
_WIDEST = 2.0**28  # steps; sums of l0 numbers must stay below what exact draws allow
_MOST_SUM = 1 << 31  # the largest whole number that draws are made for
_ROWS = 1 << 15  # draws at a time


@dataclass(frozen=True)
class Hull(LevelNoise):
    """Noise for `dimension` numbers on the multiples of `step`, of which one person moves at most `l0`.

    With g(z) = max(|z|_inf, |z|_1/l0 rounded up to whole steps), P(x) is proportional to exp(-g(x)/scale). With
    one_sided=True it is proportional to exp(-(max(g(x+) - offset, 0) + max(g(x-) - offset, 0))/scale), where x+ and x-
    are the positive and the negative part of x; `offset` is a whole number of steps, and 0 unless one_sided=True.

    Guarantees: pure epsilon m/scale if a person moves at most l0 numbers by at most m each; with one_sided=True, if
    these moves have the same direction (counts under add-remove), else 2 m/scale. The proof is at the top of this
    module. The density exp(-norm) is that of Hardt and Talwar 2010; Joseph and Yu 2023 draw it on the real line for
    sums and counts. Its form on a lattice and the offset are new here.

    >>> round(Hull(12, 6, 1.0).variance, 2)
    48.04
    >>> round(Hull(12, 6, 1.0, 3.0, one_sided=True).variance, 2)
    25.0
    """

    dimension: int = field()
    l0: int
    scale: float
    offset: float = 0.0
    one_sided: bool = False
    step: float = 1.0

    def __post_init__(self) -> None:
        self.check_sizes("12, 3, 1.0")
        object.__setattr__(self, "l0", whole("l0", self.l0, 1, "write Hull(12, 3, 1.0)"))
        if self.l0 > self.dimension:
            raise InvalidParameter(f"l0 must be at most {self.dimension}, the number of numbers, got {self.l0}.")
        if not isinstance(self.one_sided, bool):
            raise InvalidParameter(
                f"one_sided must be True or False, got {shown(self.one_sided)}; write one_sided=True."
            )
        if self.dimension > _MOST_NUMBERS or self.dimension * self.l0 > _MOST_PRODUCT:
            raise Unsupported(
                f"the tables of hull noise for {self.dimension} numbers with l0={self.l0} are too large; hull noise is "
                f"for at most {_MOST_NUMBERS} numbers, with dimension times l0 at most {_MOST_PRODUCT}."
            )
        if self.l0 * (self.dimension + 800.0) * self.scale / self.step > _WIDEST:
            raise Unsupported(f"a lattice of step {self.step:g} is too fine for l0={self.l0}; use a larger step.")
        self._check_offset()

    def _check_offset(self) -> None:
        offset = self.whole_offset(self.offset)
        if offset > 0.0 and not self.one_sided:
            raise InvalidParameter(f"offset={shown(self.offset)} needs one_sided=True; leave the offset out.")
        if offset / self.step * self.l0 > _WIDEST:
            raise InvalidParameter(f"offset={shown(self.offset)} is too many steps of {self.step:g}; write offset=3.0.")
        object.__setattr__(self, "offset", offset)

    def scaled(self, k: float) -> Hull:
        return Hull(self.dimension, self.l0, self.scale * k, self.offset * k, self.one_sided, self.step * k)

    def widened(self, k: float) -> Hull:
        offset = round(self.offset * k / self.step) * self.step
        return Hull(self.dimension, self.l0, self.scale * k, offset, self.one_sided, self.step)

    @property
    def most_moving(self) -> int:  # type: ignore[override]
        return self.l0

    def largest_loss(self, move: float, *, one_sided: bool) -> Fraction:
        return (2 if self.one_sided and not one_sided else 1) * self.steps_in(move) * self.rate

    @cached_property
    def _body(self) -> TwoSided | OneSided:
        if self.one_sided:
            return OneSided(self.dimension, self.l0, round(self.offset / self.step))
        return TwoSided(self.dimension, self.l0)

    # -- the level: weight q^level times a polynomial --------------------------------------------------------

    @cached_property
    def _log_coefficients(self) -> Array:
        return log_of(self._body.coefficients)

    def _log_from(self, level: Array) -> Array:
        """log of the weight of this level and all above, but for a constant."""
        start = np.asarray(level, dtype=np.float64) + self._body.ahead
        sums = log_sums(self.rate, start, self._log_coefficients.size)
        return np.asarray(np.logaddexp.reduce(sums + self._log_coefficients, axis=-1))

    def _ball_from(self, level: int) -> Ball:
        coefficients = self._body.coefficients
        sums = ball_sums(self.rate, level + self._body.ahead, len(coefficients))
        return sum((int(g) * s for g, s in zip(coefficients, sums, strict=True)), flint_module().arb(0))

    @cached_property
    def _log_all(self) -> float:
        return float(self._log_from(np.array(0.0)))

    def log_level_tail(self, level: Array) -> Array:
        return self._log_from(np.asarray(level, dtype=np.float64) + 1.0) - self._log_all

    def level_tail_ball(self, level: int) -> Ball:
        return self._ball_from(level + 1) / self._ball_from(0)

    def points(self, level: Whole, numbers: UniformNumbers) -> Whole:
        if self.l0 * (2 * self._body.offset + int(level.max(initial=0))) >= _MOST_SUM:
            raise Unsupported(f"a draw of {self} passes 2^31 steps; use a larger step.")
        parts = [self._body.points(level[start : start + _ROWS], numbers) for start in range(0, level.size, _ROWS)]
        return np.concatenate(parts) if parts else np.empty((0, self.dimension), dtype=np.int64)

    def log_density_of(self, vectors: Any) -> Array:
        steps, t, c = self.in_steps(vectors), float(self.rate), self._body.offset
        log_rest = math.log(-math.expm1(-t))  # log(1 - q)
        if not self.one_sided:
            return -t * self._gauge(np.abs(steps)) - log_rest - self._log_all
        above = sum(np.maximum(self._gauge(np.maximum(side, 0.0)) - c, 0.0) for side in (steps, -steps))
        return np.asarray(-t * (above + self._body.ahead) - 2.0 * log_rest - self._log_all)

    def _gauge(self, z: Array) -> Array:
        """max(|z|_inf, ceil(|z|_1/l0)) of vectors in whole steps that are 0 or greater."""
        return np.asarray(np.maximum(z.max(axis=-1), np.ceil(z.sum(axis=-1) / self.l0)))

    @cached_property
    def _moments(self) -> tuple[float, float]:
        total, own, shared = self._body.log_moments(self.rate)
        return math.exp(own - total), shared

    # -- one number ------------------------------------------------------------------------------------------

    @cached_property
    def _log_one(self) -> tuple[LogSlices, float]:
        with precision(128):
            made = LogSlices(self.rate, self._body.offset, _slices(self, 128))
            return made, float(self._body.total_ball(self.rate).log())

    def log_mass(self, k: Array) -> Array:
        made, total = self._log_one
        return made.log_weight(k) - total

    def at_least_ball(self, k: int) -> Ball:
        weight = ball_at_least(self.rate, self._body.offset, _slices(self, flint_module().ctx.prec), k)
        return weight / self._body.total_ball(self.rate)

    def ways_of_others(self) -> list[Ball]:
        """Weights of the numbers other than the first, by how many of them share its sign; at the ambient precision."""
        return self._body.others(self.rate)


@lru_cache(maxsize=16)
def _slices(noise: Hull, bits: int) -> NDArray[Any]:
    """The coefficients of one number, at the ambient precision, which is `bits`."""
    return slices(noise.l0, noise.ways_of_others)


def _best_offset(dimension: int, l0: int, scale: float, step: float) -> Hull:
    """The offset of least variance, in whole steps. The variance falls and then rises as the offset grows."""

    def variance(c: int) -> float:
        return Hull(dimension, l0, scale, c * step, True, step).variance

    most = math.ceil(1.3 * dimension * scale / step) + 1
    c = first_true(0, most, lambda c: variance(c + 1) >= variance(c))
    return Hull(dimension, l0, scale, c * step, True, step)


def _least(request: Request) -> Hull:
    bound = request.bound

    def make(scale: float, step: float) -> Hull:
        if not 1 < bound.moving < bound.dimension:
            raise Unsupported("hull noise is for 1 < l0 < dimension; other families serve l0 = 1 and l0 = dimension")
        if bound.one_sided is True:
            return _best_offset(bound.dimension, bound.moving, scale, step)
        return Hull(bound.dimension, bound.moving, scale, step=step)

    made = calibrated(request, make, False)
    assert isinstance(made, Hull)
    return made


FAMILY = Family(
    "hull", Hull, paper="Hardt and Talwar 2010; Joseph and Yu 2023", cites=("hardt2010", "joseph2023"), calibrate=_least
)
