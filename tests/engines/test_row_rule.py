"""No expression fails on a row of PostgreSQL either: the generator of tests/tables/test_row_rule.py on a server."""

# ruff: noqa: E501  (the table of values is kept short)
from __future__ import annotations

import effort
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
