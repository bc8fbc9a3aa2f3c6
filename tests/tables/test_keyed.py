"""The keyed hash: the same in DuckDB and in plain Python, and even enough that no group and no row is favoured.

Evenness is tested at a false-alarm rate of 1e-6 per test (largest |z| over all cells, Bonferroni), and the linear
part of the hash alone must fail: so the test can tell.
"""

from __future__ import annotations

import hashlib
import itertools
from collections.abc import Callable
from statistics import NormalDist
from typing import Any

import ibis
import numpy as np
import pyarrow as pa
import pytest
from tables import reference

import hush.tables
from hush.tables import histogram
from hush.tables.engines import engine_of
from hush.tables.keyed_hash import Keyed, fresh_salt

SALT = bytes(range(32))
UNITS, GROUPS, KEPT = 20_000, 20, 5
ALARM = 1e-6


def hashes(units: np.ndarray, groups: np.ndarray, salt: bytes, hash: str = "portable") -> np.ndarray:
    """The hash of every (unit, group), computed by DuckDB."""
    pairs = ibis.memtable(pa.table({"u": np.repeat(units, len(groups)), "g": np.tile(groups, len(units))}))
    keyed = Keyed(salt, hash, engine_of(ibis.duckdb.connect()).hash)
    backend = ibis.duckdb.connect()
    found = backend.to_pyarrow(pairs.select(pairs.u, pairs.g, h=keyed.of([pairs.u, pairs.g], "groups", nulls=False)))
    order = np.lexsort((found["g"].to_numpy(), found["u"].to_numpy()))
    return found["h"].to_numpy()[order].reshape(len(units), len(groups))


def largest_z(kept: np.ndarray) -> float:
    """The largest |z| of how often each group, and each pair of groups, is kept."""
    n, m = kept.shape
    one, two = KEPT / m, KEPT * (KEPT - 1) / (m * (m - 1))
    singles = (kept.sum(axis=0) - n * one) / np.sqrt(n * one * (1 - one))
    together = kept.T.astype(np.int64) @ kept
    pairs = np.array([together[i, j] for i, j in itertools.combinations(range(m), 2)])
    return float(max(np.abs(singles).max(), np.abs((pairs - n * two) / np.sqrt(n * two * (1 - two))).max()))


def kept_of(hashed: np.ndarray) -> np.ndarray:
    return np.argsort(np.argsort(hashed, axis=1, kind="stable"), axis=1, kind="stable") < KEPT


LIMIT = NormalDist().inv_cdf(1 - ALARM / (2 * (GROUPS + GROUPS * (GROUPS - 1) // 2)))


@pytest.mark.parametrize(
    ("units", "groups"),
    [
        (np.arange(UNITS), np.arange(GROUPS)),
        (np.arange(UNITS) * 1_000_003 - 10**9, np.arange(GROUPS) * 17 - 100),
        (np.arange(UNITS) + 2**40, np.arange(GROUPS) * 2**33),
        (-np.arange(UNITS), np.arange(-GROUPS // 2, GROUPS // 2)),
    ],
    ids=["consecutive", "spaced", "wide", "negative"],
)
def test_no_group_is_favoured(units, groups):
    for salt in (SALT, SALT[::-1]):
        assert largest_z(kept_of(hashes(np.sort(units), np.sort(groups), salt))) < LIMIT


def test_the_linear_part_alone_would_be_seen():
    """Without the mixing rounds the same test fails by far."""
    factors = reference.secret_odds(SALT, "groups linear", 4, 2**31)
    linear = (np.arange(UNITS)[:, None] * factors[0] + np.arange(GROUPS)[None, :] * factors[2]) % 2**32
    assert largest_z(kept_of(linear)) > 3 * LIMIT


def test_text_and_native_hashes_are_even_too():
    native = hashes(np.arange(UNITS), np.arange(GROUPS), SALT, "native")
    assert largest_z(kept_of(native)) < LIMIT
    named = [
        [reference.keyed_hash(SALT, "groups", [(f"p{u}", "text"), (g, "whole")]) for g in range(GROUPS)]
        for u in range(2000)
    ]
    assert largest_z(kept_of(np.array(named))) < LIMIT


PEOPLE, OWN, SALTS = 2000, 5, 30


def unevenness(native: Callable[[list[Any], Any], Any]) -> float:
    """How often each of a person's groups is first, over fresh salts, as a chi-square statistic in standard
    deviations.
    """
    pairs = ibis.memtable(
        pa.table({"u": np.repeat(np.arange(PEOPLE), OWN), "g": np.tile([f"ward {g}" for g in range(OWN)], PEOPLE)})
    )
    each = [Keyed(hashlib.sha256(b"%d" % i).digest(), "native", native) for i in range(SALTS)]
    columns = {f"h{i}": keyed.of([pairs.u, pairs.g], "groups", nulls=False) for i, keyed in enumerate(each)}
    found = ibis.duckdb.connect().to_pyarrow(pairs.select(pairs.u, pairs.g, **columns).order_by("u", "g"))
    first = [found[name].to_numpy().reshape(PEOPLE, OWN).argmin(axis=1) for name in columns]
    kept = np.stack([np.bincount(row, minlength=OWN) for row in np.stack(first, axis=1)])
    free = PEOPLE * (OWN - 1)
    return float((((kept - SALTS / OWN) ** 2).sum() / (SALTS / OWN) - free) / np.sqrt(2.0 * free))


def test_each_of_a_persons_groups_is_kept_equally_often():
    """With fresh salts no person has a group that is kept more often than the others. One key alone would be seen."""
    native = engine_of(ibis.duckdb.connect()).hash
    limit = NormalDist().inv_cdf(1 - ALARM / 2)
    assert abs(unevenness(native)) < limit
    assert unevenness(lambda columns, after: native(columns[1:], after)) > 3 * limit, "a key at the end only"
    assert unevenness(lambda columns, after: native(columns[:-1], columns[-1])) > 3 * limit, "a key at the start only"


def test_the_same_numbers_as_in_python():
    """Negative, huge and narrow numbers, dates, text and nulls: DuckDB's hash is the reference's."""
    numbers = [0, 1, -1, 2**31, -(2**31), 2**32, 2**63 - 1, -(2**63), 10**18 + 7]
    got = hashes(np.sort(np.array(numbers)), np.array([-5, 2**40]), SALT)
    wanted = [
        [reference.keyed_hash(SALT, "groups", [(u, "whole"), (g, "whole")]) for g in (-5, 2**40)]
        for u in sorted(numbers)
    ]
    assert got.tolist() == wanted
    texts = ["", "a", "é", "e\u0301", "😀" * 40, "a;1:b", "null", "' \" \\ %", "\t\n", None]
    table = ibis.memtable(
        pa.table(
            {"u": pa.array(range(len(texts))), "t": texts, "k": pa.array([None, *range(1, len(texts))], pa.int16())}
        )
    )
    keyed = Keyed(SALT)
    found = ibis.duckdb.connect().to_pyarrow(
        table.select(table.u, h=keyed.of([table.u, table.t, table.k], "rows", nulls=True)).order_by("u")
    )
    parts = [[(i, "whole"), (text, "text"), (i or None, "whole")] for i, text in enumerate(texts)]
    assert found["h"].to_pylist() == [reference.keyed_hash(SALT, "rows", part) for part in parts]


def test_salts_are_fresh_and_change_the_choice():
    assert len({fresh_salt() for _ in range(100)}) == 100
    assert len(fresh_salt()) == 32
    first, second = (
        hashes(np.arange(2000), np.arange(GROUPS), SALT),
        hashes(np.arange(2000), np.arange(GROUPS), SALT[::-1]),
    )
    agree = (kept_of(first) & kept_of(second)).sum() / (2000 * KEPT)
    assert 0.2 < agree < 0.3  # a quarter by chance: 5 of 20


def test_any_number_of_rows_fits_64_bits():
    """A place among n rows is in [0, n) for every n that the public limit allows, without overflow."""
    counts = [1, 2, 1000, 2**31 - 1, 2**31, 2**40, 2**50]
    table = ibis.memtable(
        pa.table({"n": pa.array(counts, pa.int64()), "h": pa.array([2**32 - 1] * len(counts), pa.int64())})
    )
    places = ibis.duckdb.connect().to_pyarrow(table.select(table.n, place=Keyed(SALT).below(table.h, table.n)))
    for n, place in zip(places["n"].to_pylist(), places["place"].to_pylist(), strict=True):
        assert place == min(n, 2**31 - 1) - 1


def test_no_row_is_favoured():
    """Of n values a unit keeps r, each with probability r / n: over many units every place is kept equally often."""
    n, most, units = 7, 3, 20_000
    frame = pa.table(
        {
            "u": np.repeat(np.arange(units), n),
            "place": np.tile(np.arange(n), units),
            "g": np.repeat(np.arange(units) % 4, n),
        }
    )
    query = hush.tables.table(frame, unit="u").group_by("g", keys=range(4), groups_per_unit=1)
    found = (
        query.aggregate(h=histogram("place", categories=range(n), rows_per_unit=most)).aggregates(salt=SALT).to_arrow()
    )
    counts = np.array([found[f"h.{i}"].to_numpy() for i in range(n)]).sum(axis=1)
    assert counts.sum() == units * most
    z = (counts - units * most / n) / np.sqrt(units * (most / n) * (1 - most / n))
    assert np.abs(z).max() < NormalDist().inv_cdf(1 - ALARM / (2 * n))
