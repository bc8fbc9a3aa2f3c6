"""The tables of a ledger file, and the triggers that keep them append-only."""

from __future__ import annotations

import sqlite3

from hush.ledger.entry import chained

__all__ = ["APPLICATION", "SCHEMA", "changed_structure", "create_tables", "prepare"]

#: "hush" in ASCII. SQLite's file header holds it, and it identifies the file as a ledger.
APPLICATION = 0x68757368
SCHEMA = 1

_TABLES = (
    "CREATE TABLE cap (one INTEGER PRIMARY KEY CHECK (one = 1), time TEXT NOT NULL, content TEXT NOT NULL, "
    "hash TEXT NOT NULL)",
    # AUTOINCREMENT keeps the largest number ever given, so that entries missing at the end are noticed
    "CREATE TABLE entries (number INTEGER PRIMARY KEY AUTOINCREMENT, time TEXT NOT NULL, label TEXT NOT NULL, "
    "mechanism TEXT NOT NULL, previous TEXT NOT NULL, hash TEXT NOT NULL)",
    "CREATE TABLE source (one INTEGER PRIMARY KEY CHECK (one = 1), after INTEGER NOT NULL, text TEXT NOT NULL, "
    "hash TEXT NOT NULL)",
)
_STOP = "BEGIN SELECT RAISE(ABORT, 'a ledger is append-only'); END"
_CHANGES = tuple((table, change) for table in ("cap", "entries", "source") for change in ("UPDATE", "DELETE"))
_TRIGGERS = (
    *(f"CREATE TRIGGER {table}_no_{change.lower()} BEFORE {change} ON {table} {_STOP}" for table, change in _CHANGES),
    # INSERT OR REPLACE deletes without running the triggers above
    *(
        f"CREATE TRIGGER {t}_only_once BEFORE INSERT ON {t} WHEN EXISTS (SELECT 1 FROM {t}) {_STOP}"
        for t in ("cap", "source")
    ),
    "CREATE TRIGGER entries_in_turn BEFORE INSERT ON entries "
    f"WHEN NEW.number IS NOT (SELECT 1 + COALESCE(MAX(number), 0) FROM entries) {_STOP}",
)


def prepare(connection: sqlite3.Connection) -> None:
    """Set what every connection needs: durable commits, and no trust in the contents of the file."""
    for statement in ("synchronous = FULL", "fullfsync = ON", "trusted_schema = OFF", "cell_size_check = ON"):
        connection.execute(f"PRAGMA {statement}")


def create_tables(connection: sqlite3.Connection, moment: str, content: str) -> None:
    """Fill an empty database: tables, triggers and the cap, in one transaction."""
    prepare(connection)
    connection.execute("BEGIN IMMEDIATE")
    marks = (f"PRAGMA application_id = {APPLICATION}", f"PRAGMA user_version = {SCHEMA}")
    for statement in (*_TABLES, *_TRIGGERS, *marks):
        connection.execute(statement)
    row = (moment, content, chained("", SCHEMA, moment, content))
    connection.execute("INSERT INTO cap VALUES (1, ?, ?, ?)", row)
    connection.execute("COMMIT")


def changed_structure(connection: sqlite3.Connection) -> str:
    """What is wrong with the file as a database, by SQLite's integrity check and the texts of its tables and
    triggers; empty where nothing is.
    """
    found = connection.execute("PRAGMA integrity_check(1)").fetchall()
    if found != [("ok",)]:
        return str(found[0][0]).splitlines()[0]
    query = "SELECT sql FROM sqlite_master WHERE name NOT LIKE 'sqlite\\_%' ESCAPE '\\'"
    if {row[0] for row in connection.execute(query).fetchall()} != {*_TABLES, *_TRIGGERS}:
        return "its tables, or the triggers that keep it append-only, were changed"
    return ""
