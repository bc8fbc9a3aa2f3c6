"""The calls that describe a query: a table, rows to keep, columns to compute, groups, aggregates; then plan and answer.

Every step is immutable and is checked when it is made. Nothing runs before `answer()` or `aggregates()`.
"""

from __future__ import annotations

import re
from collections.abc import Mapping
from dataclasses import dataclass, replace
from typing import TYPE_CHECKING, Any

from hush.errors import InvalidParameter, budgets, called_like, deltas, within
from hush.numerics.rounding import SPARE, down
from hush.tables.answer import Answer
from hush.tables.column_noise import Shares, Spending, quick_spending, spending
from hush.tables.description import QueryDescription, TableDescription, prepared
from hush.tables.expression import bind, first_line, must_be_rowwise, must_have
from hush.tables.group import Grouping, grouped, ungrouped
from hush.tables.left_out import SHARE as LIMITS_SHARE
from hush.tables.left_out import left_out
from hush.tables.measure import Measure, Prepared
from hush.tables.output import plain_names, with_ends
from hush.tables.private_bounds import SHARE, magnitude_histograms, stand_in
from hush.tables.quantise import Limits
from hush.tables.query_plan import QueryPlan
from hush.tables.source import open_source

if TYPE_CHECKING:
    from hush.ledger import Ledger

__all__ = ["GroupedTable", "Query", "Table", "table"]


@called_like("table('visits.parquet', unit='patient_id')")
def table(source: Any, *, unit: str, name: str | None = None, engine: Any = "duckdb", max_rows: int = 2**40) -> Table:
    """A table of rows, each of which belongs to one person (or other unit) to be protected.

    `source` is a CSV, Parquet (file, glob, folder) or DuckDB file (`name` chooses its table), a pandas, polars or Arrow
    frame, a DuckDB relation, an Ibis table, or a Spark frame. `unit` is the column that identifies the person each row
    belongs to. `engine` is "duckdb", "spark", a Spark session or "sc://host:port". `max_rows` is a public upper limit
    on the number of rows: beyond 2^40 sums are kept at a coarser resolution.

    The schema is public. The rows of a view or a Spark frame are the data: neighbouring tables differ in the rows of
    one person of it. Rows with a null unit belong to nobody and are dropped.
    """
    opened = open_source(source, name=name, engine=engine)
    must_have(opened.relation.columns, unit, "unit")
    kind = opened.relation[unit].type()
    if not (kind.is_integer() or kind.is_string() or kind.is_uuid() or kind.is_date()):
        raise InvalidParameter(
            f"unit must be a column of whole numbers or text, but {unit!r} is of type {kind}; cast it in the source "
            "(floats do not identify people reliably)."
        )
    return Table(opened, opened.relation, unit, Limits(max_rows))


@dataclass(frozen=True, repr=False)
class Table(TableDescription):
    """A table of people's rows. `t["column"]` is an Ibis column to build expressions from."""

    def __getitem__(self, name: str) -> Any:
        return self.relation[must_have(self.columns, name, "the expression")]

    def __getattr__(self, name: str) -> Any:
        """Called only where there is no such attribute. A column is t["name"], because it may have the name of a
        method.
        """
        if not name.startswith("_") and name in self.columns:
            raise AttributeError(f"a table has no attribute {name!r}; write table[{name!r}] for its column.")
        raise AttributeError(f"a table has no attribute {name!r}.")

    def __repr__(self) -> str:
        return f"Table(unit={self.unit!r}, columns={list(self.columns)})"

    def filter(self, *conditions: Any) -> Table:
        """The rows for which all conditions hold. A condition may only use the values of one row."""
        texts = []
        for condition in conditions:
            if isinstance(condition, str) and condition not in self.columns and not condition.isidentifier():
                raise InvalidParameter(
                    f"filter takes an expression, got the text {condition!r}; write {_as_expression(condition)}."
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
        """Add columns, each computed from the values of one row."""
        for name in columns:
            if name not in self.columns and name.casefold() in {other.casefold() for other in self.columns}:
                raise InvalidParameter(
                    f"mutate would add {name!r} beside a column that differs in case only; give it another name."
                )
        if self.unit in columns:
            raise InvalidParameter(
                f"mutate must not change the unit column {self.unit!r}, which identifies the person each row belongs "
                "to; give the new column another name."
            )
        return self.derived(lambda: self.relation.mutate(**columns), "mutate")

    def derived(self, make: Any, role: str) -> Table:
        """This table with another relation, which must be computed row by row."""
        try:
            relation = make()
        except Exception as failure:
            raise InvalidParameter(f"{role} is not an expression over this table: {first_line(failure)}.") from failure
        must_be_rowwise(relation, role)
        return replace(self, relation=relation)

    @called_like("group_by('ward', keys='private', groups_per_unit=3)")
    def group_by(self, *names: str, keys: Any, groups_per_unit: int) -> GroupedTable:
        """Group by the values of columns. `keys` is the public list of groups to answer for (values; tuples for
        several columns; or a mapping of columns to values, for all combinations), or "private". `groups_per_unit` is
        the most groups in which one person counts.
        """
        return GroupedTable(self, grouped(self.relation, self.unit, names, keys, groups_per_unit))

    @called_like("aggregate(n=tables.count())")
    def aggregate(self, **aggregates: Measure) -> Query:
        """Aggregates over all rows, as one group."""
        return GroupedTable(self, ungrouped()).aggregate(**aggregates)


@dataclass(frozen=True)
class GroupedTable:
    """A table and its groups. `aggregate` makes a query of it."""

    table: Table
    grouping: Grouping

    @called_like("aggregate(n=tables.count())")
    def aggregate(self, **aggregates: Measure) -> Query:
        """The aggregates to answer, by name: `n=tables.count(), total=tables.sum("cost", low=0, high=500)`."""
        if not aggregates:
            raise InvalidParameter("aggregate needs at least one aggregate; write aggregate(n=count()).")
        for name, measure in aggregates.items():
            _check_aggregate(name, measure, self.grouping.names)
        relation, declared = self.table.relation, tuple(aggregates.items())
        wanted = magnitude_histograms(relation, aggregates)
        search = self.table.aggregate(**wanted) if wanted else None
        ready = {name: m.with_bounds(*stand_in(relation, name, m)) if m.wants_bounds else m for name, m in declared}
        measures, threshold = prepared(self.table, self.grouping, ready, frozenset(wanted))
        query = Query(self.table, self.grouping, measures, threshold, search, declared)
        _check_names(self.grouping.names, query.shown)
        return query


@dataclass(frozen=True)
class Query(QueryDescription):
    """Aggregates over groups of a table. `plan()` shows the noise and the errors; `answer()` spends the budget."""

    @called_like("plan(epsilon=1.0, delta=1e-6)")
    def plan(
        self,
        epsilon: float,
        delta: float,
        *,
        weights: Mapping[str, float] | None = None,
        family: str | None = None,
        key_share: float = 0.1,
        limits_share: float = LIMITS_SHARE,
        hash: str | None = None,
        first: str = "rank",
    ) -> QueryPlan:
        """The least noise for this budget, and the error to expect of each answer. Nothing is spent.

        `weights` makes the error of an aggregate that many times smaller, at the cost of the others. `family` names a
        noise family instead of the best one. `key_share` of delta pays for private keys. `limits_share` of the budget
        measures how much the limits leave out (0 switches that off). `hash` is the engine's fast hash, or "portable"
        for the same choice of groups and rows on every engine; `first` is that of `aggregates`.
        """
        options = {"hash": hash, "first": first}
        share = within("limits_share", limits_share, 0.0, 0.5, "write limits_share=0.03, or 0 to measure nothing")
        total = float(budgets("epsilon", epsilon)), float(deltas("delta", delta, zero=True))
        measured = left_out(self) if share > 0.0 else None
        for_limits = _beside(measured.query, share, total) if measured else None
        for_bounds = _beside(self.search, SHARE, total) if self.search else None
        shared = self.shared
        spent = spending(
            self.sensitivity,
            *_rest(total, for_limits, for_bounds),
            weights=weights,
            family=family,
            units=None if self.threshold is None else shared.get(self.threshold, self.threshold),
            key_share=key_share,
            shared=shared,
        )
        return QueryPlan(self, spent, options, Shares(*total, family, for_bounds, for_limits))

    @called_like("answer(epsilon=1.0, delta=1e-6, ledger=hush.Ledger('budget.ledger', epsilon=3.0, delta=1e-5))")
    def answer(self, epsilon: float, delta: float, *, ledger: Ledger | None, label: str = "", **options: Any) -> Answer:
        """Spend the budget and answer: `plan(...)` and its `answer` in one call."""
        return self.plan(epsilon, delta, **options).answer(ledger=ledger, label=label)


def _beside(query: QueryDescription, share: float, total: tuple[float, float]) -> Spending:
    """The noise of a query that is asked beside the answers, for a share of the budget."""
    return quick_spending(query.sensitivity, share * total[0], share * total[1], shared=query.shared)


def _rest(total: tuple[float, float], *others: Spending | None) -> tuple[float, float]:
    """The part of a budget that the others leave, less a billionth: then all parts add up to no more than the budget,
    however their curves are rounded.
    """
    spent = [other for other in others if other]
    if not spent:
        return total
    epsilon, delta = total[0] - sum(other.epsilon for other in spent), total[1] - sum(other.delta for other in spent)
    return down(epsilon, SPARE), down(delta, SPARE)


def _as_expression(text: str) -> str:
    """The expression to write for a comparison given as text."""
    found = re.match(r"^\s*(\w+)\s*(==|!=|<=|>=|<|>)\s*(\S+)\s*$", text)
    column, sign, value = found.groups() if found else ("mark", ">", "5")
    return f'table.filter(table["{column}"] {sign} {value})'


def _check_aggregate(name: str, measure: Any, keys: tuple[str, ...]) -> None:
    """Reject what is no aggregate, and names that clash with keys or with internal columns."""
    if not isinstance(measure, Measure):
        raise InvalidParameter(
            f"the aggregate {name!r} must be one of hush.tables' aggregates, got {measure!r}; write {name}=count()."
        )
    if name in keys:
        raise InvalidParameter(f"the aggregate {name!r} has the same name as a grouping column; give it another name.")
    if "." in name or not name.strip():
        raise InvalidParameter(
            f"the aggregate's name {name!r} must not be empty or contain a dot, which marks internal columns."
        )


def _check_names(keys: tuple[str, ...], measures: tuple[Prepared, ...]) -> None:
    """Reject answers with two columns that differ only in case or punctuation: some engines treat these as equal."""
    outputs = with_ends(name for measure in measures for name in measure.output_names)
    seen: dict[str, str] = {}
    for name in (*keys, *outputs):
        plain = plain_names([name])[0].casefold()
        if plain in seen:
            raise InvalidParameter(
                f"the answer would have the columns {seen[plain]!r} and {name!r}, which are too much alike; "
                "rename an aggregate."
            )
        seen[plain] = name
