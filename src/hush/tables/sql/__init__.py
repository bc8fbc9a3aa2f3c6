"""SQL over the tables of a policy.

    policy = hush.tables.Policy.read("hush.toml")
    hush.sql("SELECT ward, AVG(stay_days) FROM visits GROUP BY ward", policy, epsilon=1.0, delta=1e-6)

A statement is parsed with sqlglot and translated, node by node, into the same query that the Python interface makes.
Only known nodes are translated; the text itself never reaches an engine. `EXPLAIN SELECT ...` gives the plan and spends
nothing. HAVING, ORDER BY, LIMIT and arithmetic on aggregates are computed from released values.
"""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

from hush.errors import called_like
from hush.tables.answer import Answer
from hush.tables.policy import Policy
from hush.tables.sql import arithmetic, casts, dates, logic, texts  # noqa: F401  # they register the row expressions
from hush.tables.sql.planned import Statement, StatementPlan, statement
from hush.tables.sql.refusal import Refused

if TYPE_CHECKING:
    from hush.ledger import Ledger

__all__ = ["Refused", "Statement", "StatementPlan", "sql", "statement"]


@called_like("sql('SELECT COUNT(*) FROM visits', policy, epsilon=1.0, delta=1e-6)")
def sql(
    text: str,
    policy: Policy,
    epsilon: float | None = None,
    delta: float | None = None,
    *,
    ledger: Ledger | None = None,
    dialect: str = "duckdb",
    label: str = "",
    level: float = 0.95,
    together: bool = False,
    **options: Any,
) -> Answer | StatementPlan:
    """Answer a SELECT over a table of the policy, with intervals (`name_low`, `name_high`) and a receipt.

    Bounds, keys and limits come from the policy. Without `ledger`, the ledger of the policy is charged. `dialect` is
    the SQL of the text: duckdb, postgres, spark, bigquery or snowflake. `level` is the probability that an
    interval contains the answer without noise; with `together` it holds for all numbers of a row at once. `options` are
    those of `Query.plan`, such as `family="gaussian"`.

    `EXPLAIN SELECT ...` gives the plan instead of an answer and spends nothing. A statement that cannot be answered
    raises `hush.tables.sql.Refused` (an `Unsupported`); its `instead` is the nearest statement that can.
    """
    asked = statement(text, policy, dialect)
    plan = asked.plan(epsilon, delta, **options)
    if asked.parsed.explain:
        return plan
    return plan.answer(ledger=ledger, label=label, level=level, together=together)
