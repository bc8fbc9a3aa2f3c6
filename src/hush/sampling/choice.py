"""Exact draws of the largest numbers under Gumbel noise, without any noise on the numbers.

The first place is i with probability proportional to e^(x_i/scale). It is taken off the list, and the next place is
drawn from the rest. This is the law of the places of the largest noisy numbers, the largest first, if every number gets
Gumbel noise once (docs/maths/top.md).

Equal numbers have equal weights, so a value is drawn first, then one of its places. The weights e^((x - largest)/scale)
are whole numbers of 2^-192, or finer, with an error of less than two units. A uniform number decides the value if it is
further from every limit than these errors. Otherwise finer weights and more bits of the same uniform number decide.
"""

from __future__ import annotations

from bisect import bisect_right
from fractions import Fraction
from itertools import accumulate

import numpy as np
from numpy.typing import NDArray

from hush.errors import NotCertified
from hush.numerics.ball import flint_module, precision
from hush.sampling.entropy import Bits, Entropy, SecureEntropy

__all__ = ["choose"]

_START, _MORE, _TURNS = 192, 128, 40  # bits of the weights, further bits in each turn, and turns


def choose(numbers: NDArray[np.int64], scale: float, times: int, entropy: Entropy | None = None) -> NDArray[np.int64]:
    """The places of the `times` largest numbers under Gumbel noise of this scale, the largest first."""
    bits = (SecureEntropy() if entropy is None else entropy).begin()
    values, inverse = np.unique(-np.asarray(numbers, dtype=np.int64), return_inverse=True)
    order = np.argsort(inverse, kind="stable")
    ends = np.cumsum(np.bincount(inverse, minlength=values.size))
    places = [part.tolist() for part in np.split(order, ends[:-1])]  # of each value, the largest value first
    levels = [-int(value) for value in values]
    found = []
    for _ in range(times):
        first = next(level for level, left in enumerate(places) if left)
        level = first + _value(levels[first:], [len(left) for left in places[first:]], Fraction(scale), bits)
        left = places[level]
        place = _below(len(left), bits)
        left[place], left[-1] = left[-1], left[place]
        found.append(left.pop())
    return np.array(found, dtype=np.int64)


def _value(levels: list[int], counts: list[int], scale: Fraction, bits: Bits) -> int:
    """The place of a value, drawn with a weight of its count times e^((value - largest)/scale)."""
    size, drawn = _START, _word(_START, bits)
    for _ in range(_TURNS):
        low = list(accumulate(n * w for n, w in zip(counts, _weights(levels, scale, size), strict=True)))
        high = [weight + 2 * above for weight, above in zip(low, accumulate(counts), strict=True)]
        # the uniform number is in [drawn, drawn + 1] 2^-size, times a total in [low[-1], high[-1]]
        start, end = (drawn * low[-1]) >> size, ((drawn + 1) * high[-1] >> size) + 1
        level = bisect_right(high, start)  # the limit below this value is at most `start`
        if level < len(low) and end <= low[level]:
            return level
        size, drawn = size + _MORE, (drawn << _MORE) | _word(_MORE, bits)
    raise NotCertified("a choice was not decided by 5,000 random bits; nothing was released.")


def _weights(levels: list[int], scale: Fraction, size: int) -> list[int]:
    """e^((value - largest)/scale) for each value, in units of 2^-size: at most the weight, and above it less 2."""
    arb, fmpq = flint_module().arb, flint_module().fmpq
    found, far = [], Fraction(size) * scale  # beyond, a weight is below 2^-size
    with precision(size + 64):
        unit = arb(2) ** size
        for level in levels:
            gap = (levels[0] - level) / scale
            if levels[0] - level > far:
                found.append(0)
                continue
            weight = (-arb(fmpq(gap.numerator, gap.denominator))).exp() * unit
            found.append(int(weight.lower().floor().unique_fmpz()))
    return found


def _word(size: int, bits: Bits) -> int:
    """A whole number of this many random bits."""
    return int.from_bytes(bits.words(size // 64, np.uint64)[0].tobytes(), "little")


def _below(count: int, bits: Bits) -> int:
    """A uniform whole number below `count`, by rejection."""
    most = (1 << 64) // count * count
    while True:
        drawn = _word(64, bits)
        if drawn < most:
            return drawn % count
