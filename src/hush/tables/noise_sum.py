"""Half widths of weighted sums of independent noises, for the intervals of means, variances and quantiles.

The sum is a_1 N_1 + a_2 N_2 + ..., where N_i is the noise of a column on its lattice. Every term is rounded to a common
grid of step h, the rounded laws are convolved by Fourier transforms, and the least w with P(|sum| > w) <= 1 - level is
found. The probability beyond the grid (the far tails, and what could wrap round) is bounded and treated as outside.

Nothing here is random, and nothing depends on data: a half width is a public constant of a plan and a level.

Guarantees: for at most `FEW` terms, P(|sum| <= w) >= level, because rounding moves the sum by at most half a step per
term, which is added. For more terms (quantiles) one step is added for rounding: the rounding errors of single terms
nearly cancel. Tests check that coverage. `half_width_of_sum` is proved for any number of terms.
"""

from __future__ import annotations

import math
from collections.abc import Sequence
from dataclasses import dataclass
from functools import lru_cache

import numpy as np
from numpy.typing import NDArray

from hush.errors import NotCertified
from hush.noise.contract import Law
from hush.noise.level_noise import LevelNoise
from hush.noise.level_sums import joint_half_widths
from hush.noise.made_of import MadeOf
from hush.numerics import special
from hush.numerics.rounding import SUM_OF_POSITIVE_TERMS
from hush.sampling.exact import law_of
from hush.tables.column_law import ColumnLaw

__all__ = ["MOST_LEVEL", "Term", "half_width_of_sum", "half_widths"]

Array = NDArray[np.float64]
#: The largest level for which half widths are found: Fourier transforms in float64 give probabilities to about 1e-13.
MOST_LEVEL = 0.999_999_999
FEW = 3
_OUTSIDE = 0.002  # share of 1 - level: the probability that may lie beyond the grid, treated as outside the interval
_STEPS = 400  # grid steps in the half width of the widest term
_MOST_POINTS = 1 << 17
_AT_ONCE = 1 << 22  # numbers in one block of transforms


@dataclass(frozen=True)
class Term:
    """`times` independent noises of one law, each times `factor` > 0."""

    noise: Law
    step: float
    factor: float
    times: int = 1
    #: the column that the noise belongs to, if columns share one joint draw
    column: ColumnLaw | None = None

    @classmethod
    def of(cls, made: ColumnLaw, factor: float, times: int = 1) -> Term:
        """The noise of a column, times a factor."""
        return cls(made.noise, made.step, factor, times, made if made.joint is not None else None)

    def tail(self, x: Array) -> Array:
        """P(|factor N| > x)."""
        return np.minimum(law_of(self.noise, self.step).at(np.floor(x / (self.factor * self.step))), 1.0)

    def beyond(self, probability: float) -> float:
        """An x with P(|factor N| > x) <= probability."""
        return _steps_beyond(self.noise, self.step, probability) * self.step * self.factor

    @property
    def single(self) -> Term:
        """One of the noises."""
        return Term(self.noise, self.step, self.factor)


@lru_cache(maxsize=1024)
def _steps_beyond(noise: Law, step: float, probability: float) -> int:
    return int(law_of(noise, step).steps_beyond(probability))


@lru_cache(maxsize=1024)
def _truncated_variance(term: Term, most: float) -> float:
    """An upper bound of E min(|factor N|, most)^2: the integral of 2 x P(|factor N| > x), with the tail at the left end
    of each cell.
    """
    cells = np.linspace(0.0, most, 4097)
    return float(np.sum(term.tail(cells[:-1]) * np.diff(cells**2)))


def half_widths(sums: Sequence[Sequence[Term]], level: float) -> Array:
    """For each list of terms the w with P(|their sum| <= w) >= level."""
    listed = tuple(tuple(terms) for terms in sums)
    return np.array(
        _joint(listed, level) if any(t.column for terms in listed for t in terms) else _half_widths(listed, level)
    )


@lru_cache(maxsize=256)
def _joint(sums: tuple[tuple[Term, ...], ...], level: float) -> tuple[float, ...]:
    """The same for columns of one joint draw. Exact numbers that are rounded to the lattice add half a step."""
    columns = [term.column for terms in sums for term in terms]
    joint = next(column.joint for column in columns if column is not None)
    if joint is None or any(column is None or column.joint != joint for column in columns):
        raise NotCertified("the law of a sum of these columns is not known; leave the joint noise out.")
    factors, rounding = np.zeros((len(sums), joint.dimension or 1)), np.zeros(len(sums))
    for row, terms in enumerate(sums):
        for term in terms:
            assert term.column is not None and term.times == 1
            factors[row, term.column.place] += term.factor * term.step
            rounding[row] += 0.5 * term.factor * term.step * term.column.rounds
    if isinstance(joint, LevelNoise):
        return tuple(joint_half_widths(joint, factors, level) + rounding)
    if not isinstance(joint, MadeOf):
        raise NotCertified("the law of a sum of these columns is not known; leave the joint noise out.")
    apart = tuple(tuple(Term(*part) for part in joint.terms_of(row / joint.step)) for row in factors)
    return tuple(np.array(_half_widths(apart, level)) + rounding)


@lru_cache(maxsize=256)
def _half_widths(sums: tuple[tuple[Term, ...], ...], level: float) -> tuple[float, ...]:
    sums = tuple(tuple(term for term in terms if term.factor > 0.0 and term.times > 0) for terms in sums)
    missed = 1.0 - level
    outside = _OUTSIDE * missed
    far = max(_far(terms, outside) for terms in sums)
    if far <= 0.0:  # no noise
        return tuple(0.0 for _ in sums)
    points = 1 << math.ceil(math.log2(min(max(2.0 * far / _grid_step(sums, missed, far), 1024.0), _MOST_POINTS)))
    step = 2.0 * far / (points - 2)
    known: dict[Term, Array] = {}
    widths: list[float] = []
    block = max(1, _AT_ONCE // points)
    for start in range(0, len(sums), block):
        chosen = sums[start : start + block]
        spectra = np.stack([_spectrum(terms, step, points, known) for terms in chosen])
        masses = special.irfft(spectra, points, axis=-1)
        for terms, mass in zip(chosen, masses, strict=True):
            count = sum(term.times for term in terms)
            rounding = 0.5 * step * count if count <= FEW else step
            widths.append((_least_steps(mass, missed - 2.0 * outside - SUM_OF_POSITIVE_TERMS.share)) * step + rounding)
    return tuple(widths)


@lru_cache(maxsize=1024)
def half_width_of_sum(terms: tuple[Term, ...], level: float) -> float:
    """The w with P(|sum of the terms| <= w) >= level, proved for any number of independent terms.

    Where all terms lie on one lattice, the law of the sum is found on that lattice. Otherwise every term is rounded to
    the grid, and half a grid step is added for each of them. Bernstein's bound is used where it is smaller.
    """
    used = tuple(term for term in terms if term.factor > 0.0 and term.times > 0)
    if not used:
        return 0.0
    missed = 1.0 - level
    outside = _OUTSIDE * missed
    far, unit = _far(used, outside), min(term.factor * term.step for term in used)
    on_lattice = all((term.factor * term.step / unit).is_integer() for term in used)
    exact = on_lattice and 2.0 * far / unit + 4.0 <= _MOST_POINTS
    points = 1 << math.ceil(math.log2(2.0 * far / unit + 4.0)) if exact else _MOST_POINTS
    step = unit if exact else 2.0 * far / (points - 2)
    mass = special.irfft(_spectrum(used, step, points, {}), points)
    found = _least_steps(mass, missed - 2.0 * outside - SUM_OF_POSITIVE_TERMS.share) * step
    rounding = 0.0 if exact else 0.5 * step * sum(term.times for term in used)
    return min(found + rounding, _far(used, missed))


def _grid_step(sums: tuple[tuple[Term, ...], ...], missed: float, far: float) -> float:
    """A grid step that is small compared with the widest sum, so that its rounding hardly widens the interval."""
    widest = max(max(term.beyond(missed) for term in terms) for terms in sums if terms)
    if any(sum(term.times for term in terms) > FEW for terms in sums):
        spread = max(
            sum(t.times * _truncated_variance(t.single, t.beyond(0.01 * missed)) for t in terms)
            for terms in sums
            if terms
        )
        widest = max(widest, min(0.5 * math.sqrt(spread), 16.0 * widest))
    return max(widest, 1e-3 * far) / _STEPS


def _far(terms: tuple[Term, ...], outside: float) -> float:
    """A distance that the sum exceeds with probability at most `outside`: the sum of single distances, or Bernstein's
    bound if that is smaller.

    Bernstein: variables cut at +-x with variances that add up to V have P(|sum| > d) <= 2 exp(-d^2/(2 V + 2 x d/3)).
    """
    if not terms:
        return 0.0
    count = sum(term.times for term in terms)
    singly = sum(term.times * term.beyond(outside / count) for term in terms)
    if count <= FEW:
        return singly
    cut = max(term.beyond(0.5 * outside / count) for term in terms)
    variance = sum(term.times * _truncated_variance(term.single, cut) for term in terms)
    log = math.log(4.0 / outside)
    bernstein = cut * log / 3.0 + math.sqrt((cut * log / 3.0) ** 2 + 2.0 * variance * log)
    return min(singly, bernstein)


def _spectrum(terms: tuple[Term, ...], step: float, points: int, known: dict[Term, Array]) -> Array:
    """The Fourier transform of the law of the sum. It is real, because every law is symmetric."""
    spectrum = np.ones(points // 2 + 1)
    for term in terms:
        if term.single not in known:
            known[term.single] = _transform(term.single, step, points)
        spectrum = spectrum * _power(known[term.single], term.times)
    return spectrum


def _power(values: Array, times: int) -> Array:
    """values^times by repeated squares, which is faster than the power of floats."""
    result, square = values if times % 2 else np.ones_like(values), values
    while times := times // 2:
        square = square * square
        result = result * square if times % 2 else result
    return result


def _transform(term: Term, step: float, points: int) -> Array:
    """The transform of one term rounded to the grid. The mass beyond the grid is left out: it is treated as
    outside.
    """
    half = points // 2
    tails = term.tail(np.asarray((np.arange(half) + 0.5) * step, np.float64))
    mass = np.zeros(points)
    mass[0] = 1.0 - tails[0]
    mass[1:half] = 0.5 * (tails[:-1] - tails[1:])
    mass[half + 1 :] = mass[1:half][::-1]
    return np.asarray(special.rfft(mass).real)


def _least_steps(mass: Array, allowed: float) -> int:
    """The least m with at most `allowed` of the mass beyond m steps. Missing mass is treated as beyond."""
    half = mass.size // 2
    both = mass[:half].copy()
    both[1:] += mass[: half - 1 : -1][: half - 1]
    inside = np.cumsum(both)
    return int(np.searchsorted(inside, 1.0 - allowed))
