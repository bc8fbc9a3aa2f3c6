"""The error when the budget does not cover a release: its cost, what is left, and what would fit."""

from __future__ import annotations

import math
import os
from dataclasses import replace
from typing import Any

from hush.errors import BudgetExceeded, HushError, reject, shown
from hush.ledger.account import Account
from hush.ledger.entry import Entry
from hush.numerics.rounding import decimal_down, decimal_up
from hush.privacy.compose import compose

__all__ = ["must_be_ledger", "refusal"]

#: With more different mechanisms than this, the search for a noise that fits takes too long.
_MOST_DIFFERENT = 8
_MOST_TIMES_LARGER = 64.0  # the largest factor of the noise that is tried
_TRIES = 10


def must_be_ledger(given: Any) -> None:
    """Reject anything but a ledger, such as the name of a ledger file."""
    if given is not None and not callable(getattr(given, "spend", None)):
        path = shown(given) if isinstance(given, str) and len(given) <= 100 else "'budget.ledger'"
        cap = "" if isinstance(given, str) and os.path.exists(given) else ", epsilon=3.0, delta=1e-5"
        raise reject("ledger", given, "a Ledger, or None", f"write ledger=hush.Ledger({path}{cap})")


def refusal(account: Account, grown: Account, entry: Entry) -> BudgetExceeded:
    """The exception to raise: one sentence. `grown` is the account with the entry, which its cap does not cover."""
    try:
        return BudgetExceeded(f"{_stated(account, grown, entry)}; nothing was spent.")
    except HushError as failure:  # a number for the sentence could not be computed; the budget is exceeded all the same
        reason = str(failure).rstrip(".")
        return BudgetExceeded(
            f"this release does not fit in the budget of the ledger, {account.cap} ({reason}); nothing was spent."
        )


def _stated(account: Account, grown: Account, entry: Entry) -> str:
    cap, left = account.cap, account.left
    alone, together = account.alone(replace(entry, extra_delta=0.0)).cost, grown.spent.epsilon
    available = f"{_shown(left.epsilon, down=True)} of the ledger's {cap.epsilon:g} is left"
    text = f"this release costs {_epsilon(alone)}, and {available}"
    if alone <= left.epsilon:  # what is left is stated for a release that needs no delta
        text += " for releases of delta 0, but less for those that need a delta"
    if math.isfinite(together) and together > cap.epsilon:
        text += f" (with it the ledger would have spent {_shown(together)}, at delta {cap.delta:g})"
    elif not math.isfinite(together):
        text += f" at delta {cap.delta:g}"
    if entry.delta is not None and entry.delta > cap.delta:
        text += f"; its delta is {entry.delta:g}, and the ledger's is {cap.delta:g}, so ask for a smaller delta"
    if entry.extra_delta > left.delta:
        text += (
            f", its extra_delta is {_shown(entry.extra_delta)}, and {_shown(left.delta, down=True)} of delta is left"
        )
    return f"{text}; {_would_fit(account, entry, left.epsilon)}"


def _epsilon(value: float) -> str:
    return f"epsilon {_shown(value)}" if math.isfinite(value) else "no finite epsilon"


def _shown(value: float, *, digits: int = 4, down: bool = False) -> str:
    """A few digits, rounded to the safe side: costs up, what is left down."""
    return f"{float((decimal_down if down else decimal_up)(value, digits)):g}"


def _would_fit(account: Account, entry: Entry, left: float) -> str:
    factor = _larger_noise(account, entry)
    if factor is not None:
        return f"noise {factor:g} times as large would fit{_in_epsilon(entry, factor)}"
    if entry.extra_delta == 0.0 and left > 0.0:  # the grid of a composition may cost 1 %
        return f"any release of at most epsilon {_shown(0.99 * left, down=True)} at delta 0 would fit"
    if entry.epsilon is not None and 0.0 < left < entry.epsilon and entry.extra_delta <= account.left.delta:
        return f"ask for at most about epsilon {_shown(0.99 * left, down=True)}"
    if entry.delta is not None and 0.1 * account.cap.delta < entry.delta:
        return f"ask for a smaller delta, such as {0.1 * account.cap.delta:g}"
    return "no release of this kind would fit"


def _in_epsilon(entry: Entry, factor: float) -> str:
    """The epsilon of that noise at the entry's delta, rounded down; empty if the entry has no pair, or the epsilon
    cannot be computed.
    """
    if entry.epsilon is None or entry.delta is None:
        return ""
    try:
        curve = compose([charge.widened(factor) for charge in entry.charges])
        share = entry.delta - entry.extra_delta
        epsilon = float(curve.epsilon(share)) if share > 0.0 else curve.pure_epsilon
    except HushError:
        return ""
    if not 0.0 < epsilon < entry.epsilon:
        return ""
    return f": that is about epsilon {_shown(epsilon, digits=2, down=True)} at delta {entry.delta:.6g}"


def _larger_noise(account: Account, entry: Entry) -> float | None:
    """The factor, to two digits, by which the noise must grow for this release to fit. Each candidate is tried; None
    if none is found.
    """
    if len(account.totals) > _MOST_DIFFERENT:
        return None

    def fits(factor: float) -> bool:
        try:
            larger = replace(entry, charges=tuple(charge.widened(factor) for charge in entry.charges))
            return account.plus([larger]).settled() is not None
        except HushError:
            return False

    low, high = 1.0, _MOST_TIMES_LARGER  # bisection: every candidate has two digits
    if not fits(high):
        return None
    for _ in range(_TRIES):
        middle = float(f"{math.sqrt(low * high):.2g}")
        if not low < middle < high:
            break
        low, high = (low, middle) if fits(middle) else (middle, high)
    return high
