"""BigQuery and Snowflake: the SQL of a query is written and parses; running it is refused with one sentence."""

from __future__ import annotations

from typing import Any

import ibis
import pytest
import sqlglot

from hush import tables
from hush.errors import Unsupported
from hush.tables import count, count_units, mean
from hush.tables.aggregation import integer_aggregates
from hush.tables.engines import ENGINES
from hush.tables.engines.contract import Source
from hush.tables.keyed_hash import Keyed
from hush.tables.quantise import Limits
from hush.tables.query import Table

ROWS = ibis.table({"who": "int64", "ward": "string", "cost": "float64", "stay": "int64"}, name="visits")
NAMES = sorted(name for name, engine in ENGINES.items() if engine.compile_only)


def asked() -> Any:
    table = Table(Source(ROWS, None, "visits"), ROWS, "who", Limits(2**40))
    return table.group_by("ward", keys="private", groups_per_unit=2).aggregate(
        n=count(rows_per_unit=3),
        people=count_units(),
        s=tables.sum("cost", low=0, high=100),
        m=mean("stay", low=0, high=30, rows_per_unit=2),
    )


def test_which_engines_are_compile_only():
    assert NAMES == ["bigquery", "snowflake"]


@pytest.mark.parametrize("name", NAMES)
def test_the_sql_parses(name):
    query = asked()
    keyed = Keyed(b"0" * 32, "native", ENGINES[name].hash)
    plan = integer_aggregates(query.table.relation, "who", query.grouping, query.measures, keyed)
    text = ibis.to_sql(plan, dialect=name)
    tree = sqlglot.parse_one(str(text), dialect=name)
    assert next(select.alias_or_name for select in tree.selects) == "g0"
    assert "COLLATE(" in str(text)
    assert len(list(tree.find_all(sqlglot.exp.Window))) >= 2
    assert "visits" in {table.name for table in tree.find_all(sqlglot.exp.Table)}


@pytest.mark.parametrize("name", NAMES)
def test_running_is_refused(name):
    source = Source(ROWS, None, "visits")
    with pytest.raises(Unsupported, match=f"only writes SQL for the engine '{name}' and does not run it") as caught:
        list(ENGINES[name].batches(source, ROWS, 10))
    assert str(caught.value).count(". ") == 0


@pytest.mark.parametrize("address", ["bigquery://project/dataset", "snowflake://user@account/database"])
def test_an_address_says_that_nothing_runs(address):
    with pytest.raises(Unsupported, match=r"only writes SQL for the engine .* \(compile-only\).*export the table"):
        tables.table(address, unit="id")
