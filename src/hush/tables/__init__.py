"""Private answers over tables: values with error bars and a receipt, from declared contribution bounds.

    visits = hush.tables.table("visits.parquet", unit="patient_id")
    query = (visits.filter(visits["age"] >= 18)
             .group_by("ward", keys=["A", "B", "C"], groups_per_unit=2)
             .aggregate(n=tables.count(), total=tables.sum("cost", low=0, high=500)))
    plan = query.plan(epsilon=1.0, delta=1e-6)        the noise and the errors to expect; nothing is spent
    answer = plan.answer(ledger=ledger)

`query.sensitivity` is how far one person can move the integer aggregates. `query.aggregates()` gives these aggregates
without noise: they are not private.
"""

from __future__ import annotations

from typing import TYPE_CHECKING

from hush.tables.advice import Advice, LimitsPlan, advise
from hush.tables.answer import Answer
from hush.tables.contribution import Part, Reach
from hush.tables.counts import count, count_units
from hush.tables.exact_aggregates import Aggregates
from hush.tables.histograms import histogram
from hush.tables.joining import SideTable, public
from hush.tables.linear.grid_answer import GridAnswer
from hush.tables.linear.labelled import RangesAnswer, TablesAnswer
from hush.tables.linear.table_plan import TableWorkload, TableWorkloadPlan
from hush.tables.linking import linked
from hush.tables.means import mean
from hush.tables.policy import ColumnRule, Policy, TableRule, Via
from hush.tables.publish.basis import Figure
from hush.tables.quantiles import median, quantile
from hush.tables.query import GroupedTable, Query, Table, table
from hush.tables.query_plan import QueryPlan
from hush.tables.sample_table import sample
from hush.tables.sums import sum
from hush.tables.top_plan import TopPlan
from hush.tables.top_query import TopQuery
from hush.tables.unit import each_row
from hush.tables.variances import variance
from hush.tables.which.query import KeysPlan, KeysQuery

__all__ = [
    "Advice",
    "Aggregates",
    "Answer",
    "ColumnRule",
    "Figure",
    "GridAnswer",
    "GroupedTable",
    "KeysPlan",
    "KeysQuery",
    "LimitsPlan",
    "Part",
    "Policy",
    "Query",
    "QueryPlan",
    "RangesAnswer",
    "Reach",
    "SideTable",
    "Table",
    "TableRule",
    "TableWorkload",
    "TableWorkloadPlan",
    "TablesAnswer",
    "TopPlan",
    "TopQuery",
    "Via",
    "advise",
    "count",
    "count_units",
    "each_row",
    "histogram",
    "linked",
    "mean",
    "median",
    "public",
    "quantile",
    "sample",
    "sum",
    "table",
    "variance",
]

#: Aggregates by the names that they have elsewhere.
_ELSEWHERE = {
    "average": "mean(column, low=0, high=100)",
    "avg": "mean(column, low=0, high=100)",
    "count_distinct": "count_units()",
    "nunique": "count_units()",
    "percentile": "quantile(column, 0.5, low=0, high=100)",
    "std": "variance(column, low=0, high=100)",
    "stddev": "variance(column, low=0, high=100)",
    "var": "variance(column, low=0, high=100)",
}


if not TYPE_CHECKING:  # a type checker would take every name for one of these

    def __getattr__(name: str) -> object:
        from hush.errors import nearest

        hint = f"write {_ELSEWHERE[name]}" if name in _ELSEWHERE else nearest(name, __all__)
        raise AttributeError(
            f"module 'hush.tables' has no attribute '{name}'" + (f"; {hint}" if hint else ""), name=name
        )
