"""The limits of a policy on one question: epsilon, delta and the ledger that is charged."""

from __future__ import annotations

import os
from typing import TYPE_CHECKING

from hush.errors import InvalidParameter
from hush.tables.policy.rules import TableRule

if TYPE_CHECKING:
    from hush.ledger import Ledger

__all__ = ["must_be_allowed", "must_charge"]


def must_be_allowed(rule: TableRule | None, epsilon: float, delta: float) -> None:
    """Refuse a question that asks for more than the policy allows for one question."""
    if rule is None:
        return
    for name, asked, most in (("epsilon", epsilon, rule.max_epsilon), ("delta", delta, rule.max_delta)):
        if most is not None and not asked <= most:
            raise InvalidParameter(
                f"{name} is {asked:g}, but the policy allows at most {most:g} for one question; ask for less."
            )


def must_charge(rule: TableRule | None, ledger: Ledger | None) -> None:
    """Refuse a question that is not charged to the ledger of the policy."""
    if rule is None or rule.ledger is None:
        return
    path = None if ledger is None else ledger.path
    if path is None or os.path.realpath(path) != os.path.realpath(rule.ledger):
        given = "none" if ledger is None else "one in memory" if path is None else str(path)
        raise InvalidParameter(
            f"the ledger is {given}, but the policy charges every question to {rule.ledger}; write "
            "ledger=policy.ledger(...), or leave --ledger out on the command line."
        )
