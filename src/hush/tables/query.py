"""Describing a query: a table with its unit, rows to keep, columns to compute, groups, aggregates. Nothing runs until
`aggregates()`.

Every description is immutable, checked when it is made, and fully determines the sensitivity.
"""

from __future__ import annotations

import re
from collections.abc import Iterator, Mapping
from dataclasses import dataclass, replace
from typing import TYPE_CHECKING, Any

from hush.errors import InvalidParameter, budgets, called_like, deltas, one_of, within
from hush.numerics.rounding import SPARE, down
from hush.tables.aggregate import CountUnits
from hush.tables.aggregation import ORDERS, integer_aggregates
from hush.tables.answer import Answer
from hush.tables.arrow import arrow, filled, named, named_schema, whole_table
from hush.tables.column_noise import Shares, Spending, quick_spending, spending
from hush.tables.contribution import Reach
from hush.tables.engine import Source, engine_of
from hush.tables.expression import bind, first_line, must_be_rowwise, must_have
from hush.tables.group import Grouping, grouped, ungrouped
from hush.tables.keyed_hash import HASHES, Keyed, fresh_salt
from hush.tables.left_out import SHARE as LIMITS_SHARE
from hush.tables.left_out import left_out
from hush.tables.measure import Measure, Prepared, Total
from hush.tables.output import output_names, plain_names
from hush.tables.private_bounds import SHARE, searching, stand_in
from hush.tables.quantise import Limits
from hush.tables.query_plan import QueryPlan
from hush.tables.source import open_source

if TYPE_CHECKING:
    from hush.ledger import Ledger

__all__ = ["Aggregates", "GroupedTable", "Query", "Table", "table"]

#: The column of units per group that private keys need, when no aggregate gives it.
UNITS = ".units"
BATCH = 65_536


@called_like("table('visits.parquet', unit='patient_id')")
def table(source: Any, *, unit: str, name: str | None = None, engine: Any = "duckdb", max_rows: int = 2**40) -> Table:
    """A table whose rows belong to units: the people (or things) to be protected.

    `source` is a CSV, Parquet (file, glob, folder) or DuckDB file (`name` chooses its table), a pandas, polars or Arrow
    frame, a DuckDB relation, an Ibis table, or a Spark frame. `engine` is "duckdb", "spark", a Spark session or
    "sc://host:port". `max_rows` is a public upper limit on the number of rows: beyond 2^40 sums are kept at a coarser
    resolution. The schema is public; what lies behind a view or a Spark frame is taken as the data, and neighbours
    differ in the rows of one unit of it. Rows with a null unit belong to nobody and are dropped.
    """
    opened = open_source(source, name=name, engine=engine)
    must_have(opened.relation.columns, unit, "unit")
    kind = opened.relation[unit].type()
    if not (kind.is_integer() or kind.is_string() or kind.is_uuid() or kind.is_date()):
        raise InvalidParameter(
            f"unit must be a column of whole numbers or text, but {unit!r} is of type {kind}; cast it in the source "
            "(a float column cannot name people reliably)."
        )
    return Table(opened, opened.relation, unit, Limits(max_rows))


@dataclass(frozen=True)
class Table:
    """Rows of units, as an Ibis relation. `t["column"]` is an Ibis column to build expressions from."""

    source: Source
    relation: Any
    unit: str
    limits: Limits
    #: the conditions of `filter`, for plans and receipts
    filters: tuple[str, ...] = ()

    @property
    def columns(self) -> tuple[str, ...]:
        """The names of the columns."""
        return tuple(self.relation.columns)

    @property
    def engine(self) -> str:
        """The engine's name: "duckdb" or "pyspark"."""
        return engine_of(self.source.backend).name

    @property
    def fingerprint(self) -> str:
        """What data this is, for a ledger: the source's name and the unit, nothing of the data. The same before and
        after filters.
        """
        return f"{self.source.label}, unit {self.unit}"

    def __getitem__(self, name: str) -> Any:
        return self.relation[must_have(self.columns, name, "the expression")]

    def __getattr__(self, name: str) -> Any:
        """Only called for what there is not: a column is t["name"], because a column may have the name of a method."""
        if not name.startswith("_") and name in self.columns:
            raise AttributeError(f"a table has no attribute {name!r}; write table[{name!r}] for its column.")
        raise AttributeError(f"a table has no attribute {name!r}.")

    def __repr__(self) -> str:
        return f"Table(unit={self.unit!r}, columns={list(self.columns)})"

    def filter(self, *conditions: Any) -> Table:
        """The rows for which all conditions hold; a condition may only use the values of its own row."""
        told = []
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
            told.append(str(found.get_name()))
        kept = self.derived(lambda: self.relation.filter(*conditions), "filter")
        return replace(kept, filters=(*self.filters, *told))

    def mutate(self, **columns: Any) -> Table:
        """New columns, each computed from the values of its own row."""
        for name in columns:
            if name not in self.columns and name.casefold() in {other.casefold() for other in self.columns}:
                raise InvalidParameter(
                    f"mutate would add {name!r} beside a column that differs in case only; give it another name."
                )
        if self.unit in columns:
            raise InvalidParameter(
                f"mutate must not change the unit column {self.unit!r}: it says whose each row is; give the new column another name."
            )
        return self.derived(lambda: self.relation.mutate(**columns), "mutate")

    def derived(self, make: Any, role: str) -> Table:
        """This table with another relation, checked to be made row by row."""
        try:
            relation = make()
        except Exception as failure:
            raise InvalidParameter(f"{role} is not an expression over this table: {first_line(failure)}.") from failure
        must_be_rowwise(relation, role)
        return replace(self, relation=relation)

    @called_like("group_by('ward', keys='private', groups_per_unit=3)")
    def group_by(self, *names: str, keys: Any, groups_per_unit: int) -> GroupedTable:
        """Groups by the values of columns. `keys` is the public list of groups to answer for (values; tuples for
        several columns; or a mapping of columns to values, all combinations), or "private". `groups_per_unit` is the
        most groups a unit may count in.
        """
        return GroupedTable(self, grouped(self.relation, self.unit, names, keys, groups_per_unit))

    @called_like("aggregate(n=tables.count())")
    def aggregate(self, **aggregates: Measure) -> Query:
        """Aggregates over all rows, as one group."""
        return GroupedTable(self, ungrouped()).aggregate(**aggregates)


@dataclass(frozen=True)
class GroupedTable:
    """A table and its groups, waiting for aggregates."""

    table: Table
    grouping: Grouping

    @called_like("aggregate(n=tables.count())")
    def aggregate(self, **aggregates: Measure) -> Query:
        """The aggregates to answer, by name: `n=count(), total=sum_("cost", low=0, high=500)`."""
        if not aggregates:
            raise InvalidParameter("aggregate needs at least one aggregate; write aggregate(n=count()).")
        for name, measure in aggregates.items():
            if not isinstance(measure, Measure):
                raise InvalidParameter(
                    f"the aggregate {name!r} must be one of hush.tables' aggregates, got {measure!r}; write {name}=count()."
                )
            if name in self.grouping.names:
                raise InvalidParameter(
                    f"the aggregate {name!r} has the name of a column grouped by; give it another name."
                )
            if "." in name or not name.strip():
                raise InvalidParameter(
                    f"the aggregate's name {name!r} must not be empty or hold a dot, which marks inner columns."
                )
        search = searching(self.table, aggregates)
        open_bounds = {name: stand_in(self.table, name, m) for name, m in aggregates.items() if m.wants_bounds}
        prepared = self._prepared(
            {name: m.with_bounds(*open_bounds[name]) if m.wants_bounds else m for name, m in aggregates.items()}
        )
        _check_names(self.grouping.names, prepared.measures)
        return replace(prepared, search=search, declared=tuple(aggregates.items()))

    def _prepared(self, aggregates: Mapping[str, Measure]) -> Query:
        measures = [
            measure.prepare(name, self.table.relation, self.table.limits) for name, measure in aggregates.items()
        ]
        threshold = None
        if self.grouping.keys is None:
            threshold = next((measure.name for measure in measures if measure.kind == "count_units"), UNITS)
            if threshold == UNITS:
                measures.append(CountUnits().prepare(UNITS, self.table.relation, self.table.limits))
        return Query(self.table, self.grouping, tuple(measures), threshold)


@dataclass(frozen=True)
class Query:
    """Aggregates over groups of a table, and how far one unit can move them. `threshold` is the column of units per
    private group.
    """

    table: Table
    grouping: Grouping
    measures: tuple[Prepared, ...]
    threshold: str | None
    #: the query that finds bounds, and the aggregates as they were declared; until it is run, those bounds stand at
    #: [0, 1]
    search: Query | None = None
    declared: tuple[tuple[str, Measure], ...] = ()
    #: aggregates whose bounds could not be found: their answers are unknown
    unknown: frozenset[str] = frozenset()

    def with_bounds(self, bounds: Mapping[str, tuple[Any, Any] | None]) -> Query:
        """The same query with the bounds that were found. Where none were, the aggregate runs with a stand-in and its
        answer is unknown.
        """
        stand_ins = {name: bounds[name] or stand_in(self.table, name, m) for name, m in self.declared if name in bounds}
        known = {name: m.with_bounds(*stand_ins[name]) if name in bounds else m for name, m in self.declared}
        made = GroupedTable(self.table, self.grouping)._prepared(known)
        unknown = frozenset(name for name, ends in bounds.items() if ends is None)
        measures = [
            replace(m, limit=None, bounds_text=f"{m.name}: unknown, no range was found") if m.name in unknown else m
            for m in made.measures
        ]
        return replace(made, measures=tuple(measures), unknown=unknown)

    @property
    def sensitivity(self) -> Reach:
        """How far one unit, added or removed, moves the integer aggregates, for each fixed salt."""
        return Reach(self.grouping.groups, tuple(part for measure in self.measures for part in measure.parts))

    @property
    def shared(self) -> dict[str, str]:
        """Columns that are another one under a second name: a mean and a variance of the same rows add up the same
        distances and rows.
        """
        seen: list[tuple[Prepared, Total]] = []
        found = {}
        for measure in self.measures:
            if measure.kind not in ("mean", "variance") or any(
                measure.name == name and m.wants_bounds for name, m in self.declared
            ):
                continue
            for total in measure.totals:
                same = (t for m, t in seen if _same(m, t, measure, total))
                if (first := next(same, None)) is not None:
                    found[total.name] = first.name
                else:
                    seen.append((measure, total))
        return found

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
        hash: str = "portable",
        first: str = "rank",
    ) -> QueryPlan:
        """The least noise for this budget, and the error to expect of each answer, before anything is spent.

        `weights` makes the error of an aggregate that many times smaller at the cost of the others; `family` names a
        noise instead of the best; `key_share` of delta pays for private keys; `limits_share` of the budget measures
        what the limits leave out (0 switches that off). `hash` and `first` are as in `aggregates`.
        """
        options = {"hash": hash, "first": first}
        share = within("limits_share", limits_share, 0.0, 0.5, "write limits_share=0.03, or 0 to measure nothing")
        total = float(budgets("epsilon", epsilon)), float(deltas("delta", delta, zero=True))
        measured = left_out(self) if share > 0.0 else None
        for_limits = quick_spending(measured.query.sensitivity, *(share * part for part in total)) if measured else None
        for_bounds = quick_spending(self.search.sensitivity, *(SHARE * part for part in total)) if self.search else None
        spent = spending(
            self.sensitivity,
            *_rest(total, for_limits, for_bounds),
            weights=weights,
            family=family,
            units=self.threshold,
            key_share=key_share,
            shared=self.shared,
        )
        return QueryPlan(self, spent, options, Shares(*total, family, for_bounds, for_limits))

    @called_like("answer(epsilon=1.0, delta=1e-6, ledger=hush.Ledger('budget.ledger', epsilon=3.0, delta=1e-5))")
    def answer(self, epsilon: float, delta: float, *, ledger: Ledger | None, label: str = "", **options: Any) -> Answer:
        """Spend the budget and answer: `plan(...)` and its `answer` in one call."""
        return self.plan(epsilon, delta, **options).answer(ledger=ledger, label=label)

    def aggregates(self, *, salt: bytes | None = None, hash: str = "portable", first: str = "rank") -> Aggregates:
        """The exact integer aggregates. They are not private: noise must be added before anyone sees them.

        `salt` is drawn afresh unless given; a given one makes the choice of kept groups and rows repeatable. `hash`
        is "portable" (the same choice on every engine) or "native" (faster). `first` is "rank", or "aggregate" where
        units have many rows in a group.
        """
        one_of("hash", hash, HASHES)
        one_of("first", first, ORDERS)
        engine = engine_of(self.table.source.backend)
        keyed = Keyed(fresh_salt() if salt is None else salt, hash, engine.hash)
        plan = integer_aggregates(self.table.relation, self.table.unit, self.grouping, self.measures, keyed, first)
        return Aggregates(self, plan)


def _rest(total: tuple[float, float], *others: Spending | None) -> tuple[float, float]:
    """What others leave of a budget, a billionth less: all parts add up to no more, however their curves are
    rounded.
    """
    spent = [other for other in others if other]
    if not spent:
        return total
    epsilon, delta = total[0] - sum(other.epsilon for other in spent), total[1] - sum(other.delta for other in spent)
    return down(epsilon, SPARE), down(delta, SPARE)


def _as_expression(text: str) -> str:
    """What to write for a comparison given as text."""
    found = re.match(r"^\s*(\w+)\s*(==|!=|<=|>=|<|>)\s*(\S+)\s*$", text)
    column, sign, value = found.groups() if found else ("mark", ">", "5")
    return f'table.filter(table["{column}"] {sign} {value})'


def _check_names(keys: tuple[str, ...], measures: tuple[Prepared, ...]) -> None:
    """No two columns of the answer may be one to an engine, which may not tell case or punctuation apart."""
    outputs = [
        f"{name}{end}" for m in measures if m.name != UNITS for name in output_names(m) for end in ("", "_low", "_high")
    ]
    seen: dict[str, str] = {}
    for name in (*keys, *outputs):
        plain = plain_names([name])[0].casefold()
        if plain in seen:
            raise InvalidParameter(
                f"the answer would have the columns {seen[plain]!r} and {name!r}, too much alike; rename an aggregate."
            )
        seen[plain] = name


def _same(one: Prepared, first: Total, other: Prepared, second: Total) -> bool:
    """Do two totals add up the same thing over the same rows?"""
    role = first.name.removeprefix(one.name) == second.name.removeprefix(other.name)
    bounds = (one.rows, first.low, first.high) == (other.rows, second.low, second.high)
    return role and bounds and bool(one.value.equals(other.value))


@dataclass(frozen=True)
class Aggregates:
    """Exact integer aggregates, not yet private: group keys, then one int64 column per name in `columns`."""

    query: Query
    plan: Any  # the Ibis expression, with inner names: g0 ..., c0 ...

    @property
    def keys(self) -> tuple[str, ...]:
        """The names of the grouping columns."""
        return self.query.grouping.names

    @property
    def columns(self) -> tuple[str, ...]:
        """The names of the exact columns."""
        return self.sensitivity.columns

    @property
    def sensitivity(self) -> Reach:
        """How far one unit moves them."""
        return self.query.sensitivity

    def batches(self, *, size: int = BATCH) -> Iterator[Any]:
        """Arrow batches, in an order that tells nothing about the data: public keys as listed, private keys sorted."""
        source, grouping = self.query.table.source, self.query.grouping
        run = engine_of(source.backend).batches
        if grouping.keys is not None:
            found = run(source, self.plan, size)
            return filled(found, grouping.columns() if grouping.names else {}, len(grouping.keys), self.columns, size)
        ordered = self.plan.order_by([self.plan[f"g{i}"].asc(nulls_first=False) for i in range(len(self.keys))])
        return (named(batch, (*self.keys, *self.columns)) for batch in run(source, ordered, size))

    def empty(self) -> Any:
        """A table of no groups, with the columns and types of the others."""
        if self.query.grouping.keys is not None:
            keys = self.query.grouping.columns() if self.keys else {}
            fields = [(name, keys[name].type) for name in self.keys] + [
                (name, arrow().int64()) for name in self.columns
            ]
            return arrow().schema(fields).empty_table()
        return named_schema(self.plan.schema().to_pyarrow(), (*self.keys, *self.columns)).empty_table()

    def to_arrow(self) -> Any:
        """All of it as one Arrow table."""
        batches = list(self.batches())
        return whole_table(
            batches,
            batches[0].schema
            if batches
            else named_schema(self.plan.schema().to_pyarrow(), (*self.keys, *self.columns)),
        )
