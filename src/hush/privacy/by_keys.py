"""Groups that are found in the data: the max rule (docs/maths/keys.md has the proof).

A person has at most g groups. j of them hold nobody else; they are new. The other g - j also exist without the person.
With pi the probability that a new group is shown, and H_k the curve of the noise if k groups move,

    delta(e) <= max over j of  1 - (1 - pi)^j + H_(g - j)(e),

in both directions. The groups are either new or moved, so the two costs are not added up for the same group. This
maximum is taken at every epsilon, so it bounds all neighbours at once, and is composed as one curve.
"""

from __future__ import annotations

import dataclasses
import math
from dataclasses import dataclass
from functools import cached_property, lru_cache

import numpy as np
from numpy.typing import NDArray

from hush.numerics.bracket import Bracket
from hush.numerics.rounding import CLOSED_FORM, SPARE, down, round_up, up
from hush.numerics.search import first_true
from hush.privacy.by_box import Pairs
from hush.privacy.charge import Charge
from hush.privacy.composed_curve import Composed
from hush.privacy.curve import Curve, Mirrored
from hush.privacy.failing import Failing, responses
from hush.privacy.keys import Keys, of_groups
from hush.privacy.loss_pair import kinks_of

__all__ = ["KeyedCurve", "keyed_pairs", "largest_chance", "noise_if_moved", "noise_of", "on_chords", "quick_delta"]

Array = NDArray[np.float64]
_FEW = 24  # epsilons: more than these are read from chords
_NODES = 64  # chords of a curve
_EVERY = 12  # numbers of new groups that are all tried; of larger numbers only some, with a bound for those between
_FLAT = 1e-3  # the chords end where the noise adds less than this share of what keys cost


@dataclass(frozen=True)
class KeyedCurve(Mirrored):
    """The curve of one release with keys that are found in the data: an upper bound for every pair of neighbours."""

    charge: Charge

    def _forward(self, epsilon: Array) -> Bracket:
        upper = self._end(epsilon, "upper")
        return Bracket(np.zeros_like(upper), upper)

    def _end(self, epsilon: Array, end: str) -> Array:
        epsilon = np.asarray(epsilon, dtype=np.float64)
        if end == "lower":
            return np.zeros(epsilon.shape)
        if epsilon.size > _FEW:
            return self._on_chords(epsilon)
        return np.array([self.worst_at(float(e))[0] for e in epsilon.ravel()]).reshape(epsilon.shape)

    @property
    def _keys(self) -> Keys:
        assert self.charge.keys is not None
        return self.charge.keys

    def _noise(self, moved: int, epsilon: Array, *, sharp: bool) -> Array:
        """H: delta of the noise if this many groups move; quickly, or sharply."""
        if moved == 0:
            return np.zeros_like(epsilon)
        curve = _curve_of(self.charge, moved)
        return np.asarray(curve.delta(epsilon)) if sharp else _quick(curve, epsilon)

    def _worst(self, epsilon: Array, blocks: list[tuple[int, int]]) -> Array:
        """The largest delta over blocks (first, last) of the number of new groups, quickly. In a block the last number
        bounds the new groups, and the first one bounds the groups that move.
        """
        keys, worst = self._keys, np.zeros_like(epsilon)
        for first, last in blocks:
            noise = self._noise(keys.groups - first, epsilon, sharp=False)
            worst = np.maximum(worst, up(keys.any_of(last) + noise, CLOSED_FORM))
        return np.minimum(worst, 1.0)

    def worst_at(self, epsilon: float, enough: float = 0.0) -> tuple[float, int]:
        """The largest delta over the number of new groups at one epsilon, and that number. A quick bound of one number
        covers those after it, as far as it goes; where it does not, the noise is composed sharply. A bound of at most
        `enough` is not made sharper.
        """
        keys, place = self._keys, np.array(epsilon)
        # all groups are new, or all move
        worst = max((up(keys.any_of(keys.groups), CLOSED_FORM), keys.groups), (self._sharp(0, place, enough), 0))
        first = 1
        while first < keys.groups:
            noise = float(self._noise(keys.groups - first, place, sharp=False))
            last = self._last(first, noise, max(worst[0], enough))
            if last < first:
                worst, last = max(worst, (self._sharp(first, place, enough), first)), first
            first = last + 1
        return min(worst[0], 1.0), worst[1]

    def _last(self, first: int, noise: float, most: float) -> int:
        """The last number of new groups, before all of them, for which the noise of the first number is enough to prove
        a delta of at most `most`; first - 1 if there is none.
        """
        keys = self._keys

        def within(new: int) -> bool:
            return up(keys.any_of(new) + noise, CLOSED_FORM) <= most

        return first_true(first, keys.groups - 1, lambda new: not within(new)) - 1

    def _epsilon_end(self, delta: Array, end: str) -> tuple[Array, Array]:
        flat = np.asarray(delta, dtype=np.float64)
        if end == "lower":
            return np.zeros(flat.shape), np.zeros(flat.shape)
        found = np.array([self._epsilon_at(float(d)) for d in flat.ravel()]).reshape(flat.shape)
        return found, found

    def _epsilon_at(self, delta: float) -> float:
        """The epsilon at which the worst number of new groups has this delta: from the epsilon of one number to that
        of the next one that is worse, until none is.
        """
        keys, aim = self._keys, down(delta, SPARE)
        if up(keys.any_of(keys.groups), CLOSED_FORM) > delta:
            return math.inf  # no epsilon removes what all groups cost if they are new
        epsilon, new = 0.0, 0
        for _ in range(keys.groups + 2):
            left = max(aim - keys.any_of(new), 5e-324)
            epsilon = max(epsilon, float(np.asarray(_curve_of(self.charge, keys.groups - new).epsilon(left))))
            worst, new = self.worst_at(epsilon)
            if worst <= delta:
                return epsilon
        return math.inf

    def _sharp(self, new: int, place: Array, enough: float) -> float:
        moved, found = self._keys.groups - new, math.inf
        for sharp in (False, True):
            noise = float(self._noise(moved, place, sharp=sharp))
            found = min(found, up(self._keys.any_of(new) + noise, CLOSED_FORM))
            if found <= enough:
                break
        return found

    @property
    def atoms(self) -> tuple[float, ...]:
        """The largest loss of cut noise, where its curve ends."""
        from hush.privacy.theorem import pure_epsilon

        one = pure_epsilon(noise_of(self.charge, 1)) if self._keys.cut is not None else None
        return () if one is None else (round_up(one * self._keys.groups),)

    @cached_property
    def kinks(self) -> Array:
        """The losses of one group that have a probability of their own."""
        if self._keys.cut is not None:
            return np.array(self.atoms, dtype=np.float64)
        one = _composed(noise_of(self.charge, 1))
        return kinks_of(one) if isinstance(one, Mirrored) else np.empty(0)

    @cached_property
    def _chords(self) -> tuple[Array, Array]:
        """Points and values of a curve above this one. The curve is convex in e^epsilon (a maximum of convex ones), so
        the chords between its points lie above it.
        """
        keys, groups = self._keys, self._keys.groups
        end, small = max(self.spread, 1e-6), max(_FLAT * keys.any_of(groups), 1e-300)
        before, here = math.inf, float(self._noise(groups, np.array(end), sharp=False))
        while here > small and before - here > small and end < 512.0:  # to where the curve is flat
            end *= 1.25
            before, here = here, float(self._noise(groups, np.array(end), sharp=False))
        kinks = self.kinks[self.kinks < end][:_NODES]
        nodes = np.union1d(np.union1d(np.linspace(0.0, end, _NODES + 1), self.atoms), kinks)
        stride = max(1, math.ceil((groups - _EVERY) / _EVERY))
        starts = [*range(min(groups, _EVERY)), *range(_EVERY, groups, stride), groups]
        blocks = [
            (first, max(first, after - 1)) for first, after in zip(starts, [*starts[1:], groups + 1], strict=True)
        ]
        return nodes, self._worst(nodes, blocks)

    def _on_chords(self, epsilon: Array) -> Array:
        return on_chords(*self._chords, epsilon)


def on_chords(nodes: Array, values: Array, epsilon: Array) -> Array:
    """The chords of a curve at many epsilons; beyond the last node the curve is below its value there."""
    right = np.clip(np.searchsorted(nodes, epsilon, side="right"), 1, nodes.size - 1)
    start, end = nodes[right - 1], nodes[right]
    inside = np.minimum(epsilon, end)
    share = np.expm1(inside - start) / np.expm1(end - start)
    return np.minimum(up(values[right - 1] + (values[right] - values[right - 1]) * share, CLOSED_FORM), 1.0)


def _quick(curve: Curve, epsilon: Array) -> Array:
    """An upper bound on delta at many epsilons, with little work for each."""
    from hush.privacy.compose import BestOf

    if isinstance(curve, Composed):
        return curve.at_many(epsilon)
    if isinstance(curve, Failing):
        return curve.beside(_quick(curve.pure, epsilon))
    if isinstance(curve, BestOf):
        return np.min([_quick(each, epsilon) for each in curve.curves], axis=0)
    return np.asarray(curve.delta(epsilon))


def noise_of(charge: Charge, moved: int | None = None) -> Charge:
    """The noise of a charge with keys if that many groups move (None: all of them) and all groups are shown."""
    assert charge.keys is not None
    groups = charge.keys.groups
    bound = of_groups(charge.sensitivity, groups if moved is None else moved, groups)
    return dataclasses.replace(charge, sensitivity=bound, keys=None)


def _curve_of(charge: Charge, moved: int) -> Curve:
    """The curve of the noise if this many groups move and all of them are shown."""
    from hush.privacy.theorem import pure_epsilon

    keys = charge.keys
    assert keys is not None
    if keys.cut is None:
        return _composed(noise_of(charge, moved))
    one = pure_epsilon(noise_of(charge, 1))
    assert one is not None
    return responses(one, moved, keys.chance)


def quick_delta(charge: Charge, epsilon: float) -> float:
    """An upper bound on the delta of a charge at epsilon, with little work: for searches."""
    from hush.privacy.compose import compose

    return float(_quick(compose([charge]), np.array(epsilon)))


def largest_chance(charge: Charge, groups: int, epsilon: float, delta: float) -> float:
    """The largest chance of a group of one person, such that the noise of the charge (for all groups) with keys costs
    at most (epsilon, delta); 0 if there is none.
    """
    chance = down(-math.expm1(math.log1p(-delta) / groups), CLOSED_FORM)
    while chance > 0.0:
        curve = KeyedCurve(dataclasses.replace(charge, keys=Keys(groups, chance)))
        found, new = curve.worst_at(epsilon, delta)
        if found <= delta:
            return chance
        left = delta - float(curve._noise(groups - new, np.array(epsilon), sharp=True))
        # the chance that this number of new groups allows; if it is no smaller than the last one, rounding decides
        less = -math.expm1(math.log1p(-left) / new) if new and left > 0.0 else 0.0
        chance = down(min(less, chance), CLOSED_FORM)
    return 0.0


@lru_cache(maxsize=256)
def _composed(charge: Charge) -> Curve:
    """The curve of noise, kept: curves with other chances use it too."""
    from hush.privacy.compose import compose

    return compose([charge])


def noise_if_moved(charge: Charge, epsilon: Array) -> Array:
    """delta of noise whose groups are all shown, as an upper bound, with little work."""
    return _quick(_composed(charge), epsilon)


def keyed_pairs(charge: Charge) -> Pairs:
    from hush.privacy.by_rungs import RungsCurve

    assert charge.keys is not None
    rungs = bool(charge.keys.rungs)
    return [(RungsCurve(charge.once) if rungs else KeyedCurve(charge.once), charge.times)]
