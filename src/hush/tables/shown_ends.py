"""Intervals for the number of people of a group that was shown: they hold among the groups that are shown.

With private keys a group of n people is shown only if its noisy number y reaches the threshold. So the noise of a shown
group is not that of any group: small groups are shown only if their noise is high. The interval inverts two tests of n,
each with half of the probability of a miss, under the law of y given that the group is shown:

    P(Y >= y | n, shown) > miss/2      and      P(Y <= y | n, shown) > miss/2.

It holds every n from 1 on that passes both. So it contains the true number with at least the stated probability among
the releases in which the group is shown, whatever n is (docs/maths/keys.md). A small group is shown by a rare event,
whose probability may be a difference of floats. So every probability has a lower and an upper bound, and n is left out
only if it surely fails a test.
"""

from __future__ import annotations

import math
from dataclasses import dataclass
from functools import lru_cache

import numpy as np
from numpy.typing import NDArray

from hush.noise.for_keys import ForKeys
from hush.numerics.rounding import SPECIAL_FUNCTION, down, up
from hush.sampling.exact import law_of
from hush.tables.column_law import ColumnLaw
from hush.tables.estimate import Released, numbers
from hush.tables.key_rule import KeyRule

__all__ = ["ShownEnds", "shown_ends"]

Array = NDArray[np.float64]
_MOST = 20_000_000  # pairs of a noisy number and a number of people that are tried


@dataclass(frozen=True, eq=False)
class ShownEnds:
    """The ends of the intervals, as a function of released columns. `low` and `high` are those of the noisy numbers
    threshold, threshold + step, and so on; numbers beyond have an interval of half width `far`.
    """

    column: str
    threshold: float
    step: float
    low: Array
    high: Array
    far: float

    def __call__(self, released: Released) -> tuple[Array, Array]:
        noisy = numbers(released[self.column])
        place = np.clip(np.rint((noisy - self.threshold) / self.step), 0, self.low.size - 1).astype(np.int64)
        near = noisy < self.threshold + self.low.size * self.step
        return (
            np.where(near, self.low[place], noisy - self.far),
            np.where(near, self.high[place], noisy + self.far),
        )

    def near(self, released: Released) -> NDArray[np.bool_]:
        """The groups near the threshold: their number less the half width of its noise is below it."""
        return np.asarray(numbers(released[self.column]) - self.far < self.threshold)


def shown_ends(rule: KeyRule, people: ColumnLaw, column: str, level: float) -> ShownEnds | None:
    """The intervals of shown groups; None where they are not proved, or would take too long."""
    if people.rounds:
        return None
    found = _table(rule, people, level)
    return None if found is None else ShownEnds(column, rule.threshold, people.step, *found)


@lru_cache(maxsize=64)
def _table(rule: KeyRule, people: ColumnLaw, level: float) -> tuple[Array, Array, float] | None:
    """The ends for noisy numbers from the threshold on, and the half width of numbers far above it."""
    law, miss, per_person = _Noise(rule, people), (1.0 - level) / 2.0, round(1.0 / people.step)
    if law.bounded is None and not people.noise.continuous.log_concave:
        return None  # small groups cannot be excluded, however large the noisy number is
    wide = law.reach(miss / 4.0)  # a group of the size of the threshold is shown with probability 1/4 at least
    last = 3 * wide if law.bounded is None else law.bounded + wide
    # of a noisy number beyond, only groups that are hidden with at most this probability pass the tests: it is at most
    # miss/4 for noise with tails, and 0 for bounded noise, which is never below wide - last
    hidden = 1.0 - float(law.at_least(np.array([wide - last]))[0][0])
    far = law.reach(miss * (1.0 - hidden))
    least = math.ceil(rule.threshold / people.step)
    most = (least + last + wide) // per_person + 1
    if (last + 1) * most > _MOST:
        return None
    low, high = np.full(last + 1, math.inf), np.full(last + 1, -math.inf)
    steps = np.arange(last + 1)
    for n in range(1, most + 1):
        needed = law.least(n)  # the least noise of a shown group, in steps
        least_shown, most_shown = (float(bound[0]) for bound in law.at_least(np.array([needed])))
        above, beyond = law.at_least(needed + steps)[1], law.at_least(needed + steps + 1)[0]
        passed = (above > miss * least_shown) & (most_shown - beyond > miss * least_shown) & (above > 0.0)
        low[passed & np.isinf(low)] = n
        high[passed] = n
    plain = rule.threshold + steps * people.step
    none = np.isinf(low)
    return np.where(none, plain, low), np.where(none, plain, high), far * people.step


class _Noise:
    """The law of the noise of the number of people, in steps."""

    def __init__(self, rule: KeyRule, people: ColumnLaw) -> None:
        self._rule, self._step, joint = rule, people.step, people.joint
        self._table: tuple[NDArray[np.int64], Array] | None = None
        self.bounded: int | None = None
        if isinstance(joint, ForKeys):
            order = np.argsort(joint.values)
            self._table = joint.values[order], np.append(np.cumsum(joint.masses[order][::-1])[::-1], 0.0)
            self.bounded = int(np.abs(joint.values).max())
            return
        self._law, cut = law_of(people.noise, people.step), rule.keys.cut
        if cut is not None:
            self.bounded = round(cut / people.step)
        elif math.isfinite(people.noise.support):
            self.bounded = math.ceil(people.noise.support / people.step)

    def least(self, n: int) -> int:
        """The least noise with which a group of n people is shown."""
        return round((self._rule.threshold - n) / self._step)

    def at_least(self, k: NDArray[np.int64]) -> tuple[Array, Array]:
        """A lower and an upper bound of P(noise >= k), of cut noise given that it is within the cut."""
        if self._table is not None:
            values, sums = self._table
            found = sums[np.searchsorted(values, k)]
            return down(found, SPECIAL_FUNCTION), np.minimum(up(found, SPECIAL_FUNCTION), 1.0)
        tail = 0.5 * self._law.at(np.where(k > 0, k - 1.0, -k.astype(np.float64)))
        low, high = down(tail, SPECIAL_FUNCTION), up(tail, SPECIAL_FUNCTION)
        low, high = np.where(k > 0, low, 1.0 - high), np.where(k > 0, high, 1.0 - low)
        if self._rule.keys.cut is not None and self.bounded is not None:
            beyond = 0.5 * float(self._law.at(np.array(float(self.bounded))))
            less, more = down(beyond, SPECIAL_FUNCTION), up(beyond, SPECIAL_FUNCTION)
            low, high = (low - more) / (1.0 - 2.0 * less), (high - less) / (1.0 - 2.0 * more)
            high = np.where(k > self.bounded, 0.0, high)  # nothing is beyond the cut
        return np.clip(low, 0.0, 1.0), np.clip(high, 0.0, 1.0)

    def reach(self, chance: float) -> int:
        """The least number of steps that the noise exceeds with at most this probability, in each direction."""
        low, high = 0, 1
        while not self._exceeds_rarely(high, chance):
            low, high = high, 2 * high
        while high - low > 1:
            middle = (low + high) // 2
            low, high = (low, middle) if self._exceeds_rarely(middle, chance) else (middle, high)
        return high

    def _exceeds_rarely(self, steps: int, chance: float) -> bool:
        low, high = self.at_least(np.array([steps + 1, -steps]))
        return bool(max(high[0], 1.0 - low[1]) <= chance)
