"""Private answers over tables: contribution bounds in, values with error bars and a receipt out.

    visits = hush.tables.table("visits.parquet", unit="patient_id")
    query = (visits.filter(visits["age"] >= 18)
             .group_by("ward", keys=["A", "B", "C"], groups_per_unit=2)
             .aggregate(n=count(), total=sum("cost", low=0, high=500)))
    plan = query.plan(epsilon=1.0, delta=1e-6)        the noise, the errors to expect; nothing is spent
    answer = plan.answer(ledger=ledger)

`query.sensitivity` says how far one unit can move the integer aggregates, `query.aggregates()` gives them as they
are, not private yet.
"""

from __future__ import annotations

from hush.tables.aggregate import count, count_units, histogram, mean, quantile, sum_, variance
from hush.tables.answer import Answer
from hush.tables.contribution import Part, Reach
from hush.tables.query import Aggregates, GroupedTable, Query, Table, table
from hush.tables.query_plan import QueryPlan
from hush.tables.sample_table import sample

sum = sum_  # for `tables.sum(...)`; `sum_` is for those who import it by name

__all__ = [
    "Aggregates",
    "Answer",
    "GroupedTable",
    "Part",
    "Query",
    "QueryPlan",
    "Reach",
    "Table",
    "count",
    "count_units",
    "histogram",
    "mean",
    "quantile",
    "sample",
    "sum",
    "sum_",
    "table",
    "variance",
]
