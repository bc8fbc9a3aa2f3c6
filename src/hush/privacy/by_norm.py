"""What is proved for single families under an l1 or l2 bound."""

from __future__ import annotations

import math
from fractions import Fraction

from hush.noise.contract import Noise
from hush.noise.discrete import Discrete
from hush.noise.flipped_huber import FlippedHuber
from hush.noise.gaussian import Gaussian
from hush.noise.laplace import Laplace
from hush.noise.osgt import OSGT
from hush.noise.stable import Stable
from hush.numerics.rounding import FEW_ROUNDINGS, SAME_FACT, down, round_up, up
from hush.privacy.by_box import AtMost, Pairs
from hush.privacy.charge import Charge
from hush.privacy.curve import OneNumber, PureBound
from hush.privacy.divergence import laplace_divergence
from hush.privacy.paper_bounds import FlippedHuberTheorem8, OSGTTheorem2, osgt_theorem2

__all__ = [
    "by_norm",
    "huber_pairs",
    "in_a_ball",
    "laplace_covers",
    "laplace_pairs",
    "laplace_pure",
    "laplace_renyi",
    "osgt_pairs",
    "osgt_renyi",
    "score_bound",
    "sigma_of",
]


def by_norm(charge: Charge, kind: type[Noise]) -> bool:
    """Is the noise of this kind, under an l1 bound that is sharper than the box?"""
    bound = charge.sensitivity
    if charge.rate is not None or not isinstance(charge.noise, kind) or bound.l1_bound is None or bound.moving == 1:
        return False
    return bound.box is None or bound.l1_bound < down(
        math.fsum(count * shift for shift, count in bound.shifts), SAME_FACT
    )


def l1_of(charge: Charge) -> float:
    """The l1 bound that the sensitivity implies."""
    bound = charge.sensitivity.l1_bound
    assert bound is not None
    return bound


def _scale(charge: Charge) -> float | None:
    """The scale of Laplace noise, continuous or on a lattice; None for other noise."""
    noise = charge.noise.noise if isinstance(charge.noise, Discrete) else charge.noise
    return noise.scale if isinstance(noise, Laplace) else None


def laplace_covers(charge: Charge) -> bool:
    """Is it Laplace noise, continuous or on a lattice, under an l1 bound that is sharper than the box?"""
    return _scale(charge) is not None and by_norm(charge, Noise)


def laplace_pairs(charge: Charge) -> Pairs:
    """One number that takes the whole move; on a lattice, only the pure epsilon is used."""
    if not isinstance(charge.noise, Laplace):
        return [(PureBound(round_up(laplace_pure(charge))), charge.times)]
    bound, one = charge.sensitivity, OneNumber(charge.noise, l1_of(charge))
    exact = bound.l1 is not None and bound.linf is None and bound.l2 is None
    return [(one if exact else AtMost(one), charge.times)]


def laplace_pure(charge: Charge) -> Fraction:
    """l1/scale, exactly: the log density of a point falls by its l1 norm over the scale."""
    scale = _scale(charge)
    assert scale is not None
    return Fraction(l1_of(charge)) / Fraction(scale)


def laplace_renyi(charge: Charge, order: float) -> float:
    """The divergence of continuous noise; none is known here for a lattice."""
    if not isinstance(charge.noise, Laplace):
        return math.inf
    return laplace_divergence(l1_of(charge) / charge.noise.scale, order)


def sigma_of(charge: Charge) -> float:
    """The standard deviation of Gaussian noise."""
    assert isinstance(charge.noise, Gaussian)
    return charge.noise.sigma


def score_bound(charge: Charge) -> PureBound:
    assert isinstance(charge.noise, Stable)
    return PureBound(up(l1_of(charge) * charge.noise.sup_score(), FEW_ROUNDINGS))


def in_a_ball(charge: Charge, kind: type[Noise]) -> bool:
    """Is the noise of this kind, with several moving numbers under an l1 or l2 bound?"""
    bound = charge.sensitivity
    several = bound.moving is not None and bound.moving > 1
    return charge.rate is None and isinstance(charge.noise, kind) and several and not bound.is_box


def osgt_pairs(charge: Charge) -> Pairs:
    bound = charge.sensitivity
    assert isinstance(charge.noise, OSGT) and bound.moving is not None
    l2 = up(bound.l2_bound * math.sqrt(charge.times), FEW_ROUNDINGS)
    return [(OSGTTheorem2(charge.noise, l2, bound.moving * charge.times), 1)]


def osgt_renyi(charge: Charge, order: float) -> float:
    assert isinstance(charge.noise, OSGT) and charge.sensitivity.moving is not None
    return osgt_theorem2(charge.noise, order, charge.sensitivity.l2_bound, k=charge.sensitivity.moving)


def huber_pairs(charge: Charge) -> Pairs:
    bound = charge.sensitivity
    assert isinstance(charge.noise, FlippedHuber) and bound.moving is not None
    return [(FlippedHuberTheorem8(charge.noise, up(bound.l2_bound, FEW_ROUNDINGS), bound.moving), 1)]
