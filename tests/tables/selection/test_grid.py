"""The grids of quantiles: which cell a row is in, and that values are shown in the type of their column."""

from __future__ import annotations

import datetime
import json
from decimal import Decimal

import numpy as np
import pytest

pa = pytest.importorskip("pyarrow")
pytest.importorskip("ibis")

import pyarrow.parquet  # noqa: E402

import hush  # noqa: E402
import hush.cli  # noqa: E402
from hush import tables  # noqa: E402

DAY = datetime.datetime(2024, 3, 1)
SECOND = datetime.timedelta(seconds=1)
ODD = datetime.timedelta(seconds=3, microseconds=7)
#: 401 times around the last midnight of February, and times outside of the bounds
TIMES = [DAY + i * ODD for i in range(-200, 201)]
FAR = [datetime.datetime(1, 1, 1), datetime.datetime(9999, 12, 31, 23, 59, 59, 999_999), None]
ENDS = {"low": datetime.date(2024, 2, 1), "high": datetime.datetime(2024, 3, 1, 0, 5)}


def cells(column: pa.Array, **ends) -> list[int | None]:
    """The cells of the rows, as the engine makes them."""
    rows = tables.table(pa.table({"who": np.arange(len(column)), "x": column}), unit="who")
    query = rows.aggregate(m=tables.median("x", **ends))
    return query.table.relation.select(w=query.shown[0].value).to_pyarrow().column("w").to_pylist()


@pytest.mark.parametrize(
    ("unit", "zone"), [("s", None), ("ms", None), ("us", None), ("ns", None), ("us", "UTC"), ("us", "Europe/Berlin")]
)
def test_a_time_is_in_the_cell_of_its_microsecond(unit: str, zone: str | None) -> None:
    """No float and no local time is between a time and its cell."""
    length = {"s": 1_000_000, "ms": 1000, "us": 1, "ns": 1}[unit]
    start = datetime.datetime(1970, 1, 1)
    plain = [(time - start) // datetime.timedelta(microseconds=1) // length for time in TIMES]
    scaled = [1000 * moment if unit == "ns" else moment for moment in plain]
    made = cells(pa.array(scaled, pa.timestamp(unit, zone)), **ENDS)
    low = (datetime.datetime(2024, 2, 1) - start) // datetime.timedelta(microseconds=1)
    high = (ENDS["high"] - start) // datetime.timedelta(microseconds=1)
    assert made == [min(max(moment * length, low), high) - low for moment in plain]


def test_times_outside_the_bounds_are_moved_to_them_before_any_arithmetic() -> None:
    made = cells(pa.array(FAR, pa.timestamp("us")), **ENDS)
    assert made == [0, 29 * 86_400_000_000 + 300_000_000, None]


@pytest.mark.parametrize("zone", [None, "UTC"])
def test_a_median_of_times_is_a_time(zone: str | None) -> None:
    """The true median is 2024-03-01 00:00; the choice misses it by a second, a third of a row, if at all."""
    rows = pa.table({"who": np.arange(401), "at": pa.array(TIMES, pa.timestamp("us")).cast(pa.timestamp("us", zone))})
    asked = tables.table(rows, unit="who").aggregate(m=tables.median("at", **ENDS))
    with pytest.warns(hush.WeakGuarantee):
        answer = asked.answer(100.0, 0.0, ledger=None)
    low, value, high = (answer.table.column(name)[0].as_py() for name in ("m_low", "m", "m_high"))
    assert answer.table.schema.field("m").type == pa.timestamp("us", zone)
    middle = DAY.replace(tzinfo=datetime.UTC) if zone else DAY
    assert low <= value <= high and low <= middle <= high
    assert abs(value - middle) <= 2 * ODD and high - low <= 100 * ODD
    assert "2024-0" in str(answer)


def test_bounds_of_times_may_be_days_whose_last_moment_counts() -> None:
    last = datetime.datetime(2024, 2, 29, 23, 59, 59, 999_999)
    day = datetime.date(2024, 2, 29)
    made = cells(pa.array([last, DAY, last - SECOND], pa.timestamp("us")), low=day, high=day)
    assert made == [86_399_999_999, 86_399_999_999, 86_398_999_999]


@pytest.mark.parametrize(
    ("given", "message"),
    [
        ({"low": 0, "high": 5}, r"low of 'm' must be a time or a date .* got 0; write datetime\.datetime\("),
        ({"low": datetime.date(1500, 1, 1), "high": ENDS["high"]}, "low of 'm' must be a time in the years 1685 to"),
        ({**ENDS, "step": 5.0}, "step of 'm' is a microsecond for a column of times; leave it out"),
        ({"low": "private", "high": "private", "rows_per_unit": 1}, r"use its \.date\(\)"),
    ],
)
def test_bad_bounds_of_times(given: dict, message: str) -> None:
    rows = tables.table(pa.table({"who": np.arange(401), "at": TIMES}), unit="who")
    with pytest.raises(hush.InvalidParameter, match=message):
        rows.aggregate(m=tables.median("at", **given)).plan(1.0, 1e-6)


def test_decimals_are_in_the_cell_of_their_last_digit() -> None:
    values = [Decimal(i) / 100 for i in (-5, 0, 1, 7, 29, 57, 58, 114, 115, 99_999, 100_001)]
    made = cells(pa.array(values, pa.decimal128(12, 2)), low=0, high=1000)
    assert made == [0, 0, 1, 7, 29, 57, 58, 114, 115, 99_999, 100_000]


def test_times_on_the_command_line_and_in_sql(tmp_path, capsys) -> None:
    path = tmp_path / "visits.parquet"
    pyarrow.parquet.write_table(pa.table({"who": np.arange(401), "at": pa.array(TIMES, pa.timestamp("us"))}), path)
    options = ["--unit", "who", "--epsilon", "5", "--delta", "0", "--json"]
    asked = ["--median", "at:2024-02-01:2024-03-31", "--quantile", "at:0.25,0.75:2024-02-01:2024-03-31"]
    assert hush.cli.main(["answer", str(path), *asked, *options]) == 0
    (row,) = json.loads(capsys.readouterr().out)["answer"]
    assert row["at_median_low"] <= row["at_median"] <= row["at_median_high"]
    for name in ("at_median", "at_q25", "at_q75"):
        assert datetime.date(2024, 2, 1) <= datetime.datetime.fromisoformat(row[name]).date()
    columns = {"at": tables.ColumnRule(low=datetime.date(2024, 2, 1), high=datetime.date(2024, 3, 31))}
    policy = tables.Policy({"visits": tables.TableRule(str(path), unit="who", columns=columns, rows_per_unit=1)})
    text = "SELECT MEDIAN(at) AS m, APPROX_QUANTILE(at, 0.9) AS p FROM visits ORDER BY m"
    answer = hush.sql(text, policy, epsilon=5.0, delta=0.0, ledger=None)
    assert abs(answer.table.column("m")[0].as_py() - DAY) < 60 * ODD
    with pytest.raises(hush.HushError, match="a number is needed"):
        hush.sql("SELECT MAX(at) AS m FROM visits", policy, epsilon=5.0, delta=0.0, ledger=None)
