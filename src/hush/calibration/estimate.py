"""Estimates of delta in ordinary floats, for the search of a shape. The noise that is found is certified afterwards.

The density of a law of scale 1 is tabulated once, at points y = c sinh(v) with equal steps of v. For every scale the
privacy losses of the left half of the law follow by interpolation; those of the right half are their negatives, with
masses smaller by the factor e^(-loss). One release has delta = sum of masses (1 - e^(epsilon - loss)) over losses above
epsilon. For several releases the losses are put on a grid, and their sum is a power of a Fourier transform under a tilt
that centres it at epsilon.

Guarantees: none. delta is typically correct to 1e-3, and its error varies smoothly with the shape and the scale, so the
best shape is found to more digits than delta.
"""

from __future__ import annotations

import math
from functools import cached_property

import numpy as np
from numpy.typing import NDArray

from hush.errors import Unsupported
from hush.noise.contract import Law

__all__ = ["Estimate"]

Array = NDArray[np.float64]

_POINTS = 1000  # of the table
_REACH = 80.0  # the table ends at this multiple of 1/(2 f(0))
_INNER = 160  # points between 0 and half the shift
_STEP = 0.05  # of the grid of losses, as a share of the typical loss
_TILTED = 0.05  # the largest step times the tilt
_FEWEST, _MOST = 1024, 32768  # points of a transform
_WIDTH = 22.0  # standard deviations of the sum that a transform covers
_GONE = -60.0  # the logarithm that stands for delta = 0


class Estimate:
    """log(delta/target) of the multiples of one law, released together: `shifts` has (shift, number of releases)."""

    def __init__(self, unit: Law, epsilon: float, delta: float, shifts: tuple[tuple[float, int], ...]) -> None:
        self._unit, self._epsilon, self._delta, self._shifts = unit, epsilon, delta, shifts
        self._tilt = 1.0

    @cached_property
    def _table(self) -> tuple[float, float, Array, Array, Array]:
        """c, the step of v, the points y, log f there, and the weights of an integral over y."""
        peak = float(self._unit.log_density(np.zeros(())))
        if not math.isfinite(peak):
            raise Unsupported("no estimate for a density that is infinite at 0")
        c = 0.5 * math.exp(-peak)
        v, step = np.linspace(0.0, math.asinh(_REACH), _POINTS, retstep=True)
        y = c * np.sinh(v)
        weights = c * np.cosh(v) * step
        weights[0] *= 0.5
        return c, float(step), y, np.maximum(self._unit.log_density(y), -1e5), weights

    @property
    def size(self) -> float:
        """A typical magnitude of the law of scale 1: 1/(2 f(0))."""
        return self._table[0]

    def _log_density(self, y: Array) -> Array:
        """log f by cubic interpolation in v, for y >= 0."""
        c, step, _, known, _ = self._table
        place = np.arcsinh(y * (1.0 / c)) * (1.0 / step)
        index = np.clip(place.astype(np.int64), 1, _POINTS - 3)
        u = place - index
        before, here, after, beyond = (known[index + k] for k in (-1, 0, 1, 2))
        third = beyond - before + 3.0 * (here - after)
        return here + u * (  # Lagrange's polynomial through four points, by powers of u
            (after - before / 3.0 - 0.5 * here - beyond / 6.0) + u * (0.5 * (before + after) - here + u * (third / 6.0))
        )

    def _losses(self, shift: float) -> tuple[Array, Array, Array]:
        """Losses, their densities and the weights of an integral: from the middle between the law and its shifted copy
        to the far left.
        """
        _, _, y, known, weights = self._table
        inner = np.linspace(0.5 * shift, 0.0, _INNER)
        near = self._log_density(inner)
        left = near - self._log_density(shift - inner)
        cell = np.full(_INNER, 0.5 * shift / (_INNER - 1))
        cell[0] = cell[-1] = 0.5 * cell[0]
        losses = np.concatenate([left, known - self._log_density(y + shift)])
        return losses, np.exp(np.concatenate([near, known])), np.concatenate([cell, weights])

    def excess(self, log_scale: float) -> float:
        """log(delta/target) of the law at a scale; at most 0 means that it is estimated to be private."""
        with np.errstate(all="ignore"):
            found = [(*self._losses(shift * math.exp(-log_scale)), count) for shift, count in self._shifts]
            if len(found) == 1 and found[0][3] == 1:
                delta = self._of_one(*found[0][:3])
            else:
                delta = self._of_several([(losses, p * w, n) for losses, p, w, n in found])
        return math.log(delta / self._delta) if delta > self._delta * 1e-25 else _GONE

    def _of_one(self, losses: Array, density: Array, weights: Array) -> float:
        """The integral of the positive part of f(x) - e^epsilon f(x - shift), by trapezia that end at its zeros."""
        surplus = -density * np.expm1(self._epsilon - losses)
        total = 0.0
        for part in (slice(0, _INNER), slice(_INNER, None)):
            # trapezia in the variable of the points: the weights but for the halves at the ends
            g = surplus[part] * weights[part]
            g[0] *= 2.0
            if part.start == 0:
                g[-1] *= 2.0
            a, b = g[:-1], g[1:]
            up = np.maximum(a, 0.0) + np.maximum(b, 0.0)
            width = np.maximum(np.abs(a) + np.abs(b), 5e-324)
            total += float(np.sum(0.5 * up * (up / width)))
            total += float(np.sum(width[a * b < 0.0])) / 12.0  # the rule of Euler and Maclaurin, where the sum ends
        return total

    def _of_several(self, parts: list[tuple[Array, Array, int]]) -> float:
        signed = [_both_signs(*part) for part in parts]
        most = math.fsum(n * float(loss[p > 0.0].max()) for loss, p, n in parts)
        if self._epsilon >= most:
            return 0.0
        tilt = self._best_tilt(signed)
        logs, means, squares = zip(*(_tilted(loss, p, tilt) for loss, p, _ in signed), strict=True)
        counts = [n for _, _, n in signed]
        centre = math.fsum(n * m for n, m in zip(counts, means, strict=True))
        deviation = math.sqrt(math.fsum(n * s for n, s in zip(counts, squares, strict=True)))
        typical = math.sqrt(math.fsum(n * float(np.sum(p * loss * loss)) for loss, p, n in signed) / math.fsum(counts))
        step = max(min(_STEP * typical, _TILTED / max(tilt, 1e-9)), _WIDTH * deviation / _MOST)
        centre_loss = max(float(loss[_INNER]) for loss, _, _ in parts)  # an atom, if the law resembles Laplace noise
        step = centre_loss / math.ceil(centre_loss / step) if centre_loss > step else step
        size = 1 << max(math.ceil(math.log2(max(_WIDTH * deviation / step, _FEWEST))), 1)
        product = np.ones(size // 2 + 1, dtype=np.complex128)
        for loss, p, n in signed:
            product *= np.fft.rfft(_on_grid(loss, p, tilt, step, size)) ** n
        masses = np.maximum(np.fft.irfft(product, size), 0.0)
        first = math.floor(centre / step) - size // 2
        sums: Array = step * (float(first) + np.arange(float(size)))
        total = math.fsum(n * log for n, log in zip(counts, logs, strict=True))
        masses = masses[(first + np.arange(size)) % size] * np.exp(total - tilt * sums)
        return self._above_epsilon(sums, masses, step)

    def _above_epsilon(self, sums: Array, masses: Array, step: float) -> float:
        """The sum of masses (1 - e^(epsilon - loss)) over losses above epsilon, corrected for the place of epsilon on
        the grid by the rule of Euler and Maclaurin.
        """
        above = int(np.searchsorted(sums, self._epsilon, side="right"))
        terms = float(np.sum(masses[above:] * -np.expm1(self._epsilon - sums[above:])))
        near = masses[max(above - 2, 0) : above + 2]
        if near.size < 4 or not float(near.max()) < 3.0 * float(near.min()):  # at an end, or at an atom
            return terms
        u = (float(sums[above]) - self._epsilon) / step
        here = (1.0 - u) * float(masses[above]) + u * float(masses[above - 1])
        return terms + 0.5 * step * here * (u * u - u + 1.0 / 6.0)

    def _best_tilt(self, signed: list[tuple[Array, Array, int]]) -> float:
        """The tilt under which the mean of the sum is epsilon, by Newton's method from the tilt of the last scale."""
        tilt = self._tilt
        for _ in range(30):
            found = [(*_tilted(loss, p, tilt)[1:], n) for loss, p, n in signed]
            gap = self._epsilon - math.fsum(n * mean for mean, _, n in found)
            slope = math.fsum(n * square for _, square, n in found)
            move = min(max(gap / slope if slope > 0.0 else 0.0, -0.6 * tilt - 0.1), 2.0 * tilt + 1.0)
            tilt = min(max(tilt + move, 0.0), 500.0)
            if abs(move) < 0.02 * (tilt + 1e-3) or slope <= 0.0:
                break
        self._tilt = max(tilt, 1e-2)
        return tilt


def _both_signs(loss: Array, p: Array, count: int) -> tuple[Array, Array, int]:
    """Losses of both signs with their masses. The mass beyond the table, of heavy tails, has practically no loss."""
    opposite = p * np.exp(-loss)
    rest = max(1.0 - float(p.sum()) - float(opposite.sum()), 0.0)
    return np.concatenate([loss, -loss, [0.0]]), np.concatenate([p, opposite, [rest]]), count


def _tilted(loss: Array, p: Array, tilt: float) -> tuple[float, float, float]:
    """The log of the sum of p e^(tilt loss), and the mean and the variance of the losses under these weights."""
    exponent = tilt * loss
    most = float(exponent[p > 0.0].max())
    weights = p * np.exp(exponent - most)
    total = float(weights.sum())
    mean = float(weights @ loss) / total
    return most + math.log(total), mean, max(float(weights @ (loss * loss)) / total - mean * mean, 0.0)


def _on_grid(loss: Array, p: Array, tilt: float, step: float, size: int) -> Array:
    """Masses on the multiples of the step, modulo `size`, tilted and with the sum 1. Each loss is split among three
    neighbours, so that the mean and the mean square stay.
    """
    place = loss / step
    nearest = np.rint(place)
    share, index = place - nearest, nearest.astype(np.int64)
    square, mass = share * share, p * np.exp(tilt * (step * nearest - float(loss.max())))
    found = np.bincount(index % size, mass * (1.0 - square), size)
    for side in (-1, 1):
        split = mass * (0.5 * (square + side * share) * math.exp(side * tilt * step))
        found += np.bincount((index + side) % size, split, size)
    return found / found.sum()
