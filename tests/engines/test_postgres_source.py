"""PostgreSQL's own sources: addresses, columns of odd types, rights to read only, interruptions, hidden messages."""

from __future__ import annotations

import os
import signal
import subprocess
import sys
import threading
import time
from typing import Any

import ibis
import psycopg
import pyarrow as pa
import pytest
from engines.postgres_server import load
from tables.compare import found

import hush
from hush import tables
from hush.cli import main
from hush.errors import HushError, InvalidParameter, QueryFailed
from hush.tables import count, count_units, histogram, mean, table
from hush.tables.engines.contract import WITHHELD

pytestmark = [
    pytest.mark.filterwarnings("ignore::ResourceWarning", "ignore::pytest.PytestUnraisableExceptionWarning"),
]

HANG = 60  # seconds
ODD = """
CREATE TYPE mood AS ENUM ('sad', 'ok', 'happy');
CREATE TABLE odd (u uuid, day date, seen timestamptz, free numeric, fee numeric(9, 2) NOT NULL, code char(6),
                  m mood, v varchar(10), b boolean, r real);
INSERT INTO odd VALUES
 ('a0eebc99-9c0b-4ef8-bb6d-6bb9bd380a11', 'infinity', 'infinity', 'NaN', 'NaN', 'ab', 'happy', 'x', true, 'NaN'),
 ('A0EEBC99-9C0B-4EF8-BB6D-6BB9BD380A12', '-infinity', '-infinity', 'Infinity', 1.25, 'ab ', 'sad', 'X', false, 1.5),
 ('a0eebc99-9c0b-4ef8-bb6d-6bb9bd380a13', '4713-01-01 BC', '4713-01-01 BC', 1e400, 2, 'AB', 'ok', '', null, 'Infinity'),
 ('a0eebc99-9c0b-4ef8-bb6d-6bb9bd380a14', '5874897-12-31', '294276-12-31', -1e400, 3, null, null, null, true, 0.1),
 ('a0eebc99-9c0b-4ef8-bb6d-6bb9bd380a15', '2024-02-29', '2024-02-29 23:30:00-05', 1e-400, 4, '', 'ok', 'é', true, -7.5);
"""


@pytest.fixture(scope="module")
def odd(postgres) -> tables.Table:
    postgres.owner.execute(ODD)
    return table(postgres.address, name="odd", unit="u")


def test_odd_values_are_read_in_one_form(odd):
    """Infinite dates, NaN and infinity in numeric, padded text, enumerations: no failure, and the rules of the docs."""
    days = found(odd.group_by("day", keys="private", groups_per_unit=1).aggregate(n=count()))
    assert {str(day): row["n"] for (day,), row in days.items()} == {"2024-02-29": 1, "None": 4}
    codes = found(odd.group_by("code", keys="private", groups_per_unit=1).aggregate(n=count()))
    assert {code: row["n"] for (code,), row in codes.items()} == {"ab": 2, "AB": 1, "": 1, None: 1}
    moods = found(odd.group_by("m", keys=["ok", "sad", "angry"], groups_per_unit=1).aggregate(n=count()))
    assert [row["n"] for row in moods.values()] == [2, 1, 0]
    local = odd.mutate(on=odd["seen"].date(), year=odd["day"].year())
    ends = found(local.group_by("on", keys="private", groups_per_unit=1).aggregate(n=count()))
    assert sum(row["n"] for row in ends.values()) == 5 and "2024-03-01" in {str(day) for (day,) in ends}
    years = found(local.group_by("year", keys="private", groups_per_unit=1).aggregate(n=count()))
    assert {year: row["n"] for (year,), row in years.items()} == {None: 2, -4713: 1, 5874897: 1, 2024: 1}


def test_odd_numbers(odd):
    query = odd.aggregate(
        n=count(),
        free=tables.sum("free", low=-10, high=10),
        fee=mean("fee", low=0, high=10, rows_per_unit=1),
        r=histogram("r", edges=[-10, 0, 1, 10], rows_per_unit=1),
        b=tables.sum("b", low=0, high=1),
    )
    exact = found(query)[()]
    # a NaN that the schema does not show as null adds nothing: four fees, although no fee is null
    assert exact["fee.count"] == 4 and exact["n"] == 5
    # infinity and 1e400 count as 10, -1e400 as -10, 1e-400 as 0, NaN as nothing
    assert query.measures[1].answer({"free": pa.array([exact["free"]]).to_numpy()})[0] == 10.0
    assert [exact[f"r.{i}"] for i in range(3)] == [1, 1, 1]


def test_collations_do_not_merge_spellings(postgres):
    """A collation in which 'flu' equals 'FLU', and a type that ignores case: groups and people stay apart."""
    names = [f"{letter}{i}" for i in range(20) for letter in ("a", "A", "á")]
    rows = [{"name": names[i % 60], "ill": ["flu", "FLU", "flú", None][i // 7 % 4]} for i in range(600)]
    postgres.owner.execute(
        "CREATE COLLATION IF NOT EXISTS alike (provider = icu, locale = 'und-u-ks-level1', deterministic = false)"
    )
    postgres.owner.execute("CREATE EXTENSION IF NOT EXISTS citext")
    kinds = {"alike": "text COLLATE alike", "ignoring": "citext"}
    expected = None
    for place, kind in kinds.items():
        postgres.owner.execute(f"CREATE TABLE {place} (name {kind}, ill {kind})")
        with postgres.owner.cursor() as cursor, cursor.copy(f"COPY {place} FROM STDIN") as copy:
            for row in rows:
                copy.write_row(tuple(row.values()))
        merged = postgres.owner.execute(f"SELECT count(DISTINCT name) FROM {place}").fetchone()[0]
        assert merged < len(names), "the collation does nothing, so the test would show nothing"
        for kept in (pa.Table.from_pylist(rows), None):
            t = table(kept, unit="name") if kept is not None else table(postgres.address, name=place, unit="name")
            query = t.group_by("ill", keys="private", groups_per_unit=2).aggregate(n=count(), people=count_units())
            listed = t.group_by("ill", keys=["FLU", "flú", None, "Flu"], groups_per_unit=2).aggregate(n=count())
            got = list(found(query).items()), list(found(listed).items())
            expected = expected or got
            assert got == expected


# -- rights, settings, messages ------------------------------------------------------------------------------


def test_nothing_can_be_written(postgres):
    """Even if a view of the database writes: the transaction is read only."""
    postgres.owner.execute("CREATE SEQUENCE drawn; GRANT ALL ON drawn TO reader")
    postgres.owner.execute("CREATE VIEW writing AS SELECT nextval('drawn') AS u")
    with pytest.raises(HushError, match="failed in the engine"):
        found(table(postgres.address, name="writing", unit="u").aggregate(n=count()))
    assert postgres.owner.execute("SELECT is_called FROM drawn").fetchone() == (False,)
    made = "SELECT count(*) FROM pg_class WHERE relname LIKE '%hush%' OR relpersistence = 't'"
    assert postgres.owner.execute(made).fetchone() == (0,)


def test_the_servers_message_is_hidden(postgres):
    load(postgres.owner, "spoken", pa.table({"u": [1, 2], "s": ["1", "secret diagnosis"]}))
    postgres.owner.execute("CREATE VIEW failing AS SELECT u, s::bigint AS s FROM spoken")
    query = table(postgres.address, name="failing", unit="u").aggregate(s=tables.sum("s", low=0, high=9))
    with pytest.raises(HushError) as caught:
        query.aggregates().to_arrow()
    assert str(caught.value) == WITHHELD
    with pytest.raises(QueryFailed, match="the reason is hidden"):
        query.answer(1.0, 0.0, ledger=None)
    assert caught.value.__context__ is None and caught.value.__cause__ is None


def test_a_users_connection(postgres):
    """It sees the user's temporary tables, its settings are untouched afterwards, and it can still write."""
    owner = postgres.address.replace("reader@", "postgres@")
    with psycopg.connect(owner, autocommit=True) as connection:
        backend = ibis.postgres.from_connection(connection)
        connection.execute("CREATE TEMP TABLE mine AS SELECT i AS u, i % 3 AS g FROM generate_series(1, 30) AS r(i)")
        connection.execute("SET TimeZone = 'Asia/Tokyo'")
        mine = table(backend.table("mine"), unit="u")
        assert mine.engine == "postgres"
        for inside in (False, True):
            if inside:
                connection.execute("BEGIN")
            exact = found(mine.group_by("g", keys=[0, 1, 2, 3], groups_per_unit=1).aggregate(n=count()))
            assert [row["n"] for row in exact.values()] == [10, 10, 10, 0]
            assert connection.execute("SHOW TimeZone").fetchone() == ("Asia/Tokyo",)
            assert connection.execute("SHOW transaction_read_only").fetchone() == ("off",)
            connection.execute("INSERT INTO mine VALUES (31, 3)") if inside else None


def test_batches_have_a_fixed_size(postgres):
    postgres.owner.execute("CREATE TABLE many AS SELECT i AS u, i AS k FROM generate_series(1, 2500) AS r(i)")
    query = table(postgres.address, name="many", unit="u").group_by("k", keys="private", groups_per_unit=1)
    batches = list(query.aggregate(n=count()).aggregates().batches(size=1000))
    assert [batch.num_rows for batch in batches] == [1000, 1000, 500]


# -- addresses -----------------------------------------------------------------------------------------------


def test_a_password_is_shown_nowhere(postgres, tmp_path, capsys):
    load(postgres.owner, "plain", pa.table({"u": list(range(50)), "g": ["a", "b"] * 25}))
    address = postgres.address.replace("reader@", "reader:hunter2@")
    t = table(address, name="public.plain", unit="u")
    with hush.Ledger(tmp_path / "v.ledger", epsilon=3.0, delta=1e-5) as ledger:
        answer = t.aggregate(n=count()).answer(1.0, 0.0, ledger=ledger)
        told = [t.fingerprint, repr(t), repr(t.source), answer.receipt.to_json(), str(ledger.entries)]
    assert "table public.plain" in t.fingerprint and "reader" not in t.fingerprint
    assert not [text for text in told if "hunter2" in text]
    assert b"hunter2" not in (tmp_path / "v.ledger").read_bytes()
    asked = ["--unit", "u", "--by", "g", "--keys", "a,b", "--groups-per-unit", "1", "--count", "--epsilon", "1"]
    assert main(["answer", address, "--name", "public.plain", *asked, "--pure"]) == 0
    out, err = capsys.readouterr()
    assert "hunter2" not in out + err and " a " in out


@pytest.mark.parametrize(
    ("address", "said"),
    [
        ("postgresql://u:hunter2@127.0.0.1:1/db", "no server listens there"),
        ("postgresql://u:hunter2@host:port/db", "cannot be reached|no address of PostgreSQL"),
        ("postgresql://u:hunter2@[bad/db", "no address of PostgreSQL"),
    ],
)
def test_errors_have_no_password(address, said):
    with pytest.raises(InvalidParameter, match=said) as caught:
        table(address, name="x", unit="u")
    assert "hunter2" not in str(caught.value)
    assert caught.value.__context__ is None and caught.value.__cause__ is None


def test_the_name_of_a_table(postgres):
    with pytest.raises(InvalidParameter, match=r"has \d+ tables; choose one with name=: 'public\."):
        table(postgres.address, unit="u")
    load(postgres.owner, "patients", pa.table({"u": [1]}))
    with pytest.raises(InvalidParameter, match=r"did you mean 'public\.patients'"):
        table(postgres.address, name="public.patient", unit="u")
    with pytest.raises(InvalidParameter, match="queried in its own server"):
        table(postgres.address, name="patients", unit="u", engine="spark")
    postgres.owner.execute("CREATE TABLE hidden (u int); REVOKE ALL ON hidden FROM reader")
    with pytest.raises(InvalidParameter, match="which the table does not have"):
        table(postgres.address, name="public.hidden", unit="u")


# -- interruptions -------------------------------------------------------------------------------------------

#: 10^12 rows.
ENDLESS = "SELECT a AS who FROM generate_series(1, 1000000) AS s(a), generate_series(1, 1000000) AS t(b)"
RUNNING = "SELECT pid FROM pg_stat_activity WHERE usename = 'reader' AND state = 'active' AND query LIKE 'FETCH%'"


@pytest.fixture
def endless(postgres) -> Any:
    postgres.owner.execute(f"CREATE OR REPLACE VIEW endless AS {ENDLESS}")
    return postgres


def until(ready: Any) -> Any:
    end = time.monotonic() + HANG
    while time.monotonic() < end:
        if result := ready():
            return result
        time.sleep(0.1)
    raise AssertionError("nothing happened in time")


def test_somebody_cancels_the_query(endless):
    query = table(endless.address, name="endless", unit="who").aggregate(n=count())

    def cancel() -> None:
        (pid,) = until(lambda: endless.owner.execute(RUNNING).fetchone())
        endless.owner.execute("SELECT pg_cancel_backend(%s)", [pid])

    thread = threading.Thread(target=cancel)
    thread.start()
    with pytest.raises(KeyboardInterrupt) as caught:
        query.aggregates().to_arrow()
    thread.join()
    assert caught.value.__cause__ is None and caught.value.__context__ is None


SCRIPT = """
import sys
from hush import tables
query = tables.table(sys.argv[1], name="endless", unit="who").aggregate(n=tables.count())
try:
    query.aggregates().to_arrow()
except KeyboardInterrupt as stopped:
    print("stopped", stopped.__cause__)
"""


@pytest.mark.skipif(os.name == "nt", reason="signals are sent as POSIX sends them")
def test_control_c_stops_the_server(endless):
    command = [sys.executable, "-W", "ignore", "-c", SCRIPT, endless.address]
    with subprocess.Popen(command, stdout=subprocess.PIPE, stderr=subprocess.PIPE, text=True) as process:
        guard = threading.Timer(HANG, process.kill)
        guard.start()
        try:
            until(lambda: endless.owner.execute(RUNNING).fetchone())
            process.send_signal(signal.SIGINT)
            out, err = process.communicate()
        finally:
            guard.cancel()
            process.kill()
    assert out.splitlines() == ["stopped None"], err
    until(lambda: not endless.owner.execute(RUNNING).fetchall())
