"""No expression fails on a row of PostgreSQL or of Spark either: the generator of tests/tables/test_row_rule.py."""

# ruff: noqa: E501  (the table of values is kept short)
from __future__ import annotations

import decimal
import itertools
from typing import Any

import effort
import pyarrow as pa
import pyarrow.parquet
import pytest
from tables import hostile_expressions as hostile

import hush.tables

pytestmark = [
    pytest.mark.filterwarnings("ignore::ResourceWarning", "ignore::pytest.PytestUnraisableExceptionWarning"),
]

#: what PostgreSQL has in the place of DuckDB's types and extreme values
ON_POSTGRES = {
    name: hostile.COLUMNS[name] for name in ("r", "n", "k", "b")
} | {
    "s": ("TEXT", "'ab'", [value for value in hostile.COLUMNS["s"][2] if value != "chr(0)"]),
    "i": ("SMALLINT", "1", ["NULL", "32767", "-32768", "0", "-1"]),
    "f": ("FLOAT8", "1.5", hostile.COLUMNS["f"][2]),
    "g": ("FLOAT4", "2.5", hostile.COLUMNS["g"][2]),
    "m": ("NUMERIC(18, 4)", "1.25", ["99999999999999.9999", "-99999999999999.9999", "0", "'NaN'"]),
    "w": ("NUMERIC", "5", ["1e131000", "-1e131000", "1e-16000", "'NaN'", "0"]),
    "d": ("DATE", "'2025-01-02'", ["NULL", "'infinity'", "'-infinity'", "'5874897-12-31'", "'4713-01-01 BC'", "'0001-01-01'"]),
    "h": ("TIMESTAMP", "'2025-01-02 03:04:05'", ["NULL", "'infinity'", "'-infinity'", "'294276-12-31'", "'4713-01-01 BC'"]),
}  # fmt: skip


@pytest.fixture(scope="module")
def extremes(postgres) -> hush.tables.Table:
    for text in hostile.statements(ON_POSTGRES):
        postgres.owner.execute(text)
    return hush.tables.table(postgres.address, name="public.extremes", unit="p")


def test_no_expression_fails_on_a_row_of_postgres(extremes):
    found = hostile.outcomes(extremes, effort.examples(250, 5000), 7)
    assert found["answered"] > 30 and found["refused"] > 30


DAYS = 719_162  # from the first day of year 1 to 1970
#: the same for Spark, as Arrow: dates in days and times in microseconds since 1970
ON_SPARK: dict[str, tuple[Any, Any, list[Any]]] = {
    "s": (pa.string(), "ab", [None, "", "(", "\\", "%", "x" * 20_000, "9" * 20, "2025-02-30", "nan"]),
    "r": (pa.string(), "a", [None, "", "*", "\\9", "%Q"]),
    "n": (pa.int64(), 3, [None, 2**63 - 1, -(2**63), 0, -1]),
    "k": (pa.int32(), 2, [None, 2**31 - 1, -(2**31), 0, 64]),
    "i": (pa.int8(), 1, [None, 127, -128, 0]),
    "f": (pa.float64(), 1.5, [None, float("nan"), float("inf"), 1.79e308, -1.0, 0.0, 1e19]),
    "g": (pa.float32(), 2.5, [float("nan"), float("inf"), 3.4e38, 0.0]),
    "m": (pa.decimal128(18, 4), decimal.Decimal("1.25"), [decimal.Decimal("99999999999999.9999"), decimal.Decimal(0)]),
    "w": (pa.decimal128(38, 0), decimal.Decimal(5), [decimal.Decimal("9" * 38), decimal.Decimal(0)]),
    "b": (pa.bool_(), True, [None, False]),
    "d": (pa.date32(), 20_090, [None, 2**31 - 1 - 2 * DAYS, -(2**31) + 2 * DAYS, -DAYS, 2_932_896]),
    "h": (pa.timestamp("us"), 1_735_786_800_000_000, [None, 2**63 - 1, -(2**63), -DAYS * 86_400_000_000]),
}


def arrow_rows() -> pa.Table:
    plain = {name: value for name, (_, value, _) in ON_SPARK.items()}
    rows = [plain, *({**plain, name: value} for name, (_, _, values) in ON_SPARK.items() for value in values)]
    for one, other in itertools.combinations(["n", "k", "f", "w", "d"], 2):
        rows += [{**plain, one: x, other: y} for x in ON_SPARK[one][2][:3] for y in ON_SPARK[other][2][:3]]
    stored = {"d": pa.int32(), "h": pa.int64()}
    columns = {n: pa.array([row[n] for row in rows], stored.get(n, kind)) for n, (kind, _, _) in ON_SPARK.items()}
    kinds = {name: kind for name, (kind, _, _) in ON_SPARK.items()}
    return pa.table({"p": range(len(rows)), **{name: column.cast(kinds[name]) for name, column in columns.items()}})


def test_no_expression_fails_on_a_row_of_spark(spark, tmp_path):
    """A reduced set: Spark takes a tenth of a second for each."""
    pa.parquet.write_table(arrow_rows(), tmp_path / "extremes.parquet")
    table = hush.tables.table(tmp_path / "extremes.parquet", unit="p", engine=spark)
    found = hostile.outcomes(table, effort.examples(40, 1500), 3, depth=2)
    assert found["answered"] > 10 and found["refused"] > 10
