"""Rounding to the safe side: claims, floats, fractions and decimals."""

from __future__ import annotations

import math
from decimal import Decimal
from fractions import Fraction

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st

from hush.numerics import rounding
from hush.numerics.rounding import (
    Claim,
    decimal_down,
    decimal_nearest,
    decimal_up,
    down,
    next_down,
    next_up,
    percent_up,
    round_down,
    round_up,
    rounded_down,
    rounded_up,
    up,
)

CLAIMS = {name: value for name, value in vars(rounding).items() if isinstance(value, Claim)}
EDGES = [0.0, 5e-324, 1e-310, 2.2250738585072014e-308, 1.0, 1.7976931348623157e308, math.inf]
positive = st.floats(min_value=0.0, allow_nan=False)
normal = st.floats(min_value=1e-290, max_value=1e290)
finite = st.floats(allow_nan=False, allow_infinity=False)


@pytest.mark.parametrize("name", CLAIMS)
def test_a_claim_is_a_small_positive_share_with_a_reason(name):
    claim = CLAIMS[name]
    assert name.isupper() and name in rounding.__all__
    assert 2.0**-52 < claim.share < 1e-3
    assert claim.below < 1.0 < claim.above
    assert len(claim.reason.split()) >= 8


@pytest.mark.parametrize("claim", CLAIMS.values(), ids=CLAIMS)
@pytest.mark.parametrize("x", EDGES)
def test_up_and_down_stay_on_their_side_at_the_edges(claim, x):
    assert down(x, claim) <= x <= up(x, claim)
    with np.errstate(over="ignore"):
        assert np.array_equal(up(np.array([x]), claim), [up(x, claim)])
        assert np.array_equal(down(np.array([x]), claim), [down(x, claim)])


@given(positive, st.sampled_from(list(CLAIMS.values())))
def test_up_and_down_stay_on_their_side(x, claim):
    assert down(x, claim) <= x <= up(x, claim)


@given(normal, st.sampled_from(list(CLAIMS.values())))
def test_a_claim_holds_up_to_one_rounding(x, claim):
    """The multiplication is rounded too: it moves a number by at least the share minus one unit."""
    share, unit = Fraction(claim.share), Fraction(2) ** -52
    assert Fraction(up(x, claim)) >= Fraction(x) * (1 + share - unit)
    assert Fraction(down(x, claim)) <= Fraction(x) * (1 - share + unit)


@given(st.floats(allow_nan=False))
def test_the_next_float_is_the_next_of_either_sign(x):
    above, below = next_up(x), next_down(x)
    assert (above > x or x == math.inf) and (below < x or x == -math.inf)
    assert next_down(above) == x or x == math.inf or above == math.inf
    with np.errstate(over="ignore", under="ignore"):
        assert np.array_equal(next_up(np.array([x])), [above]) and np.array_equal(next_down(np.array([x])), [below])


@given(st.fractions(min_value=-10, max_value=10))
def test_fractions_become_the_nearest_float_on_their_side(value):
    above = round_up(value)
    assert Fraction(above) >= value and (Fraction(next_down(above)) < value)
    below = round_down(value)
    assert Fraction(below) <= max(value, Fraction(0)) and (value <= 0 or Fraction(next_up(below)) > value)
    assert math.copysign(1.0, below) == 1.0


@given(finite, st.integers(min_value=1, max_value=8))
def test_decimals_are_on_their_side_of_the_written_number(x, digits):
    written = Decimal(repr(x))
    below, near, above = decimal_down(x, digits), decimal_nearest(x, digits), decimal_up(x, digits)
    assert below <= written <= above and below <= near <= above
    assert all(len(made.as_tuple().digits) <= digits for made in (below, near, above))


@given(st.floats(min_value=1e-300, max_value=1e300), st.integers(min_value=1, max_value=8))
def test_texts_are_on_their_side(x, digits):
    written = Decimal(repr(x))
    assert Decimal(rounded_down(x, digits)) <= written <= Decimal(rounded_up(x, digits))


def test_short_decimals_are_unchanged_and_infinity_is_a_word():
    assert rounded_up(0.1, 1) == rounded_down(0.1, 1) == "0.1"
    assert rounded_up(math.inf) == rounded_down(math.inf) == "infinite"
    assert rounded_up(0.0) == "0"


@given(st.floats(min_value=0.0, max_value=1.0))
def test_a_percentage_is_never_below_its_share(share):
    text = percent_up(share)
    assert text.endswith(" %") and Decimal(text[:-2]) >= Decimal(repr(share)) * 100
    assert share == 1.0 or share > 1.0 - 1e-13 or text != "100 %"


def test_numpy_scalars_stay_numpy_scalars():
    """Arithmetic turns arrays without axes into numpy scalars, and callers use their methods."""
    for rounded in (next_up(np.float64(1.0)), next_down(np.float64(1.0)), next_up(np.array(1.0))):
        assert isinstance(rounded, np.floating) and rounded.clip(0.0) == rounded
    assert type(next_up(1.0)) is float and type(next_down(1.0)) is float
