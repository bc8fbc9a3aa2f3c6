"""Statements that hush does not answer: the reason in one sentence, and a statement that says the same, if one does."""

from __future__ import annotations

from typing import Any

from hush.errors import Unsupported

__all__ = ["Refused", "allow_only", "refuse_clauses"]


class Refused(Unsupported):
    """A statement that is not answered. `instead` means the same and is answered, or is empty; nothing was spent.

    Inside the translation it names the `node` of the statement that cannot stay, and what to `put` in its place: it
    must say the same in every case (None: nothing does).
    """

    def __init__(self, sentence: str, node: Any = None, put: Any = None, *, instead: str = "") -> None:
        self.sentence, self.node, self.put, self.instead = _ended(sentence), node, put, instead
        super().__init__(self.sentence + (f" Write instead: {instead}" if instead else ""))


def _ended(sentence: str) -> str:
    """The sentence with the mark at its end."""
    return sentence if sentence.endswith("?") else sentence.rstrip(". ") + "."


def allow_only(node: Any, *names: str, what: str = "") -> None:
    """Refuse a node of a statement that has a part which is not in `names`."""
    for name, part in node.args.items():
        if part not in (None, False, [], ()) and name not in names:
            word = what or type(node).__name__.upper()
            raise Refused(f"{word} with {name.strip('_').replace('_', ' ').upper()} is not answered", node)


def refuse_clauses(select: Any, names: set[str]) -> None:
    """Refuse a SELECT that has a clause which is not in `names`."""
    for name, part in list(select.args.items()):
        if part in (None, False, [], ()) or name in names:
            continue
        word = name.strip("_").upper()
        node = part[0] if isinstance(part, list) else part
        raise Refused(f"the clause {word} is not answered", node if hasattr(node, "parent") else select)
