"""`hush policy new|check|show`: what a curator declares about tables."""

from __future__ import annotations

import argparse
import json
import os
from typing import Any

from hush.cli.policy_options import opened_table
from hush.cli.text import Command, emit, subcommands
from hush.errors import InvalidParameter
from hush.releasing.destination import write_text

__all__ = ["register"]

_EXAMPLES = {
    "policy": """examples:
  hush policy new hush.toml --source visits.parquet --unit patient_id
  hush policy check hush.toml
  hush policy show hush.toml
  hush answer --policy hush.toml --table visits --by ward --count --epsilon 1 --delta 1e-6""",
    "new": """examples:
  hush policy new hush.toml --source visits.parquet --unit patient_id
  hush policy new hush.toml --source visits.parquet --unit patient_id,month
  hush policy new hush.toml --source survey.csv --each-row
  hush policy new hush.toml --source clinic.duckdb --table visits --unit patient_id

The draft has the names and types of the columns. No row is used for it.""",
    "check": """examples:
  hush policy check hush.toml        one sentence for each mistake, and exit code 2""",
    "show": """examples:
  hush policy show hush.toml
  hush policy show hush.toml --json""",
}


def _new(options: argparse.Namespace) -> None:
    from hush.tables.policy.draft import draft, table_name

    if options.source is None:
        data = options.file.endswith((".parquet", ".csv", ".json", ".duckdb", ".db", ".xlsx")) or "://" in options.file
        names = ("hush.toml", options.file) if data else (options.file, "visits.parquet")
        raise InvalidParameter(
            f"--source is needed; write hush policy new {names[0]} --source {names[1]} --unit COLUMN."
        )
    if os.path.lexists(options.file):
        raise InvalidParameter(f"{options.file} already exists; choose another name, and copy its section by hand.")
    inside = options.table if _is_database(options.source) else None
    given = argparse.Namespace(**vars(options) | {"table": inside, "policy": None, "engine": "duckdb"})
    table = opened_table(given)
    name = options.table or table_name(options.source)
    unit = "row" if table.whose.each_row else table.whose.columns
    unit = unit[0] if len(unit) == 1 else unit
    if unit == "row" and not table.whose.each_row:
        unit = ("row",)
    columns = {column: table.relation[column].type() for column in table.columns}
    source = _from_folder(options.source, options.file)
    write_text(options.file, draft(name, source, unit, columns, inside=inside))
    text = (
        f"{options.file}: a draft for the table {name} with {len(columns)} columns; edit it, then run "
        f"`hush policy check {options.file}`"
    )
    emit(options, {"file": options.file, "table": name, "columns": list(columns)}, text)


def _is_database(source: str) -> bool:
    """Does the source hold several tables?"""
    from hush.tables.source import DATABASE

    return source.endswith(DATABASE) or "://" in source


def _from_folder(source: str, file: str) -> str:
    """The source as the policy names it: relative to the policy's folder."""
    if "://" in source or os.path.isabs(source):
        return source
    return os.path.relpath(source, os.path.dirname(os.path.abspath(file)))


def _check(options: argparse.Namespace) -> None:
    from hush.tables.policy import Policy
    from hush.tables.policy.mistakes import must_be_right
    from hush.tables.policy.summary import table_in_words

    must_be_right(options.file, Policy.mistakes_of(options.file))
    policy = Policy.read(options.file)
    lines = [table_in_words(name, policy.rule(name)) for name in policy.tables]
    number = f"{len(lines)} table{'s' * (len(lines) != 1)}"
    emit(
        options,
        {"file": options.file, "sound": True, "tables": lines},
        f"{options.file}: {number}, no mistake\n" + "\n".join(lines),
    )


def _show(options: argparse.Namespace) -> None:
    from hush.tables.policy import Policy
    from hush.tables.policy.summary import columns_in_words, facts_of_table

    document: dict[str, Any] = {}
    lines: list[str] = []
    policy = Policy.read(options.file)
    for name in policy.tables:
        rule = policy.rule(name)
        facts, columns = facts_of_table(rule), columns_in_words(rule)
        document[name] = {**dict(facts), "columns": columns if rule.columns is not None else None}
        lines += [name, *(f"  {key:<13} {text}" for key, text in facts)]
        if rule.columns is None:
            lines.append("  columns       every column may be asked, and nothing is declared about them")
        lines += [f"  {column:<13} {text}" for column, text in columns.items()]
    print(json.dumps(document, indent=2) if options.json else "\n".join(lines))


def register(command: Command) -> None:
    """Add `hush policy` and its three commands."""
    policy = command("policy", None, "declare the facts about tables once, for every question", _EXAMPLES["policy"])
    sub = subcommands(policy, "policy_command", "new|check|show", _EXAMPLES)

    new = sub("new", _new, "write a commented draft from the names and types of the columns")
    new.add_argument("--source", metavar="SOURCE", help="a file, a pattern, or a database")
    new.add_argument("--unit", metavar="COLUMNS", help="the column, or comma list, that identifies a person")
    new.add_argument("--each-row", action="store_true", help="each row is a person of its own, in place of --unit")
    table = "the table's name in the policy (default: from the source); of a database, the table to read"
    new.add_argument("--table", metavar="NAME", help=table)
    sub("check", _check, "find the mistakes of a policy; schemas are read, rows are not")
    sub("show", _show, "show what is declared")
