"""Crossings of smooth log-concave densities, for families whose crossing has no closed form."""

from __future__ import annotations

from collections.abc import Callable

import numpy as np
from numpy.typing import NDArray

from hush.numerics.twofold import Twofold

__all__ = ["FAR", "Newton", "crossing"]

Array = NDArray[np.float64]
Newton = Callable[[Array, Array, Twofold], tuple[Array, Array]]

FAR = 1e140  # units; the mass beyond is 0 in floats


def crossing(epsilon: Array, d: Twofold, start: Array, newton: Newton, energy: Callable[[Twofold], Twofold]) -> Twofold:
    """Return the y >= -d/2 where the loss U(y + d) - U(|y|) equals epsilon, by Newton's method.

    `start` is on the side of the root from which Newton's steps are monotone; infinite means that the crossing is
    beyond all mass. `newton` returns epsilon - loss and the slope of the loss in floats. `energy` returns U in
    twofold precision, for a last step. That step is omitted where d is so small that it would be round-off.
    """
    live, step = start < FAR, float(d.hi)
    e, x, last = epsilon[live], start[live], not live.any()
    for _ in range(60):
        rest, slope = newton(x, e, d)
        before, x = x, np.clip(x + rest / slope, -0.5 * step, FAR)
        if last:
            break
        last = bool((np.abs(x - before) <= 1e-9 * np.abs(x) + 4e-15 * (x + step)).all())
    y = Twofold(x)
    for _ in range(2 if (np.abs(x) < 1e-6 * step).any() else 1):  # two steps where the slope may jump
        near, far = y.where(y.hi >= 0.0, -y), y + d
        both = energy(Twofold(np.stack([far.hi, near.hi]), np.stack([far.lo, near.lo])))
        slope = newton(y.hi, e, d)[1]
        y = y + np.where(1e-26 * both[0].hi <= 1e-15 * far.hi * slope, (e - (both[0] - both[1])).value() / slope, 0.0)
    out = Twofold(np.full_like(start, np.inf), np.zeros_like(start))
    out.put(live, y)
    return out
