"""Infinitely divisible noise: the law whose characteristic function is a power of the noise's.

    family                    characteristic function             power r of it
    Gaussian(sigma)           exp(-sigma^2 t^2/2)                 Gaussian(sigma sqrt r)
    Stable(alpha, gamma)      exp(-|gamma t|^alpha)               Stable(alpha, gamma r^(1/alpha))

A share among h parties is the power 1/h, the sum of m shares the power m/h. Powers of powers multiply.
"""

from __future__ import annotations

from fractions import Fraction

from hush.errors import Unsupported
from hush.noise.contract import Noise
from hush.noise.gaussian import Gaussian
from hush.noise.stable import Stable

__all__ = ["power"]

#: Scales are rounded up by this: the sum of shares then has at least the noise that was asked for, and more noise is post-processing.
_UP = 1.0 + 4.0 * 2.0**-52


def power(noise: Noise, ratio: Fraction) -> Noise:
    """The law with characteristic function phi^ratio, its scale rounded up; the noise itself at ratio 1."""
    if ratio == 1:
        return noise
    match noise.plain():
        case Gaussian(sigma):
            return Gaussian(sigma * float(ratio) ** 0.5 * _UP)
        case Stable(alpha, gamma):
            return Stable(alpha, gamma * float(ratio) ** (1.0 / alpha) * _UP)
    raise Unsupported(
        f"{type(noise).__name__} noise is not known to be a sum of smaller independent noises; "
        "share Stable, Gaussian, Laplace, Discrete(Laplace(...)) or Skellam noise."
    )
