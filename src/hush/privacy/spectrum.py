"""The transform of a composed law at the frequencies that matter.

A composed law is smooth. Of a hundred thousand frequencies often only the lowest few dozen exceed 1e-16. They are found
without a transform of full length: no transform exceeds 1, so the part that varies most bounds the product of all. If
that part occurs many times, a short transform of it suffices, because between two frequencies a transform changes by at
most their distance times the mean absolute deviation of the loss. Then the transform of every part is computed at the
frequencies that are left, by whatever costs least:

    a fast transform         for a long part,
    powers of e^(i angle)    for a short one,
    its logarithm            for one that occurs very many times. With the losses counted from their mean, 1 minus the
                             transform is a sum of small terms, so its logarithm is precise and can be multiplied.

If too many frequencies are left, the caller transforms at full length.
"""

from __future__ import annotations

import math
from collections.abc import Sequence
from dataclasses import dataclass, field
from functools import cached_property

import numpy as np
from numpy.typing import NDArray

from hush.numerics import special
from hush.numerics.rounding import UNIT

__all__ = ["FAINT", "Relevant", "TiltedPart", "in_bands", "relevant", "transform_error"]

Array = NDArray[np.float64]
Spectrum = NDArray[np.complex128]
Whole = NDArray[np.int64]

FAINT = 1e-16  # smaller frequencies are omitted, and added to delta
_MOST = 1024  # frequencies; with more, transforming at full length is cheaper
_FLOOR = 1e-9  # of one part: below it, a transform may be the rounding errors of the probabilities
_OFTEN = 64  # times, from which a short transform bounds the power
_VERY_OFTEN = 20_000  # times, from which the rounding errors of a fast transform matter
_CLOSE = 0.1  # what a transform may change between two frequencies of the short transform
_MOST_TERMS = 1 << 22  # frequencies times losses, up to which logarithms are worth their time
_BLOCK = 1 << 18
_CHAIN = 16  # products in a row, after which powers of e^(i angle) are computed anew
_CHAIN_ERROR = 64.0 * UNIT  # 16 complex products, a sine, a cosine and a sum by halves
_CHEAPER = 4  # a point of a fast transform costs as much as this many products


@dataclass(frozen=True)
class TiltedPart:
    """Probabilities at whole numbers (places) of a loss that occurs `times` times."""

    masses: Array
    places: Whole
    times: int
    kept: dict[int, Spectrum] = field(default_factory=dict, repr=False, compare=False)

    @cached_property
    def centre(self) -> int:
        """The mean, rounded."""
        return round(float((self.masses * self.places).sum()))

    @property
    def span(self) -> int:
        """From the first place to the last."""
        return int(self.places[-1] - self.places[0]) + 1

    @cached_property
    def away(self) -> Array:
        """The distances from the centre."""
        return np.asarray(self.places - self.centre, dtype=np.float64)

    @cached_property
    def variance(self) -> float:
        """The variance of all occurrences together."""
        return self.times * float((self.masses * self.away**2).sum())

    def transform(self, length: int) -> Spectrum:
        """The fast transform up to half of `length`, with the centre as the origin. The last one is kept."""
        if length not in self.kept:
            self.kept.clear()
            at = (self.places - self.centre) % length
            circle = np.zeros(length)
            if self.span <= length:
                circle[at] = self.masses
            else:
                circle += np.bincount(at, self.masses, length)
            self.kept[length] = np.asarray(special.rfft(circle))
        return self.kept[length]


@dataclass(frozen=True)
class Relevant:
    """Numbers of frequencies, the transform of the composed law there (place 0 is the origin), a bound on the error of
    each value; and for all other frequencies rows (number, bound): the sum from this number on up to the next row.
    """

    numbers: Whole
    values: Spectrum
    errors: Array
    faint: Array


def transform_error(length: int) -> float:
    """A bound on the error of a fast transform of probabilities: a few roundings in each of its stages."""
    return 4.0 * UNIT * math.log2(length)


def relevant(parts: Sequence[TiltedPart], length: int) -> Relevant | None:
    """The frequencies of the composed law that exceed 1e-16; None if they are too many."""
    lead = max(parts, key=lambda part: part.variance)
    count, faint = _lowest(lead, length)
    if count > _MOST:
        return None
    logs, relative, total = np.zeros(count, dtype=np.complex128), np.zeros(count), np.zeros(count)
    short = [part for part in parts if _is_short(part, count, length)]
    rows = [*_long_rows(parts, count, length), *(_chained(short, count, length) if short else ())]
    with np.errstate(divide="ignore", invalid="ignore", over="ignore", under="ignore"):
        for times, log, error in rows:
            logs += times * log
            relative += times * error * np.exp(-log.real)
            total += times * error
        turns = sum(part.times * part.centre for part in parts) % length
        values = np.exp(logs - 2j * math.pi / length * (np.arange(count) * turns % length))
        size = np.abs(values)
        errors = np.fmin(size * np.expm1(relative), 2.0 * total)
    numbers = np.flatnonzero(size > FAINT)
    omitted = float((size + errors).sum() - (size + errors)[numbers].sum()) + UNIT
    return Relevant(numbers, values[numbers], errors[numbers], np.vstack([[0.0, omitted], *faint]))


def _lowest(lead: TiltedPart, length: int) -> tuple[int, list[Array]]:
    """How many of the lowest frequencies matter, and bounds on the sums of all others, by one part."""
    deviation = float((lead.masses * np.abs(lead.away)).sum())
    short = 1 << math.ceil(math.log2(max(math.pi * deviation / _CLOSE, 256.0)))
    if lead.times < _OFTEN or 2 * short > length:
        short = length
    slack = math.pi / short * deviation if short < length else 0.0
    bound = np.minimum(np.abs(lead.transform(short)) + slack + transform_error(short), 1.0)
    last = int(np.flatnonzero(bound > max((0.01 * FAINT) ** (1.0 / lead.times), _FLOOR))[-1])
    each = length / short  # frequencies for each one of the short transform
    count = min(math.floor((last + 0.5) * each) + 1, length // 2 + 1)
    if count > (_MOST if short == length else _MOST * each):
        return count, []
    with np.errstate(under="ignore"):
        bound = bound**lead.times
    faint = in_bands(bound, last + 1)
    if short == length:
        return count, [faint]
    fewer = _fewer(lead, count, length)
    return fewer, [np.array([[fewer, count * FAINT**1.1]]), faint * [each, each + 1.0] - [0.5 * each, 0.0]]


def in_bands(bound: Array, start: int) -> Array:
    """Rows (number, sum of the bounds from there on up to the next row), from `start` on, each twice as far as the one
    before.
    """
    if start >= bound.size:
        return np.empty((0, 2))
    firsts = [start]
    while 2 * firsts[-1] < bound.size:
        firsts.append(2 * firsts[-1])
    return np.column_stack([firsts, np.add.reduceat(bound, firsts)])


def _fewer(lead: TiltedPart, count: int, length: int) -> int:
    """How many of the `count` lowest frequencies a part that occurs many times lets exceed 1e-18.

    Let p_i be the probabilities of losses x_i close to the mean. For every angle t, the square of the transform is at
    most 1 - S(t), with S(t) the sum of 2 p_i p_j sin^2(t (x_i - x_j)/2). S grows with t while all these sines do. So
    one angle bounds all larger ones up to the last.
    """
    last = 2.0 * math.pi / length * count
    core = np.abs(lead.away) <= 0.5 * math.pi / last
    masses, away = lead.masses[core], lead.away[core]
    needed = -1.01 * math.expm1(2.2 * math.log(FAINT) / lead.times)
    fewer, spread = count, 2.0 * float(masses.sum()) * float((masses * away**2).sum())
    guess = math.ceil(math.sqrt(needed / max(spread, needed / count**2)) * length / (2.0 * math.pi)) + 1
    while guess < count:
        angle = 2.0 * math.pi / length * guess * away
        real, imaginary = float((masses * np.cos(angle)).sum()), float((masses * np.sin(angle)).sum())
        if float(masses.sum()) ** 2 - real**2 - imaginary**2 >= needed:
            fewer = guess
            break
        guess += guess // 4 + 1
    return fewer


def _is_short(part: TiltedPart, count: int, length: int) -> bool:
    return part.times <= _VERY_OFTEN and count * part.masses.size <= _CHEAPER * length


def _long_rows(parts: Sequence[TiltedPart], count: int, length: int) -> list[tuple[int, Spectrum, Array | float]]:
    """times, the logarithm of the transform at the lowest frequencies and its error, for parts that are not short."""
    rows: list[tuple[int, Spectrum, Array | float]] = []
    for part in parts:
        if _is_short(part, count, length):
            continue
        if part.times > _VERY_OFTEN and count * part.masses.size <= _MOST_TERMS:
            rows.append((part.times, *_logarithm(part, count, length)))
            continue
        with np.errstate(divide="ignore"):
            rows.append((part.times, np.log(part.transform(length)[:count]), transform_error(length)))
    return rows


def _logarithm(part: TiltedPart, count: int, length: int) -> tuple[Spectrum, Array]:
    """The logarithm of the transform from 1 minus the transform, and a bound on the error of the transform.

    The real part of 1 minus the transform is a sum of positive terms r. The terms of the imaginary part have absolute
    values that sum to at most the root of 2 r.
    """
    turn, rows = 2.0 * math.pi / length * part.away, max(_BLOCK // part.masses.size, 1)
    found, less = np.empty(count, dtype=np.complex128), np.empty(count)
    for start in range(0, count, rows):
        angle = np.arange(start, min(start + rows, count))[:, None] * turn
        real = 2.0 * (part.masses * np.sin(0.5 * angle) ** 2).sum(axis=1)
        imaginary = (part.masses * np.sin(angle)).sum(axis=1)
        less[start : start + rows] = real
        found[start : start + rows] = np.log1p(-real - 1j * imaginary)
    return found, 16.0 * UNIT * (less + np.sqrt(2.0 * less))


def _chained(parts: Sequence[TiltedPart], count: int, length: int) -> list[tuple[int, Spectrum, Array | float]]:
    """The same for short parts, all together: every frequency multiplies the terms by e^(-i angle) once more."""
    starts = np.cumsum([0, *(part.masses.size for part in parts[:-1])])
    masses = np.concatenate([part.masses for part in parts])
    angle = -2.0 * math.pi / length * np.concatenate([part.away for part in parts])
    once, found = np.exp(1j * angle), np.empty((count, len(parts)), dtype=np.complex128)
    terms = masses.astype(np.complex128)
    for number in range(count):
        if number % _CHAIN == 0 and number:
            terms = masses * np.exp(1j * (number * angle))
        found[number] = np.add.reduceat(terms, starts)
        terms *= once
    with np.errstate(divide="ignore"):
        logs = np.log(found)
    return [(part.times, logs[:, i], _CHAIN_ERROR) for i, part in enumerate(parts)]
