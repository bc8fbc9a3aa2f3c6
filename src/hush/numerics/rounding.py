"""Rounding to the safe side. All factors that turn a computed number into a bound are defined in this module.

A `Claim` states a relative error and the reason why it is large enough. `up` and `down` move a non-negative number by a
claim, with one multiplication. `next_up` and `next_down` move any number to the neighbouring float, which is enough
after one correctly rounded operation. The other functions round fractions to floats, and floats to decimal text, in the
direction that their name states.
"""

from __future__ import annotations

import math
from dataclasses import dataclass, field
from decimal import ROUND_CEILING, ROUND_FLOOR, ROUND_HALF_EVEN, Context, Decimal
from fractions import Fraction
from typing import Any, overload

import numpy as np
from numpy.typing import NDArray

__all__ = [
    "BETA_INVERSE",
    "BETWEEN_COARSE_POINTS",
    "BETWEEN_FINE_POINTS",
    "CHECKED",
    "CLOSED_FORM",
    "COARSE_SEARCH",
    "CONVERSION",
    "DISTANCE_TO_LIMIT",
    "ELEMENTARY",
    "ESTIMATED_MINIMUM",
    "FEW_ROUNDINGS",
    "FLAT_MINIMUM",
    "FOREIGN",
    "GAUSSIAN_AMOUNT",
    "LOSS_LADDER",
    "NEAR_ENOUGH",
    "NORMAL_TAILS",
    "POWER",
    "PURE_EPSILON",
    "ROOTS_AND_LOGARITHMS",
    "SAME_FACT",
    "SEARCH_AIM",
    "SPARE",
    "SPECIAL_FUNCTION",
    "STABLE_LOSS",
    "SUM_OF_POSITIVE_TERMS",
    "SUPREMUM",
    "TIED",
    "TINY",
    "TWO_ROUNDINGS",
    "TWO_TAILS",
    "ULP",
    "UNIT",
    "WORTHLESS",
    "Claim",
    "decimal_down",
    "decimal_nearest",
    "decimal_up",
    "down",
    "next_down",
    "next_up",
    "percent_up",
    "round_down",
    "round_up",
    "rounded_down",
    "rounded_up",
    "up",
]

Array = NDArray[np.float64]

#: The distance from 1 to the next float.
ULP = 2.0**-52
#: The least positive float.
TINY = 5e-324
#: Slightly more than `ULP`: a bound on the error of one operation that stays valid after it is multiplied and rounded.
UNIT = 2.3e-16


@dataclass(frozen=True)
class Claim:
    """A relative error bound: the exact value is within `share` of the computed number, for the stated `reason`.

    A reason that starts with "no bound" marks a tolerance of a search or a comparison, which proves nothing.
    """

    share: float
    reason: str
    #: The factors that `up` and `down` multiply by.
    above: float = field(init=False, repr=False)
    below: float = field(init=False, repr=False)

    def __post_init__(self) -> None:
        object.__setattr__(self, "above", 1.0 + self.share)
        object.__setattr__(self, "below", 1.0 - self.share)


# -- all claims, from the smallest to the largest ------------------------------------------------------------

TWO_ROUNDINGS = Claim(4e-16, "two operations rounded correctly, 2^-53 each, and the multiplication by the factor")
DISTANCE_TO_LIMIT = Claim(
    2.0**-50, "a share of a logarithm, which bounds the error of its difference with an exact number and of expm1 of it"
)
FEW_ROUNDINGS = Claim(1e-15, "at most seven roundings on positive numbers, 2^-53 each, and that of the factor")
GAUSSIAN_AMOUNT = Claim(2e-15, "roots, logarithms and inverse error functions, each within a few 2^-53")
ROOTS_AND_LOGARITHMS = Claim(2e-15, "sums of positive terms, with a root and a logarithm, each within a few 2^-53")
POWER = Claim(2e-15, "a power with a rounded exponent: 2^-53 times the log of a base from 1e-6 to 1e6, at most 14")
STABLE_LOSS = Claim(
    5e-15, "the largest loss of a stable law: a difference of logarithms, or a short integral of the score"
)
ELEMENTARY = Claim(1e-14, "exponentials and logarithms, 2^-52 each, that amplify errors at most tenfold")
NORMAL_TAILS = Claim(2e-14, "two normal tails with exponents in twofold precision, each within 1e-14 of the truth")
SUM_OF_POSITIVE_TERMS = Claim(1e-13, "a sum by halves of at most 2^24 positive terms, each within 5e-14")
CONVERSION = Claim(1e-13, "an extra margin: a conversion from Renyi bounds already rounds up by the sizes of its terms")
CLOSED_FORM = Claim(1e-12, "a closed form or a sum of positive terms in at most a thousand roundings, about 1e-13")
SUPREMUM = Claim(1e-12, "the value at a smooth peak, which is flat there: computed values are within 1e-13")
SAME_FACT = Claim(1e-12, "no bound: two bounds this close are the same fact, rounded in two ways")
PURE_EPSILON = Claim(1e-11, "the largest relative error that any family states")
BETA_INVERSE = Claim(1e-11, "the inverse of the incomplete beta function, which keeps about 1e-13")
TWO_TAILS = Claim(1e-11, "a normal tail in single floats: an exponent of up to 745 has an error of at most 2e-13")
SPECIAL_FUNCTION = Claim(1e-9, "a tail or a quantile of any law of hush; the least accurate one is within 1e-11")
FOREIGN = Claim(1e-9, "the round-off of a privacy loss distribution of another library, which states no error")
LOSS_LADDER = Claim(1e-9, "second differences of at most 2^18 falling numbers, each with an error of at most 4e-15")
SPARE = Claim(1e-9, "noise is larger, or a budget smaller, by more than all roundings of its parts together")
CHECKED = Claim(1e-9, "no bound: the tolerance of a check, above the round-off of the two computations it compares")
NEAR_ENOUGH = Claim(1e-9, "no bound: the values are treated as equal in a choice where both options are safe")
SEARCH_AIM = Claim(1e-8, "no bound: a search aims this far to the safe side, so that its first check succeeds")
BETWEEN_FINE_POINTS = Claim(1e-5, "a characteristic function at 201 points; 40,001 points show 2e-6 more")
BETWEEN_COARSE_POINTS = Claim(1e-4, "a smooth variance at 201 points of a range: four squared steps")
TIED = Claim(1e-4, "no bound: losses this close are a tie, and the simpler family is preferred")
COARSE_SEARCH = Claim(2e-4, "no bound: a coarse search may be wrong by this, so closer candidates are searched again")
FLAT_MINIMUM = Claim(3e-4, "no bound: a search for a shape ends where its neighbours differ by less than this")
ESTIMATED_MINIMUM = Claim(1e-6, "no bound: the same for a search with cheap estimates")
WORTHLESS = Claim(5e-4, "no bound: a smaller gain does not justify a search")


# -- floats --------------------------------------------------------------------------------------------------


@overload
def up(x: float, claim: Claim) -> float: ...
@overload
def up(x: Array, claim: Claim) -> Array: ...
def up(x: Any, claim: Claim) -> Any:
    """Return x raised by a claim, for x >= 0: an upper bound of the exact value.

    >>> up(3.0, CLOSED_FORM)
    3.0000000000030003
    """
    return x * claim.above


@overload
def down(x: float, claim: Claim) -> float: ...
@overload
def down(x: Array, claim: Claim) -> Array: ...
def down(x: Any, claim: Claim) -> Any:
    """Return x lowered by a claim, for x >= 0: a lower bound of the exact value.

    >>> down(3.0, CLOSED_FORM)
    2.999999999997
    """
    return x * claim.below


@overload
def next_up(x: float) -> float: ...
@overload
def next_up(x: Array) -> Array: ...
def next_up(x: Any) -> Any:
    """Return the next float above x, for x of either sign; infinity is unchanged.

    >>> next_up(1.0) - 1.0 == ULP, next_up(0.0)
    (True, 5e-324)
    """
    return math.nextafter(x, math.inf) if type(x) is float else np.nextafter(x, np.inf)


@overload
def next_down(x: float) -> float: ...
@overload
def next_down(x: Array) -> Array: ...
def next_down(x: Any) -> Any:
    """Return the next float below x, for x of either sign; minus infinity is unchanged."""
    return math.nextafter(x, -math.inf) if type(x) is float else np.nextafter(x, -np.inf)


# -- fractions -----------------------------------------------------------------------------------------------


def round_up(value: Fraction) -> float:
    """Return the least float that is not below the fraction.

    >>> round_up(Fraction(1, 10)), Fraction(round_up(Fraction(1, 3))) > Fraction(1, 3)
    (0.1, True)
    """
    near = float(value)
    return near if Fraction(near) >= value else next_up(near)


def round_down(value: Fraction) -> float:
    """Return the greatest float that is not above the fraction, and 0 for a negative one: for a remaining budget."""
    return -round_up(-value) if value > 0 else 0.0


# -- decimal text --------------------------------------------------------------------------------------------


def _decimal(value: float, digits: int, way: str) -> Decimal:
    """Round the shortest decimal form of a float, which is the number as a user wrote it, in the given direction."""
    return Context(prec=digits, rounding=way).create_decimal(Decimal(repr(float(value))))


def decimal_up(value: float, digits: int) -> Decimal:
    """Return the shortest decimal form of a number, rounded up to the given number of digits."""
    return _decimal(value, digits, ROUND_CEILING)


def decimal_down(value: float, digits: int) -> Decimal:
    """Return the shortest decimal form of a number, rounded down to the given number of digits."""
    return _decimal(value, digits, ROUND_FLOOR)


def decimal_nearest(value: float, digits: int) -> Decimal:
    """Return the shortest decimal form of a number, rounded to the nearest: an estimate, not a bound."""
    return _decimal(value, digits, ROUND_HALF_EVEN)


def rounded_up(value: float, digits: int = 6) -> str:
    """Return the number as text, rounded up: for an epsilon, a delta, a scale or an error.

    >>> rounded_up(0.1), rounded_up(1.0000001), rounded_up(0.35009612), rounded_up(2e-7, 3)
    ('0.1', '1.00001', '0.350097', '2e-07')
    """
    return f"{float(decimal_up(value, digits)):.{digits}g}" if math.isfinite(value) else "infinite"


def rounded_down(value: float, digits: int = 6) -> str:
    """Return the number as text, rounded down: for a remaining budget, or a lower bound on an error rate.

    >>> rounded_down(0.1), rounded_down(1.9999999)
    ('0.1', '1.99999')
    """
    return f"{float(decimal_down(value, digits)):.{digits}g}" if math.isfinite(value) else "infinite"


def percent_up(share: float) -> str:
    """Return an upper bound on a probability in per cent, rounded up to one decimal, or to more close to 100.

    >>> percent_up(0.6225), percent_up(0.99995), percent_up(1.0)
    ('62.3 %', '99.995 %', '100 %')
    """
    least = Decimal(repr(min(float(share), 1.0))) * 100
    for digits in range(1, 12):
        made = least.quantize(Decimal(1).scaleb(-digits), rounding=ROUND_CEILING)
        if made < 100 or least >= 100:
            return f"{made.normalize():f} %"
    return "100 %"
