"""Sums in finite arithmetic: one row moves the computed sum further than the real one (Casacuberta et al. 2022)."""

from __future__ import annotations

import functools
from typing import Any

import numpy as np
import pyarrow as pa
from museum.rows import nothing_found

import hush
from hush import tables


def rows(values: list[Any], kind: Any = None) -> pa.Table:
    return pa.table({"person": pa.array(range(len(values)), type=pa.int64()), "x": pa.array(values, type=kind)})


def total(low: float, high: float) -> Any:
    """The private sum of hush, as a function of rows; a replay compares how far the exact sum moves."""

    def function(data: pa.Table) -> Any:
        query = tables.table(data, unit="person").aggregate(s=tables.sum("x", low=low, high=high))
        answer = query.answer(1.0, 1e-6, ledger=None, family="laplace")
        return answer.to_arrow(), repr(answer)

    return function


def naive_move(sum_of: Any, values: Any, without: int) -> float:
    """By how much a sum moves when one row is taken away."""
    return abs(float(sum_of(values)) - float(sum_of(np.delete(values, without))))


def test_integer_sum_that_wraps() -> None:
    values = np.array([2**31 - 1, 1], dtype=np.int32)
    moved = naive_move(lambda given: np.add.reduce(given, dtype=np.int32), values, 1)
    assert moved == 2**32 - 1  # one person with the value 1
    data = [2**31 - 1, 1, 5]
    nothing_found(total(0, 2**31), rows(data, pa.int32()), rows([data[0], data[2]], pa.int32()))
    big = [2**62, 2**62, 2**62, 1]  # beyond 64 bits in all
    nothing_found(total(0, 2**62), rows(big, pa.int64()), rows(big[:-1], pa.int64()))


def test_saturating_sum_whose_order_moves() -> None:
    def saturating(given: Any) -> int:
        return functools.reduce(lambda a, b: max(-128, min(127, a + int(b))), given, 0)

    values, other = [100, 100, -100], [100, -100, 100, 1]
    assert abs(saturating(values) - saturating(other)) > 28  # the same rows in another order, and one of value 1
    data = [127, 127, -128, -128, 127]
    function = total(-128, 127)
    nothing_found(function, rows(data, pa.int8()), rows([-128, 127, 127, -128], pa.int8()))
    nothing_found(function, rows(data, pa.int8()), rows(sorted(data)[1:], pa.int8()))


def test_rounding_of_float_sums() -> None:
    values = np.array([2.0**53, 1.0, 1.0, 1.0])

    def running(given: Any) -> float:
        return functools.reduce(lambda a, b: a + b, given.tolist(), 0.0)

    assert running(values) == 2.0**53  # three persons with the value 1 are not in the sum at all
    data = [1.0] + [2.0**-53] * 2**12
    assert running(np.array(data)) == 1.0 and running(np.array(data[1:])) == 2.0**-41  # all other rows, or none
    nothing_found(total(0, 2.0**53), rows(values.tolist()), rows(values.tolist()[:-1]))
    nothing_found(total(0, 1.0), rows([1.0] + [2.0**-53] * 50), rows([2.0**-53] * 50))


def test_repeated_rounding_of_float_sums() -> None:
    def single(given: Any) -> float:
        return float(functools.reduce(lambda a, b: np.float32(a + np.float32(b)), given, np.float32(0.0)))

    first, step = np.float32(2.0**24), np.float32(1.0)
    data = [first, *[step] * 4000]  # every addition of 1 is rounded away
    without = [*[step] * 4000]
    assert abs(single(data) - single(without)) == 2.0**24 - 4000.0
    tail = [np.float32(1.25)] * 1000  # an addition is rounded to 1 below 2^24 and to 2 above it
    assert single([np.float32(2.0**24), *tail]) - single([np.float32(2.0**24 - 1000.0), *tail]) == 2000.0
    nothing_found(total(0, 2.0**24), rows([float(x) for x in data[:200]]), rows([float(x) for x in data[1:200]]))


def test_order_of_float_sums() -> None:
    def running(given: Any) -> float:
        return functools.reduce(lambda a, b: a + b, given, 0.0)

    data = [1.0] * 64 + [2.0**53, -(2.0**53)] * 4
    other = [2.0**53] + [1.0] * 64 + [-(2.0**53)] + [2.0**53, -(2.0**53)] * 3
    assert sorted(data) == sorted(other) and abs(running(data) - running(other)) >= 64.0
    function = total(-(2.0**53), 2.0**53)
    nothing_found(function, rows(data), rows(other[1:]))  # other order, and one person less
    found = hush.audit.replay(function, rows(data), rows(other))
    assert not found.violated and found.moved == 0  # only the order differs: the exact sums agree to the bit


def test_float_sum_that_becomes_infinite() -> None:
    with np.errstate(over="ignore", invalid="ignore"):
        assert np.isnan(np.sum(np.array([1.7e308, 1.7e308])) - np.inf)  # one more person: infinity, then NaN
    data = [1.7e308, 1.7e308, -1.7e308, float("inf"), float("nan")]
    nothing_found(total(0, 100.0), rows(data), rows(data[1:]))
    for place in range(1, 4):
        nothing_found(total(-100.0, 100.0), rows(data), rows(data[:place] + data[place + 1 :]))
    found = hush.audit.replay(total(-100.0, 100.0), rows(data), rows(data[:4]))
    assert found.draws and not found.violated, found
