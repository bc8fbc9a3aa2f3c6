"""The symmetric alpha-stable law for exact draws: its tail in ball arithmetic, and its magnitude as a function of two
uniforms.

The formula is that of Chambers, Mallows and Stuck 1976 for the symmetric law. The angle phi = pi/2 - theta is measured
from the pole, so that every sine keeps its digits (c = (2 - alpha) pi/2, phi uniform in (0, pi/2), W standard
exponential):

    |X| = gamma  sin(c + alpha phi) sin(phi)^(-1/alpha) (sin(c + (alpha - 1) phi)/W)^(-(alpha - 1)/alpha)

with phi = (pi/2) U and W = -log U'.
"""

from __future__ import annotations

import math
from collections.abc import Callable

import numpy as np
from numpy.typing import NDArray

from hush.numerics.ball import Ball, Tail, flint_module

__all__ = ["tail", "two_uniforms"]

Array = NDArray[np.float64]


def tail(alpha: float, gamma: float) -> Tail:
    """Return the function x -> P(|X| > x).

    The tail is 1 - (2/pi) (phi + Im of the integral of exp(i x t - t^alpha) dw along w = u + i phi), t = e^w, 0 < phi
    < pi/(2 alpha). It is the inversion integral (2/pi) int sin(x t)/t e^(-t^alpha) dt = P(|X| <= x) with t = e^w and
    the path moved up by phi; the integrand is entire in w. Below u = -L the integrand differs from 1 by at most |z|
    e^|z|, z = i x t - t^alpha, |t| = e^(-L). This bounds both the vertical side, which gives phi, and the omitted
    part on the left. On the right |exp(...)| <= exp(-c e^(alpha u)), c = cos(alpha phi).
    """
    if alpha == 1.0:
        return lambda x: (gamma / x).atan() * 2 / flint_module().arb.pi()

    def beyond(x: Ball) -> Ball:
        flint = flint_module()
        arb, acb = flint.arb, flint.acb
        y, a = x / gamma, arb(alpha)
        by_series = _series(y, alpha)
        if by_series is not None:
            return by_series
        phi = arb.pi() / (2 * a) * arb(0.8125)
        bits = flint.ctx.prec + 16
        left = -(arb(bits) * 0.7 + (1 + y).log() + 2)
        left = arb(math.floor(float(left.mid())))
        fall = (a * phi).cos()
        right = arb(math.ceil(float(((arb(bits) * 0.7 / fall).log() / a).mid()) + 1))
        inside = acb.integral(
            lambda w, _: (acb(0, y) * w.exp() - (a * w).exp()).exp(), acb(left, phi), acb(right, phi)
        ).imag
        small = y * left.exp() + (a * left).exp()
        slack = small * small.exp() * (phi + 2)  # vertical side, and twice the integral of |z| du to its left
        reach = fall * (a * right).exp()
        slack = (slack + (-reach).exp() / (a * reach)).upper()
        return 1 - (2 / arb.pi()) * (phi + inside + slack * arb(0, 1))

    return beyond


def _series(y: Ball, alpha: float) -> Ball | None:
    """Return the tail by its asymptotic series, or None if the series is not accurate enough at this y.

    The series is (2/pi) sum (-1)^(n+1) Gamma(alpha n)/n! sin(pi alpha n/2) y^(-alpha n). On the ray t = s e^(i phi)
    with alpha phi = pi/2 the exponential e^(-z), Re z = 0, differs from its first N + 1 Taylor terms by at most
    |z|^(N+1)/(N+1)!, so the remainder is at most (2/pi) Gamma(alpha (N+1))/(N+1)! (y sin phi)^(-alpha (N+1)).
    """
    flint = flint_module()
    arb = flint.arb
    a, sine = arb(alpha), (arb.pi() / (2 * arb(alpha))).sin()
    size = float(y.mid()) * float(sine.mid())
    if size < 4.0:
        return None
    # log of the n with the smallest terms, which are about e^(-(alpha - 1) n); the logarithm does not overflow
    log_least = math.log(size / alpha) * alpha / (alpha - 1.0)
    if log_least < 30.0 and (alpha - 1.0) * math.exp(log_least) < 0.7 * (flint.ctx.prec + 16):
        return None
    total, fading = arb(0), arb(2) ** -(flint.ctx.prec + 8)
    for n in range(1, 4000):
        size_n = (a * n).gamma() / arb.fac_ui(n) * y ** (-a * n)
        total = total + (size_n if n % 2 else -size_n) * (arb.pi() * a * n / 2).sin()
        rest = (a * (n + 1)).gamma() / arb.fac_ui(n + 1) * (y * sine) ** (-a * (n + 1))
        if rest < fading:
            return (2 / arb.pi()) * (total + rest.upper() * arb(0, 1))
    return None


def two_uniforms(
    alpha: float,
) -> tuple[Callable[[Array, int], Array], Callable[[Array, int], Array], Callable[[Ball, Ball], Ball]]:
    """Return three functions for |X|/gamma: its two factors in floats, and the whole in balls.

    Chambers, Mallows and Stuck (1976): |X|/gamma is a function of a uniform angle times a power of a waiting time. A
    float factor takes the distance of its uniform from 0 (side 0) or from 1 (side 1, for the waiting time only).
    """
    c, power = 0.5 * math.pi * (2.0 - alpha), (alpha - 1.0) / alpha

    def by_angle(u: Array, side: int) -> Array:
        phi = 0.5 * math.pi * u
        log_x = np.log(np.sin(phi)) * (-1.0 / alpha)
        if power > 0.0:
            log_x -= power * np.log(np.sin(c + (alpha - 1.0) * phi))
        return np.exp(log_x) * np.sin(c + alpha * phi)

    def by_wait(near: Array, side: int) -> Array:
        return (-np.log(near) if side == 0 else -np.log1p(-near)) ** power

    def ball(angle: Ball, wait: Ball) -> Ball:
        arb = flint_module().arb
        pi, a = arb.pi(), arb(alpha)
        phi, c = angle * pi / 2, pi * (2 - a) / 2
        x = (c + a * phi).sin() * phi.sin() ** (-1 / a)
        if alpha > 1.0:
            x = x * ((c + (a - 1) * phi).sin() / -wait.log()) ** ((1 - a) / a)
        return x

    return by_angle, by_wait, ball
