"""Draws on fine lattices of a noise that is a function of two uniforms, such as stable noise.

It is used where the tail in ball arithmetic is a slow integral. Both uniforms are known as intervals. The float64 value
decides unless it is within its error bound of a half. Then both intervals take more bits, and the same formula is
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
from hush.sampling.threshold import MARGIN, SATURATED, Pending

__all__ = ["Transformation"]

Array = NDArray[np.float64]


class Transformation:
    """The sampler of one noise on the lattice of one step."""

    def __init__(self, noise: Law, two: TwoUniforms, step: float, margin: float = MARGIN) -> None:
        self._noise, self._two, self._step = noise, two, step
        seen, width = self._seen()
        #: |x - truth| <= tolerance (unit + x)
        self.tolerance = margin * max(seen, 2.0**-53) + 2.0 * width
        self._limit = 0.5 - self.tolerance * two.unit / step

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
        angle, wait = (np.array(column, dtype=np.uint64) for column in zip(*pairs, strict=True))
        seen = width = 0.0
        with precision(192):
            for (a, w), x in zip(pairs, self._two.magnitude(angle, wait), strict=True):
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

    def fill(self, out: NDArray[np.int64], entropy: Bits, scratch: NDArray[np.float64]) -> Pending:
        """Write the next draws into `out`, and return the undecided ones for `settle`."""
        words = entropy.words(out.size, np.uint64, lanes=2)
        angle, wait = words >> np.uint64(1)
        x = self._two.magnitude(angle, wait) * (self._two.unit / self._step)
        whole = np.rint(x)
        certain = (np.abs(x - whole) + self.tolerance * x < self._limit) & (x < 2.0**50)
        rest = np.flatnonzero(~certain)
        whole[rest] = 0.0
        np.copyto(out, whole, casting="unsafe")
        sign = -(words[0] & np.uint64(1)).view(np.int64)
        out ^= sign
        out -= sign
        return rest, words[:, rest].T

    def settle(self, draws: NDArray[np.int64], words: NDArray[np.uint64], entropy: Bits) -> NDArray[np.int64]:
        """Return the draws that `fill` left undecided, from their numbers and words."""
        known = words >> np.uint64(1)
        magnitude = np.array(
            [self._refine(int(d), int(a), int(w), entropy) for d, (a, w) in zip(draws, known, strict=True)],
            dtype=np.int64,
        )
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
