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
    """Does the person move the number of people by exactly one step, and every other number as its share needs it?
    Without shares, all numbers are independent, and may move in any way.
    """
    noise, bound = charge.noise, charge.sensitivity
    if not isinstance(noise, Lifted) or charge.rate is not None or not bound.has_box:
        return False
    moves, one_sided = bound.each_move, bound.each_one_sided
    if len(moves) != noise.dimension or not any(noise.shares):
        return len(moves) == noise.dimension
    unit, shares = noise.noise.step, (noise.parts_of(column)[1] for column in range(noise.dimension))
    exact = bound.people == noise.place and moves[noise.place] == unit and max(moves) <= unit
    return exact and all(flag or share == 0.0 for flag, share in zip(one_sided, shares, strict=True))


def lifted_pairs(charge: Charge) -> Pairs:
    """The law of the number of people, moved by its bound, and one Gaussian number for all others."""
    noise, moves = charge.noise, charge.sensitivity.each_move
    assert isinstance(noise, Lifted)
    pairs: Pairs = [(OneNumber(noise.noise, moves[noise.place]), charge.times)]
    squares = []
    for column, move in enumerate(moves):
        sigma, share = noise.parts_of(column)
        if sigma:  # a one-sided number moves by 0 to `move`, less its share of one person; another one by +-move
            off = share * noise.noise.step
            squares.append((max(off, move - off) / sigma) ** 2)
    if squares:
        together = Sensitivity(l2=up(math.sqrt(math.fsum(squares)), FEW_ROUNDINGS))
        pairs.append((merged_gaussians([Charge(Gaussian(1.0), together, times=charge.times)]), 1))
    return pairs
