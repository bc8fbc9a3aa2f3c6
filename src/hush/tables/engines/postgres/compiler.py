"""The SQL of an Ibis expression for PostgreSQL, in which no operation fails because of a row.

PostgreSQL stops a query on overflow, on underflow, on division by zero and on a cast that does not fit. The methods
here replace such operations by ones that are defined for every row and equal those of DuckDB wherever DuckDB has a
result. Where DuckDB would stop too (an integer beyond 64 bits), the result is null.

Columns are read in one form each: text without collation and without padding, numeric without NaN and within float64.
Tables from memory become arrays in the SQL, because a reader may not create tables.
"""

from __future__ import annotations

from typing import Any, ClassVar

import ibis.expr.datatypes as dt
import sqlglot as sg
import sqlglot.expressions as sge

from hush.tables.engines.contract import step_by_step
from hush.tables.engines.postgres.numbers import WITHIN_FLOATS, TotalNumbers
from hush.tables.engines.postgres.templates import filled
from hush.tables.engines.postgres.text_casts import TRY_CASTS

__all__ = ["TotalPostgres", "compiled"]

#: Dates that PostgreSQL's timestamps can hold, with room for an interval.
NEAR = "x BETWEEN '0001-01-01'::date AND '9999-12-31'::date"
NEAR_TIMES = "x BETWEEN '0001-01-01'::timestamp AND '9999-12-31'::timestamp"


def compiled(relation: Any) -> str:
    """The SQL of an expression."""
    with step_by_step():
        query = TotalPostgres().to_sqlglot(relation)
    text: str = query.sql(dialect="postgres", unsupported_level=sg.ErrorLevel.RAISE)
    return text


class TotalPostgres(TotalNumbers):
    """The compiler. One object compiles one expression."""

    SIMPLE_OPS: ClassVar[dict[Any, Any]] = {}
    UNSUPPORTED_OPS: ClassVar[tuple[Any, ...]] = ()

    # -- rows ------------------------------------------------------------------------------------------------

    def visit_DatabaseTable(self, op: Any, *, name: str, schema: Any, source: Any, namespace: Any) -> Any:
        """Every column in one form."""
        table = super().visit_DatabaseTable(op, name=name, schema=schema, source=source, namespace=namespace)
        columns = {column: sg.column(column, quoted=True) for column in schema}
        return sg.select(*(self.as_read(columns[c], kind).as_(c, quoted=True) for c, kind in schema.items())).from_(
            table
        )

    def as_read(self, column: Any, kind: Any) -> Any:
        """A column of a table: text by its bytes; numeric that float64 can hold."""
        if kind.is_string():
            return filled('x::text COLLATE "C"', x=column)
        if kind.is_decimal():
            short = kind.precision is not None and kind.precision <= 300 and 0 <= (kind.scale or 0) <= 300
            return filled("NULLIF(x, 'NaN'::numeric)" if short else WITHIN_FLOATS, x=column)
        return column

    def visit_InMemoryTable(self, op: Any, *, name: str, schema: Any, data: Any) -> Any:
        """The rows as arrays in the SQL. Text with a zero byte equals no text of PostgreSQL, so it is null."""
        table = data.to_pyarrow(schema)
        arrays = [
            sge.Cast(
                this=sge.Literal.string(array_text(table.column(column).to_pylist())),
                to=self.type_mapper.from_ibis(dt.Array(kind)),
            )
            for column, kind in schema.items()
        ]
        names = [sg.to_identifier(column, quoted=True) for column in schema]
        alias = sge.TableAlias(this=sg.to_identifier("listed", quoted=True), columns=names)
        read = [self.as_read(sg.column(c, quoted=True), kind).as_(c, quoted=True) for c, kind in schema.items()]
        return sg.select(*read).from_(sge.Unnest(expressions=arrays, alias=alias))

    # -- casts -----------------------------------------------------------------------------------------------

    def visit_Cast(self, op: Any, *, arg: Any, to: Any) -> Any:
        """Casts that hush.tables.row_rule allows, and those of constants."""
        from_ = op.arg.dtype
        if (from_.is_numeric() or from_.is_boolean()) and to.is_numeric():
            return self.cast_number(op, arg, to)
        if from_.is_date() and to.is_timestamp():
            return filled(f"CASE WHEN {NEAR} THEN x::timestamp END", x=arg)
        return self.cast(arg, to)

    def visit_TryCast(self, op: Any, *, arg: Any, to: Any) -> Any:
        """Text that does not have the form of the type becomes null."""
        if not op.arg.dtype.is_string():
            return self.visit_Cast(op, arg=arg, to=to)
        made = filled(TRY_CASTS[kind_of(to)], x=arg)
        return made if not to.is_integer() or to.is_int64() else self.narrow(op, made, to)

    # -- text ------------------------------------------------------------------------------------------------

    def visit_HexDigest(self, op: Any, *, arg: Any, how: str) -> Any:
        """md5, sha256 or sha512; other digests are refused before."""
        if how == "md5":
            return self.f.md5(arg)
        return filled(f"ENCODE({how.upper()}(CONVERT_TO(x, 'UTF8')), 'hex')", x=arg)

    def visit_HexNumber(self, op: Any, *, arg: Any) -> Any:
        """The last eight digits: the text is computed once."""
        return filled("('x' || RIGHT(x, 8))::bit(32)::bigint", x=arg)

    def visit_Lowercase(self, op: Any, *, arg: Any) -> Any:
        return filled('LOWER(x COLLATE "default") COLLATE "C"', x=arg)

    def visit_Uppercase(self, op: Any, *, arg: Any) -> Any:
        return filled('UPPER(x COLLATE "default") COLLATE "C"', x=arg)

    def visit_RegexSearch(self, op: Any, *, arg: Any, pattern: Any) -> Any:
        return sge.RegexpLike(this=sge.paren(arg), expression=pattern)

    # -- dates -----------------------------------------------------------------------------------------------

    def visit_DateDelta(self, op: Any, *, left: Any, right: Any, part: Any) -> Any:
        """Whole days. An infinite date has none."""
        return filled("CASE WHEN ISFINITE(x) AND ISFINITE(y) THEN (x - y)::bigint END", x=left, y=right)

    def extracted(self, op: Any, arg: Any, part: str) -> Any:
        """A part of a date or of a time; null for infinite ones."""
        kind = dt.int64 if part == "epoch" else op.dtype  # Ibis says int32, which ends in 2038
        return self.cast(filled(f"CASE WHEN ISFINITE(x) THEN FLOOR(EXTRACT({part} FROM x)) END", x=arg), kind)

    def visit_DayOfWeekIndex(self, op: Any, *, arg: Any) -> Any:
        return self.cast(filled("CASE WHEN ISFINITE(x) THEN EXTRACT(isodow FROM x) - 1 END", x=arg), op.dtype)

    def visit_Date(self, op: Any, *, arg: Any) -> Any:
        return sge.cast(arg, "date", dialect="postgres")

    def visit_DateTruncate(self, op: Any, *, arg: Any, unit: Any) -> Any:
        made = super().visit_DateTruncate(op, arg=filled(f"CASE WHEN {NEAR} THEN x::timestamp END", x=arg), unit=unit)
        return sge.cast(made, "date", dialect="postgres")

    def visit_TimestampTruncate(self, op: Any, *, arg: Any, unit: Any) -> Any:
        return super().visit_TimestampTruncate(op, arg=filled(f"CASE WHEN {NEAR_TIMES} THEN x END", x=arg), unit=unit)

    def visit_DateAdd(self, op: Any, *, left: Any, right: Any) -> Any:
        made = self.binop(sge.Add, filled(f"CASE WHEN {NEAR} THEN x END", x=left), right)
        return sge.cast(made, "date", dialect="postgres")

    def visit_DateSub(self, op: Any, *, left: Any, right: Any) -> Any:
        made = self.binop(sge.Sub, filled(f"CASE WHEN {NEAR} THEN x END", x=left), right)
        return sge.cast(made, "date", dialect="postgres")


def extraction(part: str) -> Any:
    def visit(self: TotalPostgres, op: Any, *, arg: Any) -> Any:
        return self.extracted(op, arg, part)

    return visit


for name, part in {
    "Year": "year",
    "Quarter": "quarter",
    "Month": "month",
    "Day": "day",
    "DayOfYear": "doy",
    "WeekOfYear": "week",
    "Hour": "hour",
    "Minute": "minute",
    "Second": "second",
    "EpochSeconds": "epoch",
}.items():
    setattr(TotalPostgres, f"visit_Extract{name}", extraction(part))


def kind_of(to: Any) -> str:
    """The entry of TRY_CASTS for a type."""
    return "int64" if to.is_integer() else "float64" if to.is_floating() else str(to.copy(nullable=True))


def array_text(values: list[Any]) -> str:
    """Values as the text of a PostgreSQL array."""
    return "{" + ",".join(map(element, values)) + "}"


def element(value: Any) -> str:
    if value is None or (isinstance(value, str) and "\0" in value):
        return "NULL"
    text = str(value).replace("\\", "\\\\").replace('"', '\\"')
    return f'"{text}"'
