"""Roots and maxima of arrays of functions, elementwise. The module numerics/search.py does the same for one number.

A point is called safe if the condition holds there (for a root: if the function is <= 0), and unsafe otherwise.

    safe_root           a sign change, to the last float; the answer is on the safe side
    safe_chords         a sign change, to a given tolerance, with few evaluations; the answer is on the safe side
    ridders             a sign change, to the last digits; the answer may be on either side
    halved              bisection of a condition that is only true or false
    first_whole         the least whole number for which a condition holds
    bracket_upwards     a bracket of a sign change, by growing steps
    newton_roots        an approximate root, by Newton's method inside brackets; may be on either side
    raised_until        from an approximation upwards to a safe number
    narrowed_maximum    the largest value, by a sequence of finer grids
"""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

import numpy as np
from numpy.typing import NDArray

from hush.errors import NotCertified
from hush.numerics.rounding import FEW_ROUNDINGS

__all__ = [
    "bracket_upwards",
    "first_whole",
    "halved",
    "narrowed_maximum",
    "newton_roots",
    "raised_until",
    "ridders",
    "safe_chords",
    "safe_root",
]

Array = NDArray[np.float64]
Index = NDArray[np.int64]
_SETTLED = 4e-15  # a Newton step of this size, relative to its number, is round-off


def bracket_upwards(function: Callable[[Array], Array], start: Any, *, largest: float = 1e40) -> tuple[Array, Array]:
    """Multiply `start` by 4 until the function is no longer positive, elementwise.

    Returns (the last positive point, the first safe point). The safe point is infinite if none is below `largest`.
    """
    safe = np.array(start, dtype=np.float64)
    unsafe = np.zeros_like(safe)
    while True:
        pending = function(safe) > 0.0
        if not pending.any():
            return unsafe, safe
        unsafe = np.where(pending, safe, unsafe)
        safe = np.where(pending, safe * 4.0, safe)
        if (safe > largest).any():
            return unsafe, np.where(safe > largest, np.inf, safe)


#: Distances from the root of the secant at which one round evaluates the function, as fractions of the bracket. They
#: cover every order of magnitude, so that a good secant shrinks the bracket at once.
_OFFSETS = np.array([-1e-1, -1e-2, -1e-4, -1e-7, -1e-10, -1e-13, 0.0, 1e-13, 1e-10, 1e-7, 1e-4, 1e-2, 1e-1])
_SPREAD = np.array([0.125, 0.25, 0.5, 0.75, 0.875])


def _candidates(a: Array, b: Array, fa: Array, fb: Array) -> Array:
    with np.errstate(invalid="ignore", divide="ignore", over="ignore"):
        secant = fa / (fa - fb)
    secant = np.where(np.isfinite(secant), secant, 0.5)
    column = (slice(None),) + (None,) * a.ndim
    shares = np.concatenate(
        [np.clip(secant + _OFFSETS[column], 0.0, 1.0), np.broadcast_to(_SPREAD[column], (5, *a.shape))]
    )
    return np.sort(a + shares * (b - a), axis=0)


def safe_root(
    function: Callable[[Array], Array], unsafe: Any, safe: Any, *, relative: float = 4e-16
) -> tuple[Array, Array]:
    """Narrow the bracket (unsafe, safe) around a sign change, elementwise.

    The function must be > 0 at `unsafe` and <= 0 at `safe`; this stays true in every round. `function` takes arrays
    with one more axis in front. A round evaluates 18 points in one vectorised call, which costs little more than one
    point. Some points are spread over the bracket, so that it shrinks at least fourfold for every function; the others
    are close to the root of the secant.

    Returns (unsafe, safe), which differ by at most `relative` or are neighbouring floats. Use the second as the answer.
    """
    a, b = (np.array(v, dtype=np.float64) for v in np.broadcast_arrays(unsafe, safe))
    fa, fb = function(a[None])[0], function(b[None])[0]
    if not (np.all(fb <= 0.0) and np.all((fa > 0.0) | (a == b))):
        raise NotCertified("the root is not bracketed: the function must be > 0 at `unsafe` and <= 0 at `safe`.")
    for _ in range(100):
        close = np.abs(b - a) <= relative * np.maximum(np.abs(a), np.abs(b))
        middle = 0.5 * (a + b)
        if (close | (middle == a) | (middle == b)).all():
            return a, b
        points = np.concatenate(
            [a[None], _candidates(np.minimum(a, b), np.maximum(a, b), *_ordered(a, b, fa, fb)), b[None]]
        )
        values = np.concatenate([fa[None], function(points[1:-1]), fb[None]])
        a, b, fa, fb = _tightest(points, values, a, b)
    raise NotCertified("the search for a root did not converge; please report the arguments.")


def _ordered(a: Array, b: Array, fa: Array, fb: Array) -> tuple[Array, Array]:
    return np.where(a <= b, fa, fb), np.where(a <= b, fb, fa)


def _tightest(points: Array, values: Array, a: Array, b: Array) -> tuple[Array, Array, Array, Array]:
    """Return the safe point nearest to the unsafe end, and the last unsafe point before it."""
    distance = np.abs(points - a)
    safe = values <= 0.0
    first = np.argmin(np.where(safe, distance, np.inf), axis=0)[None]
    limit = np.take_along_axis(distance, first, axis=0)
    before = (values > 0.0) & (distance <= limit)
    last = np.argmax(np.where(before, distance, -1.0), axis=0)[None]
    last = np.where(before.any(axis=0, keepdims=True), last, 0)
    take = lambda array, index: np.take_along_axis(array, index, axis=0)[0]  # noqa: E731
    return take(points, last), take(points, first), take(values, last), take(values, first)


def safe_chords(function: Callable[[Array, Index], Array], unsafe: Array, safe: Array, *, near: float) -> Array:
    """Return the safe ends of the sign changes of decreasing functions, for flat arrays.

    `function(x, at)` evaluates the functions with the indices `at`. Two of three steps follow the chord, the third
    halves the bracket.

    Guarantees: at the result the function is between -near and 0, or no smaller float is safe. If the function is at
    most 0 at `unsafe`, the result is `unsafe`; if it is above 0 at `safe`, the result is `safe`.
    """
    low, high, every = unsafe.copy(), safe.copy(), np.arange(unsafe.size)
    above, below = function(low, every), function(high, every)
    high, below = np.where(above > 0.0, high, low), np.where(above > 0.0, below, above)
    for turn in range(120):
        on = np.flatnonzero((below < -near) & (high - low > FEW_ROUNDINGS.share * (1.0 + np.abs(low))))
        if not on.size:
            break
        a, b, at_a, at_b = low[on], high[on], above[on], below[on]
        with np.errstate(invalid="ignore", over="ignore"):
            chord = a + (b - a) * (at_a / (at_a - at_b))
        x = np.where(np.isfinite(chord) & (chord > a) & (chord < b) & (turn % 3 < 2), chord, 0.5 * (a + b))
        value = function(x, on)
        inside = value > 0.0
        low[on], above[on] = np.where(inside, x, a), np.where(inside, value, at_a)
        high[on], below[on] = np.where(inside, b, x), np.where(inside, at_b, value)
    return high


def halved(holds: Callable[[Array], Any], unsafe: Array, safe: Array, *, turns: int) -> tuple[Array, Array]:
    """Return the brackets (unsafe, safe) after `turns` bisections.

    `holds` is true at the second end, unless it was false at every point tried.

    >>> halved(lambda x: x * x >= 2.0, np.zeros(1), np.full(1, 2.0), turns=3)
    (array([1.25]), array([1.5]))
    """
    for _ in range(turns):
        middle = 0.5 * (unsafe + safe)
        here = holds(middle)
        unsafe, safe = np.where(here, unsafe, middle), np.where(here, middle, safe)
    return unsafe, safe


def first_whole(holds: Callable[[Array], Any], shape: tuple[int, ...]) -> Array:
    """Return the least whole numbers >= 0 for which the conditions hold, by doubling and then bisection.

    Each condition must stay true for all larger numbers.
    """
    low, high = np.full(shape, -1.0), np.ones(shape)
    while (short := ~holds(high)).any():
        low, high = np.where(short, high, low), np.where(short, 2.0 * high, high)
    while (high - low > 1.0).any():
        middle = np.floor(0.5 * (low + high))
        late = ~holds(middle) & (middle > low)
        low, high = np.where(late, middle, low), np.where(late, high, np.maximum(middle, low + 1.0))
    return high


def ridders(function: Callable[[Array], Array], a: Array, b: Array) -> Array:
    """Return roots by Ridders' method, elementwise; the function must change sign between a and b.

    Each step at least halves the bracket.
    """
    at_a, at_b = function(a), function(b)
    last, settled = a, np.zeros(a.shape, dtype=bool)
    for _ in range(100):
        middle = 0.5 * (a + b)
        at_middle = function(middle)
        with np.errstate(over="ignore"):
            spread = np.sqrt(at_middle**2 - np.minimum(at_a * at_b, 0.0))
        move = np.divide(at_middle, spread, out=np.zeros_like(spread), where=spread > 0.0)
        point = middle + (middle - a) * np.sign(at_a - at_b) * move
        at_point = function(point)
        crossed = np.sign(at_middle) != np.sign(at_point)
        left = np.sign(at_a) != np.sign(at_point)  # otherwise the root is between the point and b
        a, at_a, b, at_b = (
            np.where(crossed, middle, np.where(left, a, point)),
            np.where(crossed, at_middle, np.where(left, at_a, at_point)),
            np.where(crossed | left, point, b),
            np.where(crossed | left, at_point, at_b),
        )
        # freeze converged elements: results must not depend on the rest of the batch
        settled |= np.abs(point - last) <= FEW_ROUNDINGS.share * np.abs(point)
        last = np.where(settled, last, point)
        if settled.all():
            break
    return last


def raised_until(
    fails: Callable[[Array, Index], Any], start: Array, *, first: float, growth: float, turns: int = 30
) -> Array:
    """Raise each number until `fails` is false for it.

    The first rise is by the fraction `first`; each further one is `growth` times as large. `fails(x[late], late)` is
    called only for the numbers that still fail.
    """
    x = np.array(start, dtype=np.float64).ravel()
    late, rise = np.arange(x.size), first
    for _ in range(turns):
        late = late[fails(x[late], late)]
        if late.size == 0:
            return x.reshape(np.shape(start))
        x[late] *= 1.0 + rise
        rise *= growth
    raise NotCertified("the search found no number that meets the target; please report the arguments.")


def newton_roots(
    probe: Callable[[Array, Index], tuple[Array, Array]],
    low: Array,
    high: Array,
    size: Callable[[Array, Index], Array],
) -> Array:
    """Return approximate roots of decreasing functions, for flat arrays.

    Newton's steps start from `high`; a step that leaves the bracket is replaced by bisection. `probe(x, at)` returns
    (value, -slope) of the functions with the indices `at`. The iteration ends when a step is small relative to
    `size(x, at)`. The results may be on either side of the roots; the caller has to check them.
    """
    low, high = np.array(low, dtype=np.float64), np.array(high, dtype=np.float64)
    x, active = high.copy(), np.arange(high.size)
    for _ in range(100):
        here = x[active]
        value, fall = probe(here, active)
        above = value > 0.0
        low[active] = np.where(above, here, low[active])
        high[active] = np.where(above, high[active], here)
        with np.errstate(invalid="ignore", divide="ignore", over="ignore", under="ignore"):
            newton = here + value / fall
        inside = np.isfinite(newton) & (newton >= low[active]) & (newton <= high[active])
        x[active] = np.where(inside, newton, 0.5 * (low[active] + high[active]))
        active = active[np.abs(x[active] - here) > _SETTLED * size(here, active)]
        if active.size == 0:
            break
    return x


def narrowed_maximum(
    function: Callable[[Array], Array], low: Any, high: Any, *, points: int = 33, rounds: int = 12
) -> Array:
    """Return the largest value of a function on a grid and on finer grids around the best point, elementwise.

    `function` takes arrays with one more axis in front. The search converges for smooth peaks and for corners. If there
    are several peaks, it follows the one that is highest on the first grid.

    >>> round(float(narrowed_maximum(lambda x: 1.0 - np.abs(x - 0.3), 0.0, 1.0)), 12)
    1.0
    """
    low, high = (np.asarray(v, dtype=np.float64) for v in np.broadcast_arrays(low, high))
    share = np.linspace(0.0, 1.0, points).reshape((-1,) + (1,) * low.ndim)
    best = np.full(low.shape, -np.inf)
    for _ in range(rounds):
        grid = low + share * (high - low)
        values = function(grid)
        at = np.argmax(values, axis=0)[None]
        best = np.maximum(best, np.take_along_axis(values, at, axis=0)[0])
        low = np.take_along_axis(grid, np.maximum(at - 1, 0), axis=0)[0]
        high = np.take_along_axis(grid, np.minimum(at + 1, points - 1), axis=0)[0]
    return best
