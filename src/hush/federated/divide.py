"""Infinitely divisible noise: the law whose characteristic function is a power of the noise's.

    family                    characteristic function             power r of it
    Gaussian(sigma)           exp(-sigma^2 t^2/2)                 Gaussian(sigma sqrt r)
    Stable(alpha, gamma)      exp(-|gamma t|^alpha)               Stable(alpha, gamma r^(1/alpha))
    Laplace(b)                1/(1 + b^2 t^2)                     GammaDifference(r, b)
    Discrete(Laplace(b), h)   (1-q)^2/|1 - q e^(iht)|^2           PolyaDifference(r, b, h),      q = e^(-h/b)
    Skellam(sigma, h)         exp(-v (1 - cos ht))                Skellam(sigma sqrt r, h),      v = (sigma/h)^2

A share among h parties is the power 1/h, the sum of m shares the power m/h. Powers of powers multiply.
"""

from __future__ import annotations

import math
from fractions import Fraction

from hush.errors import Unsupported
from hush.noise.contract import Law
from hush.noise.discrete import Discrete
from hush.noise.gamma_difference import GammaDifference
from hush.noise.gaussian import Gaussian
from hush.noise.laplace import Laplace
from hush.noise.polya_difference import PolyaDifference
from hush.noise.skellam import Skellam
from hush.noise.stable import Stable

__all__ = ["power"]

#: Scales are rounded up by this: the sum of shares then has at least the noise that was asked for, and more noise is post-processing.
_UP = 1.0 + 4.0 * 2.0**-52


def _rounded(shape: Fraction, up: bool) -> float:
    """The nearest float that is not below, or not above."""
    near = float(shape)
    if up:
        return near if Fraction(near) >= shape else math.nextafter(near, math.inf)
    return near if Fraction(near) <= shape else math.nextafter(near, 0.0)


def power(noise: Law, ratio: Fraction, *, up: bool = True) -> Law:
    """The law with characteristic function phi^ratio, its scale rounded up; the noise itself at ratio 1.

    up=False rounds down instead: what may be claimed of a sum whose shares were rounded up.
    """
    if ratio == 1:
        return noise
    hair = _UP if up else 1.0 / _UP
    match noise.plain():
        case Gaussian(sigma):
            return Gaussian(sigma * float(ratio) ** 0.5 * hair)
        case Stable(alpha, gamma):
            return Stable(alpha, gamma * float(ratio) ** (1.0 / alpha) * hair)
        case Laplace(scale):
            return GammaDifference(_rounded(ratio, up), scale)
        case GammaDifference(shape, scale):
            return GammaDifference(_rounded(Fraction(shape) * ratio, up), scale).plain()
        case Discrete(Laplace(scale), step):
            return PolyaDifference(_rounded(ratio, up), scale, step)
        case PolyaDifference(shape, scale, step):
            return PolyaDifference(_rounded(Fraction(shape) * ratio, up), scale, step)
        case Skellam(sigma, step):
            return Skellam(sigma * float(ratio) ** 0.5 * hair, step)
    raise Unsupported(
        f"{type(noise).__name__} noise is not known to be a sum of smaller independent noises; "
        "share Stable, Gaussian, Laplace, Discrete(Laplace(...)) or Skellam noise."
    )
