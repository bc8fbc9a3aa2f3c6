"""The noise of the question which groups exist, for people who count more where they have fewer groups."""

from __future__ import annotations

from dataclasses import replace

from hush.calibration.plan import Plan, RankedNoise
from hush.noise.catalogue import family_of
from hush.tables.column_noise import Spending
from hush.tables.contribution import Part, Reach
from hush.tables.description import UNITS
from hush.tables.key_rule import KeyRule
from hush.tables.which.ladder import ladder

__all__ = ["weighted_spending"]


def weighted_spending(groups: int, epsilon: float, delta: float) -> Spending:
    """Bump noise on sums of weights, with its threshold."""
    made = ladder(groups, epsilon, delta)
    charge, row = made.charge, family_of(made.noise)
    assert charge.keys is not None and row is not None
    largest = max(weight for _, weight, _ in made.rungs)
    reach = Reach(groups, (Part(UNITS, (UNITS,), largest, one_sided=True),))
    ranked = RankedNoise(row.name, noise=made.noise, loss=made.noise.variance)
    remark = f"it is added to sums of weights, {made.unit} for a person with {groups} groups"
    plan = Plan(made.noise, row.name, epsilon, delta, charge.sensitivity, 1, "variance", "dp", None, (ranked,))
    rule = KeyRule(float(made.threshold), charge.keys)
    weights = tuple((most, weight) for most, weight, _ in made.rungs)
    return Spending(epsilon, delta, reach, {}, replace(plan, remark=remark), UNITS, rule=rule, ladder=weights)
