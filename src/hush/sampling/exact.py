"""Exact draws on a lattice."""

from __future__ import annotations

import math
from functools import lru_cache
from typing import Any, Protocol

import numpy as np
from numpy.typing import NDArray

from hush.errors import InvalidParameter, NotCertified, Unsupported, positive, whole
from hush.noise.contract import Law, Noise
from hush.sampling.difference import Difference, Table, is_difference
from hush.sampling.entropy import Bits, Entropy, SecureEntropy, must_be_entropy
from hush.sampling.lookup import MOST_THRESHOLDS, Guide
from hush.sampling.polynomial import Panels
from hush.sampling.stable_transform import Transformation
from hush.sampling.tail_ball import descriptor
from hush.sampling.threshold import MARGIN, SATURATED, Pending, Tails, tails

__all__ = ["SATURATED", "draw", "draw_from", "law_of", "plain_law", "sampler", "sampler_for"]

_BLOCK = 1 << 14  # draws at a time: their arrays stay in the processor's cache


class _Sampler(Protocol):
    def fill(self, out: NDArray[np.int64], entropy: Bits, scratch: NDArray[np.float64]) -> Pending: ...

    def settle(self, draws: NDArray[np.int64], words: NDArray[np.uint64], entropy: Bits) -> NDArray[np.int64]: ...


@lru_cache(maxsize=64)
def sampler(noise: Law, step: float, margin: float = MARGIN) -> _Sampler:
    """The way to draw this noise on this lattice, its tables built and validated.

    `margin` is how many times the error seen by ball arithmetic the bounds allow for; a test that makes it huge sends
    every draw through ball arithmetic.
    """
    if is_difference(noise):
        return Difference(noise, margin)
    law = tails(noise, step, margin)
    row = descriptor(noise)
    if noise.discrete or not row.panels or float(law.guess(np.array(2.0**-8))) <= MOST_THRESHOLDS:
        return Guide(law)
    return Panels(law) if row.two_uniforms is None else Transformation(noise, row.two_uniforms(noise), step, margin)


def draw(noise: Noise, size: Any, step: float | None = None, entropy: Entropy | None = None) -> NDArray[np.int64]:
    """`size` independent draws of the noise, as whole numbers of lattice steps: exactly distributed, from secure bits.

    A joint noise of d numbers gives d numbers for each draw: the last axis of the answer.

    The law. For a continuous noise and step h,  P(k) = F((k + 1/2) h) - F((k - 1/2) h): the noise rounded to the
    lattice. For a lattice noise, P(k) is its own probability of the point k step. Parameters count as the exact
    binary numbers they are.

    Why it is exact. A draw is a function of an endless string of fair bits, of which a prefix is known at any time.
    The prefix makes an interval, and the draw is settled when the whole interval leads to the same k. Float64 settles
    it only where its error bound (a thousand times what ball arithmetic shows, checked again for these very
    parameters) leaves no doubt; else the prefix is made longer and balls, whose radius bounds every rounding, decide.
    So no rounding error ever chooses between two values, and an undecided prefix has probability zero in the limit.
    The proof in full: docs/maths/sampling.md.

    A draw of 2^62 steps or more is returned as 2^62 with its sign. Add draws to values of at most 2^61 steps and clip
    the sum to +-2^61 (as `release` does): what comes out is then exactly the clipped sum of the value and the
    unlimited noise.

    >>> from hush import Laplace
    >>> sample = draw(Laplace(2.0), 1000, step=0.5)
    >>> sample.dtype.name, sample.shape
    ('int64', (1000,))
    """
    if not isinstance(noise, Noise):
        raise InvalidParameter(f"noise must be a noise such as Gaussian(2.0), got {noise!r}.")
    must_be_entropy(entropy)
    shape = (size,) if np.ndim(size) == 0 else tuple(size)
    shape = tuple(whole("size", n, 0, "write size=1000") for n in shape)
    lattice = _lattice(noise, step)
    drawn = draw_from((SecureEntropy() if entropy is None else entropy).begin(), noise, math.prod(shape), lattice)
    return drawn.reshape(shape + drawn.shape[1:])


def draw_from(bits: Bits, noise: Noise, size: int, step: float) -> NDArray[np.int64]:
    """`draw` from given bits, one call's worth: for engines that must be able to repeat a draw."""
    if not isinstance(noise, Law):
        return _joint(bits, noise, size, _lattice(noise, step))
    sample = np.empty(size, dtype=np.int64)
    _fill(sample, sampler_for(noise, step), bits)
    return sample


def _joint(bits: Bits, noise: Noise, size: int, step: float) -> NDArray[np.int64]:
    """Draws of a joint noise, by its own method; what comes back is checked to be what a caller may add to a vector."""
    drawn = noise.lattice_draws(bits, size, step)
    wanted = (size, noise.dimension)
    if not isinstance(drawn, np.ndarray) or drawn.dtype != np.int64 or drawn.shape != wanted:
        raise NotCertified(
            f"lattice_draws of {type(noise).__name__} must give int64 numbers of shape {wanted}; nothing was drawn."
        )
    if drawn.size and (int(drawn.max()) > SATURATED or int(drawn.min()) < -SATURATED):
        raise NotCertified(
            f"lattice_draws of {type(noise).__name__} must keep to 2^62 steps either way; nothing was drawn."
        )
    return drawn


def _fill(sample: NDArray[np.int64], way: _Sampler, entropy: Bits) -> None:
    """Every draw by the fast path, then those it left, all at once."""
    left, words = [], []
    scratch = np.empty((4, min(_BLOCK, sample.size)))  # pages are touched once, not once a block
    for start in range(0, sample.size, _BLOCK):
        places, undecided = way.fill(sample[start : start + _BLOCK], entropy, scratch)
        if places.size:
            left.append(places + start)
            words.append(undecided)
    if left:
        draws = np.concatenate(left)
        sample[draws] = way.settle(draws, np.concatenate(words), entropy)


def sampler_for(noise: Noise, step: float | None = None) -> _Sampler:
    """The sampler of a law as given: built, validated and kept for the next call."""
    if not isinstance(noise, Law):
        raise Unsupported(f"{type(noise).__name__} is drawn jointly, not number by number.")
    return sampler(plain_law(noise), _lattice(noise, step))


def law_of(noise: Law, step: float) -> Tails:
    """The law of a draw as falling thresholds, for intervals."""
    return Table(noise, step) if is_difference(noise) else tails(plain_law(noise), step)


def plain_law(noise: Law) -> Law:
    """The simplest noise of exactly this law; a lattice law keeps its step."""
    return noise.plain()


def _lattice(noise: Noise, step: float | None) -> float:
    if not noise.discrete:
        return positive("step", 1.0 if step is None else step, "write step=1.0")
    own: float = noise.step
    if step is not None and positive("step", step) != own:
        raise Unsupported(f"{noise} lives on its own lattice; write step={own!r} or leave step out.")
    return own
