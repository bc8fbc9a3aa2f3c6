"""Tests of entropy and numerics against known answers. Each returns a sentence, or raises `NotCertified`."""

from __future__ import annotations

import math

import numpy as np
from numpy.typing import NDArray

import hush
from hush.errors import NotCertified, shown
from hush.noise.family import Reference
from hush.sampling.entropy import Entropy, KeyedBits

__all__ = ["FALSE_ALARM", "aes_vectors", "float_rounding", "gaussian_sigma", "reference_delta", "sound_bits"]
__all__ += ["sound_draws"]

#: Probability that good entropy is reported as bad: 1e-9 in all, a quarter for the number of ones, a quarter for
#: runs, half for the distribution of draws.
FALSE_ALARM = 1e-9
_LOOSEST = 2e-11  # relative excess of an upper bound over the truth: the largest, that of the stable law
_BITS = 1 << 20  # bits that are tested
_DRAWS = 20_000  # draws of Laplace noise that are tested


def aes_vectors() -> str:
    """AES-256 against its published vectors: FIPS 197, appendix C.3, as blocks; the all-zero vector as a stream."""
    block = KeyedBits(bytes(32) + bytes(range(32))).more(np.array([0x7766554433221100]), 0xFFEEDDCCBBAA9988)
    stream = KeyedBits(bytes(64)).words(2, np.uint64)
    if (
        block.tobytes().hex() != "8ea2b7ca516745bfeafc49904b496089"
        or stream.tobytes().hex() != "dc95c078a2408989ad48a21492842087"
    ):
        raise NotCertified("AES-256 does not give its published answers")
    return "gives its published answers"


def _unlikely(ones: int, trials: int, chance: float) -> bool:
    """Whether a count of fair coins is further from its mean than happens with probability `chance` (Hoeffding's
    inequality: a bound, not an approximation).
    """
    return abs(ones - 0.5 * trials) > math.sqrt(0.5 * trials * math.log(2.0 / chance))


def sound_bits(entropy: Entropy) -> str:
    """Test that two calls differ, that half of the bits are ones, and that neighbouring bits differ half the time."""
    first, second = (entropy.begin().words(_BITS // 64, np.uint64).tobytes() for _ in range(2))
    if first[:32] == second[:32]:
        raise NotCertified("two calls returned the same random bits")
    bits: NDArray[np.uint8] = np.unpackbits(np.frombuffer(first, dtype=np.uint8))
    if _unlikely(int(bits.sum()), _BITS, FALSE_ALARM / 4.0):
        raise NotCertified(f"{bits.mean():.4%} of a million bits are ones")
    if _unlikely(int((bits[1:] != bits[:-1]).sum()), _BITS - 1, FALSE_ALARM / 4.0):
        raise NotCertified("neighbouring bits are not independent")
    return f"{_BITS} bits passed the tests of ones and runs (false alarms {FALSE_ALARM:g})"


def sound_draws(entropy: Entropy | None) -> str:
    """Test draws against their distribution, by the inequality of Dvoretzky, Kiefer and Wolfowitz with Massart's
    constant (1990).
    """
    noise = hush.Laplace(3.0)
    sample = np.sort(hush.draw(noise, _DRAWS, 1.0, entropy))
    values, counts = np.unique(sample, return_counts=True)
    gap = np.abs(np.cumsum(counts) / _DRAWS - np.asarray(noise.cdf(values + 0.5))).max()
    if gap > math.sqrt(math.log(4.0 / FALSE_ALARM) / (2.0 * _DRAWS)):
        raise NotCertified(f"{_DRAWS} draws of {noise} are {gap:.3g} away from their distribution")
    return f"{_DRAWS} draws within {gap:.2g} of their distribution"


def float_rounding() -> str:
    """Test that floats round to nearest, ties to even, and that tiny numbers are kept, in Python and in numpy."""
    half_unit, least = math.ldexp(1.0, -53), math.ldexp(1.0, -1022)  # calls: the compiler must not fold the sums below
    tiny, half = np.full(4, least), np.full(4, half_unit)
    with np.errstate(under="ignore"):
        sound = (
            1.0 + half_unit == 1.0
            and 1.0 + 1.5 * half_unit > 1.0
            and -1.0 - half_unit == -1.0
            and least * 0.5 > 0.0
            and bool((tiny * 0.5 > 0.0).all())
            and bool((1.0 + half == 1.0).all())
            and bool((1.0 + 1.5 * half > 1.0).all())
        )
    if not sound:
        raise NotCertified("floats are not rounded to nearest, or tiny ones are flushed to 0")
    return "rounds to nearest, keeps tiny numbers"


def reference_delta(known: Reference) -> str:
    """Test the delta of one noise against its reference value."""
    noise, epsilon, truth = known
    found = float(hush.delta(noise, epsilon))
    if not truth <= found <= truth * (1.0 + _LOOSEST):
        raise NotCertified(f"delta of {noise} at epsilon {epsilon:g} is {shown(found)}, not just above {shown(truth)}")
    return f"delta of {noise} correct to {max(found / truth - 1.0, 1e-16):.0e}"


def gaussian_sigma() -> str:
    """Test the optimal Gaussian noise for (1, 1e-5) against its known value."""
    sigma = float(hush.gaussian.sigma(1.0, 1e-5))
    if not 3.730631634815 <= sigma <= 3.730631634817:
        raise NotCertified(f"gaussian.sigma(1, 1e-5) is {shown(sigma)}, not 3.7306316348")
    return f"sigma for (1, 1e-5) is {sigma:.10f}"
