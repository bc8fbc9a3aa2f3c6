"""The answers of queries as a ledger keeps them, and the names of releases that are planned together."""

from __future__ import annotations

import hashlib
import json
from collections.abc import Mapping, Sequence
from dataclasses import replace
from typing import Any

import numpy as np

from hush.errors import InvalidParameter, LedgerError, shown, whole
from hush.ledger.entry import printable, text_of
from hush.ledger.kept import KeptAnswer, arrow_bytes, arrow_table
from hush.ledger.payment import Payment
from hush.privacy.charge import Charge
from hush.releasing.receipt import Receipt
from hush.tables.answer import Answer
from hush.tables.arrow import arrow, number_column, plain_numbers
from hush.tables.description import QueryDescription
from hush.tables.question import question_digest

__all__ = ["Kept", "kept_release", "must_be_same_noise", "must_be_series", "packed", "series_of", "unpacked"]

#: Keys, noisy columns and receipt of an answer.
Kept = tuple[Any, dict[str, Any], Receipt]

_NUMBERS = "numbers"  # the part of an answer that it was made from
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
    asked = question_digest(query, filters=name is None)
    facts = [asked, [epsilon, delta, times], [name] if name is not None else [None, query.table.fingerprint]]
    return hashlib.sha256(json.dumps(facts).encode("utf-8", "surrogatepass")).hexdigest()


def packed(made: Answer, keys: Any, released: Mapping[str, Any], receipt: Receipt) -> bytes:
    """An answer as a ledger keeps it: as it prints, its table, and the keys and noisy columns that it was made from.
    They hold released numbers only.
    """
    pa = arrow()
    columns = {name: keys.column(name) for name in keys.schema.names}
    columns |= {
        f"{_RELEASED}{name}": number_column(np.asarray(column, dtype=np.float64)) for name, column in released.items()
    }
    kept = made.to_kept()
    numbers = {**kept.numbers, "made from": dict(receipt)}
    return replace(kept, numbers=numbers, parts={**kept.parts, _NUMBERS: arrow_bytes(pa.table(columns))}).to_bytes()


def kept_release(payment: Payment, charge: Charge, query: QueryDescription) -> Kept:
    """The answer of a release that was made before; its receipt says so. Options and filters must be those with which
    it was made.
    """
    entry = payment.entry
    assert entry is not None and entry.turn is not None and payment.kept is not None
    turn = entry.turn
    if charge not in entry.charges:
        raise InvalidParameter(
            f"release {turn.release} was made with other noise; ask with the options it was made with."
        )
    keys, released, receipt = unpacked(payment.kept)
    made, file = f"release {turn.release} of {turn.times} was made on {entry.time[:10]}", query.table.file
    of, label = receipt.get("file", ""), printable(entry.label)
    if of and file and of != file:
        named = f", with the label {shown(label)}" if label and label != of else ""
        raise InvalidParameter(
            f"{made} of the file {shown(of)}{named}, and this is the file {shown(file)}: ask for another release, or "
            f"with the file {shown(of)}. Nothing was spent."
        )
    if receipt["question"] != question_digest(query):
        texts = [printable(text) for text in receipt["filters"]]
        rows = f"where {' and '.join(texts)}" if texts else "without a filter"
        raise InvalidParameter(f"{made} with other filters ({rows}); ask for another release, or with those filters.")
    words = f"{made}{f' of {of}' if of else ''}; the {'file' if file else 'table'} was not read"
    return keys, released, receipt | {"kept": words}


def must_be_same_noise(payment: Payment, asked: Sequence[Charge]) -> None:
    """Reject a release that was charged before for other noise: only what was charged may be drawn."""
    entry = payment.entry
    if payment.kept is None and entry is not None and entry.turn is not None and payment.charges != tuple(asked):
        raise InvalidParameter(
            f"release {entry.turn.release} of {entry.turn.times} was charged on {entry.time[:10]} with other noise, "
            "and no answer of it was kept; ask with the options of that call. Nothing more was spent."
        )


def unpacked(content: bytes | None) -> Kept:
    """The keys, the noisy columns and the receipt that `packed` wrote."""
    held = KeptAnswer.from_bytes(content)
    try:
        table, receipt = arrow_table(held.parts[_NUMBERS]), Receipt(held.numbers["made from"])
    except (KeyError, TypeError, ValueError) as failure:
        raise LedgerError("an answer that the ledger keeps cannot be read.") from failure
    names = table.schema.names
    released = {
        name.removeprefix(_RELEASED): plain_numbers(table.column(name)) for name in names if name.startswith(_RELEASED)
    }
    return table.select([name for name in names if not name.startswith(_RELEASED)]), released, receipt
