"""Who is protected: the unit of a table. One column, several columns together, or each row by itself.

One column. The rows with the same value belong to one person.

Several columns, such as person and month. One text is made from the values of a row: for each column the length of the
value's text, a colon and the text itself. Different values give different texts: the text is read back from left to
right, because each length says where its value ends. So equal texts are equal values in all columns. It is a function
of one row, and null where one of the columns is null: then the row belongs to nobody. The text is computed when the
table is opened, in a column that queries cannot see or change.

Each row. There is no column. A neighbouring table has one row more or one row less. The engine does not group rows by
person: it clamps the total of each row (`one_row`), and a row is in at most one group (`hush.tables.bound`).
"""

from __future__ import annotations

from collections.abc import Iterable, Iterator
from dataclasses import dataclass
from typing import Any, Final

from hush.errors import InvalidParameter, Unsupported, nearest, places_of_equals, shown
from hush.tables.expression import as_text, ibis, must_have, new_values, operations

__all__ = ["KEY", "EachRow", "Unit", "each_row", "must_keep_key", "must_not_use", "one_row", "opened_unit"]

#: The column of a key that is made from several columns or hidden. The dot keeps it apart from aggregates.
KEY = ".unit"


class EachRow:
    """The unit of a table whose every row is a person of its own; write `unit=hush.tables.each_row`."""

    def __repr__(self) -> str:
        return "each_row"

    def __reduce__(self) -> str:
        return "each_row"  # one object in a process, so that `is` finds it


each_row: Final = EachRow()


@dataclass(frozen=True)
class Unit:
    """Who is protected, as declared: the columns that identify a person together; none of them: each row."""

    columns: tuple[str, ...]

    @property
    def each_row(self) -> bool:
        """Is each row a person of its own?"""
        return not self.columns

    @property
    def words(self) -> str:
        """The unit for texts such as "for each patient_id"."""
        return " and ".join(self.columns) if self.columns else "row"

    @property
    def label(self) -> str:
        """The unit for the label by which a ledger recognises data. `hush.report` reads it back."""
        if self.each_row:
            return "each row a unit"
        return f"unit {self.words}" if len(self.columns) == 1 else f"units of {self.words}"

    @property
    def not_protected(self) -> str:
        """What the guarantee does not cover because of this unit; empty for a unit of one column."""
        if self.each_row:
            return (
                "each row is protected by itself: a person with several rows is protected row by row, and what is "
                "said about all rows of a person together adds up"
            )
        if len(self.columns) == 1:
            return ""
        first, *others = self.columns
        more = " and ".join(others)
        return (
            f"each {self.words} is protected by itself: a {first} with rows in several values of {more} is protected "
            f"for each value of {more}, and what is said about all of them together adds up"
        )


def opened_unit(relation: Any, unit: Any, *, hide: bool = False, headed: bool = False) -> tuple[Any, str, Unit]:
    """The relation with the key of the unit, the name of the column that has it, and the unit.

    With `headed`, the names are the first line of a file. With `hide`, the key of one column is copied to a column that
    queries cannot see. For `each_row` there is no such column: the name is then one that the relation does not have.
    """
    key = KEY
    while key in relation.columns:
        key += "."
    if isinstance(unit, EachRow):
        return relation, key, Unit(())
    declared = Unit(_columns_of(relation, unit, headed))
    for name in declared.columns:
        _must_identify(name, relation[name].type())
    if len(declared.columns) == 1:
        (name,) = declared.columns
        return (relation.mutate(**{key: relation[name]}), key, declared) if hide else (relation, name, declared)
    return relation.mutate(**{key: _joined(relation, declared.columns)}), key, declared


def must_not_use(hidden: frozenset[str], expressions: Iterable[Any], role: str) -> None:
    """Reject expressions (operations of Ibis) that use a hidden column."""
    ops = operations()
    for node in expressions:
        for part in _inside(node):
            if isinstance(part, ops.Field) and part.name in hidden:
                raise InvalidParameter(f"{role} uses the key of the unit, which a question cannot use.")


def _inside(value: Any) -> Iterator[Any]:
    """The nodes of a column's expression, without the columns that a window is grouped by: its rows may be those of one
    unit.
    """
    ops, waiting = operations(), [value]
    while waiting:
        node = waiting.pop()
        yield node
        free = [part for part in node.group_by if isinstance(part, ops.Field)] if hasattr(node, "group_by") else []
        waiting += [child for child in node.__children__ if not isinstance(child, ops.Relation) and child not in free]


def must_keep_key(hidden: frozenset[str], step: Any, role: str) -> None:
    """Reject a step (an operation of Ibis) that shows or changes the hidden key of the unit."""
    ops = operations()
    if hidden and isinstance(step, ops.Project):
        must_not_use(hidden, (value for name, value in step.values.items() if name not in hidden), role)
        kept = {name: value for name, value in step.values.items() if name in hidden}
        if any(not isinstance(value, ops.Field) or value.name != name for name, value in kept.items()):
            raise InvalidParameter(f"{role} changes the key of the unit, which a question cannot use.")
    elif hidden:
        must_not_use(hidden, new_values(step), role)


def _columns_of(relation: Any, unit: Any, headed: bool) -> tuple[str, ...]:
    """The names of the columns of a unit, checked."""
    if isinstance(unit, str):
        return (_known(relation, unit, headed),)
    if not isinstance(unit, list | tuple):
        raise InvalidParameter(
            f"unit must be a column, several columns or each_row, got {shown(unit)}; write unit='patient_id', "
            "unit=['patient_id', 'month'], or unit=hush.tables.each_row where each row is a person."
        )
    names = tuple(_known(relation, name, headed, place) for place, name in enumerate(unit, 1))
    if not names:
        raise InvalidParameter("unit is an empty list; name the columns that identify a person.")
    if len(set(names)) < len(names):
        raise InvalidParameter(f"unit names a column twice, at {places_of_equals(names)}.")
    return names


def _known(relation: Any, name: Any, headed: bool, place: int = 0) -> str:
    if isinstance(name, str) and name == "row" and "row" not in relation.columns:
        raise InvalidParameter(
            "unit names the column 'row', which the table does not have; for a table whose every row is a person "
            "write unit=hush.tables.each_row (on the command line --each-row)."
        )
    known = relation.columns
    if not isinstance(name, str) or name in known:
        return must_have(known, name, "unit", place)
    if not headed and not nearest(name, known):
        listed = ", ".join(map(shown, known[:20]))
        if place:  # a list may hold a person's row by mistake
            raise InvalidParameter(f"unit: the name at place {place} is no column of the table; it has {listed}.")
        raise InvalidParameter(f"unit names the column {shown(name)}, which the table does not have; it has {listed}.")
    if not headed:
        return must_have(known, name, "unit", place)
    if place:
        return must_have((), name, "unit", place)
    # only a name that differs in case is shown: the others may be a person's row
    near = next((one for one in known if one.strip().casefold() == name.strip().casefold()), None)
    if near is not None:
        hint = f"did you mean {shown(near)}?"
    elif len(known) == 1 and any(mark in known[0] for mark in ";\t|"):
        hint = "all names stand in one column, so declare what separates them, such as csv={'delimiter': ';'}."
    else:
        hint = (
            "the first line of a CSV file has the names of its columns; a file without names is opened with "
            "csv={'names': [...]}."
        )
    raise InvalidParameter(f"unit names the column {shown(name)}, which the table does not have; {hint}")


def _must_identify(name: str, kind: Any) -> None:
    """Reject a type whose values do not identify people reliably."""
    if not (kind.is_integer() or kind.is_string() or kind.is_uuid() or kind.is_date()):
        raise InvalidParameter(
            f"unit must be a column of whole numbers or text, but {shown(name)} is of type {kind}; cast it in "
            "the source (floats do not identify people reliably)."
        )


def _joined(relation: Any, names: tuple[str, ...]) -> Any:
    """One text from the values of several columns; null where one of them is null."""
    missing = ibis().literal(False)
    joined = ibis().literal("")
    for name in names:
        text = as_text(relation[name])
        missing = missing | relation[name].isnull()
        joined = joined + as_text(text.length()) + ":" + text
    return ibis().ifelse(missing, ibis().null("string"), joined)


def one_row(aggregate: Any) -> Any:
    """The value that an aggregate has on one row alone: a sum is the row's value, a count is 1.

    So the totals of an aggregate need no second definition for tables whose every row is a person.
    """
    ops = operations()

    def replaced(node: Any, changed: Any) -> Any:
        node = node.__recreate__(changed) if changed else node
        if not isinstance(node, ops.Reduction):
            return node
        if node.where is None and isinstance(node, ops.Sum | ops.Max | ops.Min):
            return node.arg
        if node.where is None and isinstance(node, ops.CountStar):
            return ibis().literal(1, type="int64").op()
        if node.where is None and isinstance(node, ops.Count):
            return ibis().ifelse(node.arg.to_expr().notnull(), 1, 0).cast("int64").op()
        raise Unsupported(
            f"an aggregate uses {type(node).__name__}, which has no rule for tables whose every row is a person; use "
            "a unit of columns."
        )

    return aggregate.op().replace(replaced, filter=ops.Value).to_expr()
