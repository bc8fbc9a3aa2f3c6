"""Pieces of PostgreSQL's SQL that are defined for every row, with places for operands.

A template names its operands x and y. An operand that is long is computed once, in a sub-select, so that the SQL of a
nested expression stays short.
"""

from __future__ import annotations

import math
import struct
import sys
from functools import cache
from typing import Any

import sqlglot as sg
import sqlglot.expressions as sge

__all__ = [
    "ADD_FLOATS",
    "DIVIDE_FLOATS",
    "EXACT_FLOOR_DIVIDE",
    "FLOAT_TO_BIGINT",
    "HALF_AWAY",
    "MULTIPLY_FLOATS",
    "TO_BIGINT",
    "filled",
    "over_constant",
    "times_constant",
    "within",
]

#: Operands with more parts than this are computed in a sub-select if a template uses them several times.
LONG = 40
INF = "'Infinity'::float8"


def within(low: str, high: str) -> str:
    """x between two numbers, and null at them and beyond. LEAST and GREATEST skip null, so null is `low` in between.
    The operand is written once.
    """
    return f"NULLIF(NULLIF(LEAST(GREATEST(x, {low}), {high}), {low}), {high})"


#: A numeric as bigint; null if it does not fit.
TO_BIGINT = within("(-9223372036854775809)::numeric", "9223372036854775808::numeric") + "::bigint"
#: A float as bigint, rounded half to even like in DuckDB; null if it does not fit. The ends are floats beyond int64.
FLOAT_TO_BIGINT = within("'-9223372036854777856'::float8", "'9223372036854775808'::float8") + "::bigint"
#: x + y of floats. Only two huge numbers overflow: then half of the sum is compared, which rounds in the same way.
ADD_FLOATS = (
    f"CASE WHEN ABS(x) > '{2.0**969}'::float8 AND ABS(y) > '{2.0**969}'::float8 AND ABS(x) < {INF} "
    f"AND ABS(y) < {INF} AND ABS(x * 0.5::float8 + y * 0.5::float8) >= '{2.0**1023}'::float8 "
    f"THEN SIGN(x) * {INF} ELSE x + y END"
)
#: x * y of floats. The factors are scaled by powers of two, so that the test itself neither overflows nor underflows.
MULTIPLY_FLOATS = (
    f"CASE WHEN ABS(x) < {INF} AND ABS(y) < {INF} AND ABS(x) > 1 AND ABS(y) > 1 THEN "
    f"CASE WHEN ABS(x) * '{2.0**-512}'::float8 * (ABS(y) * '{2.0**-512}'::float8) >= 1 "
    f"THEN SIGN(x) * SIGN(y) * {INF} ELSE x * y END "
    f"WHEN ABS(x) < 1 AND ABS(y) < 1 AND x <> 0 AND y <> 0 AND LEAST(ABS(x), ABS(y)) < '{2.0**-52}'::float8 THEN "
    f"CASE WHEN ABS(x) * '{2.0**537}'::float8 * (ABS(y) * '{2.0**537}'::float8) <= 0.5 "
    "THEN SIGN(x) * SIGN(y) * 0.0::float8 ELSE x * y END ELSE x * y END"
)
#: x / y of floats. Numbers beyond float64 become infinite or 0. Division by zero gives what IEEE 754 says.
DIVIDE_FLOATS = (
    "CASE WHEN y = 0 THEN CASE WHEN x = 0 OR x = 'NaN'::float8 THEN 'NaN'::float8 "
    f"WHEN (x > 0) = (y::text = '-0') THEN -{INF} ELSE {INF} END "
    f"WHEN x = 0 OR ABS(x) >= {INF} OR ABS(y) >= {INF} THEN x / y "
    f"WHEN ABS(y) < 1 AND ABS(x) > '{2.0**-51}'::float8 "
    f"AND (ABS(x) > '{2.0**400}'::float8 OR ABS(y) < '{2.0**-400}'::float8) THEN "
    f"CASE WHEN (ABS(x) * '{2.0**-537}'::float8) / (ABS(y) * '{2.0**537}'::float8) >= '{2.0**-50}'::float8 "
    f"THEN SIGN(x) * SIGN(y) * {INF} ELSE x / y END "
    f"WHEN ABS(y) > 1 AND ABS(x) < 1 AND (ABS(y) > '{2.0**900}'::float8 OR ABS(x) < '{2.0**-100}'::float8) THEN "
    f"CASE WHEN (ABS(x) * '{2.0**537}'::float8) / (ABS(y) * '{2.0**-537}'::float8) <= 0.5 "
    "THEN SIGN(x) * SIGN(y) * 0.0::float8 ELSE x / y END ELSE x / y END"
)
#: The largest whole number not above x / y; null if y is 0.
EXACT_FLOOR_DIVIDE = (
    "CASE WHEN y = -1 THEN CASE WHEN x > (-9223372036854775808)::bigint THEN -x END "
    "WHEN y <> 0 THEN x / y - CASE WHEN x % y <> 0 AND (x < 0) <> (y < 0) THEN 1 ELSE 0 END END"
)
#: A float rounded to a whole number, halves away from zero.
HALF_AWAY = (
    f"CASE WHEN ABS(x) < '{2.0**52}'::float8 THEN SIGN(x) * (FLOOR(ABS(x)) + "
    "CASE WHEN ABS(x) - FLOOR(ABS(x)) >= 0.5 THEN 1 ELSE 0 END) ELSE x END"
)


@cache
def parsed(text: str) -> Any:
    return sg.parse_one(text, dialect="postgres")


def filled(text: str, **operands: Any) -> Any:
    """The template with its operands."""
    body = parsed(text)
    used = [column.name for column in body.find_all(sge.Column)]
    if all(used.count(name) < 2 or len(list(operand.walk())) <= LONG for name, operand in operands.items()):
        return replaced(body, operands)
    columns = {name: sg.column(f"hush_{name}", table="hush_once") for name in operands}
    inner = sg.select(*(operand.as_(f"hush_{name}") for name, operand in operands.items()))
    once = inner.offset(0).subquery("hush_once")  # OFFSET keeps PostgreSQL from copying the operands into the body
    return sg.select(replaced(body, columns)).from_(once).subquery()


def replaced(body: Any, operands: dict[str, Any]) -> Any:
    def one(node: Any) -> Any:
        if isinstance(node, sge.Column) and not node.table and node.name in operands:
            return sge.paren(operands[node.name].copy(), copy=False)
        return node

    return sge.paren(body.copy().transform(one, copy=False), copy=False)


def times_constant(factor: float) -> str:
    """x times a constant, with infinity and 0 where PostgreSQL would stop."""
    plain = f"x * '{factor}'::float8"
    if not math.isfinite(factor) or factor == 0.0 or abs(factor) == 1.0:
        return plain
    if abs(factor) > 1.0:
        return outside(plain, below=False, last=last_float(lambda x: math.isfinite(x * factor)), sign=factor)
    return outside(plain, below=True, last=last_float(lambda x: x * factor == 0.0), sign=factor)


def over_constant(divisor: float) -> str:
    """x divided by a constant other than 0, likewise."""
    plain = f"x / '{divisor}'::float8"
    if not math.isfinite(divisor) or abs(divisor) == 1.0:
        return plain
    if abs(divisor) < 1.0:
        return outside(plain, below=False, last=last_float(lambda x: math.isfinite(x / divisor)), sign=divisor)
    return outside(plain, below=True, last=last_float(lambda x: x / divisor == 0.0), sign=divisor)


def outside(plain: str, *, below: bool, last: float, sign: float) -> str:
    """The plain operation where its result is a float. Up to `last` it is 0 (`below`); beyond `last` it is infinite."""
    way = "" if sign > 0 else "-"
    if below:
        return f"CASE WHEN ABS(x) <= '{last}'::float8 THEN x * {way}0.0::float8 ELSE {plain} END"
    return f"CASE WHEN ABS(x) > '{last}'::float8 AND ABS(x) < {INF} THEN SIGN(x) * {way}{INF} ELSE {plain} END"


def last_float(holds: Any) -> float:
    """The largest float, from 0 up, for which a condition holds that holds up to some number and not beyond. Floats
    that are not negative have the order of their bits.
    """
    low, high = 0, int.from_bytes(struct.pack(">d", sys.float_info.max), "big")
    while low < high:
        middle = (low + high + 1) // 2
        low, high = (middle, high) if holds(as_float(middle)) else (low, middle - 1)
    return as_float(low)


def as_float(bits: int) -> float:
    found: float = struct.unpack(">d", bits.to_bytes(8, "big"))[0]
    return found
