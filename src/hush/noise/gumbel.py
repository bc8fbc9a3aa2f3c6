"""Gumbel noise for a choice: every number of a list gets noise, and only the place of the largest one is published.

The place is then i with probability proportional to e^(x_i/scale): this is the exponential mechanism (McSherry and
Talwar 2007). The place is drawn by these probabilities (hush.sampling.choice); no noise is drawn for the numbers.
"""

from __future__ import annotations

import math
from dataclasses import dataclass, field
from typing import ClassVar

from hush.errors import positive, whole
from hush.noise.contract import Noise
from hush.noise.family import Family

__all__ = ["FAMILY", "Gumbel"]

_HINT = "write Gumbel(dimension=100, scale=5.0)"


@dataclass(frozen=True)
class Gumbel(Noise):
    """The choice of one of `dimension` numbers by Gumbel noise of this scale. The numbers are not published.

    Guarantees: with numbers that all move in one direction, each by at most s, the privacy loss lies in an interval of
    length s/scale, so the pure epsilon is s/scale (docs/maths/top.md).

    >>> round(Gumbel(100, 5.0).variance, 2)
    41.12
    """

    #: It decides which numbers are the largest, and is not added to published numbers.
    chooses: ClassVar[bool] = True
    dimension: int = field()
    scale: float = field()

    def __post_init__(self) -> None:
        object.__setattr__(self, "dimension", whole("dimension", self.dimension, 1, _HINT))
        object.__setattr__(self, "scale", positive("scale", self.scale, _HINT))

    @property
    def variance(self) -> float:
        """The variance of the noise of one number, pi^2 scale^2/6."""
        return math.pi**2 * self.scale**2 / 6.0

    def scaled(self, k: float) -> Gumbel:
        return Gumbel(self.dimension, self.scale * positive("k", k))


FAMILY = Family(
    "gumbel",
    Gumbel,
    paper="McSherry and Talwar 2007; Durfee and Rogers 2019",
    cites=("mcsherry2007", "durfee2019"),
    ranked=False,
    public=False,
)
