"""Counts of people with intervals that also hold what the limit on groups leaves out.

A person who is in more groups than the limit counts in some of them only. So the number of people of a group, without
the limit, exceeds the bounded number by at most the number B of people who are in too many groups. With each answer an
upper bound on B is measured privately (`hush.tables.left_out`). Let three events have a probability of at most a third
of 1 - level each: the interval of the bounded count misses it, the number of all people is above its upper end, and the
share of people in too many groups is above its upper end. If none of them happens, the number without the limit lies in
[low, high + B]. No assumption about the groups is needed.
"""

from __future__ import annotations

from dataclasses import replace
from typing import Any

from hush.errors import InvalidParameter, Unsupported
from hush.tables.arrow import arrow, plain_numbers
from hush.tables.output import whole_numbers
from hush.tables.publish.basis import Basis, Figure

__all__ = ["bias", "unlimited"]


def bias(answer: Any) -> Figure | None:
    """How many people a group may lack because of the limit on groups, from 0 to an upper bound; None if unknown."""
    found = answer.receipt.get("left_out")
    if found is None:
        return None
    beyond = found.get("beyond")
    level = float(answer.receipt["level"])
    if beyond is None:  # the limit leaves nobody out
        return Figure(0, 0, 0, level, ("no group lacks anybody",))
    most = int(beyond["people"])
    estimate = min(max(round(found["people"][0] * found["shares"][0]["share"]), 0), most)
    return Figure(estimate, 0, most, level, ("people in more groups than the limit: a group lacks at most these",))


def unlimited(answer: Any) -> Any:
    """A copy whose intervals of numbers of people hold at the answer's level for the numbers without the limit."""
    basis: Basis | None = answer.basis
    if basis is None:
        raise Unsupported("unlimited() is for the numbers of an answer; call it on the answer itself.")
    if not basis.people:
        raise InvalidParameter("unlimited: the answer has no number of people; ask for tables.count_units().")
    if answer.receipt.get("together"):
        raise Unsupported("unlimited: the intervals of this answer hold together; ask without together=True.")
    found = answer.receipt.get("left_out")
    if found is None:
        raise InvalidParameter(
            "unlimited: how much the limits leave out was not measured; plan the query with limits_share=0.03."
        )
    beyond = found.get("beyond", {"people": 0, "level": float(answer.receipt["level"])})
    table, names = answer.to_arrow(), sorted(basis.people & set(answer.names))
    for name in names:
        form = basis.form(name, "unlimited")
        values = basis.value(form, answer.released)
        low, high = _ends(basis, name, form, values, beyond["level"], answer.released)
        ends = whole_numbers(values, low, high + beyond["people"])[1:]
        for ending, end in zip(("_low", "_high"), ends, strict=True):
            place = table.column_names.index(f"{name}{ending}")
            table = table.set_column(place, f"{name}{ending}", arrow().array(end))
    text = f"the intervals of {', '.join(names)} also hold people whom the limit on groups leaves out"
    done = [*answer.receipt.get("post_processing", []), text]
    return replace(answer, table=table, receipt=answer.receipt | {"post_processing": done})


def _ends(basis: Basis, name: str, form: Any, values: Any, level: float, released: Any) -> tuple[Any, Any]:
    """The interval of a number of people at a level; of the number that decides which groups are shown, among those."""
    gate = basis.gate
    if gate is not None and gate.column == name and (shown := gate.at(level)) is not None:
        return shown({name: plain_numbers(released.column(name))})
    half = basis.width([(basis.layout.weights(form), 1)], form.rounded, level).half
    return values - half, values + half
