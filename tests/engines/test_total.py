"""No row makes a user's expression fail, on any engine: whole numbers are exact, or null where they do not fit."""

from __future__ import annotations

import math
from itertools import product
from typing import Any

import pyarrow as pa

from hush.tables.engines import engine_of

WHOLES = [0, 1, -1, 7, -(2**31), 3037000500, 2**62, 2**63 - 1, -(2**63)]
FLOATS = [0.0, 2.5, -2.5, 1e300, -1e300, math.inf, -math.inf, math.nan, 9.3e18]


def in_range(value: int, bits: int = 64) -> int | None:
    return value if -(2 ** (bits - 1)) <= value < 2 ** (bits - 1) else None


def computed(table: Any, **columns: Any) -> dict[str, list[Any]]:
    plan = table.mutate(**columns).relation.order_by("i")
    batches = engine_of(table.source.backend).batches(table.source, plan, 1000)
    return pa.Table.from_batches(list(batches)).to_pydict()


def test_whole_numbers_are_exact_or_null(engine):
    pairs = list(product(WHOLES, WHOLES))
    columns = {
        "i": range(len(pairs)),
        "a": [a for a, _ in pairs],
        "b": [b for _, b in pairs],
        "x": [FLOATS[i % len(FLOATS)] for i in range(len(pairs))],
    }
    t = engine.table(pa.table(columns), unit="i")
    a, b, x = t["a"], t["b"], t["x"]
    found = computed(
        t, add=a + b, sub=a - b, mul=a * b, neg=-a, abs=a.abs(), mod=a % b, short=a.cast("int32"),
        filled=(a * b).fill_null(-5), chain=a * b - a, low=x.floor(), high=x.ceil(), whole=x.cast("int64"), real=x / b,
    )  # fmt: skip
    for i, (one, two) in enumerate(pairs):
        product_ = in_range(one * two)
        assert (found["add"][i], found["sub"][i], found["mul"][i]) == (
            in_range(one + two),
            in_range(one - two),
            product_,
        )
        assert (found["neg"][i], found["abs"][i]) == (in_range(-one), in_range(abs(one)))
        assert found["mod"][i] == (int(math.fmod(one, two)) if abs(one) < 2**53 > abs(two) > 0 else found["mod"][i])
        assert (found["mod"][i] is None) <= (two in (0, -1))
        assert found["short"][i] == in_range(one, 32) and found["filled"][i] == (-5 if product_ is None else product_)
        assert found["chain"][i] == (None if product_ is None else in_range(product_ - one))
        value = columns["x"][i]
        fits = math.isfinite(value) and abs(value) < 2.0**63
        assert (found["low"][i], found["high"][i]) == ((math.floor(value), math.ceil(value)) if fits else (None, None))
        assert (found["whole"][i] is None) == (not fits)
