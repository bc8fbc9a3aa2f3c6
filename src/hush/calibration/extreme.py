"""The budget of a plan: two numbers, and one sentence where they are so extreme that no noise can be calibrated."""

from __future__ import annotations

from collections.abc import Iterator
from contextlib import contextmanager
from typing import Any

import numpy as np

from hush.errors import HushError, Unsupported, as_float, budgets, deltas, warn_if_weak

__all__ = ["asked_budget", "extreme_budgets"]

#: Budgets outside of these ranges are extreme.
_LEAST, _MOST, _LEAST_DELTA = 1e-2, 1e2, 1e-100
_LATTICE = "a lattice of step"  # words of a message about a step


def asked_budget(epsilon: Any, delta: Any) -> tuple[float, float]:
    """epsilon and delta as floats, checked; arrays are rejected too."""
    budgets("epsilon", epsilon), deltas("delta", delta, zero=True)
    return as_float("epsilon", epsilon, "one number"), as_float("delta", delta, "one number")


@contextmanager
def extreme_budgets(epsilon: float, delta: float, *, lattice: bool = True) -> Iterator[None]:
    """Where a budget is extreme, say so in the place of an overflow; with `lattice` also in the place of a lattice that
    is too fine, where the caller does not choose its step. A budget that protects a person little gives a warning.
    """
    warn_if_weak(epsilon, delta)
    if _LEAST <= epsilon <= _MOST and not 0.0 < delta < _LEAST_DELTA:
        yield
        return
    sentence = (
        f"no noise can be calibrated for epsilon = {epsilon:g} and delta = {delta:g} here; choose an epsilon from "
        f"{_LEAST:g} to {_MOST:g}, and a delta that is 0 or at least {_LEAST_DELTA:g}."
    )
    try:
        with np.errstate(all="ignore"):
            yield
    except HushError as failure:
        if lattice and isinstance(failure, Unsupported) and _LATTICE in str(failure):
            raise Unsupported(sentence) from failure
        raise
    except (ArithmeticError, ValueError) as failure:
        raise Unsupported(sentence) from failure
