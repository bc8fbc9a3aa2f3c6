"""A choice: of several things with a score each, one is drawn, thing i with probability proportional to
e^(score_i/scale), and its place is all that is published.

This is the exponential mechanism (McSherry and Talwar 2007). It has the law of the largest score with Gumbel noise of
this scale, but no noise is drawn: the place is drawn by these probabilities (`hush.sampling.choice`).
"""

from __future__ import annotations

import math
from dataclasses import dataclass, field
from typing import ClassVar

from hush.errors import positive
from hush.noise.contract import Noise
from hush.noise.family import Family

__all__ = ["FAMILY", "Selection"]

_HINT = "write Selection(scale=5.0)"


@dataclass(frozen=True)
class Selection(Noise):
    """The choice of one of several things by their scores. The scores are not published.

    The largest groups of a list, quantiles, and the windows and columns of a fit are such choices.

    Guarantees: with scores that all move in one direction, each by at most s, the privacy loss lies in an interval of
    length s/scale, so the pure epsilon is s/scale (docs/maths/top.md). With scores that move in both directions the
    interval is twice as long.

    >>> round(Selection(5.0).variance, 2)
    41.12
    """

    #: It decides which scores are the largest, and is not added to published numbers.
    chooses: ClassVar[bool] = True
    scale: float = field()

    def __post_init__(self) -> None:
        object.__setattr__(self, "scale", positive("scale", self.scale, _HINT))

    @property
    def variance(self) -> float:
        """The variance of the Gumbel noise that decides between two scores, pi^2 scale^2/6."""
        return math.pi**2 * self.scale**2 / 6.0

    def scaled(self, k: float) -> Selection:
        return Selection(self.scale * positive("k", k))


FAMILY = Family(
    "selection",
    Selection,
    paper="McSherry and Talwar 2007; Durfee and Rogers 2019",
    cites=("mcsherry2007", "durfee2019"),
    ranked=False,
    public=False,
)
