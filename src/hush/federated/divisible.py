"""Infinitely divisible noise: laws whose characteristic function is a power of another noise's.

    family                    characteristic function             power r of it
    Gaussian(sigma)           exp(-sigma^2 t^2/2)                 Gaussian(sigma sqrt r)
    Stable(alpha, gamma)      exp(-|gamma t|^alpha)               Stable(alpha, gamma r^(1/alpha))
    Laplace(b)                1/(1 + b^2 t^2)                     GammaDifference(r, b)
    Discrete(Laplace(b), h)   (1-q)^2/|1 - q e^(iht)|^2           PolyaDifference(r, b, h),      q = e^(-h/b)
    Skellam(sigma, h)         exp(-v (1 - cos ht))                Skellam(sigma sqrt r, h),      v = (sigma/h)^2
    Correlated(Gaussian(sigma), d, c)   exp(-sigma^2 t'St/2)      Correlated(Gaussian(sigma sqrt r), d, c)

A share among h parties is the power 1/h, and the sum of m shares is the power m/h. Powers of powers multiply.
S is the matrix with ones on its diagonal and the correlation c elsewhere.
"""

from __future__ import annotations

from fractions import Fraction
from typing import overload

from hush.noise.contract import Law, Noise

__all__ = ["power"]


@overload
def power(noise: Law, ratio: Fraction, *, upwards: bool = True) -> Law: ...


@overload
def power(noise: Noise, ratio: Fraction, *, upwards: bool = True) -> Noise: ...


def power(noise: Noise, ratio: Fraction, *, upwards: bool = True) -> Noise:
    """The law with characteristic function phi^ratio; the given noise if the ratio is 1.

    Its scale is rounded up, so that a sum of shares has at least the requested noise; the excess is post-processing.
    upwards=False rounds down instead: this is the law that can be claimed for a sum of shares that were rounded up.
    """
    found: Noise = noise if ratio == 1 else noise.plain().power(ratio, upwards=upwards)
    return found
