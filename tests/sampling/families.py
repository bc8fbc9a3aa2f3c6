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
from hush.noise.catalogue import family_of
from hush.noise.contract import Law


def has_lattice_version(noise: Law) -> bool:
    """Can `Discrete(noise)` be drawn? Its descriptor then has a `log_weight`."""
    row = family_of(noise)
    return row is not None and row.log_weight is not None


CONTINUOUS: list[Law] = [
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
LATTICE = [Discrete(noise) for noise in (*CONTINUOUS, OSGT(4.0, 9.0)) if has_lattice_version(noise)]
LATTICE += [Discrete(Laplace(3.0), 0.5)]


def name(case: object) -> str:
    return str(case).replace(" ", "")[:60]
