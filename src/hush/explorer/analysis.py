"""The analysis of each noise that the page shows. Precomputed parameters save the search; the proof is always done for
the noise that is shown.
"""

from __future__ import annotations

import math
from dataclasses import dataclass, field
from functools import cached_property, lru_cache

import numpy as np
from numpy.typing import NDArray

import hush
from hush.errors import Unsupported
from hush.explorer import precomputed
from hush.explorer.state import State
from hush.explorer.wording import privacy
from hush.noise.catalogue import in_words, ranked
from hush.noise.family import Family

__all__ = ["Absence", "AnalysedNoise", "best", "epsilon_grid", "findings"]

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
    noise: hush.Law
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
    def variance(self) -> float:
        return self.noise.variance

    @property
    def standard_error(self) -> float:
        return math.sqrt(self.variance)

    @cached_property
    def _reaches(self) -> Array:
        return np.asarray(self.noise.isf(np.array([0.025, 0.001, 0.25])))

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


def findings(state: State) -> list[AnalysedNoise | Absence]:
    """Every family in the order of its rank, each with its analysis; families that do not meet the budget are last."""
    made = _analysed(state.epsilon, state.delta, state.sensitivity, state.groups, state.releases, ranked(lattice=False))
    return sorted(made, key=lambda found: isinstance(found, Absence))


def best(state: State) -> AnalysedNoise:
    """The family with the least noise for this budget."""
    found = findings(state)[0]
    if isinstance(found, Absence):
        raise Unsupported(
            f"no family meets {privacy(state.epsilon, state.delta)} here ({found.family}: {found.reason})."
        )
    return found


@lru_cache(maxsize=64)
def _analysed(
    epsilon: float, delta: float, sensitivity: float, groups: int, releases: int, known: tuple[Family, ...]
) -> tuple[AnalysedNoise | Absence, ...]:
    """`known` are the registered families: a part of the cache key, so that a new family is shown at once."""
    bound = hush.Sensitivity(linf=sensitivity, l0=groups)

    def analysed(family: str, unit: hush.Law | str) -> AnalysedNoise | Absence:
        if isinstance(unit, str):
            return Absence(family, unit)
        given = math.inf
        for rise in _RISES:
            factor = sensitivity * (1.0 + rise)
            noise = unit if factor == 1.0 else unit.scaled(factor)
            curve = hush.curve(noise, bound, times=releases)
            given = float(curve.delta(epsilon))
            if given <= delta:
                return AnalysedNoise(family, noise, curve, epsilon, given)
        return Absence(family, f"its delta is {given:.3g}, above the budget")

    return tuple(analysed(*entry) for entry in precomputed.row(epsilon, delta, groups * releases))


def epsilon_grid(epsilon: float) -> Array:
    """The epsilons at which privacy curves are drawn: from 0 to twice the chosen epsilon, with more points near it,
    where pure curves end.
    """
    near = np.array([0.94, 0.98, 0.995, 1.01, 1.04, 1.1])
    return np.sort(np.append(np.linspace(0.0, 2.0, 13), near)) * epsilon
