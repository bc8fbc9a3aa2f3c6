"""HAVING, ORDER BY, LIMIT and texts made from the answer: functions of released values, which cost no privacy."""

from __future__ import annotations

import operator
import re
from collections.abc import Callable
from typing import Any

from hush.tables.sql.number import number_of
from hush.tables.sql.refusal import Refused

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
    found = _PLAIN.get(kind)
    if found is None:
        raise Refused(f"{node.sql()} is not a function of released values that hush computes", node)
    return found(node, row)


def check_plain(node: Any, known: Row) -> None:
    """Refuse an expression that cannot be computed, before anything is spent."""
    try:
        known(node)
        return
    except KeyError:
        pass
    kind = type(node).__name__
    if kind not in _COMPARE and kind not in _ARITHMETIC and kind not in ("Div", "SafeDivide") and kind not in _PLAIN:
        raise Refused(
            f"{node.sql()} is neither a group nor an aggregate, nor a function of them that hush computes", node
        )
    for part in node.iter_expressions():
        check_plain(part, known)


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
    if node.this is not None:
        raise Refused("write CASE WHEN condition THEN value END", node)
    for part in node.args["ifs"]:
        if plain_value(part.this, row):
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
    value, given = plain_value(node.this, row), node.args.get("decimals")
    return None if value is None else round(value, int(number_of(given)) if given is not None else 0)


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
