"""Lifted noise: the number of people, and the other columns of a group less their share of it, are hidden apart."""

from __future__ import annotations

import math

from hush.noise.gaussian import Gaussian
from hush.noise.lifted import Lifted
from hush.numerics.rounding import FEW_ROUNDINGS, up
from hush.privacy.by_box import Pairs
from hush.privacy.charge import Charge
from hush.privacy.curve import OneNumber
from hush.privacy.merged_gaussian import merged_gaussians
from hush.privacy.sensitivity import Sensitivity

__all__ = ["lifted_covers", "lifted_pairs"]


def lifted_covers(charge: Charge) -> bool:
    """Does the person move the number of people by exactly one step, and every other number as its share needs it?"""
    noise, bound = charge.noise, charge.sensitivity
    if not isinstance(noise, Lifted) or charge.rate is not None or not bound.is_box or bound.people != noise.place:
        return False
    moves, one_sided = bound.each_move, bound.each_one_sided
    if len(moves) != noise.dimension or moves[noise.place] != noise.noise.step or max(moves) > noise.noise.step:
        return False
    shares = (noise.parts_of(column)[1] for column in range(noise.dimension))
    return all(flag or share == 0.0 for flag, share in zip(one_sided, shares, strict=True))


def lifted_pairs(charge: Charge) -> Pairs:
    """The law of the number of people, moved by one person, and one Gaussian number for all others."""
    noise = charge.noise
    assert isinstance(noise, Lifted)
    squares = []
    for column, move in enumerate(charge.sensitivity.each_move):
        sigma, share = noise.parts_of(column)
        if sigma:  # a one-sided number moves by 0 to `move`, less its share of one person; another one by +-move
            off = share * noise.noise.step
            squares.append((max(off, move - off) / sigma) ** 2)
    together = Sensitivity(l2=up(math.sqrt(math.fsum(squares)), FEW_ROUNDINGS))
    others = merged_gaussians([Charge(Gaussian(1.0), together, times=charge.times)])
    return [(OneNumber(noise.noise, noise.noise.step), charge.times), (others, 1)]
