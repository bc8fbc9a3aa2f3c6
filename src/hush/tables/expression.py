"""Ibis, in one place, and the check that a user's expression looks at one row at a time.

The bound on a unit's contribution is proved for a map that treats each unit by itself. A filter or a computed column
keeps that proof only if it is a function of its own row: `age > age.mean()` would let one person move everybody's
rows in and out of the answer. So the whole expression tree is walked, and only relations and operations known to work
row by row pass; everything else is refused.
"""

from __future__ import annotations

import difflib
from collections.abc import Iterable
from functools import cache
from typing import Any

from hush.errors import InvalidParameter, Unsupported

__all__ = [
    "as_int64",
    "as_text",
    "bind",
    "by_bytes",
    "compared",
    "constant",
    "ibis",
    "must_be_rowwise",
    "must_have",
    "operations",
    "translation_error",
]

#: The collation of each engine that compares text byte by byte, by the engine's name in Ibis.
BINARY = {"duckdb": "binary", "pyspark": "UTF8_BINARY"}

#: Relations whose rows are each made from one row of the source. Sorting changes no row; a union that keeps
#: duplicates adds rows.
ROWWISE_RELATIONS = (
    *(
        "DatabaseTable",
        "InMemoryTable",
        "Project",
        "Filter",
        "Sort",
        "SelfReference",
        "DropColumns",
        "DropNull",
        "FillNull",
        "Union",
    ),
)
#: Modules of Ibis whose operations work on the values of one row ...
ROWWISE_MODULES = {
    "arrays",
    "core",
    "generic",
    "histograms",
    "json",
    "logical",
    "maps",
    "numeric",
    "sortkeys",
    "strings",
    "structs",
    "temporal",
}
#: ... but for these, which multiply rows, number them, or need a value given at run time.
NOT_ROWWISE = ("Unnest", "RowID", "ScalarParameter")


def ibis() -> Any:
    """The Ibis module, loaded when first needed: `import hush.tables` must stay light."""
    import ibis as module

    return module


def operations() -> Any:
    """The module of Ibis operations, to look at an expression's tree."""
    import ibis.expr.operations as module

    return module


def translation_error() -> type[Exception]:
    """What Ibis raises when an engine has no word for an operation."""
    from ibis.common import exceptions

    found: type[Exception] = exceptions.TranslationError
    return found


def constant(value: float) -> Any:
    """A float64 constant that every engine reads to the same last bit.

    Written as text and cast: a bare 0.12345678901234567 is a decimal to DuckDB and to Spark, and they convert
    decimals differently.
    """
    return ibis().literal(repr(float(value))).cast("float64")


def as_int64(column: Any) -> Any:
    """A cast that is written out: Ibis leaves it out where it believes a column to be int64, as it does of DuckDB's
    128-bit sums.
    """
    return operations().Cast(column, ibis().dtype("int64")).to_expr()


def as_text(column: Any) -> Any:
    """A cast that is written out: Ibis takes an enumeration for text, but DuckDB orders it by when its values were
    first seen.
    """
    return operations().Cast(column, ibis().dtype("string")).to_expr()


def by_bytes(column: Any) -> Any:
    """Text that the engine compares, groups and sorts byte by byte, whatever collation the column or the session has.

    A collation such as NOCASE makes one group of several spellings and shows one of them: the spelling of one person.
    Both sides of a comparison need this, because DuckDB and Spark refuse to compare text of two collations.
    """
    return text_by_bytes()(as_text(column)).to_expr()


def compared(column: Any) -> Any:
    """A column as it must be before values are compared: text by its bytes, other types as they are."""
    return by_bytes(column) if column.type().is_string() else column


@cache
def text_by_bytes() -> Any:
    """The operation behind `by_bytes`. Ibis has none for a collation, so its compilers learn this one here.

    Ibis looks for a compiler's method by the operation's name. In a user's expression `must_be_rowwise` refuses this
    operation, as it refuses any that it does not know.
    """
    from ibis.backends.sql.compilers.base import SQLGlotCompiler

    class TextByBytes(operations().Unary):  # type: ignore[misc]  # a class of Ibis, which has no types
        dtype = ibis().dtype("string")

    SQLGlotCompiler.visit_TextByBytes = collated
    return TextByBytes


def collated(compiler: Any, operation: Any, *, arg: Any) -> Any:
    """`arg COLLATE "binary"` in the words of the compiler's engine; an engine that is not in BINARY is refused."""
    import sqlglot

    name = compiler.dialect.__name__.lower()
    if name not in BINARY:
        raise translation_error()(f"hush does not know the collation of {name!r} that compares bytes.")
    return sqlglot.expressions.Collate(this=arg, expression=sqlglot.to_identifier(BINARY[name], quoted=True))


def must_have(columns: Iterable[str], name: object, role: str) -> str:
    """`name` if it is a column, else one sentence with the nearest names."""
    known = list(columns)
    if isinstance(name, str) and name in known:
        return name
    if not isinstance(name, str):
        raise InvalidParameter(f"{role} must be the name of a column, got {name!r}.")
    near = difflib.get_close_matches(name, known, n=3, cutoff=0.5)
    hint = (
        f"did you mean {' or '.join(map(repr, near))}?"
        if near
        else f"the columns are {', '.join(map(repr, known[:20]))}."
    )
    raise InvalidParameter(f"{role} names the column {name!r}, which the table does not have; {hint}")


def bind(relation: Any, value: Any, role: str) -> Any:
    """One column of `relation`: by name, as an Ibis expression, as `_.name`, or as a function of the table."""
    if isinstance(value, str):
        return relation[must_have(relation.columns, value, role)]
    if isinstance(value, bool | int | float) or value is None:
        raise InvalidParameter(f"{role} must be a column name or an Ibis expression, got {value!r}.")
    try:
        columns = relation.bind(value)
        selected = relation.select(**{f"c{i}": column for i, column in enumerate(columns)})
    except Exception as failure:
        raise InvalidParameter(f"{role} is not an expression over this table: {first_line(failure)}.") from failure
    if len(columns) != 1:
        raise InvalidParameter(f"{role} must be one column, got {len(columns)}.")
    must_be_rowwise(selected, role)
    return columns[0]


def must_be_rowwise(relation: Any, role: str) -> None:
    """Refuse an expression that looks across rows, beyond this table, or at anything that changes between runs, or
    that stops at a text which is no number: whether it stops would tell, uncharged, whether there is such a row.
    """
    ops = operations()
    for node in relation.op().find(ops.Node):
        reason = trouble(node, ops)
        if reason:
            raise Unsupported(
                f"{role} uses {type(node).__name__}, which {reason}; hush bounds each unit by itself, so an expression may only use "
                "the values of its own row."
            )
        if (
            isinstance(node, ops.Cast)
            and node.arg.dtype.is_string()
            and not node.to.is_string()
            and not isinstance(node.arg, ops.Literal)
        ):
            raise Unsupported(
                f"{role} casts text to {node.to}, which stops at a text that is none and so tells that there is one; write "
                f".try_cast('{node.to}'), which makes it null."
            )


def trouble(node: Any, ops: Any) -> str:
    """Why this node is refused, or nothing."""
    name, module = type(node).__name__, type(node).__module__.rpartition(".")[2]
    if isinstance(node, ops.Reduction | ops.Analytic | ops.WindowFunction):
        return "looks across rows"
    if isinstance(node, ops.Subquery):
        return "looks at other rows or other tables"
    if isinstance(node, ops.Impure):
        return "is not the same at every run or cannot be looked into"
    if isinstance(node, ops.Relation):
        if name == "Union" and node.distinct:
            return "compares rows with each other"
        return (
            ""
            if name in ROWWISE_RELATIONS
            else "is not made row by row (save it as a table first: then its rows are the data)"
        )
    if isinstance(node, ops.Field):
        return ""
    if isinstance(node, ops.Value) and module in ROWWISE_MODULES and name not in NOT_ROWWISE:
        return ""
    return "is not known to work row by row"


def first_line(failure: BaseException) -> str:
    """The first sentence of another library's message, without its full stop."""
    lines = str(failure).strip().splitlines() or [type(failure).__name__]
    return lines[0].rstrip(".:")
