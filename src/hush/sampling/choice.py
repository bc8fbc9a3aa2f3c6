"""Exact draws of choices: a thing of score s is drawn with probability proportional to e^(rate s), without any noise.

Things of equal scores are listed as one run, with its score and its width, the number of its things. A run is drawn
with a weight of its width times e^(rate (score - best)), then one of its things, uniformly. So a choice among 10^18
cells costs as much as one among ten, if they have the same runs.

The weights are whole numbers of 2^-192, or finer, with an error of less than two units. A uniform number decides the
run if it is further from every limit than these errors. Otherwise finer weights and more bits of the same uniform
number decide. So no float decides.

Some things may not be listed: of the rest only the number and the largest possible score are known. The weight of the
rest is then between 0 and its largest value. Where the uniform number may fall into the rest, more runs are listed,
after those that were listed before, and the same uniform number decides among all of them. It is never drawn anew:
that would change the law.

`largest` is the choice of the largest numbers: k times, one of those that are left. This is the law of the places of
the largest noisy numbers, the largest first, if every number gets Gumbel noise once (docs/maths/top.md).
"""

from __future__ import annotations

from bisect import bisect_right
from collections.abc import Callable, Sequence
from dataclasses import dataclass
from fractions import Fraction
from itertools import accumulate

import numpy as np
from numpy.typing import NDArray

from hush.errors import NotCertified
from hush.numerics.ball import flint_module, precision
from hush.sampling.entropy import Bits, Entropy, SecureEntropy

__all__ = ["Draw", "Runs", "chosen", "largest"]

_START, _MORE, _TURNS = 192, 128, 40  # bits of the weights, further bits in each turn, and turns


@dataclass(frozen=True)
class Runs:
    """Things to choose from: the score and the number of things of each run. `rest` has the largest possible score and
    the number of things that are not listed; `more` lists further runs, this list first.
    """

    scores: Sequence[int]
    widths: Sequence[int]
    rest: Sequence[tuple[int, int]] = ()
    more: Callable[[], Runs] | None = None


#: Draws a run and a place in it: from runs, and the largest move of their scores by one person.
Draw = Callable[[Runs, Fraction], tuple[int, int]]


def chosen(runs: Runs, rate: Fraction, bits: Bits) -> tuple[int, int]:
    """A run, and the place of a thing in it, drawn with probability in proportion to e^(rate score)."""
    run, widths = _run(runs, rate, bits)
    return run, _below(widths[run], bits)


def largest(numbers: NDArray[np.int64], scale: float, times: int, entropy: Entropy | None = None) -> NDArray[np.int64]:
    """The places of the `times` largest numbers under choices of this scale, the largest first."""
    bits = (SecureEntropy() if entropy is None else entropy).begin()
    values, inverse = np.unique(-np.asarray(numbers, dtype=np.int64), return_inverse=True)
    order = np.argsort(inverse, kind="stable")
    ends = np.cumsum(np.bincount(inverse, minlength=values.size))
    places = [part.tolist() for part in np.split(order, ends[:-1])]  # of each value, the largest value first
    levels, rate = [-int(value) for value in values], 1 / Fraction(scale)
    found = []
    for _ in range(times):
        first = next(level for level, left in enumerate(places) if left)
        run, place = chosen(Runs(levels[first:], [len(left) for left in places[first:]]), rate, bits)
        left = places[first + run]
        left[place], left[-1] = left[-1], left[place]
        found.append(left.pop())
    return np.array(found, dtype=np.int64)


def _run(runs: Runs, rate: Fraction, bits: Bits) -> tuple[int, Sequence[int]]:
    """The place of a run, and the widths of all runs that had to be listed."""
    best = max([*runs.scores, *(score for score, _ in runs.rest)])
    size, drawn = _START, _word(_START, bits)
    for _ in range(_TURNS):
        while True:
            low, high, rest = _sums(runs, best, rate, size)
            # the uniform number is in [drawn, drawn + 1] 2^-size, times a total in [low[-1], high[-1] + rest]
            start, end = (drawn * low[-1]) >> size, ((drawn + 1) * (high[-1] + rest) >> size) + 1
            run = bisect_right(high, start)  # the limit below this run is at most `start`
            if run < len(low) and end <= low[run]:
                return run, runs.widths
            if runs.more is None or not rest:
                break
            runs = runs.more()
        size, drawn = size + _MORE, (drawn << _MORE) | _word(_MORE, bits)
    raise NotCertified("a choice was not decided by 5,000 random bits; nothing was released.")


def _sums(runs: Runs, best: int, rate: Fraction, size: int) -> tuple[list[int], list[int], int]:
    """Both ends of the sums of weights up to each run, and the largest weight of the rest, in units of 2^-size."""
    weights = _weights({*runs.scores, *(score for score, _ in runs.rest)}, best, rate, size)
    low = list(accumulate(width * weights[score] for score, width in zip(runs.scores, runs.widths, strict=True)))
    high = [weight + 2 * above for weight, above in zip(low, accumulate(runs.widths), strict=True)]
    return low, high, sum(width * (weights[score] + 2) for score, width in runs.rest)


def _weights(scores: set[int], best: int, rate: Fraction, size: int) -> dict[int, int]:
    """e^(rate (score - best)) of each score, in units of 2^-size: at most the weight, and above it less 2."""
    arb, fmpq = flint_module().arb, flint_module().fmpq
    found, far = {}, size / rate  # beyond, a weight is below 2^-size
    with precision(size + 64):
        unit = arb(2) ** size
        for score in scores:
            gap = best - score
            if gap > far:
                found[score] = 0
                continue
            weight = arb(fmpq(-gap * rate.numerator, rate.denominator)).exp() * unit
            found[score] = int(weight.lower().floor().unique_fmpz())
    return found


def _word(size: int, bits: Bits) -> int:
    """A whole number of this many random bits."""
    return int.from_bytes(bits.words(size // 64, np.uint64)[0].tobytes(), "little")


def _below(count: int, bits: Bits) -> int:
    """A uniform whole number below `count`, by rejection."""
    size = -(-count.bit_length() // 64) * 64
    most = (1 << size) // count * count
    while True:
        drawn = _word(size, bits)
        if drawn < most:
            return drawn % count
