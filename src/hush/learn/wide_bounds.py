"""Warnings about declared ranges that do not fit the data, from released means and spreads only.

A column is mapped from its public range to z in [-1, 1]. The mean and the mean square of z are released, with noise of
the standard deviation e, and a variance below e is raised to e. So a variance of about e cannot be told from 0. That is
said only if e is small: then a column in a usual range would be seen. With few rows the spread of every column is
hidden, and its range is not the reason. A column with the range (0, 1) whose values are nearly all 0 is the dummy of a
rare category, which is usual.
"""

from __future__ import annotations

from collections.abc import Iterable, Sequence
from dataclasses import dataclass
from typing import Any

import numpy as np
from numpy.typing import NDArray

from hush.errors import say
from hush.learn.scaling import Span

__all__ = ["Seen", "about_features", "about_target", "one_of_these"]

Array = NDArray[np.float64]
Places = NDArray[np.int64]
Truths = NDArray[np.bool_]

_FAR = 0.07**2  # a variance of z below it: the range is more than 28 spreads wide
_HIDDEN = 1.2  # a variance up to this multiple of e cannot be told from 0
_IN_DOUBT = 4.0  # up to this one it may be noise too
#: The largest e at which one hidden column is named, and that for a target or for several columns. In a range of twelve
#: spreads (a variance of 0.028) a column is named wrongly with a probability of 0.01 and of 0.1.
_CLEAR, _CLEAR_FOR_SEVERAL, _SEVERAL = 0.008, 0.0125, 3
_NARROW = 8.0  # a variance up to this multiple of e is small: near an end its noise is 2.2 e
_RARE = 0.1  # a dummy with a mean of z this near to an end is that of a rare category
_END, _NOISES = 0.03, 4.0  # a mean is at an end if it is nearer than this part of half the range, or so many e
_SHOWN = 3  # columns that a warning names


@dataclass(frozen=True)
class Seen:
    """Released centres and spreads of columns, and e for each: the deviation of the noise of a mean of z.

    `centred` is False if the centres are not released means.
    """

    centre: Array
    spread: Array
    error: Array
    span: Span
    centred: bool = True

    @property
    def variance(self) -> Array:
        """The variances of z."""
        return np.asarray((self.spread / self.span.half) ** 2)

    @property
    def z(self) -> Array:
        """The centres in units of half the range, from its middle."""
        return np.asarray((self.centre - self.span.middle) / self.span.half)

    @property
    def hidden(self) -> Truths:
        """Is the spread of a column hidden by the noise?"""
        return np.asarray(self.variance <= _HIDDEN * self.error)

    @property
    def flat(self) -> Truths:
        """Is the spread of a column hidden by the noise, or far smaller than its range?"""
        return np.asarray((self.variance < _FAR) | (self.hidden & (self.error <= _CLEAR_FOR_SEVERAL)))

    @property
    def ends(self) -> Places:
        """-1 if nearly all values lie near the lower end of the range, 1 for the upper end, 0 otherwise."""
        near = 1.0 - np.abs(self.z) <= np.maximum(_END, _NOISES * self.error)
        known = near & (self.error <= _CLEAR_FOR_SEVERAL) & self.centred
        return np.where(known, np.sign(self.z), 0.0).astype(np.int64)


def about_features(seen: Seen, names: Iterable[Any], remedy: str) -> None:
    """Warn about features whose declared ranges do not fit. `remedy` is what to do about wide bounds."""
    ends, flat = _judged(seen)
    known = list(names)
    for end, word in ((-1, "lower"), (1, "upper")):
        if (ends == end).any():
            say(_at_end(word, *_named(ends == end, known)), f"{word} end of bounds")
    if not flat.any():
        return
    many, what = _named(flat, known)
    words = "more than 28 spreads wide, which costs accuracy"
    if (flat & (seen.variance <= _IN_DOUBT * seen.error)).any():
        words = (
            f"so wide for this budget and number of rows that {'their spreads' if many > 1 else 'its spread'} "
            f"can hardly be seen, or the column{'s are' if many > 1 else ' is'} nearly constant"
        )
    say(f"the declared bounds of {what} are {words}: {remedy}.", "wide bounds")


def _judged(seen: Seen) -> tuple[Places, Truths]:
    """The ends near which features are, and the features whose ranges are too wide."""
    ends, dummy = seen.ends, (seen.span.low == 0.0) & (seen.span.high == 1.0)
    narrow = seen.variance <= np.maximum(_FAR, _NARROW * seen.error)
    ends = np.where(dummy & ((ends < 0) | ~narrow), 0, ends)
    rare = dummy & (np.abs(seen.z) > 1.0 - _RARE)
    flat = seen.flat & (ends == 0) & ~rare
    if np.count_nonzero(flat) < _SEVERAL:
        flat = flat & ~((seen.error > _CLEAR) & seen.hidden)
    return ends, flat


def about_target(seen: Seen, remedy: str) -> None:
    """Warn if the declared range of the target does not fit."""
    low, high = float(seen.span.low[0]), float(seen.span.high[0])
    shown, end = f"target_bounds=({low:g}, {high:g})", int(seen.ends[0])
    if end and not ((low, high) == (0.0, 1.0) and (end < 0 or not seen.flat[0])):  # few rows with a target of 1
        say(
            f"nearly all values of the target lie near the {'upper' if end > 0 else 'lower'} end of {shown}: the range "
            "is probably wrong; declare a range that holds most targets in its middle.",
            "end of target_bounds",
        )
    elif end == 0 and seen.flat[0]:
        words = (
            "so wide for this budget and number of rows that the spread of the target cannot be seen"
            if seen.hidden[0]
            else "more than 28 spreads of the target wide, which costs accuracy"
        )
        say(f"{shown} is {words}: {remedy}.", "wide target_bounds")


def one_of_these(*remedies: str) -> str:
    """Several things to do, in words.

    >>> one_of_these("narrow it", "widen it", "leave it out")
    'narrow it, widen it, or leave it out'
    """
    return ", ".join(remedies[:-1]) + ", or " * (len(remedies) > 1) + remedies[-1]


def _at_end(word: str, many: int, what: str) -> str:
    theirs, are = ("their", "columns are") if many > 1 else ("its", "column is")
    return (
        f"nearly all values of {what} lie near the {word} end of {theirs} declared bounds: the bounds are probably "
        f"wrong, or the {are} nearly constant; declare bounds that hold most values in their middle."
    )


def _named(chosen: Truths, names: Sequence[Any]) -> tuple[int, str]:
    """How many columns, and the names or places of some of them in words."""
    found = [names[int(place)] for place in np.flatnonzero(chosen)]
    found = [name.item() if isinstance(name, np.generic) else name for name in found]
    shown = ", ".join(repr(name) for name in found[:_SHOWN]) + ", ..." * (len(found) > _SHOWN)
    return len(found), f"{len(found)} column{'s' * (len(found) > 1)} ({shown})"
