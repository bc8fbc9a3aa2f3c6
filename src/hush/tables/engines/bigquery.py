"""BigQuery, compile only: hush writes the SQL of a query and does not run it.

No test runs this SQL in BigQuery. So nothing is promised about its results, and hush refuses to run it.
"""

from __future__ import annotations

from typing import Any

from hush.tables.engines.builtin import call, collate_function
from hush.tables.engines.contract import Engine
from hush.tables.expression import as_text, ibis

__all__ = ["ENGINE"]


def fingerprint(columns: list[Any], key: Any) -> Any:
    """The fingerprint of all values as text, each after its length."""
    message = as_text(key)
    for column in columns:
        part = as_text(column).length().cast("string") + ":" + as_text(column)
        message = message + ";" + ibis().coalesce(part, ibis().literal("null"))
    return call("farm_fingerprint", [message], "int64")


ENGINE = Engine("bigquery", None, binary=collate_function(""), hash=fingerprint)
