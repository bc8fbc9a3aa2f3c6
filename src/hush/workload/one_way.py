"""Joint noise for all tables of one attribute."""

from __future__ import annotations

from hush.errors import Unsupported
from hush.privacy.charge import Budget
from hush.workload.table_strategy import TableStrategy, TableTask

__all__ = ["one_way"]


def one_way(task: TableTask, budget: Budget, rows: int) -> TableStrategy:
    """Joint noise for all tables of one attribute."""
    raise Unsupported("joint noise is for tables of one attribute")
