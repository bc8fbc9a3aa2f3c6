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
    "mark_output",
    "prepare",
    "version_of",
    "waiting",
    "with_answers",
    "with_streams",
]

#: "hush" in ASCII. SQLite's file header holds it, and it identifies the file as a ledger.
APPLICATION = 0x68757368
#: The version of a new file, and all versions that are read: the second one keeps answers too, the third one streams,
#: the fourth one which answers wait to be shown.
SCHEMA = 1
SCHEMAS = (1, 2, 3, 4)

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

#: What the third version adds: streams, and what they published in each period.
_STREAMS = (
    "CREATE TABLE streams (name TEXT PRIMARY KEY, number INTEGER NOT NULL, plan TEXT NOT NULL, mark TEXT NOT NULL, "
    "hash TEXT NOT NULL)",
    "CREATE TABLE periods (stream TEXT NOT NULL, period INTEGER NOT NULL, label TEXT NOT NULL, "
    "measured TEXT NOT NULL, mac TEXT NOT NULL, previous TEXT NOT NULL, hash TEXT NOT NULL, "
    "PRIMARY KEY (stream, period))",
    *(
        f"CREATE TRIGGER {table}_no_{change.lower()} BEFORE {change} ON {table} {_STOP}"
        for table in ("streams", "periods")
        for change in ("UPDATE", "DELETE")
    ),
    "CREATE TRIGGER streams_only_once BEFORE INSERT ON streams "
    f"WHEN EXISTS (SELECT 1 FROM streams WHERE name = NEW.name) {_STOP}",
    "CREATE TRIGGER periods_in_turn BEFORE INSERT ON periods WHEN NEW.period IS NOT "
    f"(SELECT 1 + COALESCE(MAX(period), 0) FROM periods WHERE stream = NEW.stream) {_STOP}",
)
#: What the fourth version adds: answers that a command keeps before it shows them, and those of them that it has shown.
_OUTPUTS = (
    "CREATE TABLE outputs (number INTEGER NOT NULL, state TEXT NOT NULL CHECK (state IN ('waits', 'shown')), "
    "PRIMARY KEY (number, state))",
    *(
        f"CREATE TRIGGER outputs_no_{change.lower()} BEFORE {change} ON outputs {_STOP}"
        for change in ("UPDATE", "DELETE")
    ),
)
#: The statements that each version adds to those before it.
_ADDED = {1: (), 2: _ANSWERS, 3: _STREAMS, 4: _OUTPUTS}


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
    added = [one for version, some in _ADDED.items() if version <= version_of(connection) for one in some]
    if {row[0] for row in connection.execute(query).fetchall()} != {*_TABLES, *_TRIGGERS, *added}:
        return "its tables, or the triggers that keep it append-only, were changed"
    return ""


# -- answers -------------------------------------------------------------------------------------------------


def version_of(connection: sqlite3.Connection) -> int:
    """The version of the file."""
    return int(connection.execute("PRAGMA user_version").fetchone()[0])


def with_answers(connection: sqlite3.Connection) -> None:
    """Add the table of answers in the open transaction, if the file does not have it."""
    _with_version(connection, 2)


def with_streams(connection: sqlite3.Connection) -> None:
    """Add the tables of streams in the open transaction, if the file does not have them."""
    _with_version(connection, 3)


def mark_output(connection: sqlite3.Connection, number: int, state: str) -> None:
    """Write into the open transaction that an answer waits to be shown, or that it was shown."""
    _with_version(connection, 4)
    connection.execute("INSERT OR IGNORE INTO outputs VALUES (?, ?)", (number, state))


def waiting(connection: sqlite3.Connection) -> set[int]:
    """The numbers of the entries whose answers are kept and were not shown yet."""
    if version_of(connection) < 4:
        return set()
    marks = connection.execute("SELECT number, state FROM outputs").fetchall()
    return {int(n) for n, state in marks if state == "waits"} - {int(n) for n, state in marks if state == "shown"}


def _with_version(connection: sqlite3.Connection, wanted: int) -> None:
    for version in range(version_of(connection) + 1, wanted + 1):
        for statement in (*_ADDED[version], f"PRAGMA user_version = {version}"):
            connection.execute(statement)


def answer_of(connection: sqlite3.Connection, number: int) -> tuple[bytes, str] | None:
    """The answer of an entry and its hash; None if there is none."""
    if version_of(connection) == SCHEMA:
        return None
    row = connection.execute("SELECT content, hash FROM answers WHERE number = ?", (number,)).fetchone()
    return None if row is None else (bytes(row[0]), str(row[1]))


def answered(connection: sqlite3.Connection) -> set[int]:
    """The numbers of the entries whose answers are kept."""
    if version_of(connection) == SCHEMA:
        return set()
    return {int(row[0]) for row in connection.execute("SELECT number FROM answers").fetchall()}


def insert_answer(connection: sqlite3.Connection, number: int, content: bytes, digest: str) -> None:
    """Write the answer of an entry into the open transaction."""
    connection.execute("INSERT INTO answers VALUES (?, ?, ?)", (number, content, digest))
