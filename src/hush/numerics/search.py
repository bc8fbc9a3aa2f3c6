"""Roots and minima of one function, which may be slow or not vectorised. The module numerics/root.py works on arrays.

A point is called safe if the condition holds there (for a root: if the function is <= 0), and unsafe otherwise.

    safe_secant                    a sign change; the answer is on the safe side
    safe_end                       bisection of a condition that is only true or false
    first_true, first_true_from    the least whole number for which a condition holds
    guarded_newton                 an approximate root, by Newton's method inside a bracket
    nudged                         from an approximation to the first safe point near it
    golden_minimum                 the place of a minimum
    narrowed_minimum               the place and the value of a minimum, by a sequence of finer grids

Every search ends after a bounded number of evaluations.
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
    """Return the safe end of a sign change, to a relative width; function > 0 at `unsafe` and <= 0 at `safe`.

    The search also ends when the function at the safe end is above -near, and it aims at the middle between that and
    0. An end that stays twice counts half (the Illinois rule), so both ends approach the root. A bisection follows
    whenever three steps have not halved the bracket. This usually needs few evaluations; in the worst case it needs
    four times as many as bisection alone.

    >>> safe_secant(lambda x: x * x - 2.0, 2.0, 1.0, relative=1e-12)
    1.41421356237...
    """
    at_unsafe, at_safe = function(unsafe), function(safe)
    if not at_safe <= 0.0 < at_unsafe:
        raise NotCertified("the root is not bracketed: the function must be > 0 at `unsafe` and <= 0 at `safe`.")
    aim, before = -0.5 * near, abs(unsafe - safe)
    weigh_safe, weigh_unsafe, stays = 1.0, 1.0, ""
    for turn in range(200):
        size, gap = max(abs(unsafe), abs(safe)), unsafe - safe
        if abs(gap) <= relative * size or at_safe > -near:
            break
        below, above = weigh_safe * (aim - at_safe), weigh_unsafe * (at_unsafe - aim)
        share = below / (below + above)
        if turn % 4 == 3:
            share, before = share if abs(gap) <= 0.5 * before else 0.5, abs(gap)
        least = 0.3 * relative * size / abs(gap)  # the least step, so that each step shrinks the bracket
        point = safe + gap * min(max(share, least), 1.0 - least)
        value = function(point)
        if value <= 0.0:
            safe, at_safe, weigh_safe = point, value, 1.0
            weigh_unsafe = 0.5 * weigh_unsafe if stays == "unsafe" else 1.0
            stays = "unsafe"
        else:
            unsafe, at_unsafe, weigh_unsafe = point, value, 1.0
            weigh_safe = 0.5 * weigh_safe if stays == "safe" else 1.0
            stays = "safe"
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
    """Return the safe end of a bracket after bisection to a relative width, or until its ends are neighbouring floats.

    Guarantees: `holds` is true at the result, unless the result is `safe` itself, which is not evaluated.

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
    """Return the least whole number from low to high for which `holds` is true; high + 1 if there is none.

    The condition must stay true for all larger numbers.

    >>> first_true(0, 100, lambda n: n * n >= 50), first_true(0, 5, lambda n: n > 9)
    (8, 6)
    """
    below, above = low - 1, high + 1
    while above - below > 1:
        middle = (below + above) // 2
        below, above = (below, middle) if holds(middle) else (middle, above)
    return above


def first_true_from(low: int, most: int, holds: Callable[[int], bool]) -> int | None:
    """Return the least whole number >= `low` for which `holds` is true; None if there is none up to `most`.

    `low` must be at least 1, and the condition must stay true for all larger numbers. The search doubles upwards from
    `low`: use it where small answers are more likely, or small numbers cheaper to test.

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
    """Return the first of `start` and points further and further from it for which `holds` is true; None if none.

    `first` is the first relative step, negative for steps downwards. Each step is `growth` times as large as the
    previous one.
    """
    point, rise = start, first
    for _ in range(turns):
        if holds(point):
            return point
        point += rise * abs(point) + math.copysign(1e-300, first)  # the second term moves a point at 0
        rise *= growth
    return None


def guarded_newton(
    probe: Callable[[float], tuple[float, float] | None],
    start: float,
    low: float,
    high: float,
    between: Callable[[float, float], float],
) -> float:
    """Return an approximate root by Newton's method; a step that leaves (low, high) is replaced by `between(low,
    high)`.

    `probe(x)` returns (excess, Newton's next point), or None if x is close enough. An excess > 0 means that the root is
    above x. The next point is NaN where the slope cannot be trusted. The caller has to check the result.
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
    """Return the place of the minimum of a function that falls and then rises, by golden section.

    The result is the middle of a bracket of the given width.

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
    """Return (approximate place, least value seen) of a minimum, from a grid and finer grids around its best point.

    `points` lists the number of points of each grid. `function` takes a whole grid; NaN values are ignored. If there
    are several minima, the search follows the one that is lowest on the first grid.

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
