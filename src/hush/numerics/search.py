"""Searches for one number, where functions are slow or not vectorised; numerics/root.py is the twin for arrays.

    safe_secant                    a sign change, ending on the safe side
    safe_end                       the same where only yes or no is known: halves
    first_true, first_true_from    the least whole number for which a condition holds
    guarded_newton                 a good guess at a root, by Newton's steps inside a bracket
    nudged                         from a good guess to the first point near it that is safe
    golden_minimum                 the place of a minimum
    narrowed_minimum               the place and the value of a minimum, by ever finer grids

Each ends after a bounded number of evaluations.
"""

from __future__ import annotations

import math
from collections.abc import Callable, Sequence

import numpy as np
from numpy.typing import NDArray

from hush.errors import NotCertified

__all__ = [
    "first_true",
    "first_true_from",
    "golden_minimum",
    "guarded_newton",
    "narrowed_minimum",
    "nudged",
    "safe_end",
    "safe_secant",
]

Array = NDArray[np.float64]


def safe_secant(
    function: Callable[[float], float], unsafe: float, safe: float, *, relative: float, near: float = 0.0
) -> float:
    """The safe end of a sign change, narrowed to a relative width: function > 0 at `unsafe` and <= 0 at `safe`.

    A safe end where the function is above -near is near enough. Two secant steps, then one half: few evaluations, and
    never more than three times those of halves.

    >>> safe_secant(lambda x: x * x - 2.0, 2.0, 1.0, relative=1e-12)
    1.41421356237...
    """
    at_unsafe, at_safe = function(unsafe), function(safe)
    if not at_safe <= 0.0 < at_unsafe:
        raise NotCertified("the root is not bracketed.")
    for turn in range(200):
        size, gap = max(abs(unsafe), abs(safe)), unsafe - safe
        if abs(gap) <= relative * size or at_safe > -near:
            break
        share = at_safe / (at_safe - at_unsafe) if turn % 3 < 2 else 0.5
        least = 0.3 * relative * size / abs(gap)  # so that a step from either end shrinks the bracket
        point = safe + gap * min(max(share, least), 1.0 - least)
        value = function(point)
        if value <= 0.0:
            safe, at_safe = point, value
        else:
            unsafe, at_unsafe = point, value
    return safe


def safe_end(
    holds: Callable[[float], bool],
    unsafe: float,
    safe: float,
    *,
    relative: float = 0.0,
    geometric: bool = False,
    turns: int = 200,
) -> float:
    """The safe end of a bracket, halved until it is relatively narrow or no float is left between its ends.

    Guarantees: `holds` is true at the result, unless the result is `safe` itself, which is not tried.

    >>> safe_end(lambda x: x * x <= 2.0, 2.0, 1.0, relative=1e-9)
    1.41421356...
    """
    for _ in range(turns):
        middle = math.sqrt(unsafe * safe) if geometric else 0.5 * (unsafe + safe)
        narrow = abs(unsafe - safe) <= relative * max(abs(unsafe), abs(safe))
        if narrow or middle in (unsafe, safe):
            break
        unsafe, safe = (unsafe, middle) if holds(middle) else (middle, safe)
    return safe


def first_true(low: int, high: int, holds: Callable[[int], bool]) -> int:
    """The least whole number from low to high where a condition holds that stays true once it is; high + 1 if none.

    >>> first_true(0, 100, lambda n: n * n >= 50), first_true(0, 5, lambda n: n > 9)
    (8, 6)
    """
    below, above = low - 1, high + 1
    while above - below > 1:
        middle = (below + above) // 2
        below, above = (below, middle) if holds(middle) else (middle, above)
    return above


def first_true_from(low: int, most: int, holds: Callable[[int], bool]) -> int | None:
    """The same by doubling from `low` >= 1, where small numbers are likelier and cheaper; None if none up to `most`.

    >>> first_true_from(1, 1000, lambda n: n * n >= 50), first_true_from(1, 4, lambda n: n > 9)
    (8, None)
    """
    below, above = low - 1, low
    while not holds(above):
        below, above = above, 2 * above
        if above > most:
            return None
    return first_true(below + 1, above - 1, holds)


def nudged(holds: Callable[[float], bool], start: float, *, first: float, growth: float, turns: int) -> float | None:
    """The first of `start` and points ever further from it for which a condition holds; None if none does.

    `first` is the first relative step, below 0 for steps downwards; each step is `growth` times as large as the one
    before.
    """
    point, rise = start, first
    for _ in range(turns):
        if holds(point):
            return point
        point += rise * abs(point) + math.copysign(1e-300, first)  # so that 0 moves too
        rise *= growth
    return None


def guarded_newton(
    probe: Callable[[float], tuple[float, float] | None],
    start: float,
    low: float,
    high: float,
    between: Callable[[float, float], float],
) -> float:
    """A point near a root, by Newton's steps where they stay inside (low, high) and by `between(low, high)` where not.

    `probe(x)` is (excess, Newton's point): an excess above 0 says that the root is above x, and a point that is not to
    be trusted is NaN. It is None where x is near enough. The caller checks the result.
    """
    point = start
    for _ in range(200):
        found = probe(point)
        if found is None:
            break
        excess, newton = found
        low, high = (point, high) if excess > 0.0 else (low, point)
        point = newton if low < newton < high else between(low, high)
    return point


def golden_minimum(function: Callable[[float], float], low: float, high: float, *, width: float) -> float:
    """The middle of a bracket of that width around the minimum of a function that falls, then rises: golden section.

    >>> golden_minimum(lambda x: (x - 0.3) ** 2, 0.0, 1.0, width=1e-6)
    0.3000...
    """
    golden = 0.5 * (5.0**0.5 - 1.0)
    a, b = high - golden * (high - low), low + golden * (high - low)
    at_a, at_b = function(a), function(b)
    while high - low > width:
        if at_a < at_b:
            high, b, at_b = b, a, at_a
            a = high - golden * (high - low)
            at_a = function(a)
        else:
            low, a, at_a = a, b, at_b
            b = low + golden * (high - low)
            at_b = function(b)
    return 0.5 * (low + high)


def narrowed_minimum(
    function: Callable[[Array], Array], low: float, high: float, *, points: Sequence[int]
) -> tuple[float, float]:
    """About the place, and the least value seen: a grid, and finer grids about its best point, of so many points each.

    `function` takes a whole grid; values that are NaN are passed over. Of several valleys the one counts that the first
    grid shows.

    >>> round(narrowed_minimum(lambda x: np.abs(x - 0.3), 0.0, 1.0, points=(9,) * 20)[0], 9)
    0.3
    """
    least = math.inf
    for count in points:
        grid = np.linspace(low, high, count)
        values = function(grid)
        at = int(np.nanargmin(values))
        least = min(least, float(values[at]))
        low, high = float(grid[max(at - 1, 0)]), float(grid[min(at + 1, count - 1)])
    return 0.5 * (low + high), least
