"""A draft of a policy, from the names and types of the columns alone: no row is read."""

from __future__ import annotations

from collections.abc import Iterator
from pathlib import Path
from typing import Any

from hush.tables.policy.reading import key, toml_value
from hush.tables.source import is_text_file

__all__ = ["draft", "table_name"]

_HEAD = """# A policy of hush. The curator declares the facts about a table once, before anyone asks.
# The facts are public. Choose them from what you know about such data, never by looking at these data.
# `hush policy check FILE` finds mistakes. docs/policy.md explains every line.
"""

_LIMITS = """# the most groups in which one person counts, and the most rows of one person in one group
groups_per_unit = 1
rows_per_unit = 1
"""

_LEDGER = """# every question is charged here; make it with `hush ledger new {name}.ledger --epsilon 3 --delta 1e-5`
# ledger = "{name}.ledger"
# the most that one question may spend
# max_epsilon = 1.0
# max_delta = 1e-6
"""

_COLUMNS = """# Only the columns with a line here may be asked. Remove the # of a line to allow its column.
#   {{ low = 0, high = 30 }}                  values outside are clipped; sums, means and quantiles need bounds
#   {{ low = "private", high = "private" }}   bounds are found with a part of the budget
#   {{ values = ["a", "b"] }}                 the groups of an answer, if it is grouped by this column
#   {{ values = "private" }}                  groups are found with a part of delta; small groups are not shown
#   {{}}                                      the column may be used in conditions; nothing is declared about it
"""


def table_name(source: str) -> str:
    """The name of a table in a policy, from the file or the address of its source."""
    stem = Path(source.rstrip("/").rpartition("/")[2] or source).name.partition(".")[0]
    plain = "".join(letter if letter.isalnum() or letter == "_" else "_" for letter in stem).strip("_")
    return plain or "data"


def draft(
    name: str, source: str, unit: str | tuple[str, ...], columns: dict[str, Any], *, inside: str | None = None
) -> str:
    """The text of a policy for one table. `columns` are the types by name, `inside` the table of a database."""
    lines = [_HEAD, f"[tables.{key(name)}]", f"source = {toml_value(source)}"]
    if inside is not None:
        lines.append(f"name = {toml_value(inside)}")
    lines.append("# whom the guarantee protects: the rows with the same value belong to one person")
    lines.append(f"unit = {toml_value(unit)}")
    lines += ["", _LIMITS, _LEDGER.format(name=name), _COLUMNS.format() + f"[tables.{key(name)}.columns]"]
    owners = (unit,) if isinstance(unit, str) else unit
    text_file = is_text_file(source)
    lines += [
        line for column, kind in columns.items() if column not in owners for line in _line(column, kind, text_file)
    ]
    return "\n".join([*lines, ""])


def _line(column: str, kind: Any, text_file: bool) -> Iterator[str]:
    """A suggestion for one column, commented out: only its type is known, and of a file of text not even that."""
    if text_file:
        yield f'# {key(column)} = {{ low = 0, high = 100 }}    # or {{ values = ["..."] }}, or {{ type = "date" }}'
    elif kind.is_boolean():
        yield f"# {key(column)} = {{ values = [true, false] }}"
    elif kind.is_numeric():
        yield f"# {key(column)} = {{ low = 0, high = 100 }}    # {kind}"
    elif kind.is_date() or kind.is_timestamp():
        yield f"# {key(column)} = {{ low = 2020-01-01, high = 2029-12-31 }}"
    elif kind.is_string():
        yield f'# {key(column)} = {{ values = ["...", "..."] }}'
    else:
        yield f"# {key(column)} = {{}}    # {kind}"
