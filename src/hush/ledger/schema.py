"""The tables of a ledger file, and the triggers that keep them append-only."""

from __future__ import annotations

import sqlite3

from hush.ledger.entry import chained

__all__ = [
    "APPLICATION",
    "SCHEMA",
    "SCHEMAS",
    "answer_of",
    "changed_structure",
    "create_tables",
    "insert_answer",
    "prepare",
    "with_answers",
]

#: "hush" in ASCII. SQLite's file header holds it, and it identifies the file as a ledger.
APPLICATION = 0x68757368
#: The version of a new file, and all versions that are read: the second one keeps answers too.
SCHEMA = 1
SCHEMAS = (1, 2)

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

#: What the second version adds: the answers of releases that were planned together.
_ANSWERS = (
    "CREATE TABLE answers (number INTEGER PRIMARY KEY, content BLOB NOT NULL, hash TEXT NOT NULL)",
    *(
        f"CREATE TRIGGER answers_no_{change.lower()} BEFORE {change} ON answers {_STOP}"
        for change in ("UPDATE", "DELETE")
    ),
    "CREATE TRIGGER answers_only_once BEFORE INSERT ON answers "
    f"WHEN EXISTS (SELECT 1 FROM answers WHERE number = NEW.number) {_STOP}",
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
    added = _ANSWERS if _version(connection) > SCHEMA else ()
    if {row[0] for row in connection.execute(query).fetchall()} != {*_TABLES, *_TRIGGERS, *added}:
        return "its tables, or the triggers that keep it append-only, were changed"
    return ""


# -- answers -------------------------------------------------------------------------------------------------


def _version(connection: sqlite3.Connection) -> int:
    return int(connection.execute("PRAGMA user_version").fetchone()[0])


def with_answers(connection: sqlite3.Connection) -> None:
    """Add the table of answers in the open transaction, if the file does not have it."""
    if _version(connection) == SCHEMA:
        for statement in (*_ANSWERS, f"PRAGMA user_version = {SCHEMAS[-1]}"):
            connection.execute(statement)


def answer_of(connection: sqlite3.Connection, number: int) -> tuple[bytes, str] | None:
    """The answer of an entry and its hash; None if there is none."""
    if _version(connection) == SCHEMA:
        return None
    row = connection.execute("SELECT content, hash FROM answers WHERE number = ?", (number,)).fetchone()
    return None if row is None else (bytes(row[0]), str(row[1]))


def insert_answer(connection: sqlite3.Connection, number: int, content: bytes, digest: str) -> None:
    """Write the answer of an entry into the open transaction."""
    connection.execute("INSERT INTO answers VALUES (?, ?, ?)", (number, content, digest))
