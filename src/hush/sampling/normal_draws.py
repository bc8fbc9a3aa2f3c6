"""Exact draws of normal vectors of random length, rounded to a lattice.

A row of words gives one vector. Two words U and V make two normal numbers, root(-2 log U) times the cosine and the sine
of a uniform angle (Box and Muller 1958). The first bit of V is the sign of the cosine, and the other bits are a uniform
angle between -pi/2 and pi/2, where the cosine is positive: 2 V mod 1, less 1 if that is 1/2 or more, times pi. The
chi-squared variable C is -2 log of a product of uniforms, plus the square of one more normal number if its degrees of
freedom are odd.

A word of 64 bits says that its uniform is in an interval of width 2^-64. Floats decide the rounding of a number unless
it is within their error bound of a half. The bound includes the width of the intervals. The other numbers are computed
in ball arithmetic from the same words, with more bits of the same uniforms until the whole ball rounds to one number.
So both ways give the same draws.

Error bounds. Words U with U or 1 - U below 2^-21 are left to ball arithmetic. For the others the float of U is within
a share of 2^-52 of the middle of its interval, and the interval adds 2^-65/U. With the error of the float logarithm,
-log U is within 2^-43.8 if U <= 1/2, and within 2^-51 (1 - log U) if U > 1/2. A radius r = root(-2 log U) is at least
1.1 in the first case and 2^-10 in the second, and its error is that of -log U divided by r: at most 2^-41 in both.
Cosines and sines are within 2^-45 and radii below 5.4, so a normal number is within 2^-40.4. The logarithm of a
product of k uniforms is within k 2^-43.8. A sum of k/32 such logarithms has roundings of a share of at most (k/32 +
6) 2^-53 in all. `_validated` compares logarithms, cosines and sines with ball arithmetic.
"""

from __future__ import annotations

import math
from dataclasses import dataclass
from functools import cache
from typing import Any

import numpy as np
from numpy.typing import NDArray

from hush.errors import NotCertified
from hush.noise.normal_mixture import NormalMixture
from hush.numerics.ball import flint_module, precision
from hush.sampling.entropy import Bits
from hush.sampling.threshold import SATURATED

__all__ = ["NormalDraws", "normal_draws"]

Array = NDArray[np.float64]
Whole = NDArray[np.int64]
Words = NDArray[np.uint64]

_BLOCK = 1 << 16  # words in one block, so that its arrays stay in the processor cache
_EDGE = np.uint64(1 << 43)  # words closer to 0 or 2^64 than this are left to ball arithmetic
_SPAN = np.uint64((1 << 64) - (2 << 43))  # the number of the other words
_FLOAT_LOGARITHM = 2.0**-51  # relative error of the float logarithm of a uniform, beside the width of its interval
_LOGARITHM = 2.0**-42.5  # absolute error of -2 log U
_SUM = 2.0**-48  # relative error of a sum of few logarithms
_FACTORS = 32  # uniforms in one product: it stays above 2^-960
_ANGLE = 2.0**-45  # absolute error of a cosine or sine
#: Of root(2) sin(x/2) as a series in odd powers of the angle x = pi k/2^64, for a whole number k between +-2^63.
_SERIES = tuple(
    (-1) ** j * math.sqrt(2.0) * math.ldexp(0.5 * math.pi, -64) ** (2 * j + 1) / math.factorial(2 * j + 1)
    for j in range(8)
)
_NORMAL = 2.0**-39  # absolute error of a normal number, and of a sum of two whose squared weights add up to 1
_LARGEST = 10.0  # above the size of such a number
_PRODUCTS = 2.0**-49  # relative error of the last products and of the quotient of width and step


def _uniforms(words: Words) -> Array:
    """U, the middle of the interval of each word."""
    found = words.astype(np.float64)
    found += 0.5
    found *= 2.0**-64
    return found


def _without_edges(words: Words) -> NDArray[np.bool_]:
    """Which columns have no word at an edge?"""
    return np.logical_and.reduce(words - _EDGE < _SPAN, axis=0)


def _sides(words: Words) -> tuple[Array, Array]:
    """The cosine and the sine of the angle of each word (see the module).

    With t = root(2) sin(angle/2), from the Taylor series of the sine, they are 1 - t^2 and t root(2 - t^2). The rest
    of the series is below 2^-53.
    """
    half = (words << np.uint64(1)).view(np.int64).astype(np.float64)
    square = half * half
    t = square * _SERIES[-1]
    for factor in _SERIES[-2:0:-1]:
        t += factor
        t *= square
    t += _SERIES[0]
    t *= half
    np.multiply(t, t, out=square)
    cosine = np.subtract(1.0, square, out=half)
    np.copysign(cosine, words.view(np.float64), out=cosine)  # the first bit of the word is the sign of such a float
    np.subtract(2.0, square, out=square)
    t *= np.sqrt(square, out=square)
    return cosine, t


def _angle(known: int, bits: int) -> tuple[int, Any]:
    """The sign of the cosine, and the ball of the angles of all uniforms that start with these bits, in units of pi."""
    first, second = known >> (bits - 1), known >> (bits - 2) & 1
    return 1 - 2 * first, 2 * _interval(known, bits) - first - second


@cache
def _validated() -> None:
    """Compare the float functions with ball arithmetic at fixed words; raise if an error is above 1/8 of its bound."""
    arb = flint_module().arb
    ends = [1 << 34, (1 << 34) + 12345, 1 << 40, 1 << 52, 1 << 60, 1 << 62, (1 << 63) - 1, 1 << 63, 3 << 62]
    scattered = [k * 0x9E3779B97F4A7C15 % (1 << 64) for k in range(1, 200)]
    listed = [*ends, *((1 << 64) - 1 - word for word in ends), *scattered]
    words = np.array(listed, dtype=np.uint64)
    logarithms, sides = np.log(_uniforms(words)), _sides(words)
    with precision(192):
        for i, word in enumerate(listed):
            middle = (2 * arb(word) + 1) / arb(2) ** 65
            exact = middle.log()
            wrong = float(abs(logarithms[i] - exact).upper()) > _FLOAT_LOGARITHM * (0.5 + abs(float(exact)))
            sign, angle = _angle(word, 64)
            around = (sign * angle.mid().cos_pi(), angle.mid().sin_pi())
            if wrong or any(float(abs(s[i] - e).upper()) > 0.125 * _ANGLE for s, e in zip(sides, around, strict=True)):
                raise NotCertified("logarithms or cosines of floats are not accurate here; nothing was drawn.")


def _chi_squared(uniforms: Array, normal: Array | None) -> tuple[Array, Array]:
    """-2 log of the product of the uniforms, plus the square of a normal number, and a bound on its absolute error."""
    count, size = uniforms.shape
    total, error = np.zeros(size), np.full(size, count * _LOGARITHM)
    for start in range(0, count, _FACTORS):
        total -= 2.0 * np.log(uniforms[start : start + _FACTORS].prod(axis=0))
    if normal is not None:
        total += normal * normal
        error += 2.0 * _NORMAL * (np.abs(normal) + _NORMAL)
    return total, error + _SUM * (1.0 + count / 1024.0) * total


@dataclass(frozen=True)
class NormalDraws:
    """The sampler of one noise on the lattice of one step. A large `margin` leaves every draw to ball arithmetic."""

    noise: NormalMixture
    step: float
    margin: float = 1.0

    def __post_init__(self) -> None:
        _validated()

    @property
    def _pairs(self) -> int:
        """Pairs of normal numbers: one number each, one that all share if they are correlated, and one for C."""
        return (self.noise.dimension + (self.noise.correlation > 0.0) + self.noise.freedom % 2 + 1) // 2

    @property
    def lanes(self) -> int:
        """Words for one vector: the radii and the angles of the pairs, and the uniforms of C."""
        return 2 * self._pairs + self.noise.freedom // 2

    def draw(self, bits: Bits, count: int) -> Whole:
        """Return `count` vectors in whole steps, an array of shape (count, dimension)."""
        out = np.empty((count, self.noise.dimension), dtype=np.int64)
        rows = max(1, _BLOCK // self.lanes)
        for start in range(0, count, rows):
            part = out[start : start + rows]
            words = bits.words(len(part), np.uint64, lanes=self.lanes).astype(np.uint64, copy=False)  # native order
            certain = self._fast(words, part)
            for row in np.flatnonzero(~certain.all(axis=0)):
                places = np.flatnonzero(~certain[:, row])
                part[row, places] = self._exact([int(w) for w in words[:, row]], places, start + int(row), bits)
        return out

    # -- floats ----------------------------------------------------------------------------------------------

    def _fast(self, words: Words, out: Whole) -> NDArray[np.bool_]:
        """Round the vectors of these words into `out`; return which numbers are certain, a column for each vector."""
        pairs, d, freedom = self._pairs, self.noise.dimension, self.noise.freedom
        plain = _without_edges(words[:pairs])
        radius = _uniforms(words[:pairs])
        np.log(radius, out=radius)
        radius *= -2.0
        np.sqrt(radius, out=radius)
        normal = np.empty((2 * pairs, words.shape[1]))
        for side, half in zip(_sides(words[pairs : 2 * pairs]), (normal[:pairs], normal[pairs:]), strict=True):
            np.multiply(radius, side, out=half)
        numbers = normal[:d]
        if self.noise.correlation:
            own, shared = math.sqrt(1.0 - self.noise.correlation), math.sqrt(self.noise.correlation)
            numbers = own * numbers + shared * normal[d]
        length, error = np.ones(words.shape[1]), np.zeros(words.shape[1])
        if freedom:
            factors = words[2 * pairs :]
            plain &= _without_edges(factors)
            squared, error = _chi_squared(_uniforms(factors), normal[-1] if freedom % 2 else None)
            length = np.sqrt(squared)
            error /= length
        unit = (self.noise.width / self.step) * length
        numbers *= unit
        whole = np.rint(numbers)
        wrong = (self.noise.width / self.step) * (length * (_NORMAL + _LARGEST * _PRODUCTS) + _LARGEST * error)
        reached = np.where(plain & (_LARGEST * unit < 2.0**50), 0.5 - self.margin * wrong, 0.0)
        numbers -= whole
        certain = np.abs(numbers, out=numbers) < reached
        with np.errstate(invalid="ignore"):  # numbers beyond int64 are not certain, and drawn again
            np.copyto(out, whole.T, casting="unsafe")
        return certain

    # -- balls -----------------------------------------------------------------------------------------------

    def _exact(self, known: list[int], places: Whole, row: int, bits: Bits) -> Whole:
        """Return the numbers of one vector at some places, from its words and as many more bits as they need."""
        length, turn = 64, 0
        while True:
            with precision(length + 128):
                found = self._rounded(known, length, places)
            if found is not None:
                return found
            numbered = np.array([row], dtype=np.int64)
            for lane, word in enumerate(known):
                more = bits.more(numbered, turn * self.lanes + lane)[0]
                known[lane] = (word << 128) | (int(more[0]) << 64) | int(more[1])
            length, turn = length + 128, turn + 1

    def _rounded(self, known: list[int], bits: int, places: Whole) -> Whole | None:
        """Return the rounded numbers of words with so many bits; None if some ball does not round to one number."""
        arb = flint_module().arb
        pairs, d, freedom = self._pairs, self.noise.dimension, self.noise.freedom

        def normal(index: int) -> Any:
            pair = index % pairs
            sign, angle = _angle(known[pairs + pair], bits)
            side = sign * angle.cos_pi() if index < pairs else angle.sin_pi()
            return (-2 * _interval(known[pair], bits).log()).sqrt() * side

        squared = arb(1)
        if freedom:
            squared = -2 * sum((_interval(word, bits).log() for word in known[2 * pairs :]), arb(0))
            if freedom % 2:
                squared += normal(2 * pairs - 1) ** 2
        correlation, shared = arb(self.noise.correlation), arb(0)
        if correlation > 0:
            shared = correlation.sqrt() * normal(d)
        own, unit = (1 - correlation).sqrt(), arb(self.noise.width) * squared.sqrt() / arb(self.step)
        out = []
        for place in places:
            steps = unit * (own * normal(int(place)) + shared)
            if abs(steps) > SATURATED:
                out.append(SATURATED if steps > 0 else -SATURATED)
                continue
            found = (steps + arb(0.5)).floor().unique_fmpz()
            if found is None:
                return None
            out.append(int(found))
        return np.array(out, dtype=np.int64)


def _interval(known: int, bits: int) -> Any:
    """Return the ball of all uniforms that start with these bits."""
    arb = flint_module().arb
    return arb(2 * known + 1, 1) / arb(2) ** (bits + 1)


def normal_draws(bits: Bits, noise: NormalMixture, count: int, step: float, margin: float = 1.0) -> Whole:
    """Return `count` draws of the noise in whole steps, an array of shape (count, dimension)."""
    return NormalDraws(noise, step, margin).draw(bits, count)
