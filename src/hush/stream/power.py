"""Banded coefficients of (1 - g x)^-a: Toeplitz matrices for people who come back.

a = 1/2 and g = 1 without a band is the square root; a = 0 is noise on each period. With a band of p periods, a person
who comes back after p or more periods moves different numbers each time. The coefficients fall and are not negative for
0 <= a <= 1 and 0 < g <= 1, so the sensitivity is that of the earliest appearances (docs/maths/stream.md; Kalinin and
Lampert 2024 for square roots). The search over a, g and p finds good values; that they are the best is not proved.
"""

from __future__ import annotations

import math
from functools import lru_cache
from typing import NamedTuple

import numpy as np
from numpy.typing import NDArray

from hush.stream.rows import SCALE, ToeplitzRows, coming_back, inverse_series

__all__ = ["power_rows"]

Array = NDArray[np.float64]

_EXPONENTS = (0.25, 0.4, 0.5, 0.6)
_LOSSES = (0.0, 1e-3, 1e-2)  # 1 - g
_MOST_SEARCHED = 1024  # periods for which a, g and p are searched
_TURNS = 4  # of a search with smaller and smaller steps


class _Choice(NamedTuple):
    exponent: float
    loss: float
    band: int


def _coefficients(choice: _Choice) -> Array:
    j = np.arange(1.0, choice.band)
    ratios = (1.0 - choice.loss) * (choice.exponent + j - 1.0) / j
    return np.concatenate([[1.0], np.cumprod(ratios)])


def _error(choice: _Choice, horizon: int, window: int, appears: int, apart: int) -> float:
    """The mean error of all periods in units of the variance of the noise for a move of length 1."""
    coefficients = _coefficients(choice)
    sums = np.cumsum(inverse_series(coefficients, horizon))
    sums[window:] -= sums[:-window].copy()
    moved = coming_back(coefficients, horizon, appears, apart)
    return float((moved**2).sum() * np.cumsum(sums**2).mean())


def power_rows(horizon: int, window: int, appears: int, apart: int, *, searched: int = _MOST_SEARCHED) -> ToeplitzRows:
    """The best rows of this family that the search finds, with whole coefficients that still fall.

    The search is for at most `searched` periods. A band as long as these is made as long as the horizon.
    """
    short = min(horizon, searched)
    found = _searched(short, min(window, short), appears, apart)
    found = found._replace(band=horizon) if found.band == short else found
    whole = np.floor(SCALE * _coefficients(found)).astype(np.int64)
    return ToeplitzRows(horizon, tuple(int(k) for k in whole if k > 0))


@lru_cache(maxsize=32)
def _searched(horizon: int, window: int, appears: int, apart: int) -> _Choice:
    known: dict[_Choice, float] = {}

    def error(choice: _Choice) -> float:
        if choice not in known:
            known[choice] = _error(choice, horizon, window, appears, apart)
        return known[choice]

    bands = sorted({min(max(band, 1), horizon) for band in (apart, 2 * apart, window, horizon, horizon // 2)})
    best = min((_Choice(a, loss, band) for a in _EXPONENTS for loss in _LOSSES for band in bands), key=error)
    for turn in range(_TURNS):
        step, factor = 0.1 * 0.5**turn, 1.0 + 0.6 * 0.5**turn
        while True:
            near = min([best, *_near(best, step, factor, horizon)], key=error)
            if near == best:
                break
            best = near
    return best


def _near(choice: _Choice, step: float, factor: float, horizon: int) -> list[_Choice]:
    a, loss, band = choice
    found = [choice._replace(exponent=min(max(a + by, 0.0), 1.0)) for by in (step, -step)]
    losses = {loss * factor, loss / factor, loss * 0.25 if loss > 1e-6 else 0.0, 0.1 / horizon if loss == 0.0 else loss}
    found += [choice._replace(loss=min(one, 0.9)) for one in sorted(losses)]
    bands = {math.ceil(band * factor), math.floor(band / factor), band + 1, band - 1}
    return found + [choice._replace(band=one) for one in sorted(bands) if 1 <= one <= horizon]
