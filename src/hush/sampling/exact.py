"""`draw`: exact draws of a noise on a lattice."""

from __future__ import annotations

import math
from functools import lru_cache
from typing import Any

import numpy as np
from numpy.typing import NDArray

from hush.errors import InvalidParameter, NotCertified, Unsupported, positive, reject, shown, whole
from hush.noise.contract import Law, Noise
from hush.noise.level_noise import LevelNoise
from hush.noise.made_of import MadeOf
from hush.noise.normal_mixture import NormalMixture
from hush.sampling.difference import Difference, Table, is_difference
from hush.sampling.entropy import Bits, Entropy, SecureEntropy, must_be_entropy
from hush.sampling.joint import level_draws
from hush.sampling.lookup import MOST_THRESHOLDS, Guide
from hush.sampling.normal_draws import normal_draws
from hush.sampling.polynomial import Panels
from hush.sampling.stable_transform import Transformation
from hush.sampling.tail_ball import descriptor
from hush.sampling.threshold import MARGIN, SATURATED, Sampler, Tails, fill_all, tails
from hush.sampling.witness import witness

__all__ = ["SATURATED", "draw", "draw_from", "law_of", "plain_law", "sampler", "sampler_for"]


@lru_cache(maxsize=64)
def sampler(noise: Law, step: float, margin: float = MARGIN) -> Sampler:
    """Return the sampler of this noise on this lattice, with its tables built and validated.

    Error bounds are `margin` times the error that ball arithmetic finds. A test can set it very large: then ball
    arithmetic decides every draw.
    """
    if is_difference(noise):
        return Difference(noise, margin)
    law = tails(noise, step, margin)
    row = descriptor(noise)
    if noise.discrete or not row.panels or float(law.guess(np.array(2.0**-8))) <= MOST_THRESHOLDS:
        return Guide(law)
    if row.two_uniforms is None or not noise.slow_tail:
        return Panels(law)
    return Transformation(noise, row.two_uniforms(noise), step, margin)


def draw(noise: Noise, size: Any, step: float | None = None, entropy: Entropy | None = None) -> NDArray[np.int64]:
    """Return `size` independent draws of the noise, in whole lattice steps: exactly distributed, from secure bits.

    A joint noise of d numbers gives d numbers for each draw, along the last axis.

    The law. For a continuous noise and step h,  P(k) = F((k + 1/2) h) - F((k - 1/2) h): the noise rounded to the
    lattice. For a lattice noise, P(k) is the probability of the point k step. Parameters are taken as the exact binary
    numbers that the floats are.

    Why it is exact. A draw is a function of an infinite string of fair bits, of which a prefix is known at any time.
    The prefix defines an interval, and the draw is decided when the whole interval leads to the same k. Float64 decides
    only where its error bound leaves no doubt; the bound is a thousand times the error that ball arithmetic finds, and
    is checked again for the parameters of this call. Otherwise the prefix is extended and ball arithmetic decides,
    whose radius bounds every rounding. So no rounding error ever chooses between two values, and the probability that
    a prefix stays undecided tends to zero. The full proof is in docs/maths/sampling.md.

    A draw of 2^62 steps or more is returned as 2^62 with its sign. Add draws to values of at most 2^61 steps and clip
    the sum to +-2^61, as `release` does. The result is then exactly the clipped sum of the value and the unlimited
    noise.

    >>> from hush import Laplace
    >>> sample = draw(Laplace(2.0), 1000, step=0.5)
    >>> sample.dtype.name, sample.shape
    ('int64', (1000,))
    """
    if not isinstance(noise, Noise):
        raise InvalidParameter(f"noise must be a hush noise, got {shown(noise)}; write for example Gaussian(2.0).")
    must_be_entropy(entropy)
    several = isinstance(size, tuple | list)
    if several and not all(isinstance(n, int | np.integer) for n in size):
        raise reject("size", size, "a whole number or a tuple of whole numbers", "write size=1000")
    shape = tuple(whole("size", n, 0, "write size=1000") for n in (size if several else (size,)))
    lattice = _lattice(noise, step)
    if (watching := witness()) is not None:
        watching.drew(noise, shape, lattice)
    drawn = draw_from((SecureEntropy() if entropy is None else entropy).begin(), noise, math.prod(shape), lattice)
    return drawn.reshape(shape + drawn.shape[1:])


def draw_from(bits: Bits, noise: Noise, size: int, step: float) -> NDArray[np.int64]:
    """Return draws from the given bits of one call. It is for engines that must be able to repeat a draw."""
    if not isinstance(noise, Law):
        return _joint(bits, noise, size, _lattice(noise, step))
    sample = np.empty(size, dtype=np.int64)
    fill_all(sample, sampler_for(noise, step), bits)
    return sample


def _joint(bits: Bits, noise: Noise, size: int, step: float) -> NDArray[np.int64]:
    """Return draws of a joint noise by its method `lattice_draws`, after checking their type, shape and range."""
    if noise.factors is not None:  # in steps, the numbers are those of the base
        drawn = draw_from(bits, noise.base, size * (noise.dimension or 1) // (noise.base.dimension or 1), step)
        drawn = drawn.reshape(size, -1)
    elif isinstance(noise, LevelNoise):
        drawn = level_draws(bits, noise, size)
    elif isinstance(noise, NormalMixture):
        drawn = normal_draws(bits, noise, size, step)
    elif isinstance(noise, MadeOf):
        parts = [draw_from(bits.part(place), law, size, own) for place, (law, own) in enumerate(noise.sources)]
        drawn = noise.joined(parts)
    else:
        drawn = noise.lattice_draws(bits, size, step)
    wanted = (size, noise.dimension)
    if not isinstance(drawn, np.ndarray) or drawn.dtype != np.int64 or drawn.shape != wanted:
        raise NotCertified(
            f"lattice_draws of {type(noise).__name__} must return int64 numbers of shape {wanted}; nothing was drawn."
        )
    if drawn.size and (int(drawn.max()) > SATURATED or int(drawn.min()) < -SATURATED):
        raise NotCertified(
            f"lattice_draws of {type(noise).__name__} must return at most 2^62 steps in absolute value; "
            "nothing was drawn."
        )
    return drawn


def sampler_for(noise: Noise, step: float | None = None) -> Sampler:
    """Return the sampler of a law; it is built and validated at the first call and then reused."""
    if not isinstance(noise, Law):
        raise Unsupported(
            f"{type(noise).__name__} is a joint noise and has no sampler for single numbers; write draw(...)."
        )
    return sampler(plain_law(noise), _lattice(noise, step))


def law_of(noise: Law, step: float) -> Tails:
    """Return the law of a draw as decreasing thresholds, for intervals."""
    return Table(noise, step) if is_difference(noise) else tails(plain_law(noise), step)


def plain_law(noise: Law) -> Law:
    """Return the same distribution as a member of the simplest family; a lattice law keeps its step."""
    return noise.plain()


def _lattice(noise: Noise, step: float | None) -> float:
    if not noise.discrete:
        return positive("step", 1.0 if step is None else step, "write step=1.0")
    own: float = noise.step
    if step is not None and positive("step", step) != own:
        raise Unsupported(f"{noise} has its own lattice; write step={shown(own)} or omit step.")
    return own
