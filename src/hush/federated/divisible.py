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

from fractions import Fraction

from hush.noise.contract import Law

__all__ = ["power"]


def power(noise: Law, ratio: Fraction, *, upwards: bool = True) -> Law:
    """The law with characteristic function phi^ratio, its scale rounded up; the noise itself at ratio 1.

    Rounded up, the sum of shares has at least the noise that was asked for, and more noise is post-processing.
    upwards=False rounds down instead: what may be claimed of a sum whose shares were rounded up.
    """
    return noise if ratio == 1 else noise.plain().power(ratio, upwards=upwards)
