"""Sentences of a plan: how a person moves the columns, and which keys are listed."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any

from hush.ledger.entry import LONGEST_TEXT
from hush.tables.condition_words import condition_in_words
from hush.tables.contribution import Part
from hush.tables.description import QueryDescription
from hush.tables.measure import Prepared

__all__ = ["keys_in_words", "moves_in_words", "question_in_words"]

_KEYS = 5  # a plan shows at most this many keys of a public list
_HALF = 0.5  # the quantile that has a name
#: What an aggregate gives, in words; others have their own name.
_KINDS = {"count": "number of rows", "count_units": "number of people"}


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
    text = "; ".join(_asked(query, measure) for measure in query.shown) or "which groups exist, without numbers"
    text += _groups_in_words(query)
    if query.table.filters:
        text += f"; only rows where {', and '.join(map(condition_in_words, query.table.filters))}"
    return text if len(text) <= LONGEST_TEXT else f"{text[: LONGEST_TEXT - 3]}..."


def _asked(query: QueryDescription, measure: Prepared) -> str:
    """One number: its name in the answer, what it is, and its limits."""
    declared = dict(query.declared).get(measure.name)
    column = getattr(declared, "column", None)
    # an expression, `_.name` or a function of the table is named by Ibis after what it computes
    name = column if isinstance(column, str) or column is None else query.table.relation.bind(column)[0].get_name()
    kind = _KINDS.get(measure.kind, measure.kind.replace("_", " "))
    share = getattr(declared, "q", None)
    if isinstance(share, int | float):
        kind = "median" if share == _HALF else f"quantile {share}"
    text = f"{measure.name}: {kind}" + (f" of {name}" if name else "")
    if measure.name in query.open_bounds:
        text += ", bounds found privately"
    elif getattr(declared, "low", None) is not None:
        text += f", values from {getattr(declared, 'low', '')} to {getattr(declared, 'high', '')}"
    if measure.rows is not None and not query.table.one_row:
        where = " in a group" if query.grouping.names else ""
        text += f", at most {measure.rows} row{'s' * (measure.rows > 1)} of a person{where}"
    return text


def _groups_in_words(query: QueryDescription) -> str:
    grouping = query.grouping
    if not grouping.names:
        return ""
    if grouping.keys is None:
        which = " (only groups with enough people are shown)"
    elif len(grouping.names) == 1 and len(grouping.keys) <= _KEYS:
        which = f" ({', '.join(str(key[0]) for key in grouping.keys)})"
    else:
        which = f" ({len(grouping.keys)} listed groups)"
    most = f"; a person counts in at most {grouping.groups} groups" if grouping.groups > 1 else ""
    return f"; for each {' and '.join(grouping.names)}{which}{most}"
