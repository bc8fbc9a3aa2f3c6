"""HAVING, ORDER BY, LIMIT and texts made from the answer: functions of released values, which cost no privacy."""

from __future__ import annotations

import operator
import re
from collections.abc import Callable
from typing import Any

from hush.tables.sql.number import digits_of, number_of
from hush.tables.sql.refusal import Refused, allow_only

__all__ = ["check_plain", "plain_value"]

#: The released value of a node in one row of the answer: a key or a number; KeyError if the node is neither.
Row = Callable[[Any], Any]

_COMPARE = {
    "EQ": operator.eq,
    "NEQ": operator.ne,
    "LT": operator.lt,
    "LTE": operator.le,
    "GT": operator.gt,
    "GTE": operator.ge,
}
_CHOICES = ("Case", "If", "Coalesce")
#: The parts of a node that are read here. A node with another part, such as BETWEEN SYMMETRIC, is refused.
_PARTS = (
    *("this", "expression", "expressions", "negate", "low", "high", "ifs", "true", "false", "default", "decimals"),
    *("is_string", "typed", "safe", "is_nvl", "is_null", "unnest", "query", "field"),
)
_ARITHMETIC = {"Add": operator.add, "Sub": operator.sub, "Mul": operator.mul, "Mod": operator.mod}


def plain_value(node: Any, row: Row) -> Any:
    """The value of an expression over one row of the answer; None is null."""
    try:
        return row(node)
    except KeyError:
        pass
    kind = type(node).__name__
    if kind in _COMPARE:
        return _compared(node, row, _COMPARE[kind])
    if kind in _ARITHMETIC or kind in ("Div", "SafeDivide"):
        return _computed(node, row)
    try:
        value = _PLAIN[kind](node, row)
    except (TypeError, ArithmeticError, ValueError):
        return None  # values of different kinds: after the answer is paid for, nothing may fail
    return (None if value is None else not value) if node.args.get("negate") else value


def check_plain(node: Any, known: Callable[[Any], str]) -> str | None:
    """Refuse an expression that cannot be computed, before anything is spent. Returns the kind of its values: number,
    text, truth, date or time; None for NULL. `known` gives the kind of a key or a number, and raises KeyError for other
    nodes.
    """
    try:
        return known(node)
    except KeyError:
        pass
    kind = type(node).__name__
    counts = kind in _ARITHMETIC or kind in ("Div", "SafeDivide")
    if not counts and kind not in _COMPARE and kind not in _PLAIN:
        raise Refused(
            f"{node.sql()} is neither a group nor an aggregate, nor a function of them that hush computes", node
        )
    allow_only(node, *_PARTS)
    if kind == "Round":
        digits_of(node)
    found = {part.arg_key: check_plain(part, known) for part in node.iter_expressions() if not _is_branch(part)}
    for part in (part for part in node.iter_expressions() if _is_branch(part)):
        check_plain(part.this, known)
    if counts or kind in ("Round", "Neg", "Abs"):
        if set(found.values()) - {"number", "truth", None}:
            raise Refused(f"{node.sql()} computes with something that is not a number", node)
        return "number"
    if kind == "Literal":
        return "text" if node.is_string else "number"
    if kind == "Paren":
        return found["this"]
    if kind in _CHOICES:
        return _one_kind(node, [check_plain(part, known) for part in _results(node)])
    return None if kind == "Null" else "truth"


def _is_branch(part: Any) -> bool:
    """Is it a WHEN ... THEN ... of a CASE?"""
    return type(part).__name__ == "If" and part.arg_key == "ifs"


def _results(node: Any) -> list[Any]:
    """The expressions of which a CASE, an IF or a COALESCE chooses one."""
    if type(node).__name__ == "Coalesce":
        return [node.this, *node.expressions]
    branches = [part.args["true"] for part in node.args.get("ifs") or ()]
    others = [node.args.get(name) for name in ("true", "false", "default")]
    return branches + [part for part in others if part is not None]


def _one_kind(node: Any, kinds: list[str | None]) -> str | None:
    """A column of the answer has one kind of values."""
    found = {kind for kind in kinds if kind is not None}
    if len(found) > 1:
        raise Refused(f"{node.sql()} gives {' and '.join(sorted(found))}; a column has one kind of values", node)
    return next(iter(found), None)


def _compared(node: Any, row: Row, apply: Callable[[Any, Any], bool]) -> bool | None:
    return _pair(plain_value(node.this, row), plain_value(node.expression, row), apply, node)


def _pair(a: Any, b: Any, apply: Callable[[Any, Any], Any], node: Any) -> Any:
    if a is None or b is None:
        return None
    if hasattr(a, "isoformat") and isinstance(b, str):
        a = a.isoformat()
    try:
        return apply(a, b)
    except (TypeError, ArithmeticError):
        return None  # values of different kinds: after the answer is paid for, nothing may fail


def _computed(node: Any, row: Row) -> Any:
    a, b = plain_value(node.this, row), plain_value(node.expression, row)
    if a is None or b is None or (type(node).__name__ in ("Div", "SafeDivide", "Mod") and b == 0):
        return None
    return _pair(a, b, _ARITHMETIC.get(type(node).__name__, operator.truediv), node)


def _and(node: Any, row: Row) -> bool | None:
    found = [plain_value(node.left, row), plain_value(node.right, row)]
    return False if False in found else None if None in found else True


def _or(node: Any, row: Row) -> bool | None:
    found = [plain_value(node.left, row), plain_value(node.right, row)]
    return True if True in found else None if None in found else False


def _not(node: Any, row: Row) -> bool | None:
    found = plain_value(node.this, row)
    return None if found is None else not found


def _between(node: Any, row: Row) -> bool | None:
    a, low, high = (plain_value(part, row) for part in (node.this, node.args["low"], node.args["high"]))
    if a is None or low is None or high is None:
        return None
    return bool(_pair(low, a, operator.le, node) and _pair(a, high, operator.le, node))


def _in(node: Any, row: Row) -> bool | None:
    a = plain_value(node.this, row)
    return None if a is None else a in [plain_value(part, row) for part in node.expressions]


def _is(node: Any, row: Row) -> bool:
    wanted = plain_value(node.expression, row)
    return plain_value(node.this, row) is wanted


def _case(node: Any, row: Row) -> Any:
    for part in node.args["ifs"]:
        holds = plain_value(part.this, row)
        if node.this is not None:
            holds = _pair(plain_value(node.this, row), holds, operator.eq, node)
        if holds:
            return plain_value(part.args["true"], row)
    given = node.args.get("default")
    return None if given is None else plain_value(given, row)


def _if(node: Any, row: Row) -> Any:
    chosen = node.args["true"] if plain_value(node.this, row) else node.args.get("false")
    return None if chosen is None else plain_value(chosen, row)


def _coalesce(node: Any, row: Row) -> Any:
    found = (plain_value(part, row) for part in (node.this, *node.expressions))
    return next((value for value in found if value is not None), None)


def _literal(node: Any, row: Row) -> Any:
    return str(node.this) if node.is_string else number_of(node)


def _rounded(node: Any, row: Row) -> Any:
    value = plain_value(node.this, row)
    return None if value is None else round(value, digits_of(node))


def _negative(node: Any, row: Row) -> Any:
    value = plain_value(node.this, row)
    return None if value is None else -value


def _absolute(node: Any, row: Row) -> Any:
    value = plain_value(node.this, row)
    return None if value is None else abs(value)


def _like(node: Any, row: Row) -> bool | None:
    value, pattern = plain_value(node.this, row), plain_value(node.expression, row)
    if value is None or not isinstance(pattern, str):
        return None
    regex = "".join(".*" if c == "%" else "." if c == "_" else re.escape(c) for c in pattern)
    return re.fullmatch(regex, str(value), re.DOTALL) is not None


_PLAIN: dict[str, Callable[[Any, Row], Any]] = {
    "Paren": lambda node, row: plain_value(node.this, row),
    "Literal": _literal,
    "Boolean": lambda node, row: bool(node.this),
    "Null": lambda node, row: None,
    "And": _and,
    "Or": _or,
    "Not": _not,
    "Between": _between,
    "In": _in,
    "Is": _is,
    "Case": _case,
    "If": _if,
    "Coalesce": _coalesce,
    "Round": _rounded,
    "Neg": _negative,
    "Abs": _absolute,
    "Like": _like,
}
