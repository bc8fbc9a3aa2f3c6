"""How long a text or a list of an expression can be, and how many operations the expression has, from its form alone.

One row must not bring down a query. `replace`, `+` and `repeat` make long texts of short ones, and nested ones make
texts that no memory holds: five times `replace("x", 90 letters)` is 12 GB. An engine that runs out of memory, or that
never ends, reveals that there is such a row. So the length of every text and list is bounded here, before anything is
read:

    length <= fixed + copies * (the longest text or list of one row of the source)

An expression is refused if `fixed` or `copies` is beyond the limits below. So is an expression with too many
operations, where a computed column counts each time that it is used: a column `t + t` of a column `t + t` ... doubles
with each step, and an engine that merges the steps copies it that often.
"""

from __future__ import annotations

from collections.abc import Callable
from typing import Any, NamedTuple

from hush.errors import Unsupported
from hush.tables.expression import operations

__all__ = ["MOST_CHARACTERS", "MOST_COPIES", "MOST_OPERATIONS", "Lengths"]

#: characters of a text, or elements of a list, that an expression adds to the texts of the source
MOST_CHARACTERS = 10_000
#: copies of the longest text of a row of the source in one text
MOST_COPIES = 32
#: operations of an expression, computed columns counted each time that they are used; ten characters of a computed
#: text count as one. Ibis and DuckDB plan an expression of this size in about a second.
MOST_OPERATIONS = 10_000
#: operations inside each other: Python's stack holds no more while Ibis writes them
DEEPEST = 90
#: these add no operation
UNWRITTEN = ("Field", "Alias", "Tried", "Real")
#: these are written side by side, however many there are
CONNECTED = ("And", "Or")
#: the longest text of a number, a date or a truth value; of PostgreSQL's numeric: `WITHIN_FLOATS` keeps 300 digits
#: before the point and about as many after it
_SHORT, _NUMERIC, _DECIMAL = 64, 600, 39


class Length(NamedTuple):
    """`fixed` characters, and `copies` of the longest text of a row of the source."""

    fixed: int
    copies: int


NOTHING = Length(0, 0)


class Lengths:
    """`check(value)` refuses a column whose texts may be too long, or that has too many operations."""

    def __init__(self) -> None:
        self.known: dict[Any, Length] = {}
        self.sizes: dict[Any, tuple[int, int]] = {}

    def check(self, value: Any) -> None:
        """Refuse what may be too large, or take too long to plan."""
        size, depth = self.size(value)
        if depth > DEEPEST:
            raise Unsupported(
                f"an expression nests more than {DEEPEST} operations inside each other; write it shorter, or save a "
                "part of it as a column of the source."
            )
        if size > MOST_OPERATIONS:
            raise Unsupported(
                f"an expression has more than {MOST_OPERATIONS} operations, where a computed column counts each time "
                "that it is used and ten characters of a computed text count as one; write it shorter, or save a part "
                "of it as a column of the source."
            )

    def of(self, node: Any) -> Length:
        """The length of an operation's value. A length beyond the limits is refused."""
        if node not in self.known:
            found = self._found(node)
            if found.fixed > MOST_CHARACTERS or found.copies > MOST_COPIES:
                raise Unsupported(
                    f"an expression uses {type(node).__name__} for a text or a list that may have more than "
                    f"{MOST_CHARACTERS} characters, or more than {MOST_COPIES} copies of a text of the source; one row "
                    "could then need more memory than there is, and the failure would reveal it, so write a shorter "
                    "one."
                )
            self.known[node] = found
        return self.known[node]

    def _found(self, node: Any) -> Length:
        kind = node.dtype
        if kind.is_decimal():
            return self._digits(node)
        if not is_long(kind):
            return NOTHING
        rule = RULES.get(type(node).__name__)
        return rule(self, node) if rule is not None else self.sum(children(node))

    def _digits(self, node: Any) -> Length:
        """The digits of a decimal: those of a product are those of its factors."""
        parts = [part for part in children(node) if part.dtype.is_decimal()]
        if type(node).__name__ in ("Field", "Literal", "Cast", "TryCast") or not parts:
            known = node.dtype.precision is not None and node.dtype.precision <= _DECIMAL
            return Length(_DECIMAL if known else _NUMERIC, 0)
        return self.sum(parts)

    def sum(self, nodes: Any) -> Length:
        """All of them, one after the other."""
        found = [self.as_text(node) for node in nodes]
        return Length(sum(part.fixed for part in found), sum(part.copies for part in found))

    def most(self, nodes: Any) -> Length:
        """One of them."""
        found = [self.of(node) for node in nodes] or [NOTHING]
        return Length(max(part.fixed for part in found), max(part.copies for part in found))

    def as_text(self, node: Any) -> Length:
        """The length of a value that is written as text."""
        return self.of(node) if is_long(node.dtype) or node.dtype.is_decimal() else Length(_SHORT, 0)

    def times(self, node: Any, factor: int) -> Length:
        """`factor` times as long."""
        found = self.of(node)
        return Length(found.fixed * factor, found.copies * factor)

    def size(self, value: Any) -> tuple[int, int]:
        """The number of operations, with those of the columns it uses, and how deep they are nested."""
        waiting = [value]
        while waiting:  # not by recursion: a user's expression may be deeper than Python's stack
            node = waiting[-1]
            if node in self.sizes:
                waiting.pop()
                continue
            below = column_behind(node) or children(node)
            if new := [child for child in below if child not in self.sizes]:
                waiting += new
                continue
            kind = type(node).__name__
            size = sum(self.sizes[child][0] for child in below)
            depths = [self.sizes[child][1] - (type(child).__name__ == kind in CONNECTED) for child in below]
            own = 0 if kind in UNWRITTEN else 1 if kind == "Literal" else 1 + self.of(node).fixed // 10
            self.sizes[node] = size + own, max([0, *depths]) + (kind not in UNWRITTEN)
        return self.sizes[value]


def is_long(kind: Any) -> bool:
    """May a value of this type be longer than any number?"""
    return bool(
        kind.is_string() or kind.is_binary() or kind.is_json() or kind.is_array() or kind.is_map() or kind.is_struct()
    )


def children(node: Any) -> list[Any]:
    """The operations that an operation uses in the same row."""
    ops = operations()
    return [child for child in node.__children__ if isinstance(child, ops.Value)]


def column_behind(node: Any) -> list[Any]:
    """The expression that computes a column in an earlier step; nothing for a column of a source."""
    ops = operations()
    if not isinstance(node, ops.Field):
        return []
    relation, name = node.rel, node.name
    if isinstance(relation, ops.Union):
        return [ops.Field(side, name) for side in (relation.left, relation.right)]
    values = getattr(relation, "values", None)
    if values is not None and name in values and not isinstance(relation, ops.PhysicalTable):
        return [values[name]] if values[name] != node else []
    parent = getattr(relation, "parent", None)
    return [ops.Field(parent, name)] if isinstance(parent, ops.Relation) and name in parent.schema else []


def constant_length(node: Any) -> int | None:
    """The length of a constant text; None if it is no constant."""
    ops = operations()
    return len(node.value) if isinstance(node, ops.Literal) and isinstance(node.value, str) else None


def repeated(node: Any) -> int:
    """How often a text is repeated."""
    return constant_times(node.times)


def constant_times(node: Any) -> int:
    """A constant number of times; one that comes from the data is beyond every limit."""
    ops = operations()
    while isinstance(node, ops.Cast | ops.Alias):
        node = node.arg
    value = node.value if isinstance(node, ops.Literal) else None
    return max(value, 0) if isinstance(value, int) else MOST_CHARACTERS + 1


def _field(lengths: Lengths, node: Any) -> Length:
    behind = column_behind(node)
    return lengths.most(behind) if behind else Length(0, 1)


def _literal(lengths: Lengths, node: Any) -> Length:
    value = node.value
    return Length(min(len(value if isinstance(value, str | bytes) else str(value)), MOST_CHARACTERS), 0)


def _new_text(node: Any, lengths: Lengths, new: Any) -> int:
    """How long a new text may be. A text of the source in each place of another one is beyond every limit."""
    found = lengths.of(new)
    return MOST_CHARACTERS + 1 if found.copies else found.fixed


def _replaced(lengths: Lengths, node: Any) -> Length:
    """Each occurrence of the old text becomes the new one. An empty old text occurs before each character."""
    old, new = constant_length(node.pattern) or 0, _new_text(node, lengths, node.replacement)
    found = lengths.of(node.arg)
    factor = max(1, -(-new // old)) if old else 1 + new
    return Length(found.fixed * factor + (0 if old else new), found.copies * factor)


def _matched(lengths: Lengths, node: Any) -> Length:
    """A new text for each match, which may be empty, and each of its two characters may stand for the match."""
    new, found = _new_text(node, lengths, node.replacement), lengths.of(node.arg)
    return Length(found.fixed * (1 + new) + new, found.copies * (1 + new))


def _padded(lengths: Lengths, node: Any) -> Length:
    found = lengths.of(node.arg)
    return Length(max(found.fixed, constant_times(node.length)), found.copies)


def _listed(lengths: Lengths, node: Any) -> Length:
    """Whole numbers from one constant to another."""
    ends: list[Any] = [part.value if isinstance(part, operations().Literal) else None for part in children(node)]
    if len(ends) < 3 or not all(isinstance(end, int) for end in ends) or ends[2] == 0:
        return Length(MOST_CHARACTERS + 1, 0)
    return Length(abs(ends[1] - ends[0]) // abs(ends[2]) + 1, 0)


def _joined(lengths: Lengths, node: Any) -> Length:
    found, between = lengths.of(node.arg), _new_text(node, lengths, node.sep)
    return Length(found.fixed * (1 + between), found.copies * (1 + between))


def _cast(lengths: Lengths, node: Any) -> Length:
    """A list of numbers has up to 24 characters for each; bytes may be written with four."""
    kind = node.arg.dtype
    if kind.is_string() or kind.is_json():
        return lengths.of(node.arg)
    return lengths.times(node.arg, 4 if kind.is_binary() else 24) if is_long(kind) else lengths.as_text(node.arg)


def _each(lengths: Lengths, node: Any) -> Length:
    """A list with a number for each element; a text for each is beyond the limit."""
    return Length(MOST_CHARACTERS + 1, 0) if is_long(node.body.dtype) else lengths.of(node.arg)


def _argument(lengths: Lengths, node: Any) -> Length:
    return lengths.of(node.arg)


RULES: dict[str, Callable[[Lengths, Any], Length]] = {
    "Field": _field,
    "Literal": _literal,
    "StringReplace": _replaced,
    "RegexReplace": _matched,
    **dict.fromkeys(("LPad", "RPad"), _padded),
    **dict.fromkeys(("Repeat", "ArrayRepeat"), lambda lengths, node: lengths.times(node.arg, repeated(node))),
    "IntegerRange": _listed,
    "ArrayStringJoin": _joined,
    **dict.fromkeys(("Cast", "TryCast"), _cast),
    "ArrayMap": _each,
    **dict.fromkeys(("StringSplit", "RegexSplit"), lambda lengths, node: lengths.times(node.arg, 2)),
    "HexDigest": lambda lengths, node: Length(128, 0),
    "WindowFunction": lambda lengths, node: lengths.of(node.func),
    "Strftime": lambda lengths, node: Length(_SHORT * (constant_length(node.format_str) or MOST_CHARACTERS), 0),
    "IfElse": lambda lengths, node: lengths.most((node.true_expr, node.false_null_expr)),
    **dict.fromkeys(("SearchedCase", "SimpleCase"), lambda lengths, node: lengths.most((*node.results, node.default))),
    **dict.fromkeys(("Coalesce", "Greatest", "Least"), lambda lengths, node: lengths.most(node.arg)),
    # no longer than their first argument. (Spark's UPPER may write three letters for one, but does so only once.)
    **dict.fromkeys(
        (
            *("Alias", "Tried", "TextByBytes", "NullIf", "Lowercase", "Uppercase", "Capitalize", "Reverse"),
            *("Strip", "LStrip", "RStrip", "Substring", "StringSlice", "StrRight", "RegexExtract", "Translate"),
            *("ArraySlice", "ArraySort", "ArrayDistinct", "ArrayFilter", "ArrayRemove", "ArrayFlatten", "ArrayIndex"),
            *("StructField", "MapKeys", "MapValues", "JSONGetItem", "UnwrapJSONString", "ToJSONArray", "ToJSONMap"),
            *("ExtractAuthority", "ExtractFile", "ExtractFragment", "ExtractHost", "ExtractPath", "ExtractProtocol"),
            *("ExtractQuery", "ExtractUserInfo", "Max", "Min", "ArrayMax", "ArrayMin", "ArrayMode"),
        ),
        _argument,
    ),
}
