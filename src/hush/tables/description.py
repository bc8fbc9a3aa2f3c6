"""The description of a table and of a query: it fully determines the sensitivity and the exact aggregates.

Both are immutable. `hush.tables.query` adds the calls that users write (`filter`, `group_by`, `plan`, ...). Modules
that plan, run and answer a query need its description only.
"""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass, replace
from pathlib import Path
from typing import TYPE_CHECKING, Any, Self

from hush.errors import IncompleteCall, one_of
from hush.ledger.access import Access
from hush.ledger.people import People
from hush.tables.aggregation import ORDERS, integer_aggregates
from hush.tables.contribution import Reach
from hush.tables.counts import CountUnits
from hush.tables.engines import engine_of
from hush.tables.engines.contract import Source
from hush.tables.exact_aggregates import Aggregates
from hush.tables.group import Grouping
from hush.tables.keyed_hash import HASHES, Keyed, fresh_salt
from hush.tables.measure import Measure, Prepared
from hush.tables.people_piece import Beside
from hush.tables.policy.rules import TableRule
from hush.tables.private_bounds import stand_in
from hush.tables.quantise import Limits
from hush.tables.root import Root
from hush.tables.sharing import equal_columns, in_other_forms
from hush.tables.source import short
from hush.tables.unchanging import Unchanging
from hush.tables.unit import KEY, Unit

if TYPE_CHECKING:
    from hush.ledger import Ledger

__all__ = ["QueryDescription", "TableDescription", "prepared"]

#: The column of people per group that private keys need, where no aggregate gives it.
UNITS = ".units"


@dataclass(frozen=True)
class TableDescription(Unchanging):
    """Rows as an Ibis relation, the column that identifies the person each row belongs to, and limits on sums."""

    source: Source
    relation: Any
    unit: str
    limits: Limits
    #: the conditions of `filter`, for plans and receipts
    filters: tuple[str, ...] = ()
    #: who is protected, as declared; None: the rows with the same value of `unit`
    declared_unit: Unit | None = None
    #: what a policy declares about the table
    rule: TableRule | None = None
    #: the sources below `relation`, and whose rows they hold
    roots: tuple[Root, ...] = ()
    #: the joins and the tables of one row per person, in words, for plans and receipts
    steps: tuple[str, ...] = ()
    #: is it proved that a person has at most one row?
    one_row: bool = False
    #: the column and the value of a block of time, whose rows these are
    block: tuple[str, str] | None = None

    @property
    def columns(self) -> tuple[str, ...]:
        """The names of the columns that queries may use."""
        return tuple(name for name in self.relation.columns if name not in self.hidden)

    @property
    def whose(self) -> Unit:
        """Who is protected."""
        return self.declared_unit or Unit((self.unit,))

    @property
    def person(self) -> str | None:
        """The column that identifies the person of a row; None where each row is a person of its own."""
        return None if self.whose.each_row else self.unit

    @property
    def hidden(self) -> frozenset[str]:
        """The columns that queries cannot use: keys of units that are not declared columns."""
        keys = {self.unit, *(name for name in self.relation.columns if name.startswith(KEY))}
        return frozenset(keys - set(self.whose.columns))

    @property
    def engine(self) -> str:
        """The engine's name: "duckdb", "pyspark" or "postgres"."""
        return engine_of(self.source.backend).name

    @property
    def fingerprint(self) -> str:
        """The text by which a ledger recognises the people: the names of all private sources and of their units, or the
        name of the population. It holds no data, and neither filters nor public tables change it.
        """
        return self.people.words

    @property
    def people(self) -> People:
        """The people whose rows these are, and what counts as one of them."""
        private = {root.people for root in self.roots if root.private}
        if len(private) == 1:
            return private.pop()
        words = sorted(one.words for one in private)
        return People(short("; ".join(words), f"{len(words)} tables"))

    @property
    def file(self) -> str:
        """The name of the file that the rows are of, without its folder; empty where they are of no file."""
        label = self.source.label
        return Path(label.removeprefix("file ")).name if label.startswith("file ") else ""

    @property
    def in_memory(self) -> bool:
        """May another process hold other rows under the same name? So it is, but for files and addresses."""
        labels = [root.label for root in self.roots if root.private]
        return not all(label.startswith("file ") or "://" in label for label in labels)

    def access(self, ledger: Ledger | None, *, label: str = "", account: str = "") -> Access:
        """The door to noise on these rows: their people, their block of time, and what their policy allows."""
        named: dict[str, Any] = {"label": label or self.file, "account": account}
        named |= {"people": self.people, "block": self.block}
        if self.rule is not None:
            rule = self.rule
            named |= {"max_epsilon": rule.max_epsilon, "max_delta": rule.max_delta, "charged_to": rule.ledger}
        return Access(ledger, **named)

    @property
    def belongs(self) -> str:
        """Whose rows these are, in words; empty for the rows of one source as they are."""
        first = self.roots[0].whose_words if self.roots else ""
        linked = any(root.link is not None for root in self.roots)
        return "; ".join([first, *self.steps]) if self.steps or linked else ""


@dataclass(frozen=True)
class QueryDescription(Unchanging):
    """Aggregates over groups of a table. `threshold` is the column of people per private group."""

    table: TableDescription
    grouping: Grouping
    measures: tuple[Prepared, ...]
    threshold: str | None
    #: the query that finds private bounds; until it has run, these bounds are placeholders of range 1
    search: QueryDescription | None = None
    #: the aggregates as the user declared them
    declared: tuple[tuple[str, Measure], ...] = ()
    #: aggregates whose bounds could not be found: their answers are unknown
    unknown: frozenset[str] = frozenset()
    #: aggregates whose limit on rows is still to be chosen privately
    open_rows: frozenset[str] = frozenset()
    #: (most groups, weight): what a person adds to each group of the one column; empty: 1
    ladder: tuple[tuple[int, int], ...] = ()

    @property
    def shown(self) -> tuple[Prepared, ...]:
        """The aggregates of the answer, without a count that serves the threshold only."""
        return tuple(measure for measure in self.measures if measure.shown)

    @property
    def chosen_columns(self) -> tuple[str, ...]:
        """The released columns of quantiles, which no noise is added to."""
        return tuple(name for m in self.measures if m.chosen is not None for name in m.chosen.names(m.name))

    @property
    def only_chosen(self) -> bool:
        """Are quantiles of public groups all that is asked for?"""
        return self.threshold is None and all(measure.chosen is not None for measure in self.shown)

    @property
    def open_limits(self) -> bool:
        """Is a contribution limit still to be chosen privately?"""
        return self.grouping.open_limit or bool(self.open_rows)

    @property
    def open_bounds(self) -> frozenset[str]:
        """The aggregates whose bounds are still to be found."""
        return frozenset(name for name, measure in self.declared if measure.wants_bounds)

    @property
    def sensitivity(self) -> Reach:
        """How far one person, added or removed, moves the integer aggregates, for each fixed salt. Bounds that are
        still to be found may have both signs.
        """
        parts, keys = [part for measure in self.measures for part in measure.parts], self.grouping.keys
        known = [
            replace(part, one_sided=False, settled=False) if part.aggregate in self.open_bounds else part
            for part in parts
        ]
        return Reach(self.grouping.groups, tuple(known), None if keys is None else len(keys))

    @property
    def shared(self) -> dict[str, str]:
        """Columns that equal another column, and that column: for example, a mean and a variance of the same rows add
        up the same distances and rows.

        Aggregates with bounds to be found share totals only, and only with those that get the same bounds from the
        same search: other bounds may differ. The number of bins may depend on the bounds, so bins are never shared.
        """
        found = equal_columns(measure for measure in self.measures if measure.name not in self.open_bounds)
        for names in self._searched_together():
            found |= equal_columns(replace(m, bins=0, labels=()) for m in self.measures if m.name in names)
        return found

    def _searched_together(self) -> list[set[str]]:
        """The aggregates with bounds to be found, by the noisy histogram that finds them."""
        together: dict[str, set[str]] = {}
        if self.search is not None:
            equal = self.search.shared
            for measure in self.search.measures:
                first = measure.bin_columns[0]
                together.setdefault(equal.get(first, first), set()).add(measure.name)
        return list(together.values())

    def with_bounds(self, bounds: Mapping[str, tuple[Any, Any] | None]) -> Self:
        """The same query with the bounds that were found. Where none were found, the aggregate runs with a
        placeholder and its answer is unknown.
        """
        relation = self.table.relation
        used = {name: bounds[name] or stand_in(relation, name, m) for name, m in self.declared if name in bounds}
        known = {name: m.with_bounds(*used[name]) if name in bounds else m for name, m in self.declared}
        measures, threshold = prepared(self.table, self.grouping, known, self.open_bounds)
        unknown = frozenset(name for name, ends in bounds.items() if ends is None)
        settled = tuple(
            replace(m, limit=None, bounds_text=f"{m.name}: unknown, no range was found") if m.name in unknown else m
            for m in measures
        )
        return replace(self, measures=settled, threshold=threshold, search=None, declared=(), unknown=unknown)

    def aggregates(self, *, salt: bytes | None = None, hash: str | None = None, first: str = "rank") -> Aggregates:
        """The exact integer aggregates. They are not private: noise must be added before anyone sees them.

        A fresh `salt` is drawn by default; a given salt makes the choice of kept groups and rows repeatable. `hash`
        is "native" (the fast hash of the engine, the default where it has one) or "portable" (the same choice on every
        engine). `first` is "rank", or "aggregate" where people have many rows in a group.
        """
        return self.exact(None, salt=salt, hash=hash, first=first)

    def keyed(self, salt: bytes | None = None, hash: str | None = None) -> Keyed:
        """The hash that chooses the groups and rows of a person."""
        engine = engine_of(self.table.source.backend)
        chosen = ("portable" if engine.hash is None else "native") if hash is None else one_of("hash", hash, HASHES)
        return Keyed(fresh_salt() if salt is None else salt, chosen, engine.hash, engine.digits)

    def exact(
        self, beside: Beside | None, *, salt: bytes | None = None, hash: str | None = None, first: str = "rank"
    ) -> Aggregates:
        """The same with the numbers about people that `beside` asks for, from the same scan."""
        one_of("first", first, ORDERS)
        engine = engine_of(self.table.source.backend)
        keyed, table, reuses = self.keyed(salt, hash), self.table, engine.reuses
        asked = (table.relation, table.person, self.grouping, self.measures, keyed, first, beside)
        plan = integer_aggregates(*asked, reuses=reuses, ladder=self.ladder)
        return Aggregates(table.source, self.grouping, self.sensitivity, plan, beside.names if beside else ())


def prepared(
    table: TableDescription, grouping: Grouping, aggregates: Mapping[str, Measure], apart: frozenset[str] = frozenset()
) -> tuple[tuple[Prepared, ...], str | None]:
    """The aggregates joined to the table, and the column of people per group that private keys need. Where no
    aggregate counts people, one that is not shown is added. The bounds of those in `apart` are not declared.
    """
    if grouping.no_limit:
        raise IncompleteCall(
            "group_by is missing groups_per_unit; write group_by('ward', keys=[...], groups_per_unit=3). Only "
            "top(...) needs none."
        )
    known = {name: measure.of_one_row() if table.one_row else measure for name, measure in aggregates.items()}
    made = [measure.prepare(name, table.relation, table.limits) for name, measure in known.items()]
    measures = in_other_forms(made, apart)
    if grouping.keys is not None:
        if all(measure.chosen is not None for measure in measures):  # an answer has one number with noise at least
            measures += (CountUnits(shown=False).prepare(UNITS, table.relation, table.limits),)
        return measures, None
    threshold = next((measure.name for measure in measures if measure.counts_people), UNITS)
    if threshold == UNITS:
        measures += (CountUnits(shown=False).prepare(UNITS, table.relation, table.limits),)
    return measures, threshold
