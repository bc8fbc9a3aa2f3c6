"""The policy: what a curator declares once about tables, so that analysts need not, and may not loosen it."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass, field
from pathlib import Path
from typing import TYPE_CHECKING, Any, Self

from hush.tables.policy.rules import TableRule

if TYPE_CHECKING:
    from hush.ledger import Ledger
    from hush.tables.query import Table

__all__ = ["Policy"]


@dataclass(frozen=True)
class Policy:
    """The tables that may be asked, and the facts about them: `Policy.read("hush.toml")` or
    `Policy({"visits": TableRule(...)})`.
    """

    tables: Mapping[str, TableRule]
    #: the folder that relative paths start from; None: the working directory
    folder: Path | None = field(default=None, compare=False)

    @classmethod
    def read(cls, path: str | Path) -> Self:
        """The policy in a TOML file. Relative paths in it start from its folder. All mistakes are reported at once."""
        raise NotImplementedError

    def rule(self, name: str) -> TableRule:
        """What is declared about a table; an unknown name is refused."""
        raise NotImplementedError

    def open(self, name: str) -> Table:
        """The table, restricted to the columns that may be asked, with its unit. Its aggregates and groups take
        bounds, keys and limits from the policy, and refuse looser ones.
        """
        raise NotImplementedError

    def lookup(self, name: str) -> Any:
        """The rows of a public table (an Ibis table), restricted to the columns that may be asked."""
        raise NotImplementedError

    def ledger(self, name: str) -> Ledger | None:
        """The ledger of a table, opened; None if the policy names none."""
        raise NotImplementedError

    def check_budget(self, name: str, epsilon: float, delta: float) -> None:
        """Refuse a question that asks for more than the policy allows for one question."""
        raise NotImplementedError

    def text(self) -> str:
        """The policy as TOML."""
        raise NotImplementedError
