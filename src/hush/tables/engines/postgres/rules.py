"""The operations of Ibis that PostgreSQL computes for every row. All others are refused in users' expressions.

The compiler of this folder makes most of them total. The rest are total in PostgreSQL, some of them only with constant
arguments.
"""

from __future__ import annotations

from typing import Any

from hush.tables.engines.postgres.text_casts import TRY_CASTS
from hush.tables.expression import operations

__all__ = ["refuses"]

TOTAL = {
    *("Alias", "Field", "Literal", "SortKey", "IsNull", "NotNull", "IsNan", "IsInf", "And", "Or", "Not", "Xor"),
    *("Equals", "NotEquals", "Less", "LessEqual", "Greater", "GreaterEqual", "Between", "IdenticalTo", "InValues"),
    *("IfElse", "SearchedCase", "SimpleCase", "Coalesce", "NullIf", "Greatest", "Least", "Sign"),
    *("Add", "Subtract", "Multiply", "Divide", "FloorDivide", "Negate", "Abs", "Ceil", "Floor"),
    *("BitwiseAnd", "BitwiseOr", "BitwiseXor", "BitwiseNot"),
    *("StringLength", "Lowercase", "Uppercase", "Strip", "LStrip", "RStrip", "StringConcat", "StringContains"),
    *("StartsWith", "EndsWith", "StringReplace", "Reverse", "StringAscii", "StringFind"),
    *("ExtractYear", "ExtractQuarter", "ExtractMonth", "ExtractDay", "ExtractDayOfYear", "ExtractWeekOfYear"),
    *("ExtractHour", "ExtractMinute", "ExtractSecond", "ExtractEpochSeconds", "DayOfWeekIndex", "Date"),
    *("DateTruncate", "TimestampTruncate", "DateDelta"),
    # over the rows of one person; `hush.tables.per_person` adds whole numbers, and its clipped sums are total
    *("CountStar", "Count", "CountDistinct", "Min", "Max", "Sum", "Mean", "Any", "All"),
    *("WindowFunction", "WindowBoundary", "MinRank", "DenseRank"),
}
FAILS = "which PostgreSQL cannot compute for every possible row"


def refuses(node: Any) -> str:
    """Why an operation is refused; empty if it is total."""
    ops, name = operations(), type(node).__name__
    if isinstance(node, ops.Relation) or not isinstance(node, ops.Value) or name in TOTAL:
        return "" if mixed_numbers_only(node) else FAILS
    rule = WITH_CONDITION.get(name)
    return "" if rule is not None and rule(node) else FAILS


def mixed_numbers_only(node: Any) -> bool:
    """+ and - of Ibis are also for other types than numbers; these have other names, except for a few."""
    plain = type(node).__name__ in ("Add", "Subtract", "Multiply", "Divide", "FloorDivide", "Negate", "Abs")
    return not plain or bool(node.dtype.is_numeric())


def constant(node: Any, low: int | None = None) -> bool:
    """Is it a constant, and at least `low`?"""
    return isinstance(node, operations().Literal) and (low is None or (node.value is not None and node.value >= low))


def may_cast(node: Any) -> bool:
    """Casts that are total. Text is cast by try_cast only, which `must_be_rowwise` checks."""
    from_, to = node.arg.dtype, node.to
    if isinstance(node.arg, operations().Literal) or to.is_string() or from_ == to:
        return True
    if from_.is_integer() or from_.is_boolean():
        return bool(to.is_signed_integer() or to.is_float64() or to.is_boolean())
    if from_.is_floating() or from_.is_decimal():
        return bool(to.is_signed_integer() or to.is_float64())
    return bool((from_.is_date() and to.is_timestamp()) or (from_.is_timestamp() and to.is_date()))


def may_try(node: Any) -> bool:
    to = node.to
    if not node.arg.dtype.is_string():
        return may_cast(node)
    return bool(to.is_signed_integer() or to.is_float64() or str(to.copy(nullable=True)) in TRY_CASTS)


def good_pattern(node: Any) -> bool:
    """LIKE fails on a pattern that ends with its escape character."""
    return constant(node.pattern) and not str(node.pattern.value).endswith("\\") and node.escape is None


def whole_remainder(node: Any) -> bool:
    return bool(node.left.dtype.is_integer() and node.right.dtype.is_integer())


WITH_CONDITION = {
    "Cast": may_cast,
    "TryCast": may_try,
    "Modulus": whole_remainder,
    "HexDigest": lambda node: node.how in ("md5", "sha256", "sha512"),
    "Round": lambda node: node.digits is None or (constant(node.digits) and node.digits.value == 0),
    "BitwiseRightShift": lambda node: constant(node.right, 0) and node.right.value < 63,
    "Substring": lambda node: constant(node.start, 0) and (node.length is None or constant(node.length, 0)),
    "StrRight": lambda node: constant(node.nchars, 0),
    "RegexSearch": lambda node: constant(node.pattern),
    "StringSQLLike": good_pattern,
    "StringSQLILike": good_pattern,
    "DateAdd": lambda node: constant(node.right),
    "DateSub": lambda node: constant(node.right),
    "IntervalFromInteger": lambda node: constant(node.arg),
}
