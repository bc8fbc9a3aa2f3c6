"""Draws on fine lattices of a noise that is a function of two uniforms, such as stable noise.

It is used where the tail in ball arithmetic is a slow integral. The noise is a product of a function of each uniform,
and floats evaluate both by polynomials (pieces.py). Both uniforms are known as intervals. The float64 value decides
unless it is within its error bound of a half. Then both intervals take more bits, and the same formula is
evaluated in ball arithmetic until the whole ball rounds to one number.
"""

from __future__ import annotations

import math
from typing import Any

import numpy as np
from numpy.typing import NDArray

from hush.errors import NotCertified
from hush.noise.contract import Law
from hush.noise.family import TwoUniforms
from hush.numerics.ball import flint_module, precision
from hush.sampling.entropy import Bits
from hush.sampling.pieces import Pieces
from hush.sampling.threshold import MARGIN, SATURATED, Pending

__all__ = ["Transformation"]

Array = NDArray[np.float64]


class Transformation:
    """The sampler of one noise on the lattice of one step."""

    def __init__(self, noise: Law, two: TwoUniforms, step: float, margin: float = MARGIN) -> None:
        self._noise, self._two, self._step = noise, two, step
        self._first, self._second = Pieces(two.first, 1, floor=1.0), Pieces(two.second, 2, floor=0.0)
        seen, width = self._seen()
        # errors a (1 + A) and b B of the factors A and B make an error of a B + (a + b + a b) A B of their product.
        # B is monotone, so it is largest at an outermost point of its panels
        fitted = max(self._second.largest, 1.0) * self._first.error + 2.0 * self._second.error
        cut = max(self._second.largest, 1.0) * self._first.truncation + 2.0 * self._second.truncation
        #: |x - truth| <= tolerance (unit + x) for the polynomials, and `_quick` (unit + x) for the parabolas
        self.tolerance = margin * max(seen, fitted, 2.0**-53) + 2.0 * width
        self._quick = self.tolerance + 2.0 * cut
        self._first.scale(two.unit / step)

    def _seen(self) -> tuple[float, float]:
        """Return the largest |x - truth|/(unit + x) that ball arithmetic finds.

        The second number is the largest effect of the width of a word, in the same unit.
        """
        arb = flint_module().arb
        ends = [
            1 << 43,
            (1 << 43) + 12345,
            1 << 50,
            1 << 56,
            3 << 60,
            1 << 62,
            (1 << 62) + 1,
            (1 << 63) - (1 << 50),
            (1 << 63) - (1 << 43) - 1,
        ]
        scattered = [(k * 0x9E3779B97F4A7C15 >> 1) % (1 << 63) for k in range(1, 97)]
        pairs = [(a, w) for a in ends for w in ends] + list(
            zip(scattered, scattered[48:] + scattered[:48], strict=True)
        )
        words = np.array(pairs, dtype=np.uint64).T << np.uint64(1)
        floats = self._magnitude(words, np.empty((5, len(pairs))))
        seen = width = 0.0
        with precision(192):
            for (a, w), x in zip(pairs, floats, strict=True):
                if math.isnan(x):
                    continue
                truth = self._two.ball(arb(a) / 2**63, arb(w) / 2**63)
                seen = max(seen, float(abs(truth - float(x)).upper()) / (1.0 + x))
                width = max(width, float(self._two.ball(_interval(a, 63), _interval(w, 63)).rad()) * 2.0 / (1.0 + x))
        if not (seen < 1e-12 and width < 1e-10):
            raise NotCertified(
                f"the transformation for {self._noise} has an error of {seen:.2g}, more than round-off; "
                "nothing was drawn."
            )
        return seen, width

    def _magnitude(self, words: NDArray[np.uint64], scratch: Array) -> Array:
        """Return |X|/unit for two rows of words, in the first row of `scratch`; NaN where a factor has no panel."""
        x, factor, spare = scratch[0], scratch[1], scratch[2:5]
        self._first.evaluate(words[0], x, spare)
        self._second.evaluate(words[1], factor, spare)
        x *= factor
        return x

    def fill(self, out: NDArray[np.int64], entropy: Bits, scratch: Array) -> Pending:
        """Write the next draws into `out`, and return the undecided ones for `settle`."""
        words = entropy.words(out.size, np.uint64, lanes=2).astype(np.uint64, copy=False)  # native order
        x, whole, gap = scratch[:3, : out.size]
        self._first.quick(words[0], x, scratch[2:5, : out.size])
        self._second.quick(words[1], whole, scratch[2:5, : out.size])
        x *= whole
        np.rint(x, out=whole)
        rest = self._undecided(x, whole, gap, self._quick)
        whole[rest] = 0.0
        sign = gap.view(np.uint64)
        np.left_shift(words[0], np.uint64(63), out=sign)  # the lowest bit is the sign of the draw
        np.bitwise_or(whole.view(np.uint64), sign, out=sign)
        np.copyto(out, gap, casting="unsafe")
        return rest, words[:, rest].T

    def _undecided(self, x: Array, whole: Array, gap: Array, tolerance: float) -> NDArray[np.int64]:
        """Return the places where x is within its error of a half; the arguments other than `whole` are overwritten."""
        np.subtract(x, whole, out=gap)
        np.abs(gap, out=gap)
        x *= tolerance
        gap += x
        # NaN is undecided too; so is any x of 2^50 steps
        return np.flatnonzero(~(gap < 0.5 - tolerance * self._two.unit / self._step))

    def settle(self, draws: NDArray[np.int64], words: NDArray[np.uint64], entropy: Bits) -> NDArray[np.int64]:
        """Return the draws that `fill` left undecided, from their numbers and words."""
        x = self._magnitude(np.ascontiguousarray(words.T), np.empty((5, draws.size))) * (self._two.unit / self._step)
        whole = np.rint(x)
        rest = self._undecided(x, whole, np.empty(draws.size), self.tolerance)
        whole[rest] = 0.0
        magnitude, known = whole.astype(np.int64), words >> np.uint64(1)
        for i in rest:
            magnitude[i] = self._refine(int(draws[i]), int(known[i, 0]), int(known[i, 1]), entropy)
        return np.where(words[:, 0] & np.uint64(1), -magnitude, magnitude)

    def _refine(self, draw: int, angle: int, wait: int, entropy: Bits) -> int:
        arb = flint_module().arb
        bits, turn = 63, 0
        while True:
            with precision(bits + 128):
                if angle and wait:
                    steps = (
                        self._two.ball(_interval(angle, bits), _interval(wait, bits)) * self._two.unit / arb(self._step)
                    )
                    if steps > SATURATED:
                        return SATURATED
                    found = (steps + arb(0.5)).floor().unique_fmpz()
                    if found is not None:
                        return int(found)
            numbered = np.array([draw], dtype=np.int64)
            both = entropy.more(numbered, 2 * turn), entropy.more(numbered, 2 * turn + 1)
            angle, wait = (
                (known << 128) | (int(word[0, 0]) << 64) | int(word[0, 1])
                for known, word in zip((angle, wait), both, strict=True)
            )
            bits, turn = bits + 128, turn + 1


def _interval(known: int, bits: int) -> Any:
    """Return the ball of all uniforms that start with these bits."""
    arb = flint_module().arb
    return arb(2 * known + 1, 1) / arb(2) ** (bits + 1)
