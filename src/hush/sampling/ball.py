"""Tails of every family in ball arithmetic: P(|X| > x) as an interval that provably holds it, as narrow as asked.

`tail(noise)` gives a function of x >= 0 (an `arb`, python-flint's ball) that works at the ambient precision `flint.ctx.prec`. Parameters
are taken as the exact binary numbers they are. Only what the family's definition says is used here, none of the float64 code, so that
agreement with the family's `logsf` is evidence for both.
"""

from __future__ import annotations

import math
import os
import threading
from collections.abc import Callable, Iterator
from contextlib import contextmanager
from functools import lru_cache
from typing import Any

from hush.errors import Unsupported
from hush.noise.asinh import Asinh
from hush.noise.contract import Law
from hush.noise.exponential_power import ExponentialPower
from hush.noise.flipped_huber import FlippedHuber
from hush.noise.gamma_difference import GammaDifference
from hush.noise.gaussian import Gaussian
from hush.noise.laplace import Laplace
from hush.noise.osgt import OSGT
from hush.noise.stable import Stable
from hush.noise.staircase import Staircase
from hush.noise.stepped import Stepped
from hush.noise.truncated_laplace import TruncatedLaplace

__all__ = ["Ball", "Tail", "flint_module", "precision", "slow_to_evaluate", "tail"]

Ball = Any  # flint has no types
Tail = Callable[[Ball], Ball]


class _Lock:
    """One lock for the process; a forked child, whose other threads are gone, starts with a free one."""

    held = threading.RLock()

    @classmethod
    def renew(cls) -> None:
        cls.held = threading.RLock()


if hasattr(os, "register_at_fork"):
    os.register_at_fork(after_in_child=_Lock.renew)


def flint_module() -> Any:
    import flint  # here, so that `import hush` stays light

    return flint


@contextmanager
def precision(bits: int) -> Iterator[None]:
    """Work at this many bits. The precision is one for the whole process, so one thread at a time."""
    with _Lock.held, flint_module().ctx.workprec(bits):
        yield


def _normal(x: Ball) -> Ball:
    """sqrt(2/pi) times the integral of e^(-t^2/2) over (x, inf)."""
    return (x / flint_module().arb(2).sqrt()).erfc()


def _gaussian(noise: Gaussian) -> Tail:
    return lambda x: _normal(x / noise.sigma)


def _laplace(noise: Laplace) -> Tail:
    return lambda x: (-x / noise.scale).exp()


def _osgt(noise: OSGT) -> Tail:
    """Q((x + m)/sigma)/Q(m/sigma); far out each Q is a density times U(1/2, 1/2, z^2), and the densities are divided by hand."""

    def beyond(x: Ball) -> Ball:
        arb = flint_module().arb
        near, far = arb(noise.m) / noise.sigma, (x + noise.m) / noise.sigma
        if near < 20:
            return _normal(far) / _normal(near)
        half = arb(0.5)
        fall = (-(x * (x + 2 * arb(noise.m))) / (2 * arb(noise.sigma) ** 2)).exp()
        return fall * (far**2 / 2).hypgeom_u(half, half) / (near**2 / 2).hypgeom_u(half, half)

    return beyond


def _flipped_huber(noise: FlippedHuber) -> Tail:
    def beyond(x: Ball) -> Ball:
        arb = flint_module().arb
        y, b = x / noise.gamma, arb(noise.alpha) / noise.gamma

        def outer(z: Ball) -> Ball:
            return (-b * b / 2).exp() * (arb.pi() / 2).sqrt() * _normal(z)

        def inner(z: Ball) -> Ball:
            return (-b * z).exp() * -(b * z - b * b).expm1() / b  # e^(-bz) (1 - e^(bz - b^2))

        beyond_x = inner(y) + outer(b) if x <= noise.alpha else outer(y)
        return beyond_x / (inner(arb(0)) + outer(b))

    return beyond


def _truncated_laplace(noise: TruncatedLaplace) -> Tail:
    def beyond(x: Ball) -> Ball:
        arb = flint_module().arb
        if x >= noise.bound:
            return arb(0)
        edge = (-arb(noise.bound) / noise.scale).exp()
        return ((-x / noise.scale).exp() - edge) / (1 - edge)

    return beyond


def _exponential_power(noise: ExponentialPower) -> Tail:
    """Gamma(1/p, (x/scale)^p)/Gamma(1/p)."""

    def beyond(x: Ball) -> Ball:
        arb = flint_module().arb
        return ((x / noise.scale) ** arb(noise.p)).gamma_upper(1 / arb(noise.p), 1)

    return beyond


def _asinh(noise: Asinh) -> Tail:
    """The integral of exp(-kappa (u sinh u - cosh u + 1)) cosh u over (asinh(x/scale), inf), over that from 0.

    The integrand is entire. Beyond the end W, with u sinh u - cosh u + 1 = e(u) convex and e'(u) = u cosh u, what is left out is the
    integral of exp(-kappa e) de/u <= exp(-kappa e(W))/(kappa W).
    """

    def beyond(x: Ball) -> Ball:
        flint = flint_module()
        kappa, start = flint.arb(noise.kappa), (x / noise.scale).asinh()

        def energy(u: Ball) -> Ball:
            return u * u.sinh() - u.cosh() + 1

        def integral(low: Ball) -> Ball:
            end = low + 1
            needed = (flint.ctx.prec + 16) * 0.7 / noise.kappa
            while not energy(end) > energy(low) + needed:
                end = end * 2
            inside = flint.acb.integral(lambda u, _: (-kappa * energy(u)).exp() * u.cosh(), low, end).real
            return inside + (-kappa * energy(end)).exp() / (kappa * end) * flint.arb(0.5, 0.5)

        key = (noise.kappa, flint.ctx.prec)
        if key not in _ASINH_CENTRE:
            _ASINH_CENTRE[key] = integral(flint.arb(0))
        return integral(start) / _ASINH_CENTRE[key]

    return beyond


_ASINH_CENTRE: dict[tuple[float, int], Ball] = {}


def _stable(noise: Stable) -> Tail:
    """1 - (2/pi) (phi + Im of the integral of exp(i x t - t^alpha) dw along w = u + i phi), t = e^w, 0 < phi < pi/(2 alpha).

    It is the inversion integral (2/pi) int sin(x t)/t e^(-t^alpha) dt = P(|X| <= x) with t = e^w, the path lifted by phi: the integrand
    is entire in w. Below u = -L it differs from 1 by at most |z| e^|z|, z = i x t - t^alpha, |t| = e^(-L): that bounds both the vertical
    side, which gives phi, and what is left out on the left. On the right |exp(...)| <= exp(-c e^(alpha u)), c = cos(alpha phi).
    """
    if noise.alpha == 1.0:
        return lambda x: (noise.gamma / x).atan() * 2 / flint_module().arb.pi()

    def beyond(x: Ball) -> Ball:
        flint = flint_module()
        arb, acb = flint.arb, flint.acb
        y, alpha = x / noise.gamma, arb(noise.alpha)
        by_series = _stable_series(y, noise.alpha)
        if by_series is not None:
            return by_series
        phi = arb.pi() / (2 * alpha) * arb(0.8125)
        bits = flint.ctx.prec + 16
        left = -(arb(bits) * 0.7 + (1 + y).log() + 2)
        left = arb(math.floor(float(left.mid())))
        fall = (alpha * phi).cos()
        right = arb(math.ceil(float(((arb(bits) * 0.7 / fall).log() / alpha).mid()) + 1))
        inside = acb.integral(lambda w, _: (acb(0, y) * w.exp() - (alpha * w).exp()).exp(), acb(left, phi), acb(right, phi)).imag
        small = y * left.exp() + (alpha * left).exp()
        slack = small * small.exp() * (phi + 2)  # vertical side, and twice the integral of |z| du to its left
        reach = fall * (alpha * right).exp()
        slack = (slack + (-reach).exp() / (alpha * reach)).upper()
        return 1 - (2 / arb.pi()) * (phi + inside + slack * arb(0, 1))

    return beyond


def _stable_series(y: Ball, alpha: float) -> Ball | None:
    """The asymptotic series (2/pi) sum (-1)^(n+1) Gamma(alpha n)/n! sin(pi alpha n/2) y^(-alpha n), if it is sharp enough at this y.

    On the ray t = s e^(i phi) with alpha phi = pi/2 the exponential e^(-z), Re z = 0, differs from its first N + 1 Taylor terms by at most
    |z|^(N+1)/(N+1)!, so the remainder is at most (2/pi) Gamma(alpha (N+1))/(N+1)! (y sin phi)^(-alpha (N+1)).
    """
    flint = flint_module()
    arb = flint.arb
    a, sine = arb(alpha), (arb.pi() / (2 * arb(alpha))).sin()
    size = float(y.mid()) * float(sine.mid())
    if size < 4.0:
        return None
    log_least = math.log(size / alpha) * alpha / (alpha - 1.0)  # of the n where the terms are least, by e^(-(alpha - 1) n)
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


def _staircase(noise: Staircase) -> Tail:
    """b^k for the whole periods passed, b = e^(-epsilon), times what is left after the part of a period."""

    def beyond(x: Ball) -> Ball:
        arb = flint_module().arb
        b, gamma = (-arb(noise.epsilon)).exp(), arb(noise.fraction)
        u = x / noise.sensitivity
        period = u.floor().unique_fmpz()
        if period is None:
            return arb.nan()  # the precision is too low to know the period: the caller asks again with more
        part = u - period
        passed = part.min(gamma + b * (part - gamma))  # mass passed within the period: one line up to gamma, a flatter one beyond
        level = gamma + b * (1 - gamma)
        return b**period * (1 - (1 - b) * passed / level)

    return beyond


def _stepped(noise: Stepped) -> Tail:
    def beyond(x: Ball) -> Ball:
        arb = flint_module().arb
        cell = (x / noise.width).floor().unique_fmpz()
        if cell is None:
            return arb.nan()
        n, cells, past = len(noise.heights), int(cell), 0
        if cells >= n:
            if noise.ratio == 0.0:
                return arb(0)
            past = (cells - n) // noise.period + 1
            cells -= past * noise.period
        sums = _stepped_sums(noise, flint_module().ctx.prec)
        part = x / noise.width - int(cell)
        rest = sums[cells] - part * noise.heights[cells]
        return rest * arb(noise.ratio) ** past / sums[0]

    return beyond


@lru_cache(maxsize=16)
def _stepped_sums(noise: Stepped, bits: int) -> list[Ball]:
    """Heights from cell i on, the recurring ones included, for every i."""
    arb = flint_module().arb
    with precision(bits):
        recurring = sum((arb(h) for h in noise.heights[-noise.period :]), arb(0))
        total = recurring * noise.ratio / (1 - arb(noise.ratio))
        sums = [total]
        for height in reversed(noise.heights):
            total = total + height
            sums.append(total)
        return sums[::-1]


def _gamma_difference(noise: GammaDifference) -> Tail:
    """1 - y (K_v L_(v-1) + K_(v-1) L_v)(y), v = r - 1/2: Bessel and modified Struve functions (DLMF 10.43.2, 11.2.2).

    Far out the tail is below the precision: at most e^(-y) for r <= 1 (a mixture of exponentials of rates 1 and more), and by Chernoff's
    bound at t = 1/2 at most 2 (4/3)^r e^(-y/2).
    """

    def struve(order: Ball, y: Ball) -> Ball:
        arb = flint_module().arb
        half = arb(3) / 2
        series = (y * y / 4).hypgeom([arb(1)], [half, order + half])
        return (y / 2) ** (order + 1) / (half.gamma() * (order + half).gamma()) * series

    def beyond(x: Ball) -> Ball:
        flint = flint_module()
        arb, y, order = flint.arb, x / noise.scale, flint.arb(noise.shape) - flint.arb(0.5)
        if y > 2 * flint.ctx.prec + noise.shape:
            return (2 * (arb(4) / 3) ** arb(noise.shape) * (-y / 2).exp()).upper() * arb(0.5, 0.5)
        bits, found = flint.ctx.prec, arb.nan()
        for extra in (1, 2, 4, 8):  # whole orders are limits, and cost more digits
            with flint.ctx.workprec((bits + 64 + 4 * math.ceil(float(y.mid()))) * extra):
                y = x / noise.scale  # again, with all its digits: the Bessel functions lose many of a rounded argument's
                found = 1 - y * (y.bessel_k(order) * struve(order - 1, y) + y.bessel_k(order - 1) * struve(order, y))
                if found.is_finite() and found.rad() < arb(2) ** -(bits - 32):
                    break
        return found

    return beyond


_TAILS: dict[type[Law], Callable[[Any], Tail]] = {
    Gaussian: _gaussian,
    Laplace: _laplace,
    OSGT: _osgt,
    FlippedHuber: _flipped_huber,
    TruncatedLaplace: _truncated_laplace,
    ExponentialPower: _exponential_power,
    Asinh: _asinh,
    GammaDifference: _gamma_difference,
    Stable: _stable,
    Staircase: _staircase,
    Stepped: _stepped,
}


def tail(noise: Law) -> Tail:
    """x -> P(|X| > x) for a continuous family, at the ambient precision."""
    if type(noise) not in _TAILS:
        raise Unsupported(f"{type(noise).__name__} has no exact draw; use a family of the catalogue.")
    return _TAILS[type(noise)](noise)


def slow_to_evaluate(noise: Law) -> bool:
    """Does its tail take an integral (milliseconds, not microseconds)?"""
    return isinstance(noise, Asinh) or (isinstance(noise, Stable) and noise.alpha > 1.0)
