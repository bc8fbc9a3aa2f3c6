"""Integrals of a law, computed from its density only. The checks of a noise class compare with these.

A density on the half line is summed over panels that double in width (20-point Gauss rules, two panels for each octave,
split where the density is not smooth). A law on a lattice is summed over its points.
"""

from __future__ import annotations

import math
from dataclasses import dataclass
from functools import cached_property
from typing import Any

import numpy as np
from numpy.typing import NDArray

from hush.noise.contract import Law
from hush.numerics.quadrature import gauss
from hush.numerics.root import halved

__all__ = ["DensitySums"]

Array = NDArray[np.float64]

#: Octaves from the unit of the law: outwards far enough for a Cauchy tail, inwards near enough for a smooth centre.
_OUTWARDS, _INWARDS = 60, 8
_DEEP = 900  # octaves inwards if the density is infinite at 0
_PER_OCTAVE = 2
_ORDER = 20
_FADED = -120.0  # log of x^3 f(x), in units; panels below this are omitted
_MOST_BREAKS = 50_000
_MOST_POINTS = 4_000_000


@dataclass(frozen=True)
class DensitySums:
    """The sums of one law. `unit` is a typical length, which need not be exact."""

    noise: Law
    unit: float

    @classmethod
    def of(cls, noise: Law) -> DensitySums:
        """The sums of a law, in units of its quartile, or of its step if that is larger."""
        unit = float(np.asarray(noise.isf(0.25)))
        step = float(getattr(noise, "step", 0.0)) if noise.discrete else 0.0
        return cls(noise, max(unit, step) if math.isfinite(unit) and max(unit, step) > 0.0 else 1.0)

    # -- where to sum ----------------------------------------------------------------------------------------

    @cached_property
    def edges(self) -> Array:
        """Ends of the panels of the half line, from 0 outwards; for a lattice law, the middles between its points."""
        noise = self.noise
        if noise.discrete:
            return np.asarray((np.arange(self._points()) + 0.5) * noise.step, dtype=np.float64)
        inwards = _DEEP if self._pole else _INWARDS
        octaves = np.arange(-inwards * _PER_OCTAVE, _OUTWARDS * _PER_OCTAVE + 1) / _PER_OCTAVE
        with np.errstate(under="ignore", over="ignore"):
            edges = self.unit * np.exp2(octaves)
            edges = edges[np.isfinite(edges) & (edges < noise.support)]
            far = noise.log_density(edges) + math.log(self.unit) + 3.0 * np.log(edges / self.unit)
        last = int(np.max(np.flatnonzero(far > _FADED), initial=0)) + 1
        edges = edges[: last + 1]
        end = noise.support if math.isfinite(noise.support) and last + 1 >= edges.size else edges[-1]
        inner = np.concatenate([[] if self._pole else [0.0], edges, self.breaks, [end]])
        return np.unique(inner[inner <= end])

    @property
    def _pole(self) -> bool:
        """Is the density infinite at 0?"""
        return bool(np.isposinf(self.noise.log_density(np.zeros(1))[0]))

    @cached_property
    def breaks(self) -> Array:
        """Where the density is not smooth, up to its 1e-17 tail."""
        far = float(np.asarray(self.noise.isf(1e-17)))
        found = self.noise.breaks(far, _MOST_BREAKS) if math.isfinite(far) else None
        listed = np.array(self.noise.kinks, dtype=np.float64) if found is None else found
        return listed[np.isfinite(listed) & (listed > 0.0)]

    def _points(self) -> int:
        """How many points 0, 1, 2, ... a lattice law needs, down to e^-90 of its centre."""
        step: float = self.noise.step
        centre = float(self.noise.log_density(np.zeros(1))[0])
        count = 16
        while count < _MOST_POINTS and float(self.noise.log_density(np.array([count * step]))[0]) > centre - 90.0:
            count *= 2
        return count

    def _rule(self, edges: Array) -> tuple[Array, Array]:
        """Nodes and weights, a row for each panel."""
        if self.noise.discrete:
            step: float = self.noise.step
            nodes: Array = (np.arange(1.0, edges.size) * step)[:, None]
            return nodes, np.ones_like(nodes)
        at, weights = gauss(_ORDER)
        width = np.diff(edges)[:, None]
        return edges[:-1, None] + width * at, width * weights

    # -- moments and tails -----------------------------------------------------------------------------------

    @cached_property
    def _panels(self) -> tuple[Array, Array]:
        """Nodes, and weights times density, a row for each panel of the half line x > 0."""
        nodes, weights = self._rule(self.edges)
        with np.errstate(under="ignore"):
            return nodes, weights * np.exp(self.noise.log_density(nodes))

    def moment(self, power: int) -> float:
        """E |X|^power; infinite if the far panels do not decrease."""
        nodes, mass = self._panels
        with np.errstate(under="ignore", over="ignore"):
            terms = (mass * nodes**power).sum(axis=1)
        total = 2.0 * (math.fsum(terms) + self._beyond(terms) + self._within(terms))
        return total + (
            math.exp(float(self.noise.log_density(np.zeros(1))[0])) if self.noise.discrete and power == 0 else 0.0
        )

    def information(self) -> float:
        """E (f'/f)^2 by differences of log f, each inside one panel."""
        nodes, mass = self._panels
        low, high = self.edges[:-1, None], self.edges[1:, None]
        width = 0.25 * np.minimum(1e-3 * np.maximum(self.unit, nodes), np.minimum(nodes - low, high - nodes))
        with np.errstate(under="ignore"):
            slope = (self.noise.log_density(nodes + width) - self.noise.log_density(nodes - width)) / (2.0 * width)
            terms = (mass * slope * slope).sum(axis=1)
        return 2.0 * (math.fsum(terms) + self._beyond(terms))

    def _beyond(self, terms: Array) -> float:
        """The integral beyond the last panel."""
        if self.noise.discrete or math.isfinite(self.noise.support):
            return 0.0
        end, low = self.edges[-1], self.edges[:-1]
        return _rest(terms[low >= 0.49 * end], terms[(low >= 0.24 * end) & (low < 0.49 * end)], math.fsum(terms))

    def _within(self, terms: Array) -> float:
        """The integral between 0 and the first panel, for a density that is infinite at 0."""
        if not self._pole:
            return 0.0
        return _rest(terms[:_PER_OCTAVE], terms[_PER_OCTAVE : 2 * _PER_OCTAVE], math.fsum(terms))

    def tails(self) -> tuple[Array, Array]:
        """Some ends x of panels, from the centre to far out, and P(X > x) there."""
        terms = self._panels[1].sum(axis=1)
        beyond = np.cumsum(terms[::-1])[::-1] + self._beyond(terms)
        wanted = [int(np.searchsorted(-beyond, -level)) for level in (0.45, 0.3, 0.1, 1e-2, 1e-4, 1e-7, 1e-10)]
        chosen = sorted({place for place in wanted if 0 < place < beyond.size})
        return self.edges[:-1][chosen], beyond[chosen]

    # -- privacy ---------------------------------------------------------------------------------------------

    def _line(self, shift: float) -> tuple[Array, Array]:
        """Nodes of the whole line and their weights, for the density and its shifted copy."""
        if self.noise.discrete:
            step: float = self.noise.step
            reach = self.edges.size + math.ceil(shift / step)
            points: Array = np.arange(-reach, reach + 1).astype(np.float64) * step
            return points, np.ones_like(points)
        mirrored = np.concatenate([-self.edges, self.edges])
        edges = np.unique(np.concatenate([mirrored, mirrored + shift]))
        nodes, weights = self._rule(edges)
        return nodes.ravel(), weights.ravel()

    def loss(self, x: Array, shift: float) -> Array:
        """log f(x)/f(x - shift), minus infinity where f(x) is 0."""
        here, there = self._log(x), self._log(x - shift)
        with np.errstate(invalid="ignore"):
            return np.where(np.isneginf(here), -np.inf, here - there)

    def _log(self, x: Array) -> Array:
        if self.noise.discrete:
            return self.noise.log_density(x)
        inside = np.abs(x) <= self.noise.support
        return np.where(inside, self.noise.log_density(np.where(inside, x, 0.0)), -np.inf)

    def divergence(self, epsilon: float, shift: float) -> float:
        """The integral of max(f(x) - e^epsilon f(x - shift), 0)."""
        x, weights = self._line(shift)
        if not self.noise.discrete:
            x, weights = self._cut(x, epsilon, shift)
        with np.errstate(under="ignore", over="ignore"):
            share = -np.expm1(np.minimum(epsilon - self.loss(x, shift), 0.0))
            return float(np.sum(weights * np.exp(self._log(x)) * share))

    def _cut(self, x: Array, epsilon: float, shift: float) -> tuple[Array, Array]:
        """The nodes again, with panels that end where the loss crosses epsilon: a corner inside a panel would cost
        accuracy.
        """
        above = self.loss(x, shift) > epsilon
        place = np.flatnonzero(above[1:] != above[:-1])

        def crossed(middle: Array) -> Any:
            return (self.loss(middle, shift) > epsilon) != above[place]

        # the error of a corner grows with the square of its distance from the panel end
        low = halved(crossed, x[place], x[place + 1], turns=24)[0]
        mirrored = np.concatenate([-self.edges, self.edges])
        edges = np.unique(np.concatenate([mirrored, mirrored + shift, low]))
        nodes, weights = self._rule(edges)
        return nodes.ravel(), weights.ravel()

    def largest_loss(self, shift: float) -> float:
        """The largest loss at the nodes: at most the true supremum."""
        x = self._line(shift)[0]
        inside = np.exp(np.minimum(self._log(x), 0.0)) > 1e-300
        return float(np.max(self.loss(x[inside], shift)))

    def shifts(self) -> tuple[float, ...]:
        """Shifts to test: about 0.3, 1 and 3 units."""
        if self.noise.discrete:
            step: float = self.noise.step
            return tuple(sorted({max(1, round(k * self.unit / step)) * step for k in (0.3, 1.0, 3.0)}))
        return (0.3 * self.unit, self.unit, 3.0 * self.unit)


def _rest(last: Array, before: Array, total: float) -> float:
    """The sum after the last octave, if octaves continue as a geometric sequence; infinite if they do not decrease."""
    here, inner = math.fsum(last), math.fsum(before)
    if here <= 1e-13 * total:
        return 0.0
    ratio = here / inner if inner > 0.0 else math.inf
    return here * ratio / (1.0 - ratio) if ratio < 0.9999 else math.inf
