"""The least bump or lifted noise for private keys: a rough search in floats, then a proof for what it found."""

from __future__ import annotations

import math
from collections.abc import Callable
from dataclasses import dataclass
from functools import lru_cache
from typing import Any

import numpy as np

from hush.errors import Unsupported
from hush.noise.bump import Bump
from hush.noise.lifted import Lifted
from hush.numerics.search import nudged, safe_secant
from hush.privacy import gaussian
from hush.privacy.by_keys import quick_delta
from hush.privacy.charge import Charge
from hush.privacy.compose import compose
from hush.privacy.sensitivity import Sensitivity
from hush.tables.rough_delta import LEAST, rough_delta

__all__ = ["BumpShape", "LiftedShape", "least"]

_FINE = 16.0  # steps in the deviation of Gaussian noise: its rounding adds about 0.03 % of variance
_TURNS, _GROWTH = 12, 1.15  # of a search for the least size
_NEAR = 2e-2  # the relative error of delta at which the search ends
_TRIES = 4  # of a size that the quick bound proves
_FIRST = 2e-4  # the first relative step to a larger size, if it does not


@dataclass(frozen=True)
class BumpShape:
    """Bump noise of one exponent, for the number of people in each of `groups` groups."""

    exponent: float
    groups: int

    @property
    def bound(self) -> Sensitivity:
        return Sensitivity(linf=1.0, l0=self.groups)

    def noise(self, edge: float) -> Any:
        """The noise of a size."""
        return Bump(self.exponent, edge)

    def first(self, epsilon: float, delta: float) -> float:
        """About the edge: near 0 the law is Gaussian, of this sigma."""
        sigma = float(np.asarray(gaussian.sigma(epsilon, delta, math.sqrt(self.groups))))
        return sigma * math.pi * math.sqrt(self.exponent) / 2.0

    def roughly(self, edge: float, epsilon: float) -> float:
        """About delta."""
        return rough_delta(self.noise(edge), self.groups, 0.0, epsilon)

    def rough(self, epsilon: float, delta: float) -> Any:
        """About the least noise that meets the budget; not certified."""
        return self.noise(_rough_edge(self, epsilon, delta))


@dataclass(frozen=True)
class LiftedShape(BumpShape):
    """Lifted noise of one exponent. `others` has for each other column whether it is one-sided, and its weight. For
    Gaussian noise on all columns the least sum of weighted variances has variances in these proportions
    (docs/maths/lifted.md).
    """

    people: int
    others: tuple[tuple[bool, float], ...]

    @property
    def sizes(self) -> list[float]:
        """The deviation of each other column, in deviations of the number of people."""
        root = math.sqrt(1.0 + sum(w * w / 4.0 for one_sided, w in self.others if one_sided))
        return [math.sqrt(root / (2.0 * w) if one_sided else root / w) for one_sided, w in self.others]

    @property
    def bound(self) -> Sensitivity:
        one_sided = [flag for flag, _ in self.others]
        one_sided.insert(self.people, True)
        columns = (1.0,) * len(one_sided)
        return Sensitivity(columns=columns, l0=self.groups, one_sided=tuple(one_sided), people=self.people)

    def noise(self, edge: float) -> Lifted:
        law, sizes = Bump(self.exponent, edge), self.sizes
        sigma = math.sqrt(law.variance)
        step = 2.0 ** -max(1, math.ceil(math.log2(_FINE / (sigma * min(sizes)))))
        shares = tuple(0.5 if one_sided else 0.0 for one_sided, _ in self.others)
        return Lifted(law, tuple(sigma * size for size in sizes), shares, self.people, step)

    @property
    def _squares(self) -> float:
        """The squared move of the other columns of a group, in deviations of the number of people."""
        moves = zip(self.others, self.sizes, strict=True)
        return sum((0.25 if flag else 1.0) / size**2 for (flag, _), size in moves)

    def first(self, epsilon: float, delta: float) -> float:
        sigma = float(np.asarray(gaussian.sigma(epsilon, delta, math.sqrt(self.groups * (1.0 + self._squares)))))
        return sigma * math.pi * math.sqrt(self.exponent) / 2.0

    def roughly(self, edge: float, epsilon: float) -> float:
        law = Bump(self.exponent, edge)
        return rough_delta(law, self.groups, self.groups * self._squares / law.variance, epsilon)


@lru_cache(maxsize=256)
def least(shape: BumpShape, epsilon: float, delta: float) -> Any:
    """The noise of least edge that meets the budget, certified: to about a thousandth."""
    edge, bound = _rough_edge(shape, epsilon, delta), shape.bound

    def excess(edge: float) -> float:
        return math.log(quick_delta(Charge(shape.noise(edge), bound), epsilon) / delta)

    def meets(edge: float) -> bool:
        charge = Charge(shape.noise(edge), bound)
        return quick_delta(charge, epsilon) <= delta or float(np.asarray(compose([charge]).delta(epsilon))) <= delta

    fall = math.log(shape.roughly(edge * 1.01, epsilon) / shape.roughly(edge, epsilon)) / math.log(1.01)
    for _ in range(_TRIES):  # Newton's method with the slope of the estimate
        over = excess(edge)
        if -_NEAR <= over <= 0.0:
            return shape.noise(edge)
        edge *= math.exp(-(over + 0.5 * _NEAR) / min(fall, -1.0))
    found = nudged(meets, edge, first=_FIRST, growth=4.0, turns=8)
    if found is None:
        raise Unsupported("no noise of this shape could be certified for the budget")
    return shape.noise(found)


@lru_cache(maxsize=256)
def _rough_edge(shape: BumpShape, epsilon: float, delta: float) -> float:
    """About the least edge that meets the budget."""
    if delta >= LEAST:
        return _root(lambda edge: math.log(shape.roughly(edge, epsilon) / delta), shape.first(epsilon, delta))
    bound = shape.bound
    return _root(
        lambda edge: math.log(quick_delta(Charge(shape.noise(edge), bound), epsilon) / delta),
        shape.first(epsilon, delta),
    )


def _root(excess: Callable[[float], float], first: float) -> float:
    """The size near `first` at which the excess is 0, from above; it falls with the size."""
    low = high = first
    for _ in range(_TURNS):
        if excess(high) <= 0.0:
            break
        low, high = high, _GROWTH * high
    for _ in range(_TURNS):
        if low < high or excess(low / _GROWTH) > 0.0:
            break
        low = high = low / _GROWTH
    low = low if low < high else low / _GROWTH
    return math.exp(safe_secant(lambda x: excess(math.exp(x)), math.log(low), math.log(high), relative=1e-5, near=1e-3))
