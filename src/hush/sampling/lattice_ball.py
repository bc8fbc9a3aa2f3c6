"""Tails of the lattice versions of laws (`Discrete`) in ball arithmetic: sums of weights, from the outside in."""

from __future__ import annotations

import math

import numpy as np

from hush.errors import Unsupported
from hush.noise.contract import Law
from hush.numerics.ball import Ball, Tail, flint_module, precision
from hush.sampling.tail_ball import descriptor

__all__ = ["DiscreteTail"]


def _log_weight(noise: Law) -> Tail:
    """Return the function x -> log f(x)/f(0) of a log-concave family, x >= 0."""
    row = descriptor(noise)
    if row.log_weight is None:
        raise Unsupported(
            f"{row.name} noise has no exact lattice draw: its Family needs `log_weight`, "
            "the function log f(x)/f(0) in ball arithmetic."
        )
    return row.log_weight(noise)


class DiscreteTail:
    """The function k -> P(|K| > k) of a lattice law, a sum of weights.

    Weights are summed until they are below the precision. The omitted rest is at most the next weight divided by 1 - r,
    with r the ratio of the last two weights, because the ratios of a log-concave sequence decrease.
    """

    MOST_TERMS = 500_000  # terms of a sum; more would take too long

    def __init__(self, noise: Law) -> None:
        self._noise = noise
        #: The degree of log f as a polynomial. With 1 the weights are a geometric sequence, with 2 their ratios are.
        self._degree = descriptor(noise.continuous).degree
        self._sums: dict[int, tuple[list[Ball], Ball]] = {}

    def __call__(self, k: int) -> Ball:
        """Return P(|K| > k) at the current precision."""
        flint = flint_module()
        if self._degree == 1:
            return self._geometric(k)
        bits = -(-flint.ctx.prec // 128) * 128  # rounded up to few different values, so that the sums are reused
        if bits not in self._sums:
            with precision(bits):
                self._sums[bits] = self._summed(bits)
        sums, rest = self._sums[bits]
        from_next = sums[k + 1] if k + 1 < len(sums) else rest
        return 2 * from_next / (2 * sums[0] - 1)

    def _geometric(self, k: int) -> Ball:
        """Return the sum of q^|j| over k < |j| <= n divided by that over |j| <= n, n the last point.

        It is 2 (q^(k+1) - q^(n+1))/(1 + q - 2 q^(n+1)).
        """
        arb = flint_module().arb
        per_step, last = _log_weight(self._noise.continuous)(arb(self._noise.step)), self._last_point()
        if k + 1 > last:
            return arb(0)
        cut = arb(0) if math.isinf(last) else (per_step * (int(last) + 1)).exp()
        return 2 * ((per_step * (k + 1)).exp() - cut) / (1 + per_step.exp() - 2 * cut)

    def _summed(self, bits: int) -> tuple[list[Ball], Ball]:
        """Return the sums of the weights from k on, for k = 0, 1, ..., and the omitted rest: a ball that contains 0."""
        arb = flint_module().arb
        log_weight, step, end = _log_weight(self._noise.continuous), arb(self._noise.step), self._last_point()
        weights, last, rest = [arb(1)], arb(1), arb(0)
        least = arb(2) ** -(bits + 64)
        quadratic = self._degree == 2
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
                f"draw the rounded noise instead: draw({self._noise.continuous}, size, step={self._noise.step:g})."
            )
        sums, total = [], rest
        for weight in reversed(weights):
            total = total + weight
            sums.append(total)
        return sums[::-1], rest

    def _last_point(self) -> float:
        """Return the last lattice point inside the support, by the same rule as the table of `Discrete`."""
        support, step = self._noise.continuous.support, self._noise.step
        if math.isinf(support):
            return math.inf
        k = np.floor(support / step) + np.arange(-2.0, 3.0)
        inside = k[(k * step <= support) & (k >= 0.0)]
        return float(inside[-1]) if inside.size else 0.0
