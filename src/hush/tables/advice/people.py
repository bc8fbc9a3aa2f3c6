"""Noisy histograms of people: in how many groups a person is, and with how many rows in one of them.

Each person is counted in one bin of groups and, where rows matter, in one bin of rows. Both bins are made from the rows
of this person and a secret salt. So a person added or removed moves one number of each histogram by 1. The rows are
those of one group of the person, chosen by the keyed hash: every group of the person is as likely as any other.
"""

from __future__ import annotations

import math
from collections.abc import Mapping
from dataclasses import dataclass, replace
from typing import Any

import numpy as np
from numpy.typing import NDArray

from hush.numerics import special
from hush.tables.aggregation import whole_rows
from hush.tables.column_noise import Spending
from hush.tables.description import QueryDescription
from hush.tables.engines import engine_of
from hush.tables.expression import as_int64, ibis
from hush.tables.group import ungrouped
from hush.tables.histograms import histogram
from hush.tables.keyed_hash import Keyed, fresh_salt

__all__ = ["ENDS", "People", "PeopleQuery", "people_query"]

#: The largest number of each bin of groups or rows: narrow bins first, then of about a quarter of their numbers. The
#: last bin also has everybody with more.
ENDS = (1, 2, 3, 4, 5, 6, 7, 8, 10, 12, 14, 16, 20, 24, 28, 32, 40, 48, 56, 64, 96, 128, 192, 256, 384, 512, 1024, 2048)
_ROWS_BITS = 20  # a row count is cut to this many bits beside its hash
_IMPROBABLE = 0.1  # people of the lower half who are there with a smaller probability are left out
_TINY = 1e-12


@dataclass(frozen=True)
class People:
    """Estimated shares of people by bin: `groups[i]` of them are in ENDS[i] groups, with `rows[j]` of them having
    ENDS[j] rows in a group; and the number of people.
    """

    number: float
    groups: NDArray[np.float64]
    rows: NDArray[np.float64]

    def pairs(self, most_groups: float = np.inf) -> float:
        """The number of pairs of a person and a group, at most `most_groups` of each person."""
        return self.number * float(np.sum(self.groups * np.minimum(_middles(), most_groups)))

    def counted_rows(self, most_groups: float = np.inf, most_rows: float = np.inf) -> float:
        """The number of rows, at most `most_rows` in each of at most `most_groups` groups of a person. Groups and rows
        of a person are taken to be independent.
        """
        return self.pairs(most_groups) * float(np.sum(self.rows * np.minimum(_middles(), most_rows)))

    @property
    def needed(self) -> tuple[int, int]:
        """The limits that leave nobody out."""
        groups, rows = (int(np.flatnonzero(shares)[-1]) if shares.any() else 0 for shares in (self.groups, self.rows))
        return ENDS[groups], ENDS[rows]


@dataclass(frozen=True)
class PeopleQuery:
    """The query that counts people in bins."""

    query: QueryDescription

    def people(self, released: Mapping[str, Any], spent: Spending) -> People:
        """People from noisy counts."""
        found = []
        for measure in self.query.measures:
            noise = math.sqrt(float(np.asarray(spent.mechanisms[measure.bin_columns[0]].noise.variance)))
            counts = np.array([float(np.ravel(released[column])[0]) for column in measure.bin_columns])
            shares = np.zeros(len(ENDS))
            shares[: len(counts)] = _shares(counts, noise)
            found.append((max(float(counts.sum()), 1.0), shares))
        one = np.zeros(len(ENDS))
        one[0] = 1.0
        return People(found[0][0], found[0][1], found[1][1] if len(found) > 1 else one)


def people_query(query: QueryDescription, most_rows: int | None, salt: bytes | None = None) -> PeopleQuery:
    """One row for each person, with the bins of this person, and the histograms of these bins. No bin is for more
    groups or rows than the largest limits that may be chosen; None: rows do not matter.
    """
    most = {"groups": _last_end(query.grouping.groups)}
    if most_rows is not None:
        most["rows"] = _last_end(most_rows)
    engine, table = engine_of(query.table.source.backend), query.table
    keyed = Keyed(salt or fresh_salt(), "portable" if engine.hash is None else "native", engine.hash, engine.digits)
    found = whole_rows(table.relation, table.person, query.grouping, {})
    keys = [name for name in found.columns if name.startswith("g")]
    pairs = found.group_by("u", *keys).aggregate(n=found.count())
    relation = _bins(pairs, keys, keyed, most, public=query.grouping.keys is not None)
    people = replace(table, relation=relation, unit="u", rule=None, one_row=True)
    measures = tuple(
        histogram(name, edges=[1, *(end + 1 for end in ENDS if end <= last)], rows_per_unit=1).prepare(
            name, relation, table.limits
        )
        for name, last in most.items()
    )
    return PeopleQuery(QueryDescription(people, ungrouped(), measures, threshold=None))


def _last_end(most: int) -> int:
    """The end of the bin that holds `most`."""
    return next((end for end in ENDS if end >= most), ENDS[-1])


def _bins(pairs: Any, keys: list[str], keyed: Keyed, most: Mapping[str, int], *, public: bool) -> Any:
    """The people, each with a number of groups and, if wanted, of rows of one group. Hash and rows of a group stand in
    one number, so that the least hash brings its rows along.
    """
    if "rows" not in most:
        people = pairs.group_by("u").aggregate(groups=pairs.count())
        return people.select("u", groups=ibis().least(as_int64(people["groups"]), most["groups"]))
    cut = 2**_ROWS_BITS
    hashed = keyed.of([pairs[name] for name in ("u", *keys)], "advice", nulls=not public)
    packed = pairs.mutate(s=hashed * cut + ibis().least(as_int64(pairs["n"]), cut - 1))
    people = packed.group_by("u").aggregate(groups=packed.count(), s=packed["s"].min())
    counted = {"groups": as_int64(people["groups"]), "rows": people["s"] & (cut - 1)}
    return people.select("u", **{name: ibis().least(column, most[name]) for name, column in counted.items()})


def _shares(counts: NDArray[np.float64], noise: float) -> NDArray[np.float64]:
    """Shares of the bins from noisy counts. All bins are split into halves again and again, and the people of both
    halves in proportion to what is to be expected of each. The more groups the upper half stands for, the surer it must
    be that anybody is there: a few people too many in large bins would cost more than a few too few.
    """
    shares, people, numbers = np.zeros(len(counts)), max(float(counts.sum()), 1.0), _middles()

    def split(first: int, last: int, share: float) -> None:
        if first == last:
            shares[first] = share
            return
        middle = (first + last) // 2
        halves = (first, middle), (middle + 1, last)
        times_larger = float(np.mean(numbers[middle + 1 : last + 1]) / np.mean(numbers[first : middle + 1]))
        parts = [
            _expected(float(counts[a : b + 1].sum()), noise * math.sqrt(b + 1 - a), share * people, sure)
            for (a, b), sure in zip(halves, (_IMPROBABLE, 1.0 - 1.0 / times_larger**2), strict=True)
        ]
        if not any(parts):  # nothing is known: everybody is in few groups
            parts = [1.0, 0.0]
        for (a, b), part in zip(halves, parts, strict=True):
            if part > 0.0:
                split(a, b, share * part / sum(parts))

    split(0, len(counts) - 1, 1.0)
    return shares


def _expected(total: float, spread: float, most: float, sure: float) -> float:
    """The number of people to expect behind a noisy sum, with normal noise: before the sum is seen, none and a number
    from 0 to `most`, all as likely, have even odds. It is 0 unless anybody is there with a probability above `sure`.
    """
    if spread == 0.0:
        return min(max(total, 0.0), most)
    low, high = -total / spread, (most - total) / spread
    inside = float(special.ndtr(high) - special.ndtr(low))
    if inside < _TINY:  # the sum is far outside [0, most]
        return 0.0 if total < 0.0 else most
    at_low, at_high = (math.exp(-z * z / 2.0) / math.sqrt(2.0 * math.pi) for z in (low, high))
    mean = total + spread * (at_low - at_high) / inside
    empty = at_low / spread
    anybody = (inside / most) / (inside / most + empty)
    return anybody * mean if anybody > sure else 0.0


def _middles() -> NDArray[np.float64]:
    """A number that stands for all numbers of a bin: their middle."""
    starts = [1, *(end + 1 for end in ENDS[:-1])]
    return np.array([(start + end) / 2.0 for start, end in zip(starts, ENDS, strict=True)])
