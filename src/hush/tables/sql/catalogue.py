"""The tables of a policy, each opened once for a statement, however often the statement is translated."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass, field
from typing import Any

from hush.tables.policy import Policy, TableRule

__all__ = ["Catalogue"]


@dataclass(frozen=True)
class Catalogue:
    """A policy and its open tables."""

    policy: Policy
    _open: dict[str, Any] = field(default_factory=dict, repr=False, compare=False)

    @property
    def tables(self) -> Mapping[str, TableRule]:
        """What the policy declares, by the name of the table."""
        return self.policy.tables

    @property
    def people(self) -> list[str]:
        """The names of the tables of people."""
        return [name for name, rule in self.tables.items() if not rule.public]

    def rule(self, name: str) -> TableRule:
        """What is declared about a table."""
        return self.policy.rule(name)

    def open(self, name: str) -> Any:
        """The table of people, as the policy opens it."""
        if name not in self._open:
            self._open[name] = self.policy.open(name)
        return self._open[name]
