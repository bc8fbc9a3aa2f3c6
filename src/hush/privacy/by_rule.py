"""Optimal-rule noise: an (epsilon, delta) pair for one number that moves by exactly one person."""

from __future__ import annotations

from fractions import Fraction

from hush.noise.optimal_rule import OptimalRule
from hush.privacy.by_box import Pairs
from hush.privacy.charge import Charge
from hush.privacy.failing import responses

__all__ = ["rule_covers", "rule_pair", "rule_pairs"]


def rule_covers(charge: Charge) -> bool:
    """Does the number of people move by exactly the move that the noise is made for?"""
    noise, bound = charge.noise, charge.sensitivity
    if not isinstance(noise, OptimalRule) or charge.rate is not None or not bound.has_box:
        return False
    return bound.people == 0 and bound.each_move == (noise.move,)


def rule_pair(charge: Charge) -> tuple[Fraction, float]:
    """epsilon and delta of one release."""
    noise = charge.noise
    assert isinstance(noise, OptimalRule)
    return Fraction(noise.epsilon), noise.delta


def rule_pairs(charge: Charge) -> Pairs:
    epsilon, delta = rule_pair(charge)
    return [(responses(epsilon, charge.times, delta), 1)]
