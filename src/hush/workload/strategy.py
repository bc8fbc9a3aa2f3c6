"""`Strategy`: what is measured for a workload, with which noise, and how the questions are answered from it.

A strategy measures vectors of whole numbers, its parts. Every part has a `Mechanism`, which states how far one person
moves the vector and which noise is added. Everything after the noise is post-processing.
"""

from __future__ import annotations

import math
from collections.abc import Sequence
from dataclasses import dataclass
from fractions import Fraction
from typing import Any

import numpy as np
from numpy.typing import NDArray

from hush.calibration.ranking import calibrate
from hush.errors import Unsupported
from hush.noise.contract import Noise
from hush.noise.discrete import Discrete
from hush.noise.laplace import Laplace
from hush.numerics.rounding import SPARE, down, next_up, round_up, up
from hush.privacy.charge import Budget, Charge, Guarantee
from hush.privacy.sensitivity import Sensitivity
from hush.sampling.mechanism import FURTHEST, Mechanism

__all__ = ["Strategy", "gaussian_part", "laplace_part", "laplace_variance", "spared", "times_weights", "whole_laplace"]

Whole = NDArray[np.int64]


@dataclass(frozen=True, eq=False)
class Strategy:
    """Vectors of whole numbers with their noise.

    `name` says in a few words what is measured and with which noise. `error` is the mean squared error that the
    workload minimises, so candidates of one workload can be compared by it.
    """

    name: str
    parts: tuple[Mechanism, ...]
    error: float

    @property
    def noise(self) -> Noise:
        """The noise of the first part."""
        return self.parts[0].noise

    @property
    def charges(self) -> list[Charge]:
        """What a ledger is charged."""
        return [part.charge for part in self.parts]

    def measured(self, data: Any) -> list[Whole]:
        """The exact numbers of each part, before noise."""
        raise Unsupported(f"{type(self).__name__} does not say what it measures.")

    def estimated(self, noisy: Sequence[Whole]) -> Any:
        """What the workload answers its questions from, made of the noisy numbers of each part."""
        raise Unsupported(f"{type(self).__name__} does not say how it estimates.")


def gaussian_part(length: float, count: int, budget: Budget, family: str = "gaussian") -> Mechanism:
    """The mechanism for `count` whole numbers that one person moves by a vector of at most this length."""
    facts = Sensitivity(l2=up(length, SPARE), dimension=count)
    noise = calibrate(budget.epsilon, budget.delta, facts, family=family).noise
    return Mechanism(noise, facts, 1.0, True, count, Guarantee(budget.epsilon, budget.delta))


def whole_laplace(epsilon: float, moves: int) -> Discrete:
    """Laplace noise on the whole numbers with this pure epsilon, for numbers that move by `moves` in all."""
    scale = round_up(Fraction(moves) / Fraction(epsilon))
    return Discrete(Laplace(next_up(scale)), 1.0)


def laplace_part(epsilon: float, count: int, tables: int, rows: int) -> Mechanism:
    """The mechanism for `count` whole numbers in this many tables, for people with this many rows each. A row moves one
    number of each table by 1.
    """
    moves = tables * rows
    facts = Sensitivity(linf=1.0, l0=tables) if rows == 1 else Sensitivity(l1=float(moves))
    return Mechanism(whole_laplace(epsilon, moves), facts, 1.0, True, count)


def laplace_variance(epsilon: float) -> float:
    """The variance of Laplace noise on the whole numbers: 2 q/(1 - q)^2 = 1/(cosh(epsilon) - 1), q = e^-epsilon."""
    return 0.5 / math.sinh(0.5 * epsilon) ** 2


def spared(epsilon: float) -> float:
    """An epsilon less a billionth, so that parts of it add up to no more than it."""
    return down(epsilon, SPARE)


def times_weights(values: Whole, weights: Whole) -> Whole:
    """values times weights > 0 in whole numbers, limited to 2^61. The limit never makes a move larger."""
    most = FURTHEST // weights
    return np.clip(values, -most, most) * weights
