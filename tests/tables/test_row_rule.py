"""The list of operations that a row may use: each is total as the list says, and nothing else passes."""

from __future__ import annotations

import decimal
from dataclasses import replace
from pathlib import Path
from typing import Any

import effort
import ibis
import ibis.expr.operations as ops
import pyarrow as pa
import pytest
from tables import hostile_expressions as hostile

import hush.tables
from hush.errors import Unsupported
from hush.tables.engines import ENGINES
from hush.tables.expression import ROWWISE_MODULES
from hush.tables.row_rule import NULL, PLAIN, REFUSED, RULES, TITLES, as_markdown, how, is_quick

pytestmark = pytest.mark.filterwarnings("ignore::DeprecationWarning")  # Ibis 12 on DuckDB 2


@pytest.fixture(scope="module")
def extremes() -> hush.tables.Table:
    return hostile.extremes(ibis.duckdb.connect(threads=1))


@pytest.mark.parametrize("seed", effort.thinned(range(10), 1))
def test_no_expression_fails_on_a_row(extremes, seed):
    """Every operation, with arguments of every type, nested up to four deep, over eight hundred extreme rows: it is
    refused, or not planned, before a row is read, or it is computed for every row. Half of the expressions are.
    """
    number = effort.examples(150, 2000)
    assert hostile.outcomes(extremes, number, seed)["answered"] > number / 2


def test_the_generator_finds_what_fails(extremes, monkeypatch):
    """Without the total forms, some expression fails."""
    monkeypatch.setitem(ENGINES, "duckdb", replace(ENGINES["duckdb"], tries=lambda arg: arg))
    with pytest.raises(Exception, match=r"(Out of Range|Conversion|Invalid Input) Error"):
        hostile.outcomes(extremes, 250, 0, depth=1)


def counted(table: hush.tables.Table, condition: Any) -> Any:
    return table.filter(condition).aggregate(n=hush.tables.count()).aggregates(salt=bytes(32)).to_arrow().num_rows


def test_a_part_that_two_columns_share_fails_in_neither():
    """DuckDB computes a part that a query has twice only once, outside of the TRY around it."""
    t = hush.tables.table(pa.table({"p": [1, 2], "s": ["x", "2025-01-01"], "n": [2**63 - 1, 1]}), unit="p")
    assert counted(t, lambda t: t["s"].as_date("%Y-%m-%d").isnull() | t["s"].as_timestamp("%Y-%m-%d").notnull()) == 1
    assert counted(t, lambda t: (t["s"].find("x", t["n"]) > 0) | (t["s"].find("x", t["n"]) <= 0)) == 1


def test_a_constant_with_a_fraction_is_a_float():
    """DuckDB takes 0.5 for a decimal, and would cast the numbers that meet it to decimals."""
    wide = pa.array([decimal.Decimal(10**38 - 1), decimal.Decimal(5)], pa.decimal128(38, 0))
    t = hush.tables.table(pa.table({"p": [1, 2], "n": [2**63 - 1, 1], "w": wide}), unit="p")
    assert counted(t, lambda t: t["n"] < 0.00012345678901234567) == 1
    assert counted(t, lambda t: (t["w"] * 0.5 < 7.5) | (t["w"] > 0.25)) == 1


def test_what_is_not_on_the_list_is_refused():
    t = ibis.table({"s": "string", "n": "int64", "d": "date", "h": "timestamp"}, name="t")
    assert [how(engine, ops.RandomScalar()) for engine in TITLES] == [REFUSED] * 3
    assert [how(engine, (t.n + t.n).op()) for engine in TITLES] == [NULL, NULL, PLAIN]
    assert [how(engine, (t.d < t.h).op()) for engine in TITLES] == [
        NULL,
        REFUSED,
        REFUSED,
    ]
    assert [how(engine, (t.s == t.s).op()) for engine in TITLES] == [PLAIN] * 3
    assert [how(engine, t.s.levenshtein(t.s).op()) for engine in TITLES] == [REFUSED] * 3
    assert all(getattr(rule, engine) in (PLAIN, NULL, REFUSED) for rule in RULES for engine in TITLES)


def test_every_operation_of_ibis_was_considered():
    """An operation that a new Ibis brings is refused until it has a rule; these have none."""
    kinds = [kind for kind in vars(ops).values() if isinstance(kind, type) and issubclass(kind, ops.Value)]
    rowwise = [kind for kind in kinds if kind.__module__.rpartition(".")[2] in ROWWISE_MODULES]
    usual = [kind for kind in rowwise if not issubclass(kind, ops.Reduction | ops.Analytic | ops.Impure)]
    without = {kind.__name__ for kind in usual if not kind.__subclasses__()} - {n for rule in RULES for n in rule.names}
    assert without == {"BaseConvert", "RowID", "ScalarParameter", "TimestampRange", "Unnest"}


def test_text_meets_text_only():
    """An engine would cast the text; for IN, DuckDB does so outside of its TRY."""
    t = hush.tables.table(pa.table({"p": [1, 2], "s": ["x", "1"]}), unit="p")
    with pytest.raises(Unsupported, match=r"^filter uses InValues of string and"):
        t.filter(ops.InValues(t["s"], (1, 2)).to_expr())


@pytest.mark.parametrize(
    ("pattern", "quick"),
    [("^[0-9]+$", True), ("a{2,5}b", True), ("(a|b)?c", True), ("(a+)+", False), (r"(a)\1", False), ("(?=a)b", False),
     ("a*b*c*d*", False), ("(", False), ("(a{1,9})*", False)],
)  # fmt: skip
def test_patterns_that_take_long_are_known(pattern, quick):
    """Java and PostgreSQL try the quantifiers of a pattern one inside the other."""
    assert is_quick(pattern) is quick


def test_the_list_in_the_docs_is_this_list():
    """To write it again: python -c "from hush.tables.expression import ROWWISE_MODULES
    from hush.tables.row_rule import as_markdown; print(as_markdown())"."""
    page = Path(__file__).parents[2] / "docs" / "tables.md"
    assert as_markdown() in page.read_text(encoding="utf-8")
