"""The calls that describe a query: a table, rows to keep, columns to compute, groups, aggregates; then plan and answer.

Every step is immutable and is checked when it is made. Nothing runs before `answer()` or `aggregates()`.
"""

from __future__ import annotations

from collections.abc import Iterator, Mapping
from dataclasses import dataclass, replace
from typing import TYPE_CHECKING, Any, cast

from hush.calibration.extreme import asked_budget, extreme_budgets
from hush.errors import IncompleteCall, InvalidParameter, called_like, nearest, shown, within
from hush.privacy.charge import Budget
from hush.tables.accuracy import Planning
from hush.tables.advice.plan import LimitsPlan
from hush.tables.answer import Answer
from hush.tables.asked_types import of_keys, of_measures, with_types
from hush.tables.blocks import WithBlocks
from hush.tables.budget_split import divided
from hush.tables.description import QueryDescription, TableDescription, prepared
from hush.tables.expression import (
    bind,
    inside,
    must_be_rowwise,
    must_have,
    new_values,
    operations,
    reason_of,
)
from hush.tables.group import Grouping, ungrouped
from hush.tables.joining import joined
from hush.tables.left_out import SHARE as LIMITS_SHARE
from hush.tables.linear.calls import WorkloadCalls
from hush.tables.measure import Measure
from hush.tables.opening import with_unit
from hush.tables.ownership import must_be_owned
from hush.tables.per_person import settled_aggregates, settled_windows
from hush.tables.planned import must_be_series
from hush.tables.policy.facts import Facts
from hush.tables.policy.groups import grouped_by_policy
from hush.tables.private_bounds import magnitude_histograms, stand_in
from hush.tables.quantise import Limits
from hush.tables.query_checks import as_expression, check_aggregate, check_columns, check_names, one_aggregate
from hush.tables.query_plan import QueryPlan
from hush.tables.row_blocks import WithRowBlocks
from hush.tables.source import open_source
from hush.tables.top_query import WithTop
from hush.tables.total import must_be_short, must_be_total, total_step
from hush.tables.unchanging import Unchanging
from hush.tables.unit import must_keep_key, must_not_use
from hush.tables.which.calls import KeysCall

if TYPE_CHECKING:
    from hush.ledger import Ledger
    from hush.tables.policy import Policy

__all__ = ["GroupedTable", "Query", "Table", "table"]


@called_like("table('visits.parquet', unit='patient_id')")
def table(
    source: Any,
    *,
    unit: Any = None,
    name: str | None = None,
    engine: Any = "duckdb",
    max_rows: int = 2**40,
    population: str | None = None,
    types: Mapping[str, str] | None = None,
    csv: Mapping[str, Any] | None = None,
    policy: Policy | None = None,
) -> Table:
    """A table of rows, each of which belongs to one person (or other unit) to be protected.

    `source` is a CSV, Parquet or JSON file (also a glob or a folder), a DuckDB or SQLite file or an address
    "postgresql://user@host/database" (`name` chooses the table), a pandas, polars or Arrow frame, a DuckDB relation, an
    Ibis table, or a Spark frame. `unit` is the column that identifies the person each row belongs to; a list of
    columns, such as ["patient_id", "month"], that identify the unit together; or `hush.tables.each_row` where each row
    is a person of its own. `engine` is "duckdb", "spark", a Spark session or "sc://host:port". `max_rows` is a public
    upper limit on the number of rows, also of joined rows: beyond 2^40 sums are kept at a coarser resolution.
    `population` names the people. Tables of one population share one ledger. With `policy`, `source` is the name of a
    table of the policy, which declares everything else.

    Columns of CSV and JSON files are text, until bounds or listed keys of a question say otherwise, or `types` does:
    {"age": "number", "day": "date"}, also "whole", "time", "boolean" and "text". Text that does not fit is null. A JSON
    file has the columns that `types` and `unit` name. `csv` is the form of a CSV file: {"delimiter": ";", "quote":
    "'", "encoding": "cp1252", "decimal": ",", "dates": "%d.%m.%Y", "names": ["id", "age"]}.

    The schema is public. The rows of a view or a Spark frame are the data: neighbouring tables differ in the rows of
    one person of it. Rows with a null unit belong to nobody and are dropped.
    """
    if policy is not None:
        if any(given is not None for given in (unit, name, types, csv)) or engine != "duckdb":
            raise InvalidParameter(
                "the policy declares unit, name, engine, types and csv of its tables; leave them out."
            )
        return policy.open(source)
    if unit is None:
        raise IncompleteCall(
            "table is missing unit; write table('visits.parquet', unit='patient_id'), or unit=hush.tables.each_row "
            "where each row is a person."
        )
    fields = [unit] if isinstance(unit, str) else unit if isinstance(unit, list | tuple) else []
    opened = open_source(source, name=name, engine=engine, types=types, csv=csv, fields=fields)
    return Table(**with_unit(opened, unit, population=population), limits=Limits(max_rows))


#: Rows of people are never shown, whatever the name of the method in other libraries.
_ROWS = ("head", "tail", "show", "collect", "to_pandas", "toPandas", "to_arrow", "execute", "iloc", "loc", "values")


def _hint(name: str) -> str:
    """The call that an attribute of another library's table stands for."""
    if name in _ROWS:
        return "; rows of people are not shown: ask for numbers, such as aggregate(n=count_units())"
    if name in ("agg", "groupby", "where", "assign", "merge", "describe"):
        known = {"agg": "aggregate", "groupby": "group_by", "where": "filter", "assign": "mutate", "merge": "join"}
        return f"; write {known.get(name, 'aggregate')}(...)"
    near = nearest(name, [one for one in dir(Table) if not one.startswith("_")])
    return f"; {near}" if near else ""


@dataclass(frozen=True, repr=False)
class Table(WithBlocks, WithRowBlocks, TableDescription, WorkloadCalls):
    """A table of people's rows. `t["column"]` is an Ibis column to build expressions from."""

    def __getitem__(self, name: str) -> Any:
        return self.relation[must_have(self.columns, name, "the expression")]

    def __getattr__(self, name: str) -> Any:
        """Called only where there is no such attribute. A column is t["name"]: it may have the name of a method."""
        if not name.startswith("_") and name in self.columns:
            raise AttributeError(f"a table has no attribute {shown(name)}; write table[{shown(name)}] for its column.")
        raise AttributeError(f"a table has no attribute {shown(name)}{_hint(name)}.")

    def __repr__(self) -> str:
        return f"Table(unit={shown(self.whose.words)}, columns={list(self.columns)})"

    def filter(self, *conditions: Any) -> Table:
        """The rows for which all conditions hold. A condition may only use the values of one row."""
        texts = []
        for condition in conditions:
            if isinstance(condition, str) and condition not in self.columns and not condition.isidentifier():
                raise InvalidParameter(
                    f"filter takes an expression, got the text {shown(condition)}; write {as_expression(condition)}."
                )
            found = bind(self.relation, condition, "filter")
            if not found.type().is_boolean():
                raise InvalidParameter(
                    f"filter needs a condition that is true or false, got one of type {found.type()}."
                )
            texts.append(str(found.get_name()))
        kept = self.derived(lambda: self.relation.filter(*conditions), "filter")
        return replace(kept, filters=(*self.filters, *texts))

    def mutate(self, **columns: Any) -> Table:
        """Add columns, each computed from the values of one row, or from the rows of one person: a window that is
        grouped by the unit, such as `n_visits=lambda t: t.count().over(group_by="patient_id")`.
        """
        check_columns("mutate", columns, self.unit, [name for name in self.columns if name not in columns])
        must_be_short(self.relation, columns.values())
        return self.derived(lambda: self.relation.mutate(**columns), "mutate", settled_windows)

    @called_like("per_unit(visits=lambda t: t.count(), total=lambda t: t['cost'].sum())")
    def per_unit(self, **columns: Any) -> Table:
        """A table of one row for each person: the unit, and aggregates of this person's rows. They are Ibis
        aggregates: `count()`, and `count`, `nunique`, `sum`, `mean`, `min`, `max`, `any`, `all` of a column.

        A person then has one row, so a person is in one group, and counts of rows are counts of people.
        """
        hint = "write per_unit(visits=lambda t: t.count(), total=lambda t: t['cost'].sum())"
        if not columns:
            raise InvalidParameter(f"per_unit needs at least one column; {hint}.")
        if self.whose.each_row:
            raise InvalidParameter("per_unit needs a unit of columns: here each row is a person, with one row.")
        check_columns("per_unit", columns, self.unit, [])
        must_be_short(self.relation, columns.values())
        bound = {name: one_aggregate(self.relation, name, value, hint) for name, value in columns.items()}
        made = self.derived(
            lambda: self.relation.group_by(self.unit).aggregate(**bound), "per_unit", settled_aggregates
        )
        return replace(made, steps=(*self.steps, f"one row for each {self.whose.words}: {', '.join(columns)}"))

    @called_like("join(tables.public('wards.csv'), on='ward')")
    def join(self, other: Any, *, on: Any, how: str = "inner", suffix: str = "_right") -> Table:
        """Join with `tables.public(...)` on any key, or with another table on the unit of both. A table that
        `tables.linked(...)` opened is joined on its key; the units are then compared too.

        `on` is a column, a list of columns, or a mapping of this table's columns to the other's. `how` is "inner" or
        "left". The unit stays that of this table. A column of the other table whose name is taken gets the `suffix`.
        """
        return replace(self, **joined(self, other, on, how, suffix))

    def derived(self, make: Any, role: str, settle: Any = None) -> Table:
        """This table with another relation, in which each row must belong to one person."""
        try:
            relation = make()
        except Exception as failure:
            raise InvalidParameter(f"{role} is not an expression over this table: {reason_of(failure)}.") from None
        if self.whose.each_row:
            rows, one_row = self.source.relation.op(), True
            must_be_rowwise(relation.op().find(operations().Node, filter=lambda node: node != rows), role)
        else:
            one_row = must_be_owned(relation, self.roots, self.unit, role).one_row
        must_keep_key(self.hidden, relation.op(), role)
        for value in new_values(relation.op()):
            must_be_total(inside(value), role, self.relation.op())
        relation = total_step(relation)
        if settle is not None and not self.whose.each_row:
            relation = settle(relation, role)
            one_row = must_be_owned(relation, self.roots, self.unit, role).one_row
        return replace(self, relation=relation, one_row=one_row)

    @called_like("group_by('ward', keys='private', groups_per_unit=3)")
    def group_by(self, *names: str, keys: Any = None, groups_per_unit: int | str | None = None) -> GroupedTable:
        """Group by the values of columns. `keys` is the public list of groups to answer for (values; tuples for
        several columns; or a mapping of columns to values, for all combinations), or "private". `groups_per_unit` is
        the most groups in which one person counts, or "private": a part of the budget then chooses it. Under a policy
        both may be left out.
        """
        for name in names:
            must_have(self.columns, name, "group_by")
        keys = list(keys) if isinstance(keys, Iterator) else keys
        table, groups = grouped_by_policy(with_types(self, of_keys(names, keys)), names, keys, groups_per_unit)
        return GroupedTable(table, groups.of_one_row() if self.one_row else groups)

    @called_like("aggregate(n=tables.count())")
    def aggregate(self, **aggregates: Measure) -> Query:
        """Aggregates over all rows, as one group."""
        return GroupedTable(self, ungrouped()).aggregate(**aggregates)


@dataclass(frozen=True)
class GroupedTable(Unchanging, KeysCall, WithTop):
    """A table and its groups. `aggregate` makes a query of it, `keys` asks which exist, `top` asks for the largest."""

    table: Table
    grouping: Grouping

    @called_like("aggregate(n=tables.count())")
    def aggregate(self, **aggregates: Measure) -> Query:
        """The aggregates to answer, by name: `n=tables.count(), total=tables.sum("cost", low=0, high=500)`."""
        if not aggregates:
            raise InvalidParameter("aggregate needs at least one aggregate; write aggregate(n=count()).")
        for name, measure in aggregates.items():
            check_aggregate(name, measure, self.grouping.names)
        texts = [name for name in self.grouping.names if self.table.relation[name].type().is_string()]
        typed = with_types(self.table, of_measures(aggregates, texts))
        if typed is not self.table:
            return replace(self, table=typed).aggregate(**aggregates)
        facts, relation = Facts(self.table), self.table.relation
        aggregates = {name: measure.declared(name, facts) for name, measure in aggregates.items()}
        open_rows = frozenset(name for name, m in aggregates.items() if m.wants_rows and not self.table.one_row)
        aggregates = {name: m.with_rows(facts.most_rows) if m.wants_rows else m for name, m in aggregates.items()}
        declared = tuple(aggregates.items())
        wanted = magnitude_histograms(relation, aggregates)
        search = self.table.aggregate(**wanted) if wanted else None
        ready = {name: m.with_bounds(*stand_in(relation, name, m)) if m.wants_bounds else m for name, m in declared}
        measures, threshold = prepared(self.table, self.grouping, ready, frozenset(wanted))
        facts.must_fit(measures)
        used = [measure.value.op() for measure in measures if measure.value is not None]
        must_not_use(self.table.hidden, used, "an aggregate")
        query = Query(self.table, self.grouping, measures, threshold, search, declared, open_rows=open_rows)
        check_names(self.grouping.names, query.shown)
        return query


@dataclass(frozen=True)
class Query(Planning, QueryDescription):
    """Aggregates over groups of a table. `plan()` shows the noise and the errors; `answer()` spends the budget."""

    @called_like("plan(epsilon=1.0, delta=1e-6)")
    def plan(
        self,
        epsilon: float,
        delta: float,
        *,
        weights: Mapping[str, float] | None = None,
        family: str | None = None,
        keys_for: str = "shown",
        limits_share: float = LIMITS_SHARE,
        other: bool = False,
        hash: str | None = None,
        first: str = "rank",
        times: int = 1,
        series: str | None = None,
    ) -> QueryPlan | LimitsPlan:
        """The least noise for this budget, and the error to expect of each answer. Nothing is spent.

        `weights` makes the error of an aggregate that many times smaller, at the cost of the others. `family` names a
        noise family instead of the best one. `keys_for` states what noise and threshold of private keys are chosen for:
        "shown" (the least group shown with probability 0.9), "variance" or "threshold". `limits_share` of the budget
        measures what the limits leave out. With `other` and private keys, a tenth of it counts the people who are in a
        group that is not shown (`answer.other`). `hash` and `first` are those of `aggregates`. `times` plans that many
        releases together, such as one for each month; a ledger charges each when it is made. `series` names them.
        """
        named: dict[str, Any] = {
            "weights": weights,
            "family": family,
            "keys_for": keys_for,
            "limits_share": limits_share,
        }
        named |= {"other": other, "hash": hash, "first": first, "times": times, "series": series}
        self.table.access(None).allow(Budget(*asked_budget(epsilon, delta)))
        return self.planned(epsilon, delta, **named)

    def planned(
        self,
        epsilon: float,
        delta: float,
        *,
        limits_share: float = LIMITS_SHARE,
        weights: Mapping[str, float] | None = None,
        family: str | None = None,
        keys_for: str = "shown",
        other: bool = False,
        hash: str | None = None,
        first: str = "rank",
        times: int = 1,
        series: str | None = None,
    ) -> QueryPlan | LimitsPlan:
        """The plan, without a look at the policy's limits: a search tries many budgets. What it finds must be allowed,
        and no plan is answered that is not.
        """
        many = must_be_series(times, series)
        options = {"hash": hash, "first": first}
        share = within("limits_share", limits_share, 0.0, 0.5, "write limits_share=0.03, or 0 to measure nothing")
        total = asked_budget(epsilon, delta)
        given = {"weights": weights, "family": family, "keys_for": keys_for, "other": other}
        with extreme_budgets(*total):
            if self.open_limits:
                return LimitsPlan.of(self, Budget(*total), many, {**given, "limits_share": share, **options})
            spent, shares = divided(self, total, share, many, **given)
        return QueryPlan(self, spent, options, shares, many, series)

    def with_limits(self, groups: int, rows: int | None) -> Query:
        """The same query with contribution limits in the place of those that are to be chosen privately."""
        known = {name: m.with_rows(rows or 1) if name in self.open_rows else m for name, m in self.declared}
        grouping = self.grouping.limited(groups) if self.grouping.open_limit else self.grouping
        return GroupedTable(cast(Table, self.table), grouping).aggregate(**known)

    @called_like("answer(epsilon=1.0, delta=1e-6, ledger=hush.Ledger('budget.ledger', epsilon=3.0, delta=1e-5))")
    def answer(self, epsilon: float, delta: float, *, ledger: Ledger | None, label: str = "", **options: Any) -> Answer:
        """Spend the budget and answer: `plan(...)` and its `answer` in one call."""
        return self.plan(epsilon, delta, **options).answer(ledger=ledger, label=label)
