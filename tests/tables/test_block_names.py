"""A block has one name: the ledger keeps a budget for each name, so equal values must not have two."""

from __future__ import annotations

from datetime import date, datetime
from decimal import Decimal

import ibis
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


@pytest.mark.filterwarnings("ignore::DeprecationWarning")  # Ibis 12 on DuckDB 2
@pytest.mark.parametrize("collation", ["", "COLLATE NOCASE"])
def test_a_spelling_is_a_block_of_its_own(collation) -> None:
    """Under a collation each spelling of a month would be a fresh budget for the same rows."""
    connection = ibis.duckdb.connect()
    connection.con.execute(f"CREATE TABLE v (person BIGINT, month VARCHAR {collation})")
    connection.con.execute("INSERT INTO v SELECT i, 'Jan' FROM range(20) t(i)")
    by_month = tables.table(connection.table("v"), unit=["person", "month"])
    for name, people in (("Jan", 20), ("JAN", 0), ("jan", 0)):
        asked = by_month.in_block("month", name).aggregate(n=tables.count_units())
        assert asked.aggregates().to_arrow()["n"].to_pylist() == [people]


def test_a_value_of_another_class_has_the_name_of_its_value() -> None:
    class Day(date):
        def __str__(self) -> str:
            return "another day"

    class Month(str):
        def __str__(self) -> str:
            return "another month"

    by_day = tables.table(ROWS, unit=["person", "day"])
    assert by_day.in_block("day", Day(2025, 1, 1)).block == ("day", "2025-01-01")
    named = tables.table(ROWS.assign(month=["Jan", "Jan", "Feb"]), unit=["person", "month"])
    assert named.in_block("month", Month("Jan")).block == ("month", "Jan")
