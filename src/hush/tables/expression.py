"""Helpers for Ibis, and the check that a user's expression uses one row at a time.

The bound on a person's contribution is proved for a map that treats each person separately. A function of one row
keeps that proof: with `age > age.mean()` one person could move everybody's rows in and out of the answer. So the whole
expression tree is checked, and only relations and operations that are known to work row by row are accepted. Columns
and tables that are made from several rows of one person are checked in `hush.tables.ownership`.
"""

from __future__ import annotations

import difflib
from collections.abc import Iterable, Iterator
from functools import cache
from typing import Any

from hush.errors import InvalidParameter, Unsupported, needs, shown, type_and_size

__all__ = [
    "as_int64",
    "as_text",
    "bind",
    "by_bytes",
    "compared",
    "constant",
    "ibis",
    "inside",
    "is_one_of",
    "must_be_rowwise",
    "must_have",
    "new_values",
    "operations",
    "translation_error",
]

#: Relations in which each row is made from one row of the source. Sorting changes no row, and a union that keeps
#: duplicates only adds rows.
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
#: Modules of Ibis whose operations use the values of one row, except those in NOT_ROWWISE.
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
#: Operations that multiply rows, number them, or need a value that is given at run time.
NOT_ROWWISE = ("Unnest", "RowID", "ScalarParameter")


def ibis() -> Any:
    """The module ibis, loaded when first needed, so that `import hush.tables` is fast."""
    with needs("Ibis with DuckDB", "hush.tables", extra="tables"):
        import ibis as module

    return module


def operations() -> Any:
    """The module of Ibis operations, to inspect the tree of an expression."""
    import ibis.expr.operations as module

    return module


def translation_error() -> type[Exception]:
    """The exception that Ibis raises when an engine does not support an operation."""
    from ibis.common import exceptions

    found: type[Exception] = exceptions.TranslationError
    return found


def constant(value: float) -> Any:
    """A float64 constant that every engine reads as the same float64.

    It is written as text and cast: 0.12345678901234567 without quotes is a decimal in DuckDB and Spark, and they
    convert decimals differently.
    """
    return ibis().literal(repr(float(value))).cast("float64")


def as_int64(column: Any) -> Any:
    """An explicit cast to int64. Ibis omits a cast where it takes a column for int64, as it does for DuckDB's 128-bit
    sums.
    """
    return operations().Cast(column, ibis().dtype("int64")).to_expr()


def as_text(column: Any) -> Any:
    """An explicit cast to text. Ibis takes an enumeration for text, but DuckDB sorts it by the order in which its
    values first appeared.
    """
    return operations().Cast(column, ibis().dtype("string")).to_expr()


def by_bytes(column: Any) -> Any:
    """Text that the engine compares, groups and sorts byte by byte, whatever collation the column or the session has.

    A collation such as NOCASE puts several spellings in one group and shows one of them: the spelling of one person.
    Both sides of a comparison need this, because DuckDB and Spark do not compare text of two collations.
    """
    return text_by_bytes()(as_text(column)).to_expr()


def compared(column: Any) -> Any:
    """A column that is ready for comparisons: text compares by its bytes, other types are unchanged."""
    return by_bytes(column) if column.type().is_string() else column


def is_one_of(column: Any, values: Iterable[Any]) -> Any:
    """Is the value of a row one of these public values? Text is compared by its bytes."""
    kind = column.type()
    return compared(column).isin([compared(ibis().literal(value, type=kind)) for value in values])


@cache
def text_by_bytes() -> Any:
    """The operation that `by_bytes` uses. Ibis has none for a collation, so it is added to the Ibis compilers here.

    Ibis finds a compiler's method by the operation's name.
    """
    from ibis.backends.sql.compilers.base import SQLGlotCompiler

    class TextByBytes(operations().Unary):  # type: ignore[misc]  # a class of Ibis, which has no types
        dtype = ibis().dtype("string")

    SQLGlotCompiler.visit_TextByBytes = collated
    return TextByBytes


def collated(compiler: Any, operation: Any, *, arg: Any) -> Any:
    """`arg COLLATE "binary"` in the dialect of the compiler's engine. An engine that hush does not know is rejected."""
    import sqlglot

    from hush.tables.engines import ENGINES

    name = compiler.dialect.__name__.lower()
    if name not in ENGINES:
        raise translation_error()(f"hush has no collation for {shown(name)} that compares bytes.")
    binary = ENGINES[name].binary
    if callable(binary):
        return binary(arg)
    return sqlglot.expressions.Collate(this=arg, expression=sqlglot.to_identifier(binary, quoted=True))


def must_have(columns: Iterable[str], name: object, role: str, place: int = 0) -> str:
    """Return `name` if it is a column; otherwise raise an error with the most similar names, but not with all names:
    in a file without a line of names, they are a person's row.

    `place` is where the name stands in a list, from 1: the list may hold data by mistake, so its names are not shown.
    """
    known = list(columns)
    if isinstance(name, str) and name in known:
        return name
    if not isinstance(name, str):
        raise InvalidParameter(
            f"{role} must be the name of a column, got {type_and_size(name) if place else shown(name)}."
        )
    same = [one for one in known if one.strip().casefold() == name.strip().casefold()]
    near = same or difflib.get_close_matches(name, known, n=3, cutoff=0.6)
    hint = f"did you mean {' or '.join(map(repr, near))}?" if near else "print the table to see its columns."
    if place:
        raise InvalidParameter(f"{role}: the name at place {place} is no column of the table; {hint}")
    raise InvalidParameter(f"{role} names the column {shown(name)}, which the table does not have; {hint}")


def bind(relation: Any, value: Any, role: str) -> Any:
    """One column of `relation`, given by name, as an Ibis expression, as `_.name`, or as a function of the table."""
    if isinstance(value, str):
        return relation[must_have(relation.columns, value, role)]
    if not (callable(value) or isinstance(value, ibis().Expr | ibis().Deferred)):
        raise InvalidParameter(f"{role} must be a column name or an Ibis expression, got {shown(value)}.")
    from hush.tables.total import must_be_short, must_be_total, total_value

    must_be_short(relation, [value])
    try:
        columns = relation.bind(value)
        selected = relation.select(**{f"c{i}": column for i, column in enumerate(columns)})
    except Exception as failure:
        raise InvalidParameter(f"{role} is not an expression over this table: {reason_of(failure)}.") from None
    if len(columns) != 1:
        raise InvalidParameter(f"{role} must be one column, got {len(columns)}.")
    (value,) = selected.op().values.values()
    must_be_rowwise(inside(value), role)
    must_be_total(inside(value), role, relation.op())
    made = total_value(value, relation.op())
    return columns[0] if made == value else made.to_expr()


def inside(value: Any) -> Iterator[Any]:
    """The nodes of a column's expression. Relations are left out: the rows of a table are checked when it is made."""
    ops, seen, waiting = operations(), set(), [value]
    while waiting:
        node = waiting.pop()
        if node not in seen:
            seen.add(node)
            yield node
            waiting += [child for child in node.__children__ if not isinstance(child, ops.Relation)]


def new_values(step: Any) -> list[Any]:
    """The expressions of one step: the columns of a projection, the conditions of a filter, or the aggregates."""
    ops = operations()
    if isinstance(step, ops.Project):
        return list(step.values.values())
    if isinstance(step, ops.Filter):
        return list(step.predicates)
    return list(step.metrics.values()) if isinstance(step, ops.Aggregate) else []


def must_be_rowwise(nodes: Iterable[Any], role: str, *, but: str = "") -> None:
    """Reject an expression that uses other rows, other tables or anything that changes between runs, and one that fails
    on text that is not a number: the failure would reveal, without a charge, that there is such a row. `but` names what
    else is allowed in this place.
    """
    ops = operations()
    for node in nodes:
        reason = trouble(node, ops)
        if reason:
            raise Unsupported(
                f"{role} uses {type(node).__name__}, which {reason}; an expression may only use the values of one "
                f"row{but}, because hush bounds the contribution of each person separately."
            )
        if (
            isinstance(node, ops.Cast)
            and node.arg.dtype.is_string()
            and not node.to.is_string()
            and not isinstance(node.arg, ops.Literal)
        ):
            raise Unsupported(
                f"{role} casts text to {node.to}, which fails if a text cannot be converted and so reveals that "
                f"there is such a row; write .try_cast('{node.to}'), which makes it null."
            )


def trouble(node: Any, ops: Any) -> str:
    """Why this node is rejected; empty if it is accepted."""
    name, module = type(node).__name__, type(node).__module__.rpartition(".")[2]
    if isinstance(node, ops.WindowFunction):
        return "uses several rows (a window over the rows of one person is a column: add it with mutate first)"
    if isinstance(node, ops.Reduction | ops.Analytic):
        return "uses several rows"
    if isinstance(node, ops.Subquery):
        return "uses other rows or other tables"
    if isinstance(node, ops.Impure):
        return "may change between runs or cannot be inspected"
    if isinstance(node, ops.Relation):
        if name == "Union" and node.distinct:
            return "compares rows with each other"
        return (
            ""
            if name in ROWWISE_RELATIONS
            else "is not computed row by row (save it as a table first; then its rows are the data)"
        )
    if isinstance(node, ops.Field) or name in ("TextByBytes", "Tried", "Real"):
        return ""
    if isinstance(node, ops.Value) and module in ROWWISE_MODULES and name not in NOT_ROWWISE:
        return ""
    return "is not known to work row by row"


def reason_of(failure: BaseException) -> str:
    """Why Ibis rejects an expression, in one sentence: its message is kept where it can name code only."""
    lines = str(failure).strip().splitlines()
    if isinstance(failure, AttributeError) and lines:
        return lines[0].rstrip(".:")
    return f"it raises {type(failure).__name__}, whose message is hidden because it may quote the data"


def first_line(failure: BaseException) -> str:
    """The first sentence of another library's message, without its full stop, and without the list of all columns that
    Ibis adds: in a file without a line of names they are a person's row.
    """
    lines = str(failure).strip().splitlines() or [type(failure).__name__]
    return lines[0].partition(" Existing columns")[0].rstrip(".:")
