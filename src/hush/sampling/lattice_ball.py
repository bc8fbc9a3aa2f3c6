"""Tails of lattice laws in ball arithmetic: sums of weights, from the outside in."""

from __future__ import annotations

import math

import numpy as np

from hush.errors import Unsupported
from hush.noise.asinh import Asinh
from hush.noise.contract import Law
from hush.noise.discrete import Discrete
from hush.noise.exponential_power import ExponentialPower
from hush.noise.flipped_huber import FlippedHuber
from hush.noise.gaussian import Gaussian
from hush.noise.laplace import Laplace
from hush.noise.osgt import OSGT
from hush.noise.truncated_laplace import TruncatedLaplace
from hush.sampling.ball import Ball, Tail, flint_module, precision

__all__ = ["DiscreteTail"]


def _log_weight(noise: Law) -> Tail:
    """x -> log f(x)/f(0) for a log-concave family, x >= 0."""
    arb = flint_module().arb
    match noise:
        case Gaussian():
            return lambda x: -((x / noise.sigma) ** 2) / 2
        case Laplace() | TruncatedLaplace():
            return lambda x: -x / noise.scale
        case OSGT():
            return lambda x: -(x * (x + 2 * arb(noise.m))) / (2 * arb(noise.sigma) ** 2)
        case FlippedHuber():
            alpha, square = arb(noise.alpha), arb(noise.gamma) ** 2
            return lambda x: -(alpha * x if x <= alpha else (x**2 + alpha**2) / 2) / square
        case ExponentialPower():
            return lambda x: -((x / noise.scale) ** arb(noise.p))
        case Asinh():
            return lambda x: -noise.kappa * (lambda y: y * y.asinh() - (1 + y * y).sqrt() + 1)(x / noise.scale)
    raise Unsupported(f"{type(noise).__name__} has no exact lattice draw; use a log-concave family of the catalogue.")


class DiscreteTail:
    """P(|K| > k) of a lattice law: sums of weights from the outside in.

    Weights are summed until they fall below the precision; what is left out is at most the next weight over 1 - r, with r the ratio of the
    last two, because a log-concave sequence falls at a growing rate.
    """

    #: Beyond this a sum takes longer than anyone would wait.
    MOST_TERMS = 500_000

    def __init__(self, noise: Discrete) -> None:
        self._noise = noise
        self._sums: dict[int, tuple[list[Ball], Ball]] = {}

    def __call__(self, k: int) -> Ball:
        """The tail beyond k steps, at the ambient precision."""
        flint = flint_module()
        if isinstance(self._noise.noise, Laplace | TruncatedLaplace):
            return self._geometric(k, self._noise.noise.scale)
        bits = -(-flint.ctx.prec // 128) * 128  # few precisions, so that sums are kept and reused
        if bits not in self._sums:
            with precision(bits):
                self._sums[bits] = self._summed(bits)
        sums, rest = self._sums[bits]
        from_next = sums[k + 1] if k + 1 < len(sums) else rest
        return 2 * from_next / (2 * sums[0] - 1)

    def _geometric(self, k: int, scale: float) -> Ball:
        """Sums of q^j from k + 1 to the last point, over all of them: 2 (q^(k+1) - q^(n+1))/(1 + q - 2 q^(n+1))."""
        arb = flint_module().arb
        per_step, last = -arb(self._noise.step) / scale, self._last_point()
        if k + 1 > last:
            return arb(0)
        cut = arb(0) if math.isinf(last) else (per_step * (int(last) + 1)).exp()
        return 2 * ((per_step * (k + 1)).exp() - cut) / (1 + per_step.exp() - 2 * cut)

    def _summed(self, bits: int) -> tuple[list[Ball], Ball]:
        """Sums of the weights from k on, for k = 0, 1, ..., and the bound on all that is left out, as a ball that holds 0."""
        arb = flint_module().arb
        log_weight, step, end = _log_weight(self._noise.noise), arb(self._noise.step), self._last_point()
        weights, last, rest = [arb(1)], arb(1), arb(0)
        least = arb(2) ** -(bits + 64)
        quadratic = isinstance(self._noise.noise, Gaussian | OSGT)  # then ratios of weights form a geometric sequence
        ratio = log_weight(step).exp() if quadratic else arb(0)
        falling = log_weight(2 * step).exp() / ratio**2 if quadratic else arb(0)
        for k in range(1, self.MOST_TERMS):
            if k > end:
                break
            if quadratic:
                weight, ratio = last * ratio, ratio * falling
            else:
                weight = log_weight(k * step).exp()
            if weight < least:
                rest = (weight / (1 - weight / last)).upper() * arb(0.5, 0.5)
                break
            weights.append(weight)
            last = weight
        else:
            raise Unsupported(
                f"{self._noise} spreads over more than {self.MOST_TERMS} lattice points; "
                f"draw the rounded noise instead: draw({self._noise.noise}, size, step={self._noise.step:g})."
            )
        sums, total = [], rest
        for weight in reversed(weights):
            total = total + weight
            sums.append(total)
        return sums[::-1], rest

    def _last_point(self) -> float:
        """The last lattice point inside the support, by the rule that the family's own table follows."""
        support, step = self._noise.noise.support, self._noise.step
        if math.isinf(support):
            return math.inf
        k = np.floor(support / step) + np.arange(-2.0, 3.0)
        inside = k[(k * step <= support) & (k >= 0.0)]
        return float(inside[-1]) if inside.size else 0.0
