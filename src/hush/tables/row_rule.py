"""Which operations of Ibis a row may use, by the types of their arguments, and how each engine makes them total.

An operation is total if it has a value, or null, for every row that the types of its arguments allow. There are three
ways, by engine:

- `PLAIN`: the engine computes it for every row. (PostgreSQL's compiler writes a form for which this is true.)
- `NULL`: it may fail on some rows; the engine writes a form that is null there (`Engine.tries`).
- `REFUSED`: nothing is known that makes it total, so the expression is refused before anything is read.

`RULES` is the whole list. The first rule whose condition holds counts, and an operation without a rule is refused. No
name is trusted alone: `a < b` is plain for two dates, and not for two decimals of different scale, one of which the
engine would cast. The table in docs/tables.md is printed from this list (`as_markdown`), and a test runs every rule on
extreme rows.
"""

from __future__ import annotations

import datetime
import re
import uuid
from collections.abc import Callable, Iterable
from dataclasses import dataclass
from functools import cache
from importlib import import_module
from typing import Any

from hush.tables.expression import operations

__all__ = ["NULL", "PLAIN", "REFUSED", "RULES", "TITLES", "aligned", "as_markdown", "how"]

PLAIN, NULL, REFUSED = "as it is", "null where it fails", "refused"
#: the engines of the list, and their names for readers
TITLES = {"duckdb": "DuckDB", "pyspark": "Spark", "postgres": "PostgreSQL"}

#: Operations that compare several values, or choose one of them, and the arguments that need one type.
TOGETHER = {
    **dict.fromkeys(
        ("Equals", "NotEquals", "Less", "LessEqual", "Greater", "GreaterEqual", "IdenticalTo"), (("left", "right"),)
    ),
    "Between": (("arg", "lower_bound", "upper_bound"),),
    "InValues": (("value", "options"),),
    "NullIf": (("arg", "null_if_expr"),),
    **dict.fromkeys(("Coalesce", "Greatest", "Least"), (("arg",),)),
    "IfElse": (("true_expr", "false_null_expr"),),
    "SearchedCase": (("results", "default"),),
    "SimpleCase": (("base", "cases"), ("results", "default")),
    "Clip": (("arg", "lower", "upper"),),
}
#: The longest constant interval by which a date is moved, in days; dates between the years 1 and 9999 stay dates.
MOST_DAYS = 400_000
DAYS = {"Y": 366, "Q": 92, "M": 31, "W": 7, "D": 1, "h": 1, "m": 1, "s": 1, "ms": 1, "us": 1, "ns": 1}
#: Quantifiers without an end in one pattern: Java and PostgreSQL take time like the length of the text to this power.
MOST_STARS = 3


# -- conditions on the types of arguments ------------------------------------------------------------------------------


def values(node: Any, names: Iterable[str]) -> list[Any]:
    """The arguments of these names; lists of arguments are opened."""
    found: list[Any] = []
    for name in names:
        value = getattr(node, name)
        found += value if isinstance(value, tuple) else [] if value is None else [value]
    return found


def groups(node: Any) -> list[list[Any]]:
    """The arguments that an operation compares or chooses from; null constants fit every type."""
    found = [values(node, names) for names in TOGETHER[type(node).__name__]]
    return [[value for value in group if not value.dtype.is_null()] for group in found]


def same(one: Any, other: Any) -> bool:
    """Are two types equal, whether or not they allow null? Times have microseconds unless they say otherwise."""
    if one.is_timestamp() and other.is_timestamp():
        return bool(one.timezone == other.timezone and (one.scale or 6) == (other.scale or 6))
    return bool(one.copy(nullable=True) == other.copy(nullable=True))


def one_kind(parts: list[Any]) -> bool:
    """Does an engine compare these without a cast that may fail?"""
    kinds = [part.dtype for part in parts]
    if not kinds:
        return True
    if any(kind.is_interval() for kind in kinds):
        return False
    if all(same(kind, kinds[0]) for kind in kinds) or all(kind.is_string() for kind in kinds):
        return True
    if all(kind.is_integer() for kind in kinds):
        return not any(kind.is_uint64() for kind in kinds)
    if not all(kind.is_numeric() and not kind.is_boolean() for kind in kinds):
        return False
    if any(kind.is_floating() for kind in kinds):
        return True
    columns = [part.dtype for part in parts if not (is_constant(part) and part.dtype.is_integer())]
    return bool(columns) and all(same(kind, columns[0]) and kind.is_decimal() for kind in columns)


def text_alone(node: Any) -> bool:
    """Is no text compared with anything else? An engine would cast the text; DuckDB does so for IN before its TRY."""
    kinds = [[part.dtype.is_string() for part in group] for group in groups(node)]
    return type(node).__name__ != "InValues" and all(all(kind) or not any(kind) for kind in kinds)


def alike(node: Any) -> bool:
    return all(one_kind(group) for group in groups(node))


def alike_on_postgres(node: Any) -> bool:
    """PostgreSQL casts a numeric to a float where it meets one, which fails beyond the float; columns are within
    float64.
    """
    ops = operations()
    for group in groups(node):
        decimals = [part for part in group if part.dtype.is_decimal()]
        kinds = [part.dtype for part in group if part.dtype.is_floating()]
        read = all(isinstance(part, ops.Field | ops.Literal) for part in decimals)
        if decimals and kinds and not (read and all(kind.is_float64() for kind in kinds)):
            return False
    return True


def all_of(*tests: str) -> Callable[[Any], bool]:
    """Is every argument of one of these types?"""

    def holds(node: Any) -> bool:
        parts = [part for part in node.__children__ if isinstance(part, operations().Value)]
        return all(any(getattr(part.dtype, f"is_{test}")() for test in (*tests, "null")) for part in parts)

    return holds


numbers, texts, truths = all_of("numeric"), all_of("string"), all_of("boolean")
days = all_of("date", "timestamp")


def always(node: Any) -> bool:
    return True


def floats(node: Any) -> bool:
    return bool(node.dtype.is_floating()) and numbers(node)


def wholes(node: Any) -> bool:
    return bool(node.dtype.is_integer()) and numbers(node)


def decimals(node: Any) -> bool:
    """Decimals, and perhaps whole numbers, without floats."""
    return bool(node.dtype.is_decimal()) and numbers(node) and not any(p.dtype.is_floating() for p in node.__children__)


def signed(node: Any) -> bool:
    """Whole numbers that fit int64."""
    return wholes(node) and not any(part.dtype.is_uint64() for part in node.__children__)


def is_constant(node: Any, low: int | None = None) -> bool:
    """Is it a constant, and a number from `low` to a billion?"""
    return isinstance(node, operations().Literal) and (
        low is None or (node.value is not None and low <= node.value <= 10**9)
    )


def constants(*names: str, low: int | None = None) -> Callable[[Any], bool]:
    """Are these arguments constants (or left out), and at least `low`?"""
    return lambda node: all(getattr(node, n) is None or is_constant(getattr(node, n), low) for n in names)


def texts_and_constants(*names: str, low: int | None = None) -> Callable[[Any], bool]:
    fixed = constants(*names, low=low)
    return lambda node: node.arg.dtype.is_string() and fixed(node)


def short_interval(node: Any) -> bool:
    """Is a date moved by a constant that keeps it a date?"""
    ops, moved = operations(), node.right
    part = moved.arg if isinstance(moved, ops.IntervalFromInteger) else moved
    while isinstance(part, ops.Cast):
        part = part.arg
    unit = getattr(moved.dtype, "unit", None)
    if not isinstance(part, ops.Literal) or part.value is None or unit is None or not moved.dtype.is_interval():
        return False
    amount = part.value.days if isinstance(part.value, datetime.timedelta) else part.value
    return isinstance(amount, int) and abs(amount) * DAYS.get(unit.short, MOST_DAYS + 1) <= MOST_DAYS


def known_format(node: Any) -> bool:
    """A constant format with the usual parts of a date, and marks between them: Spark fails on others."""
    return is_constant(node.format_str) and bool(re.fullmatch("([^%A-Za-z']|%[YmdjHMS])*", str(node.format_str.value)))


def plain_like(node: Any) -> bool:
    """LIKE fails on a pattern that ends with its escape character."""
    return is_constant(node.pattern) and not str(node.pattern.value).endswith("\\") and node.escape is None


def short_like(node: Any) -> bool:
    """The same, with few signs of any text: Java tries them one inside the other."""
    return plain_like(node) and str(node.pattern.value).count("%") <= MOST_STARS


def known_pattern(node: Any) -> bool:
    """A constant regular expression without references back, which RE2 reads; or one from the data, which it tries."""
    if not is_constant(node.pattern):
        return True
    return isinstance(node.pattern.value, str) and is_quick(node.pattern.value, nested=True)


def plain_pattern(node: Any) -> bool:
    """A constant regular expression that takes no more time than a power of the length of the text."""
    return is_constant(node.pattern) and isinstance(node.pattern.value, str) and is_quick(node.pattern.value)


@cache
def is_quick(pattern: str, *, nested: bool = False) -> bool:
    """No reference back; unless `nested`, no quantifier inside another one, and few quantifiers without an end."""
    parser = import_module("re._parser")
    try:
        tree = parser.parse(pattern)
    except (re.error, RecursionError, OverflowError):
        return False
    stars = 0

    def inside(items: Any, repeated: bool) -> bool:
        nonlocal stars
        for name, value in items:
            kind = str(name)
            if kind in ("GROUPREF", "GROUPREF_EXISTS", "ASSERT", "ASSERT_NOT"):
                return False
            if kind in ("MAX_REPEAT", "MIN_REPEAT", "POSSESSIVE_REPEAT"):
                again = value[1] is parser.MAXREPEAT or value[1] > 1
                stars += value[1] is parser.MAXREPEAT or value[1] > 100
                if (again and repeated and not nested) or not inside(value[2], repeated or again):
                    return False
            parts = value[1] if kind == "BRANCH" else [value[-1]] if kind in ("SUBPATTERN", "ATOMIC_GROUP") else []
            if not all(inside(part, repeated) for part in parts):
                return False
        return True

    return inside(tree, False) and (nested or stars <= MOST_STARS) and len(pattern) <= 1000


def short_distance(node: Any) -> bool:
    """The time is the product of the lengths, so one text is short: a constant."""
    return texts(node) and any(is_constant(part) and len(str(part.value)) <= 1000 for part in (node.left, node.right))


def scalar_body(node: Any) -> bool:
    """A function of one element that uses no list: lists inside lists take time like the square of their length."""
    parts = node.body.find(operations().Value)
    return not any(part.dtype.is_array() or part.dtype.is_map() for part in parts if part is not node)


def readable(node: Any) -> bool:
    """A constant whose cast has the same value for every row, and never fails."""
    arg, to = node.arg, node.to
    if not is_constant(arg):
        return False
    if arg.value is None or same(arg.dtype, to):
        return True
    if not arg.dtype.is_string():
        return bool(to.is_float64() and arg.dtype.is_numeric())
    return reads(arg.value, to)


def reads(text: str, kind: Any) -> bool:
    """Is a constant text a value of this type, in the one form that every engine reads in the same way?"""
    clock = r"\d{4}-\d{2}-\d{2}([ T]\d{2}:\d{2}:\d{2}(\.\d{1,6})?)?"
    forms: list[tuple[bool, str, Callable[[str], Any]]] = [
        (kind.is_float64(), ".{1,40}", float),
        (kind.is_date(), r"\d{4}-\d{2}-\d{2}", datetime.date.fromisoformat),
        (kind.is_timestamp(), clock, datetime.datetime.fromisoformat),
        (kind.is_uuid(), "[0-9a-fA-F-]{36}", uuid.UUID),
    ]
    for is_kind, form, read in forms:
        if is_kind and re.fullmatch(form, text, re.ASCII):
            try:
                return read(text) is not None
            except ValueError:
                return False
    return False


def to_text(node: Any) -> bool:
    return bool(node.to.is_string() and not node.arg.dtype.is_interval())


def wide_enough(node: Any) -> bool:
    """A type that holds every value of the first one."""
    from_, to = node.arg.dtype, node.to
    whole = (from_.is_integer() or from_.is_boolean()) and (
        to.is_float64() or (to.is_int64() and not from_.is_uint64())
    )
    return bool(same(from_, to) or whole or (to.is_float64() and from_.is_numeric()))


def between_numbers(node: Any) -> bool:
    """Casts that PostgreSQL's compiler makes total."""
    from_, to = node.arg.dtype, node.to
    if from_.is_integer() or from_.is_boolean():
        return bool(to.is_signed_integer() or to.is_float64() or to.is_boolean())
    return bool((from_.is_floating() or from_.is_decimal()) and (to.is_signed_integer() or to.is_float64()))


def between_days(node: Any) -> bool:
    from_, to = node.arg.dtype, node.to
    return bool((from_.is_date() and to.is_timestamp()) or (from_.is_timestamp() and to.is_date()))


def from_text(node: Any) -> bool:
    return bool(node.arg.dtype.is_string())


def read_by_form(node: Any) -> bool:
    """Text as a type for which PostgreSQL's compiler has a form."""
    to = node.to
    known = to.is_signed_integer() or to.is_float64() or to.is_date() or to.is_boolean()
    return from_text(node) and bool(known)


def either(*conditions: Callable[[Any], bool]) -> Callable[[Any], bool]:
    return lambda node: any(condition(node) for condition in conditions)


def both(*conditions: Callable[[Any], bool]) -> Callable[[Any], bool]:
    return lambda node: all(condition(node) for condition in conditions)


# -- the list ----------------------------------------------------------------------------------------------------------


@dataclass(frozen=True)
class Rule:
    """Operations with arguments of some types, and how each engine makes them total."""

    what: str
    operations: str
    arguments: str
    holds: Callable[[Any], bool]
    duckdb: str
    pyspark: str
    postgres: str

    @property
    def names(self) -> tuple[str, ...]:
        return tuple(self.operations.split())


_CALCULATED = "Power Sqrt Exp Ln Log Log2 Log10 Sin Cos Tan Cot Asin Acos Atan Atan2 Degrees Radians"
_DAYS = "ExtractYear ExtractQuarter ExtractMonth ExtractDay ExtractDayOfYear ExtractWeekOfYear"
_PARTS = f"{_DAYS} ExtractHour ExtractMinute ExtractSecond"
_LISTS = "ArrayAll ArrayAny ArrayConcat ArrayContains ArrayDistinct ArrayFlatten ArrayIndex ArrayIntersect ArrayMax"
_MORE_LISTS = (
    "ArrayMean ArrayMin ArrayMode ArrayPosition ArrayRemove ArrayRepeat ArraySlice ArraySort ArraySum ArrayUnion"
)
_MAPS = "Map MapConcat MapMerge MapContains MapGet MapKeys MapLength MapValues MapValueForKey MapValueOrDefaultForKey"
_JSON = "JSONGetItem ToJSONArray ToJSONMap UnwrapJSONBoolean UnwrapJSONFloat64 UnwrapJSONInt64 UnwrapJSONString"
_ADDRESSES = "ExtractAuthority ExtractFile ExtractFragment ExtractHost ExtractPath ExtractProtocol ExtractQuery"
_CLOCK = "Time TimeAdd TimeSub TimeTruncate TimeFromHMS BetweenTime TimestampBucket TimestampFromUNIX DateFromYMD"
_AGGREGATES = "CountStar Count CountDistinct Min Max Sum Mean Any All MinRank DenseRank WindowFunction WindowBoundary"
_COMPARING = "Equals NotEquals Less LessEqual Greater GreaterEqual IdenticalTo Between InValues Coalesce NullIf IfElse"
_ALL_COMPARING = f"{_COMPARING} SearchedCase SimpleCase Greatest Least"

RULES: tuple[Rule, ...] = (
    Rule("columns and constants", "Alias Field Literal SortKey", "any", always, PLAIN, PLAIN, PLAIN),
    Rule("hush's own", "TextByBytes Tried Real HexNumber WideSum Argument", "any", always, PLAIN, PLAIN, PLAIN),
    Rule("aggregates of a person's rows", _AGGREGATES, "any", always, PLAIN, PLAIN, PLAIN),
    # comparisons and choices
    Rule("comparisons and choices", _ALL_COMPARING, "of one type; whole numbers; numbers of which one is a float; a "
         "decimal and whole constants; dates, times and constants such as '2025-12-31', which are cast first",
         both(alike, alike_on_postgres), PLAIN,
         PLAIN, PLAIN),
    Rule("", _ALL_COMPARING, "a float and a computed decimal", alike, PLAIN, PLAIN, REFUSED),
    Rule("", _ALL_COMPARING, "other types, but not text with another type, nor IN", text_alone, NULL, REFUSED, REFUSED),
    Rule("within limits", "Clip", "of one type", alike, PLAIN, PLAIN, REFUSED),
    Rule("", "Clip", "other types but text", text_alone, NULL, REFUSED, REFUSED),
    Rule("tests", "IsNull NotNull", "any", always, PLAIN, PLAIN, PLAIN),
    Rule("", "IsNan IsInf", "numbers", numbers, PLAIN, PLAIN, PLAIN),
    Rule("and, or, not, xor", "And Or Not Xor", "truth values", truths, PLAIN, PLAIN, PLAIN),
    # numbers
    Rule("+ - * and the absolute value", "Add Subtract Multiply Negate Abs", "floats", floats, PLAIN, PLAIN, PLAIN),
    Rule("", "Add Subtract Multiply Negate Abs", "whole numbers, computed with 64 bits (as it is where all values fit)",
         wholes, NULL, NULL, PLAIN),
    Rule("", "Add Subtract Multiply Negate Abs", "decimals", decimals, NULL, NULL, PLAIN),
    Rule("", "Add Subtract Multiply", "a decimal and a float", numbers, NULL, NULL, REFUSED),
    Rule("division", "Divide FloorDivide", "numbers", numbers, NULL, NULL, PLAIN),
    Rule("remainder", "Modulus", "whole numbers", wholes, NULL, NULL, PLAIN),
    Rule("", "Modulus", "other numbers", numbers, NULL, NULL, REFUSED),
    Rule("functions of numbers", _CALCULATED, "numbers", numbers, NULL, NULL, REFUSED),
    Rule("rounding", "Ceil Floor", "numbers", numbers, NULL, NULL, PLAIN),
    Rule("", "Round", "numbers, to whole ones", lambda node: numbers(node) and constants("digits")(node) and
         (node.digits is None or node.digits.value == 0), NULL, NULL, PLAIN),
    Rule("", "Round", "numbers, to a constant number of digits", both(numbers, constants("digits")), NULL, NULL,
         REFUSED),
    Rule("", "Round", "numbers, to digits from the data", numbers, NULL, REFUSED, REFUSED),
    Rule("sign", "Sign", "numbers", numbers, PLAIN, PLAIN, PLAIN),
    Rule("bits", "BitwiseAnd BitwiseOr BitwiseXor BitwiseNot", "whole numbers but uint64", signed, PLAIN, PLAIN, PLAIN),
    Rule("", "BitwiseAnd BitwiseOr BitwiseXor BitwiseNot", "other whole numbers", wholes, NULL, REFUSED, REFUSED),
    Rule("", "BitwiseRightShift", "whole numbers, by a constant up to 62",
         lambda node: signed(node) and is_constant(node.right, 0) and node.right.value < 63, NULL, NULL, PLAIN),
    Rule("", "BitwiseLeftShift BitwiseRightShift", "whole numbers", wholes, NULL, REFUSED, REFUSED),
    Rule("constants", "E Pi", "none", always, PLAIN, PLAIN, REFUSED),
    Rule("bins", "Bucket", "numbers", numbers, NULL, REFUSED, REFUSED),
    # casts
    Rule("casts", "Cast", "a constant that has the type", readable, PLAIN, PLAIN, PLAIN),
    Rule("", "Cast TryCast", "any but intervals to text", to_text, PLAIN, NULL, PLAIN),
    Rule("", "Cast", "text to another type (write try_cast)", from_text, REFUSED, REFUSED, REFUSED),
    Rule("", "Cast TryCast", "to a type that holds all values",
         lambda node: wide_enough(node) and (between_numbers(node) or same(node.arg.dtype, node.to)), PLAIN, NULL,
         PLAIN),
    Rule("", "Cast TryCast", "between numbers and truth values", between_numbers, NULL, NULL, PLAIN),
    Rule("", "Cast TryCast", "dates to times, times to dates", between_days, NULL, NULL, PLAIN),
    Rule("", "TryCast", "text to whole numbers, float64, dates, truth values", read_by_form, PLAIN, PLAIN, PLAIN),
    Rule("", "Cast TryCast", "other types", always, NULL, NULL, REFUSED),
    Rule("digests", "HexDigest", "text, by md5, sha256 or sha512",
         lambda node: node.how in ("md5", "sha256", "sha512"), PLAIN, PLAIN, PLAIN),
    Rule("", "Hash HashBytes HexDigest TypeOf", "any", always, NULL, PLAIN, REFUSED),
    # text
    Rule("text", "StringLength Lowercase Uppercase Strip LStrip RStrip Reverse StringAscii StringConcat StringContains "
         "StartsWith EndsWith StringReplace", "text", texts, PLAIN, PLAIN, PLAIN),
    Rule("", "StringFind", "text, from its start", lambda node: node.start is None and node.end is None, PLAIN, PLAIN,
         PLAIN),
    Rule("", "StringFind", "text, from a place", always, NULL, REFUSED, REFUSED),
    Rule("", "Substring", "text, constant places from 0 up", texts_and_constants("start", "length", low=0), NULL, PLAIN,
         PLAIN),
    Rule("", "StrRight", "text, a constant number from 0 up", texts_and_constants("nchars", low=0), NULL, PLAIN, PLAIN),
    Rule("", "Substring StrRight", "text, other places", always, NULL, REFUSED, REFUSED),
    Rule("", "StringSlice", "text", always, NULL, REFUSED, REFUSED),
    Rule("", "Repeat LPad RPad", "text, a constant length", always, NULL, PLAIN, REFUSED),
    Rule("", "Capitalize StringJoin", "text", always, NULL, PLAIN, REFUSED),
    Rule("", "Translate", "text, by constants", texts_and_constants("from_str", "to_str"), NULL, PLAIN, REFUSED),
    Rule("", "Levenshtein", "text and a short constant", short_distance, NULL, PLAIN, REFUSED),
    Rule("", "StringSQLLike StringSQLILike", "text and a constant pattern with at most 3 %", short_like, PLAIN, PLAIN,
         PLAIN),
    Rule("", "StringSQLLike StringSQLILike", "text and another constant pattern", plain_like, PLAIN, REFUSED, PLAIN),
    Rule("", "StringSQLLike StringSQLILike", "text and a pattern from the data", always, NULL, REFUSED, REFUSED),
    Rule("", "RegexSearch", "text and a constant pattern without nested repeats", plain_pattern, NULL, PLAIN, PLAIN),
    Rule("", "RegexSearch RegexExtract RegexReplace RegexSplit", "text and other patterns that RE2 reads",
         known_pattern, NULL, REFUSED, REFUSED),
    Rule("", f"StringSplit FindInSet ArrayStringJoin {_ADDRESSES} ExtractUserInfo", "text", always, NULL, REFUSED,
         REFUSED),
    # dates and times
    Rule("parts of dates", f"{_PARTS} DayOfWeekIndex", "dates and times", days, PLAIN, PLAIN, PLAIN),
    Rule("", "ExtractEpochSeconds", "dates and times", days, NULL, NULL, PLAIN),
    Rule("", "ExtractIsoYear ExtractMillisecond ExtractMicrosecond DayOfWeekName", "dates and times", days, NULL, PLAIN,
         REFUSED),
    Rule("", f"{_PARTS} ExtractMillisecond ExtractMicrosecond ExtractEpochSeconds", "other types", always,
         NULL, REFUSED, REFUSED),
    Rule("dates", "Date", "times", days, NULL, NULL, PLAIN),
    Rule("", "DateTruncate TimestampTruncate", "dates and times (Spark, PostgreSQL: of the years 1 to 9999)", days,
         NULL, PLAIN, PLAIN),
    Rule("", "DateDelta", "dates (Spark: of the years 1 to 9999)", always, NULL, PLAIN, PLAIN),
    Rule("", "DateAdd DateSub", "a constant up to 1,000 years (Spark, PostgreSQL: of the years 1 to 9999)",
         short_interval, NULL, PLAIN, PLAIN),
    Rule("", "TimestampAdd TimestampSub", "a constant up to 1,000 years (Spark: of the years 1 to 9999)",
         short_interval, NULL, PLAIN, REFUSED),
    Rule("", "DateAdd DateSub TimestampAdd TimestampSub", "other intervals", always, NULL, REFUSED, REFUSED),
    Rule("", "DateDiff TimestampDiff TimeDiff TimestampDelta", "dates and times", always, NULL, REFUSED,
         REFUSED),
    Rule("", "TimeDelta", "times of a day, in hours or shorter units", lambda node: is_constant(node.part) and
         node.part.value in ("hour", "minute", "second", "millisecond", "microsecond"), NULL, REFUSED, REFUSED),
    Rule("", "Strftime", "dates and times (Spark: of the years 1 to 9999), a format of %Y %m %d %j %H %M %S",
         known_format, NULL, PLAIN, REFUSED),
    Rule("", "Strftime", "dates and times, another constant format", constants("format_str"), NULL, REFUSED, REFUSED),
    Rule("", "StringToDate StringToTime StringToTimestamp", "text, a constant format", constants("format_str"), NULL,
         REFUSED, REFUSED),
    Rule("", f"{_CLOCK} TimestampFromYMDHMS", "any", always, NULL, REFUSED, REFUSED),
    Rule("intervals", "IntervalFromInteger", "a constant up to a million",
         lambda node: is_constant(node.arg, -(10**6)) and node.arg.value <= 10**6, PLAIN, PLAIN, PLAIN),
    Rule("", "IntervalFromInteger IntervalAdd IntervalSubtract IntervalMultiply IntervalFloorDivide", "any", always,
         NULL, REFUSED, REFUSED),
    # lists, maps, JSON
    Rule("structs", "StructField StructColumn", "any", always, PLAIN, PLAIN, REFUSED),
    Rule("lists", f"Array ArrayLength ArrayUnion ArrayZip IntegerRange {_LISTS} {_MORE_LISTS}", "any", always,
         NULL, REFUSED, REFUSED),
    Rule("", "ArrayMap ArrayFilter", "a function of one element, without lists", scalar_body, NULL, REFUSED, REFUSED),
    Rule("maps", _MAPS, "any", always, NULL, REFUSED, REFUSED),
    Rule("JSON", _JSON, "any", always, NULL, REFUSED, REFUSED),
)  # fmt: skip


@cache
def by_name() -> dict[str, tuple[Rule, ...]]:
    """The rules of each operation, in their order."""
    names = dict.fromkeys(name for rule in RULES for name in rule.names)
    return {name: tuple(rule for rule in RULES if name in rule.names) for name in names}


def how(engine: str, node: Any) -> str:
    """How an engine makes an operation total: `PLAIN`, `NULL` or `REFUSED`."""
    ops = operations()
    if not isinstance(node, ops.Value):
        return PLAIN
    for rule in by_name().get(type(node).__name__, ()):
        if rule.holds(node):
            return str(getattr(rule, engine))
    # `per_person` has a list of its own of what may be computed over several rows
    return PLAIN if isinstance(node, ops.Reduction | ops.Analytic) and engine != "postgres" else REFUSED


# -- arguments in one type ---------------------------------------------------------------------------------------------


def aligned(node: Any, cast: Callable[[Any], Any] = lambda made: made) -> Any:
    """The operation with the casts written out that an engine would add: a date beside times becomes a time, and a
    constant text beside dates a date. `cast` is applied to each cast.
    """
    for names in TOGETHER.get(type(node).__name__, ()):
        given = {name: getattr(node, name) for name in names}
        kind = _common(values(node, names))
        if kind is None:
            continue

        def as_kind(value: Any, kind: Any = kind) -> Any:
            other = not value.dtype.is_null() and not same(value.dtype, kind) and not value.dtype.is_timestamp()
            return cast(operations().Cast(value, kind)) if other else value

        node = node.copy(
            **{n: tuple(map(as_kind, v)) if isinstance(v, tuple) else v and as_kind(v) for n, v in given.items()}
        )
    return node


def _common(parts: list[Any]) -> Any:
    """The type in which dates meet times, and constant text meets dates, times or UUIDs; None if no cast is needed."""
    real = [part for part in parts if not part.dtype.is_null()]
    texts = [part for part in real if is_constant(part) and part.dtype.is_string()]
    kinds = [part.dtype for part in real if part not in texts]
    kind = next((kind for kind in kinds if kind.is_timestamp()), kinds[0] if kinds else None)
    if kind is None or all(same(part.dtype, kind) for part in real):
        return None
    dated = all(other.is_date() or other.is_timestamp() for other in kinds)
    if not dated and not all(other.is_uuid() for other in kinds):
        return None
    return kind if all(reads(part.value, kind) for part in texts) else None


# -- the list as a table -----------------------------------------------------------------------------------------------


def as_markdown() -> str:
    """The list as the table of docs/tables.md, without the operations that hush adds."""
    lines = [f"| operations of Ibis | arguments | {' | '.join(TITLES.values())} |", "|---" * 5 + "|"]
    for rule in RULES:
        if rule.what != "hush's own":
            names = ", ".join(f"`{name}`" for name in rule.names)
            ways = " | ".join(getattr(rule, engine) for engine in TITLES)
            lines.append(f"| {names} | {rule.arguments} | {ways} |")
    return "\n".join(lines)
