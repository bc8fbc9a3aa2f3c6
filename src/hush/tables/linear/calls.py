"""The calls of a table that ask for many counts at once: `marginals`, `ranges`, `boxes` and `tree`."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from typing import Any

from hush.errors import InvalidParameter, called_like, one_of, places_of_equals, shown, whole
from hush.tables.asked_types import of_ends, of_keys, with_types
from hush.tables.bins import checked_edges
from hush.tables.expression import must_have
from hush.tables.linear.coding import CodedColumn
from hush.tables.linear.table_plan import TableWorkload
from hush.tables.policy.facts import Facts
from hush.tables.policy.groups import grouped_by_policy
from hush.tables.policy.rules import is_private

__all__ = ["WorkloadCalls"]

_MOST_BINS = 1 << 16
_KINDS = ("ranges", "prefixes", "quantiles")


class WorkloadCalls:
    """What a table can be asked beside groups and aggregates."""

    @called_like("marginals(['sex', 'ward'], order=2, keys={'sex': ['F', 'M'], 'ward': ['A', 'B', 'C']})")
    def marginals(
        self: Any,
        columns: Sequence[str],
        *,
        order: int | Sequence[int] | None = None,
        tables: Sequence[Sequence[str]] | None = None,
        keys: Mapping[str, Any] | None = None,
        rows_per_unit: int | None = None,
        weights: str | Mapping[Any, float] = "cells",
    ) -> TableWorkload:
        """Contingency tables of these columns: all tables of `order` columns, or the listed `tables`.

        `keys` gives the public list of values of each column; None in a list is null. Rows with other values are left
        out, so list a value for everything that should count. A person counts with at most `rows_per_unit` rows
        (default: 1). `weights` says which error is the least: see `hush.workload.Marginals`.
        """
        from hush.workload.marginals import Marginals

        names = _column_names(self, columns, "marginals")
        given = dict(keys or {})
        self = with_types(self, of_keys(names, given))
        if unknown := [name for name in given if name not in names]:
            raise InvalidParameter(f"keys names {shown(unknown[0])}, which is not one of the columns {list(names)}.")
        coded = [_with_values(self, name, given.get(name)) for name in names]
        domain = {column.name: column.size for column in coded}
        work = Marginals(domain, order, tables, weights)
        return TableWorkload(self, work, tuple(coded), _rows(self, "marginals", rows_per_unit))

    @called_like("ranges('age', edges=range(0, 101, 5))")
    def ranges(
        self: Any, column: str, *, edges: Sequence[Any], rows_per_unit: int | None = None, questions: str = "ranges"
    ) -> TableWorkload:
        """Counts of all ranges of bins of a column of numbers or dates, between public `edges`.

        questions="prefixes" minimises the error of cumulative counts instead, and "quantiles" that of the counts that
        quantiles are found from. All of them can be read from each answer. Rows outside the edges are left out; a
        person counts with at most `rows_per_unit` rows (default: 1).
        """
        from hush.workload.line import Prefixes, Quantiles, Ranges

        (name,) = _column_names(self, [column], "ranges")
        self = with_types(self, {name: of_ends(edges) or "text"})
        one_of("questions", questions, _KINDS)
        coded = _with_edges(self, name, edges)
        kinds = dict(zip(_KINDS, (Ranges, Prefixes, Quantiles), strict=True))
        work = kinds[questions](coded.size)
        return TableWorkload(self, work, (coded,), _rows(self, "ranges", rows_per_unit))

    @called_like("boxes(edges={'age': range(0, 101, 5), 'hour': range(25)}, keys={'sex': ['F', 'M']})")
    def boxes(
        self: Any,
        *,
        edges: Mapping[str, Sequence[Any]],
        keys: Mapping[str, Any] | None = None,
        rows_per_unit: int | None = None,
    ) -> TableWorkload:
        """Counts of boxes: a range of bins of each column of `edges`, and one value of each column of `keys`.

        All ranges are asked: two columns of edges give all rectangles of bins. Rows outside the edges or with other
        values are left out. A person counts with at most `rows_per_unit` rows (default: 1).
        """
        from hush.workload.boxes import Boxes
        from hush.workload.line import Ranges

        if not isinstance(edges, Mapping) or not edges:
            raise InvalidParameter("boxes needs the edges of a column; write edges={'age': range(0, 101, 5)}.")
        listed = dict(keys or {})
        names = _column_names(self, [*edges, *listed], "boxes")
        self = with_types(
            self, {name: of_ends(ends) or "text" for name, ends in edges.items()} | of_keys(names, listed)
        )
        coded = [_with_edges(self, name, given) for name, given in edges.items()]
        coded += [_with_values(self, name, given) for name, given in listed.items()]
        axes = {column.name: Ranges(column.size) if column.edges else column.size for column in coded}
        return TableWorkload(self, Boxes(axes), tuple(coded), _rows(self, "boxes", rows_per_unit))

    @called_like("tree('district', levels=[{'a': 'north', 'b': 'north', 'c': 'south'}])")
    def tree(
        self: Any,
        column: str,
        *,
        levels: Sequence[Mapping[Any, Any]],
        rows_per_unit: int | None = None,
        weights: str = "levels",
    ) -> TableWorkload:
        """Counts of all nodes of a tree over the values of a column, such as districts, states and regions.

        Each of `levels` gives the public node of every value, the coarsest level first; all levels have the same
        values, and they are the leaves. Rows with other values are left out. A person counts with at most
        `rows_per_unit` rows (default: 1). `weights` says which error is the least: see `hush.workload.Tree`.
        """
        from hush.workload.tree import Tree

        (name,) = _column_names(self, [column], "tree")
        mappings = list(levels)
        if not mappings or not all(isinstance(one, Mapping) and set(one) == set(mappings[0]) for one in mappings):
            raise InvalidParameter(
                "levels must be mappings of the same values to their nodes; "
                "write levels=[{'a': 'north', 'b': 'north', 'c': 'south'}]."
            )
        self = with_types(self, of_keys((name,), list(mappings[0])))
        _, grouping = grouped_by_policy(self, (name,), list(mappings[0]), 1)
        assert grouping.keys is not None
        leaves = tuple(key[0] for key in grouping.keys)
        given = list(mappings[0])  # in the same order as the checked keys
        work = Tree([*([one[value] for value in given] for one in mappings), list(leaves)], weights)
        return TableWorkload(self, work, (CodedColumn(name, leaves),), _rows(self, "tree", rows_per_unit))


def _with_values(table: Any, name: str, given: Any) -> CodedColumn:
    """A column with its public list of values, from the call or from the policy."""
    _, grouping = grouped_by_policy(table, (name,), given, 1)
    if grouping.keys is None:
        raise InvalidParameter(f"keys of {shown(name)} must be a public list of values, not 'private'.")
    return CodedColumn(name, tuple(key[0] for key in grouping.keys))


def _with_edges(table: Any, name: str, edges: Sequence[Any]) -> CodedColumn:
    """A column with the public edges of its bins."""
    made = checked_edges(name, tuple(edges), table.relation[name].type(), _MOST_BINS)
    Facts(table).edges(name, name, tuple(edges))
    return CodedColumn(name, edges=tuple(made))


def _column_names(table: Any, columns: Sequence[str], role: str) -> tuple[str, ...]:
    """The columns, checked to be different columns of the table and none of them its unit."""
    if not isinstance(columns, list | tuple) or not columns or places_of_equals(columns):
        raise InvalidParameter(f"{role} needs a list of different columns; write {role}(['sex', 'ward'], ...).")
    for place, name in enumerate(columns, 1):
        must_have(table.columns, name, role, place if len(columns) > 1 else 0)
        if name == table.person:
            raise InvalidParameter(f"{role} names the unit column {shown(name)}; name other columns.")
    return tuple(columns)


def _rows(table: Any, role: str, given: int | None) -> int:
    """How many rows of a person count: as given, within what a policy and the table allow; else 1."""
    if given is not None:
        whole("rows_per_unit", given, 1, "write rows_per_unit=1")
    rows = Facts(table).rows(role, given)
    if is_private(rows):
        raise InvalidParameter(f"{role} needs a number for rows_per_unit, because its noise is chosen for it; write 1.")
    return 1 if table.one_row else rows
