"""Numbers and findings as people say them."""

from __future__ import annotations

import math

__all__ = ["bound", "chance", "figure", "more", "per_cent", "power", "privacy"]


#: The sign stays with its number at the end of a line.
_PER_CENT = "\N{NO-BREAK SPACE}%"


def figure(value: float) -> str:
    """A number to three digits, without an exponent.

    >>> figure(1.3849), figure(24.13), figure(1234567.0), figure(0.001234)
    ('1.38', '24.1', '1,230,000', '0.00123')
    """
    if value == 0.0:
        return "0"
    places = 2 - math.floor(math.log10(abs(value)))
    rounded = round(value, places)
    return f"{rounded:,.{max(0, 2 - math.floor(math.log10(abs(rounded))))}f}"


def power(value: float) -> str:
    """A number as it is typed: 0, 0.5, 1, 1e-6.

    >>> power(1e-06), power(0.001), power(0.0), power(20.0)
    ('1e-6', '0.001', '0', '20')
    """
    text = f"{value:g}"
    return text.replace("e-0", "e-") if "e-0" in text else text


def bound(share: float) -> str:
    """A probability as a percentage that is never below it: one digit after the point, more where 100 is near.

    >>> [bound(share).replace("\N{NO-BREAK SPACE}", " ") for share in (0.6180001, 0.5, 0.99987)]
    ['61.9 %', '50 %', '99.99 %']
    """
    for digits in (1, 2, 3, 4):
        shown = math.ceil(share * 100.0 * 10**digits - 1e-9) / 10**digits
        if shown < 100.0 - 10.0**-digits / 2:
            return f"{shown:g}{_PER_CENT}"
    return f"100{_PER_CENT}"


def chance(delta: float) -> str:
    """A small probability as it is spoken.

    >>> chance(1e-06), chance(0.0)
    ('1e-6, one in 1,000,000', '0, never')
    """
    return f"{power(delta)}, one in {round(1.0 / delta):,}" if delta > 0.0 else "0, never"


def per_cent(share: float) -> str:
    """A share as a percentage to two digits.

    >>> [per_cent(share).replace("\N{NO-BREAK SPACE}", " ") for share in (0.2713, 0.00302, 13.4)]
    ['27 %', '0.3 %', '1,300 %']
    """
    value = 100.0 * share
    places = 1 - math.floor(math.log10(value)) if value > 0.0 else 0
    rounded = round(value, places)
    text = f"{rounded:,.{places}f}".rstrip("0").rstrip(".") if places > 0 else f"{rounded:,.0f}"
    return text + _PER_CENT


def more(ratio: float) -> str:
    """How much larger: in per cent below twice, then as a multiple.

    >>> more(1.0001), more(9.31)
    ('same', '9.31-fold')
    """
    extra = ratio - 1.0
    return "same" if extra < 0.0005 else f"+{100.0 * extra:.2g}{_PER_CENT}" if extra < 1.0 else f"{ratio:.3g}-fold"


def privacy(epsilon: float, delta: float) -> str:
    """The promise in two numbers."""
    return f"epsilon {power(epsilon)}, delta {power(delta)}"
