"""Bad descriptions get one clear sentence, before anything runs."""

from __future__ import annotations

import datetime
import decimal
import re
from collections.abc import Callable
from typing import Any

import pyarrow as pa
import pytest

import hush.tables
from hush.errors import HushError, InvalidParameter
from hush.tables import count, histogram, mean, quantile, table, variance

FRAME = pa.table(
    {
        "patient_id": pa.array([1, 2], pa.int64()),
        "ward": ["A", "B"],
        "age": pa.array([30, 40], pa.int32()),
        "cost": [1.5, 2.5],
        "day": pa.array([datetime.date(2024, 1, 1)] * 2),
        "seen": pa.array([datetime.datetime(2024, 1, 1, 8)] * 2, pa.timestamp("us")),
        "price": pa.array([decimal.Decimal("1.50")] * 2, pa.decimal128(9, 2)),
    }
)
T = table(FRAME, unit="patient_id")


def group(*names: str, keys: Any = "private", groups_per_unit: Any = 1) -> hush.tables.GroupedTable:
    return T.group_by(*names, keys=keys, groups_per_unit=groups_per_unit)


BAD: list[tuple[Callable[[], Any], str]] = [
    (lambda: table(FRAME, unit="patient"), r"unit names the column 'patient', which .*did you mean 'patient_id'"),
    (lambda: table(FRAME, unit="zzz"), r"it has 'patient_id', 'ward'"),
    (lambda: table(FRAME, unit=3), r"unit must be a column, several columns or each_row, got 3"),
    (
        lambda: table(FRAME, unit="cost"),
        r"unit must be a column of whole numbers or text, but 'cost' is of type float64",
    ),
    (lambda: table(FRAME, unit="patient_id", max_rows=0), r"max_rows must be a whole number"),
    (lambda: table(FRAME, unit="patient_id", max_rows=2**60), r"max_rows must be at most 2\*\*50"),
    (lambda: table(FRAME, unit="patient_id", name="visits"), r"name chooses a table of a database"),
    (lambda: table("missing.parquet", unit="u"), r"'missing.parquet', which does not exist"),
    (lambda: table(__file__, unit="u"), r"has an unknown ending; it must end in .parquet"),
    (lambda: table(17, unit="u"), r"source must be a file, .* a pandas, polars or Arrow frame, .* got int"),
    (lambda: table(FRAME, unit="patient_id", engine="oracle"), r"engine must be 'duckdb', 'spark'"),
    (lambda: T["agee"], r"'agee', which .*did you mean 'age'"),
    (lambda: T.filter(T["age"] + 1), r"filter needs a condition that is true or false, got one of type int"),
    (lambda: T.filter("wrd"), r"filter names the column 'wrd'.*did you mean 'ward'"),
    (lambda: T.filter(lambda t: t.nothing > 1), r"filter is not an expression over this table"),
    (lambda: T.mutate(x=lambda t: t.nothing), r"mutate is not an expression over this table"),
    (lambda: group(), r"group_by needs at least one column"),
    (lambda: group("wards"), r"group_by names the column 'wards'.*did you mean 'ward'"),
    (lambda: group("ward", "ward"), r"group_by names a column twice"),
    (lambda: group("patient_id"), r"group_by names the unit column"),
    (lambda: group("cost"), r"the column 'cost' is of type float64; first cast it to int64"),
    (lambda: group("seen"), r"the column 'seen' is of type timestamp.*; first compute its .date\(\)"),
    (lambda: group("price"), r"the column 'price' is of type decimal"),
    (lambda: group("ward", groups_per_unit=0), r"groups_per_unit must be a whole number, 1 or greater, got 0"),
    (lambda: group("ward", groups_per_unit=1.5), r"groups_per_unit must be a whole number"),
    (lambda: group("ward", keys="all"), r"keys must be a list of keys or 'private', got 'all'"),
    (lambda: group("ward", keys=7), r"keys must be a list of keys or 'private', got 7"),
    (lambda: group("ward", keys=[]), r"keys is empty"),
    (lambda: group("ward", keys=["A", "B", "A"]), r"keys lists a group twice, at place 1 and place 3"),
    (lambda: group("ward", keys=["A", None, None]), r"keys lists a group twice, at place 2 and place 3"),
    (lambda: group("ward", keys=["A", 1]), r"a key of 'ward' must be text for a column of type string, got an int"),
    (lambda: group("age", keys=["x"]), r"a key of 'age' must be a whole number"),
    (lambda: group("age", keys=[2**40]), r"a key of 'age' must fit a column of type int32"),
    (lambda: group("age", keys=[True]), r"a key of 'age' must be a whole number .* got a bool"),
    (lambda: group("day", keys=[datetime.datetime(2024, 1, 1)]), r"a key of 'day' must be a date"),
    (lambda: group("ward", "age", keys=["A"]), r"each of keys must be a tuple of 2 values"),
    (lambda: group("ward", "age", keys={"ward": ["A"]}), r"exactly the grouping columns, 'ward', 'age'"),
    (lambda: group("ward").aggregate(), r"aggregate needs at least one aggregate"),
    (lambda: group("ward").aggregate(ward=count()), r"the aggregate 'ward' has the same name as a grouping column"),
    (lambda: group("ward").aggregate(n="count"), r"the aggregate 'n' must be one of hush.tables' aggregates"),
    (lambda: T.aggregate(n=count(rows_per_unit=0)), r"rows_per_unit must be a whole number"),
    (lambda: T.aggregate(n=count(rows_per_unit=2**40)), r"rows_per_unit of 'n' must be at most 4194304"),
    (
        lambda: T.aggregate(s=hush.tables.sum("cots", low=0, high=1)),
        r"the column of 's' names the column 'cots'.*did you mean 'cost'",
    ),
    (
        lambda: T.aggregate(s=hush.tables.sum("ward", low=0, high=1)),
        r"'s' needs a column of numbers, got one of type string",
    ),
    (
        lambda: T.aggregate(s=hush.tables.sum("day", low=0, high=1)),
        r"'s' needs a column of numbers, got one of type date",
    ),
    (lambda: T.aggregate(s=mean("seen", low=0, high=1)), r"'s' needs numbers, got a column of type timestamp"),
    (lambda: T.aggregate(s=hush.tables.sum(3, low=0, high=1)), r"must be a column name or an Ibis expression, got 3"),
    (
        lambda: T.aggregate(s=hush.tables.sum("cost", low=2, high=1)),
        r"low of 's' must be below high, got low=2 and high=1",
    ),
    (lambda: T.aggregate(s=hush.tables.sum("cost", low=1, high=1)), r"low and high of 's' are both 1"),
    (
        lambda: T.aggregate(s=hush.tables.sum("cost", low=float("nan"), high=1)),
        r"low of 's' must be a finite number, got nan",
    ),
    (lambda: T.aggregate(s=hush.tables.sum("cost", low=0, high=float("inf"))), r"high of 's' must be a finite number"),
    (lambda: T.aggregate(s=hush.tables.sum("cost", low="0", high=1)), r"low of 's' must be a finite number, got '0'"),
    (
        lambda: T.aggregate(s=quantile("cost", 0.0, low=1e18, high=1e18 + 128)),
        r"too close for float64 numbers of their size",
    ),
    (lambda: T.aggregate(s=mean("day", low=0, high=1)), r"low of 's' must be a date"),
    (lambda: T.aggregate(s=mean("cost", low=datetime.date(2024, 1, 1), high=1)), r"low of 's' must be a number"),
    (lambda: T.aggregate(v=variance("day", low=0, high=1)), r"'v' needs a column of numbers, got one of type date"),
    (lambda: T.aggregate(h=histogram("age")), r"histogram is missing edges or categories"),
    (
        lambda: T.aggregate(h=histogram("age", edges=[0], categories=[1])),
        r"histogram needs either edges= or categories=",
    ),
    (lambda: T.aggregate(h=histogram("age", edges=[0])), r"edges of 'h' must be 2 to 1001 numbers, got 1"),
    (lambda: T.aggregate(h=histogram("age", edges=[0, 2, 1])), r"edges of 'h' must increase"),
    (lambda: T.aggregate(h=histogram("age", edges=[0, float("nan")])), r"edges of 'h' must be numbers"),
    (lambda: T.aggregate(h=histogram("day", edges=[0, 1])), r"edges of 'h' must be dates"),
    (lambda: T.aggregate(h=histogram("ward", categories=[])), r"categories of 'h' must be 1 to 1000 values, got 0"),
    (
        lambda: T.aggregate(h=histogram("ward", categories=["A", "A"])),
        r"categories of 'h' lists a value twice, at place 1 and place 2",
    ),
    (
        lambda: T.aggregate(h=histogram("cost", categories=[1.5])),
        r"a category of 'h' needs a column of whole numbers, text",
    ),
    (lambda: T.aggregate(q=quantile("age", 1.5, low=0, high=1)), r"q must be a number from 0 to 1"),
    (
        lambda: T.aggregate(q=quantile("age", 0.5, low=0, high=1, step=-2.0)),
        r"step must be a finite number",
    ),
    (lambda: T.aggregate(n=count()).aggregates(salt=b"short"), r"salt must be at least 16 secret random bytes"),
    (lambda: T.aggregate(n=count()).aggregates(hash="md5"), r"hash must be one of portable, native"),
    (lambda: T.aggregate(n=count()).aggregates(first="sort"), r"first must be one of rank, aggregate"),
]


@pytest.mark.parametrize("number", range(len(BAD)))
def test_one_sentence(number):
    """A HushError in one sentence that names the argument and what is wrong with it."""
    make, pattern = BAD[number]
    with pytest.raises(HushError, match=pattern) as caught:
        make()
    text = str(caught.value)
    assert isinstance(caught.value, InvalidParameter)
    assert text.endswith((".", "?"))
    assert "\n" not in text
    assert not re.search(r"\. [A-Z]", text), "more than one sentence"


def test_descriptions_do_not_change():
    """Every step gives a new description and leaves the old one as it was."""
    kept = T.filter(T["age"] > 35)
    assert kept is not T and T.aggregate(n=count()).aggregates().to_arrow()["n"].to_pylist() == [2]
    assert kept.aggregate(n=count()).aggregates().to_arrow()["n"].to_pylist() == [1]
    with pytest.raises(AttributeError):
        T.unit = "age"  # type: ignore[misc]
