"""Truncated Laplace noise: the Laplace law conditioned on |X| <= bound. Its delta is the mass near the bound."""

from __future__ import annotations

import math
from dataclasses import dataclass
from functools import cached_property
from typing import Any

import numpy as np
from numpy.typing import NDArray

from hush.errors import Unsupported, positive
from hush.noise.contract import Law
from hush.noise.family import Family, Reference
from hush.noise.log_concave import LogConcave
from hush.noise.region import Region
from hush.noise.request import Request
from hush.numerics import special
from hush.numerics.ball import Ball, Tail, flint_module
from hush.numerics.rounding import ELEMENTARY, FEW_ROUNDINGS, up
from hush.numerics.search import nudged
from hush.numerics.twofold import Twofold

__all__ = ["FAMILY", "TruncatedLaplace", "truncated_laplace_noise"]

Array = NDArray[np.float64]


@dataclass(frozen=True)
class TruncatedLaplace(LogConcave):
    """Laplace noise of the given scale, conditioned on |X| <= bound.

    f(x) = exp(-|x|/scale) / (2 scale (1 - exp(-bound/scale))) for |x| <= bound, 0 beyond.

    Guarantees: exact delta for every shift. With shift <= scale * eps the exceeding region is [-bound, shift - bound),
    where the shifted density is 0; so there is no pure epsilon (Geng, Ding, Guo and Kumar 2020).

    >>> TruncatedLaplace(1.0, 5.0).max_loss(1.0)
    inf
    """

    scale: float
    bound: float

    def __post_init__(self) -> None:
        hint = "write TruncatedLaplace(scale=1.0, bound=10.0)"
        object.__setattr__(self, "scale", positive("scale", self.scale, hint))
        object.__setattr__(self, "bound", positive("bound", self.bound, hint))

    @property
    def unit(self) -> float:
        return self.scale

    @cached_property
    def _edge(self) -> Twofold:
        return Twofold(self.bound) / self.scale

    @cached_property
    def _kept(self) -> float:
        """1 - e^(-B), B = bound/scale: the probability of |X| <= bound under the Laplace law."""
        return -math.expm1(-float(self._edge.hi))

    def unit_log_density(self, y: Twofold) -> Twofold:
        return Twofold(-math.log(2.0 * self._kept)) - y

    def unit_mills(self, y: Array) -> Array:
        return -np.expm1(np.minimum(y - self._edge.hi, 0.0))

    def unit_drop(self, y: Array, d: Array) -> Array:
        to_edge = np.maximum(self._edge.hi - y, 0.0)
        step = np.minimum(d, to_edge)
        with np.errstate(under="ignore"):
            return np.exp(step - to_edge) * -np.expm1(-step)

    def unit_drop_from(self, y: Twofold, d: Twofold) -> Array:
        """`unit_drop` with the distance to the edge in twofold precision: a shift may be tiny relative to the bound."""
        to_edge = np.maximum((self._edge - y).value(), 0.0)
        step = np.minimum(d.hi, to_edge)
        with np.errstate(under="ignore"):
            return np.exp(step - to_edge) * -np.expm1(-step)

    def unit_crossing(self, epsilon: Array, d: Twofold) -> Twofold:
        """Return the smaller of the Laplace crossing (eps - d)/2, for eps < d, and the edge B - d.

        Beyond the edge f(x - shift) = 0.
        """
        laplace = (epsilon - d).halved()
        edge = self._edge - d + np.zeros_like(laplace.hi)
        crossing = laplace.where((laplace.hi < 0.0) & (laplace.hi < edge.hi), edge)
        whole = -self._edge + np.zeros_like(laplace.hi)
        return crossing.where(crossing.hi > whole.hi, whole)  # the two supports are disjoint for shift >= 2 bound

    def exceeds(self, epsilon: Any, shift: float) -> Region:
        region = super().exceeds(epsilon, shift)
        return Region(np.full_like(region.upper, -self.bound), region.upper, crossing=region.crossing)

    def log_density(self, x: Array) -> Array:
        inside = np.abs(x) <= self.bound
        return np.where(inside, super().log_density(np.where(inside, x, 0.0)), -np.inf)

    def log_tail(self, x: Array) -> Array:
        inside = x < self.bound
        return np.where(inside, super().log_tail(np.where(inside, x, 0.0)), -np.inf)

    def inverse_tail(self, v: Array) -> Array:
        edge = float(self._edge.hi)
        # measured from the edge, so that the distance to it keeps its digits, unless the edge is far away
        tail = (
            edge - np.log1p(2.0 * v * math.expm1(edge))
            if edge < 30.0
            else -np.log(math.exp(-edge) + 2.0 * v * self._kept)
        )
        centre = -np.log1p((1.0 - 2.0 * np.maximum(v, 0.25)) * -self._kept)
        return np.clip(np.where(v > 0.25, centre, tail), 0.0, edge) * self.scale

    @property
    def variance(self) -> float:
        """2 scale^2 P(3, B)/(1 - e^(-B)), with P the regularised incomplete gamma function and B = bound/scale."""
        return 2.0 * float(special.gammainc(3.0, self._edge.hi)) / self._kept * (self.scale * self.scale)

    @property
    def mean_abs(self) -> float:
        return float(special.gammainc(2.0, self._edge.hi)) / self._kept * self.scale

    @property
    def fisher_information(self) -> float:
        """Infinite: the density jumps at the bound."""
        return math.inf

    @property
    def subgaussian_proxy(self) -> float:
        """bound^2, by Hoeffding's lemma for a centred law on [-bound, bound]."""
        return self.bound * self.bound

    @property
    def kinks(self) -> tuple[float, ...]:
        return (0.0, self.bound)

    @property
    def support(self) -> float:
        return self.bound

    def scaled(self, k: float) -> TruncatedLaplace:
        return self.scaled_by(k, "scale", "bound")


def truncated_laplace_noise(request: Request) -> Law:
    """Return the noise whose scale follows from epsilon and whose bound follows from delta.

    Each release spends its part of delta on the edge that the shifted density does not cover.
    """
    if not request.plain:
        raise Unsupported("truncated Laplace noise is proved for a single linf bound (with l0) only")
    if request.delta == 0.0:
        raise Unsupported("truncated Laplace noise has no pure epsilon")
    share = request.epsilon / request.count
    edge = -math.expm1(math.log1p(-request.delta) / request.count)
    if edge == 0.0:
        raise Unsupported("truncated Laplace noise could not be certified for this budget")
    scale = up(request.shift / share, FEW_ROUNDINGS)
    bound = scale * math.log1p(math.expm1(min(share, 700.0)) / (2.0 * edge))

    def noise_at(bound: float) -> Law:
        return request.on_lattice(TruncatedLaplace(scale, bound))

    found = nudged(lambda bound: request.meets(noise_at(bound)), bound, first=ELEMENTARY.share, growth=100.0, turns=5)
    if found is None:
        raise Unsupported("truncated Laplace noise could not be certified for this budget")
    return noise_at(found)


def _tail(noise: TruncatedLaplace) -> Tail:
    def beyond(x: Ball) -> Ball:
        arb = flint_module().arb
        if x >= noise.bound:
            return arb(0)
        edge = (-arb(noise.bound) / noise.scale).exp()
        return ((-x / noise.scale).exp() - edge) / (1 - edge)

    return beyond


def _log_weight(noise: TruncatedLaplace) -> Tail:
    return lambda x: -x / noise.scale


FAMILY = Family(
    "truncated_laplace",
    TruncatedLaplace,
    paper="Geng, Ding, Guo and Kumar 2020",
    cites=("geng2020",),
    pure=False,
    calibrate=truncated_laplace_noise,
    tail=_tail,
    log_weight=_log_weight,
    degree=1,
    reference=Reference(TruncatedLaplace(2.0, 10.0), 0.5, 0.0022003506154044198),
)
