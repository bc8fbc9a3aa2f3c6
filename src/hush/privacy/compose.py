"""From charges to privacy curves: for one release, or for several composed."""

from __future__ import annotations

import itertools
from collections.abc import Iterable
from contextlib import suppress
from dataclasses import dataclass
from fractions import Fraction
from functools import lru_cache
from typing import Any

import numpy as np
from numpy.typing import NDArray

from hush.errors import InvalidParameter, Unsupported, called_like, reject, whole
from hush.noise.contract import Noise
from hush.numerics.bracket import Bracket, unwrap
from hush.numerics.rounding import FEW_ROUNDINGS, round_up, up
from hush.privacy.by_box import Pairs
from hush.privacy.charge import Charge, charges
from hush.privacy.composed_curve import compose_parts
from hush.privacy.conversion import check_order
from hush.privacy.curve import Curve, PureBound
from hush.privacy.merged_gaussian import merged_gaussians
from hush.privacy.sensitivity import Sensitivity
from hush.privacy.subsampling import sampling_rate
from hush.privacy.theorem import GAUSSIAN, pure_epsilon, renyi_divergence, sampled, theorems_for

__all__ = ["compose", "curve", "delta", "epsilon", "renyi", "subsample"]

Array = NDArray[np.float64]
#: At most this many combinations of theorems are tried, because each of them needs a composition.
_MOST_WAYS = 16


@dataclass(frozen=True, eq=False)
class BestOf(Curve):
    """Several curves that all bound the same release: the result is the least delta at every epsilon."""

    curves: tuple[Curve, ...]

    def _forward(self, epsilon: Array) -> Bracket:
        upper = self._end(epsilon, "upper")
        return Bracket(np.zeros_like(upper), upper)

    def _end(self, epsilon: Array, end: str) -> Array:
        if end == "lower":  # the true worst case, under all facts together, may be below each curve
            return np.zeros(np.shape(epsilon))
        found: list[Array] = []
        for each in self.curves:
            with suppress(Unsupported):
                found.append(each._end(epsilon, "upper"))
        if not found:
            return self.curves[0]._end(epsilon, "upper")
        return np.min(found, axis=0)

    @property
    def pure_epsilon(self) -> float:
        return min(each.pure_epsilon for each in self.curves)

    def tradeoff(self, alpha: Any) -> Any:
        """The best of the bounds that the curves give."""
        found: list[Any] = []
        for each in self.curves:
            with suppress(Unsupported):
                found.append(each.tradeoff(alpha))
        return unwrap(np.max(found, axis=0)) if found else self.curves[0].tradeoff(alpha)


def curve(noise: Noise, sensitivity: Any = 1.0, *, times: int = 1) -> Curve:
    """The privacy curve of a noise under a sensitivity, released `times` times.

    Guarantees: every number is a proved upper bound for all neighbouring data, by the theorems in
    hush.privacy.theorem. If no theorem covers the request, raises `Unsupported` with the nearest call that is covered.

    >>> from hush import Laplace, Sensitivity
    >>> round(curve(Laplace(20.0), Sensitivity(linf=1.0, l0=20)).epsilon(1e-8), 3)
    0.99
    """
    if not isinstance(noise, Noise):
        raise reject("noise", type(noise), "a noise family", "write for example Gaussian(1.0)")
    return compose([(noise, sensitivity, times)])


def compose(releases: Iterable[Any]) -> Curve:
    """The curve of several releases together, which must be fixed in advance. Each is a charge or a tuple (noise,
    sensitivity, times).

    Guarantees: tight composition of loss distributions, as a bracket. Gaussian releases are first merged into one,
    exactly (Zhao, Lemma 15). Where several theorems cover a release, the best combination is used at every epsilon.

    >>> from hush import Gaussian, Laplace
    >>> c = compose([(Gaussian(10.0), 1.0, 5), (Laplace(20.0), 1.0, 3)])
    >>> round(c.epsilon(1e-6), 3)
    1.005
    """
    rows = [_simplest(charge) for charge in charges(releases)]
    if len({charge.neighbours for charge in rows}) > 1:
        raise InvalidParameter(
            "some releases have neighbours='add-remove' and others 'replace', and no epsilon covers both; compose each "
            "kind separately."
        )
    gaussians = [charge for charge in rows if GAUSSIAN.covers(charge)]
    others = [charge for charge in rows if not GAUSSIAN.covers(charge)]
    fixed: Pairs = [(merged_gaussians(gaussians), 1)] if gaussians else []
    options = [_ways(charge, len(rows) == 1) for charge in others]
    combinations = itertools.islice(itertools.product(*options), _MOST_WAYS)
    curves = tuple(_together([*itertools.chain.from_iterable(ways), *fixed], others) for ways in combinations)
    return curves[0] if len(curves) == 1 else BestOf(curves)


def subsample(
    noise: Noise,
    rate: float | None = None,
    sensitivity: Any = 1.0,
    *,
    times: int = 1,
    batch: int | None = None,
    rows: int | None = None,
) -> Charge:
    """The charge of noise released on a Poisson sample of the people, each kept with probability `rate`; or, with
    batch= and rows= instead of the rate, on a batch of that fixed size, drawn without replacement from the rows.

    Guarantees: for a Poisson sample, the two-sided bound of Balle, Barthe and Gaboardi (2018), Theorems 8 and 13, for
    one person more or less. For a fixed batch, their bound for one person who replaces another: the sensitivity must
    have neighbours="replace". Pass the charge to `hush.compose` or `Ledger.spend`.

    >>> from hush import Gaussian, Sensitivity
    >>> round(compose([subsample(Gaussian(2.0), 0.05, times=50)]).epsilon(1e-5), 3)
    0.782
    >>> fixed = subsample(Gaussian(2.0), batch=50, rows=1000, sensitivity=Sensitivity(l2=1.0, neighbours="replace"))
    >>> fixed.rate
    0.05
    """
    if (rate is None) == (batch is None) or (batch is None) != (rows is None):
        raise InvalidParameter(
            "give either rate=, for Poisson samples, or batch= and rows=, for batches of a fixed size."
        )
    if batch is not None:
        batch, rows = whole("batch", batch), whole("rows", rows)
        if batch > rows:
            raise InvalidParameter(f"batch = {batch} is larger than rows = {rows}; it is the size of one sample.")
        rate = batch / rows
    charge = Charge(noise, Sensitivity.of(sensitivity), times=times, rate=sampling_rate(rate), fixed=batch is not None)
    sampled(charge)  # raises here if no theorem covers the noise on a sample
    return charge


def _simplest(charge: Charge) -> Charge:
    grouped = charge.by_group
    return grouped.once.repeated(grouped.times)


@lru_cache(maxsize=1024)
def _ways(charge: Charge, alone: bool) -> tuple[Pairs, ...]:
    """For each theorem that covers the charge, its pairs of laws. With other charges beside it (alone False), only
    theorems whose bounds can be composed.
    """
    found = [theorem for theorem in theorems_for(charge) if alone or not theorem.alone]
    if not found:
        raise Unsupported(
            f"{charge.noise} under this sensitivity cannot be composed with other releases; "
            "write Sensitivity(linf=..., l0=...)."
        )
    return tuple(theorem.pairs(charge) for theorem in found)


def _pure_total(rows: list[Charge]) -> Fraction | None:
    """The sum of the pure epsilons, exactly; None where a release has none."""
    each = [pure_epsilon(charge.once) for charge in rows]
    if any(one is None for one in each):
        return None
    return sum((one * charge.times for one, charge in zip(each, rows, strict=True) if one is not None), Fraction(0))


def _together(pairs: Pairs, rows: list[Charge]) -> Curve:
    """The composition of the pairs. Where only pure epsilons are known, it is that of randomised responses, whose pure
    epsilon is the exact sum over the charges.
    """
    if len(pairs) == 1 and pairs[0][1] == 1:
        return pairs[0][0]
    if all(isinstance(pair, PureBound) for pair, _ in pairs):
        total = _pure_total(rows)
        if total is not None:
            return BestOf((PureBound(round_up(total)), compose_parts(pairs)))
    return compose_parts(pairs)


@called_like("delta(hush.Laplace(1.0), 0.5)")
def delta(noise: Noise, epsilon: Any, sensitivity: Any = 1.0, *, times: int = 1) -> Any:
    """The delta of a noise at epsilon, as an upper bound. epsilon may be an array, and may be negative.

    >>> from hush import Laplace
    >>> round(delta(Laplace(1.0), 0.5), 12)
    0.221199216929
    """
    return curve(noise, sensitivity, times=times).delta(epsilon)


@called_like("epsilon(hush.Gaussian(4.0), 1e-6)")
def epsilon(noise: Noise, delta: Any, sensitivity: Any = 1.0, *, times: int = 1) -> Any:
    """The epsilon of a noise at delta, as an upper bound. delta = 0 gives the pure epsilon, which is infinite where
    there is none.

    >>> from hush import Laplace
    >>> round(epsilon(Laplace(2.0), 0.0), 12)
    0.5
    """
    return curve(noise, sensitivity, times=times).epsilon(delta)


def renyi(noise: Noise, order: float, sensitivity: Any = 1.0, *, times: int = 1) -> float:
    """The Renyi divergence of a noise from its shifted copy, as an upper bound. Order 1 is the Kullback-Leibler
    divergence.

    Guarantees: an upper bound on D_order(M(D) || M(D')) for every shift that the sensitivity allows, over `times`
    releases (divergences add). Infinite where the supports differ.

    >>> from hush import Gaussian
    >>> round(renyi(Gaussian(2.0), 3.0), 12)
    0.375
    """
    charge = Charge(noise, sensitivity, times=times)
    one = renyi_divergence(charge.once, check_order(order))
    return one if charge.times == 1 else up(one * charge.times, FEW_ROUNDINGS)
