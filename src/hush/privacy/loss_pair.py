"""Pairs of laws, described by their curves, and discrete distributions of privacy losses."""

from __future__ import annotations

from collections.abc import Hashable
from dataclasses import dataclass
from functools import cached_property
from typing import Any, Protocol

import numpy as np
from numpy.typing import NDArray

from hush.numerics.bracket import Bracket

__all__ = ["LossDistribution", "Pair", "Reversed", "is_listed", "kinks_of"]

Array = NDArray[np.float64]


class Pair(Hashable, Protocol):
    """Two laws, described by the curves of each against the other, for epsilon >= 0."""

    def forward(self, epsilon: Array) -> Bracket:
        """delta of the first against the second."""
        ...

    def backward(self, epsilon: Array) -> Bracket:
        """delta of the second against the first."""
        ...

    @property
    def symmetric(self) -> bool:
        """Is backward the same as forward?"""
        ...

    @property
    def pure_epsilon(self) -> float:
        """The largest loss in either direction, often infinite."""
        ...

    @property
    def spread(self) -> float:
        """The size of a typical loss; grid steps are relative to it."""
        ...

    @property
    def atoms(self) -> tuple[float, ...]:
        """Positive losses that have a positive probability each; the grid is aligned with the first."""
        ...


@dataclass(frozen=True)
class Reversed:
    """A pair in reverse order."""

    pair: Any

    def forward(self, epsilon: Array) -> Bracket:
        return self.pair.backward(epsilon)

    def backward(self, epsilon: Array) -> Bracket:
        return self.pair.forward(epsilon)

    @property
    def symmetric(self) -> bool:
        return bool(self.pair.symmetric)

    @property
    def pure_epsilon(self) -> float:
        return float(self.pair.pure_epsilon)

    @property
    def spread(self) -> float:
        return float(self.pair.spread)

    @property
    def atoms(self) -> tuple[float, ...]:
        return tuple(self.pair.atoms)


def kinks_of(pair: Any) -> Array:
    """The positive losses that have a probability of their own, as far as they are known, in increasing order. There
    the curve of the pair has kinks.
    """
    one = pair.pair if isinstance(pair, Reversed) else pair
    known: Array | None = getattr(one, "kinks", None)
    if known is not None:
        return known
    listed = _listed(one)
    losses = np.array(one.atoms, dtype=np.float64) if listed is None else listed.loss
    return np.unique(losses[(losses > 0.0) & np.isfinite(losses)])


def _listed(one: Any) -> Any:
    """The list of all losses of one number with noise, if there is one."""
    noise = getattr(one, "noise", None)
    return None if noise is None else noise.loss_terms(one.shift, 1.0)


def is_listed(pair: Any) -> bool:
    """Are all losses of the pair known, each with a probability of its own?"""
    return _listed(pair.pair if isinstance(pair, Reversed) else pair) is not None


@dataclass(frozen=True)
class LossDistribution:
    """Masses p at losses (first + i) step, or at places[i] step where not all places have a mass, and `infinite` mass
    at infinity.
    """

    masses: Array
    first: int
    step: float
    infinite: float
    places: NDArray[np.int64] | None = None
    #: added to every loss, and not contained in `losses`
    offset: float = 0.0

    @cached_property
    def losses(self) -> Array:
        if self.places is not None:
            return np.asarray(self.places * self.step, dtype=np.float64)
        return (self.first + np.arange(self.masses.size, dtype=np.float64)) * self.step

    @property
    def at(self) -> NDArray[np.int64]:
        """The place of every mass."""
        return self.first + np.arange(self.masses.size) if self.places is None else self.places

    @property
    def last(self) -> int:
        """The place of the largest finite loss."""
        return int(self.places[-1]) if self.places is not None else self.first + self.masses.size - 1

    @cached_property
    def log_masses(self) -> Array:
        with np.errstate(divide="ignore"):
            return np.log(self.masses)

    @property
    def at_zero(self) -> float:
        """delta at epsilon = 0."""
        return float((self.masses * -np.expm1(-np.maximum(self.losses + self.offset, 0.0))).sum()) + self.infinite

    def without_tail(self, sign: float, tilt: float, share: float) -> LossDistribution:
        """The distribution without its largest losses (or the least ones, for a negative sign), which have at most this
        share of the tilted mass.
        """
        tilted = self.tilted(tilt)
        tail = np.cumsum(tilted[:: -int(sign)])  # from the outside
        cut = int(np.searchsorted(tail, share))
        places = self.at
        kept = slice(0, self.masses.size - cut) if sign > 0.0 else slice(cut, None)
        return LossDistribution(self.masses[kept], int(places[kept][0]), self.step, 0.0, places[kept], self.offset)

    def tilted(self, tilt: float) -> Array:
        """p e^(tilt loss), divided by its sum."""
        exponent = self.log_masses + tilt * self.losses
        with np.errstate(under="ignore"):
            weights = np.exp(exponent - exponent.max())
        return np.asarray(weights / weights.sum())
