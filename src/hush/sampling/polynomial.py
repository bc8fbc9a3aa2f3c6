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
from typing import NamedTuple

import numpy as np
from numpy.typing import NDArray

from hush.errors import NotCertified
from hush.numerics.ball import flint_module, precision
from hush.numerics.rounding import NEAR_ENOUGH, down, up
from hush.sampling.entropy import Bits
from hush.sampling.fine import PARTS, FineTable, fine_table, parts_of
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
_PART_BITS = PARTS.bit_length() - 1
_FEW = 32  # draws; so few are decided in ball arithmetic at once
_MOST_CUT = 16  # panels with a kink whose parts are fitted
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


class _Fit(NamedTuple):
    """Polynomials on panels of V: their errors, the effect of V's own width, and which panels have no kink."""

    low: Array
    width: Array
    coefficients: Array
    error: Array
    spread: Array
    smooth: NDArray[np.bool_]

    @property
    def usable(self) -> NDArray[np.bool_]:
        return self.smooth & (self.error <= _ROUGH)


class Panels:
    """The panels of one (noise, step)."""

    def __init__(self, law: Tails) -> None:
        self._law, noise = law, law.noise
        unit = float(noise.inverse_tail(np.array(0.25)))  # the median of |X|, the unit of the errors
        low = ((np.arange(_COUNT) + _FIRST) << _BITS_BELOW).view(np.float64) * 2.0**-63
        width = np.ldexp(0.5**_PER_OCTAVE_BITS, np.frexp(low)[1] - 1)
        wide = self._fitted(low, width, unit)
        # the parts of panels with a kink: all but one of them are smooth
        cut = np.flatnonzero(~wide.smooth)[-_MOST_CUT:]
        inner = (low[cut, None] + width[cut, None] * np.arange(PARTS) / PARTS).ravel()
        parts = self._fitted(inner, width[cut].repeat(PARTS) / PARTS, unit)
        edges = self._beside_kinks(parts)
        self._beside = self._fitted(edges[0], edges[1] - edges[0], unit)
        both = [one for one in (wide, parts, self._beside) if one.usable.any()]
        seen = max([2.0**-53, *(float(one.error[one.usable].max()) for one in both)])
        seen = max([seen, *(self._ball_error(one, unit) for one in both)])
        own_width = max((float(one.spread[one.usable].max()) for one in both), default=0.0) * 2.0**-42
        #: |x - truth| <= tolerance (unit + x), in any unit of length
        self.tolerance = law.margin * seen + own_width
        self._limit = 0.5 - self.tolerance * unit / law.step
        # NaN in the first row for V below the last octave, and in the last row for V that is rounded up to 1
        padded = np.full((_COUNT + 2, _DEGREE + 1), np.nan)
        padded[1:-1][wide.usable] = wide.coefficients[wide.usable] / law.step
        padded[1:-1] *= 2.0 ** (-_BITS_BELOW * np.arange(_DEGREE + 1))
        self._coefficients = [np.ascontiguousarray(column) for column in padded.T]
        self._far = float(np.rint(np.nan_to_num(padded[:, 0]).max()))
        self.fine = self._fine_table(wide, parts, cut, unit)

    def _fine_table(self, wide: _Fit, parts: _Fit, cut: NDArray[np.int64], unit: float) -> FineTable | None:
        """Return the table of narrow panels; None if they do not decide most draws."""
        polynomials = parts_of(np.where(wide.usable[:, None], wide.coefficients, np.nan))
        shape = (-1, PARTS, _DEGREE + 1)
        listed = np.where(parts.usable[:, None], parts.coefficients, np.nan)
        polynomials.reshape(shape)[cut] = listed.reshape(cut.size, *shape[1:])
        low = (wide.low[:, None] + wide.width[:, None] * np.arange(PARTS) / PARTS).ravel()
        largest = np.abs(polynomials).sum(axis=1)  # at least x
        bound = self.tolerance * (unit + largest) / self._law.step
        return fine_table(polynomials / self._law.step, low, wide.width.repeat(PARTS) / PARTS, bound)

    # -- building and checking -------------------------------------------------------------------------------

    def _fitted(self, low: Array, width: Array, unit: float) -> _Fit:
        """Fit a polynomial to the quantile function on each panel, and compare it with the float64 tail."""
        nodes, fit, between = fit_nodes(_DEGREE)
        x = self._law.noise.inverse_tail(0.5 * (low[:, None] + width[:, None] * nodes))
        middle = x[:, [_DEGREE // 2]]
        # fit the differences from the middle: they are small, so their round-off is small too
        coefficients = (x - middle) @ fit.T
        coefficients[:, :1] += middle
        smooth = self._without_kinks(low, width)
        error, spread = self._errors(coefficients, low, width, between, unit)
        return _Fit(low, width, coefficients, error, spread, smooth)

    def _without_kinks(self, low: Array, width: Array) -> NDArray[np.bool_]:
        smooth = np.ones(low.size, dtype=bool)
        if not low.size:
            return smooth
        at = self._kinks(float(low[0]))
        if at is None:
            return np.zeros(low.size, dtype=bool)
        for moved in (down(at, NEAR_ENOUGH), up(at, NEAR_ENOUGH)):  # a kink at an edge excludes both panels
            panel = np.searchsorted(low, moved, side="right") - 1
            inside = (panel >= 0) & (moved < low[panel] + width[panel])
            smooth[panel[inside]] = False
        return smooth

    def _kinks(self, least: float) -> Array | None:
        """Return the V of all kinks from V = least on; None if they are too many."""
        noise = self._law.noise
        kinks = noise.breaks(float(noise.inverse_tail(np.array(0.5 * least))), 4 * _COUNT)
        with np.errstate(under="ignore"):
            return None if kinks is None else 2.0 * np.exp(noise.log_tail(kinks))

    def _beside_kinks(self, parts: _Fit) -> tuple[Array, Array]:
        """Return the starts and the ends of the intervals of V on both sides of a kink, in parts that contain one."""
        low, high = parts.low[~parts.smooth], (parts.low + parts.width)[~parts.smooth]
        at, found = self._kinks(float(low.min())) if low.size else None, []
        if at is None:
            return np.zeros(0), np.zeros(0)
        for start, end in zip(low, high, strict=True):
            within = at[(at > start) & (at < end)]
            if within.size == 1:
                kink = float(within[0])  # `_without_kinks` moves it once; the intervals begin further away
                before, after = (away(away(kink, NEAR_ENOUGH), NEAR_ENOUGH) for away in (down, up))
                found += [(start, before), (after, end)]
        pairs = np.array(sorted(pair for pair in found if pair[0] < pair[1])).reshape(-1, 2)
        return pairs[:, 0], pairs[:, 1]

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

    def _ball_error(self, fit: _Fit, unit: float) -> float:
        """Return the largest |x - truth|/(unit + x) that ball arithmetic finds on a sample of panels."""
        arb = flint_module().arb
        noise = self._law.noise
        chosen = np.flatnonzero(fit.usable)
        chosen = chosen[:: max(1, chosen.size // (8 if noise.slow_tail else 48))]
        beyond, seen, inside = tail(noise), 0.0, 0.3671875  # a dyadic place between two nodes
        with precision(192):
            for panel in chosen:
                x = float(np.polynomial.polynomial.polyval(inside, fit.coefficients[panel]))
                v = float(fit.low[panel]) + float(fit.width[panel]) * inside
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
        if self.fine is None:
            rest, magnitude = self._by_polynomials(words, scratch)
        else:
            rest, magnitude = self._by_parabolas(words, self.fine, scratch[:, : out.size])
        sign = scratch[0, : out.size].view(np.uint64)
        np.left_shift(words, np.uint64(63), out=sign)  # the lowest bit is the sign of the draw
        np.bitwise_or(magnitude.view(np.uint64), sign, out=sign)
        np.copyto(out, sign.view(np.float64), casting="unsafe")
        return rest, words[rest][:, None]

    def _by_parabolas(
        self, words: NDArray[np.uint64], table: FineTable, scratch: Array
    ) -> tuple[NDArray[np.int64], Array]:
        """Return the places of the undecided draws, and all magnitudes (0 for an undecided one)."""
        x, v, column, spare, whole = scratch
        row = spare.view(np.int64)
        np.right_shift(words, np.uint64(1), out=spare.view(np.uint64))
        np.copyto(v, row)
        np.right_shift(v.view(np.int64), _BITS_BELOW - _PART_BITS, out=row)
        row -= (_FIRST << _PART_BITS) - 1
        third, second, first = table.columns[::-1]
        np.take(third, row, out=x, mode="clip")  # the first row for V below the last octave
        x *= v
        np.take(second, row, out=column, mode="clip")
        x += column
        x *= v
        np.take(first, row, out=column, mode="clip")
        x += column
        np.rint(x, out=whole)
        x -= whole
        np.abs(x, out=x)
        rest = np.flatnonzero(~(x < 0.5 - table.error))  # NaN, in a row without a parabola, is undecided too
        whole[rest] = 0.0
        return rest, whole

    def _by_polynomials(self, words: NDArray[np.uint64], scratch: Array) -> tuple[NDArray[np.int64], Array]:
        """The same by the polynomials of the wide panels; the magnitude of an undecided draw is a guess."""
        x = self.quantile(words >> np.uint64(1), scratch)
        self._fill_beside(words, x)
        whole, gap = scratch[1:3, : words.size]
        np.rint(x, out=whole)
        np.subtract(x, whole, out=gap)
        np.abs(gap, out=gap)
        x *= self.tolerance
        gap += x
        rest = np.flatnonzero(~(gap < self._limit))
        whole[rest] = np.minimum(np.nan_to_num(whole[rest], nan=self._far), 2.0**61)  # where a search starts
        return rest, whole

    def _fill_beside(self, words: NDArray[np.uint64], x: Array) -> None:
        """Write x, in steps, for the words without a polynomial whose V is beside a kink."""
        missing, fit = np.flatnonzero(np.isnan(x)), self._beside
        if not missing.size or not fit.low.size:
            return
        v = (words[missing] >> np.uint64(1)).astype(np.float64) * 2.0**-63
        i = np.maximum(np.searchsorted(fit.low, v, side="right") - 1, 0)
        t = (v - fit.low[i]) / fit.width[i]
        good = fit.usable[i] & (t >= 0.0) & (t <= 1.0)
        values = np.polynomial.polynomial.polyval(t[good], fit.coefficients[i[good]].T, tensor=False)
        x[missing[good]] = values / self._law.step

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
        left, found = self._by_polynomials(words[:, 0], np.empty((5, draws.size)))
        magnitude, known = found.astype(np.int64), words[left, 0] >> np.uint64(1)
        if left.size > _FEW:  # floats compare many draws with their thresholds at once
            magnitude[left], certain = self._law.decide(known)
            left, known = left[~certain], known[~certain]
        for i, word in zip(left, known, strict=True):
            magnitude[i] = self._law.refine(int(draws[i]), int(word), 63, 0, int(magnitude[i]), entropy)
        return np.where(words[:, 0] & np.uint64(1), -magnitude, magnitude)
