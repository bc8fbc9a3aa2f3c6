"""Tails of lattice laws in ball arithmetic: what is left out of a sum is enclosed."""

from __future__ import annotations

import pytest

import hush
from hush.numerics.ball import precision
from hush.sampling.lattice_ball import DiscreteTail

LAWS = [
    hush.Discrete(hush.Gaussian(2.0), 1.0),
    hush.Discrete(hush.Gaussian(0.3), 0.25),
    hush.Discrete(hush.OSGT(0.5, 1.0), 1.0),
    hush.Discrete(hush.ExponentialPower(1.5, 2.0), 1.0),
]


@pytest.mark.parametrize("law", LAWS, ids=str)
def test_the_ball_of_a_tail_holds_the_tail_at_every_precision(law: hush.Noise) -> None:
    """The omitted rest is a ball from 0 to its bound: far out nearly nothing is left, and next to the last weight
    nearly the whole bound. A ball around the middle of the two would hold neither.
    """
    tail = DiscreteTail(law)
    with precision(128):
        sums, rest = tail._summed(128)
        count = len(sums)
        assert rest.contains(0) and float(rest.upper()) > 0.0
        low = {k: tail(k) for k in (0, 1, count // 2, count - 2, count - 1, count, count + 3, 2 * count)}
    with precision(4096):
        finer = DiscreteTail(law)
        high = {k: finer(k) for k in low}
        next_weight = high[count - 1]  # P(|K| > count - 1): the first point that was left out, and those beyond
    for k, ball in low.items():
        assert ball.contains(high[k]), f"the tail beyond {k} is not in its ball"
    assert float(next_weight / low[count - 1].upper()) > 0.2, "the bound of the rest is near the rest"
