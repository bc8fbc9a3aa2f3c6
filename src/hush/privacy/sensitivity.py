"""Sensitivity: how far an answer can move when the data of one person changes."""

from __future__ import annotations

import math
from collections.abc import Mapping
from dataclasses import dataclass, fields
from fractions import Fraction
from functools import lru_cache
from typing import Any

import numpy as np

from hush.errors import InvalidParameter, made_like, one_of, positive, whole
from hush.numerics.rounding import FEW_ROUNDINGS, next_up, up

__all__ = ["NEIGHBOURS", "Sensitivity"]

NEIGHBOURS = ("add-remove", "replace")
_HINT = "write Sensitivity(linf=1.0, l0=3)"


@made_like("Sensitivity(linf=1.0, l0=3)")
@dataclass(frozen=True, repr=False, kw_only=True)
class Sensitivity:
    """Facts about f(D) - f(D') for neighbouring data sets D and D'. All given facts must hold. An additional true fact
    never makes a privacy bound worse.

    linf        each number moves by at most this (or a list: one bound for each number)
    l0          at most this many numbers move
    l1, l2      a bound on the Manhattan or Euclidean norm of all moves together
    dimension   how many numbers there are; without l0 all of them may move
    one_sided   True: all numbers move in the same direction, as counts do when a person is added or removed

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
    one_sided: bool = False

    def __post_init__(self) -> None:
        for name in ("linf", "l1", "l2"):
            value = getattr(self, name)
            if name == "linf" and isinstance(value, list | tuple | np.ndarray):
                object.__setattr__(self, name, tuple(positive("linf", v, _HINT) for v in value) or None)
            elif value is not None:
                object.__setattr__(self, name, positive(name, value, _HINT))
        for name in ("l0", "dimension"):
            if getattr(self, name) is not None:
                object.__setattr__(self, name, whole(name, getattr(self, name), 1, _HINT))
        one_of("neighbours", self.neighbours, NEIGHBOURS)
        if not isinstance(self.one_sided, bool):
            raise InvalidParameter(f"one_sided must be True or False, got {self.one_sided!r}; write one_sided=True.")
        if self.one_sided and self.neighbours != "add-remove":
            raise InvalidParameter(
                "one_sided=True needs neighbours='add-remove': replacing a person can move numbers in both directions; "
                "leave one_sided out."
            )
        self._check_count()

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
        if self.linf is None and self.l1 is None and self.l2 is None:
            raise InvalidParameter(
                "Sensitivity needs at least one of linf, l1 and l2; write Sensitivity(linf=1.0, l0=3)."
            )
        if self.moving is None and self.l1 is None and self.l2 is None:
            raise InvalidParameter(
                f"linf={self.linf!r} does not bound how many numbers move; write Sensitivity(linf={self.linf!r}, l0=1) "
                "if at most one number moves, l0=K for at most K numbers, or dimension=D for all of D numbers."
            )

    def __repr__(self) -> str:
        known = [
            f"{f.name}={getattr(self, f.name)!r}"
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
    def moving(self) -> int | None:
        """The most numbers that can move; None where no fact bounds it."""
        listed = len(self.linf) if isinstance(self.linf, tuple) else None
        return min((count for count in (self.l0, self.dimension, listed) if count is not None), default=None)

    @property
    def is_box(self) -> bool:
        """Are linf and the number of moving numbers the only facts?"""
        return self.linf is not None and self.moving is not None and self.l1 is None and self.l2 is None

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
            raise InvalidParameter(f"{self!r} does not bound how many numbers move; add l0=K or dimension=D.")
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
        return {name: list(v) if isinstance(v, tuple) else v for name, v in known.items() if v not in (None, False)}

    @classmethod
    def from_plain(cls, values: Mapping[str, Any]) -> Sensitivity:
        """The sensitivity that `to_plain` wrote; unknown names raise."""
        unknown = sorted(set(values) - {f.name for f in fields(cls)})
        if unknown:
            raise InvalidParameter(f"a sensitivity has no field {unknown[0]!r}; a newer version of hush may be needed.")
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
