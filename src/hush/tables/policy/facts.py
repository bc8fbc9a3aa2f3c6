"""What is declared about a table, for the groups and aggregates of a query.

What a question leaves out comes from the policy. What it states by hand must lie within the policy: a narrower range,
fewer rows, fewer keys. A column that is computed in the query has no line in the policy, so everything about it is
stated by hand.
"""

from __future__ import annotations

from collections.abc import Iterable, Sequence
from dataclasses import dataclass
from typing import TYPE_CHECKING, Any

from hush.errors import IncompleteCall, InvalidParameter, shown
from hush.tables.bins import checked_value
from hush.tables.expression import bind, must_have, operations
from hush.tables.policy.rules import PRIVATE, ColumnRule, TableRule, is_private
from hush.tables.quantise import as_bound

if TYPE_CHECKING:
    from hush.tables.description import TableDescription
    from hush.tables.measure import Prepared

__all__ = ["MOST_CHOSEN", "Facts"]

#: The largest contribution limit that is chosen privately where nothing smaller is declared.
MOST_CHOSEN = 2048
_NOTHING = ColumnRule()
_NO_RULE = TableRule(source=None)


@dataclass(frozen=True)
class Facts:
    """The facts about one table; none are declared where the table was not opened by a policy."""

    table: TableDescription

    @property
    def rule(self) -> TableRule:
        """What the policy declares about the table."""
        return self.table.rule or _NO_RULE

    def about(self, name: str, column: Any) -> ColumnRule:
        """What the policy declares about the column of the aggregate `name`."""
        if isinstance(column, str):
            must_have(self.table.columns, column, f"the column of {shown(name)}")
        return self.about_column(bind(self.table.relation, column, f"the column of {shown(name)}"))

    def about_column(self, column: Any) -> ColumnRule:
        """What the policy declares about a column of the relation, also of a joined table; nothing about a computed
        one.
        """
        for root in self.table.roots:
            found = None if root.rule is None else _origin(column.op(), root.node)
            if found is not None:
                declared: ColumnRule = root.rule.column(found)
                return declared
        return _NOTHING

    def rows(self, name: str, given: Any) -> Any:
        """How many rows of a person count in a group: as given, else as declared, else 1; "private" if that is to be
        chosen.
        """
        declared = 1 if self.table.person is None else self.rule.rows_per_unit
        if given is None or is_private(given):
            limit = declared or 1 if given is None else PRIVATE
            return 1 if is_private(limit) and self.table.one_row else limit
        most = _number(declared)
        if most is not None and given > most:
            if self.table.person is None:
                raise InvalidParameter(
                    f"rows_per_unit of {shown(name)} is 1 where each row is a person, got {shown(given)}."
                )
            raise InvalidParameter(
                f"rows_per_unit of {shown(name)} is {shown(given)}, but the policy allows at most {most}; leave it out."
            )
        return given

    @property
    def most_rows(self) -> int:
        """The largest row limit that may be chosen privately."""
        most = 1 if self.table.one_row else _number(self.rule.rows_per_unit) or MOST_CHOSEN
        return min(most, self.table.limits.rows_per_unit)

    @property
    def most_groups(self) -> int:
        """The largest limit on the groups of a person that may be chosen privately."""
        return 1 if self.table.one_row else _number(self.rule.groups_per_unit) or MOST_CHOSEN

    @property
    def limit(self) -> Any:
        """The declared limit on the groups of a person, which may be "private"; None if there is none."""
        return 1 if self.table.one_row else self.rule.groups_per_unit

    def must_fit(self, measures: Iterable[Prepared]) -> None:
        """Refuse aggregates that use more rows of a person than is allowed, also if they do not look at a policy."""
        for measure in measures:
            self.rows(measure.name, measure.rows)

    def groups(self, given: Any) -> Any:
        """In how many groups one person counts: as given, else as declared; 1 where each row is a person; "private" if
        that is to be chosen.
        """
        if given is None:
            if self.limit is None:
                raise IncompleteCall(_missing("groups_per_unit", "group_by('ward', keys='private', groups_per_unit=3)"))
            return self.limit
        policy = _number(self.rule.groups_per_unit)
        if policy is not None and isinstance(given, int | float) and given > policy:
            raise InvalidParameter(
                f"groups_per_unit is {shown(given)}, but the policy allows at most {policy}; leave it out to use "
                f"{policy}."
            )
        return given

    def bounds(self, what: str, name: str, column: Any, low: Any, high: Any) -> tuple[Any, Any]:
        """The bounds of a value: as given, else as declared. Given bounds must lie within declared ones."""
        rule = self.about(name, column)
        if is_private(low) or is_private(high):
            if rule.has_bounds and not rule.private_bounds:
                raise InvalidParameter(
                    f"bounds of {shown(name)} are to be found privately, but the policy declares [{rule.low}, "
                    f"{rule.high}]; leave low and high out."
                )
            return low, high
        if low is None and high is None and rule.has_bounds:
            return rule.low, rule.high
        if not rule.has_bounds or rule.private_bounds:
            if low is None or high is None:
                raise IncompleteCall(_needs_bounds(what, name, self.table.rule is not None, low is None))
            return low, high
        low, high = rule.low if low is None else low, rule.high if high is None else high
        self.must_lie_within(name, column, low, high, rule.low, rule.high)
        return low, high

    def must_lie_within(self, name: str, column: Any, low: Any, high: Any, least: Any, most: Any) -> None:
        """Refuse bounds by hand that are wider than the declared ones."""
        kind = bind(self.table.relation, column, f"the column of {shown(name)}").type()
        for side, given, declared, sign in (("low", low, least, 1.0), ("high", high, most, -1.0)):
            hint = f"write {side}={declared}"
            of, last = f"{side} of {shown(name)}", side == "high"
            there, here = (as_bound(of, end, kind, hint, last=last) for end in (declared, given))
            if sign * here < sign * there:
                raise InvalidParameter(
                    f"{side} of {shown(name)} is {given}, but the policy declares {declared}; bounds by hand "
                    "may only be narrower."
                )

    def totals(self, name: str, column: Any, low: Any, high: Any) -> None:
        """Refuse bounds of a person's total that are wider than what the rows of the policy can add up to."""
        rule = self.about(name, column)
        if isinstance(rule.low, int | float) and isinstance(rule.high, int | float):
            rows = _number(self.rows(name, None)) or self.most_rows
            ends = min(0, rows * rule.low), max(0, rows * rule.high)
            self.must_lie_within(name, column, low, high, *ends)

    def edges(self, name: str, column: Any, edges: Sequence[Any]) -> None:
        """Refuse edges of bins that are wider than the declared bounds, and any edges of a column whose values are
        listed or found privately: bins between edges would count values that the policy does not list.
        """
        rule = self.about(name, column)
        if rule.values is not None and not rule.has_bounds:
            ways = "are found privately" if is_private(rule.values) else "are listed"
            raise InvalidParameter(
                f"edges of {shown(name)} count all values between them, but by the policy the values of this column "
                f"{ways}; list categories or keys, or ask for a policy with bounds."
            )
        if rule.has_bounds and not rule.private_bounds and edges:
            for end, declared, below in ((edges[0], rule.low, True), (edges[-1], rule.high, False)):
                if _beyond(end, declared, below):
                    raise InvalidParameter(
                        f"edges of {shown(name)} reach {end}, but the policy declares [{rule.low}, "
                        f"{rule.high}]; edges by hand must lie within it."
                    )

    def categories(self, name: str, column: Any, given: tuple[Any, ...] | None) -> tuple[Any, ...]:
        """The categories of a histogram: as given, else as declared. Given ones must be on the declared list."""
        bound = bind(self.table.relation, column, f"the column of {shown(name)}")
        rule = self.about_column(bound)
        if given is None:
            if rule.values is None or is_private(rule.values):
                raise IncompleteCall(_missing("edges or categories", "histogram('age', edges=[0, 18, 65, 120])"))
            return tuple(rule.values)
        self.must_be_listed(f"categories of {shown(name)}", str(column), rule, given, bound.type())
        return given

    def must_be_listed(self, role: str, column: str, rule: ColumnRule, given: Sequence[Any], kind: Any) -> None:
        """Refuse values by hand that are not on the declared list, or any list where values are found privately."""
        if is_private(rule.values):
            raise InvalidParameter(
                f"{role} are listed by hand, but by the policy the values of {shown(column)} are found "
                "privately; leave the list out."
            )
        if rule.values is None:
            return
        allowed = {checked_value(f"a value of {shown(column)}", value, kind) for value in rule.values}
        for value in given:
            if value is None or checked_value(role, value, kind) not in allowed:
                listed = ", ".join(map(repr, rule.values[:8])) + ", ..." * (len(rule.values) > 8)
                raise InvalidParameter(
                    f"{role} have {shown(value)}, which the policy does not list; it lists {listed}."
                )


def _number(limit: Any) -> int | None:
    """A declared limit; None if there is none, or if it is to be chosen privately."""
    return None if is_private(limit) else limit


def _origin(node: Any, source: Any) -> str | None:
    """The column of the source that a column equals in every row, followed through filters and selections; None for a
    computed column.
    """
    ops = operations()
    while isinstance(node, ops.Field):
        relation = node.rel
        if relation == source:
            return str(node.name)
        if isinstance(relation, ops.Project):
            node = relation.values[node.name]
        elif isinstance(relation, ops.Filter | ops.Sort | ops.DropColumns):
            node = ops.Field(relation.parent, node.name)
        elif isinstance(relation, ops.JoinChain):
            node = relation.values[node.name]
        elif isinstance(relation, ops.JoinReference):
            node = ops.Field(relation.parent, node.name)
        else:
            return None
    return None


def _beyond(end: Any, declared: Any, below: bool) -> bool:
    """Is an end outside a declared bound? Ends of another kind are refused elsewhere."""
    try:
        return bool(end < declared if below else end > declared)
    except (TypeError, ArithmeticError):
        return False


def _missing(argument: str, example: str) -> str:
    return f"{example.partition('(')[0]} is missing {argument}; write {example}."


def _needs_bounds(what: str, name: str, policy: bool, low: bool) -> str:
    """The error for bounds that are neither given nor declared."""
    if policy:
        return (
            f"{shown(name)} needs low and high, because the policy declares no bounds of this column; write "
            f"{what}(..., low=0, high=100), with bounds that do not come from the data."
        )
    examples = {
        "quantile": "quantile('cost', 0.5, low=0, high=20000), or edges=[...]",
        "sum": "sum('cost', low=0, high=20000)",
    }
    example = examples.get(what, f"{what}('stay_days', low=0, high=30)")
    return f"{what} is missing {'low' if low else 'high'}; write {example}."
