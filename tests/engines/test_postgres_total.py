"""On PostgreSQL no operation fails because of a row: each is compared with IEEE 754, or with integers of Python."""

from __future__ import annotations

import math
import operator
import struct
from itertools import product
from typing import Any

import numpy as np
import pyarrow as pa
import pytest
from engines.postgres_server import load

import hush.tables
from hush.errors import Unsupported
from hush.tables.engines import ENGINES

pytestmark = [
    pytest.mark.filterwarnings("ignore::ResourceWarning", "ignore::pytest.PytestUnraisableExceptionWarning"),
]

TINY, HUGE = 5e-324, 1.7976931348623157e308
FLOATS = [0.0, -0.0, 1.0, -1.0, 0.1, -3.5, 1e-9, 1e9, TINY, -TINY, 3e-308, 1e-200, -1e-160, 1e160, -1e200, HUGE, -HUGE]
FLOATS += [2.0**1023, 2.0**970, 2.0**-537, 2.0**-1022, math.inf, -math.inf, math.nan]
WHOLES = [0, 1, -1, 2, -7, 10, 2**31, -(2**31), 2**32 + 5, 3037000500, -3037000500, 2**62, 2**63 - 1, -(2**63)]


@pytest.fixture(scope="module")
def pairs(postgres) -> hush.tables.Table:
    floats, wholes = list(product(FLOATS, FLOATS)), list(product(WHOLES, WHOLES))
    count = len(floats)
    wholes = (wholes * (count // len(wholes) + 1))[:count]
    rows = pa.table(
        {
            "i": pa.array(range(count)),
            "x": pa.array([a for a, _ in floats]),
            "y": pa.array([b for _, b in floats]),
            "a": pa.array([a for a, _ in wholes]),
            "b": pa.array([b for _, b in wholes]),
        }
    )
    load(postgres.owner, "pairs", rows)
    return hush.tables.table(postgres.address, name="public.pairs", unit="i")


def computed(table: Any, **columns: Any) -> dict[str, list[Any]]:
    """The columns, as PostgreSQL computes them, after the check that users' expressions pass."""
    made = table.mutate(**columns).relation
    plan = made.order_by("i")
    batches = ENGINES["postgres"].batches(table.source, plan, 1000)
    return pa.Table.from_batches(list(batches)).to_pydict()


def bits(x: float | None) -> Any:
    """The same for equal floats only; all NaN are alike."""
    return "nan" if x is not None and math.isnan(x) else None if x is None else struct.pack(">d", x)


def ieee(operation: Any, x: float, y: float) -> float:
    with np.errstate(all="ignore"):
        return float(operation(np.float64(x), np.float64(y)))


def test_floats_follow_ieee_754(pairs):
    ways = {"add": operator.add, "sub": operator.sub, "mul": operator.mul, "div": operator.truediv}
    constants = (0.5, -3.0, 1e300, 1e-300, 2000.0, 1048576.0, 1e-5)
    columns = {name: way(pairs["x"], pairs["y"]) for name, way in ways.items()}
    for k, value in enumerate(constants):
        columns |= {f"{name}{k}": way(pairs["x"], value) for name, way in ways.items()}
    found = computed(pairs, **columns)
    for i, (x, y) in enumerate(product(FLOATS, FLOATS)):
        for name, way in ways.items():
            assert bits(found[name][i]) == bits(ieee(way, x, y)), (name, x, y)
            for k, value in enumerate(constants):
                assert bits(found[f"{name}{k}"][i]) == bits(ieee(way, x, value)), (name, x, value)


def test_nested_products_stay_small_and_right(pairs):
    """Long operands are computed once: the SQL of a long product grows by a constant for each factor."""
    deep = pairs["x"] * pairs["y"]
    for _ in range(8):
        deep = deep * pairs["y"]
    compile_ = ENGINES["postgres"].compile
    assert len(compile_(None, pairs.mutate(z=deep).relation)) < 40_000
    found = computed(pairs, z=deep)["z"]
    for i, (x, y) in enumerate(product(FLOATS, FLOATS)):
        expected = ieee(operator.mul, x, y)
        for _ in range(8):
            expected = ieee(operator.mul, expected, y)
        assert bits(found[i]) == bits(expected), (x, y)


def in_range(value: int | None) -> int | None:
    return value if value is not None and -(2**63) <= value < 2**63 else None


def test_whole_numbers_are_exact_or_null(pairs):
    a, b = pairs["a"], pairs["b"]
    columns = {"add": a + b, "sub": a - b, "mul": a * b, "neg": -a, "abs": a.abs(), "div": a // b, "mod": a % b}
    columns |= {"short": a.cast("int32"), "plus": a + 1, "real": a / b, "f": a.cast("float64")}
    found = computed(pairs, **columns)
    for i, (x, y) in enumerate(zip(found["a"], found["b"], strict=True)):
        assert found["add"][i] == in_range(x + y) and found["sub"][i] == in_range(x - y)
        assert found["mul"][i] == in_range(x * y) and found["plus"][i] == in_range(x + 1)
        assert found["neg"][i] == in_range(-x) and found["abs"][i] == in_range(abs(x))
        assert found["div"][i] == (in_range(x // y) if y else None), (x, y)
        assert found["mod"][i] == (int(math.fmod(x, y)) if y and abs(x) < 2**53 > abs(y) else found["mod"][i])
        assert (found["mod"][i] is None) == (y == 0)
        assert found["short"][i] == (x if -(2**31) <= x < 2**31 else None)
        assert bits(found["real"][i]) == bits(ieee(operator.truediv, float(x), float(y)))
        assert found["f"][i] == float(x)


def test_rounding_and_casts_of_floats(pairs):
    x = pairs["x"] * 1.5
    found = computed(pairs, z=x, whole=x.cast("int64"), low=x.floor(), high=x.ceil(), near=x.round())
    for i, z in enumerate(found["z"]):
        fits = math.isfinite(z) and -(2.0**63) <= z < 2.0**63
        assert found["whole"][i] == (round(z) if fits else None), z  # half to even
        assert found["low"][i] == (math.floor(z) if fits else None)
        assert found["high"][i] == (math.ceil(z) if fits else None)
        away = (
            int(math.copysign(math.floor(abs(z) + 0.5), z)) if fits and abs(z) < 2**52 else round(z) if fits else None
        )
        assert found["near"][i] == away, z


TEXTS = {
    "7": (7, 7.0, None),
    " -12 ": (-12, -12.0, None),
    "9223372036854775807": (2**63 - 1, 2.0**63, None),
    "9223372036854775808": (None, 2.0**63, None),
    "1e3": (None, 1000.0, None),
    "1e400": (None, None, None),
    "1e-400": (None, None, None),
    "0.1": (None, 0.1, None),
    "": (None, None, None),
    "secret": (None, None, None),
    "2024-02-29": (None, None, "2024-02-29"),
    "2023-02-29": (None, None, None),
    "1900-02-29": (None, None, None),
    "2000-13-01": (None, None, None),
    "0000-01-01": (None, None, None),
    "inf": (None, math.inf, None),
    "--5": (None, None, None),
}


def test_text_becomes_null_where_it_has_another_form(postgres):
    load(postgres.owner, "texts", pa.table({"i": list(range(len(TEXTS))), "s": list(TEXTS)}))
    table = hush.tables.table(postgres.address, name="public.texts", unit="i")
    s = table["s"]
    found = computed(table, a=s.try_cast("int64"), b=s.try_cast("float64"), c=s.try_cast("date"))
    for i, (text, expected) in enumerate(TEXTS.items()):
        day = None if found["c"][i] is None else str(found["c"][i])
        assert (found["a"][i], found["b"][i], day) == expected, text


REFUSED = {
    "exp": lambda t: t["x"].exp(),
    "power": lambda t: t["x"] ** t["y"],
    "ln": lambda t: t["x"].ln(),
    "sqrt": lambda t: t["x"].sqrt(),
    "repeat": lambda t: t["a"].cast("string").repeat(t["b"]),
    "round to digits": lambda t: t["x"].round(2),
    "pattern from a row": lambda t: t["a"].cast("string").re_search(t["b"].cast("string")),
    "start from a row": lambda t: t["a"].cast("string").substr(t["b"]),
    "time from a number": lambda t: t["a"].cast("timestamp"),
    "float remainder": lambda t: t["x"] % t["y"],
}


@pytest.mark.parametrize("what", REFUSED)
def test_what_could_fail_is_refused_before_the_query(pairs, what):
    with pytest.raises(
        Unsupported, match=r"hush cannot compute on PostgreSQL for every possible row|uses Repeat for a text"
    ):
        pairs.mutate(z=REFUSED[what](pairs))


def test_the_same_operations_pass_on_duckdb():
    table = hush.tables.table(pa.table({"i": [1], "x": [2.0], "y": [3.0], "a": [1], "b": [2]}), unit="i")
    assert "z" in table.mutate(z=REFUSED["exp"](table)).columns


def test_rows_of_the_plan_are_computed_as_bigint(pairs):
    """The ranges of hashes, places and steps are known, so numeric is needed for the totals of groups only."""
    query = pairs.group_by("a", keys="private", groups_per_unit=2).aggregate(
        n=hush.tables.count(rows_per_unit=3), v=hush.tables.variance("x", low=0, high=9, rows_per_unit=2)
    )
    text = ENGINES["postgres"].compile(None, query.aggregates(salt=b"0" * 32).plan)
    assert "hush_once" not in text and "DECIMAL" in text
    assert "DECIMAL" not in text[text.index("DENSE_RANK") :]  # sub-queries come later in the text
