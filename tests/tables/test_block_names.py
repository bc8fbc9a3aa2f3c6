"""A block has one name: the ledger keeps a budget for each name, so equal values must not have two."""

from __future__ import annotations

from datetime import date, datetime
from decimal import Decimal

import pandas as pd
import pytest

import hush
from hush import tables

ROWS = pd.DataFrame(
    {"person": [1, 2, 3], "month": [1, 1, 2], "day": [date(2025, 1, 1), date(2025, 1, 1), date(2025, 2, 1)]}
)


def test_equal_values_are_one_block_and_other_forms_are_refused() -> None:
    by_month = tables.table(ROWS, unit=["person", "month"])
    assert by_month.in_block("month", 1).block == ("month", "1")
    for other in (1.0, Decimal("1.00"), True, "1", None, by_month["month"]):
        with pytest.raises(hush.InvalidParameter, match="block of 'month'"):
            by_month.in_block("month", other)
    by_day = tables.table(ROWS, unit=["person", "day"])
    assert by_day.in_block("day", "2025-01-01").block == by_day.in_block("day", date(2025, 1, 1)).block
    for wrong in (datetime(2025, 1, 1), "2025-1-1", 20250101):
        with pytest.raises(hush.InvalidParameter, match="block of 'day'"):
            by_day.in_block("day", wrong)
