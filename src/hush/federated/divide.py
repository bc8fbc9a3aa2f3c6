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

from hush.errors import Unsupported
from hush.noise.contract import Law
from hush.noise.discrete import Discrete
from hush.noise.gamma_difference import GammaDifference
from hush.noise.gaussian import Gaussian
from hush.noise.laplace import Laplace
from hush.noise.polya_difference import PolyaDifference
from hush.noise.skellam import Skellam
from hush.noise.stable import Stable
from hush.numerics.rounding import FEW_ROUNDINGS, POWER, down, round_down, round_up, up

__all__ = ["power"]


def power(noise: Law, ratio: Fraction, *, upwards: bool = True) -> Law:
    """The law with characteristic function phi^ratio, its scale rounded up; the noise itself at ratio 1.

    Rounded up, the sum of shares has at least the noise that was asked for, and more noise is post-processing. upwards=False
    rounds down instead: what may be claimed of a sum whose shares were rounded up.
    """
    if ratio == 1:
        return noise
    moved, shaped = (up, round_up) if upwards else (down, round_down)
    match noise.plain():
        case Gaussian(sigma):
            return Gaussian(moved(sigma * float(ratio) ** 0.5, FEW_ROUNDINGS))
        case Stable(alpha, gamma):
            # the rounding of 1/alpha counts log(ratio) times
            return Stable(alpha, moved(gamma * float(ratio) ** (1.0 / alpha), POWER))
        case Laplace(scale):
            return GammaDifference(shaped(ratio), scale)
        case GammaDifference(shape, scale):
            return GammaDifference(shaped(Fraction(shape) * ratio), scale).plain()
        case Discrete(Laplace(scale), step):
            return PolyaDifference(shaped(ratio), scale, step)
        case PolyaDifference(shape, scale, step):
            return PolyaDifference(shaped(Fraction(shape) * ratio), scale, step)
        case Skellam(sigma, step):
            return Skellam(moved(sigma * float(ratio) ** 0.5, FEW_ROUNDINGS), step)
    raise Unsupported(
        f"{type(noise).__name__} noise is not known to be a sum of smaller independent noises; "
        "share Stable, Gaussian, Laplace, Discrete(Laplace(...)) or Skellam noise."
    )
