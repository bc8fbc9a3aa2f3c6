"""Noise for tests: the columns of a table with draws of an unaccounted payment."""

from __future__ import annotations

from typing import Any

from hush.ledger import unaccounted
from hush.tables import column_draws
from hush.tables.column_noise import Spending

__all__ = ["noisy_columns"]


def noisy_columns(columns: dict[str, Any], spent: Spending) -> dict[str, Any]:
    """The columns with the noise that was planned for them."""
    return column_draws.noisy_columns(columns, spent, spent.open(unaccounted(spent.charge), "answers"))
