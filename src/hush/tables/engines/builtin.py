"""Calls of an engine's own functions, as Ibis expressions."""

from __future__ import annotations

import inspect
from collections.abc import Callable
from typing import Any

from hush.tables.expression import ibis

__all__ = ["call", "collate_function", "hash_of_any_arguments", "try_forms", "try_function"]


#: operators, by their names in sqlglot
ARITHMETIC = ("add", "sub", "mul", "div", "intdiv", "mod", "neg", "bracket", "bitwiseleftshift", "bitwiserightshift")
#: parts that no TRY may enter
UNTRIED = ("lambda", "interval")
#: functions, likewise, that need no TRY
NEVER_FAILING = ("case", "coalesce", "if", "and", "or", "xor", "trycast", "nullif", "lower", "upper", "length")


def call(name: str, arguments: list[Any], result: str) -> Any:
    """A call of the engine's function `name`, with a result of the Ibis type `result`."""
    kinds = tuple(argument.type() for argument in arguments)

    def function() -> Any: ...

    places = [inspect.Parameter(f"argument{i}", inspect.Parameter.POSITIONAL_OR_KEYWORD) for i in range(len(kinds))]
    function.__signature__ = inspect.Signature(places)  # type: ignore[attr-defined]  # Ibis reads the number of arguments here
    return ibis().udf.scalar.builtin(function, name=name, signature=(kinds, result))(*arguments)


def hash_of_any_arguments(name: str) -> Callable[[list[Any], Any], Any]:
    """The hash of an engine whose function takes any number of arguments."""
    return lambda columns, key: call(name, [*columns, key], "uint64")


def collate_function(collation: str) -> Callable[[Any], Any]:
    """The collation of an engine that has a function for it: COLLATE(text, 'collation')."""

    def collated(text: Any) -> Any:
        import sqlglot

        literal = sqlglot.expressions.Literal.string(collation)
        return sqlglot.expressions.Anonymous(this="COLLATE", expressions=[text, literal])

    return collated


def try_function(arg: Any) -> Any:
    """`TRY(arg)`: null in each row in which the argument fails. Each part that may fail has a TRY of its own: DuckDB
    computes a part that a query has twice only once, before and outside of the TRY around it.
    """
    import sqlglot.expressions as sge

    def tried(node: Any) -> Any:
        return sge.Anonymous(this="TRY", expressions=[node])

    def done(node: Any) -> bool:
        return node.key in UNTRIED or (node.key == "anonymous" and node.this == "TRY")

    made = arg.copy()
    for node in reversed(list(made.walk(prune=done))):  # from the leaves upwards
        failing = node.key in ARITHMETIC or (isinstance(node, sge.Func) and node.key not in NEVER_FAILING)
        if node is not made and failing and not done(node):
            node.replace(tried(node.copy()))
    return tried(made)


def try_forms(arg: Any) -> Any:
    """An expression with Spark's try_add, try_multiply, try_cast and so on in place of +, * and CAST."""
    import sqlglot.expressions as sge

    names = {"Add": "try_add", "Sub": "try_subtract", "Mul": "try_multiply", "Div": "try_divide", "Mod": "try_mod"}

    def changed(node: Any) -> Any:
        kind = type(node).__name__
        if kind in names:
            return sge.Anonymous(this=names[kind], expressions=[node.this, node.expression])
        if kind == "Neg":
            return sge.Anonymous(this="try_subtract", expressions=[sge.Literal.number(0), node.this])
        if kind == "Abs":
            less = sge.Anonymous(this="try_subtract", expressions=[sge.Literal.number(0), node.this.copy()])
            return sge.If(
                this=sge.LT(this=sge.paren(node.this), expression=sge.Literal.number(0)), true=less, false=node.this
            )
        return sge.TryCast(this=node.this, to=node.to, safe=True) if kind == "Cast" else node

    if arg.find(sge.Interval) is not None:
        return arg
    made = arg.copy()
    for node in reversed(list(made.walk())):  # from the leaves upwards
        new = changed(node)
        if node is made:
            made = new
        elif new is not node:
            node.replace(new)
    return made
