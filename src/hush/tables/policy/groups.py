"""The groups of a query under a policy: keys and limits that are left out come from it, others must lie within it."""

from __future__ import annotations

import math
from collections.abc import Iterable, Mapping
from dataclasses import replace
from typing import TYPE_CHECKING, Any

from hush.errors import IncompleteCall, InvalidParameter, shown
from hush.tables.expression import is_one_of
from hush.tables.group import Grouping, checked_keys, grouped, listed_keys
from hush.tables.policy.facts import Facts
from hush.tables.policy.rules import PRIVATE, ColumnRule, is_private

if TYPE_CHECKING:
    from hush.tables.query import Table

__all__ = ["MOST_GROUPS", "grouped_by_policy"]

#: More listed groups than this are not built from the lists of several columns.
MOST_GROUPS = 1_000_000


def grouped_by_policy(table: Table, names: tuple[str, ...], keys: Any, groups: Any) -> tuple[Table, Grouping]:
    """The grouping, and the table with the rows that its groups may have.

    Where keys are found privately but the policy lists the values of a column, other rows are left out first: so no
    value outside the list is found.
    """
    facts = Facts(table)
    if table.rule is None:
        if keys is None:
            raise IncompleteCall("group_by is missing keys; write group_by('ward', keys='private', groups_per_unit=3).")
        return table, _grouped(table, names, keys, facts, groups)
    rules = {name: facts.about_column(table[name]) for name in names}
    keys = _declared_keys(rules) if keys is None else _in_memory(keys)
    if is_private(keys):
        table = _listed_rows(table, rules)
    elif not isinstance(keys, str):
        _must_be_listed(facts, names, keys, rules)
    return table, _grouped(table, names, keys, facts, groups)


def _grouped(table: Table, names: tuple[str, ...], keys: Any, facts: Facts, groups: Any) -> Grouping:
    """The grouping. Its limit is a number, or is to be chosen privately, or is missing, for a list of keys."""
    if groups is None and facts.limit is None and not isinstance(keys, str):
        return grouped(table.relation, table.person, names, keys, MOST_GROUPS).without_limit()
    groups = facts.groups(groups)
    if is_private(groups):
        if table.one_row:
            return grouped(table.relation, table.person, names, keys, 1)
        return grouped(table.relation, table.person, names, keys, facts.most_groups).with_open_limit()
    return grouped(table.relation, table.person, names, keys, groups)


def _declared_keys(rules: dict[str, ColumnRule]) -> Any:
    """The keys that the policy declares: all combinations of lists, or "private" if one column is."""
    for name, rule in rules.items():
        if rule.values is None:
            raise IncompleteCall(
                f"group_by('{name}') needs keys=, because the policy declares no values of {shown(name)}; write "
                "a list of keys, or keys='private' to find them with a part of delta."
            )
    if any(is_private(rule.values) for rule in rules.values()):
        return PRIVATE
    lists = {name: rule.values or () for name, rule in rules.items()}
    number = math.prod(map(len, lists.values()))
    if number > MOST_GROUPS:
        raise InvalidParameter(
            f"the lists of the policy make {number} groups, more than {MOST_GROUPS}; write keys='private', or a "
            "shorter list."
        )
    return lists


def _listed_rows(table: Table, rules: dict[str, ColumnRule]) -> Table:
    """The rows with listed values, where the policy has lists."""
    for name, rule in rules.items():
        if isinstance(rule.values, tuple):
            values = [key[0] for key in checked_keys([(v,) for v in rule.values], [table[name].type()], (name,))]
            kept = table.filter(is_one_of(table[name], values))
            table = replace(kept, filters=(*table.filters, f"{name} is one of the {len(values)} values of the policy"))
    return table


def _must_be_listed(facts: Facts, names: tuple[str, ...], keys: Any, rules: dict[str, ColumnRule]) -> None:
    """Refuse keys by hand that are not on the lists of the policy."""
    listed = listed_keys(names, keys)
    for i, name in enumerate(names):
        values = [key[i] for key in listed if len(key) > i]
        facts.must_be_listed(f"keys of {shown(name)}", name, rules[name], values, facts.table.relation[name].type())


def _in_memory(keys: Any) -> Any:
    """Keys by hand that can be read twice."""
    if isinstance(keys, Mapping):
        return {name: list(values) if isinstance(values, Iterable) else values for name, values in keys.items()}
    return list(keys) if isinstance(keys, Iterable) and not isinstance(keys, str | bytes) else keys
