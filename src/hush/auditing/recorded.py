"""The witness of an audit by replay: it records what a first run asks for and releases, and gives it to a second run.

A draw is compared with the draw at the same place of the first run: the noise, its lattice, how many numbers, and how
far the exact numbers moved. The second run gets the numbers that the first run released.
"""

from __future__ import annotations

import os
from collections.abc import Callable
from dataclasses import dataclass, field
from datetime import UTC, datetime
from typing import Any

import numpy as np

from hush.sampling.mechanism import Mechanism
from hush.sampling.witness import Steps

__all__ = ["Choice", "Draw", "Run"]


@dataclass(frozen=True)
class Draw:
    """Noise that was added to exact numbers, which are in lattice steps."""

    mechanism: Mechanism
    exact: Steps
    released: Steps
    #: The names of the groups and their axis, if the data decide how many there are.
    cells: list[Any] | None = None
    axis: int = -1

    @property
    def like(self) -> tuple[str, float, int, tuple[int, ...]]:
        """What must not depend on the data: the noise, the step, and the shape without the axis of named groups."""
        shape = self.exact.shape if self.cells is None else _without(self.exact.shape, self.axis)
        return repr(self.mechanism.noise), self.mechanism.step, self.mechanism.coordinates, shape


@dataclass(frozen=True)
class Choice:
    """A choice of the largest of some exact numbers."""

    charge: Any
    exact: Steps
    released: Steps

    @property
    def like(self) -> tuple[str, int, int]:
        """What must not depend on the data."""
        return repr(self.charge.noise), self.charge.times, self.exact.size


@dataclass
class Run:
    """One run of a function. `first` is the run whose released numbers it gets; None for the first run."""

    first: Run | None = None
    draws: list[Draw | Choice] = field(default_factory=list)
    payments: list[str] = field(default_factory=list)
    secrets: list[bytes] = field(default_factory=list)
    times: list[datetime] = field(default_factory=list)
    #: calls of `hush.draw` without a payment
    loose: list[str] = field(default_factory=list)
    failure: Exception | None = None
    _inside: bool = False

    # -- what a witness is asked ---------------------------------------------------------------------------------

    def secret(self, size: int) -> bytes:
        """The bytes of the first run; fresh ones inside of a payment, whose noise is never drawn from recorded bits."""
        if self._inside:
            return os.urandom(size)
        known = [] if self.first is None else self.first.secrets[len(self.secrets) : len(self.secrets) + 1]
        made = known[0] if known and len(known[0]) == size else os.urandom(size)
        self.secrets.append(made)
        return made

    def paid(self, charges: tuple[Any, ...]) -> None:
        self.payments.append("; ".join(repr(charge) for charge in charges))

    def now(self) -> datetime:
        """The times of the first run."""
        known = [] if self.first is None else self.first.times[len(self.times) : len(self.times) + 1]
        self.times.append(known[0] if known else datetime.now(UTC))
        return self.times[-1]

    def refuse(self, failure: Exception) -> None:
        self.failure = failure

    def drew(self, noise: Any, shape: Any, step: float) -> None:
        if not self._inside:
            self.loose.append(repr(noise) + f" on steps of {step:g}, shape {shape}")

    def noisy(self, mechanism: Mechanism, steps: Steps, cells: Any, fresh: Callable[[Steps], Steps]) -> Steps:
        axis = 0 if mechanism.noise.dimension else -1
        names = None if cells is None else _names(cells)
        if names is not None and (not steps.ndim or steps.shape[axis] != len(names)):
            names = None
        drawn = self._fresh(fresh, steps)
        made = Draw(mechanism, steps.copy(), drawn, names, axis)
        known = self._known()
        if isinstance(known, Draw) and known.like == made.like:
            made = Draw(mechanism, made.exact, _given(known, made), names, axis)
        self.draws.append(made)
        return made.released.copy()

    def chosen(self, charge: Any, numbers: Steps, fresh: Callable[[Steps], Steps]) -> Steps:
        made = Choice(charge, numbers.copy(), self._fresh(fresh, numbers))
        known = self._known()
        if isinstance(known, Choice) and known.like == made.like:
            made = Choice(charge, made.exact, known.released)
        self.draws.append(made)
        return made.released.copy()

    # ------------------------------------------------------------------------------------------------------------

    def _known(self) -> Draw | Choice | None:
        """The draw of the first run at this place."""
        place = len(self.draws)
        return self.first.draws[place] if self.first is not None and place < len(self.first.draws) else None

    def _fresh(self, fresh: Callable[[Steps], Steps], steps: Steps) -> Steps:
        self._inside = True
        try:
            return fresh(steps)
        finally:
            self._inside = False


def _given(known: Draw, made: Draw) -> Steps:
    """The numbers that the first run released. A group that it did not have keeps its fresh noise."""
    if known.cells is None or made.cells is None:
        return known.released if known.cells is made.cells else made.released
    out = made.released.copy()
    places = {name: place for place, name in enumerate(known.cells)}
    for place, name in enumerate(made.cells):
        if name in places:
            np.moveaxis(out, made.axis, 0)[place] = np.moveaxis(known.released, known.axis, 0)[places[name]]
    return out


def _without(shape: tuple[int, ...], axis: int) -> tuple[int, ...]:
    kept = list(shape)
    del kept[axis]
    return tuple(kept)


def _names(cells: Any) -> list[Any]:
    """The groups of a table, one tuple of keys for each."""
    columns = [column.to_pylist() for column in cells.columns]
    return list(zip(*columns, strict=True)) if columns else [()] * cells.num_rows
