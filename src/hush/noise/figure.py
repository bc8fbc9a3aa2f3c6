"""Numbers in messages, rounded to the safe side: whoever types what a message proposes gets what it promises."""

from __future__ import annotations

import math
from decimal import ROUND_CEILING, ROUND_FLOOR, Context, Decimal

__all__ = ["at_least", "at_most"]


def at_least(value: float, digits: int = 6) -> str:
    """A number to so many digits, never below it: for an epsilon, a delta, a sensitivity, a scale, a spent budget.

    >>> at_least(0.1), at_least(1.0000001), at_least(0.35009612), at_least(2e-7, 3)
    ('0.1', '1.00001', '0.350097', '2e-07')
    """
    return _rounded(value, digits, ROUND_CEILING)


def at_most(value: float, digits: int = 6) -> str:
    """The same, never above the number: for a budget that is left, a rate of errors that is certain.

    >>> at_most(0.1), at_most(1.9999999)
    ('0.1', '1.99999')
    """
    return _rounded(value, digits, ROUND_FLOOR)


def _rounded(value: float, digits: int, way: str) -> str:
    if not math.isfinite(value):
        return f"{value:g}"
    return f"{float(Context(prec=digits, rounding=way).create_decimal(Decimal(repr(float(value))))):.{digits}g}"
