"""Copies of an answer in another form: without negative numbers, and as a long table."""

from __future__ import annotations

from collections.abc import Iterable, Sequence
from dataclasses import replace
from typing import Any

from hush.errors import InvalidParameter, Unsupported, shown
from hush.tables.arrow import arrow
from hush.tables.publish.basis import Basis, Bin

__all__ = ["beside", "long_table", "must_suit_long", "non_negative"]

_LONG = ("aggregate", "bin", "from", "to", "value", "low", "high")  # columns of the long form


def non_negative(answer: Any, names: tuple[str, ...]) -> Any:
    """The answer with 0 in the place of negative numbers: in the named columns, or in all that cannot be negative."""
    if answer.basis is None:
        raise Unsupported("non_negative() is for the numbers of an answer; call it on the answer itself.")
    basis: Basis = answer.basis
    for name in names:
        if basis.form(name, "non_negative").signed:
            raise InvalidParameter(
                f"non_negative: {shown(name)} may be negative without noise, so 0 would be wrong; leave it out."
            )
    chosen = names or tuple(name for name, form in basis.forms.items() if not form.signed)
    table, pc = answer.to_arrow(), arrow().compute
    for name in (f"{one}{end}" for one in chosen for end in ("", "_low", "_high")):
        place, column = table.column_names.index(name), table.column(name)
        zero = arrow().scalar(0, column.type)
        table = table.set_column(place, name, pc.if_else(pc.less(column, zero), zero, column))
    text = f"negative numbers of {', '.join(chosen)} are shown as 0, which makes the average of many too high"
    done = [*answer.receipt.get("post_processing", []), text]
    return replace(answer, table=table, receipt=answer.receipt | {"post_processing": done})


def long_table(answer: Any, name: str | None) -> Any:
    """One row for each group and number: keys, aggregate, bin and its edges, value, low, high."""
    table, bins = answer.to_arrow(), answer.basis.bins if answer.basis is not None else {}
    chosen = [one for one in answer.names if name in (None, one, bins[one].histogram if one in bins else one)]
    if not chosen:
        known = dict.fromkeys(bins[one].histogram if one in bins else one for one in answer.names)
        raise InvalidParameter(f"long: the answer has no column {shown(name)}; it has {', '.join(known)}.")
    ends = {f"{one}{end}" for one in answer.names for end in ("", "_low", "_high")}
    keys = [key for key in table.column_names if key not in ends]
    labels = [bins.get(one, Bin(one, "")) for one in chosen]
    columns = _labels(labels, named=name is None)
    must_suit_long(keys)
    rows = range(table.num_rows)
    pa = arrow()
    made = {key: table.column(key).take(pa.array([i for i in rows for _ in chosen], pa.int64())) for key in keys}
    made |= {word: pa.array([cell for _ in rows for cell in cells]) for word, cells in columns.items()}
    for word, end in (("value", ""), ("low", "_low"), ("high", "_high")):
        each = [table.column(f"{one}{end}").to_pylist() for one in chosen]
        kinds = {table.schema.field(f"{one}{end}").type for one in chosen}
        kind = kinds.pop() if len(kinds) == 1 else pa.float64()
        made[word] = pa.array([column[i] for i in rows for column in each], kind)
    return replace(answer, table=pa.table(made), names=("value",), basis=None, long_form=True)


def must_suit_long(keys: Iterable[str]) -> None:
    """Refuse keys with the name of a column of the long form."""
    for word in keys:
        if word in _LONG:
            raise InvalidParameter(
                f"long: the key {shown(word)} has the name of a column of the long form; rename the key."
            )


def beside(answer: Any, others: Sequence[Any], notes: Sequence[str] = ()) -> Any:
    """The answer with the numbers of others that were made from it, such as shares, and notes in its receipt."""
    table, names = answer.to_arrow(), list(answer.names)
    done = list(answer.receipt.get("post_processing", []))
    for other in others:
        for name in other.names:
            if name in names:
                continue
            names.append(name)
            for column in (name, f"{name}_low", f"{name}_high"):
                if column in table.column_names:
                    raise InvalidParameter(
                        f"the answer has a column {shown(column)} already; rename an aggregate or a key."
                    )
                table = table.append_column(column, other.to_arrow().column(column))
        done += _new_parts(other.receipt["post_processing"], done)
    done += _new_parts(notes, done)
    receipt = answer.receipt | {"post_processing": done} if done else answer.receipt
    return replace(answer, table=table, names=tuple(names), receipt=receipt)


def _new_parts(texts: Sequence[str], done: Sequence[str]) -> list[str]:
    """Texts without the cautions that earlier ones have: the first part of a text says what it is about, and stays."""
    said = {part for text in done for part in text.split("; ")[1:]}
    found = []
    for text in (text for text in texts if text not in done):
        first, *cautions = text.split("; ")
        found.append("; ".join([first, *(part for part in cautions if part not in said)]))
        said |= set(cautions)
    return found


def _labels(labels: list[Bin], *, named: bool) -> dict[str, list[Any]]:
    """The columns that say which number a row is: its aggregate, and the bin of a histogram."""
    found: dict[str, list[Any]] = {"aggregate": [one.histogram for one in labels]} if named else {}
    if any(one.text for one in labels):
        found["bin"] = [one.text or None for one in labels]
    if any(one.first is not None for one in labels):
        numeric = all(
            isinstance(edge, int | float) for one in labels for edge in (one.first, one.last) if edge is not None
        )
        found["from"], found["to"] = (
            [None if edge is None else float(edge) if numeric else str(edge) for edge in edges]
            for edges in ([one.first for one in labels], [one.last for one in labels])
        )
    return found
