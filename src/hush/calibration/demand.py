"""What is asked of a noise: a budget, a sensitivity, a number of releases, and what counts as loss."""

from __future__ import annotations

import math
from collections.abc import Callable
from dataclasses import dataclass
from typing import Any

import numpy as np

from hush.errors import Unsupported
from hush.noise.contract import Law
from hush.noise.discrete import Discrete
from hush.noise.gaussian import Gaussian
from hush.privacy.compose import curve
from hush.privacy.composition import DEFAULT_RELATIVE, Composed
from hush.privacy.curve import OneNumber
from hush.sensitivity import Sensitivity

__all__ = ["FINE", "LOSSES", "Demand", "width"]

#: The grid that certifies: what hush.delta uses, so that its answer agrees.
FINE = DEFAULT_RELATIVE


def width(noise: Law, outside: float) -> float:
    return 2.0 * float(np.asarray(noise.isf(0.5 * outside)))


#: What "least" can mean.
LOSSES: dict[str, Callable[[Law], float]] = {
    "variance": lambda noise: noise.variance,
    "mae": lambda noise: noise.mean_abs,
    "p95": lambda noise: width(noise, 0.05),
    "p999": lambda noise: width(noise, 0.001),
}


@dataclass(frozen=True)
class Demand:
    """What is asked: a budget, a sensitivity, a number of releases, a loss, perhaps a lattice."""

    epsilon: float
    delta: float
    bound: Sensitivity
    times: int
    loss: str
    step: float | None
    notion: str = "dp"

    @property
    def count(self) -> int:
        """How many one-dimensional releases a box comes to."""
        return (self.bound.l0 or 1) * self.times

    @property
    def plain(self) -> bool:
        """One shift for all coordinates."""
        return self.bound.is_box and not isinstance(self.bound.linf, tuple)

    @property
    def shift(self) -> float:
        assert not isinstance(self.bound.linf, tuple) and self.bound.linf is not None
        return self.bound.linf

    def value(self, noise: Law) -> float:
        return LOSSES[self.loss](noise)

    def on_lattice(self, noise: Law) -> Law:
        return noise if self.step is None else Discrete(noise, self.step)

    def excess(self, noise: Law, relative: float) -> float:
        """log of delta over its target, or of the pure epsilon over its target; at or below 0 means private."""
        noise = noise.plain()
        if self.bound.is_box and (self.count > 1 or len(self.bound.shifts) > 1) and not isinstance(noise, Gaussian):
            parts = tuple((OneNumber(noise, shift), count * self.times) for shift, count in self.bound.shifts)
            released: Any = Composed(parts, relative)
        else:
            released = curve(noise, self.bound, times=self.times)
        if self.delta == 0.0:
            pure = released.pure_epsilon
            if math.isinf(pure):
                raise Unsupported("no pure epsilon")
            return math.log(pure * (1.0 - 1e-15) / self.epsilon)
        got = float(np.asarray(released.delta_upper(self.epsilon)))
        return math.log(got / self.delta) if got > 0.0 else -60.0

    def meets(self, noise: Law) -> bool:
        return self.excess(noise, FINE) <= 0.0
