"""Snowflake, compile only: hush writes the SQL of a query and does not run it.

No test runs this SQL in Snowflake. So nothing is promised about its results, and hush refuses to run it.
"""

from __future__ import annotations

from hush.tables.engines.builtin import collate_function, hash_of_any_arguments
from hush.tables.engines.contract import Engine

__all__ = ["ENGINE"]

ENGINE = Engine("snowflake", None, binary=collate_function("utf8"), hash=hash_of_any_arguments("hash"))
