"""How far an answer can move when one unit's data changes."""

from __future__ import annotations

import math
from dataclasses import dataclass
from typing import Any

import numpy as np

from hush.errors import InvalidParameter, one_of, positive, whole

__all__ = ["Sensitivity"]


@dataclass(frozen=True)
class Sensitivity:
    """Bounds on f(D) - f(D') over neighbouring data sets: at most l0 coordinates move, each by at most linf; or an l1 or l2 ball.

    linf may also list one bound per coordinate; then at most l0 of them move (all, if l0 is not given), and the worst are the l0 largest.
    A plain number s means Sensitivity(linf=s, l0=1). `neighbours` states the relation: "add-remove" (one unit more or less) or
    "replace" (one unit's data exchanged); the numbers must already hold for that relation.

    >>> Sensitivity(linf=2.0, l0=4).l2_bound
    4.0
    """

    linf: float | tuple[float, ...] | None = None
    l0: int | None = None
    l1: float | None = None
    l2: float | None = None
    neighbours: str = "add-remove"

    def __post_init__(self) -> None:
        hint = "write Sensitivity(linf=1.0, l0=3)"
        for name in ("linf", "l1", "l2"):
            value = getattr(self, name)
            if name == "linf" and isinstance(value, list | tuple | np.ndarray):
                object.__setattr__(self, name, tuple(positive("linf", v, hint) for v in value) or None)
            elif value is not None:
                object.__setattr__(self, name, positive(name, value, hint))
        if self.l0 is not None:
            object.__setattr__(self, "l0", whole("l0", self.l0, 1, "write Sensitivity(linf=1.0, l0=3)"))
        if self.linf is not None and self.l0 is None and self.l1 is None and self.l2 is None:
            object.__setattr__(self, "l0", len(self.linf) if isinstance(self.linf, tuple) else 1)
        if isinstance(self.linf, tuple) and self.l0 is not None and self.l0 > len(self.linf):
            raise InvalidParameter(f"l0 must be at most the number of coordinates in linf, {len(self.linf)}, got {self.l0}.")
        if self.linf is None and self.l1 is None and self.l2 is None:
            raise InvalidParameter("Sensitivity needs at least one of linf, l1 and l2; write Sensitivity(linf=1.0, l0=3).")
        one_of("neighbours", self.neighbours, ("add-remove", "replace"))

    @classmethod
    def of(cls, value: Any) -> Sensitivity:
        """A Sensitivity as it is; a number s as Sensitivity(linf=s, l0=1)."""
        if isinstance(value, Sensitivity):
            return value
        return cls(linf=positive("sensitivity", value, "write sensitivity=1.0 or Sensitivity(linf=1.0, l0=3)"), l0=1)

    @property
    def is_box(self) -> bool:
        """Is it the table kind: l0 coordinates, each by linf?"""
        return self.linf is not None and self.l0 is not None and self.l1 is None and self.l2 is None

    @property
    def shifts(self) -> list[tuple[float, int]]:
        """The worst case of a box: (shift, how many coordinates move by it)."""
        assert self.linf is not None and self.l0 is not None
        if not isinstance(self.linf, tuple):
            return [(self.linf, self.l0)]
        largest = sorted(self.linf, reverse=True)[: self.l0]
        return [(shift, largest.count(shift)) for shift in dict.fromkeys(largest)]

    @property
    def l2_bound(self) -> float:
        """The least l2 bound that follows: l2 itself, l1, or the root of the sum of squared linf over l0 coordinates."""
        known = [self.l2, self.l1]
        if self.linf is not None and self.l0 is not None:
            known.append(math.sqrt(math.fsum(count * shift * shift for shift, count in self.shifts)))
        return min(bound for bound in known if bound is not None)
