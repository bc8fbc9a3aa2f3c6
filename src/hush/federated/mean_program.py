"""The linear programme of the report with the least variance of a mean.

A report is a number whose expectation is the person's value. It is epsilon-private if the probability of each number
differs by at most a factor r = e^epsilon between any two values. Values are on a grid of 2k + 1 points of the range
[-1/2, 1/2]. A column is a reported number e and a set S of values: those in S report e with probability r w, the others
with probability w. Every private report is a mixture of columns (an extreme point of {c : 1 <= c <= r} has no other
entries; Kairouz, Oh and Viswanath 2016), so the least largest variance is a linear programme in the weights w:

    sum w c(x) = 1,   sum w c(x) e = x,   sum w c(x) e^2 <= V + x^2   for every x,   V least.

Columns are generated: for the current prices of the rows, the best set S for a number e is the set of values whose
price makes the larger probability cheaper, one comparison for each value. V is within the price of the best missing
column of the optimum over all columns. Each pair of columns is mirrored, (e, S) and (-e, -S), which halves the rows.

Floats find the report. `LocalMean` proves it in whole numbers, so nothing here has to be exact.
"""

from __future__ import annotations

import math
from dataclasses import dataclass
from typing import Any

import numpy as np
from numpy.typing import NDArray

from hush.errors import NotCertified
from hush.numerics.rounding import Claim, down

__all__ = ["Solution", "solved"]

Array = NDArray[np.float64]
Sets = NDArray[np.bool_]

_FIRST = 4  # k of the coarsest grid; each finer one has twice as many
_NUMBERS = 96  # numbers e between 0 and the number of randomised response
_NEW = 40  # columns that are added at a time
_TURNS = 100  # programmes on one grid
_GAP = 1e-3  # the distance from the optimum at which the search ends, as a fraction of V
_FINE_GAP = 1e-2  # the same on a grid of more than 17 values, whose programmes take longer
_TINY = 1e-12  # a column of less weight is left out
_OPTIONS = {"primal_feasibility_tolerance": 1e-10, "dual_feasibility_tolerance": 1e-10}


@dataclass(frozen=True)
class Solution:
    """A mechanism in floats: `chance[x, y]` is the probability that value x of the grid reports `number[y]` `step`.

    Values and numbers are relative to the middle of the range; numbers are symmetric and increasing. The optimum over
    all mechanisms on this grid is at least `variance` times (1 - gap).
    """

    chance: Array
    number: NDArray[np.int64]
    step: float
    variance: float
    gap: float


@dataclass
class _Programme:
    """The columns on a grid of 2k + 1 values: their numbers e >= 0 and their sets, a row for each column."""

    ratio: float
    k: int
    choices: Array  # the numbers e that a column may have
    numbers: Array
    sets: Sets

    def optimum(self, gap: float) -> tuple[Array, float, float]:
        """The weights of the columns, V, and the proved relative distance of V from the optimum over all columns."""
        for _ in range(_TURNS):
            answer = self._solve()
            new, left = self._missing(answer)
            if left <= gap * answer.fun:
                break
            self.numbers = np.concatenate([self.numbers, self.choices[new[0]]])
            self.sets = np.vstack([self.sets, new[1]])
        return answer.x[:-1], float(answer.fun), float(left / answer.fun)

    def _solve(self) -> Any:
        from scipy.optimize import linprog  # here, because it is slow to import

        k, count, e = self.k, self.numbers.size, self.numbers
        chance = np.where(self.sets, self.ratio, 1.0).T
        own, mirrored = chance[k:], chance[k::-1]  # the rows of x >= 0, and what the mirrored column has there
        x = np.arange(k + 1) / (2.0 * k)
        equal, limit = np.zeros((2 * k + 1, count + 1)), np.full((k + 1, count + 1), -1.0)
        equal[: k + 1, :count] = own + mirrored
        equal[k + 1 :, :count] = ((own - mirrored) * e)[1:]  # at x = 0 the mirror makes the mean 0
        limit[:, :count] = (own + mirrored) * e**2
        cost = np.zeros(count + 1)
        cost[-1] = 1.0
        right = np.concatenate([np.ones(k + 1), x[1:]])
        answer = linprog(cost, limit, x**2, equal, right, bounds=(0, None), method="highs-ds", options=_OPTIONS)
        if answer.status != 0:
            raise NotCertified(f"the programme of the least variance was not solved: {answer.message}")
        return answer

    def _missing(self, answer: Any) -> tuple[tuple[NDArray[np.int64], Sets], float]:
        """The numbers and sets with the most negative reduced costs, and a bound on what all columns could gain."""
        k, prices = self.k, answer.eqlin.marginals
        total, mean, square = prices[: k + 1], np.concatenate([[0.0], prices[k + 1 :]]), answer.ineqlin.marginals
        whole = [np.concatenate([sign * v[:0:-1], v]) for sign, v in ((1, total), (-1, mean), (1, square))]
        whole[0][k] *= 2.0  # at x = 0 a column meets its own mirror
        whole[2][k] *= 2.0
        e = self.choices[:, None]
        each = -(whole[0] + whole[1] * e + whole[2] * e**2)
        cost = each.sum(axis=1) + (self.ratio - 1.0) * np.minimum(each, 0.0).sum(axis=1)
        padded = np.concatenate([[math.inf], cost, [math.inf]])
        least = np.flatnonzero((cost <= padded[:-2]) & (cost <= padded[2:]) & (cost < 0.0))
        least = least[np.argsort(cost[least])][:_NEW]
        # a pair of columns has a probability of at least 2 w, so all weights together are at most 1/2
        return (least, each[least] < 0.0), 0.5 * max(-float(cost.min()), 0.0)

    def refined(self, weights: Array) -> _Programme:
        """The programme on a grid twice as fine, with the used columns: a new value joins both or either neighbour."""
        used = np.flatnonzero(weights > _TINY)
        old = self.sets[used]
        left, right = old[:, :-1], old[:, 1:]
        sets = np.zeros((4 * used.size, 4 * self.k + 1), dtype=bool)
        sets[:, ::2] = np.tile(old, (4, 1))
        sets[:, 1::2] = np.vstack([left & right, left | right, left, right])
        rows = np.unique(np.column_stack([np.tile(self.numbers[used], 4), sets]), axis=0)
        return _Programme(self.ratio, 2 * self.k, self.choices, rows[:, 0].copy(), rows[:, 1:] > 0.0)


def solved(epsilon: float, k: int, margin: Claim) -> Solution:
    """The mechanism on a grid of 2k + 1 values (k = 4, 8, 16, ...), with a ratio that is below e^epsilon by a claim."""
    ratio = down(math.exp(epsilon), margin)
    far = 0.5 / math.tanh(0.5 * epsilon)  # the number of randomised response
    step = 2.0 ** math.ceil(math.log2(far / _NUMBERS))
    choices = np.arange(math.floor((1.25 * far + 0.2) / step) + 1, dtype=np.float64) * step
    size = 2 * _FIRST + 1
    places = np.arange(size)
    first = [(places >= a) & (places < b) for a in range(size) for b in range(a + 1, size + 1)]
    starts = choices[:: max(1, choices.size // 10)]
    made = _Programme(ratio, _FIRST, choices, np.repeat(starts, len(first)), np.tile(np.array(first), (starts.size, 1)))
    while True:
        weights, variance, gap = made.optimum(_GAP if made.k <= 2 * _FIRST else _FINE_GAP)
        if made.k >= k:
            return _joined(made, weights, variance, gap, step)
        made = made.refined(weights)


def _joined(made: _Programme, weights: Array, variance: float, gap: float, step: float) -> Solution:
    """The probabilities of each number, of all columns and their mirrors."""
    used = np.flatnonzero(weights > _TINY)
    chance = np.where(made.sets[used], made.ratio, 1.0) * weights[used][:, None]
    places = np.rint(made.numbers[used] / step).astype(np.int64)
    number, where = np.unique(np.concatenate([places, -places]), return_inverse=True)
    table = np.zeros((number.size, 2 * made.k + 1))
    np.add.at(table, where, np.vstack([chance, chance[:, ::-1]]))
    return Solution(table.T, number, step, variance, gap)
