"""Renyi divergences but for a failure probability: for ledgers that add up divergences.

A noise of bounded support, and a threshold on noisy counts, have outcomes that only one of two neighbours can have. The
divergence is then infinite. But with a probability of 1 - d, on both neighbours, the outcome is one of a pair of laws
with a finite divergence. The ledger adds up these divergences and the d.

**Bounded noise on a lattice.** A number moves by n steps. The law and its shifted copy overlap but for the last n
points of each, which have the same probability d. On the overlap the two conditional laws have the divergence
log(sum of p(k)^a p(k - n)^(1 - a)/(1 - d))/(a - 1).

**Keys.** A group of the person is new or moves. A new group is hidden with probability 1 - pi, as it is without the
person. So each of g groups fails with probability at most max(pi, d), and no group does both. With a cut, the overlap
of a group has the pure epsilon of its noise, and `chance` bounds both failures.

**Pairs.** Optimal-rule noise has a pure epsilon but for its delta.
"""

from __future__ import annotations

import math
from typing import NamedTuple

import numpy as np

from hush.errors import Unsupported
from hush.noise.lattice import Lattice
from hush.numerics.rounding import CLOSED_FORM, FEW_ROUNDINGS, up
from hush.privacy.by_box import box_of
from hush.privacy.by_keys import noise_of
from hush.privacy.by_rule import rule_covers, rule_pair
from hush.privacy.charge import Charge
from hush.privacy.divergence import pure_divergence
from hush.privacy.theorem import pure_epsilon, renyi_divergence

__all__ = ["ButFor", "divergence_but_for"]


class ButFor(NamedTuple):
    """A Renyi divergence, and the probability of outcomes that it does not cover."""

    divergence: float
    failure: float


def divergence_but_for(charge: Charge, order: float) -> ButFor:
    """The divergence of one release and its failure probability, both as upper bounds."""
    keys = charge.keys
    if keys is None:
        return _of_noise(charge, order)
    if keys.cut is not None:
        divergence = pure_divergence(pure_epsilon(noise_of(charge, 1)), order)
        return ButFor(up(keys.groups * divergence, FEW_ROUNDINGS), up(keys.failure, FEW_ROUNDINGS))
    noise = _of_noise(noise_of(charge), order)
    return ButFor(noise.divergence, up(max(keys.failure, noise.failure), FEW_ROUNDINGS))


def _of_noise(charge: Charge, order: float) -> ButFor:
    if rule_covers(one := charge.by_group):
        epsilon, delta = rule_pair(one)
        divergence = up(one.times * pure_divergence(epsilon, order), FEW_ROUNDINGS)
        return ButFor(divergence, up(one.times * delta, FEW_ROUNDINGS))
    law, box = charge.noise, box_of(charge)
    if not isinstance(law, Lattice) or not math.isfinite(law.support) or box is None or charge.rate is not None:
        return ButFor(renyi_divergence(charge, order), 0.0)
    parts = [(_overlap(law, order, shift), count * charge.times) for shift, count in box]
    divergence = math.fsum(one.divergence * count for one, count in parts)
    failure = math.fsum(one.failure * count for one, count in parts)
    return ButFor(up(divergence, CLOSED_FORM), up(failure, CLOSED_FORM))


def _overlap(law: Lattice, order: float, shift: float) -> ButFor:
    """One number that moves by a shift: the divergence on the overlap, and the probability outside."""
    n, last = law.steps_in(shift), law.points - 1
    if n > 2 * last:
        raise Unsupported(f"{law} and its copy moved by {shift:g} have no point in common.")
    k = np.arange(n - last, last + 1, dtype=np.float64)
    here, there = law.log_mass(np.abs(k)), law.log_mass(np.abs(k - n))
    beyond = float(law.at_least(np.array(last - n + 1.0)))
    common = (here > -np.inf) & (there > -np.inf)  # a point that only one of them can reach is outside
    with np.errstate(under="ignore"):
        outside = up(beyond + float(np.exp(here[~common]).sum()), CLOSED_FORM)
        here, there = here[common], there[common]
        if not here.size:
            raise Unsupported(f"{law} and its copy moved by {shift:g} have no point in common.")
        exponent = order * here + (1.0 - order) * there
        top = float(exponent.max())
        total = top + math.log(float(np.exp(exponent - top).sum())) - math.log1p(-outside)
    # each logarithm has a rounding of its own size, and the order multiplies it
    slack = CLOSED_FORM.share * order * (1.0 + float(np.abs(here).max()))
    return ButFor(max(total + slack, 0.0) / (order - 1.0), outside)
