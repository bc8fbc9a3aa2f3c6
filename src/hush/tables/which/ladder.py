"""How much a person adds to each of their groups, where only the existence of groups is asked.

A person with many groups moves many sums, a person with few groups moves few. So a person adds more to each group the
fewer groups this person has: `Ladder` has the most groups and the weight of each rung. All numbers depend on the budget
and on the most groups of a person alone, never on the data.

The sums are whole numbers of steps, `unit` of them for a person with the most groups. Bump noise on the whole numbers
is added, and a group is shown if the result is at least the threshold. `rough_delta` guides the search, and the curve
of the charge, which is proved, decides (hush.privacy.by_rungs).
"""

from __future__ import annotations

import math
from collections.abc import Callable, Iterator
from dataclasses import dataclass, replace
from functools import lru_cache, partial

import numpy as np

from hush.errors import Unsupported
from hush.noise.bump import Bump
from hush.numerics.rounding import SPARE, down
from hush.numerics.search import first_true, first_true_from
from hush.privacy import gaussian
from hush.privacy.by_rungs import blocks, rung_delta
from hush.privacy.charge import Charge
from hush.privacy.failing import any_of
from hush.privacy.keys import Keys
from hush.privacy.sensitivity import Sensitivity
from hush.sampling.exact import law_of
from hush.tables.key_rule import above
from hush.tables.which.rough import rough_delta

__all__ = ["Ladder", "ladder"]

_EXPONENTS = (4.0, 6.0, 8.0, 12.0, 16.0, 24.0)
_POINTS = 1200  # points of the noise, about: more of them make compositions slow
_FINEST = 16  # steps for a person with the most groups
_GROWTH = 1.12  # of the weights, from rung to rung
_CAREFUL = (0.985, 0.95, 0.8)  # shares of delta at which the search aims: the estimate is good to about 1 %
_FEW = 4  # numbers of groups that each have a rung
_FAR = 1 << 40  # steps
_SHOWN = 0.9


Rung = tuple[int, int, float]


@dataclass(frozen=True)
class Ladder:
    """Noise, threshold and weights: a person with at most rungs[i][0] groups adds rungs[i][1] to each of them."""

    noise: Bump
    unit: int
    threshold: int
    #: (most groups, weight, chance), the fewest groups first; the last one is that of the most groups
    rungs: tuple[tuple[int, int, float], ...]

    @property
    def charge(self) -> Charge:
        """The charge: the last rung is the sensitivity, the others are rungs of the keys."""
        *others, (groups, move, chance) = self.rungs
        keys = Keys(groups, chance, rungs=tuple((d, float(w), p) for d, w, p in others))
        return Charge(self.noise, Sensitivity(linf=float(move), l0=groups), keys=keys)

    def weight(self, groups: int) -> int:
        """What a person with that many groups adds to each of them."""
        return next(weight for most, weight, _ in self.rungs if groups <= most)


@lru_cache(maxsize=64)
def ladder(groups: int, epsilon: float, delta: float) -> Ladder:
    """The ladder for a budget, certified."""
    for aim in (share * delta for share in _CAREFUL):
        made = [_first(exponent, groups, epsilon, aim) for exponent in _EXPONENTS]
        best = min((one for one in made if one is not None), key=_size, default=None)
        if best is not None:
            best = replace(best, rungs=(*_climbed(best, epsilon, aim), *best.rungs))
            found = _certified(best, epsilon, down(delta, SPARE))
            if found is not None:
                return found
    raise Unsupported(
        "no noise for the question which groups exist could be certified for this budget; spend more, or use a smaller "
        "groups_per_unit."
    )


def _first(exponent: float, groups: int, epsilon: float, aim: float) -> Ladder | None:
    """The least noise of an exponent and its threshold for people with the most groups, by the estimate."""
    sigma = float(np.asarray(gaussian.sigma(epsilon, aim, math.sqrt(groups))))
    about = sigma * math.pi * math.sqrt(exponent) / 2.0  # near 0 the law is Gaussian, of this sigma
    unit = min(1 << max(round(math.log2(_POINTS / about)), 0), _FINEST)
    # a block of an eighth of the groups is bounded by all that move, so noise may take the rest
    share = 1.0 - (-(-groups // 8) - 1) / groups
    low, high = 0.5 * about, 3.0 * about
    if rough_delta(Bump(exponent, high * unit), unit, groups, epsilon) > share * aim:
        return None
    while high - low > 1e-3 * low:
        middle = math.sqrt(low * high)
        fits = rough_delta(Bump(exponent, middle * unit), unit, groups, epsilon) <= share * aim
        low, high = (low, middle) if fits else (middle, high)
    return _with_threshold(Bump(exponent, high * unit), unit, groups, epsilon, aim)


def _with_threshold(noise: Bump, unit: int, groups: int, epsilon: float, aim: float) -> Ladder | None:
    """The least threshold at which people with the most groups cost at most `aim`, by the estimate."""
    chance = aim / groups
    for first, last in blocks(groups):
        if last:
            chance = min(chance, (aim - rough_delta(noise, unit, groups - first, epsilon)) / last)
    law = law_of(noise, 1.0)
    steps = None if chance <= 0.0 else first_true_from(1, _FAR, lambda m: above(law, m) <= chance)
    if steps is None:
        return None
    return Ladder(noise, unit, steps + 1 + unit, ((groups, unit, above(law, steps)),))


def _size(made: Ladder) -> float:
    """The number of people with the most groups whose group is shown with probability 0.9."""
    return (made.threshold + float(np.asarray(made.noise.ppf(_SHOWN)))) / made.unit


def _climbed(base: Ladder, epsilon: float, aim: float) -> Iterator[Rung]:
    """The rungs below the last one, by the estimate: for few groups the largest weight, otherwise the most groups of
    each weight of a list.
    """
    law, noise, groups = law_of(base.noise, 1.0), base.noise, base.rungs[-1][0]

    def fits(most: int, weight: int) -> bool:
        if weight >= base.threshold:
            return False
        chance = above(law, base.threshold - weight - 1)
        each = (
            any_of(last, chance) + rough_delta(noise, weight, most - first, epsilon) for first, last in blocks(most)
        )
        return any_of(most, chance) <= aim and all(value <= aim for value in each)

    found: dict[int, int] = {}
    for most in range(1, min(_FEW, groups - 1) + 1):
        found[most] = _last_true(base.unit, base.threshold, partial(fits, most))
    weight = base.unit + 1
    while True:
        most = _last_true(1, groups - 1, partial(_swapped, fits, weight))
        if most <= _FEW:
            break
        found[most] = weight
        weight = max(weight + 1, round(weight * _GROWTH))
    for most, weight in sorted(found.items()):
        if weight > base.unit and weight > max((w for d, w in found.items() if d > most), default=0):
            yield most, weight, above(law, base.threshold - weight - 1)


def _last_true(low: int, high: int, holds: Callable[[int], bool]) -> int:
    """The largest number from low to high for which a condition holds that fails for all larger ones; low - 1 if none
    does.
    """
    return first_true(low, high, lambda n: not holds(n)) - 1


def _swapped(fits: Callable[[int, int], bool], weight: int, most: int) -> bool:
    return fits(most, weight)


def _certified(made: Ladder, epsilon: float, delta: float) -> Ladder | None:
    """The ladder with every rung proved: a weight that is too large becomes smaller. None if the last rung is not
    proved.
    """
    charge, law = Charge(made.noise, Sensitivity(linf=1.0, l0=1)), law_of(made.noise, 1.0)

    def proved(rung: Rung) -> bool:
        most, weight, chance = rung
        return float(rung_delta(charge, (most, float(weight), chance), np.array(epsilon))) <= delta

    *others, last = made.rungs
    if not proved(last):
        return None
    kept: list[Rung] = []
    for most, weight, _ in others:
        tried = ((most, w, above(law, made.threshold - w - 1)) for w in range(weight, made.unit, -1))
        rung = next((one for one in tried if proved(one)), None)
        if rung is not None:
            kept.append(rung)
    return replace(made, rungs=(*kept, last))
