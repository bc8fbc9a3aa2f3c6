"""Which groups are shown if their keys are found privately: a threshold on the noisy number of people.

The max rule (hush.privacy.by_keys) gives the largest probability with which a group of one person may be shown. The
threshold is the least one that keeps it.

Pure noise is cut: a group whose number of people has more noise than the cut is not shown, whatever its size. One delta
then pays for the cut and for the keys, and the threshold is lower (docs/maths/keys.md). Noise that is made for a
threshold (`ForKeys`) has its own.
"""

from __future__ import annotations

import math
from dataclasses import dataclass, replace
from fractions import Fraction
from typing import Any

import numpy as np
from numpy.typing import NDArray

from hush.errors import NotCertified
from hush.noise.for_keys import ForKeys
from hush.numerics.rounding import CLOSED_FORM, SPARE, down, up
from hush.numerics.search import first_true_from
from hush.privacy.by_keys import KeyedCurve, largest_chance
from hush.privacy.charge import Charge
from hush.privacy.keys import Keys, of_groups
from hush.privacy.theorem import pure_epsilon
from hush.sampling.exact import law_of
from hush.sampling.threshold import Tails
from hush.sampling.whole_steps import divides_one
from hush.tables.column_law import ColumnLaw

__all__ = ["KeyRule", "above", "key_rule", "shown_by_chance"]

_MOST_STEPS = 1 << 40
_SHOWN = 0.9  # the probability of the size that "shown" minimises


@dataclass(frozen=True)
class KeyRule:
    """A group is shown if its noisy number of people is at least `threshold`, and its noise at most the cut of
    `keys`.
    """

    threshold: float
    keys: Keys

    def shown(self, noisy: NDArray[np.float64], exact: Any) -> NDArray[np.int64]:
        """The places of the groups that are shown, from their noisy and their exact numbers of people."""
        found = noisy >= self.threshold
        if self.keys.cut is not None:
            found &= np.abs(noisy - np.asarray(exact, dtype=np.float64)) <= self.keys.cut
        return np.flatnonzero(found)

    def chances(self, sizes: Any, people: ColumnLaw) -> NDArray[np.float64]:
        """The probability with which a group is shown, for whole numbers of people."""
        if isinstance(people.joint, ForKeys):
            return people.joint.shown(sizes)
        law, far = law_of(people.noise, people.step), math.inf if self.keys.cut is None else self.keys.cut
        # the least noise that is enough, in steps
        least = np.ceil((np.maximum(self.threshold - np.asarray(sizes, np.float64), -far)) / people.step)
        tail = 0.5 * law.at(np.where(least > 0.0, least - 1.0, -least))
        beyond = 0.0 if math.isinf(far) else 0.5 * float(law.at(np.array(far / people.step)))
        return np.maximum(np.where(least > 0.0, tail, 1.0 - tail) - beyond, 0.0)

    def size_shown(self, people: ColumnLaw) -> float:
        """The least number of people of a group that is shown with probability 0.9, linear between whole numbers."""

        def chance(size: int) -> float:
            return float(self.chances(np.array(size), people))

        size = first_true_from(1, _MOST_STEPS, lambda n: chance(n) >= _SHOWN)
        if size is None:
            return math.inf
        before, here = (0.0 if size == 1 else chance(size - 1)), chance(size)
        return size - (here - _SHOWN) / (here - before)


def key_rule(charge: Charge, people: ColumnLaw, groups: int, epsilon: float, delta: float) -> KeyRule | None:
    """The least threshold at which the noise of a charge and its keys together cost at most (epsilon, delta); None if
    there is none. `people` is the noise of the number of people.
    """
    if isinstance(charge.noise, ForKeys):
        keys = Keys(groups, charge.noise.chance)
        found, _ = KeyedCurve(replace(charge, keys=keys)).worst_at(epsilon, delta)
        return KeyRule(charge.noise.threshold, keys) if found <= delta else None
    law = law_of(people.noise, people.step)
    one = pure_epsilon(Charge(charge.noise, of_groups(charge.sensitivity, 1, groups)))
    if one is not None and one * groups <= Fraction(epsilon) and divides_one(people.step):
        return _cut(law, people.step, groups, delta)
    chance = largest_chance(charge, groups, epsilon, down(delta, SPARE))
    if chance <= 0.0:
        return None
    steps = first_true_from(1, _MOST_STEPS, lambda m: above(law, m) <= chance)
    return None if steps is None else KeyRule(1.0 + (steps + 1) * people.step, Keys(groups, above(law, steps)))


def shown_by_chance(people: ColumnLaw, groups: int, delta: float) -> KeyRule:
    """The least threshold at which any of `groups` groups of one person is shown with a probability of at most delta.
    It is for noise whose composition over several releases was planned without the keys.
    """
    law, each = law_of(people.noise, people.step), down(-math.expm1(math.log1p(-delta) / groups), CLOSED_FORM)
    steps = first_true_from(1, _MOST_STEPS, lambda m: above(law, m) <= each)
    if steps is None:
        raise NotCertified("no threshold for private keys is large enough for this noise; nothing was spent.")
    return KeyRule(1.0 + (steps + 1) * people.step, Keys(groups, above(law, steps)))


def _cut(law: Tails, step: float, groups: int, delta: float) -> KeyRule | None:
    """The cut and the threshold of pure noise. With n steps for one person and a cut of a steps, a group of one person
    is shown if its noise is one of the last n steps up to a; the noise of another group has no counterpart there.
    """
    each, n = down(-math.expm1(math.log1p(-delta) / groups), CLOSED_FORM), round(1.0 / step)

    def last(a: int) -> float:
        rest = float(law.at(np.array(float(a)))) * (1.0 - 2.0 * law.slack) / 2.0
        return up(above(law, a - n) - down(rest, CLOSED_FORM), CLOSED_FORM)

    a = first_true_from(n, _MOST_STEPS, lambda a: last(a) <= each)
    return None if a is None else KeyRule((a + 1) * step, Keys(groups, last(a), a * step))


def above(law: Tails, steps: int) -> float:
    """An upper bound on P(noise > steps), one tail."""
    return up(0.5 * float(law.at(np.array(float(steps)))) * (1.0 + 2.0 * law.slack), CLOSED_FORM)
