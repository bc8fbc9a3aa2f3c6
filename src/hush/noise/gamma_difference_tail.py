"""The tail of a difference of two gamma variables in ball arithmetic."""

from __future__ import annotations

import math

from hush.numerics.ball import Ball, Tail, flint_module

__all__ = ["tail"]


def tail(shape: float, scale: float) -> Tail:
    """Return the function x -> P(|X| > x).

    The tail is 1 - y (K_v L_(v-1) + K_(v-1) L_v)(y), y = x/scale, v = r - 1/2, with Bessel and modified Struve
    functions (DLMF 10.43.2, 11.2.2). For large y it is smaller than the precision and a bound is returned: at most
    e^(-y) for r <= 1 (a mixture of exponentials of rates 1 and more), and at most 2 (4/3)^r e^(-y/2) by Chernoff's
    bound at t = 1/2.
    """

    def struve(order: Ball, y: Ball) -> Ball:
        arb = flint_module().arb
        half = arb(3) / 2
        series = (y * y / 4).hypgeom([arb(1)], [half, order + half])
        return (y / 2) ** (order + 1) / (half.gamma() * (order + half).gamma()) * series

    def beyond(x: Ball) -> Ball:
        flint = flint_module()
        arb, y, order = flint.arb, x / scale, flint.arb(shape) - flint.arb(0.5)
        if y > 2 * flint.ctx.prec + shape:
            return (2 * (arb(4) / 3) ** arb(shape) * (-y / 2).exp()).upper() * arb(0.5, 0.5)
        bits, found = flint.ctx.prec, arb.nan()
        for extra in (1, 2, 4, 8):  # whole orders are limits of the formula and need more digits
            with flint.ctx.workprec((bits + 64 + 4 * math.ceil(float(y.mid()))) * extra):
                y = x / scale  # again at the higher precision, because the Bessel functions amplify its rounding error
                found = 1 - y * (y.bessel_k(order) * struve(order - 1, y) + y.bessel_k(order - 1) * struve(order, y))
                if found.is_finite() and found.rad() < arb(2) ** -(bits - 32):
                    break
        return found

    return beyond
