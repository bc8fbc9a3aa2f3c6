"""Numbers as text, rounded to the safe side: whoever types or trusts what a text says gets what it promises."""

from __future__ import annotations

import math
from decimal import ROUND_CEILING, ROUND_FLOOR, Context, Decimal

__all__ = ["rounded_down", "rounded_up"]


def rounded_up(value: float, digits: int = 6) -> str:
    """A number to so many digits, never below it: for an epsilon, a delta, a scale, an error.

    >>> rounded_up(0.1), rounded_up(1.0000001), rounded_up(0.35009612), rounded_up(2e-7, 3)
    ('0.1', '1.00001', '0.350097', '2e-07')
    """
    return _rounded(value, digits, ROUND_CEILING)


def rounded_down(value: float, digits: int = 6) -> str:
    """The same, never above the number: for a budget that is left, a rate of errors that is certain.

    >>> rounded_down(0.1), rounded_down(1.9999999)
    ('0.1', '1.99999')
    """
    return _rounded(value, digits, ROUND_FLOOR)


def _rounded(value: float, digits: int, way: str) -> str:
    """A float's shortest decimals are what somebody wrote. They are kept where they are short enough."""
    if not math.isfinite(value):
        return "infinite"
    made = Context(prec=digits, rounding=way).create_decimal(Decimal(repr(float(value))))
    return f"{float(made):.{digits}g}"
