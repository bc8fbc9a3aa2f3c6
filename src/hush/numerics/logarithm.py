"""Logarithms in twofold precision (two floats, about 30 digits)."""

from __future__ import annotations

import math
from decimal import Decimal, localcontext
from functools import cache

import numpy as np

from hush.numerics.twofold import Twofold

__all__ = ["PARTS", "log_twofold", "split"]

PARTS = 64  # table entries per unit of the argument, in the tables of logarithms and powers


def split(numbers: list[Decimal]) -> Twofold:
    """Convert decimals to a twofold array."""
    high = [float(x) for x in numbers]
    return Twofold(high, [float(x - Decimal(h)) for x, h in zip(numbers, high, strict=True)])


@cache
def _logarithms() -> tuple[Twofold, Twofold]:
    """Return log 2, and log(j/64) for j = 44 ... 91."""
    with localcontext() as context:
        context.prec = 40
        return split([Decimal(2).ln()])[0], split([(Decimal(j) / PARTS).ln() for j in range(44, 92)])


def log_twofold(y: Twofold) -> Twofold:
    """Return log y for y > 0 to about 26 digits: a table at steps of 1/64, plus 2 artanh of the small remainder."""
    log2, logs = _logarithms()
    mantissa, exponent = np.frexp(y.hi)
    # keep the mantissa around 1, so that nothing cancels in the logarithm of a y near 1
    exponent = np.where(mantissa < math.sqrt(0.5), exponent - 1, exponent)
    m = Twofold(np.ldexp(y.hi, -exponent), np.ldexp(y.lo, -exponent))
    j = np.rint(m.hi * PARTS).astype(np.int64)
    u = (m - j / PARTS) / (m + j / PARTS)
    square, s = u * u, u.hi * u.hi
    rest = s * s * (1.0 / 5.0 + s * (1.0 / 7.0 + s * (1.0 / 9.0 + s * (1.0 / 11.0 + s / 13.0))))
    series = u * (square / 3.0 + rest + 1.0)
    return log2 * exponent.astype(np.float64) + logs[j - 44] + Twofold(2.0 * series.hi, 2.0 * series.lo)
