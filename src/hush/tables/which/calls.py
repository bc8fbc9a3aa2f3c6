"""The call `keys()` of a grouped table: which groups exist."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

if TYPE_CHECKING:
    from hush.tables.which.query import KeysQuery

__all__ = ["KeysCall"]


class KeysCall:
    """A grouped table can be asked which of its groups exist."""

    table: Any
    grouping: Any

    def keys(self) -> KeysQuery:
        """The question which groups exist, without any number. It needs keys="private", and finds more groups than an
        answer with counts: a person with few groups counts more in each of them.
        """
        from hush.tables.which.query import keys_query

        return keys_query(self.table, self.grouping)
