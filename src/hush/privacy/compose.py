"""From charges to curves: the best curve that the theorems give, for one release or for many together."""

from __future__ import annotations

import itertools
import math
from collections.abc import Iterable
from dataclasses import dataclass
from typing import Any

import numpy as np
from numpy.typing import NDArray

from hush.errors import InvalidParameter, Unsupported, called_like, reject
from hush.noise.contract import Noise
from hush.numerics.bracket import Bracket
from hush.numerics.rounding import FEW_ROUNDINGS, up
from hush.privacy.charge import Charge, charges
from hush.privacy.composed_curve import compose_parts
from hush.privacy.conversion import check_order
from hush.privacy.curve import Curve, PureBound
from hush.privacy.sensitivity import Sensitivity
from hush.privacy.subsampling import sampling_rate
from hush.privacy.theorem import GAUSSIAN, Pairs, merged_gaussians, renyi_divergence, theorems_for

__all__ = ["compose", "curve", "delta", "epsilon", "renyi", "subsample"]

Array = NDArray[np.float64]
#: More combinations of theorems than this are not tried: each costs a composition.
_MOST_WAYS = 16


@dataclass(frozen=True, eq=False)
class BestOf(Curve):
    """Several curves that all bound the same release: the least delta counts at every epsilon."""

    curves: tuple[Curve, ...]

    def _forward(self, epsilon: Array) -> Bracket:
        upper = self._end(epsilon, "upper")
        return Bracket(np.zeros_like(upper), upper)

    def _end(self, epsilon: Array, end: str) -> Array:
        if end == "lower":  # the facts together may leave less than each curve's own worst case
            return np.zeros(np.shape(epsilon))
        found: list[Array] = []
        for each in self.curves:
            try:
                found.append(each._end(epsilon, "upper"))
            except Unsupported:
                continue
        if not found:
            return self.curves[0]._end(epsilon, "upper")
        return np.min(found, axis=0)

    @property
    def pure_epsilon(self) -> float:
        return min(each.pure_epsilon for each in self.curves)


def curve(noise: Noise, sensitivity: Any = 1.0, *, times: int = 1) -> Curve:
    """The privacy curve of a noise for a sensitivity, released `times` times.

    Guarantees: every number is an upper bound for all neighbouring data, by the theorems of hush.privacy.theorem.
    Requests that no theorem covers raise `Unsupported` with the nearest call that is covered.

    >>> from hush import Laplace, Sensitivity
    >>> round(curve(Laplace(20.0), Sensitivity(linf=1.0, l0=20)).epsilon(1e-8), 3)
    0.99
    """
    if not isinstance(noise, Noise):
        raise reject("noise", noise, "a noise family", "write for example Gaussian(1.0)")
    return compose([(noise, sensitivity, times)])


def compose(releases: Iterable[Any]) -> Curve:
    """The curve of several releases together, fixed in advance: each a charge or (noise, sensitivity, times).

    Guarantees: tight composition by loss distributions, as a bracket; Gaussians are merged into one first, exactly
    (Zhao, Lemma 15). Where several theorems cover a release, the best way to combine them counts at every epsilon.

    >>> from hush import Gaussian, Laplace
    >>> c = compose([(Gaussian(10.0), 1.0, 5), (Laplace(20.0), 1.0, 3)])
    >>> round(c.epsilon(1e-6), 3)
    1.005
    """
    rows = [_simplest(charge) for charge in charges(releases)]
    if len({charge.neighbours for charge in rows}) > 1:
        raise InvalidParameter(
            "releases count neighbours 'add-remove' and 'replace'; no epsilon speaks of both, so compose one kind."
        )
    gaussians = [charge for charge in rows if GAUSSIAN.covers(charge)]
    others = [charge for charge in rows if not GAUSSIAN.covers(charge)]
    fixed: Pairs = [(merged_gaussians(gaussians), 1)] if gaussians else []
    options = [_ways(charge, alone=len(rows) == 1) for charge in others]
    combinations = itertools.islice(itertools.product(*options), _MOST_WAYS)
    curves = tuple(_together([*itertools.chain.from_iterable(ways), *fixed]) for ways in combinations)
    return curves[0] if len(curves) == 1 else BestOf(curves)


def subsample(noise: Noise, rate: float, sensitivity: Any = 1.0, *, times: int = 1) -> Charge:
    """The charge of noise released on a Poisson sample of the people, each kept with probability `rate`.

    Guarantees: the two-sided bound of Balle, Barthe and Gaboardi (2018), Theorems 8 and 13, for one person more or
    less. `hush.compose` and `Ledger.spend` take the charge.

    >>> from hush import Gaussian
    >>> round(compose([subsample(Gaussian(2.0), 0.05, times=50)]).epsilon(1e-5), 3)
    0.79
    """
    return Charge(noise, Sensitivity.of(sensitivity), times, sampling_rate(rate))


def _simplest(charge: Charge) -> Charge:
    return charge.once.repeated(charge.times)


def _ways(charge: Charge, *, alone: bool) -> list[Pairs]:
    """The pairs of every theorem that covers the charge and can stand where it stands."""
    found = [theorem for theorem in theorems_for(charge) if alone or not theorem.alone]
    if not found:
        raise Unsupported(
            f"{charge.noise} under this sensitivity cannot be composed with other releases; give linf and l0."
        )
    return [theorem.pairs(charge) for theorem in found]


def _together(pairs: Pairs) -> Curve:
    if len(pairs) == 1 and pairs[0][1] == 1:
        return pairs[0][0]
    if all(isinstance(pair, PureBound) for pair, _ in pairs):
        return PureBound(up(math.fsum(pair.pure_epsilon * times for pair, times in pairs), FEW_ROUNDINGS))
    return compose_parts(pairs)


@called_like("delta(hush.Laplace(1.0), 0.5)")
def delta(noise: Noise, epsilon: Any, sensitivity: Any = 1.0, *, times: int = 1) -> Any:
    """The delta a noise gives at epsilon, as an upper bound; epsilon may be an array, and negative.

    >>> from hush import Laplace
    >>> round(delta(Laplace(1.0), 0.5), 12)
    0.221199216929
    """
    return curve(noise, sensitivity, times=times).delta(epsilon)


@called_like("epsilon(hush.Gaussian(4.0), 1e-6)")
def epsilon(noise: Noise, delta: Any, sensitivity: Any = 1.0, *, times: int = 1) -> Any:
    """The epsilon a noise gives at delta, as an upper bound; delta = 0 asks for the pure epsilon, infinite where
    there is none.

    >>> from hush import Laplace
    >>> round(epsilon(Laplace(2.0), 0.0), 12)
    0.5
    """
    return curve(noise, sensitivity, times=times).epsilon(delta)


def renyi(noise: Noise, order: float, sensitivity: Any = 1.0, *, times: int = 1) -> float:
    """The Renyi divergence of a noise from its shifted copy, as an upper bound; order 1 is the Kullback-Leibler
    divergence.

    Guarantees: an upper bound on D_order(M(D) || M(D')) for every move that the sensitivity allows, over `times`
    releases: divergences add up. Infinite where the supports differ.

    >>> from hush import Gaussian
    >>> round(renyi(Gaussian(2.0), 3.0), 12)
    0.375
    """
    charge = Charge(noise, sensitivity, times)
    one = renyi_divergence(charge.once, check_order(order))
    return one if charge.times == 1 else up(one * charge.times, FEW_ROUNDINGS)
