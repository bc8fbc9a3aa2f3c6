"""Numbers, texts and rows go in and out of Arrow by their bytes."""

from __future__ import annotations

import datetime

import numpy as np
import pytest

pa = pytest.importorskip("pyarrow")

from hush.tables.arrow import (  # noqa: E402
    chosen_rows,
    day_column,
    key_table,
    number_column,
    plain_numbers,
    text_column,
)


@pytest.mark.parametrize("values", [[], [1, -(2**63), 2**63 - 1], list(range(100))])
def test_numbers_keep_every_bit(values):
    """To Arrow and back, in one chunk, in several, and in a slice."""
    plain = np.array(values, dtype=np.int64)
    column = number_column(plain)
    column.validate(full=True)
    assert column.to_pylist() == values
    assert plain_numbers(column).tolist() == values
    assert plain_numbers(pa.chunked_array([column, column], pa.int64())).tolist() == [*values, *values]
    assert plain_numbers(column.slice(1)).tolist() == values[1:]
    halves = plain_numbers(number_column(plain / 2.0))
    assert halves.dtype == np.float64 and np.array_equal(halves, plain / 2.0)


@pytest.mark.parametrize("size", [0, 1, 7, 8, 9, 100])
def test_missing_numbers_and_days(size):
    """The same arrays as pyarrow makes, with and without missing values."""
    chance = np.random.default_rng(size)
    values, days = chance.normal(size=size), chance.integers(-9999, 9999, size=size)
    for missing in (chance.random(size) < 0.5, np.zeros(size, dtype=bool), np.ones(size, dtype=bool)):
        for made, usual in (
            (number_column(values, missing), pa.array(values, mask=missing)),
            (number_column(days, missing), pa.array(days, mask=missing)),
            (day_column(days, missing), pa.array(days.astype(np.int32), mask=missing).cast(pa.date32())),
        ):
            made.validate(full=True)
            assert made.equals(usual) and made.null_count == usual.null_count
    assert number_column(days.astype(np.int32)).type == pa.float64(), "only day_column makes dates"


def test_a_column_with_nulls_or_of_another_type_is_converted():
    """Only plain int64 and float64 are read by their bytes."""
    assert np.isnan(plain_numbers(pa.array([1.0, None]))[1])
    assert plain_numbers(pa.array([1, 2], pa.int16())).tolist() == [1, 2]
    assert plain_numbers(pa.array(["a", "b"])).tolist() == ["a", "b"]


@pytest.mark.parametrize("values", [[], [None], ["", None, "naïve", "x" * 1000, "\0", "東京"], ["a"] * 17 + [None]])
def test_texts_and_nulls(values):
    """The same array as pyarrow makes."""
    column = text_column(values)
    column.validate(full=True)
    assert column.equals(pa.array(values, pa.string()))


def test_public_keys_have_their_types():
    """Texts and numbers by their bytes; nulls and other types by pyarrow."""
    days = [datetime.date(2025, 1, 1), None]
    table = key_table({"a": ("string", ["x", None]), "b": ("int64", [1, None]), "c": ("date32", days)})
    assert table.schema.types == [pa.string(), pa.int64(), pa.date32()]
    assert table.to_pylist() == [{"a": "x", "b": 1, "c": days[0]}, {"a": None, "b": None, "c": None}]


@pytest.mark.parametrize("places", [[], [0], [3], [1, 2, 3], [0, 2, 5, 6], list(range(8)), [7], [6, 0, 1, 3]])
def test_chosen_rows_hold_nothing_of_the_others(places):
    """The same rows as `take`, in memory of their own: a slice would carry the keys of groups that are not shown."""
    wards = [f"ward-{i}" for i in range(8)]
    wards[5] = None
    table = pa.table({"ward": wards, "year": pa.array(range(8), pa.int64()), "open": [i % 2 == 0 for i in range(8)]})
    for source in (table, pa.concat_tables([table.slice(0, 3), table.slice(3)])):
        rows = chosen_rows(source, np.array(places, dtype=np.int64))
        rows.validate(full=True)
        assert rows.equals(table.take(pa.array(places, pa.int64())))
        held = b"".join(bytes(part) for part in rows.column("ward").combine_chunks().buffers() if part is not None)
        assert not [ward for i, ward in enumerate(wards) if ward and i not in places and ward.encode() in held]
        assert b"".join(wards[i].encode() for i in places if wards[i]) in held
