"""Releases of one query that are planned together: their name, and their answers as a ledger keeps them."""

from __future__ import annotations

import hashlib
import json
from collections.abc import Mapping
from typing import Any

from hush.errors import InvalidParameter, LedgerError, whole
from hush.ledger.entry import text_of
from hush.releasing.receipt import Receipt
from hush.tables.arrow import arrow, plain_numbers
from hush.tables.description import QueryDescription

__all__ = ["must_be_series", "packed", "series_of", "unpacked"]

_RELEASED = "released: "  # the start of the names of noisy columns in an answer that is kept


def must_be_series(times: Any, series: Any) -> int:
    """The number of releases, checked."""
    many = whole("times", times, 1, "write times=12 for twelve releases")
    if series is not None:
        text_of("series", series)
        if many == 1:
            raise InvalidParameter("series= names releases that are planned together; write times=12, or leave it out.")
    return many


def series_of(query: QueryDescription, epsilon: float, delta: float, times: int, name: str | None) -> str:
    """The name by which a ledger recognises the releases of a plan. A given name leaves the filters out, so that a
    filter for the month may change.
    """
    grouping = query.grouping
    facts = [
        [query.table.whose.words, list(grouping.names), repr(grouping.keys), query.sensitivity.groups],
        [[measure.name, measure.kind, measure.bounds_text] for measure in query.shown],
        [epsilon, delta, times],
        [name] if name is not None else [None, query.table.fingerprint, list(query.table.filters)],
    ]
    return hashlib.sha256(json.dumps(facts, sort_keys=True).encode("utf-8", "surrogatepass")).hexdigest()


def packed(keys: Any, released: Mapping[str, Any], receipt: Receipt) -> bytes:
    """Keys, noisy columns and receipt of an answer, as bytes. They hold released numbers only."""
    pa = arrow()
    columns = {name: keys.column(name) for name in keys.schema.names}
    columns |= {f"{_RELEASED}{name}": pa.array(column, pa.float64()) for name, column in released.items()}
    table = pa.table(columns).combine_chunks().replace_schema_metadata({"hush": receipt.to_json()})
    sink = pa.BufferOutputStream()
    with pa.ipc.new_stream(sink, table.schema) as writer:
        writer.write_table(table)
    return bytes(sink.getvalue())


def unpacked(content: bytes) -> tuple[Any, dict[str, Any], Receipt]:
    """What `packed` wrote."""
    pa = arrow()
    try:
        table = pa.ipc.open_stream(pa.py_buffer(content)).read_all().combine_chunks()
        receipt = Receipt.from_json(table.schema.metadata[b"hush"].decode("utf-8"))
    except (pa.ArrowException, KeyError, TypeError, ValueError) as failure:
        raise LedgerError("an answer that the ledger keeps cannot be read.") from failure
    names = table.schema.names
    released = {
        name.removeprefix(_RELEASED): plain_numbers(table.column(name)) for name in names if name.startswith(_RELEASED)
    }
    return table.select([name for name in names if not name.startswith(_RELEASED)]), released, receipt
