"""Moves of a vector that a sensitivity allows: the pairs of inputs that an audit of several numbers tries.

All numbers move, one number, the first half; and, for each binary digit, the numbers whose place has this digit set.
For any two numbers one of these moves the one and not the other: an attack on noise that they share needs that. If
moves may have both signs, the numbers of one half also move upwards while the others move downwards. One-sided numbers
move upwards in all of these, and a number of people makes its full move in each of them.
"""

from __future__ import annotations

import math

import numpy as np
from numpy.typing import NDArray

from hush.errors import InvalidParameter, shown
from hush.privacy.sensitivity import Sensitivity

__all__ = ["MOST_NUMBERS", "numbers_of", "vector_moves"]

Vector = NDArray[np.float64]

#: The longest vector; longer ones would need too much memory for the draws of an audit.
MOST_NUMBERS = 4096


def numbers_of(bound: Sensitivity, dimension: int | None = None) -> int:
    """How many numbers the vector has: as the noise or the sensitivity states."""
    listed = len(bound.linf) if isinstance(bound.linf, tuple) else None
    size = dimension or bound.dimension or listed or bound.l0
    if size is None:
        raise InvalidParameter(
            f"{shown(bound)} does not say how many numbers there are; write for example Sensitivity(l2=1.0, "
            "dimension=10)."
        )
    if size > MOST_NUMBERS:
        raise InvalidParameter(f"an audit takes vectors of at most {MOST_NUMBERS} numbers, got {size}.")
    return size


def vector_moves(bound: Sensitivity, size: int) -> list[tuple[str, Vector]]:
    """(description, move): every move is as long as the sensitivity allows in its direction."""
    found: dict[bytes, tuple[str, Vector]] = {}
    for name, pattern in _patterns(size, signed=bound.one_sided is not True):
        move = _longest(pattern, bound)
        found.setdefault((move + 0.0).tobytes(), (name, move))
    return list(found.values())


def _patterns(size: int, *, signed: bool) -> list[tuple[str, Vector]]:
    """Directions with entries 0, 1 and -1."""
    place, half = np.arange(size), (size + 1) // 2
    found = [(f"all {size} numbers moved", place >= 0), ("one number moved", place == 0)]
    found.append((f"the first {half} of {size} numbers moved", place < half))
    digits = [(b, (place >> b) % 2 == 1) for b in range(max(size - 1, 0).bit_length())]
    found += [(f"numbers with digit {b} of their place set moved", chosen) for b, chosen in digits]
    made = [(name, chosen.astype(np.float64)) for name, chosen in found]
    if signed and size > 1:
        made.append(
            (f"the first {half} of {size} numbers moved up, the others down", np.where(place < half, 1.0, -1.0))
        )
        made += [
            (f"numbers with digit {b} of their place set moved up, the others down", np.where(chosen, 1.0, -1.0))
            for b, chosen in digits
        ]
    return made


def _longest(pattern: Vector, bound: Sensitivity) -> Vector:
    """The longest allowed multiple of a direction, on the first l0 numbers that it moves."""
    move = np.where(bound.one_sided, np.abs(pattern), pattern)
    if bound.people is not None:
        move[bound.people] = 1.0
    if bound.moving is not None:
        moving = sorted(np.flatnonzero(move).tolist(), key=lambda place: place != bound.people)
        move[moving[bound.moving :]] = 0.0
    norms = [norm for norm in (bound.l1, bound.l2) if norm is not None]
    move = move * (np.array(bound.linf) if isinstance(bound.linf, tuple) else bound.linf or min(norms))
    over = 1.0
    if bound.l1 is not None:
        over = max(over, math.fsum(np.abs(move)) / bound.l1)
    if bound.l2 is not None:
        over = max(over, math.hypot(*move) / bound.l2)
    if over > 1.0 and bound.people is not None:  # the number of people cannot move by less
        return np.where(np.arange(move.size) == bound.people, move, 0.0)
    return move / over
