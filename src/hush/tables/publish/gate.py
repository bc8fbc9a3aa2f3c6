"""What decides which private groups are shown, and which shown groups are near the threshold."""

from __future__ import annotations

from dataclasses import dataclass
from typing import Any

import numpy as np
from numpy.typing import NDArray

from hush.tables.arrow import plain_numbers
from hush.tables.column_noise import Spending
from hush.tables.description import QueryDescription
from hush.tables.estimate import half_width, numbers
from hush.tables.output import ends_of_shown
from hush.tables.shown_ends import ShownEnds

__all__ = ["Gate"]


@dataclass(frozen=True)
class Gate:
    """The noisy number of people and its threshold. `ends` are intervals that hold among shown groups; None if none are
    proved for the noise.
    """

    spent: Spending
    column: str
    threshold: float
    #: the aggregate whose numbers are marked
    marked: str
    #: the half width of the noise of the number of people
    half: float
    ends: ShownEnds | None

    @classmethod
    def of(cls, query: QueryDescription, spent: Spending, level: float) -> Gate | None:
        """The gate of a query; None if its keys are public, or if it publishes no number."""
        names = [name for measure in query.shown for name in measure.output_names]
        if spent.rule is None or spent.units is None or spent.threshold is None or not names:
            return None
        ends, law = ends_of_shown(spent, level), spent.mechanisms[spent.units]
        half = half_width(law, level) if ends is None else ends.far
        marked = query.threshold if query.threshold in names else names[0]
        return cls(spent, spent.units, spent.threshold, str(marked), half, ends)

    def at(self, level: float) -> ShownEnds | None:
        """The intervals at another level."""
        return ends_of_shown(self.spent, level)

    def near(self, released: Any) -> NDArray[np.bool_]:
        """Which groups are near the threshold: the noise interval of their number of people reaches below it."""
        return np.asarray(numbers(plain_numbers(released.column(self.column))) - self.half < self.threshold)

    @property
    def words(self) -> str:
        """What the mark of a group means."""
        text = "* near the threshold: such a group is shown only if its noise is high enough, so its number is too high"
        if self.ends is None:
            return f"{text} on average, and the interval does not allow for that"
        people = self.marked == self.column
        allowed = f"{text} on average; the interval of {self.marked} allows for that" if people else text
        joint = self.spent.joint is not None and len(self.spent.drawn) > 1
        return f"{allowed}, those of other numbers do not" if joint else allowed
