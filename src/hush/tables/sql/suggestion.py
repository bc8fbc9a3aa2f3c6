"""The statement that means the same as a refused one and is answered, if there is one: parts of the statement are
replaced by parts that say the same. Nothing is left out, because the answer of what remains would have the name of
what was asked.
"""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

from hush.errors import HushError
from hush.tables.sql.refusal import Refused

__all__ = ["same_statement"]

_STEPS = 12


def same_statement(tree: Any, refusal: Refused, translate: Callable[[Any], Any], dialect: str) -> str:
    """A statement with the same meaning that is translated; empty if none is known."""
    for _ in range(_STEPS):
        tree = _replaced(tree, refusal)
        if tree is None:
            break
        try:
            translate(tree)
            return str(tree.sql(dialect=dialect, comments=False))
        except Refused as failure:
            refusal = failure
        except HushError:
            break
    return ""


def _replaced(tree: Any, refusal: Refused) -> Any:
    """A copy of the tree in which the refused node says the same in another way; None if no such way is known."""
    place = next((i for i, node in enumerate(tree.walk()) if node is refusal.node), None)
    if place is None or refusal.put is None:
        return None
    copy = tree.copy()
    node = next(node for i, node in enumerate(copy.walk()) if i == place)
    if node is copy:
        return refusal.put.copy()
    node.replace(refusal.put.copy())
    return copy
