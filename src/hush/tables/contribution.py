"""How far one person moves the integer aggregates: the sensitivity of a table of integers."""

from __future__ import annotations

import math
from dataclasses import dataclass

from hush.errors import InvalidParameter
from hush.privacy.sensitivity import Sensitivity

__all__ = ["Part", "Reach"]


@dataclass(frozen=True)
class Part:
    """Integer columns of one aggregate. In one group, one person added or removed moves at most `coordinates` of them.

    Each moves by at most `linf`, all of them together by at most `l1`. Both are whole numbers of grid steps. With
    `one_sided` an added person never makes a column smaller. `people` states that the column counts people: an added
    person moves it by exactly 1 in every group that this person moves.
    """

    aggregate: str
    columns: tuple[str, ...]
    linf: int
    coordinates: int = 1
    l1: int = 0
    one_sided: bool = False
    people: bool = False
    #: False: the bounds are still to be found privately, so linf is a placeholder
    settled: bool = True

    def __post_init__(self) -> None:
        object.__setattr__(self, "l1", self.l1 or self.linf * self.coordinates)


@dataclass(frozen=True)
class Reach:
    """One person added or removed moves at most `groups` groups, and in each of them every part within its bounds.

    Guarantees: this holds for each fixed salt (the proof is in `hush.tables.bound`).

    >>> reach = Reach(3, (Part("n", ("n",), 2), Part("ages", ("ages.0", "ages.1", "ages.2"), 2, coordinates=2, l1=2)))
    >>> reach.l0, reach.linf["ages.1"], reach.l1, reach.normalised()
    (9, 2, 12, Sensitivity(linf=1.0, l0=9))
    """

    groups: int
    parts: tuple[Part, ...]
    #: how many groups there are, if their keys are public; None if they are found privately
    listed: int | None = None

    def __post_init__(self) -> None:
        if len(set(self.columns)) != len(self.columns):
            raise InvalidParameter("two aggregates would have a column of the same name; give them other names.")

    @property
    def columns(self) -> tuple[str, ...]:
        """The names of the exact columns, in order."""
        return tuple(column for part in self.parts for column in part.columns)

    @property
    def linf(self) -> dict[str, int]:
        """The most each column moves, in any group."""
        return {column: part.linf for part in self.parts for column in part.columns}

    @property
    def l0(self) -> int:
        """The largest number of coordinates (cells of the table) that move."""
        return self.groups * sum(part.coordinates for part in self.parts)

    @property
    def l1(self) -> int:
        """The most the whole table moves, in grid steps added over all columns."""
        return self.groups * sum(part.l1 for part in self.parts)

    @property
    def l2(self) -> float:
        """The most the whole table moves in the Euclidean norm. Within a part, a column moves by at most linf, and
        all columns together by at most l1.
        """
        square = sum(min(part.coordinates * part.linf, part.l1) * part.linf for part in self.parts)
        return math.sqrt(self.groups * square)

    def normalised(self) -> Sensitivity:
        """The sensitivity after every column is divided by its linf: l0 coordinates, each by at most 1."""
        return Sensitivity(linf=1.0, l0=self.l0)
