"""Quantiles from counts on a coarse grid, as MIN and MAX are found: with any level and any number of bins."""

from __future__ import annotations

from typing import Any

from hush.tables.measure import Measure
from hush.tables.quantiles import Extreme

__all__ = ["grid_quantile"]


def grid_quantile(
    column: Any, q: Any, *, low: Any, high: Any, bins: int = 128, rows_per_unit: int | None = None
) -> Measure:
    """The aggregate that counts rows on a grid of at most `bins` values."""
    return Extreme(column, low, high, rows_per_unit, tuple(q) if isinstance(q, list) else q, bins)
