"""Arithmetic, rounding and casts of numbers for PostgreSQL, defined for every row."""

from __future__ import annotations

import math
from typing import Any, ClassVar

import ibis.expr.operations as ops
import sqlglot.expressions as sge
from ibis.backends.sql.compilers.postgres import PostgresCompiler

from hush.tables.engines.postgres.templates import (
    ADD_FLOATS,
    DIVIDE_FLOATS,
    EXACT_FLOOR_DIVIDE,
    FLOAT_TO_BIGINT,
    HALF_AWAY,
    MULTIPLY_FLOATS,
    TO_BIGINT,
    filled,
    over_constant,
    times_constant,
    within,
)
from hush.tables.spans import Spans, constant_of

__all__ = ["WITHIN_FLOATS", "TotalNumbers"]

SIGNS = {"Add": sge.Add, "Subtract": sge.Sub, "Multiply": sge.Mul}
#: Less than half the distance of the largest floats: adding such a number never overflows.
SMALL = 2.0**969
#: A numeric within the range of float64, without NaN.
WITHIN_FLOATS = (
    "CASE WHEN x = 'NaN'::numeric THEN NULL WHEN x > 1e300 THEN 1e300 WHEN x < -1e300 THEN -1e300 "
    "WHEN ABS(x) < 1e-300 THEN 0 ELSE x END"
)
NEAREST = {"int8": (-128, 127), "int16": (-(2**15), 2**15 - 1), "int32": (-(2**31), 2**31 - 1)}


def bigint(x: Any) -> Any:
    return sge.cast(x, "bigint", dialect="postgres")


def numeric(x: Any) -> Any:
    return sge.cast(x, "numeric", dialect="postgres")


class TotalNumbers(PostgresCompiler):
    """Ibis's compiler with total operations on numbers."""

    SIMPLE_OPS: ClassVar[dict[Any, Any]] = {}  # else these would replace the methods below
    UNSUPPORTED_OPS: ClassVar[tuple[Any, ...]] = ()

    def __init__(self) -> None:
        super().__init__()
        self.spans = Spans()
        #: products with a constant that are written already: the other factor and the constant
        self.products: dict[Any, tuple[Any, float]] = {}

    # -- one form for each number ----------------------------------------------------------------------------

    def whole(self, op: Any, x: Any) -> Any:
        """An integer as bigint: PostgreSQL would compute two short integers in a short type."""
        if op.dtype.is_boolean():
            return bigint(sge.cast(x, "int", dialect="postgres"))
        return x if isinstance(op, ops.Literal) or (isinstance(op, ops.Cast) and op.to.is_int64()) else bigint(x)

    def as_float(self, op: Any, x: Any) -> Any:
        """A number as float8."""
        if op.dtype.is_float64():
            return x
        if op.dtype.is_decimal() and not isinstance(op, ops.Field):
            x = filled(WITHIN_FLOATS, x=numeric(x))
        elif op.dtype.is_boolean():
            x = self.whole(op, x)
        return sge.cast(x, "float8", dialect="postgres")

    # -- arithmetic ------------------------------------------------------------------------------------------

    def arithmetic(self, op: Any, left: Any, right: Any) -> Any:
        """+, - and * of numbers."""
        if op.dtype.is_integer():
            plain = SIGNS[type(op).__name__]
            if self.spans.fits(op):
                return self.binop(plain, self.whole(op.left, left), self.whole(op.right, right))
            return filled(TO_BIGINT, x=self.binop(plain, numeric(left), numeric(right)))
        if op.dtype.is_decimal():
            return self.binop(SIGNS[type(op).__name__], left, right)
        left, right = self.as_float(op.left, left), self.as_float(op.right, right)
        if isinstance(op, ops.Multiply):
            return self.product(op, left, right)
        if isinstance(op, ops.Subtract):
            right = sge.Neg(this=sge.paren(right))
        known = [constant_of(side) for side in (op.left, op.right)]
        if any(value is not None and abs(value) < SMALL for value in known):
            return self.binop(sge.Add, left, right)
        return filled(ADD_FLOATS, x=left, y=right)

    def product(self, op: Any, left: Any, right: Any) -> Any:
        """x * y of floats. (x * c) * 2^k is written as x * (c 2^k): neither form rounds twice."""
        for factor, other, rest in ((op.right, op.left, left), (op.left, op.right, right)):
            value = constant_of(factor)
            if value is None:
                continue
            value, (rest, inner) = float(value), self.products.get(other, (rest, 1.0))
            if 1.0 <= inner < 1e280 and 1.0 <= value <= 2.0**60 and math.frexp(value)[0] == 0.5:
                value *= inner
            else:
                rest = left if other is op.left else right
            self.products[op] = rest, value
            return filled(times_constant(value), x=rest)
        return filled(MULTIPLY_FLOATS, x=left, y=right)

    def visit_Add(self, op: Any, *, left: Any, right: Any) -> Any:
        return self.arithmetic(op, left, right)

    def visit_Subtract(self, op: Any, *, left: Any, right: Any) -> Any:
        return self.arithmetic(op, left, right)

    def visit_Multiply(self, op: Any, *, left: Any, right: Any) -> Any:
        return self.arithmetic(op, left, right)

    def visit_Divide(self, op: Any, *, left: Any, right: Any) -> Any:
        left, right, value = self.as_float(op.left, left), self.as_float(op.right, right), constant_of(op.right)
        if value is not None and value != 0:
            return filled(over_constant(float(value)), x=left)
        return filled(DIVIDE_FLOATS, x=left, y=right)

    def visit_FloorDivide(self, op: Any, *, left: Any, right: Any) -> Any:
        if op.left.dtype.is_integer() and op.right.dtype.is_integer():
            return filled(EXACT_FLOOR_DIVIDE, x=bigint(left), y=bigint(right))
        return filled(FLOAT_TO_BIGINT, x=self.f.floor(self.visit_Divide(op, left=left, right=right)))

    def visit_Modulus(self, op: Any, *, left: Any, right: Any) -> Any:
        """The remainder of whole numbers; null if the divisor is 0."""
        span = self.spans.of(op.right)
        left, right = self.whole(op.left, left), self.whole(op.right, right)
        safe = span is not None and (span[0] > 0 or span[1] < 0)
        return self.binop(sge.Mod, left, right if safe else self.f.nullif(right, 0))

    def visit_Negate(self, op: Any, *, arg: Any) -> Any:
        if not op.dtype.is_integer():
            return sge.Neg(this=sge.paren(arg))
        return filled(TO_BIGINT, x=sge.Neg(this=sge.paren(numeric(arg))))

    def visit_Abs(self, op: Any, *, arg: Any) -> Any:
        span = self.spans.of(op.arg)
        if not op.dtype.is_integer():
            return self.f.abs(arg)
        if span is not None and span[0] > -(2**63):
            return self.f.abs(self.whole(op.arg, arg))
        return filled(TO_BIGINT, x=self.f.abs(numeric(arg)))

    def visit_Sum(self, op: Any, *, arg: Any, where: Any) -> Any:
        """A sum of bigint is numeric in PostgreSQL. It is cast back; a sum that does not fit is null."""
        if not op.dtype.is_integer():
            return super().visit_Sum(op, arg=arg, where=where)
        added = self.agg.sum(self.whole(op.arg, arg), where=where)
        span = self.spans.of(op.arg)
        sure = span is not None and max(abs(span[0]), abs(span[1])) < 2**13  # times 2^50 rows
        return bigint(added) if sure else filled(TO_BIGINT, x=added)

    # -- rounding --------------------------------------------------------------------------------------------

    def visit_Floor(self, op: Any, *, arg: Any) -> Any:
        return self.rounded(op, "floor", arg)

    def visit_Ceil(self, op: Any, *, arg: Any) -> Any:
        return self.rounded(op, "ceil", arg)

    def rounded(self, op: Any, way: str, arg: Any) -> Any:
        """Whole numbers of int64; null for floats that do not fit."""
        if op.arg.dtype.is_integer():
            return arg
        made = self.f[way](self.as_float(op.arg, arg))
        return bigint(made) if self.in_int64(op.arg) else filled(FLOAT_TO_BIGINT, x=made)

    def visit_Round(self, op: Any, *, arg: Any, digits: Any) -> Any:
        """To a whole number, halves away from zero. Rounding to digits is refused before."""
        if op.arg.dtype.is_integer():
            return arg
        made = filled(HALF_AWAY, x=self.as_float(op.arg, arg))
        return filled(FLOAT_TO_BIGINT, x=made) if op.dtype.is_integer() else made

    def in_int64(self, op: Any) -> bool:
        span = self.spans.of(op)
        return span is not None and span[0] >= -(2**62) and span[1] <= 2**62

    def cast_number(self, op: Any, arg: Any, to: Any) -> Any:
        """From a number or a truth value to a number."""
        from_ = op.arg.dtype
        if to.is_floating():
            made = self.as_float(op.arg, arg)
            return made if to.is_float64() else self.cast(made, to)
        if to.is_decimal():
            return self.cast(self.whole(op.arg, arg) if from_.is_integer() or from_.is_boolean() else arg, to)
        if from_.is_floating():
            made = bigint(arg) if self.in_int64(op.arg) else filled(FLOAT_TO_BIGINT, x=self.as_float(op.arg, arg))
        elif from_.is_decimal():
            made = filled(TO_BIGINT, x=self.f.round(arg))
        else:
            made = self.whole(op.arg, arg) if not isinstance(op.arg, ops.Literal) else bigint(arg)
        return self.narrow(op, made, to)

    def narrow(self, op: Any, made: Any, to: Any) -> Any:
        """A bigint as a shorter integer; null if it does not fit."""
        if to.is_int64():
            return made
        low, high = NEAREST[str(to.copy(nullable=True))]
        span = self.spans.of(op.arg) if op.arg.dtype.is_integer() else None
        if span is None or span[0] < low or span[1] > high:
            made = filled(within(f"({low - 1})::bigint", f"{high + 1}::bigint"), x=made)
        return self.cast(made, to)
