"""Examples of every family for the tests of draws: continuous noises, and noises on a lattice."""

from __future__ import annotations

from hush import (
    OSGT,
    Asinh,
    Discrete,
    ExponentialPower,
    FlippedHuber,
    Gaussian,
    Laplace,
    Stable,
    Staircase,
    Stepped,
    TruncatedLaplace,
)

CONTINUOUS = [
    Gaussian(10.0),
    Laplace(10.0),
    OSGT(10.0, 15.0),
    FlippedHuber(10.0, 10.0),
    TruncatedLaplace(10.0, 60.0),
    ExponentialPower(1.5, 10.0),
    Asinh(1.0, 10.0),
    Stable(1.0, 10.0),
    Stable(1.5, 10.0),
    Stable(1.9, 10.0),
    Staircase(0.3, 5.0),
    Stepped(4.0, (3.0, 2.0, 1.0, 0.5), 0.4, 2),
    Stepped(5.0, (1.0, 0.0, 2.0)),
]
LATTICE = [Discrete(noise) for noise in (*CONTINUOUS[:7], OSGT(4.0, 9.0))] + [Discrete(Laplace(3.0), 0.5)]


def name(case: object) -> str:
    return str(case).replace(" ", "")[:60]
