"""An audit of the choice of the largest groups: two choices among four numbers of people."""

from __future__ import annotations

import itertools
import math
from typing import Any

import numpy as np
import pyarrow as pa

import hush
from hush import tables
from hush.ledger.payment import unaccounted
from hush.privacy.charge import Charge

GROUPS = ["a", "b", "c", "d"]
#: The numbers of people without and with one person, who is in the first two groups.
PAIR = (np.array([0, 0, 1, 1]), np.array([1, 1, 1, 1]))
#: Numbers whose order tells scales apart.
SPREAD = np.array([0, 1, 2, 3])


def chosen(charge: Charge, counts: np.ndarray, size: int) -> np.ndarray:
    """The two chosen places of many releases."""
    return np.array([unaccounted([charge]).choose(charge, counts) for _ in range(size)])


def probability(order: tuple[int, ...], counts: np.ndarray, scale: float) -> float:
    """The probability that these places are chosen in this order."""
    weights, found = np.exp(counts / scale), 1.0
    for place in order:
        found *= weights[place] / weights.sum()
        weights[place] = 0.0
    return float(found)


def audited(charge: Charge, claim: float) -> Any:
    """The audit of a choice against a claim: outputs are attacked by their likelihood ratio."""
    scale = charge.noise.scale  # type: ignore[union-attr]
    ratios = {
        order: math.log(probability(order, PAIR[1], scale) / probability(order, PAIR[0], scale))
        for order in itertools.permutations(range(4), 2)
    }

    def release(which: int, size: int) -> np.ndarray:
        return np.array([ratios[tuple(places)] for places in chosen(charge, PAIR[which], size).tolist()])

    return hush.audit(release, epsilon=claim, delta=0.0, inputs=(0, 1), samples=2_000, batch=2_000)


def planned(epsilon: float) -> Charge:
    rows = pa.table({"u": [1, 2, 3, 4], "g": GROUPS})
    asked = tables.table(rows, unit="u").group_by("g", keys=GROUPS).top(2)
    charge = asked.plan(epsilon, 0.0, family="selection").charge
    assert charge is not None
    return charge


def test_the_choice_of_the_largest_keeps_its_claim_and_the_audit_would_see_less_noise() -> None:
    """False-alarm rate 1e-6. A choice with an eighth of the noise is found to break the claim."""
    assert not audited(planned(1.5), 1.5).violated
    found = audited(planned(12.0), 1.5)
    assert found.violated and found.epsilon_lower > 1.5


def test_the_places_have_the_law_of_the_claim() -> None:
    """All twelve orders, by a chi-square of 2,500 choices; false-alarm rate 1e-6. Other scales are rejected."""
    charge = planned(1.5)
    orders = list(itertools.permutations(range(4), 2))
    seen = chosen(charge, SPREAD, 2_500).tolist()
    counts = np.array([seen.count(list(order)) for order in orders])

    def distance(scale: float) -> float:
        expected = 2_500 * np.array([probability(order, SPREAD, scale) for order in orders])
        return float(((counts - expected) ** 2 / expected).sum())

    scale, limit = charge.noise.scale, 53.0  # type: ignore[union-attr]  # 11 degrees of freedom: P(beyond) < 1e-6
    assert distance(scale) < limit
    assert distance(scale * 2.0 / 3.0) > limit and distance(scale * 1.5) > limit
