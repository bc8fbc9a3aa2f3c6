"""Draws on fine lattices: piecewise polynomials approximate the quantile function; each draw takes one 64-bit word.

A word consists of a sign (its lowest bit) and the first 63 bits of V. The quantile x(V) of |X|, in steps, is a
polynomial of degree 5 on each panel. There are 128 panels in each octave of V; the leading bits of V as a float give
the number of the panel. The draw is the nearest whole number, with three exceptions: x is within the error bound of a
half, the panel contains a kink of the density, or V is below the last octave. These draws are passed to `Tails.decide`
and `Tails.refine`.

The error bound: x(V) is analytic inside every panel without a kink, so a dense check shows the size of its error
there. The panels are compared with the float64 tail everywhere and with ball arithmetic at a sample of points, and
the bound is a thousand times the larger error. The width of a word and its rounding to a float move x by at most
|dx/dV| V (2^-53 + 2^-43).
"""

from __future__ import annotations

import math
from functools import cache

import numpy as np
from numpy.typing import NDArray

from hush.errors import NotCertified
from hush.numerics.ball import flint_module, precision
from hush.numerics.rounding import NEAR_ENOUGH, down, up
from hush.sampling.entropy import Bits
from hush.sampling.tail_ball import tail
from hush.sampling.threshold import Pending, Tails

__all__ = ["Panels", "fit_nodes"]

Array = NDArray[np.float64]

_OCTAVES = 20  # octaves of V with panels
_PER_OCTAVE_BITS = 7  # an octave has 2^7 panels
_DEGREE = 5  # degree of the polynomials
_BITS_BELOW = 52 - _PER_OCTAVE_BITS  # mantissa bits that give the place of V inside its panel
_COUNT = _OCTAVES << _PER_OCTAVE_BITS  # number of panels
_FIRST = (1023 + 63 - _OCTAVES) << _PER_OCTAVE_BITS  # number of the first panel, for V as a whole number of 63 bits
_FROM_END = 2.0**-20  # distance of the last checked point from the end of a panel, as a fraction of its width
_ROUGH = 1e-14  # relative error; a panel with a larger one is not used


@cache
def fit_nodes(degree: int) -> tuple[Array, Array, Array]:
    """Return the Chebyshev points in (0, 1), the matrix from values to coefficients, and the points to check."""
    nodes = 0.5 - 0.5 * np.cos(np.pi * (np.arange(degree + 1) + 0.5) / (degree + 1))
    fit = np.linalg.inv(np.vander(2.0 * nodes - 1.0, increasing=True))  # well conditioned about the middle
    shift = np.zeros((degree + 1, degree + 1))  # powers of 2t - 1 to powers of t
    for k in range(degree + 1):
        for j in range(k + 1):
            shift[j, k] = math.comb(k, j) * 2.0**j * (-1.0) ** (k - j)
    between = np.concatenate([[0.0], 0.5 * (nodes[1:] + nodes[:-1]), [1.0 - _FROM_END]])
    return nodes, shift @ fit, between


class Panels:
    """The panels of one (noise, step)."""

    def __init__(self, law: Tails) -> None:
        self._law, noise = law, law.noise
        low = ((np.arange(_COUNT) + _FIRST) << _BITS_BELOW).view(np.float64) * 2.0**-63
        width = np.ldexp(0.5**_PER_OCTAVE_BITS, np.frexp(low)[1] - 1)
        nodes, fit, between = fit_nodes(_DEGREE)
        x = noise.inverse_tail(0.5 * (low[:, None] + width[:, None] * nodes))
        middle = x[:, [_DEGREE // 2]]
        # fit the differences from the middle: they are small, so their round-off is small too
        coefficients = (x - middle) @ fit.T
        coefficients[:, :1] += middle
        usable = self._without_kinks(low, width)
        unit = float(noise.inverse_tail(np.array(0.25)))  # the median of |X|, the unit of the errors
        error, spread = self._errors(coefficients, low, width, between, unit)
        usable &= error <= _ROUGH
        seen = max(float(error[usable].max(initial=2.0**-53)), self._ball_error(coefficients, low, width, usable, unit))
        own_width = float(spread[usable].max(initial=0.0)) * 2.0**-42
        #: |x - truth| <= tolerance (unit + x), in any unit of length
        self.tolerance = law.margin * seen + own_width
        self._limit = 0.5 - self.tolerance * unit / law.step
        # NaN in the first row for V below the last octave, and in the last row for V that is rounded up to 1
        padded = np.full((_COUNT + 2, _DEGREE + 1), np.nan)
        padded[1:-1][usable] = coefficients[usable] * 2.0 ** (-_BITS_BELOW * np.arange(_DEGREE + 1)) / law.step
        self._coefficients = [np.ascontiguousarray(column) for column in padded.T]

    # -- building and checking -------------------------------------------------------------------------------

    def _without_kinks(self, low: Array, width: Array) -> NDArray[np.bool_]:
        noise = self._law.noise
        smooth = np.ones(low.size, dtype=bool)
        kinks = noise.breaks(float(noise.inverse_tail(0.5 * low[:1])[0]), 4 * _COUNT)
        if kinks is None:
            return np.zeros(low.size, dtype=bool)
        with np.errstate(under="ignore"):
            at = 2.0 * np.exp(noise.log_tail(kinks))
        for moved in (down(at, NEAR_ENOUGH), up(at, NEAR_ENOUGH)):  # a kink at an edge excludes both panels
            inside = (moved >= low[0]) & (moved < low[-1] + width[-1])
            smooth[np.searchsorted(low, moved[inside], side="right") - 1] = False
        return smooth

    def _errors(self, coefficients: Array, low: Array, width: Array, at: Array, unit: float) -> tuple[Array, Array]:
        """Return for each panel the largest |x - truth|/(unit + x) and the largest |dx/dV| V/(unit + x).

        The truth is taken from the float64 tail.
        """
        noise = self._law.noise
        v = low[:, None] + width[:, None] * at
        x = np.maximum(np.polynomial.polynomial.polyval(at, coefficients.T), 0.0)
        with np.errstate(under="ignore", divide="ignore", invalid="ignore"):
            beyond, density = 2.0 * np.exp(noise.log_tail(x)), 2.0 * np.exp(noise.log_density(x))
            error, spread = np.abs(beyond - v) / density / (unit + x), v / density / (unit + x)
        return np.nan_to_num(error, nan=np.inf).max(axis=1), np.nan_to_num(spread, nan=np.inf).max(axis=1)

    def _ball_error(
        self, coefficients: Array, low: Array, width: Array, usable: NDArray[np.bool_], unit: float
    ) -> float:
        """Return the largest |x - truth|/(unit + x) that ball arithmetic finds on a sample of panels."""
        arb = flint_module().arb
        noise = self._law.noise
        chosen = np.flatnonzero(usable)
        chosen = chosen[:: max(1, chosen.size // (8 if noise.slow_tail else 48))]
        beyond, seen, inside = tail(noise), 0.0, 0.3671875  # a dyadic place between two nodes
        with precision(192):
            for panel in chosen:
                x = float(np.polynomial.polynomial.polyval(inside, coefficients[panel]))
                v = float(low[panel]) + float(width[panel]) * inside
                density = 2.0 * float(noise.pdf(x))
                seen = max(seen, abs(float(beyond(arb(x)) - arb(v))) / density / (unit + x))
        if seen > 1e-12:
            raise NotCertified(
                f"the quantile of {noise} has an error of {seen:.2g}, more than round-off; nothing was drawn."
            )
        return seen

    # -- drawing ---------------------------------------------------------------------------------------------

    def fill(self, out: NDArray[np.int64], entropy: Bits, scratch: Array) -> Pending:
        """Write the next draws into `out`, and return the undecided ones for `settle`."""
        words = entropy.words(out.size, np.uint64)[0]
        x = self.quantile(words >> np.uint64(1), scratch)
        whole, gap = scratch[1:3, : out.size]
        np.rint(x, out=whole)
        np.subtract(x, whole, out=gap)
        np.abs(gap, out=gap)
        x *= self.tolerance
        gap += x
        rest = np.flatnonzero(~(gap < self._limit))  # NaN, on a panel without a polynomial, is undecided too
        whole[rest] = 0.0
        np.left_shift(words, np.uint64(63), out=gap.view(np.uint64))  # the lowest bit is the sign of the draw
        np.copysign(whole, gap, out=whole)
        np.copyto(out, whole, casting="unsafe")
        return rest, words[rest][:, None]

    def quantile(self, known: NDArray[np.uint64], scratch: Array) -> Array:
        """Return x in steps for the first 63 bits of V, and NaN where there is no polynomial.

        The result is stored in the first row of `scratch`.
        """
        x, inside, v, spare = scratch[:4, : known.size]
        panel, bits = spare.view(np.int64), v.view(np.int64)
        np.copyto(v, known.view(np.int64))
        np.right_shift(bits, _BITS_BELOW, out=panel)
        panel -= _FIRST - 1
        bits &= (1 << _BITS_BELOW) - 1
        np.copyto(inside, bits)
        column = v  # its bits are no longer needed
        # mode="clip" takes the first row for V below the last octave
        np.take(self._coefficients[_DEGREE], panel, out=x, mode="clip")
        for power in range(_DEGREE - 1, -1, -1):
            x *= inside
            np.take(self._coefficients[power], panel, out=column, mode="clip")
            x += column
        return x

    def settle(self, draws: NDArray[np.int64], words: NDArray[np.uint64], entropy: Bits) -> NDArray[np.int64]:
        """Return the draws that `fill` left undecided, from their numbers and words."""
        known = words[:, 0] >> np.uint64(1)
        magnitude, certain = self._law.decide(known)
        for i in np.flatnonzero(~certain):
            magnitude[i] = self._law.refine(int(draws[i]), int(known[i]), 63, 0, int(magnitude[i]), entropy)
        return np.where(words[:, 0] & np.uint64(1), -magnitude, magnitude)
