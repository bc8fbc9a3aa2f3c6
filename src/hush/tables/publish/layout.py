"""The noise of a table as a whole: which numbers share a draw, and how far weighted sums of them reach."""

from __future__ import annotations

import math
from collections import Counter
from collections.abc import Mapping, Sequence
from contextlib import suppress
from dataclasses import dataclass
from functools import lru_cache
from typing import NamedTuple

import numpy as np
from numpy.typing import NDArray

from hush.errors import Unsupported
from hush.noise.contract import Noise
from hush.noise.for_keys import ForKeys
from hush.noise.level_noise import LevelNoise
from hush.noise.level_sums import joint_half_widths
from hush.numerics.rounding import CLOSED_FORM, SPECIAL_FUNCTION, down, up
from hush.tables.column_law import ColumnLaw
from hush.tables.column_noise import Spending
from hush.tables.estimate import Linear
from hush.tables.noise_sum import Term, half_width_of_sum
from hush.tables.publish.level_sum import is_quick, reach_of_draws
from hush.tables.publish.rule_sum import reach_of_sum

__all__ = ["Layout", "Width"]

Array = NDArray[np.float64]
#: Weights of the drawn columns of a group, and how many groups have these weights.
Rows = Sequence[tuple[Array, int]]
_FEW = 4  # numbers of one draw whose weighted sum has a closed form that is quick


class Width(NamedTuple):
    """A half width, and whether it follows from the law of the sum; otherwise it is a bound."""

    half: float
    by_law: bool


@dataclass(frozen=True)
class Layout:
    """The laws of the drawn columns, and which numbers share a draw: none, those of a group, or all of the table.

    It is public. `shared` maps a column to the drawn column that it equals.
    """

    laws: tuple[ColumnLaw, ...]
    columns: tuple[str, ...]
    shared: Mapping[str, str]
    joint: Noise | None
    whole_table: bool

    @classmethod
    def of(cls, spent: Spending) -> Layout:
        """The layout of the noise of a query."""
        columns = tuple(name for name in spent.mechanisms if name not in spent.shared)
        laws = tuple(spent.mechanisms[name] for name in columns)
        return cls(laws, columns, dict(spent.shared), spent.joint, spent.whole_table)

    def weights(self, form: Linear) -> Array:
        """The weight of each drawn column in an answer."""
        found = np.zeros(len(self.columns))
        for name, factor in form.factors:
            found[self.columns.index(self.shared.get(name, name))] += factor
        return found

    def unit(self, form: Linear) -> float:
        """The most that one step of a column changes an answer."""
        steps = np.array([law.step for law in self.laws])
        return float(np.abs(self.weights(form) * steps).max())

    def half_width(self, rows: Rows, level: float) -> Width:
        """The w with P(|weighted sum of the noise of different groups| <= w) >= level."""
        kept = [(tuple(weights.tolist()), times) for weights, times in rows if times > 0 and weights.any()]
        rounding = sum(
            times * 0.5 * abs(w) * law.step * law.rounds
            for weights, times in kept
            for w, law in zip(weights, self.laws, strict=True)
        )
        if not kept:
            return Width(0.0, True)
        one_column = all(sum(w != 0.0 for w in weights) == 1 for weights, _ in kept)
        one_number = one_column and sum(times for _, times in kept) == 1
        # draws of different groups are independent, and one number has its own law
        apart = one_column and not self.whole_table and not isinstance(self.joint, ForKeys)
        alone = self.joint is None or one_number or apart
        found = _independent(self.laws, tuple(kept), level) if alone else self._joint(tuple(kept), level)
        return Width(found.half + rounding, found.by_law)

    def _joint(self, rows: tuple[tuple[tuple[float, ...], int], ...], level: float) -> Width:
        assert self.joint is not None
        steps = tuple(law.step for law in self.laws)
        in_steps = [(tuple(w * step for w, step in zip(weights, steps, strict=True)), n) for weights, n in rows]
        if not self.whole_table:
            return _of_draws(self.joint, self.laws, tuple(in_steps), level)
        every = [weights for weights, times in in_steps for _ in range(times)]
        assert self.joint.dimension is not None
        flat = tuple(w for weights in every for w in weights)
        whole = flat + (0.0,) * (self.joint.dimension - len(flat))
        return _of_draws(self.joint, self.laws, ((whole, 1),), level)


@lru_cache(maxsize=1024)
def _independent(laws: tuple[ColumnLaw, ...], rows: tuple[tuple[tuple[float, ...], int], ...], level: float) -> Width:
    """Independent noise: terms of the same law and the same size are counted."""
    terms: Counter[Term] = Counter()
    for weights, times in rows:
        for w, law in zip(weights, laws, strict=True):
            if w:
                terms[Term.of(law, abs(w))] += times
    listed = tuple(Term(t.noise, t.step, t.factor, times) for t, times in terms.items())
    return Width(half_width_of_sum(listed, level), True)


@lru_cache(maxsize=1024)
def _of_draws(
    noise: Noise, laws: tuple[ColumnLaw, ...], draws: tuple[tuple[tuple[float, ...], int], ...], level: float
) -> Width:
    """Joint noise: the law of the sum where the family has one for weighted sums, else the least of several bounds."""
    missed = down(1.0 - level, CLOSED_FORM)
    if isinstance(noise, ForKeys) and (reached := reach_of_sum(noise, draws, missed)) is not None:
        return Width(reached, True)
    if isinstance(noise, LevelNoise):
        with suppress(Unsupported):  # a family need not state its laws given the level
            found = _by_level(noise, draws, level)
            if found is not None:
                return Width(found, True)
    return Width(min(_bonferroni(laws, draws, missed), _by_variance(noise, draws, missed)), False)


def _by_level(noise: LevelNoise, draws: Sequence[tuple[tuple[float, ...], int]], level: float) -> float | None:
    """By the law given the level: in closed form for a few numbers of one draw, else by a Fourier transform.

    On a coarse lattice the transform is exact, and the smaller of the two is used.
    """
    missed = down(1.0 - level, CLOSED_FORM)
    (weights, times), *others = draws
    if others or times > 1 or sum(w != 0.0 for w in weights) > _FEW:
        return reach_of_draws(noise, draws, missed)
    closed = float(joint_half_widths(noise, np.array([weights]), level)[0])
    exact = reach_of_draws(noise, draws, missed) if is_quick(noise, weights) else None
    return closed if exact is None else min(closed, exact)


def _bonferroni(laws: tuple[ColumnLaw, ...], draws: Sequence[tuple[tuple[float, ...], int]], missed: float) -> float:
    """Every number within its own width, each with an equal part of the probability of a miss."""
    used = [
        (abs(w), laws[place % len(laws)], times)
        for weights, times in draws
        for place, w in enumerate(weights)
        if w != 0.0
    ]
    each = down(missed / sum(times for *_, times in used), SPECIAL_FUNCTION)
    return up(sum(n * w * Term.of(law, 1.0).beyond(each) / law.step for w, law, n in used), SPECIAL_FUNCTION)


def _by_variance(noise: Noise, draws: Sequence[tuple[tuple[float, ...], int]], missed: float) -> float:
    """Chebyshev's bound, in steps; infinite where the covariance is not known."""
    try:
        matrix = np.asarray(noise.covariance) / noise.step**2
    except Unsupported:
        return math.inf
    variance = sum(times * float(np.array(w) @ matrix @ np.array(w)) for w, times in draws)
    return up(math.sqrt(variance / missed), SPECIAL_FUNCTION)
