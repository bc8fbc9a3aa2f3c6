"""Arithmetic with twice the float precision: a number is the unevaluated sum of two floats.

Exponents need the extra digits. A relative error of 1e-16 in an exponent of 700 becomes 7e-14 in delta, and digits
cancel in thresholds such as eps/d - d/2 - r. The error-free transformations of Dekker (1971) and Knuth compute such
sums to about 30 digits with a few ordinary float operations, on whole arrays.
"""

from __future__ import annotations

import math
from typing import Any, Self

import numpy as np
from numpy.typing import NDArray

__all__ = ["Twofold", "quotient"]

Array = NDArray[np.float64]
_SPLITTER = 134217729.0  # 2**27 + 1 (Veltkamp)


def _two_sum(a: Any, b: Any) -> tuple[Any, Any]:
    total = a + b
    shadow = total - a
    return total, (a - (total - shadow)) + (b - shadow)


def _renormal(large: Any, small: Any) -> tuple[Any, Any]:
    """Return the float sum and its rounding error, for |large| >= |small| (Dekker)."""
    total = large + small
    return total, small - (total - large)


def _halves(a: Any) -> tuple[Any, Any]:
    spread = _SPLITTER * a
    high = spread - (spread - a)
    return high, a - high


def _two_product(a: Any, b: Any) -> tuple[Any, Any]:
    product = a * b
    a_high, a_low = _halves(a)
    b_high, b_low = _halves(b)
    return product, ((a_high * b_high - product) + a_high * b_low + a_low * b_high) + a_low * b_low


def quotient(a: float, b: float) -> tuple[float, float]:
    """Return a/b, for a >= 0 and b > 0, as the sum of two floats; quotients above 2^400 become 2^400.

    >>> quotient(1.0, 3.0)
    (0.3333333333333333, 1.850371707708594e-17)
    """
    (over, up), (under, down) = math.frexp(a), math.frexp(b)  # powers of two are exact
    if up - down > 400:
        return 2.0**400, 0.0
    first = over / under
    product, error = _two_product(first, under)
    return math.ldexp(first, up - down), math.ldexp(((over - product) - error) / under, up - down)


class Twofold:
    """The number hi + lo, with |lo| at most half a unit in the last place of hi.

    One operation has a relative error below 1e-30. Operands must be below 1e150 in absolute value; callers ensure this.

    >>> third = Twofold(1.0) / 3.0
    >>> float((third * 3.0 - 1.0).value())
    0.0
    """

    __slots__ = ("hi", "lo")
    __array_ufunc__ = None  # let `array + twofold` reach __radd__

    def __init__(self, hi: Any, lo: Any = 0.0) -> None:
        self.hi: Any = np.asarray(hi, dtype=np.float64)
        self.lo: Any = np.asarray(lo, dtype=np.float64)

    @classmethod
    def of(cls, value: Any) -> Self:
        return value if isinstance(value, cls) else cls(value)

    def __add__(self, other: Any) -> Twofold:
        other = Twofold.of(other)
        total, error = _two_sum(self.hi, other.hi)
        tail, rest = _two_sum(self.lo, other.lo)
        total, error = _renormal(total, error + tail)
        return Twofold(*_renormal(total, error + rest))

    def __neg__(self) -> Twofold:
        return Twofold(-self.hi, -self.lo)

    def __sub__(self, other: Any) -> Twofold:
        return self + (-Twofold.of(other))

    def __rsub__(self, other: Any) -> Twofold:
        return Twofold.of(other) + (-self)

    def __mul__(self, other: Any) -> Twofold:
        other = Twofold.of(other)
        product, error = _two_product(self.hi, other.hi)
        return Twofold(*_renormal(product, error + (self.hi * other.lo + self.lo * other.hi)))

    def __truediv__(self, other: Any) -> Twofold:
        other = Twofold.of(other)
        first = self.hi / other.hi
        second = (self - other * first).hi / other.hi
        return Twofold(*_renormal(first, second))

    def halved(self) -> Twofold:
        """Return half of the number, exactly (unless the low part is subnormal)."""
        return Twofold(0.5 * self.hi, 0.5 * self.lo)

    def __rtruediv__(self, other: Any) -> Twofold:
        return Twofold.of(other) / self

    __radd__ = __add__
    __rmul__ = __mul__

    def sqrt(self) -> Twofold:
        """Return the square root of a non-negative number (one Newton correction)."""
        root = np.sqrt(self.hi)
        safe = np.where(root > 0.0, root, 1.0)
        rest = (self - Twofold(root) * root).hi
        return Twofold(*_renormal(root, np.where(root > 0.0, rest / (2.0 * safe), 0.0)))

    def exp(self) -> Array:
        """Return e**(hi + lo) as floats, to about one unit in the last place."""
        with np.errstate(under="ignore"):
            return np.exp(self.hi) * (1.0 + self.lo)

    def expm1(self) -> Array:
        """Return e**(hi + lo) - 1 as floats."""
        with np.errstate(under="ignore"):
            return np.expm1(self.hi) + np.exp(self.hi) * self.lo

    def value(self) -> Array:
        """Return the nearest float."""
        return self.hi + self.lo

    def __getitem__(self, key: Any) -> Twofold:
        return Twofold(self.hi[key], self.lo[key])

    def put(self, mask: Any, part: Twofold) -> None:
        """Write `part` into the elements where the mask is true."""
        self.hi[mask], self.lo[mask] = part.hi, part.lo

    def where(self, condition: Any, other: Any) -> Twofold:
        """Return self where the condition is true, and `other` elsewhere."""
        other = Twofold.of(other)
        return Twofold(np.where(condition, self.hi, other.hi), np.where(condition, self.lo, other.lo))
