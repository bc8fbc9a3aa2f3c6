"""Which data sets are neighbours in a fit: one row replaced, or one person with some rows added or removed.

Every released vector is a sum of one contribution for each row. Let D be the largest distance of two contributions and
A the largest length of one. One replaced row moves the sum by at most D. A person with at most r rows, who is added or
removed, moves it by at most r A, by the triangle inequality. A bound on each number of a vector grows in the same way.
"""

from __future__ import annotations

from dataclasses import dataclass

from hush.errors import one_of
from hush.numerics.rounding import TWO_ROUNDINGS, up
from hush.privacy.budget import Guarantee
from hush.privacy.sensitivity import NEIGHBOURS, Sensitivity

__all__ = ["REPLACED_ROW", "Relation"]


@dataclass(frozen=True)
class Relation:
    """`neighbours` is "replace" (one row) or "add-remove": one person with at most `rows` rows is added or removed, or
    one row of an array (`unit` is "row").

    >>> Relation("add-remove", 3).bound(replaced={"linf": 2.0}, alone={"linf": 1.0}, l0=1)
    Sensitivity(linf=3.0, l0=1)
    """

    neighbours: str = "replace"
    rows: int = 1
    unit: str = "person"

    @classmethod
    def of_arrays(cls, neighbours: str | None) -> Relation:
        """The relation of a fit on arrays, from the parameter `neighbours`."""
        known = "replace" if neighbours is None else one_of("neighbours", neighbours, NEIGHBOURS)
        return cls(known, unit="person" if known == "replace" else "row")

    def guarantee(self, epsilon: float, delta: float, reason: str = "") -> Guarantee:
        """The guarantee for these neighbours."""
        return Guarantee(epsilon, delta, neighbours=self.neighbours, protects=self.unit, reason=reason)

    @property
    def moves(self) -> float:
        """The effect of a neighbour on a gradient, in units of that of one replaced row."""
        return self.rows * (1.0 if self.neighbours == "replace" else 0.5)

    @property
    def hides_rows(self) -> bool:
        """Whether neighbours can have different numbers of rows, so that the number is not public."""
        return self.neighbours != "replace"

    def bound(self, *, replaced: dict[str, float], alone: dict[str, float], **facts: int | None) -> Sensitivity:
        """The sensitivity of a sum over rows: from its move by one replaced row, and the size of one contribution."""
        moves = replaced if self.neighbours == "replace" else alone
        # linf is a whole number, so its product is exact; the other norms are rounded up
        norms = {
            name: self.rows * move if name == "linf" or self.rows == 1 else up(self.rows * move, TWO_ROUNDINGS)
            for name, move in moves.items()
        }
        return Sensitivity(neighbours=self.neighbours, **norms, **facts)  # type: ignore[arg-type]


REPLACED_ROW = Relation()
