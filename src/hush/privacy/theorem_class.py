"""`Theorem`: what one theorem about additive noise states. The registry of all theorems is theorem.py."""

from __future__ import annotations

import math
from collections.abc import Callable
from dataclasses import KW_ONLY, dataclass
from fractions import Fraction

from hush.privacy.by_box import Pairs
from hush.privacy.charge import Charge

__all__ = ["Theorem"]


def _nothing(charge: Charge, order: float) -> float:
    return math.inf


def _no_pure(charge: Charge) -> Fraction | None:
    return None


@dataclass(frozen=True)
class Theorem:
    """A theorem about additive noise.

    covers  does the theorem apply to this charge?
    pairs   the pairs of laws whose composition bounds the charge, with `times`
    renyi   the divergence of one release at an order; infinite where the theorem gives none
    pure    the pure epsilon of one release, exact where the parameters allow; None where there is none
    alone   True if it bounds the whole charge at once and cannot be composed with other charges
    """

    name: str
    words: str
    cites: tuple[str, ...]
    covers: Callable[[Charge], bool]
    pairs: Callable[[Charge], Pairs]
    _: KW_ONLY
    renyi: Callable[[Charge, float], float] = _nothing
    pure: Callable[[Charge], Fraction | None] = _no_pure
    alone: bool = False
