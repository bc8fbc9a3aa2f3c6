"""A policy: a curator declares the facts about tables once, in `hush.toml`; analysts ask within them.

policy = hush.tables.Policy.read("hush.toml")
visits = policy.open("visits")
query = visits.group_by("ward").aggregate(stay=hush.tables.mean("stay_days"))     bounds and keys from the policy
"""

from __future__ import annotations

from hush.tables.policy.policy import Policy
from hush.tables.policy.rules import PRIVATE, ROW, ColumnRule, TableRule, Via

__all__ = ["PRIVATE", "ROW", "ColumnRule", "Policy", "TableRule", "Via"]
