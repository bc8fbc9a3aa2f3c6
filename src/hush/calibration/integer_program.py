"""A certified lower bound for few whole numbers that move by one step each: a linear programme over all noises.

Let X be additive noise on the whole numbers Z^d with probabilities p, private at (eps, delta) for every move s of a set
S that contains -s with s. Then sum over x of (p(x) - e^eps p(x + s))_+ <= delta for every s in S.

**Duality.** Take any numbers y_s(x) >= 0, not 0 for finitely many x only, and a lambda with

    c(x) + sum over s of y_s(x) - e^eps sum over s of y_s(x - s) >= lambda       for every x in Z^d.          (1)

Multiply (1) by p(x) and add up: E c(X) + sum over s and x of y_s(x) (p(x) - e^eps p(x + s)) >= lambda. The second sum
is at most delta times the sum over s of the largest y_s(x). So

    E c(X) >= lambda - delta sum over s of max y_s.

**Nothing is truncated.** The y_s(x) are 0 outside the box |x_j| <= N. Outside the box |x_j| <= N + 1 all terms of (1)
but c(x) are 0, and c(x) is at least its value at a distance of N + 2. So finitely many inequalities prove all of (1). A
larger box makes the bound better, never less valid.

**Symmetry.** The set S, the loss and (1) do not change if numbers are permuted or all signs are changed (in both
directions: each sign alone). So y may be the same on each orbit of pairs (s, x), and one x of each orbit is enough.

**Certificate.** HiGHS proposes y in floats. They are rounded to whole multiples of 2^-30, e^eps is replaced by a larger
fraction, and lambda is computed from (1) in whole numbers. So the bound does not depend on the solver.
"""

from __future__ import annotations

import itertools
import math
from fractions import Fraction
from functools import lru_cache
from typing import Any

import numpy as np
from numpy.typing import NDArray

from hush.numerics.ball import flint_module, precision
from hush.numerics.rounding import next_down

__all__ = ["by_integer_program"]

Whole = NDArray[np.int64]
_UNIT = 1 << 30  # parts of 1 in the rounded numbers
#: Unknowns for two numbers, and for more of them; larger programmes would take longer than 0.3 seconds.
_MOST_UNKNOWNS = (4000, 8000)
_MOST_NUMBERS = 5
#: Times 1/epsilon: a smaller box gives bounds that others exceed, and a larger one hardly helps.
_LEAST_REACH, _REACH = 2.5, 20.0


@lru_cache(maxsize=256)
def by_integer_program(epsilon: float, delta: float, count: int, moving: int, one_sided: bool, loss: str) -> float:
    """A lower bound on the average loss of one of `count` whole numbers, of which at most `moving` move by 1.

    0 where the programme would be too large.
    """
    if not 1 < count <= _MOST_NUMBERS or not 1e-3 < epsilon < 30.0:
        return 0.0
    moves = _moves(count, moving, one_sided)
    symmetries = math.factorial(count) * (2 if one_sided else 2**count)
    reach = _reach(count, len(moves) / symmetries, epsilon)
    return (
        0.0
        if reach < max(2.0, _LEAST_REACH / epsilon)
        else _Programme(moves, reach, one_sided, loss).bound(epsilon, delta)
    )


def _moves(count: int, moving: int, one_sided: bool) -> Whole:
    """All moves: at most `moving` numbers by 1, in one direction or in both."""
    listed = [s for s in itertools.product((0, 1) if one_sided else (-1, 0, 1), repeat=count) if any(s)]
    few = np.array([s for s in listed if sum(map(abs, s)) <= moving], dtype=np.int64)
    return np.concatenate([few, -few]) if one_sided else few


def _reach(count: int, share: float, epsilon: float) -> int:
    """The size N of the box, so that there are not too many unknowns."""
    side = (_MOST_UNKNOWNS[count > 2] / share) ** (1.0 / count)
    return min(math.floor(0.5 * (side - 3.0)), math.ceil(_REACH / epsilon) + 4)


class _Programme:
    """The inequalities (1) at one point of each orbit. here[k, s] and there[k, s] are the numbers of the unknowns
    y_s(x) and y_s(x - s) at the k-th point; the last number stands for 0.
    """

    def __init__(self, moves: Whole, reach: int, one_sided: bool, loss: str) -> None:
        self.reach, self.one_sided, self.power = reach, one_sided, 2 if loss == "variance" else 1
        self.count, self.moves = moves.shape[1], len(moves)
        side = np.arange(-reach - 1, reach + 2)
        box = np.stack(np.meshgrid(*[side] * self.count, indexing="ij"), axis=-1).reshape(-1, self.count)
        points = box[np.unique(self._orbits(box, np.zeros_like(box)), return_index=True)[1]]
        self.loss = (np.abs(points) ** self.power).sum(axis=1)
        x = np.repeat(points[:, None, :], self.moves, axis=1)
        s = np.broadcast_to(moves, x.shape)
        codes = [np.where(np.abs(at).max(axis=-1) <= reach, self._orbits(at, s), -1) for at in (x, x - s)]
        known = np.unique(np.concatenate([code.ravel() for code in codes]))
        known = known[known >= 0]
        self.unknowns = known.size
        self.here, self.there = (
            np.where(code < 0, self.unknowns, np.searchsorted(known, np.maximum(code, 0))) for code in codes
        )
        self.kinds = self._orbits(np.zeros_like(moves), moves).tolist()  # of the moves

    def _orbits(self, x: Whole, s: Whole) -> Whole:
        """A number for each pair (x, s) that is the same for all pairs of its orbit."""
        key, base = 3 * x + s, 6 * self.reach + 20  # the key determines x and s, and -x, -s have the key -key

        def code(keys: Whole) -> Whole:
            ordered = np.sort(keys, axis=-1) + base // 2
            found = np.zeros(keys.shape[:-1], dtype=np.int64)
            for place in range(self.count):
                found = found * base + ordered[..., place]
            return found

        return np.maximum(code(key), code(-key)) if self.one_sided else code(np.abs(key))

    def bound(self, epsilon: float, delta: float) -> float:
        """The certified bound for one number."""
        proposed = self._proposal(epsilon, delta)
        if proposed is None:
            return 0.0
        y = [int(value) for value in np.floor(np.maximum(proposed, 0.0) * _UNIT)] + [0]
        growth, table = _above_exp(epsilon), np.array(y, dtype=object)
        gained, lost = table[self.here].sum(axis=1), table[self.there].sum(axis=1)
        rows = (
            Fraction(int(c) * _UNIT + int(a)) - growth * int(b) for c, a, b in zip(self.loss, gained, lost, strict=True)
        )
        far = Fraction((self.reach + 2) ** self.power * _UNIT)
        found = (min(min(rows), far) - Fraction(delta) * self._largest(table)) / (_UNIT * self.count)
        return max(next_down(float(found)), 0.0)

    def _largest(self, table: NDArray[Any]) -> int:
        """The sum over all moves of the largest y_s. Moves of one orbit have the same largest value, which some move of
        the orbit has at a point that is listed.
        """
        largest: dict[int, int] = {}
        for place, kind in enumerate(self.kinds):
            largest[kind] = max(largest.get(kind, 0), int(table[self.here[:, place]].max()))
        return sum(largest[kind] for kind in self.kinds)

    def _proposal(self, epsilon: float, delta: float) -> NDArray[np.float64] | None:
        """y in floats, from HiGHS; None if it finds none."""
        from scipy.optimize import linprog
        from scipy.sparse import csr_array

        rows = np.repeat(np.arange(len(self.loss)), self.moves)
        parts = [(-1.0, self.here.ravel()), (math.exp(epsilon), self.there.ravel())]
        kept = [(value, place[place < self.unknowns], rows[place < self.unknowns]) for value, place in parts]
        lines = np.arange(len(self.loss))
        entries = np.concatenate([np.ones(len(lines)), *(np.full(place.size, value) for value, place, _ in kept)])
        across = np.concatenate([np.zeros(len(lines), dtype=np.int64), *(place + 1 for _, place, _ in kept)])
        down = np.concatenate([lines, *(row for _, _, row in kept)])
        matrix = csr_array((entries, (down, across)), shape=(len(lines), self.unknowns + 1))
        matrix.sum_duplicates()
        costs = np.append(-1.0, np.full(self.unknowns, delta))
        limits = [(None, None)] + [(0.0, None)] * self.unknowns
        solved = linprog(costs, A_ub=matrix, b_ub=self.loss, bounds=limits, method="highs-ds")
        return None if solved.x is None else np.asarray(solved.x[1:], dtype=np.float64)


def _above_exp(epsilon: float) -> Fraction:
    """A fraction that is not below e^epsilon."""
    with precision(64):
        mantissa, exponent = flint_module().arb(epsilon).exp().upper().man_exp()
    return Fraction(int(mantissa)) * Fraction(2) ** int(exponent)
