"""Noise for the number of people of a group that is shown as often as (epsilon, delta) allows.

Let pi(n) be the probability with which a group of n people is shown. With pi(0) = 0, the largest one that (epsilon,
delta) allows for one group a person is (Desfontaines, Voss, Gipson and Mandayam 2022)

    pi(n) = min(e^epsilon pi(n - 1) + delta,  1 - e^-epsilon (1 - pi(n - 1) - delta),  1).

Let N have the law P(N <= n) = pi(n), and let T be the largest N. Then n + T - N is a noisy number of people. It is T or
more with probability pi(n). So the group is shown by the best rule, and its noisy number costs nothing more
(docs/maths/optimal_rule.md). The noise is T - N less its mean, a public number.

The law is a table of whole numbers: P(N <= n) is a multiple of 2^-192. They are rounded such that every inequality of
the proof holds exactly.
"""

from __future__ import annotations

import itertools
import math
from bisect import bisect_right
from dataclasses import dataclass, field
from fractions import Fraction
from functools import cached_property, lru_cache
from typing import Any, ClassVar

import numpy as np
from numpy.typing import NDArray

from hush.errors import Unsupported, positive, reject
from hush.noise.contract import Noise
from hush.noise.family import Family
from hush.noise.for_keys import ForKeys
from hush.noise.lattice import Lattice
from hush.numerics.ball import Ball, Tail, flint_module, precision

__all__ = ["FAMILY", "MARGINAL", "OptimalRule", "RuleMarginal"]

Array = NDArray[np.float64]
_HINT = "write OptimalRule(epsilon=1.0, delta=1e-6)"
_BITS = 192  # of a draw: probabilities are multiples of 2^-192
_MORE = 128  # bits of a draw after its first word
_FINE = 256  # steps between two points: the mean is taken off up to half a step
_MOST = 15_000  # points


@dataclass(frozen=True)
class OptimalRule(ForKeys):
    """Noise for one number that moves by exactly `move`, for groups that are shown at `threshold` or more.

    Guarantees: (epsilon, delta) if the number moves by exactly `move`, in both directions. A group that holds one
    person alone is shown with a probability of at most delta, and no rule with these guarantees shows a group of any
    size more often. The bounded support leaves no pure epsilon.

    >>> noise = OptimalRule(1.0, 1e-6)
    >>> round(noise.threshold, 2), round(float(noise.variance), 3)
    (14.07, 1.904)
    """

    discrete: ClassVar[bool] = True
    epsilon: float
    delta: float
    move: float = 1.0
    step: float = field(init=False, repr=False, compare=False)
    dimension: int = field(init=False, repr=False, compare=False)
    threshold: float = field(init=False, repr=False, compare=False)

    def __post_init__(self) -> None:
        for name in ("epsilon", "delta", "move"):
            object.__setattr__(self, name, positive(name, getattr(self, name), _HINT))
        if self.epsilon > 50.0:
            raise reject("epsilon", self.epsilon, "at most 50", _HINT)
        if not 1e-15 <= self.delta <= 0.5:
            raise reject("delta", self.delta, "from 1e-15 to 0.5", _HINT)
        points = 2.0 * math.log1p(math.expm1(self.epsilon) / (2.0 * self.delta)) / self.epsilon
        if points > _MOST:
            raise Unsupported(f"optimal-rule noise of epsilon {self.epsilon:g} needs more than {_MOST} points.")
        object.__setattr__(self, "step", self.move / _FINE)
        object.__setattr__(self, "dimension", 1)
        object.__setattr__(self, "threshold", (_FINE * len(self.sums) - self._centre) * self.step)

    # -- the law ---------------------------------------------------------------------------------------------

    @cached_property
    def sums(self) -> tuple[int, ...]:
        """P(N <= n) for n = 1, 2, ..., T, in units of 2^-192."""
        return _sums(self.epsilon, self.delta)

    @cached_property
    def _centre(self) -> int:
        """The mean of T - N in steps, rounded."""
        return round(Fraction(sum(self.sums[:-1]) * _FINE, 1 << _BITS))

    @cached_property
    def values(self) -> NDArray[np.int64]:
        """The noise in steps for N = 1, 2, ..., T."""
        last = len(self.sums)
        return (last - np.arange(1, last + 1, dtype=np.int64)) * _FINE - self._centre

    @cached_property
    def weights(self) -> tuple[int, ...]:
        """P(N = n) for n = 1, 2, ..., T, in units of 2^-192."""
        return tuple(here - before for before, here in zip((0, *self.sums), self.sums, strict=False))

    @cached_property
    def masses(self) -> Array:
        """The same as floats."""
        return np.array([float(Fraction(each, 1 << _BITS)) for each in self.weights])

    @property
    def chance(self) -> float:
        return self.delta

    def shown(self, people: Any) -> Array:
        table = np.array([0.0, *(float(Fraction(each, 1 << _BITS)) for each in self.sums)])
        return table[np.clip(np.asarray(people, dtype=np.int64), 0, len(self.sums))]

    @cached_property
    def _variance(self) -> float:
        square = sum(p * int(x) ** 2 for p, x in zip(self.weights, self.values.tolist(), strict=True))
        return float(Fraction(square, 1 << _BITS)) * self.step**2

    @property
    def variance(self) -> float:
        return self._variance

    @property
    def covariance(self) -> Array:
        return np.array([[self._variance]])

    @property
    def marginal(self) -> RuleMarginal:
        return RuleMarginal(self)

    def log_density_of(self, vectors: Any) -> Array:
        steps = np.asarray(vectors, dtype=np.float64)[..., 0] / self.step
        place = (self.values[0] - steps) / _FINE
        on = (place == np.floor(place)) & (place >= 0.0) & (place < len(self.sums))
        return np.where(on, np.log(self.masses)[np.where(on, place, 0.0).astype(np.int64)], -np.inf)

    def scaled(self, k: float) -> OptimalRule:
        return OptimalRule(self.epsilon, self.delta, self.move * positive("k", k))

    def widened(self, k: float) -> OptimalRule:
        return OptimalRule(self.epsilon / positive("k", k), self.delta, self.move)

    # -- draws -----------------------------------------------------------------------------------------------

    @cached_property
    def _floors(self) -> NDArray[np.uint64]:
        """The first 64 bits of the sums, without the last one."""
        return np.array([each >> _MORE for each in self.sums[:-1]], dtype=np.uint64)

    def lattice_draws(self, bits: Any, count: int, step: float) -> NDArray[np.int64]:
        """N is one more than the number of sums that are at most V, a uniform whole number of 192 bits. Its first 64
        bits decide unless they are those of a sum; then 128 more bits follow.
        """
        words = bits.words(count, np.uint64)[0]
        index = np.searchsorted(self._floors, words, side="left")
        unclear = np.flatnonzero(index != np.searchsorted(self._floors, words, side="right"))
        if unclear.size:
            for place, (high, low) in zip(unclear.tolist(), bits.more(unclear, 0).tolist(), strict=True):
                index[place] = bisect_right(self.sums, (int(words[place]) << _MORE) | (high << 64) | low)
        return self.values[index][:, None]


@dataclass(frozen=True)
class RuleMarginal(Lattice):
    """The magnitude of optimal-rule noise with a fair sign. Intervals need the magnitude only. A sum of several such
    noises has another law than a sum of the noises themselves.
    """

    noise: Noise
    step: float = field(init=False, repr=False, compare=False)

    def __post_init__(self) -> None:
        if not isinstance(self.noise, OptimalRule):
            raise reject("noise", self.noise, "optimal-rule noise", _HINT)
        object.__setattr__(self, "step", self.noise.step)

    @cached_property
    def _rule(self) -> OptimalRule:
        assert isinstance(self.noise, OptimalRule)
        return self.noise

    @property
    def points(self) -> int:
        return int(np.abs(self._rule.values).max()) + 1

    @cached_property
    def beyond(self) -> tuple[NDArray[np.int64], tuple[int, ...]]:
        """The distinct magnitudes in steps, rising, and the probability of each or a larger one in units of 2^-192."""
        each: dict[int, int] = {}
        for x, p in zip(np.abs(self._rule.values).tolist(), self._rule.weights, strict=True):
            each[x] = each.get(x, 0) + p
        sizes, sums = sorted(each), [0]
        for x in reversed(sizes):
            sums.append(sums[-1] + each[x])
        return np.array(sizes), tuple(reversed(sums))

    @cached_property
    def masses(self) -> Array:
        sizes, sums = self.beyond
        table = np.zeros(self.points)
        table[sizes] = [float(Fraction(a - b, 1 << _BITS)) for a, b in itertools.pairwise(sums)]
        table[1:] /= 2.0
        return table

    def log_mass(self, k: Array) -> Array:
        inside = k < self.points
        with np.errstate(divide="ignore"):
            return np.where(inside, np.log(self.masses[np.where(inside, k, 0.0).astype(np.int64)]), -np.inf)

    def steps_in(self, shift: float) -> int:
        raise Unsupported("the magnitude of optimal-rule noise has no curve of its own; use the noise itself.")

    @property
    def support(self) -> float:
        """The largest magnitude."""
        return (self.points - 1) * self.step

    @property
    def variance(self) -> float:
        return self._rule.variance

    def scaled(self, k: float) -> RuleMarginal:
        return RuleMarginal(self._rule.scaled(k))


@lru_cache(maxsize=64)
def _sums(epsilon: float, delta: float) -> tuple[int, ...]:
    """The rule in whole numbers. e^epsilon is a little smaller here than it is, which pays for every rounding below."""
    whole, share = 1 << _BITS, math.floor(Fraction(delta) * (1 << _BITS))
    growth = _floor_of_exponential(epsilon)
    growth -= growth >> 60
    found, step = [0], 0
    while found[-1] < whole:
        left = whole - found[-1]
        rising = found[-1] + ((growth * step) >> _MORE if step else share)
        falling = whole - max(-((-(left - share) << _MORE) // growth), 0)
        found.append(min(rising, falling))
        step = found[-1] - found[-2]
    return tuple(found[1:])


def _floor_of_exponential(epsilon: float) -> int:
    """A whole number that is at most 2^128 e^epsilon: its floor, or less by one where the ball cannot tell."""
    with precision(1024):
        arb = flint_module().arb
        return int((arb(epsilon).exp() * arb(2) ** _MORE).lower().floor().unique_fmpz())


def _tail(law: RuleMarginal) -> Tail:
    """P(|X| > k step) in balls, for whole k."""

    def at(k: Any) -> Ball:
        sizes, sums = law.beyond
        arb = flint_module().arb
        return arb(sums[int(np.searchsorted(sizes, int(k), side="right"))]) / arb(2) ** _BITS

    return at


FAMILY = Family(
    "optimal_rule", OptimalRule, paper="Desfontaines et al. 2022", cites=("desfontaines2022",), ranked=False, pure=False
)
MARGINAL = Family(
    "rule_marginal",
    RuleMarginal,
    paper="Desfontaines et al. 2022",
    cites=("desfontaines2022",),
    ranked=False,
    public=False,
    tail=_tail,
)
