"""A number of the answer: a formula over released aggregates, with the names of the aggregates that it uses."""

from __future__ import annotations

from collections.abc import Callable, Mapping
from dataclasses import dataclass
from typing import Any

import numpy as np

from hush.tables.sql.interval import Triple, constant, divided, monotone, plus, times
from hush.tables.sql.refusal import Refused, allow_only

__all__ = ["Number", "digits_of", "formula", "number_of", "released"]

_MOST_DIGITS = 15

Of = Callable[[Mapping[str, Triple]], Triple]


@dataclass(frozen=True)
class Number:
    """A formula over answer columns (`uses`), each a `Triple` at the level that the formula needs."""

    uses: frozenset[str]
    of: Of
    #: dates or times, as in `Prepared`
    shown_as: str = ""
    #: the answer column that it is without a change; None for a formula
    plain: str | None = None
    #: the name of its column, where that is another one than of the answer column
    label: str = ""

    def level(self, level: float) -> float:
        """The level of each aggregate, so that the formula's interval holds at `level`."""
        return level if len(self.uses) <= 1 else 1.0 - (1.0 - level) / len(self.uses)


def released(column: str, *, counts: bool = False, shown_as: str = "") -> Number:
    """An aggregate as it is."""

    def of(found: Mapping[str, Triple]) -> Triple:
        part = found[column]
        return Triple(part.value, part.low, part.high, counts)

    return Number(frozenset({column}), of, shown_as, column)


def mapped(a: Number, function: Callable[[Any], Any]) -> Number:
    """A function that does not decrease, of a number."""
    return Number(a.uses, lambda found: monotone(a.of(found), function))


def combined(a: Number, b: Number, apply: Callable[[Triple, Triple], Triple]) -> Number:
    """Two numbers combined."""
    return Number(a.uses | b.uses, lambda found: apply(a.of(found), b.of(found)))


def formula(node: Any, lookup: Callable[[Any], Number | None]) -> Number:
    """The formula of an expression over aggregates. `lookup` gives the number of an aggregate's node."""
    found = lookup(node)
    if found is not None:
        return found
    make = _FORMULAS.get(type(node).__name__)
    if type(node).__name__ == "Window":
        raise Refused(f"{node.sql()} is a window function, which uses rows of several people; use GROUP BY", node)
    if make is None:
        raise Refused(
            f"{node.sql()} is not a formula over aggregates that hush translates; use + - * /, ROUND, ABS, SQRT, "
            "COALESCE and NULLIF",
            node,
        )
    return make(node, lambda part: formula(part, lookup))


def number_of(node: Any) -> float:
    """The value of a constant."""
    negative = type(node).__name__ == "Neg"
    plain = node.this if negative else node
    try:
        if type(plain).__name__ != "Literal" or plain.is_string:
            raise ValueError
        return -float(plain.this) if negative else float(plain.this)
    except ValueError as failure:
        raise Refused(f"a constant number is needed, not {node.sql()}", node) from failure


def digits_of(node: Any) -> int:
    """The digits of ROUND, a constant of the statement."""
    given = node.args.get("decimals")
    number = 0.0 if given is None else number_of(given)
    if not (abs(number) <= _MOST_DIGITS and number == int(number)):
        raise Refused(f"ROUND takes a whole number of digits from -{_MOST_DIGITS} to {_MOST_DIGITS}", node)
    return int(number)


# -- the parts of a formula ----------------------------------------------------------------------------------

Part = Callable[[Any], Number]


def _constant(node: Any, part: Part) -> Number:
    value = number_of(node)
    return Number(frozenset(), lambda found: constant(value))


def _plus(node: Any, part: Part) -> Number:
    sign = 1.0 if type(node).__name__ == "Add" else -1.0
    return combined(part(node.this), part(node.expression), lambda a, b: plus(a, b, sign))


def _times(node: Any, part: Part) -> Number:
    return combined(part(node.this), part(node.expression), times)


def _divided(node: Any, part: Part) -> Number:
    mean = _mean_of_counts(node)
    if mean is not None:
        return part(mean)
    return combined(part(node.this), part(node.expression), divided)


def _mean_of_counts(node: Any) -> Any:
    """COUNT(c) / COUNT(*) as the mean of 1 where c has a value and 0 elsewhere, also with constant factors; else None.

    A person with many rows loses some of them. Two counts lose different shares of their rows, so their quotient would
    be biased; the mean uses the same rows above and below.
    """
    import sqlglot

    exp, below = sqlglot.exp, node.expression.unnest()
    below = below.this if isinstance(below, exp.Nullif) else below
    if not (isinstance(below, exp.Count) and isinstance(below.this, exp.Star)) or node.args.get("typed"):
        return None
    holder = exp.Paren(this=node.this.copy())
    above = holder.this
    while isinstance(above, exp.Paren | exp.Mul):
        if isinstance(above, exp.Paren):
            above = above.this
        elif isinstance(above.this.unnest(), exp.Literal):
            above = above.expression
        elif isinstance(above.expression.unnest(), exp.Literal):
            above = above.this
        else:
            return None
    share = _indicator(above)
    if share is None:
        return None
    above.replace(exp.Avg(this=share))
    return holder


def _indicator(node: Any) -> Any:
    """1 for the rows that an aggregate counts and 0 for the others; None if it does not count rows."""
    import sqlglot

    exp, keep = sqlglot.exp, None
    if isinstance(node, exp.Filter):
        node, keep = node.this, node.expression.this
    if isinstance(node, exp.CountIf):
        holds = node.this
    elif isinstance(node, exp.Count) and isinstance(node.this, exp.Star) and keep is not None:
        holds, keep = keep, None
    elif isinstance(node, exp.Count) and not isinstance(node.this, exp.Star | exp.Distinct | exp.Literal | None):
        case: Any = node.this
        first: Any = case.args["ifs"][0] if isinstance(case, exp.Case) and len(case.args["ifs"]) == 1 else None
        simple = first is not None and case.this is None and isinstance(case.args.get("default"), exp.Null | None)
        holds = (
            first.this
            if simple and isinstance(first.args["true"], exp.Literal)
            else exp.Not(this=exp.Is(this=case, expression=exp.Null()))
        )
    else:
        return None
    holds = holds if keep is None else exp.and_(holds.copy(), keep.copy())
    return exp.Case(ifs=[exp.If(this=holds.copy(), true=exp.Literal.number(1))], default=exp.Literal.number(0))


def _negative(node: Any, part: Part) -> Number:
    a, zero = part(node.this), Number(frozenset(), lambda found: constant(0.0))
    return combined(zero, a, lambda x, y: plus(x, y, -1.0))


def _rounded(node: Any, part: Part) -> Number:
    allow_only(node, "this", "decimals")
    digits = digits_of(node)
    name = type(node).__name__
    function = {"Floor": np.floor, "Ceil": np.ceil}.get(name, lambda x: np.round(x, digits))
    return mapped(part(node.this), function)


def _root(node: Any, part: Part) -> Number:
    return mapped(part(node.this), lambda x: np.sqrt(np.maximum(x, 0.0)))


def _absolute(node: Any, part: Part) -> Number:
    a = part(node.this)

    def of(found: Mapping[str, Triple]) -> Triple:
        x = a.of(found)
        low, high = x.ends
        inside = (low <= 0.0) & (high >= 0.0)
        least = np.where(inside, 0.0, np.minimum(np.abs(low), np.abs(high)))
        return Triple(np.abs(x.value), least, np.maximum(np.abs(low), np.abs(high)))

    return Number(a.uses, of)


def _coalesce(node: Any, part: Part) -> Number:
    """The number, or the constant where it is unknown."""
    a, instead = part(node.this), number_of(node.expressions[0])

    def of(found: Mapping[str, Triple]) -> Triple:
        x = a.of(found)
        missing = np.isnan(x.value)
        low, high = np.fmin(x.low, instead), np.fmax(x.high, instead)
        value = np.where(missing, instead, x.value)
        return Triple(value, np.where(missing, low, x.low), np.where(missing, high, x.high))

    return Number(a.uses, of)


def _cast(node: Any, part: Part) -> Number:
    kind = node.to.sql().upper()
    a = part(node.this)
    if kind in ("DOUBLE", "FLOAT", "REAL", "FLOAT64", "DOUBLE PRECISION") or kind.startswith(("DECIMAL", "NUMERIC")):
        return a
    if kind in ("INT", "INTEGER", "BIGINT", "INT64", "LONG"):
        return mapped(a, np.round)
    raise Refused(f"an aggregate is not cast to {kind}", node)


def _inside(node: Any, part: Part) -> Number:
    return part(node.this)


def _not_zero(node: Any, part: Part) -> Number:
    """NULLIF(a, 0), which guards a division. A division by 0 is unknown anyway."""
    if type(node.expression).__name__ != "Literal" or number_of(node.expression) != 0.0:
        raise Refused("NULLIF of an aggregate takes 0, to guard a division; write NULLIF(a, 0)", node)
    return part(node.this)


_FORMULAS: dict[str, Callable[[Any, Part], Number]] = {
    "Literal": _constant,
    "Add": _plus,
    "Sub": _plus,
    "Mul": _times,
    "Div": _divided,
    "SafeDivide": _divided,
    "Neg": _negative,
    "Round": _rounded,
    "Floor": _rounded,
    "Ceil": _rounded,
    "Sqrt": _root,
    "Abs": _absolute,
    "Coalesce": _coalesce,
    "Nullif": _not_zero,
    "Cast": _cast,
    "TryCast": _cast,
    "Paren": _inside,
}
