"""`StreamStrategy`: what is measured in each period, with which noise, and how totals are estimated from it.

In period t a strategy measures a few whole numbers: combinations, with whole coefficients, of the counts of the periods
1, ..., t. Each gets fresh noise once. Everything else is post-processing of the noisy numbers, which are public.
"""

from __future__ import annotations

from collections.abc import Callable, Sequence
from dataclasses import dataclass, replace
from typing import Any, Self

import numpy as np
from numpy.typing import NDArray

from hush.errors import Unsupported
from hush.noise.contract import Noise
from hush.privacy.charge import Charge
from hush.sampling.mechanism import FURTHEST, Mechanism
from hush.workload.sum_law import SumLaw

__all__ = ["Measured", "StreamStrategy", "limited", "paid_part", "windows_of"]

Array = NDArray[np.float64]
#: The place of a part of the strategy, and a whole number that is measured for it.
Measured = tuple[int, int]


@dataclass(frozen=True, eq=False)
class StreamStrategy:
    """Whole numbers that are measured period by period. `name` says what is measured and with which noise.

    `parts` are the mechanisms that a ledger is charged for. `horizon` is the number of periods. `error` is the mean
    over all periods of the variance of the answer, so that strategies for one question can be compared by it.
    """

    name: str
    parts: tuple[Mechanism, ...]
    horizon: int
    error: float

    @property
    def noise(self) -> Noise:
        """The noise of the first part."""
        return self.parts[0].noise

    @property
    def revises(self) -> bool:
        """True if later periods improve the estimates of earlier ones."""
        return False

    @property
    def charges(self) -> list[Charge]:
        """What a ledger is charged, once."""
        return [part.charge for part in self.parts]

    def single(self, part: int) -> Mechanism:
        """The mechanism of one number of a part."""
        whole = self.parts[part]
        return Mechanism(whole.noise, whole.sensitivity, whole.step, True, 1, part_of=whole.charge)

    def measured(self, counts: Sequence[int]) -> list[Measured]:
        """The exact numbers of the last of these periods, before noise."""
        raise Unsupported(f"{type(self).__name__} does not say what it measures.")

    def estimated(self, noisy: Sequence[Sequence[int]]) -> Array:
        """The estimated count of each period, from the noisy numbers of all periods so far."""
        raise Unsupported(f"{type(self).__name__} does not say how it estimates.")

    def law(self, weights: Array) -> SumLaw:
        """The law of the error of a weighted sum of the counts of the first periods, when these are over."""
        raise Unsupported(f"{type(self).__name__} does not know its errors.")

    def rounding(self, weights: Array) -> float:
        """The most that the rounding of measured numbers adds to the error of this sum, beside `law`."""
        return 0.0

    def variances(self, window: int) -> Array:
        """The variance of the total of the last `window` periods, at the end of each period."""
        raise Unsupported(f"{type(self).__name__} does not know its errors.")

    def for_window(self, window: int) -> Self:
        """The same strategy with the error of this question."""
        return replace(self, error=float(self.variances(window).mean()))

    def to_plain(self) -> dict[str, Any]:
        """The whole numbers and floats that define the strategy, for the ledger's file."""
        raise Unsupported(f"{type(self).__name__} cannot be stored.")


def limited(value: int) -> int:
    """A measured number, limited to 2^61. The limit never makes a move larger."""
    return max(-FURTHEST, min(FURTHEST, value))


def windows_of(variance: Callable[[Array], float], horizon: int, window: int) -> Array:
    """The variance of the total of the last `window` periods, at the end of each period, one by one."""
    found = np.empty(horizon)
    for t in range(1, horizon + 1):
        weights = np.zeros(t)
        weights[max(0, t - window) :] = 1.0
        found[t - 1] = variance(weights)
    return found


def paid_part(charge: Charge, count: int) -> Mechanism:
    """The mechanism of a charge in a ledger, for so many whole numbers."""
    if not isinstance(charge.noise, Noise):
        raise Unsupported("the noise of this stream was imported, and imported noise cannot be drawn.")
    return Mechanism(charge.noise, charge.sensitivity, 1.0, True, count)
