"""Times as whole numbers of microseconds since 1970, on every engine."""

from __future__ import annotations

from functools import cache
from typing import Any

from hush.tables.expression import as_int64, ibis, operations
from hush.tables.quantise import moment_of

__all__ = ["microseconds"]

_SECOND = 1_000_000


def microseconds(column: Any, first: int, last: int) -> Any:
    """Times as microseconds since 1970, moved into [first, last] before any arithmetic: a time may be infinite."""
    low, high = moment_of(column, first), moment_of(column, last)
    inside = ibis().cases((column < low, low), (column > high, high), else_=column)
    if column.type().timezone:
        return micros_of_time()(inside).to_expr()
    day = as_int64(inside.date().delta(ibis().date(1970, 1, 1), unit="day"))
    hour, minute, second = (as_int64(part) for part in (inside.hour(), inside.minute(), inside.second()))
    full = day * _int64(86_400) + hour * _int64(3600) + minute * _int64(60) + second
    return full * _int64(_SECOND) + micros_of_time()(inside).to_expr()


def _int64(number: int) -> Any:
    return ibis().literal(number, type="int64")


@cache
def micros_of_time() -> Any:
    """The operation that gives the microseconds since 1970 of a time with a zone, and those since the last full second
    of one without.
    """
    from ibis.backends.sql.compilers.base import SQLGlotCompiler

    class MicrosOfTime(operations().Unary):  # type: ignore[misc]  # a class of Ibis, which has no types
        dtype = ibis().dtype("int64")

    SQLGlotCompiler.visit_MicrosOfTime = _written
    return MicrosOfTime


def _written(compiler: Any, operation: Any, *, arg: Any) -> Any:
    """The microseconds in the dialect of the compiler's engine. Spark extracts none, and DuckDB's count is whole."""
    import sqlglot.expressions as sge

    dialect, zoned = compiler.dialect.__name__.lower(), operation.arg.dtype.timezone
    plain = compiler.f.anon
    if dialect == "pyspark":
        whole = plain.unix_micros(sge.Cast(this=arg, to=sge.DataType.build("timestamp", dialect="spark")))
        return whole if zoned else plain.pmod(whole, sge.convert(_SECOND))
    if zoned and dialect == "postgres":
        number = sge.Extract(this=sge.Var(this="epoch"), expression=arg) * sge.convert(_SECOND)
        return compiler.cast(number, operation.dtype)
    return plain.epoch_us(arg) if zoned else compiler.visit_ExtractMicrosecond(operation, arg=arg)
