"""The nearest statement that is answered, for one that is refused: what cannot stay is replaced or left out, step by
step, until the rest is translated.
"""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

from hush.errors import HushError
from hush.tables.sql.catalogue import Catalogue
from hush.tables.sql.refusal import Refused

__all__ = ["nearest_statement", "people_of"]

_STEPS = 12
#: Clauses of a SELECT that can be left out as a whole.
_CLAUSES = ("having", "order", "limit", "offset", "distinct", "hint", "qualify", "windows", "sample", "into", "locks")


def nearest_statement(
    tree: Any, refusal: Refused, translate: Callable[[Any], Any], policy: Catalogue, dialect: str
) -> str:
    """A statement that is translated; empty if none is found."""
    for _ in range(_STEPS):
        tree = _edited(tree, refusal)
        if tree is None:
            break
        try:
            translate(tree)
            return str(tree.sql(dialect=dialect, comments=False))
        except Refused as failure:
            refusal = failure
        except HushError:
            break
    return people_of(policy, translate, dialect)


def people_of(policy: Catalogue, translate: Callable[[Any], Any], dialect: str) -> str:
    """SELECT COUNT(DISTINCT unit) FROM the first table of people."""
    import sqlglot

    exp = sqlglot.exp
    for name, rule in policy.tables.items():
        if rule.public:
            continue
        units = [rule.unit] if isinstance(rule.unit, str) else list(rule.unit or ())
        inside = exp.Star() if units == ["row"] else exp.Distinct(expressions=[exp.column(unit) for unit in units])
        tree = exp.select(exp.alias_(exp.Count(this=inside), "people")).from_(exp.to_table(name))
        try:
            translate(tree)
            return str(tree.sql(dialect=dialect))
        except HushError:
            continue
    return ""


def _edited(tree: Any, refusal: Refused) -> Any:
    """A copy of the tree without the refused node, or with another one in its place; None if it cannot be edited."""
    place = next((i for i, node in enumerate(tree.walk()) if node is refusal.node), None)
    if place is None:
        return None
    copy = tree.copy()
    node = next(node for i, node in enumerate(copy.walk()) if i == place)
    if refusal.put is not None:
        if node is copy:
            return refusal.put.copy()
        node.replace(refusal.put.copy())
        return copy
    return copy if node is not copy and _left_out(node) else None


def _left_out(node: Any) -> bool:
    """Leave out the smallest part of the statement around the node that can be left out."""
    while node.parent is not None:
        parent, name = node.parent, node.arg_key
        kind = type(parent).__name__
        if kind == "Select" and name == "expressions":
            if len(parent.expressions) == 1:
                return False
            node.pop()
            return True
        if kind == "Select" and (name in _CLAUSES or name == "group"):
            parent.set(name, None)
            return True
        if kind == "Select" and name == "joins":
            node.pop()
            return True
        if kind == "Group" and name == "expressions":
            node.pop()
            if not parent.expressions:
                parent.pop()
            return True
        if kind == "And":
            parent.replace(parent.right if node is parent.left else parent.left)
            return True
        if kind == "Where":
            if type(parent.parent).__name__ != "Select":
                return False
            parent.pop()
            return True
        if kind in ("Table", "Subquery") and name != "this":
            parent.set(name, None)
            return True
        node = parent
    return False
