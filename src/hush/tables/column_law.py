"""The noise of one column of a table, as far as intervals need it: its law, its lattice, and what it shares."""

from __future__ import annotations

from dataclasses import dataclass

from hush.noise.contract import Law, Noise
from hush.sampling.mechanism import Mechanism

__all__ = ["ColumnLaw"]


@dataclass(frozen=True)
class ColumnLaw:
    """The law of a column's noise on the lattice of `step`. It cannot draw: noise on data is drawn by a payment.

    `rounds` is True if exact numbers are rounded to the lattice before the noise is added. A column whose noise is
    drawn together with that of other columns has their joint noise as `joint`; `place` is its number there, and one
    step of the joint noise is one `step` of the column.
    """

    noise: Law
    step: float
    rounds: bool = False
    joint: Noise | None = None
    place: int = 0

    @classmethod
    def of(cls, made: Mechanism) -> ColumnLaw:
        """The noise of a column that is drawn by itself."""
        return cls(made.noise.marginal, made.step, made.rounds)
