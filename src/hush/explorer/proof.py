"""One noise of the page with its proof: the privacy curve of exactly the noise that is shown, and its errors."""

from __future__ import annotations

import math
from dataclasses import dataclass, field
from functools import cached_property

import numpy as np
from numpy.typing import NDArray

import hush
from hush.explorer.state import State
from hush.noise.catalogue import in_words

__all__ = ["Absence", "AnalysedNoise", "epsilon_grid", "proved"]

Array = NDArray[np.float64]
#: Scaling a noise to a sensitivity rounds its parameters, so that it may exceed the budget slightly. The smallest of
#: these relative enlargements that meets the budget is used.
_RISES = (0.0, 1e-14, 1e-12, 1e-10, 1e-8)


@dataclass(frozen=True)
class Absence:
    """A family without a noise for this budget, and the reason."""

    family: str
    reason: str


@dataclass(frozen=True, eq=False)
class AnalysedNoise:
    """The noise of a family, with its privacy curve and the proved delta at the chosen epsilon."""

    family: str
    noise: hush.Noise
    curve: hush.Curve = field(repr=False)
    epsilon: float
    delta: float

    @cached_property
    def delta_at_zero(self) -> float:
        return float(self.curve.delta(0.0))

    @property
    def words(self) -> str:
        """The noise with its parameters, in a short form."""
        return in_words(self.noise)

    @cached_property
    def law(self) -> hush.Law:
        """The law of the noise of one number."""
        return self.noise.marginal

    @cached_property
    def variance(self) -> float:
        return float(self.noise.variance)

    @property
    def standard_error(self) -> float:
        return math.sqrt(self.variance)

    @cached_property
    def _reaches(self) -> Array:
        return np.asarray(self.law.isf(np.array([0.025, 0.001, 0.25])))

    @property
    def error95(self) -> float:
        """Half the width of the interval that contains 95 % of the noise."""
        return float(self._reaches[0])

    @property
    def median_error(self) -> float:
        """Half of all errors are at most this. It is a typical error; the standard error is not, because rare large
        errors dominate it.
        """
        return float(self._reaches[2])

    @property
    def reach(self) -> float:
        """2 in 1,000 errors are larger than this, in absolute value."""
        return float(self._reaches[1])

    @cached_property
    def drawn(self) -> Array:
        """The privacy curve on the grid of the chart, as upper bounds."""
        return np.asarray(self.curve.delta(epsilon_grid(self.epsilon)))

    def density(self, x: Array) -> Array:
        """The density of the noise of one number; on a lattice, the probability of the nearest point over the step."""
        if not self.law.discrete:
            return np.asarray(self.law.pdf(x))
        step = self.law.step
        return np.asarray(self.law.pdf(np.round(x / step) * step)) / step


def proved(state: State, family: str, found: hush.Noise | str, scale: float) -> AnalysedNoise | Absence:
    """The analysis of a noise times `scale` under the guarantee of the page; a text is the reason of an absence."""
    if isinstance(found, str):
        return Absence(family, found)
    given = math.inf
    for rise in _RISES:
        factor = scale * (1.0 + rise)
        noise = found if factor == 1.0 else found.scaled(factor)
        curve = hush.curve(noise, state.bound, times=state.releases)
        given = float(curve.delta(state.epsilon))
        if given <= state.delta:
            return AnalysedNoise(family, noise, curve, state.epsilon, given)
    return Absence(family, f"its delta is {given:.3g}, above the budget")


def epsilon_grid(epsilon: float) -> Array:
    """The epsilons at which privacy curves are drawn: from 0 to twice the chosen epsilon, with more points near it,
    where pure curves end.
    """
    near = np.array([0.94, 0.98, 0.995, 1.01, 1.04, 1.1])
    return np.sort(np.append(np.linspace(0.0, 2.0, 13), near)) * epsilon
