"""Joint noise whose theorem is a pure epsilon, and noise that defines its own curve."""

from __future__ import annotations

import math
from dataclasses import replace
from fractions import Fraction

from hush.errors import Unsupported
from hush.noise.contract import Noise
from hush.numerics.rounding import round_up
from hush.privacy.by_box import Pairs, box_of
from hush.privacy.charge import Charge
from hush.privacy.curve import Curve, PureBound
from hush.privacy.exchange import whole_pair
from hush.privacy.sensitivity import Sensitivity

__all__ = ["covered_facts", "finite", "joint_loss", "joint_pairs", "own_curve", "own_pairs", "own_pure"]

_MOST_PLACES = 100  # places of a number of people that are tried


def finite(value: float) -> Fraction | None:
    """The number as a fraction; None if it is infinite."""
    return Fraction(value) if math.isfinite(value) else None


def own_curve(charge: Charge) -> Curve | None:
    """The curve that the noise defines for the sensitivity, or None."""
    found = charge.noise.pair(charge.sensitivity) if isinstance(charge.noise, Noise) and charge.rate is None else None
    if found is not None and not isinstance(found, Curve):
        raise Unsupported(
            f"{type(charge.noise).__name__}.pair must return a hush.Curve or None, got {type(found).__name__}."
        )
    return found


def own_pairs(charge: Charge) -> Pairs:
    found = own_curve(charge)
    assert found is not None
    return [(whole_pair(found), charge.times)]


def own_pure(charge: Charge) -> Fraction | None:
    found = own_curve(charge)
    return None if found is None else finite(found.pure_epsilon)


def joint_loss(charge: Charge) -> Fraction | None:
    """The largest loss of a joint noise under the moves of the sensitivity, if not too many numbers move."""
    noise, bound, box = charge.noise, charge.sensitivity, box_of(charge)
    if not isinstance(noise, Noise) or noise.dimension is None or charge.rate is not None or box is None:
        return None
    if noise.most_moving is not None and (bound.moving is None or bound.moving > noise.most_moving):
        return None
    if bound.is_box:
        return noise.loss_under(bound)
    losses = [noise.largest_loss(shift, one_sided=bound.one_sided is True) for shift, _ in box]
    known = [loss for loss in losses if loss is not None]
    return max(known) if len(known) == len(losses) else noise.loss_under(bound)  # for moves in the box that it contains


def joint_pairs(charge: Charge) -> Pairs:
    found = joint_loss(charge)
    assert found is not None
    return [(PureBound(round_up(found)), charge.times)]


def covered_facts(noise: Noise) -> Sensitivity | None:
    """The first of a few simple sensitivities under which a joint noise has a pure epsilon; None if there is none.

    All numbers move by 1 (or by one step): in any direction, in one direction, or with a number of people.
    """
    most = noise.most_moving if noise.most_moving != noise.dimension else None
    move = noise.step if noise.discrete and (1.0 / noise.step) % 1.0 else 1.0
    several = Sensitivity(linf=move, l0=most, dimension=noise.dimension)
    one_way = replace(several, one_sided=True)
    places = range(min(noise.dimension or 1, _MOST_PLACES))
    tried = [several, one_way, *(replace(one_way, people=place) for place in places)]
    return next((bound for bound in tried if joint_loss(Charge(noise, bound)) is not None), None)
