"""The limits of a policy on one question where several tables are joined or linked; `Access` holds them."""

from __future__ import annotations

import os
from dataclasses import replace
from typing import Any

from hush.errors import InvalidParameter
from hush.tables.policy.rules import TableRule, is_private

__all__ = ["as_its_people", "combined"]


def combined(rule: TableRule | None, other: TableRule | None) -> TableRule | None:
    """The rule of a join of two tables: that of the first, with the smaller limits of both and their one ledger."""
    if other is None:
        return rule
    own = rule or TableRule(source=None)
    ledgers = {os.path.realpath(path) for path in (own.ledger, other.ledger) if path is not None}
    if len(ledgers) > 1:
        raise InvalidParameter(
            f"the policy charges one table to {own.ledger} and the other to {other.ledger}; a join is charged to one "
            "ledger, so name the same in both."
        )

    def least(name: str) -> Any:
        limits = [limit for side in (own, other) if (limit := getattr(side, name)) is not None]
        numbers = [limit for limit in limits if not is_private(limit)]
        return min(numbers) if numbers else limits[0] if limits else None

    limits = {name: least(name) for name in ("groups_per_unit", "rows_per_unit", "max_epsilon", "max_delta")}
    return replace(own, ledger=own.ledger or other.ledger, **limits)


def as_its_people(rule: TableRule, people: TableRule) -> TableRule:
    """The rule of a table whose rows find their person in another one: the ledger and the population of that one, and
    the smaller budget of both for one question.
    """
    budgets: dict[str, Any] = {
        name: min((most for side in (rule, people) if (most := getattr(side, name)) is not None), default=None)
        for name in ("max_epsilon", "max_delta")
    }
    return replace(rule, ledger=people.ledger, population=people.population, **budgets)
