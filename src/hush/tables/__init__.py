"""Questions about tables: contribution bounds in, exact integer aggregates with a proved sensitivity out.

t = hush.tables.table("visits.parquet", unit="patient_id")
q = (t.filter(t["age"] >= 18)
      .group_by("ward", keys=["A", "B", "C"], groups_per_unit=2)
      .aggregate(n=count(), total=sum_("cost", low=0, high=500)))
q.sensitivity       how far one patient can move the answer
q.aggregates()      the exact integers, for noise to be added to
"""

from __future__ import annotations

from hush.tables.aggregate import count, count_units, histogram, mean, quantile, sum_, variance
from hush.tables.query import Aggregates, GroupedTable, Query, Table, table
from hush.tables.reach import Part, Reach

__all__ = [
    "Aggregates",
    "GroupedTable",
    "Part",
    "Query",
    "Reach",
    "Table",
    "count",
    "count_units",
    "histogram",
    "mean",
    "quantile",
    "sum_",
    "table",
    "variance",
]
