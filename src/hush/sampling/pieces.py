"""A function of one uniform as piecewise polynomials: a factor of a noise that is a product of two such functions.

The argument is a word of 64 bits, whose leading bits are the uniform U. The function may have a singularity where U is
0, or where it is 0 or 1; elsewhere it is analytic. So panels are parts of octaves of the distance from that end, or
from the nearer end: 1024 panels in an octave, for twenty octaves, with a polynomial of degree 3 on each. The
polynomials are fitted to the float function and compared with it between the nodes of every panel. Panels with an error
above round-off, and words below the last octave, give NaN.

Draws use parabolas in U on the same panels. `truncation` bounds their difference from the polynomials, with its
round-off: see fine.py, where the same is done.
"""

from __future__ import annotations

from collections.abc import Callable

import numpy as np
from numpy.typing import NDArray

from hush.sampling.fine import parabolas
from hush.sampling.polynomial import fit_nodes

__all__ = ["Pieces"]

Array = NDArray[np.float64]
Words = NDArray[np.uint64]

_DEGREE = 3  # degree of the polynomials
_PANEL_BITS = 10  # an octave has 2^10 panels
_BITS = 52 - _PANEL_BITS  # mantissa bits that give the place inside a panel
_OCTAVES = np.arange(43, 63)  # of whole numbers below 2^63
_FIRST = (1023 + 43) << _PANEL_BITS  # the leading bits of the float at the start of the first panel
_ROWS = (_OCTAVES.size << _PANEL_BITS) + 2  # of a side: one for each panel, and NaN before the first and after the last
_ROUGH = 1e-14  # error in units of floor + |f|; a panel with a larger one is not used


class Pieces:
    """The panels of a function f(near, side): of U = near on side 0, and of U = 1 - near on side 1.

    sides=1: near is U, from 2^-20 to 1. sides=2: near is U or 1 - U, from 2^-20 to 1/2. Errors are
    measured in units of floor + |f|.
    """

    def __init__(self, function: Callable[[Array, int], Array], sides: int, *, floor: float) -> None:
        self._sides, self._floor = sides, floor
        #: The largest |polynomial - function|/(floor + |function|) of the panels in use.
        self.error = 0.0
        #: The largest |function| at the compared points.
        self.largest = 0.0
        #: The largest |parabola - polynomial|/(floor + |function|), round-off included.
        self.truncation = 0.0
        table = np.full((sides * _ROWS, _DEGREE + 1), np.nan)
        curved = np.full((_ROWS, sides, 3), np.nan)  # the sides alternate
        for side, rows in enumerate(np.split(table, sides)):
            curved[1:-1, side] = self._fit(function, side, rows)
        scale = 2.0 ** (-_BITS * np.arange(_DEGREE + 1))
        self._columns = [np.ascontiguousarray(column) for column in (table * scale).T]
        self._parabolas = [np.ascontiguousarray(column) for column in curved.reshape(-1, 3).T]

    def _fit(self, function: Callable[[Array, int], Array], side: int, rows: Array) -> Array:
        """Fit the panels of one side into the rows of the table; return their parabolas."""
        places, fit, between = fit_nodes(_DEGREE)
        fields = (((1023 + _OCTAVES)[:, None] << _PANEL_BITS) + np.arange(1 << _PANEL_BITS)).ravel()
        low = (fields << _BITS).view(np.float64) / 2.0 ** (62 + self._sides)
        width = (2.0 ** (_OCTAVES - _PANEL_BITS - 62 - self._sides)).repeat(1 << _PANEL_BITS)
        values, truth = (function(low[:, None] + width[:, None] * inside, side) for inside in (places, between))
        middle = values[:, [_DEGREE // 2]]
        made = (values - middle) @ fit.T  # differences are small, so their round-off is small too
        made[:, :1] += middle
        error = np.abs(np.polynomial.polynomial.polyval(between, made.T) - truth) / (self._floor + np.abs(truth))
        worst = np.nan_to_num(error, nan=np.inf).max(axis=1)
        usable = worst <= _ROUGH
        self.error = max(self.error, float(worst[usable].max(initial=0.0)))
        self.largest = max(self.largest, float(np.abs(truth[usable]).max(initial=0.0)))
        rows[1:-1][usable] = made[usable]
        wide: Array = np.asarray(width * 2.0 ** (62 + self._sides), dtype=np.float64)  # in units of the word's float
        curved, apart = parabolas(made, (fields << _BITS).view(np.float64), wide)
        least = self._floor + np.abs(truth).min(axis=1)
        self.truncation = max(self.truncation, float((apart / least)[usable].max(initial=0.0)))
        curved[:, 1] *= 1.0 - 2.0 * side  # the word's float is negative on side 1
        return np.where(usable[:, None], curved, np.nan)

    def scale(self, factor: float) -> None:
        """Multiply the parabolas by a number."""
        for column in self._parabolas:
            column *= factor

    def quick(self, words: Words, out: Array, scratch: Array) -> Array:
        """`evaluate` by parabolas."""
        column, v, spare = scratch
        row = spare.view(np.int64)
        if self._sides == 1:
            np.right_shift(words, np.uint64(1), out=spare.view(np.uint64))
            np.copyto(v, row)
            np.right_shift(v.view(np.int64), _BITS, out=row)
            row -= _FIRST - 1
        else:
            np.copyto(v, words.view(np.int64))
            np.abs(v, out=spare)
            np.right_shift(row, _BITS, out=row)
            row -= _FIRST - 1
            np.left_shift(row, 1, out=row)
            np.right_shift(words, np.uint64(63), out=column.view(np.uint64))
            row += column.view(np.int64)
        third, second, first = self._parabolas[::-1]
        np.take(third, row, out=out, mode="clip")
        out *= v
        np.take(second, row, out=column, mode="clip")
        out += column
        out *= v
        np.take(first, row, out=column, mode="clip")
        out += column
        return out

    def evaluate(self, words: Words, out: Array, scratch: Array) -> Array:
        """Write the function of each word into `out`, NaN where there is no polynomial; `scratch` has three rows."""
        inside, v, spare = scratch
        row, bits, known = spare.view(np.int64), v.view(np.int64), spare.view(np.uint64)
        if self._sides == 1:
            np.right_shift(words, np.uint64(1), out=known)
            np.copyto(v, row)
        else:
            np.copyto(v, words.view(np.int64))  # twice the distance from the nearer end, of 2^64, negative on side 1
        np.right_shift(bits, _BITS, out=row)
        if self._sides == 2:
            row &= (1 << (63 - _BITS)) - 1  # without the sign
        row -= _FIRST - 1
        bits &= (1 << _BITS) - 1
        np.copyto(inside, bits)
        if self._sides == 2:
            np.maximum(row, 0, out=row)
            np.right_shift(words, np.uint64(63), out=v.view(np.uint64))
            bits *= _ROWS
            row += bits
        # mode="clip" takes the first row for a word below the last octave
        np.take(self._columns[_DEGREE], row, out=out, mode="clip")
        for power in range(_DEGREE - 1, -1, -1):
            out *= inside
            np.take(self._columns[power], row, out=v, mode="clip")
            out += v
        return out
