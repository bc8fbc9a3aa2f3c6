"""The interval of an aggregate from its released columns: what `estimate` and `quantiles` know, in one call."""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any

from hush.sampling.mechanism import Mechanism
from hush.tables.estimate import Array
from hush.tables.measure import Prepared

__all__ = ["interval", "is_linear"]

_LINEAR = ("count", "count_units", "sum", "histogram")


def is_linear(measure: Prepared) -> bool:
    """Is the answer one noisy column, times a constant?"""
    return measure.kind in _LINEAR


def interval(
    measure: Prepared, columns: Mapping[str, Any], mechanisms: Mapping[str, Mechanism], level: float
) -> tuple[Array, Array]:
    """Lower and upper ends of the answer of each group, from its released columns."""
    return measure.answer.ends(mechanisms, level)(columns)
