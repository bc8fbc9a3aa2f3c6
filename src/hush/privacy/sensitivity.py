"""Sensitivity: how far an answer can move when the data of one person changes."""

from __future__ import annotations

import math
from collections.abc import Mapping
from dataclasses import dataclass, fields
from fractions import Fraction
from functools import lru_cache
from typing import Any

import numpy as np

from hush.errors import InvalidParameter, each, made_like, one_of, positive, reject, shown, whole
from hush.numerics.rounding import FEW_ROUNDINGS, next_up, up

__all__ = ["NEIGHBOURS", "Sensitivity"]

NEIGHBOURS = ("add-remove", "replace")
_HINT = "write Sensitivity(linf=1.0, l0=3)"
_COLUMNS = "Sensitivity(columns=(1.0, 1.0), l0=3)"


@made_like("Sensitivity(linf=1.0, l0=3)")
@dataclass(frozen=True, repr=False, kw_only=True)
class Sensitivity:
    """Facts about f(D) - f(D') for neighbouring data sets D and D'. All given facts must hold. An additional true fact
    never makes a privacy bound worse.

    linf        each number moves by at most this (or a list: one bound for each number)
    l0          at most this many numbers move
    l1, l2      a bound on the Manhattan or Euclidean norm of all moves together
    dimension   how many numbers there are; without l0 all of them may move
    one_sided   True: all numbers move in the same direction, as counts do when a person is added or removed; a list
                has True for the numbers (or columns) that move in this direction and False for all others
    columns     how far each column moves in a group, for a table whose groups have the same columns. l0 is then the
                most groups that a person moves, and `groups` the number of groups, if it is known
    people      the place of the number (or column) of people: it moves by exactly its bound, in the direction of the
                one-sided numbers, whenever any number (of its group) moves
    tables      the numbers are tables of these sizes that count the same rows: the moves of each table are one-sided
                and have the same sum, at most linf

    A single number s is the sensitivity of an answer that is one number. linf alone raises an error, because it does
    not bound how many numbers move. `neighbours` is the relation for which the facts hold: "add-remove" (one person
    more or less) or "replace" (the data of one person replaced).

    >>> Sensitivity(linf=2.0, l0=4).l2_bound
    4.0
    >>> Sensitivity(linf=1.0, dimension=3)
    Sensitivity(linf=1.0, dimension=3)
    """

    linf: float | tuple[float, ...] | None = None
    l0: int | None = None
    l1: float | None = None
    l2: float | None = None
    neighbours: str = "add-remove"
    dimension: int | None = None
    one_sided: bool | tuple[bool, ...] = False
    columns: tuple[float, ...] | None = None
    groups: int | None = None
    people: int | None = None
    tables: tuple[int, ...] | None = None

    def __post_init__(self) -> None:
        for name in ("linf", "l1", "l2"):
            value = getattr(self, name)
            if name == "linf" and isinstance(value, list | tuple | np.ndarray):
                object.__setattr__(self, name, tuple(each(positive, "linf", value, instead=_HINT)) or None)
            elif value is not None:
                object.__setattr__(self, name, positive(name, value, _HINT))
        for name in ("l0", "dimension", "groups"):
            if getattr(self, name) is not None:
                object.__setattr__(self, name, whole(name, getattr(self, name), 1, _HINT))
        one_of("neighbours", self.neighbours, NEIGHBOURS)
        self._check_columns()
        self._check_directions()
        self._check_count()
        if self.tables is not None:
            object.__setattr__(self, "tables", tuple(each(whole, "tables", self.tables, 1)))
            if sum(self.tables) != self.dimension or self.one_sided is not True or isinstance(self.linf, tuple | None):
                raise InvalidParameter("tables needs linf, one_sided=True and dimension, the cells of all tables.")

    def _check_columns(self) -> None:
        if self.columns is None:
            if self.groups is not None:
                raise InvalidParameter("groups needs columns; write Sensitivity(columns=(1.0, 1.0), l0=3, groups=11).")
            return
        if not isinstance(self.columns, list | tuple | np.ndarray) or not len(self.columns):
            raise reject("columns", self.columns, "a list of bounds", f"write {_COLUMNS}")
        object.__setattr__(self, "columns", tuple(each(positive, "columns", self.columns, instead=f"write {_COLUMNS}")))
        others = (self.linf, self.l1, self.l2, self.dimension)
        if any(fact is not None for fact in others) or self.l0 is None:
            raise InvalidParameter(
                f"columns needs l0, the most groups of a person, and no other bound; write {_COLUMNS}."
            )
        if self.groups is not None and self.l0 > self.groups:
            raise InvalidParameter(f"l0 must be at most {self.groups}, the number of groups, got {self.l0}.")

    def _check_directions(self) -> None:
        flags = self.one_sided
        if isinstance(flags, list | tuple | np.ndarray) and all(isinstance(flag, bool | np.bool_) for flag in flags):
            object.__setattr__(self, "one_sided", tuple(bool(flag) for flag in flags))
            if len(flags) != len(self.each_move):
                raise InvalidParameter(f"one_sided lists {len(flags)} numbers, but there are {len(self.each_move)}.")
            if len(set(flags)) == 1:
                object.__setattr__(self, "one_sided", bool(flags[0]))
        elif not isinstance(flags, bool):
            raise InvalidParameter(
                f"one_sided must be True, False or a list of them, got {shown(flags)}; write one_sided=True."
            )
        if self.people is not None:
            object.__setattr__(self, "people", whole("people", self.people, 0, "write people=0"))
            if self.people >= len(self.each_move) or not self.each_one_sided[self.people]:
                raise InvalidParameter(
                    f"people must be the place of a one-sided number, from 0 to {len(self.each_move) - 1}, "
                    f"got {self.people}."
                )
        if self.one_sided and self.neighbours != "add-remove":
            raise InvalidParameter(
                "one_sided=True needs neighbours='add-remove': replacing a person can move numbers in both directions; "
                "leave one_sided out."
            )

    def _check_count(self) -> None:
        if isinstance(self.linf, tuple):
            listed = len(self.linf)
            if self.dimension not in (None, listed):
                raise InvalidParameter(
                    f"linf lists {listed} numbers, but dimension is {self.dimension}; leave one of the two out."
                )
            if self.l0 is None and self.l1 is None and self.l2 is None:
                object.__setattr__(self, "l0", listed)
        most = len(self.linf) if isinstance(self.linf, tuple) else self.dimension
        if most is not None and self.l0 is not None and self.l0 > most:
            raise InvalidParameter(f"l0 must be at most {most}, the number of coordinates, got {self.l0}.")
        if self.linf is None and self.l1 is None and self.l2 is None and self.columns is None:
            raise InvalidParameter(
                "Sensitivity needs at least one of linf, l1 and l2; write Sensitivity(linf=1.0, l0=3)."
            )
        if self.moving is None and self.l1 is None and self.l2 is None:
            raise InvalidParameter(
                f"linf={shown(self.linf)} does not bound how many numbers move; write "
                f"Sensitivity(linf={shown(self.linf)}, l0=1) "
                "if at most one number moves, l0=K for at most K numbers, or dimension=D for all of D numbers."
            )

    def __repr__(self) -> str:
        known = [
            f.name + "=" + repr(getattr(self, f.name))
            for f in fields(self)
            if getattr(self, f.name) not in (None, f.default)
        ]
        return f"Sensitivity({', '.join(known)})"

    @classmethod
    def of(cls, value: Any) -> Sensitivity:
        """A Sensitivity unchanged; a number s becomes Sensitivity(linf=s, l0=1, dimension=1)."""
        if isinstance(value, Sensitivity):
            return value
        return cls(
            linf=positive("sensitivity", value, "write sensitivity=1.0 or Sensitivity(linf=1.0, l0=3)"),
            l0=1,
            dimension=1,
        )

    # -- derived bounds --------------------------------------------------------------------------------------

    @property
    def each_move(self) -> tuple[float, ...]:
        """The bound of each number; of each column in a group; or the one bound of all numbers."""
        if self.columns is not None:
            return self.columns
        if isinstance(self.linf, tuple):
            return self.linf
        return tuple(shift for shift, _ in self.box or ()) * (self.dimension or 1)

    @property
    def of_one_group(self) -> Sensitivity:
        """The facts about the columns of one group: they are a vector, and all of them may move."""
        if self.columns is None:
            return self
        same = len(set(self.columns)) == 1
        return Sensitivity(
            linf=self.columns[0] if same else self.columns,
            dimension=len(self.columns),
            one_sided=self.one_sided,
            people=self.people,
            neighbours=self.neighbours,
        )

    @property
    def each_one_sided(self) -> tuple[bool, ...]:
        """For each of `each_move`: does it move in the common direction?"""
        return self.one_sided if isinstance(self.one_sided, tuple) else (self.one_sided,) * len(self.each_move)

    @property
    def moving(self) -> int | None:
        """The most numbers that can move; None where no fact bounds it."""
        if self.columns is not None:
            return len(self.columns) * (self.l0 or 1)
        listed = len(self.linf) if isinstance(self.linf, tuple) else None
        return min((count for count in (self.l0, self.dimension, listed) if count is not None), default=None)

    @property
    def has_box(self) -> bool:
        """Are linf and the number of moving numbers known? l1 and l2 may be known too."""
        return (self.linf is not None or self.columns is not None) and self.moving is not None

    @property
    def is_box(self) -> bool:
        """Are linf and the number of moving numbers the only facts?"""
        return self.has_box and self.l1 is None and self.l2 is None

    @property
    def one_number(self) -> float | None:
        """The largest move, if at most one number moves; None if several may."""
        return self.shifts[0][0] if self.moving == 1 else None

    @property
    def box(self) -> list[tuple[float, int]] | None:
        """The smallest box that contains all moves, as pairs (shift, how many numbers move by at most it). l1 and l2
        also bound each shift. None where the number of moving numbers is not known.
        """
        most = self.moving
        if most is None:
            return None
        if self.columns is not None:
            return [(shift, self.columns.count(shift) * (self.l0 or 1)) for shift in sorted(set(self.columns))[::-1]]
        cap = min((norm for norm in (self.l1, self.l2) if norm is not None), default=math.inf)
        if not isinstance(self.linf, tuple):
            return [(min(cap, math.inf if self.linf is None else self.linf), most)]
        largest = sorted((min(shift, cap) for shift in self.linf), reverse=True)[:most]
        return [(shift, largest.count(shift)) for shift in dict.fromkeys(largest)]

    @property
    def shifts(self) -> list[tuple[float, int]]:
        """The box; raises where the number of moving numbers is not known."""
        found = self.box
        if found is None:
            raise InvalidParameter(f"{shown(self)} does not bound how many numbers move; add l0=K or dimension=D.")
        return found

    @property
    def l1_bound(self) -> float | None:
        """The least l1 bound that the facts imply: l1, sqrt(K) l2, or the sum of the box; None where there is none."""
        known = [self.l1]
        if self.moving is not None:
            known.append(math.fsum(count * shift for shift, count in self.shifts))
            if self.l2 is not None:
                known.append(up(self.l2 * math.sqrt(self.moving), FEW_ROUNDINGS))
        return min((bound for bound in known if bound is not None), default=None)

    @property
    def l2_bound(self) -> float:
        """The least l2 bound that the facts imply: l2, l1, the l2 norm of the box, or sqrt(linf l1) (Hoelder)."""
        known = [self.l2, self.l1]
        if self.moving is not None:
            known.append(_root_of_squares(tuple(self.shifts)))
        if self.l1 is not None and self.linf is not None:
            most = max(self.linf) if isinstance(self.linf, tuple) else self.linf
            known.append(up(math.sqrt(most) * math.sqrt(self.l1), FEW_ROUNDINGS))
        return min(bound for bound in known if bound is not None)

    @property
    def reaches_l2_bound(self) -> bool:
        """Does some allowed move have the length `l2_bound`? True for a box, and for an l1 or l2 bound that no other
        fact tightens.
        """
        if self.is_box:
            return True
        return self.linf is None and (self.l1 is None) != (self.l2 is None)

    # -- JSON ------------------------------------------------------------------------------------------------

    def to_plain(self) -> dict[str, Any]:
        """The facts as values for JSON; `Sensitivity.from_plain` reads them back, exact to the last bit."""
        known = {f.name: getattr(self, f.name) for f in fields(self)}
        kept = {name: v for name, v in known.items() if v is not None and v is not False}
        return {name: list(v) if isinstance(v, tuple) else v for name, v in kept.items()}

    @classmethod
    def from_plain(cls, values: Mapping[str, Any]) -> Sensitivity:
        """The sensitivity that `to_plain` wrote; unknown names raise."""
        unknown = sorted(set(values) - {f.name for f in fields(cls)})
        if unknown:
            raise InvalidParameter(
                f"a sensitivity has no field {shown(unknown[0])}; a newer version of hush may be needed."
            )
        return cls(**values)


@lru_cache(maxsize=1024)
def _root_of_squares(shifts: tuple[tuple[float, int], ...]) -> float:
    """The root of the sum of count shift^2, never below it: a float near it, raised until its exact square is large
    enough.
    """
    largest = max(shift for shift, _ in shifts)
    total = sum((count * Fraction(shift) ** 2 for shift, count in shifts), Fraction(0))
    near = largest * math.sqrt(float(total / Fraction(largest) ** 2))
    while Fraction(near) ** 2 < total:
        near = next_up(near)
    return near
