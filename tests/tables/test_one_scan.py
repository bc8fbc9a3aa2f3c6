"""The answer and the effect of its limits come from one scan; both ways to compute them give the same integers; and
private groups are limited whatever the hash is.
"""

from __future__ import annotations

from typing import Any

import numpy as np
import pyarrow as pa
import pytest
from tables.messy import arrow_of, messy

import hush
from hush.tables import count, count_units, each_row, histogram, mean, table
from hush.tables.aggregation import integer_aggregates
from hush.tables.engines.duckdb import sql_of
from hush.tables.exact_aggregates import Aggregates
from hush.tables.keyed_hash import Keyed
from hush.tables.left_out import left_out

SALT = bytes(range(32))
ASKED = {"people": count_units(), "n": count(rows_per_unit=2), "s": hush.tables.sum("cost", low=0, high=9)}
SAMPLED = {**ASKED, "m": mean("cost", low=0, high=9), "h": histogram("stay", edges=[0, 2, 9], rows_per_unit=2)}


def asked_of(query: Any, *, reuses: bool, **options: Any) -> tuple[dict[str, int], list[dict[str, Any]]]:
    """The numbers about people and the groups, in one of the two forms."""
    made, where = left_out(query), query.table
    keyed = Keyed(SALT)
    plan = integer_aggregates(
        where.relation,
        where.person,
        query.grouping,
        query.measures,
        keyed,
        beside=made.beside,
        reuses=reuses,
        **options,
    )
    found = Aggregates(where.source, query.grouping, query.sensitivity, plan, made.beside.names)
    about, batches = found.read()
    return {name: int(column[0]) for name, column in about.items()}, found.whole(batches).to_pylist()


@pytest.fixture(scope="module")
def visits() -> pa.Table:
    return arrow_of(messy())


@pytest.mark.parametrize(
    ("by", "options", "asked", "first"),
    [
        ((), {}, SAMPLED, "rank"),
        (("ward",), {"keys": "private", "groups_per_unit": 2}, SAMPLED, "rank"),
        (("ward", "urgent"), {"keys": "private", "groups_per_unit": 1}, ASKED, "aggregate"),
        (("ward",), {"keys": ["A", "B", None], "groups_per_unit": 2}, ASKED, "rank"),
        (("ward",), {"keys": ["A", "B"], "groups_per_unit": 2}, ASKED, "rank"),
    ],
    ids=["no groups", "private", "two columns", "listed", "all listed"],
)
def test_both_forms_give_the_same_integers(visits, by, options, asked, first):
    """The groups are also those of a query that measures no limits."""
    rows = table(visits, unit="who")
    query = (rows.group_by(*by, **options) if by else rows).aggregate(**asked)
    once, twice = (asked_of(query, reuses=reuses, first=first) for reuses in (True, False))
    assert once == twice
    assert once[1] == query.aggregates(salt=SALT, hash="portable", first=first).to_arrow().to_pylist()
    assert once[0]["people"] > 10


def test_each_row_a_person(visits):
    rows = table(visits, unit=each_row)
    for query in (
        rows.aggregate(m=mean("cost", low=0, high=9)),
        rows.group_by("ward", keys="private").aggregate(m=mean("cost", low=0, high=9)),
    ):
        once, twice = (asked_of(query, reuses=reuses) for reuses in (True, False))
        assert once == twice and once[0]["people"] == visits.num_rows
        assert once[1] == query.aggregates(salt=SALT, hash="portable").to_arrow().to_pylist()


@pytest.mark.parametrize("asked", [ASKED, {**ASKED, "m": mean("cost", low=0, high=9)}], ids=["totals", "mean"])
@pytest.mark.parametrize("keys", ["private", ["A", "B", "C"]], ids=str)
def test_the_rows_are_read_and_ranked_once(visits, keys, asked):
    rows = table(visits, unit="who")
    query = rows.group_by("ward", keys=keys, groups_per_unit=2).aggregate(**asked)
    plan = query.exact(left_out(query).beside, hash=None, first="rank").plan
    sql = sql_of(rows.source.backend, plan)
    assert sql.count(rows.relation.op().name) == sql.count("DENSE_RANK") == 1
    text = "\n".join(str(row[1]) for row in _explained(rows.source.backend, plan, sql))
    assert text.upper().count("WINDOW") <= 2 + 2 * (len(asked) > 3)


def _explained(backend: Any, plan: Any, sql: str) -> Any:
    from hush.tables.engines.contract import memory_tables

    for name, memory in memory_tables(plan).items():
        backend.con.register(name, memory)
    return backend.con.sql(f"EXPLAIN {sql}").fetchall()


def test_equal_hashes_do_not_raise_the_number_of_groups():
    """A hash that gives all groups, or half of them, one number: a person is still in two groups at most, and in each
    of them once.
    """
    draw = np.random.default_rng(3)
    who, ward = draw.integers(0, 50, 2000), [None if x == 9 else f"ward {x}" for x in draw.integers(0, 10, 2000)]
    rows = pa.table({"who": who, "ward": pa.array(ward, pa.string())})
    query = table(rows, unit="who").group_by("ward", keys="private", groups_per_unit=2).aggregate(n=count_units())
    where = query.table
    for modulus, expected in ((1, 50), (2, 100), (1 << 40, 100)):
        # the last character of a ward, so that a person has few distinct hashes
        def poor(columns: list[Any], key: Any, modulus: int = modulus) -> Any:
            last = columns[2].right(1).ascii_str().coalesce(0).cast("int64")
            return (last % modulus) * 2

        keyed = Keyed(SALT, "native", poor)
        assert keyed.tells_apart(where.relation.rename(g0="ward"), ["g0"], public=False)
        plan = integer_aggregates(where.relation, where.person, query.grouping, query.measures, keyed)
        found = Aggregates(where.source, query.grouping, query.sensitivity, plan).to_arrow().to_pydict()
        assert sum(found["n"]) == expected, (modulus, found)
        assert max(found["n"]) <= 50
