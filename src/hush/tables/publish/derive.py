"""Totals, shares, ratios and differences of the numbers of an answer, each with an interval at the level it states.

The weights of every number in a sum of noises are known, and so is which noises share a draw. `Layout.half_width` finds
the width from that.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import replace
from typing import Any

import numpy as np
from numpy.typing import NDArray

from hush.errors import InvalidParameter, Unsupported, must_be_level, shown
from hush.numerics.rounding import next_up
from hush.tables.arrow import arrow
from hush.tables.noise_sum import MOST_LEVEL
from hush.tables.output import whole_numbers
from hush.tables.publish.basis import BOUND, Basis, Figure
from hush.tables.publish.quotient import Node, accepted, ratio_path, share_path

__all__ = ["changed", "difference", "ratio", "share", "total"]

Array = NDArray[np.float64]
#: The largest level of shares and ratios: their intervals use smaller probabilities.
MOST_OF_QUOTIENTS = 0.999_999_9


def total(answer: Any, name: str, by: Any, level: float | None) -> Any:
    """The sum of a column over the groups: one figure, or one for each value of some of the keys."""
    basis, level = _basis(answer, "total"), _level(answer, level)
    form = basis.form(name, "total")
    weights, values = basis.layout.weights(form), basis.value(form, answer.released)
    sizes, places = _parts(answer, basis, by, "total")
    sums = _sums(values, places, len(sizes))
    widths = {n: basis.width([(weights, n)], n * form.rounded, level) for n in {int(n) for n in sizes}}
    half = np.array([widths[int(n)].half for n in sizes])
    notes = [*basis.several(name), *([] if all(w.by_law for w in widths.values()) else [BOUND])]
    if by is None:
        notes = [f"total of {name}", *basis.where(len(answer)), *notes]
        return _figure(float(sums[0]), float(half[0]), form.whole, level, notes)
    kept = answer.to_arrow().select(_listed(by)).take(arrow().array([list(places).index(i) for i in range(len(sizes))]))
    made = (sums, sums - half, sums + half)
    return changed(
        answer, kept, {f"{name}_total": whole_numbers(*made) if form.whole else made}, level,
        [f"total of {name} for each {', '.join(_listed(by))}", *basis.where(len(answer)), *notes],
    )  # fmt: skip


def share(answer: Any, name: str, by: Any, level: float | None) -> Any:
    """Each group's share of the total of a column, from 0 to 1."""
    basis, level = _basis(answer, "share"), _level(answer, level, MOST_OF_QUOTIENTS)
    form = basis.share_form(name)
    weights, values, unit = basis.layout.weights(form), basis.value(form, answer.released), basis.layout.unit(form)
    sizes, places = _parts(answer, basis, by, "share")
    sums = _sums(values, places, len(sizes))
    low, high, by_law = np.zeros(values.size), np.zeros(values.size), []
    for n in sorted({int(n) for n in sizes}):
        chosen = np.flatnonzero(np.isin(places, np.flatnonzero(sizes == n)))

        def width(node: Node, missed: float, n: int = n) -> float:
            q, p = node
            rows = [(weights * (q - p) / unit, 1), (-weights * p / unit, n - 1)]
            rounded = (abs(q - p) + (n - 1) * abs(p)) * form.rounded / unit
            found = basis.width(rows, rounded, _but(missed))
            by_law.append(found.by_law)
            return found.half

        pair = values[chosen] / unit, sums[places[chosen]] / unit
        low[chosen], high[chosen] = accepted(*pair, share_path(), width, 1.0 - level)
    notes = [f"share of {name} in the total", *basis.where(len(answer)), *basis.several(name)]
    made = {f"{name}_share": _quotients(values, sums[places], low, high)}
    keys = answer.to_arrow().select(list(basis.keys))
    return changed(answer, keys, made, level, [*notes, *([] if all(by_law) else [BOUND])])


def ratio(answer: Any, top: str, bottom: str, level: float | None) -> Any:
    """One column divided by another one, in each group."""
    basis, level = _basis(answer, "ratio"), _level(answer, level, MOST_OF_QUOTIENTS)
    forms = [basis.form(name, "ratio") for name in (top, bottom)]
    if top == bottom:
        raise InvalidParameter(f"ratio needs two columns, got {shown(top)} twice.")
    units = [basis.layout.unit(form) for form in forms]
    a, b = (basis.value(form, answer.released) / unit for form, unit in zip(forms, units, strict=True))
    above, below = (basis.layout.weights(form) / unit for form, unit in zip(forms, units, strict=True))
    by_law = []

    def width(node: Node, missed: float) -> float:
        q, p = node
        rounded = sum(abs(n) * form.rounded / unit for n, form, unit in zip(node, forms, units, strict=True))
        found = basis.width([(q * above - p * below, 1)], rounded, _but(missed))
        by_law.append(found.by_law)
        return found.half

    low, high = accepted(a, b, ratio_path(any(form.signed for form in forms)), width, 1.0 - level)
    scale = units[0] / units[1]
    made = {f"{top}_per_{bottom}": _quotients(a * scale, b, low * scale, high * scale)}
    keys = answer.to_arrow().select(list(basis.keys))
    return changed(answer, keys, made, level, [f"{top} divided by {bottom}", *([] if all(by_law) else [BOUND])])


def difference(answer: Any, name: str, other: str | None, between: Any, level: float | None) -> Any:
    """One column less another one in each group, or one column in one group less that in another group."""
    basis, level = _basis(answer, "difference"), _level(answer, level)
    if (other is None) == (between is None):
        raise InvalidParameter(
            "difference needs a second column or two groups; write difference('visits', 'people'), or "
            "difference('people', between=('surgery', 'burns'))."
        )
    form = basis.form(name, "difference")
    weights, values = basis.layout.weights(form), basis.value(form, answer.released)
    if other is None:
        one, two = _two_groups(answer, basis, between)
        width = basis.width([(weights, 1), (-weights, 1)], 2.0 * form.rounded, level)
        notes = [
            f"{name} in {_named(between[0])} less {name} in {_named(between[1])}",
            *([] if width.by_law else [BOUND]),
        ]
        return _figure(float(values[one] - values[two]), width.half, form.whole, level, notes)
    second = basis.form(other, "difference")
    width = basis.width([(weights - basis.layout.weights(second), 1)], form.rounded + second.rounded, level)
    gap, whole = values - basis.value(second, answer.released), form.whole and second.whole
    ends = (gap, gap - width.half, gap + width.half)
    made = {f"{name}_less_{other}": whole_numbers(*ends) if whole else ends}
    keys = answer.to_arrow().select(list(basis.keys))
    return changed(answer, keys, made, level, [f"{name} less {other}", *([] if width.by_law else [BOUND])])


def changed(answer: Any, keys: Any, columns: dict[str, Any], level: float, notes: Sequence[str]) -> Any:
    """The answer with other columns, made from released numbers; its receipt says how."""
    table = keys
    for name, cells in columns.items():
        for ending, cell in zip(("", "_low", "_high"), cells, strict=True):
            if f"{name}{ending}" in table.column_names:
                raise InvalidParameter(f"the result would have the column {shown(name + ending)} twice; rename a key.")
            table = table.append_column(f"{name}{ending}", _as_column(cell))
    done = [*answer.receipt.get("post_processing", []), "; ".join(notes)]
    receipt = answer.receipt | {"post_processing": done, "level": level, "together": False}
    return replace(answer, table=table, names=tuple(columns), receipt=receipt, basis=None)


def _as_column(cell: Any) -> Any:
    plain = np.asarray(cell)
    return arrow().array(plain, mask=np.isnan(plain) if plain.dtype.kind == "f" else None)


def _but(missed: float) -> float:
    """The level with this probability of a miss, rounded up."""
    return next_up(1.0 - missed)


def _sums(values: Array, places: NDArray[np.int64], parts: int) -> Array:
    """The sum of each part."""
    return np.asarray(np.bincount(places, weights=values, minlength=parts), dtype=np.float64)


def _quotients(top: Array, bottom: Array, low: Array, high: Array) -> tuple[Array, Array, Array]:
    """Each quotient inside its interval; unknown where the denominator is not positive."""
    with np.errstate(divide="ignore", invalid="ignore"):
        value = np.where(bottom > 0.0, np.clip(top / bottom, low, high), np.nan)
    return value, low, high


def _figure(value: float, half: float, whole: bool, level: float, notes: Sequence[str]) -> Figure:
    if not whole:
        return Figure(value, value - half, value + half, level, tuple(notes))
    near, low, high = (int(end) for end in whole_numbers(*(np.array(x) for x in (value, value - half, value + half))))
    return Figure(near, low, high, level, tuple(notes))


# -- checks --------------------------------------------------------------------------------------------------


def _basis(answer: Any, what: str) -> Basis:
    if answer.basis is None:
        raise Unsupported(
            f"{what} is made from the numbers of an answer, and these were made from one already; call {what} on the "
            "answer itself."
        )
    found: Basis = answer.basis
    return found


def _level(answer: Any, level: float | None, most: float = MOST_LEVEL) -> float:
    return must_be_level(float(answer.receipt["level"]) if level is None else level, most)


def _listed(by: Any) -> list[str]:
    return [by] if isinstance(by, str) else list(by)


def _parts(answer: Any, basis: Basis, by: Any, what: str) -> tuple[NDArray[np.int64], NDArray[np.int64]]:
    """How many groups each part has, and the part of each group; without `by` all groups are one part."""
    if by is None:
        return np.array([len(answer)]), np.zeros(len(answer), dtype=np.int64)
    names = _listed(by)
    basis.must_be_keys(names, what)
    rows = zip(*(answer.to_arrow().column(name).to_pylist() for name in names), strict=True)
    seen: dict[Any, int] = {}
    places = np.array([seen.setdefault(row, len(seen)) for row in rows], dtype=np.int64)
    return np.bincount(places, minlength=len(seen)), places


def _two_groups(answer: Any, basis: Basis, between: Any) -> tuple[int, int]:
    """The places of the two groups of a difference."""
    if isinstance(between, str) or not isinstance(between, Sequence) or len(between) != 2:
        raise InvalidParameter(f"between needs two groups such as ('surgery', 'burns'), got {shown(between)}.")
    columns = [answer.to_arrow().column(name).to_pylist() for name in basis.keys]
    known = {row: place for place, row in enumerate(zip(*columns, strict=True))}
    found = []
    for group in between:
        key = tuple(group) if isinstance(group, tuple | list) else (group,)
        if key not in known:
            raise InvalidParameter(f"difference: the answer has no group {_named(group)}; {_some_groups(list(known))}.")
        found.append(known[key])
    if found[0] == found[1]:
        raise InvalidParameter(f"difference needs two groups, got {_named(between[0])} twice.")
    return found[0], found[1]


def _named(group: Any) -> str:
    return ", ".join(map(repr, group)) if isinstance(group, tuple | list) else repr(group)


def _some_groups(known: list[tuple[Any, ...]]) -> str:
    """The first groups of an answer, in words."""
    names = ", ".join(_named(key[0] if len(key) == 1 else key) for key in known[:5])
    return f"its groups are {names}{', ...' * (len(known) > 5)}" if names else "it has no groups"
