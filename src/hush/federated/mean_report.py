"""`LocalMean`: the private report of one number whose average estimates a mean with nearly the least variance.

A person's value is on the lattice of 2^20 steps across the range. It is rounded at random to one of the two
neighbouring values of a grid, with the probabilities that keep its expectation. The grid value selects a row of whole
numbers, and the reported number is drawn with these weights, exactly.

`LocalMean` checks three facts in whole numbers when it is made. So it does not matter how the weights were found:

    every row has the same sum                                 the weights are probabilities
    a column's largest weight <= e^epsilon times its least     a report is epsilon-private for any two values
    sum of weight times number = sum of weights times value    the expectation of a report is the value

For small epsilon it is randomised response over two numbers (Duchi, Jordan and Wainwright 2018); its variance is then
within 0.2 % of the optimum. From epsilon = 0.1 on a linear programme finds it (mean_program.py).
"""

from __future__ import annotations

import math
from dataclasses import dataclass, field
from fractions import Fraction
from functools import cached_property, lru_cache
from itertools import pairwise

import numpy as np
from numpy.typing import NDArray

from hush.errors import InvalidParameter, NotCertified, Unsupported
from hush.federated.mean_program import Solution, solved
from hush.federated.stable import one_budget
from hush.federated.uniform import below
from hush.numerics.ball import flint_module, precision
from hush.numerics.rounding import BETWEEN_FINE_POINTS, SEARCH_AIM, TIED, round_up, up
from hush.sampling.entropy import Bits, Entropy, SecureEntropy

__all__ = ["BEST_FROM", "BEST_TO", "STEPS", "LocalMean", "local_mean"]

STEPS = 1 << 20  # lattice steps across the range: rounding moves a value by less than a millionth of the range
_TWO_NUMBERS = 0.1  # below this epsilon the report is one of two numbers
#: Up to each epsilon, k of the grid of 2k + 1 values: random rounding then adds about 1 % to the variance, up to 4.
_GRIDS = ((1.25, 4), (2.75, 8), (math.inf, 16))
BEST_TO = 10.0  # a larger epsilon gets the report of this one; up to here no noise has less variance
BEST_FROM = 2.0**-36  # the least epsilon: the two numbers are then below 2^56 steps
_FURTHEST = 1 << 62  # numbers are smaller, so that int64 holds them and their distances from a value
_BITS = 50  # bits of a probability
_RATIO_BITS = 64  # bits of the lower bound of e^epsilon after the binary point


@dataclass(frozen=True)
class LocalMean:
    """A report of a value in a public range: a number, drawn with weights that depend on the value.

    `numbers` are the numbers that may be reported, in steps above the low end of the range (2^20 across it). Row i of
    `weights` is for the value i/(rows - 1) of the range; a value between two rows uses either of them, at random.

    Guarantees: a report is epsilon-private for any change of the value, and its expectation is the value. Both are
    checked in whole numbers when the object is made.

    >>> made = local_mean(1.0)
    >>> round(made.variance, 2), made.epsilon
    (1.0, 1.0)
    """

    epsilon: float
    numbers: tuple[int, ...] = field(repr=False)
    weights: tuple[tuple[int, ...], ...] = field(repr=False)

    def __post_init__(self) -> None:
        most = _odds_below(one_budget(self.epsilon))
        if not self._well_formed():
            raise InvalidParameter(
                "numbers must be whole numbers in increasing order, each below 2^62 in size, and weights at least two "
                "rows of whole numbers; write local_mean(1.0)."
            )
        rows, total = len(self.weights), self.total
        if STEPS % (rows - 1) or not 0 < total < 1 << 63:
            raise InvalidParameter(
                "weights must be 2, 3, 5, 9, ... rows of whole numbers with a sum below 2^63; write local_mean(1.0)."
            )
        if any(len(row) != len(self.numbers) or min(row) < 1 or sum(row) != total for row in self.weights):
            raise InvalidParameter(
                "weights must be one positive whole number for each number, with equal sums of rows; write "
                "local_mean(1.0)."
            )
        for column in zip(*self.weights, strict=True):
            if Fraction(max(column), min(column)) > most:
                raise InvalidParameter(
                    f"the weights of a number differ by more than e^epsilon, epsilon = {self.epsilon:g}; write "
                    "local_mean(1.0)."
                )
        for place, row in enumerate(self.weights):
            mean = sum(weight * number for weight, number in zip(row, self.numbers, strict=True))
            if mean * (rows - 1) != total * place * STEPS:
                raise InvalidParameter(
                    "the expectation of a report must be the value of its row; write local_mean(1.0)."
                )

    def _well_formed(self) -> bool:
        """Are numbers and weights tuples of whole numbers, in the order and of the size that a report needs?"""
        if not isinstance(self.weights, tuple) or len(self.weights) < 2:
            return False
        lists = (self.numbers, *self.weights)
        if not all(isinstance(each, tuple) and each and all(type(x) is int for x in each) for each in lists):
            return False
        return all(a < b for a, b in pairwise(self.numbers)) and max(map(abs, self.numbers)) < _FURTHEST

    @property
    def total(self) -> int:
        """The sum of the weights of a row."""
        return sum(self.weights[0])

    @cached_property
    def variance(self) -> float:
        """The largest variance of a report over all values, in squared ranges, rounded up."""
        gap = Fraction(1, len(self.weights) - 1)
        spread = []
        for place, row in enumerate(self.weights):
            square = sum(weight * number * number for weight, number in zip(row, self.numbers, strict=True))
            spread.append(Fraction(square, self.total * STEPS**2) - (place * gap) ** 2)
        # between two rows it is a mixture of their variances, plus the variance of the rounding
        return round_up(max(_between(a, b, gap**2) for a, b in pairwise(spread)))

    @property
    def reach(self) -> float:
        """The largest distance of a report from the value, in ranges."""
        return round_up(Fraction(max(self.numbers[-1], STEPS - self.numbers[0]), STEPS))

    @cached_property
    def _laws(self) -> tuple[NDArray[np.float64], NDArray[np.float64], NDArray[np.float64]]:
        """Values, numbers and probabilities in floats, with three mixtures of each two rows."""
        rows = np.array(self.weights, dtype=np.float64) / self.total
        parts = [(1.0 - share) * rows[:-1] + share * rows[1:] for share in (0.0, 0.25, 0.5, 0.75)]
        chance = np.vstack([np.stack(parts, axis=1).reshape(-1, rows.shape[1]), rows[-1:]])
        return np.linspace(0.0, 1.0, len(chance)), np.array(self.numbers, dtype=np.float64) / STEPS, chance

    @cached_property
    def cumulants(self) -> tuple[float, float]:
        """The largest absolute third and fourth cumulants over all values, by floats."""
        value, number, chance = self._laws
        apart = number[None, :] - value[:, None]
        square, third, fourth = ((chance * apart**power).sum(axis=1) for power in (2, 3, 4))
        return 1.01 * float(np.abs(third).max()), 1.01 * float(np.abs(fourth - 3.0 * square**2).max())

    @cached_property
    def _peaks(self) -> tuple[tuple[float, float], ...]:
        """Half a lattice step and the largest |characteristic function| near the first two frequencies of a lattice.

        The lattice is that of the two outermost numbers; the numbers near them may be closer or further apart.
        """
        _, number, chance = self._laws
        found = []
        for start, end in ((0.75, 1.5), (1.5, 2.25)):
            turns = np.linspace(start, end, 101) / (number[-1] - number[0])
            left = np.abs(chance @ np.exp(2.0j * math.pi * np.outer(number, turns))).max(axis=0)
            found.append((0.5 / float(turns[0]), min(up(float(left.max()), BETWEEN_FINE_POINTS), 1.0)))
        return tuple(found)

    def wobble(self, count: int) -> float:
        """The error of the normal law for a mean of `count` reports that lie almost on a lattice: half a step of it."""
        return math.fsum(half * left**count for half, left in self._peaks) / count

    def draw(self, steps: NDArray[np.int64], entropy: Entropy | None = None) -> NDArray[np.int64]:
        """The reports of values on the lattice (0 to 2^20), in steps."""
        bits = (SecureEntropy() if entropy is None else entropy).begin()
        return np.array(self.numbers, dtype=np.int64)[self._drawn(bits, self._rows(bits, steps))]

    def _rows(self, bits: Bits, steps: NDArray[np.int64]) -> NDArray[np.int64]:
        """The row of each value: one of its two neighbours, with the probabilities that keep the expectation."""
        apart = STEPS // (len(self.weights) - 1)
        return steps // apart + (below(bits, steps.size, apart) < steps % apart)

    def _drawn(self, bits: Bits, rows: NDArray[np.int64]) -> NDArray[np.int64]:
        """The place of each reported number: a uniform whole number among the running sums of the row."""
        uniform = below(bits, rows.size, self.total)
        out = np.empty(rows.size, dtype=np.int64)
        for row, weights in enumerate(self.weights):
            own = rows == row
            out[own] = np.searchsorted(np.cumsum(np.array(weights, dtype=np.int64)), uniform[own], side="right")
        return out

    def __str__(self) -> str:
        return f"one of {len(self.numbers)} numbers, drawn for the least variance of a mean at epsilon {self.epsilon:g}"


def _between(a: Fraction, b: Fraction, square: Fraction) -> Fraction:
    """The largest (1 - t) a + t b + t (1 - t) square over t in [0, 1]."""
    if abs(b - a) >= square:
        return max(a, b)
    return (a + b) / 2 + square / 4 + (b - a) ** 2 / (4 * square)


def _odds_below(epsilon: float) -> Fraction:
    """A fraction that is at most e^epsilon, by ball arithmetic."""
    epsilon = min(epsilon, 2.0 * BEST_TO)
    flint = flint_module()
    with precision(256):
        scaled = (flint.arb(epsilon).exp() * flint.arb(2) ** _RATIO_BITS).lower().floor().unique_fmpz()
    return Fraction(int(scaled), 1 << _RATIO_BITS)


@lru_cache(maxsize=256)
def local_mean(epsilon: float) -> LocalMean:
    """The report with nearly the least variance for this epsilon: at most 1.02 times the least up to epsilon = 4.

    Above epsilon = 10 it is that of 10. Raises `Unsupported` below 2^-36.
    """
    budget = one_budget(epsilon)
    if budget < BEST_FROM:
        raise Unsupported(
            f"reports for a mean need an epsilon of at least {BEST_FROM:.3g}, got {budget:g}; use family='laplace'."
        )
    if budget < _TWO_NUMBERS:
        return _two_numbers(budget)
    k = next(k for limit, k in _GRIDS if budget <= limit)
    for margin in (SEARCH_AIM, TIED):  # the second for a programme whose solution is less accurate than usual
        try:
            return _in_whole_numbers(budget, solved(min(budget, BEST_TO), k, margin))
        except InvalidParameter:
            continue
    raise NotCertified(f"no report was certified for epsilon = {budget:g}; write family='laplace'.")


def _two_numbers(epsilon: float) -> LocalMean:
    """Randomised response: 1/2 + C or 1/2 - C, with odds (C + 1/2) : (C - 1/2) at the ends of the range.

    C is the least whole number of steps with (C + 1/2)/(C - 1/2) <= e^epsilon.
    """
    odds, half = _odds_below(epsilon), STEPS // 2
    far = math.ceil(half * (odds + 1) / (odds - 1))
    return LocalMean(epsilon, (half - far, half + far), ((far + half, far - half), (far - half, far + half)))


def _in_whole_numbers(epsilon: float, found: Solution) -> LocalMean:
    """Probabilities as multiples of 2^-50, and the weights of the two outermost numbers from the two equations.

    With M the outermost number, all weights are multiplied by 2M. Then the two equations, for the sum s of the weights
    of both and for the sum t of the products, have whole solutions: M s + t and M s - t.
    """
    unit, most, k = 1 << _BITS, int(found.number[-1]), (len(found.chance) - 1) // 2
    numbers, rows = [int(number) for number in found.number], []
    for place, chance in enumerate(found.chance):
        inner = [round(float(p) * unit) for p in chance[1:-1]]
        value = Fraction(place - k, 2 * k) / Fraction(found.step)
        mass = unit - sum(inner)
        moment = value * unit - sum(weight * number for weight, number in zip(inner, numbers[1:-1], strict=True))
        ends = [most * mass - moment, most * mass + moment]
        rows.append((int(ends[0]), *(2 * most * weight for weight in inner), int(ends[1])))
    steps = int(Fraction(found.step) * STEPS)
    return LocalMean(epsilon, tuple(STEPS // 2 + steps * number for number in numbers), tuple(rows))
