"""One Ibis expression from rows to integer aggregates: the steps whose bound is proved in `hush.tables.bound`.

    rows      person, key columns, each distinct row value as int64, and the seeds of the keyed hashes
    kept      rows of at most l0 groups of each person
    sampled   for each value bounded per row: that value at no more than r rows of each (person, group), else null
    pairs     one row per (person, group): every total clamped, then split into whole steps and the rest; and the one
              bin of each histogram of one row per person
    result    one row per group: totals added up and rounded to whole steps, one column per bin

A histogram of several rows per person is counted from `sampled` instead, in a second pass over the rows.

Numbers about people, such as the effect of the limits, come from the same pairs: see `hush.tables.people_piece`.

The internal names of columns are u, g0 ..., v0 ..., w0 ..., rank (of a group among those of its person), c0 ... (whole
steps) and f0 ... (fine steps beyond them). So no name in a user's table can clash with an internal one.

Where each row is a person of its own, there is no column u: `kept` and `sampled` are all rows, and `pairs` has the
totals of each row, clamped.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import replace
from typing import Any

from hush.tables.bound import clamped, keep_groups, keep_pairs, keep_rows
from hush.tables.expression import compared, ibis
from hush.tables.group import Grouping
from hush.tables.keyed_hash import Keyed
from hush.tables.measure import Prepared, Total
from hush.tables.people_piece import PEOPLE, Beside, about, copied, keys_of_people, people_of, single
from hush.tables.pieces import Shape, Slot, added_up, counted, piece_of_pairs, piece_of_rows, spread, sums_of
from hush.tables.quantise import within_years
from hush.tables.unit import one_row

__all__ = ["ORDERS", "integer_aggregates", "limited_values"]

#: Which step comes first. "rank" is faster where a person has few rows in a group, "aggregate" where a person has many.
#: With the portable hash the result is the same.
ORDERS = ("rank", "aggregate")


def integer_aggregates(
    relation: Any,
    unit: str | None,
    grouping: Grouping,
    measures: tuple[Prepared, ...],
    keyed: Keyed,
    first: str = "rank",
    beside: Beside | None = None,
    *,
    reuses: bool = True,
    ladder: Sequence[tuple[int, int]] = (),
) -> Any:
    """The aggregates as an Ibis expression: g0 ... (the place of a public key, or the private keys), then c0 ... in
    the order of `measures`. `unit` is the column that identifies a person; None: each row is a person.

    With `beside` the expression also has the column p, and further columns c... about people (`people_piece`).
    `reuses`: does the engine compute a table once that the expression uses twice? `ladder` has the weight of a
    person by the number of groups.
    """
    slots, values, samples = shared_values(measures)
    rows = whole_rows(relation, unit, grouping, {**values, **(beside.rows if beside else {})})
    keys = [name for name in rows.columns if name.startswith("g")]
    shape = Shape(keys, grouping.groups, measures, slots, single(unit, keys, grouping.one_row), reuses, ladder)
    public, most = grouping.keys is not None, grouping.groups + (beside is not None)  # one more shows who has more
    if first == "aggregate" and grouping.must_rank and not samples:
        pairs = keep_pairs(pair_totals(rows, keys, measures, slots, beside), keys, most, keyed, public=public)
        return added_up(*pieces_of_pairs(pairs, shape, beside))
    merged = not samples and keyed.tells_apart(rows, keys, public=public)
    if grouping.must_rank:
        rows = keep_groups(rows, keys, most, keyed, public=public, merged=merged)
    if unit is None:  # one row of each person, so all of them are kept
        rows = rows.mutate(**{kept: rows[value] for (value, _), kept in samples.items()})
        samples = {}
    if samples:
        rows = rows.mutate(t=keyed.of([rows[name] for name in ("u", *keys)], "rows", nulls=not public))
    for (value, limit), kept in samples.items():
        rows = keep_rows(rows, keys, value, limit, keyed, kept)
    several = [
        (measure, slot) for measure, slot in zip(measures, slots, strict=True) if measure.bins and measure.rows != 1
    ]
    pieces: list[Any] = []
    if beside is not None or len(several) < len(measures):
        pairs = pair_totals(rows, keys, measures, slots, beside, merged=merged)
        pieces, shape = pieces_of_pairs(pairs, shape, beside)
    if several and "rank" in rows.columns:
        rows = rows.filter(rows["rank"] < grouping.groups)
    return added_up(pieces + [piece_of_rows(rows, measure, slot, shape) for measure, slot in several], shape)


def limited_values(relation: Any, unit: str | None, grouping: Grouping, measure: Prepared, keyed: Keyed) -> Any:
    """The rows with a value of one aggregate, within all limits: `g`, the place of their public group (0 without
    groups), and `w`, the value; and `x`, the number that it was made from, where comparing it is faster.
    """
    assert measure.rows is not None and measure.chosen is not None and grouping.keys is not None
    number = {} if measure.chosen.number is None else {"x": measure.chosen.number}
    rows = whole_rows(relation, unit, grouping, {"w": measure.value, **number})
    keys = [name for name in rows.columns if name.startswith("g")]
    if grouping.must_rank:
        rows = keep_groups(rows, keys, grouping.groups, keyed, public=True)
    if unit is not None and not grouping.one_row:
        rows = rows.mutate(t=keyed.of([rows[name] for name in ("u", *keys)], "rows", nulls=False))
        rows = keep_rows(rows, keys, "w", measure.rows, keyed, "w0")
        rows = rows.mutate(w=rows["w0"])
    rows = rows.filter(rows["w"].notnull())
    group = rows["g0"] if keys else ibis().literal(0, type="int64")
    return rows.select(g=group, w=rows["w"], **{name: rows[name] for name in number})


def pieces_of_pairs(pairs: Any, shape: Shape, beside: Beside | None) -> tuple[list[Any], Shape]:
    """The pieces that are made from pairs, and the columns of the result: those of groups, then those about people."""
    if beside is None:
        return [piece_of_pairs(counted(pairs, shape), shape)], shape
    ours, keys = [name for name in pairs.columns if name.startswith(("b", "c", "f"))], shape.keys
    names = [name for name in pairs.columns if name not in ("u", "rank", *keys, *ours)]
    kept = [] if shape.reuses and not shape.alone else [*keys, *ours, *(["rank"] if "rank" in pairs.columns else [])]
    people = people_of(pairs, names, shape.groups, alone=shape.alone, reuses=shape.reuses, kept=kept)
    numbers = people.select(*kept, *(["once"] if kept else []), **beside.people(people))
    measures = beside.measures(numbers)
    slots, values, _ = shared_values(measures, shape.slots[-1].end)
    held = [*kept, "once"] if kept else []
    totals = pair_totals(numbers.select(*held, **values), held, measures, slots)
    theirs = [name for name in totals.columns if name not in held]
    whole = replace(shape, keys=[PEOPLE, *keys], measures=shape.measures + measures, slots=shape.slots + slots)
    if not keys:  # a person is in one group, the only one: its row also holds the columns about people
        return [piece_of_pairs(totals.mutate(**{PEOPLE: about(0)}), whole)], whole
    if not shape.reuses:
        return [piece_of_pairs(copied(totals, keys, shape.groups, ours, theirs), whole)], whole
    # each piece is added up alone, because the union has many columns
    of_people = totals.aggregate(**sums_of(totals, theirs))
    of_people = of_people.mutate(**{PEOPLE: about(1)}, **keys_of_people(pairs, keys))
    groups = counted(pairs, shape).mutate(**{PEOPLE: about(0)})
    if not any(name.startswith("b") for name in ours):
        groups = groups.group_by(*whole.keys).aggregate(**sums_of(groups, ours))
    about_people = spread(of_people, {name: of_people[name] for name in theirs}, whole)
    return [piece_of_pairs(groups, whole), about_people], whole


def shared_values(
    measures: tuple[Prepared, ...], at: int = 0
) -> tuple[list[Slot], dict[str, Any], dict[tuple[str, int], str]]:
    """One column for each distinct value, and one sample for each distinct (value, number of rows). Integer columns
    are numbered from `at`.
    """
    slots: list[Slot] = []
    values: dict[str, Any] = {}
    samples: dict[tuple[str, int], str] = {}
    for measure in measures:
        start = slots[-1].end if slots else at
        kept = None
        if measure.value is not None:
            same = [name for name, column in values.items() if column.equals(measure.value)]
            kept = same[0] if same else f"v{len(values)}"
            values[kept] = measure.value
            if measure.rows is not None:
                kept = samples.setdefault((kept, measure.rows), f"w{len(samples)}")
        slots.append(Slot(kept, start, start + len(measure.totals) + measure.bins))
    return slots, values, samples


def whole_rows(relation: Any, unit: str | None, grouping: Grouping, values: dict[str, Any]) -> Any:
    """Rows that have a person and a wanted group, as whole numbers. From here on text is compared by its bytes."""
    raw = {f"k{i}": within_years(compared(relation[name])) for i, name in enumerate(grouping.names)}
    person = {} if unit is None else {"u": compared(relation[unit])}
    constants = {} if person or raw or values else {"v": ibis().literal(0)}  # a table needs at least one column
    rows = relation.select(**person, **raw, **values, **constants)
    if person:
        rows = rows.filter(rows["u"].notnull())
    if grouping.keys is None:
        return rows.rename({f"g{i}": f"k{i}" for i in range(len(raw))})
    return grouping.place(rows) if grouping.names else rows


def pair_totals(
    rows: Any,
    keys: list[str],
    measures: tuple[Prepared, ...],
    slots: list[Slot],
    beside: Beside | None = None,
    *,
    merged: bool = False,
) -> Any:
    """One row per (person, group): every total clamped to its bound, and `b...`, the bin of the one row that is
    kept. Without a column u, each row is a person, and its totals are those of that row. The rank of the group and the
    columns of `beside` come along. With `merged` a pair is the rows of a rank, and its group the least of their keys.
    """
    sums, totals = {}, {}
    for measure, slot in zip(measures, slots, strict=True):
        for i, total in enumerate(measure.totals, slot.start):
            sums[f"c{i}"] = total.sum_over(rows, rows[slot.kept] if slot.kept else None)
            totals[i] = total
        if measure.bins and measure.rows == 1:
            sums[f"b{slot.start}"] = rows[slot.kept].max()
    if beside is not None:
        sums |= beside.pairs(rows, [slot.kept for slot in slots])
    if "u" in rows.columns:
        pairs = grouped_by_pair(rows, keys, sums, merged=merged)
    else:
        pairs = rows.select(*keys, **{name: one_row(total) for name, total in sums.items()})
    named = [name for name in pairs.columns if name not in {f"c{i}" for i in totals}]
    inside = pairs.select(*named, **{f"c{i}": clamped(pairs[f"c{i}"], t.low, t.high) for i, t in totals.items()})
    return inside.select(
        *named, **{name: part for i, t in totals.items() for name, part in in_steps(inside, i, t).items()}
    )


def grouped_by_pair(rows: Any, keys: list[str], sums: dict[str, Any], *, merged: bool) -> Any:
    """The grouping by person and group, with the rank of the group, where groups are ranked."""
    if "rank" not in rows.columns:
        return rows.group_by("u", *keys).aggregate(**sums)
    if not merged:
        return rows.group_by("u", *keys).aggregate(rank=rows["rank"].min(), **sums)  # one rank in all rows of a pair
    pairs = rows.group_by("u", "rank").aggregate(**{name: rows[name].min() for name in keys}, **sums)
    return pairs.mutate(**{name: compared(pairs[name]) for name in keys})


def in_steps(pairs: Any, i: int, total: Total) -> dict[str, Any]:
    """A total as whole steps, c, and the fine steps beyond them, f: the total is c 2^fine + f. Only numbers that are
    not negative are shifted.
    """
    column, lowest = pairs[f"c{i}"], total.low >> total.fine
    if not total.fine:
        return {f"c{i}": column}
    above = column - (lowest << total.fine)
    return {f"c{i}": (above >> total.fine) + lowest, f"f{i}": above & ((1 << total.fine) - 1)}
