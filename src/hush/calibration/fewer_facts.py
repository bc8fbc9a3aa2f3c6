"""Fewer facts about a sensitivity: a box that contains all moves, and the least loss that any noise has for it."""

from __future__ import annotations

import dataclasses

from hush.calibration.lower_limit import lower_limit
from hush.calibration.request import CalibrationRequest
from hush.errors import HushError
from hush.privacy.sensitivity import Sensitivity

__all__ = ["fewer_facts", "least_possible"]


def least_possible(demand: CalibrationRequest, bound: Sensitivity) -> float:
    """A lower bound on the loss of every noise for this sensitivity; 0 where none is known."""
    if demand.loss not in ("variance", "mae"):
        return 0.0
    try:
        return lower_limit(demand.epsilon, demand.delta, bound, demand.loss, demand.step)
    except HushError:
        return 0.0


def fewer_facts(bound: Sensitivity) -> Sensitivity | None:
    """The smallest box that contains all moves, with one bound for all numbers; None if the sensitivity is such a box,
    or if there is none.
    """
    if bound.box is None or (bound.is_box and not isinstance(bound.linf, tuple)):
        return None
    largest = max(shift for shift, _ in bound.box)
    numbers = len(bound.linf) if isinstance(bound.linf, tuple) else bound.dimension
    return dataclasses.replace(bound, linf=largest, l0=bound.moving, l1=None, l2=None, dimension=numbers)
