"""The range of an expression's values, from its form alone: it shows where integers cannot overflow.

Engines stop a query when a number overflows. Such an error would reveal, without a charge, that there is such a row.
Where the range of a result fits its type, the plain operation is used. Elsewhere a slower one is written, which is
defined for every row.
"""

from __future__ import annotations

import math
from itertools import product
from typing import Any

from hush.tables.expression import operations

__all__ = ["Spans", "constant_of"]

#: No engine holds more rows in a table.
MOST_ROWS = 2**50
INT64 = (-(2**63), 2**63 - 1)
INFINITE = float("inf")

Span = tuple[Any, Any]


class Spans:
    """`of(operation)`: two numbers that enclose every value which is not null, or None if nothing is known. A float
    with a span is never NaN.
    """

    def __init__(self) -> None:
        self.known: dict[Any, Span | None] = {}

    def of(self, node: Any) -> Span | None:
        """The span of an operation of Ibis."""
        if node not in self.known:
            rule = RULES.get(type(node).__name__)
            found = rule(self, node) if rule else None
            self.known[node] = meet(found, type_span(node.dtype))
        return self.known[node]

    def fits(self, node: Any) -> bool:
        """Do all values of an integer operation on int64 operands fit int64?"""
        sides = self.of(node.left), self.of(node.right)
        if None in sides:
            return False
        low, high = ARITHMETIC[type(node).__name__](*sides)
        return bool(INT64[0] <= low and high <= INT64[1])


def type_span(kind: Any) -> Span | None:
    """What the type alone says."""
    if kind.is_boolean():
        return 0, 1
    return (kind.bounds.lower, kind.bounds.upper) if kind.is_integer() and not kind.is_uint64() else None


def meet(found: Span | None, kind: Span | None) -> Span | None:
    """The part of a span that the type can hold. A larger result becomes null."""
    if found is None or kind is None:
        return found if kind is None else kind
    return math.floor(max(found[0], kind[0])), math.ceil(min(found[1], kind[1]))


def join(spans: Spans, nodes: Any) -> Span | None:
    """The least span around several. The constant null has no value."""
    found = [spans.of(node) for node in nodes if not is_null(node)]
    known = [span for span in found if span is not None]
    return (min(s[0] for s in known), max(s[1] for s in known)) if known and len(known) == len(found) else None


def is_null(node: Any) -> bool:
    """Is it the constant null?"""
    return isinstance(node, operations().Literal) and node.value is None


def times(a: Span, b: Span) -> Span:
    ends = [x * y for x, y in product(a, b)]
    return min(ends), max(ends)


ARITHMETIC = {
    "Add": lambda a, b: (a[0] + b[0], a[1] + b[1]),
    "Subtract": lambda a, b: (a[0] - b[1], a[1] - b[0]),
    "Multiply": times,
}


def constant_of(node: Any) -> float | int | None:
    """The number that a constant stands for; None if it is no constant number."""
    ops = operations()
    while isinstance(node, ops.Alias) or type(node).__name__ == "Real":
        node = node.arg
    if isinstance(node, ops.Cast) and isinstance(node.arg, ops.Literal) and node.to.is_floating():
        return None if node.arg.value is None else float(node.arg.value)
    if isinstance(node, ops.Literal) and node.dtype.is_numeric() and isinstance(node.value, int | float):
        return node.value
    return None


def literal(spans: Spans, node: Any) -> Span | None:
    value = constant_of(node)
    return None if value is None or value != value else (value, value)


def cast(spans: Spans, node: Any) -> Span | None:
    if constant_of(node) is not None:
        return literal(spans, node)
    inner = spans.of(node.arg) if node.arg.dtype.is_numeric() or node.arg.dtype.is_boolean() else None
    if inner is not None and node.to.is_floating():
        return float(inner[0]), float(inner[1])
    return inner


def arithmetic(spans: Spans, node: Any) -> Span | None:
    sides = spans.of(node.left), spans.of(node.right)
    if None in sides or (node.dtype.is_floating() and type(node).__name__ == "Multiply"):
        return None
    found: Span = ARITHMETIC[type(node).__name__](*sides)
    return found


def bits(spans: Spans, node: Any) -> Span | None:
    """The result of &, | or xor has no more bits than its operands, if these are not negative. & needs one such."""
    sides = [spans.of(node.left), spans.of(node.right)]
    positive = [span for span in sides if span is not None and span[0] >= 0]
    if type(node).__name__ == "BitwiseAnd" and positive:
        return 0, min(span[1] for span in positive)
    return (0, 2 ** max(span[1].bit_length() for span in positive) - 1) if len(positive) == 2 else None


def shifted(spans: Spans, node: Any) -> Span | None:
    inner, places = spans.of(node.left), constant_of(node.right)
    return None if inner is None or not isinstance(places, int) else (inner[0] >> places, inner[1] >> places)


def remainder(spans: Spans, node: Any) -> Span | None:
    left, right = spans.of(node.left), spans.of(node.right)
    if left is None or right is None or right[0] <= 0 or not node.dtype.is_integer():
        return None
    return (0 if left[0] >= 0 else 1 - right[1]), right[1] - 1


def extreme(spans: Spans, node: Any) -> Span | None:
    """LEAST and GREATEST skip null, and PostgreSQL takes NaN for the largest number."""
    least = type(node).__name__ == "Least"
    sides = [spans.of(argument) for argument in node.arg]
    fixed = [constant_of(argument) for argument in node.arg]
    sure = [value for value in fixed if value is not None and value == value]
    if None in sides and not (least and sure):
        return None
    low = min(-INFINITE if span is None else span[0] for span in sides)
    high = max(INFINITE if span is None else span[1] for span in sides)
    return (low, min([high, *sure])) if least else (max([low, *sure]), high)


def field(spans: Spans, node: Any) -> Span | None:
    """A column is followed to the expression that computes it."""
    relation, name = node.rel, node.name
    values = getattr(relation, "values", None)
    if type(relation).__name__ in ("DatabaseTable", "InMemoryTable", "UnboundTable"):
        return None
    if type(relation).__name__ == "Union":
        return join(spans, [operations().Field(side, name) for side in (relation.left, relation.right)])
    if values is not None and name in values and values[name] != node:
        return spans.of(values[name])
    return spans.of(operations().Field(relation.parent, name)) if hasattr(relation, "parent") else None


def absolute(spans: Spans, node: Any) -> Span | None:
    inner = spans.of(node.arg)
    return None if inner is None else (max(0, inner[0], -inner[1]), max(-inner[0], inner[1]))


def counted(spans: Spans, node: Any) -> Span | None:
    return 0, MOST_ROWS


def added(spans: Spans, node: Any) -> Span | None:
    inner = spans.of(node.arg)
    return None if inner is None else times(inner, (0, MOST_ROWS))


RULES = {
    **dict.fromkeys(("Literal", "Real"), literal),
    "Cast": cast,
    "Alias": lambda spans, node: spans.of(node.arg),
    **dict.fromkeys(ARITHMETIC, arithmetic),
    **dict.fromkeys(("BitwiseAnd", "BitwiseOr", "BitwiseXor"), bits),
    "BitwiseRightShift": shifted,
    "Modulus": remainder,
    **dict.fromkeys(("Least", "Greatest"), extreme),
    "Floor": lambda spans, node: spans.of(node.arg),
    "IfElse": lambda spans, node: join(spans, (node.true_expr, node.false_null_expr)),
    "SearchedCase": lambda spans, node: join(spans, (*node.results, node.default)),
    "Coalesce": lambda spans, node: join(spans, node.arg),
    "Field": field,
    "WindowFunction": lambda spans, node: spans.of(node.func),
    **dict.fromkeys(("RowNumber", "DenseRank", "MinRank", "Count", "CountStar", "CountDistinct"), counted),
    "Abs": absolute,
    "Sum": added,
    **dict.fromkeys(("Max", "Min"), lambda spans, node: spans.of(node.arg)),
    "HexNumber": lambda spans, node: (0, 2**32 - 1),
    "StringAscii": lambda spans, node: (0, 2**21),
    "StringLength": lambda spans, node: (0, 2**30),
    "DateDelta": lambda spans, node: (-(2**32), 2**32),
}
