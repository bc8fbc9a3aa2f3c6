"""Tables, queries and plans never change: a copy is the same object, and nothing of them goes to another process."""

from __future__ import annotations

from typing import Any, NoReturn, Self

from hush.errors import Unsupported

__all__ = ["Unchanging"]


class Unchanging:
    """A table, a query or a plan: `copy` and `deepcopy` give the object itself, and `pickle` refuses it.

    A plan holds an open table. A copied table would be another table, on which the plan could fail after it was paid.
    """

    def __copy__(self) -> Self:
        return self

    def __deepcopy__(self, _: Any) -> Self:
        return self

    def __reduce__(self) -> NoReturn:
        raise Unsupported(
            f"a {type(self).__name__} holds an open table, so it cannot be pickled or sent to another process; open "
            "the table and make the plan in that process, on the same ledger file; nothing was spent."
        )
