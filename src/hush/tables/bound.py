"""The bound on one person's contribution: at most `groups` groups, and in each group the bound of each aggregate.

Claim. Fix the salt. Let f(D) be the table of integer aggregates of a data set D, and let D' be D with all rows of one
person u added or removed. Then f(D) and f(D') differ in at most `groups` groups. In each of them a total differs by at
most max(|low|, |high|) of its clamp, rounded up to whole steps, and a histogram of at most r rows differs by at most r
in all, in at most r bins.

Proof. The rows that carry the unit of a person are a function of the source rows of this person and of public tables:
`hush.tables.ownership` proves this for filters, computed columns, joins and tables of one row per person, and
`hush.tables.per_person` computes them as functions of the person's multiset of rows. Every step after that is a
function of one row (null units dropped, quantising, the join with the public keys), or of the rows of one person: both
windows are partitioned by the person, their order is made from the person's values and the salt, and the first grouping
is by (person, group). Hence the table of (person, group) totals of D is the disjoint union over persons w of T(w),
where T(w) depends on the rows of w and the salt only: other persons do not influence which rows of w are kept. So the
tables of D and D' differ only in T(u).
- Groups: kept rows have dense_rank < groups among the distinct (hash, group) of the person, so they have at most
  `groups` distinct groups. The group is part of the order, so it breaks ties of the hash. Where the table has one row
  per person, by construction (a grouping by the unit alone), a person is in one group without this step.
  With `merged` the order is the hash alone, and a pair is the rows of one (person, rank), so there are at most `groups`
  pairs. The group of a pair is the least key of its rows (null is the greatest). All rows of a key have one hash and so
  one rank: the keys of two ranks are disjoint sets, and their least elements differ. So a person still has one pair in
  a group at most. Rows of two groups with equal hashes, which are rare, are counted in one of them.
- Totals: each entry of T(u) is clamped to [low, high] fine steps, or 0 where the person has no value there. The
  entries of a group are added up, so their sum A moves by one entry t of T(u). The sum is then rounded to whole steps
  of p = 2^fine fine steps: r(A) = floor(A/p + 1/2). r never decreases, and r(A + k p) = r(A) + k for whole k. t lies
  between p floor(low/p) and p ceil(high/p), so r(A + t) - r(A) lies between these two whole numbers. (Engines add up
  whole steps C and the rest F separately, so that both fit 64 bits: A = p C + F and r(A) = C + floor(F/p + 1/2).)
- Histograms: `keep_rows` leaves at most r rows of (u, group); each adds 1 to one bin.
- Numbers about people (`hush.tables.people_piece`): the numbers of a person are made from the pairs of this person, at
  most one more than `groups` of them, and added up over people. Their sums are clamped totals like all others. They
  share the salt with the groups. The claim holds for each fixed salt, so it holds for both together.
- Rows with a null unit belong to nobody and are dropped: they influence nothing. (An error would reveal that there is
  such a row.)   QED

Each row its own person (`hush.tables.unit.each_row`). D' is D with one row added or removed. T(w) is then made from the
row w alone: its totals are clamped, it is in at most one group, and it is in at most one bin of a histogram. Nothing
is ranked or sampled, so no number of a row and no hash is used. The claim holds with groups = 1 and r = 1.

A unit of several columns is one text for each combination of values (`hush.tables.unit`), computed from one row.

Two rows belong to the same person if the engine finds their units equal. The engine compares text by its bytes
(`expression.by_bytes`), whatever collation a column has: otherwise a group of several spellings would be shown with
the spelling of one person. The proof assumes nothing about the hash. Its evenness matters for accuracy only: it
decides which groups and rows of a person with many rows are kept.
"""

from __future__ import annotations

from typing import Any

from hush.tables.expression import as_int64, ibis
from hush.tables.keyed_hash import Keyed

#: One more than the largest place of a public key.
PLACES = 2**31

__all__ = ["clamped", "keep_groups", "keep_pairs", "keep_rows"]


def keep_groups(rows: Any, keys: list[str], groups: int, keyed: Keyed, *, public: bool, merged: bool = False) -> Any:
    """The rows of at most `groups` groups of each person, chosen by the keyed hash of person and group. The column
    `rank` is the place of the group among them, from 0.

    All rows of a (person, group) share a rank, so ranking rows keeps the same pairs as ranking pairs, without a
    grouping before it. The rank is a column that an outer query filters: DuckDB turns `dense_rank() <= k` into arg_min,
    which is five times slower.

    A public group is given by its place in the list, a number below 2^31. Hash and place then fit in one number, which
    sorts faster than two and carries the group through the sort.

    With `merged` groups are ranked by a hash of 63 bits alone, because text is slow to sort. Groups of a person with
    equal hashes then have one rank, and the caller makes one pair of them.
    """
    if merged:
        hashed = rows.mutate(s=keyed.wide([rows[name] for name in ("u", *keys)], "groups"))
        ranked = hashed.mutate(rank=ibis().dense_rank().over(group_by="u", order_by="s"))
        return ranked.filter(ranked["rank"] < groups).drop("s")
    hashed = keyed.of([rows[name] for name in ("u", *keys)], "groups", nulls=not public)
    others = [name for name in rows.columns if name not in keys]
    if public:
        packed = rows.select(*others, s=(hashed >> 1) * PLACES + rows["g0"])
        ranked = packed.mutate(rank=ibis().dense_rank().over(group_by="u", order_by="s"))
        # a row without a place belongs to no group, so it is in no answer
        ranked = ranked.filter((ranked["rank"] < groups) & ranked["s"].notnull())
        return ranked.select(*others, "rank", g0=lambda kept: kept["s"] & (PLACES - 1))
    rows = rows.mutate(s=(hashed >> 1).cast("int32"))  # four bytes less to sort
    ranked = rows.mutate(rank=ibis().dense_rank().over(group_by="u", order_by=["s", *keys]))
    return ranked.filter(ranked["rank"] < groups).drop("s")


def keep_pairs(pairs: Any, keys: list[str], groups: int, keyed: Keyed, *, public: bool) -> Any:
    """The same choice among pairs that are summed up already: faster where a pair has many rows."""
    hashed = keyed.of([pairs[name] for name in ("u", *keys)], "groups", nulls=not public)
    pairs = pairs.mutate(s=hashed >> 1)  # the same 31 bits as in `keep_groups`
    ranked = pairs.mutate(rank=ibis().row_number().over(group_by="u", order_by=["s", *keys]))
    return ranked.filter(ranked["rank"] < groups).drop("s")


def keep_rows(rows: Any, keys: list[str], column: str, most: int, keyed: Keyed, kept: str) -> Any:
    """Add a column `kept`: `column` at no more than `most` rows of each (person, group), null elsewhere.

    The n rows that have a value are sorted by value, p = 0 ... n - 1. Row p is kept if (p * most + o) mod n < most,
    where o in [0, n) comes from the keyed hash `t` of person and group. For n > most the points p * most + o step once
    round a cycle of length n * most, and each of its windows [k * n, k * n + most) holds exactly one of them. So
    exactly min(most, n) rows are kept, each with probability most / n, spread evenly over the person's values (a
    systematic sample, which varies less than an independent one). Equal values are interchangeable, so the result is a
    function of the person's multiset of values.
    """
    value, parts = rows[column], ["u", *keys]
    place = ibis().row_number().over(group_by=parts, order_by=value.asc(nulls_first=False))
    placed = rows.mutate(p=place, n=ibis().greatest(value.count().over(group_by=parts), 1))
    spread = (placed["p"] * most + keyed.below(placed["t"], placed["n"])) % placed["n"]
    chosen = placed[column].notnull() & (spread < most)
    return placed.mutate(**{kept: ibis().cases((chosen, placed[column]), else_=ibis().null("int64"))}).drop("p", "n")


def clamped(total: Any, low: int, high: int) -> Any:
    """A person's total within [low, high]; 0 where the person has no value (least and greatest would turn a null into
    a bound).
    """
    inside = ibis().greatest(ibis().least(total, high), low)
    return as_int64(ibis().cases((total.isnull(), 0), else_=inside))
