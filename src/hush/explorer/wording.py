"""Numbers as text: digits, percentages, comparisons."""

from __future__ import annotations

from decimal import Decimal

from hush.numerics.rounding import decimal_down, decimal_nearest, decimal_up, percent_up

__all__ = ["bound", "chance", "down", "figure", "more", "per_cent", "power", "privacy", "up"]


#: The no-break space keeps the sign on the line of its number.
_PER_CENT = "\N{NO-BREAK SPACE}%"


def figure(value: float, digits: int = 3) -> str:
    """A number to three digits (or another number of digits), without an exponent.

    >>> figure(1.3849), figure(24.13), figure(1234567.0), figure(0.001234)
    ('1.38', '24.1', '1,230,000', '0.00123')
    """
    return _digits(decimal_nearest(value, digits), digits)


def up(value: float) -> str:
    """A number to three digits, rounded up: for upper bounds.

    >>> up(2.7101), up(2.71), up(999.5), up(0.0)
    ('2.72', '2.71', '1,000', '0')
    """
    return _digits(decimal_up(value, 3), 3)


def down(value: float) -> str:
    """A number to three digits, rounded down: for lower bounds.

    >>> down(2.7199), down(2.71), down(9999.0)
    ('2.71', '2.71', '9,990')
    """
    return _digits(decimal_down(value, 3), 3)


def _digits(made: Decimal, digits: int) -> str:
    """A decimal with this number of digits, without an exponent."""
    return f"{made:,.{max(0, digits - 1 - made.adjusted())}f}" if made else "0"


def power(value: float) -> str:
    """A number in its shortest form: 0, 0.5, 1, 1e-6.

    >>> power(1e-06), power(0.001), power(0.0), power(20.0)
    ('1e-6', '0.001', '0', '20')
    """
    text = f"{value:g}"
    return text.replace("e-0", "e-") if "e-0" in text else text


def bound(share: float) -> str:
    """A probability as a percentage, rounded up: one digit after the point, more digits near 100.

    >>> [bound(share).replace("\N{NO-BREAK SPACE}", " ") for share in (0.6180001, 0.5, 0.99987)]
    ['61.9 %', '50 %', '99.99 %']
    """
    return percent_up(share).replace(" %", _PER_CENT)


def chance(delta: float) -> str:
    """A small probability, for screen readers.

    >>> chance(1e-06), chance(0.0)
    ('1e-6, one in 1,000,000', '0, none')
    """
    return f"{power(delta)}, one in {round(1.0 / delta):,}" if delta > 0.0 else "0, none"


def per_cent(share: float) -> str:
    """A share as a percentage to two digits, rounded up.

    >>> [per_cent(share).replace("\N{NO-BREAK SPACE}", " ") for share in (0.2713, 0.00302, 13.4)]
    ['28 %', '0.31 %', '1,400 %']
    """
    text = _digits(decimal_up(100.0 * share, 2), 2)
    return (text.rstrip("0").rstrip(".") if "." in text else text) + _PER_CENT


def more(ratio: float) -> str:
    """A ratio as an excess: in per cent below 2, else as a multiple.

    >>> more(1.0001), more(9.31)
    ('same', '9.31-fold')
    """
    extra = ratio - 1.0
    return "same" if extra < 0.0005 else f"+{100.0 * extra:.2g}{_PER_CENT}" if extra < 1.0 else f"{ratio:.3g}-fold"


def privacy(epsilon: float, delta: float) -> str:
    """Epsilon and delta."""
    return f"epsilon {power(epsilon)}, delta {power(delta)}"
