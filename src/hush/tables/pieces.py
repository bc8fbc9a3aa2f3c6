"""Pieces of the result: tables with the same columns that are added up by group."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from typing import Any

from hush.tables.bins import in_bin
from hush.tables.expression import as_int64, ibis
from hush.tables.measure import Prepared
from hush.tables.people_piece import PEOPLE, about

__all__ = ["Shape", "Slot", "added_up", "counted", "piece_of_pairs", "piece_of_rows", "spread", "sums_of"]


@dataclass(frozen=True)
class Slot:
    """The column of an aggregate's value, `kept`, and its integer columns c[start] ... c[end - 1]: totals, then
    bins.
    """

    kept: str | None
    start: int
    end: int


@dataclass(frozen=True)
class Shape:
    """What the steps after the pairs need to know: the keys, the limit of groups, and the columns of the result."""

    keys: list[str]
    groups: int
    measures: tuple[Prepared, ...]
    slots: list[Slot]
    #: is a person in one pair at most?
    alone: bool
    #: does the engine compute a table once that is used twice?
    reuses: bool
    #: (most groups, weight): what a person adds to each group; empty: 1
    ladder: Sequence[tuple[int, int]] = ()

    @property
    def names(self) -> list[str]:
        """The columns of a piece after its keys."""
        return [f"c{i}" for i in range(self.slots[-1].end)] + [f"f{i}" for i in self.fine_bits]

    @property
    def fine_bits(self) -> dict[int, int]:
        """The columns that also have fine steps, and the bits of these."""
        places = zip(self.measures, self.slots, strict=True)
        return {
            i: total.fine
            for measure, slot in places
            for i, total in enumerate(measure.totals, slot.start)
            if total.fine
        }


def sums_of(table: Any, names: list[str]) -> dict[str, Any]:
    """Each column added up, as int64; 0 where there is no row."""
    return {name: as_int64(ibis().coalesce(table[name].sum(), 0)) for name in names}


def counted(pairs: Any, shape: Shape) -> Any:
    """The pairs of the groups that count, with the weights of their people."""
    kept = pairs.filter(pairs["rank"] < shape.groups) if "rank" in pairs.columns else pairs
    if not shape.ladder:
        return kept
    weights = [as_int64(ibis().literal(weight)) for _, weight in shape.ladder]
    if shape.alone:  # a person has one group
        return kept.mutate(c0=kept["c0"] * weights[0])
    groups = kept.count().over(group_by="u")
    cases = [(groups <= most, weight) for (most, _), weight in zip(shape.ladder, weights, strict=True)]
    return kept.mutate(c0=kept["c0"] * ibis().cases(*cases, else_=weights[-1]))


def piece_of_pairs(pairs: Any, shape: Shape) -> Any:
    """Totals, and one column per bin. Pairs are first added up by (group, bin): the table is then small, and making
    its columns costs little.
    """
    bins = [name for name in pairs.columns if name.startswith("b")]
    totals = [name for name in pairs.columns if name.startswith(("c", "f"))]
    if not bins:
        return spread(pairs, {name: pairs[name] for name in totals}, shape)
    small = pairs.group_by(*shape.keys, *bins).aggregate(
        n=pairs.count(), **{name: as_int64(pairs[name].sum()) for name in totals}
    )
    columns = {name: small[name] for name in totals}
    for measure, slot in zip(shape.measures, shape.slots, strict=True):
        if f"b{slot.start}" in bins:
            columns |= columns_of_bins(small[f"b{slot.start}"], small["n"], measure, slot)
    return spread(small, columns, shape)


def piece_of_rows(rows: Any, measure: Prepared, slot: Slot, shape: Shape) -> Any:
    """The bins of a histogram of several rows per person, counted row by row."""
    kept = rows.filter(rows[slot.kept].notnull())
    if PEOPLE in shape.keys:
        kept = kept.mutate(**{PEOPLE: about(0)})
    small = kept.group_by(*shape.keys, bin=kept[slot.kept]).aggregate(n=kept.count())
    return spread(small, columns_of_bins(small["bin"], small["n"], measure, slot), shape)


def columns_of_bins(place: Any, count: Any, measure: Prepared, slot: Slot) -> dict[str, Any]:
    """One column per bin: the count where the row's bin is this one, else 0 (also where it is null)."""
    start = slot.end - measure.bins
    return {f"c{start + b}": in_bin(place, count, b) for b in range(measure.bins)}


def spread(table: Any, columns: dict[str, Any], shape: Shape) -> Any:
    """The keys and all columns; columns that this piece lacks are zero."""
    zero = ibis().literal(0, type="int64")
    return table.select(*shape.keys, **{name: columns.get(name, zero) for name in shape.names})


def added_up(pieces: list[Any], shape: Shape) -> Any:
    """One row per group. The union of the pieces is added up by group: that needs no join, and treats null keys like
    any other. Fine steps are rounded to whole steps last.
    """
    table = pieces[0] if len(pieces) == 1 else ibis().union(*pieces)
    bits, keys = shape.fine_bits, shape.keys
    names = [name for name in table.columns if name not in keys]
    sums = sums_of(table, names)
    added = table.group_by(*keys).aggregate(**sums) if keys else table.aggregate(**sums)
    if not bits:
        return added

    def rounded(i: int) -> Any:
        return added[f"c{i}"] + ((added[f"f{i}"] + (1 << bits[i] >> 1)) >> bits[i]) if i in bits else added[f"c{i}"]

    return added.select(*keys, **{f"c{i}": rounded(i) for i in range(shape.slots[-1].end)})
