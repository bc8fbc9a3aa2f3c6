"""One-way noise: joint noise on the whole numbers for tables that count the same people, one attribute each.

The numbers are J tables x^1, ..., x^J of n_1, ..., n_J cells. All tables have the same sum t. With a whole number c,

    P(x) ~ exp(-N(x)/scale),    N(x) = max(|t|, |x^1|_1 - c, ..., |x^J|_1 - c).

**Privacy.** A person who is in one cell of each table moves t by 1 and every |x^j|_1 by at most 1, so N changes by at
most 1. A person with m rows moves t by m and every |x^j|_1 by at most m. The noise and the counts are on the same
lattice, and both have tables with equal sums. Hence the pure epsilon is m/scale, for every c.

**Mixture.** q^N is (1 - q) times the sum of q^r over r >= N, q = e^(-1/scale). So a level r is drawn with weight q^r
times the number of points with N <= r, then t with weight the product of the numbers of points of the tables with sum t
and norm at most r + c, then every table uniformly among these points (`table_points`).
"""

from __future__ import annotations

import math
from dataclasses import dataclass
from fractions import Fraction
from functools import cached_property, lru_cache
from typing import Any, ClassVar, NamedTuple

import numpy as np
from numpy.typing import NDArray

from hush.errors import InvalidParameter, NotCertified, Unsupported, positive, whole
from hush.noise.contract import Noise
from hush.noise.family import Family
from hush.noise.table_points import drawn_point, float_sums, points_up_to, position
from hush.numerics.ball import Ball, flint_module, precision

__all__ = ["FAMILY", "OneWay"]

Array = NDArray[np.float64]
Whole = NDArray[np.int64]

_MOST_CELLS = 400  # of all tables together: whole-number tables for more take too long
_WIDEST = 4000  # levels
_TURNS = 40  # of 64 more bits each


class _Moments(NamedTuple):
    """The variance of the sum of a table, and that of a cell of each table."""

    total: float
    cells: tuple[float, ...]


@dataclass(frozen=True)
class OneWay(Noise):
    """Noise for tables of `sizes` cells that count the same people; the tables follow each other in one vector.

    Guarantees: pure epsilon m/scale if a person adds m rows, each of which is in one cell of every table. The proof is
    at the top of this module. New here, for tables with more than two cells on a lattice.

    >>> noise = OneWay((2, 2, 2), 1.0)
    >>> noise.dimension, round(float(noise.covariance[0, 0]), 2)
    (6, 4.83)
    """

    sizes: tuple[int, ...]
    scale: float
    offset: int = 0
    discrete: ClassVar[bool] = True
    step: ClassVar[float] = 1.0  # type: ignore[misc]

    def __post_init__(self) -> None:
        if not isinstance(self.sizes, list | tuple) or not self.sizes:
            raise InvalidParameter("sizes must list the cells of each table; write OneWay((2, 3), 1.0).")
        sizes = tuple(whole("sizes", size, 1, "write OneWay((2, 3), 1.0)") for size in self.sizes)
        object.__setattr__(self, "sizes", sizes)
        object.__setattr__(self, "scale", positive("scale", self.scale, "write OneWay((2, 3), 1.0)"))
        object.__setattr__(self, "offset", whole("offset", self.offset, 0, "write OneWay((2, 3), 1.0, 2)"))
        if self.dimension > _MOST_CELLS or self.furthest > _WIDEST:
            raise Unsupported(
                f"one-way noise is for at most {_MOST_CELLS} cells and a moderate scale; use Gaussian noise."
            )

    @property
    def dimension(self) -> int:  # type: ignore[override]
        """The cells of all tables."""
        return sum(self.sizes)

    def loss_under(self, sensitivity: Any) -> Fraction | None:
        """m/scale, if the numbers are these tables and a person moves all of them by the same sum of at most m.

        A single table may move in any way: then N changes by at most the l1 norm of the move.
        """
        if len(self.sizes) == 1:
            return Fraction(sensitivity.l1_bound) / Fraction(self.scale)
        if sensitivity.tables != self.sizes or sensitivity.one_sided is not True:
            return None
        return Fraction(math.floor(sensitivity.linf)) / Fraction(self.scale)

    def widened(self, k: float) -> OneWay:
        return OneWay(self.sizes, self.scale * k, round(self.offset * k))

    def log_density_of(self, vectors: Any) -> Array:
        """The logarithm of the density, but for a constant; minus infinity where the sums of the tables differ."""
        points = np.asarray(vectors, dtype=np.float64)
        tables = np.split(points, np.cumsum(self.sizes)[:-1], axis=-1)
        sums = np.stack([table.sum(axis=-1) for table in tables])
        norms = np.stack([np.abs(table).sum(axis=-1) for table in tables]).max(axis=0)
        level = np.maximum(np.abs(sums[0]), norms - self.offset)
        return np.where((sums == sums[0]).all(axis=0), -level / self.scale, -np.inf)

    # -- moments ---------------------------------------------------------------------------------------------

    @property
    def _free(self) -> int:
        """The dimension of the tables with equal sums."""
        return 1 + self.dimension - len(self.sizes)

    @property
    def furthest(self) -> int:
        """A level beyond which the weights are below e^-60 of the largest one; sums in floats end here."""
        return math.ceil(self.scale * (self._free + 12.0 * math.sqrt(self._free) + 80.0)) + 20

    @cached_property
    def moments(self) -> _Moments:
        """Variances, by sums over levels and over the sums of the tables, in floats."""
        weights, squares = self.level_sums()
        mass = float(weights.sum())
        t = np.arange(weights.size, dtype=np.float64)
        cells = tuple(float(squares[size].sum()) / mass / size for size in self.sizes)
        return _Moments(float((weights * t**2).sum()) / mass, cells)

    def level_sums(self) -> tuple[Array, dict[int, Array]]:
        """For each |t|: its weight, and for each size of a table the weighted mean of |x^j|_2^2."""
        last, c = self.furthest, self.offset
        tables = {size: _sums(size, last + c) for size in set(self.sizes)}
        often = {size: self.sizes.count(size) for size in tables}
        weights, squares, top = np.zeros(last + 1), {size: np.zeros(last + 1) for size in tables}, -math.inf
        for level in range(last + 1):
            t = np.arange(level + 1)
            m = (level + c - t) // 2
            logs = sum(often[size] * np.log(tables[size][0][t, m]) for size in tables) - level / self.scale
            high = float(np.max(logs))
            if high > top:
                shrink = math.exp(top - high) if top > -math.inf else 0.0
                weights *= shrink
                for size in squares:
                    squares[size] *= shrink
                top = high
            mass = np.exp(logs - top) * np.where(t > 0, 2.0, 1.0)
            weights[: level + 1] += mass
            for size, (number, square) in tables.items():
                squares[size][: level + 1] += mass * square[t, m] / number[t, m]
        return weights, squares

    @property
    def variance(self) -> Array:
        """The variance of each number."""
        return np.diag(self.covariance)

    @property
    def covariance(self) -> Array:
        """E X X^T: cells of different tables share the sum t only; cells of one table also move against each other."""
        total, cells = self.moments
        blocks = []
        for size, own in zip(self.sizes, cells, strict=True):
            beside = (total / size - own) / max(size - 1.0, 1.0)
            blocks.append(np.full((size, size), beside) + (own - beside) * np.eye(size))
        inverse = np.repeat([1.0 / size for size in self.sizes], self.sizes)
        found = total * np.outer(inverse, inverse)
        start = 0
        for block in blocks:
            found[start : start + len(block), start : start + len(block)] = block
            start += len(block)
        return found

    # -- exact draws -----------------------------------------------------------------------------------------

    def lattice_draws(self, bits: Any, count: int, step: float) -> Whole:
        found = np.empty((count, self.dimension), dtype=np.int64)
        for row in range(count):
            found[row] = self._drawn(bits)
        return found

    def _drawn(self, bits: Any) -> list[int]:
        level = self._level(bits)
        rows = _row(self.sizes, self.offset, level)
        below = _Below(bits)
        t = position(rows, below(sum(rows)))  # sums 0, 1, -1, 2, -2, ...
        total = (t + 1) // 2 if t % 2 else -(t // 2)
        return [x for size in self.sizes for x in drawn_point(size, total, level + self.offset, below)]

    def _level(self, bits: Any) -> int:
        """The level, by a uniform number of which as many bits are drawn as are needed to decide."""
        known = 0
        for turn in range(1, _TURNS + 1):
            known = (known << 64) | int(bits.words(1, np.uint64)[0][0])
            with precision(64 * turn + 96):
                found = _position(_level_sums(self, 64 * turn + 96), known, 64 * turn)
            if found is not None:
                return found
        raise NotCertified("a level stayed undecided; nothing was drawn.")


class _Below:
    """Uniform whole numbers below n, exactly: bits of the next power of two, again if they are too large."""

    def __init__(self, bits: Any) -> None:
        self._bits = bits

    def __call__(self, most: int) -> int:
        size = (most - 1).bit_length()
        words = -(-size // 64)
        while size:
            value = 0
            for word in self._bits.words(words, np.uint64)[0].tolist():
                value = (value << 64) | word
            value >>= 64 * words - size
            if value < most:
                return value
        return 0


@lru_cache(maxsize=16)
def _sums(size: int, furthest: int) -> tuple[Array, Array]:
    return float_sums(size, furthest)


def _row(sizes: tuple[int, ...], offset: int, level: int) -> tuple[int, ...]:
    """The number of points with N <= level for the sums 0, 1, -1, 2, -2, ..., exactly."""
    found = []
    for t in range(level + 1):
        number = math.prod(points_up_to(size, t, level + offset) for size in sizes)
        found += [number] if t == 0 else [number, number]
    return tuple(found)


@lru_cache(maxsize=16)
def _level_sums(noise: OneWay, bits: int) -> list[Ball]:
    """Enclosures of P(level <= r) for r = 0, 1, ..., until the rest is below 2^-bits.

    The points with N <= r are at most u(r) = (2 r + 1) prod 2^(n - 1) C(r + c + n - 1, n - 1): without its last cell,
    which the sum decides, a table has n - 1 cells and a norm of at most r + c. The ratio u(r + 1)/u(r) falls with r.
    """
    arb = flint_module().arb
    q = (-arb(1) / arb(noise.scale)).exp()
    sums, total, power, level = [], arb(0), arb(1), 0
    while True:
        total += power * sum(_row(noise.sizes, noise.offset, level))
        sums.append(total)
        level, power = level + 1, power * q
        ratio = _most(noise, level + 1) / _most(noise, level) if level > noise.furthest // 2 else None
        if ratio is not None and q * arb(ratio.numerator) / arb(ratio.denominator) < 1:
            fall = 1 - q * arb(ratio.numerator) / arb(ratio.denominator)
            bound = _most(noise, level)
            rest = power * arb(bound.numerator) / fall
            if rest < total * arb(2) ** -bits:
                break
        if level > 4 * _WIDEST:
            raise NotCertified("the levels of this noise do not end; nothing was drawn.")
    whole_sum = total + rest * arb(0.5, 0.5)
    return [one / whole_sum for one in sums]


def _most(noise: OneWay, level: int) -> Fraction:
    each = (2 ** (n - 1) * math.comb(level + noise.offset + n - 1, n - 1) for n in noise.sizes)
    return Fraction((2 * level + 1) * math.prod(each))


def _position(sums: list[Ball], known: int, bits: int) -> int | None:
    """The first level r with U < P(level <= r), where U starts with the known bits; None if they do not decide."""
    arb = flint_module().arb
    low, high = arb(known) * arb(2) ** -bits, arb(known + 1) * arb(2) ** -bits
    for level, one in enumerate(sums):
        if high <= one:
            return level
        if not low >= one:
            return None
    return None


FAMILY = Family("one_way", OneWay, paper="this project", cites=("hush",), ranked=False, public=False)
