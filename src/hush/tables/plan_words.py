"""Sentences of a plan: how a person moves the columns, and which keys are listed."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any

from hush.ledger.entry import LONGEST_TEXT
from hush.tables.contribution import Part
from hush.tables.description import QueryDescription

__all__ = ["keys_in_words", "moves_in_words", "question_in_words"]

_KEYS = 5  # a plan shows at most this many keys of a public list


def moves_in_words(parts: Sequence[Part]) -> str:
    """How an added person moves the columns of a group, in words."""
    people = [part.columns[0] for part in parts if part.people]
    upwards = [part.columns[0] for part in parts if part.one_sided and not part.people]
    both = [part.columns[0] for part in parts if not part.one_sided]
    text = [f"{', '.join(people)} by exactly 1"] * bool(people) + [f"{', '.join(upwards)} upwards only"] * bool(upwards)
    text += [f"{', '.join(both)} in both directions"] * bool(both)
    return f"a person moves {'; '.join(text)}"


def keys_in_words(names: Sequence[str], keys: Sequence[Sequence[Any]]) -> str:
    """The first few keys, as hush reads them, and how many there are."""
    shown = [repr(key[0]) if len(key) == 1 else repr(tuple(key)) for key in keys[:_KEYS]]
    more = f", and {len(keys) - _KEYS} more" if len(keys) > _KEYS else ""
    return f"{', '.join(names)} = {', '.join(shown)}{more} ({len(keys)} listed)"


def question_in_words(query: QueryDescription) -> str:
    """What is asked: the numbers with their bounds, the groups, and the rows. It holds nothing but public facts."""
    open_bounds = query.open_bounds
    parts = [
        f"{m.name}: {m.kind}, bounds found privately" if m.name in open_bounds else m.bounds_text for m in query.shown
    ]
    text = "; ".join(parts) or "which groups exist, without numbers"
    names = query.grouping.names
    if names:
        how = "found in the data" if query.grouping.keys is None else f"{len(query.grouping.keys)} listed"
        text += f"; for each {', '.join(names)} ({how})"
    if query.table.filters:
        text += f"; only rows where {', and '.join(query.table.filters)}"
    return text if len(text) <= LONGEST_TEXT else f"{text[: LONGEST_TEXT - 3]}..."
