"""The rows of a table for a fit of `hush.learn`: complete rows of numbers, and at most a limited number of each person.

The rules, the same on every engine, each for one row or for the rows of one person:
- a row without a person (a null unit) is left out;
- a row with a null or NaN among its columns, or with a label that is not one of the classes, is left out;
- of the remaining rows of a person at most `rows_per_unit` are kept.

Claim. Fix the salt. If all rows of one person are added to the table or removed from it, the multiset of kept rows
gains or loses at most `rows_per_unit` rows, and no other row changes.

Proof. `hush.tables.ownership` proves that the rows of the relation with a person's unit are a function of this person's
source rows and of public tables. The first two rules use one row each. `limited` ranks rows within one person. Which
rows of a person it keeps depends on the multiset of that person's rows and on the salt: rows are ordered by all columns
that are kept, so rows with equal places in the order are equal. It keeps min(r, n) of n rows
(`hush.tables.bound.keep_rows`). So the kept rows of a table are the disjoint union, over persons, of sets of at most
`rows_per_unit` rows, each of which depends on one person.   QED
"""

from __future__ import annotations

from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass
from typing import TYPE_CHECKING, Any

import numpy as np
from numpy.typing import NDArray

from hush.errors import InvalidParameter, shown, whole
from hush.ledger.access import Access
from hush.tables.asked_types import of_classes, with_types
from hush.tables.engines import engine_of
from hush.tables.expression import by_bytes, compared, constant, ibis, must_have
from hush.tables.keyed_hash import Keyed, fresh_salt
from hush.tables.policy.facts import Facts
from hush.tables.policy.rules import is_private
from hush.tables.quantise import as_number
from hush.tables.question import rows_digest

if TYPE_CHECKING:
    from hush.ledger import Ledger
    from hush.tables.description import TableDescription

__all__ = ["RowBlocks", "WithRowBlocks"]

SIZE = 1 << 15  # rows of one block


@dataclass(frozen=True)
class RowBlocks:
    """The rows of a table for a fit, block by block. They are not private: noise must be added before anyone sees them.

    Guarantees: one person, added or removed, adds or removes at most `rows_per_unit` rows (the proof is in
    `hush.tables.row_blocks`).
    """

    table: TableDescription
    columns: tuple[str, ...]
    rows_per_unit: int
    #: the kept rows as an Ibis relation with the columns v0, v1, ... of float64 without nulls
    rows: Any

    @property
    def fingerprint(self) -> str:
        """The text by which a ledger recognises the people of the table."""
        return self.table.fingerprint

    @property
    def asked(self) -> str:
        """The digest of the rows that are asked about, for the ledger."""
        return rows_digest(self.table)

    def access(self, ledger: Ledger | None, *, label: str = "", account: str = "") -> Access:
        """The door to noise on these rows: see `TableDescription.access`."""
        return self.table.access(ledger, label=label, account=account)

    def must_lie_within(self, bounds: Mapping[str, tuple[float, float]]) -> None:
        """Refuse bounds of columns that are wider than those of the policy."""
        facts = Facts(self.table)
        for name, (low, high) in bounds.items():
            facts.bounds("a fit", name, name, low, high)

    def must_be_listed(self, target: str, classes: Sequence[Any]) -> None:
        """Refuse classes that the policy does not list, or any if it says that they are private."""
        facts, column = Facts(self.table), self.table.relation[target]
        rule = facts.about(target, target)
        if is_private(rule.values):
            raise InvalidParameter(
                f"the classes of {shown(target)} are listed by hand, but by the policy its values are found privately, "
                "which a fit on a table cannot do; choose another target, or ask for a policy that lists them."
            )
        kind = column.type()
        plain = [value.item() if isinstance(value, np.generic) else value for value in classes]
        given = [bool(value) for value in plain] if kind.is_boolean() else plain
        facts.must_be_listed(f"the classes of {shown(target)}", target, rule, given, kind)

    def holds_truths(self, name: str) -> bool:
        """Is a column of the table a column of truth values, by its type?"""
        return bool(self.table.relation[name].type().is_boolean())

    def count(self) -> int:
        """The number of kept rows, without noise."""
        found = self.rows.aggregate(n=self.rows.count())
        return sum(int(batch.column(0)[0].as_py()) for batch in self._batches(found, 1) if batch.num_rows)

    def blocks(self, size: int = SIZE) -> Iterator[NDArray[np.float64]]:
        """Arrays with one row for each kept row and one column for each of `columns`, in an order that may differ from
        call to call.
        """
        for batch in self._batches(self.rows, size):
            made = np.empty((batch.num_columns, batch.num_rows))
            for place in range(batch.num_columns):
                made[place] = batch.column(place).to_numpy(zero_copy_only=False)
            missing = np.isnan(made).any(axis=0)  # a second wall: the engine has left these rows out
            yield made.T[~missing] if missing.any() else made.T

    def _batches(self, rows: Any, size: int) -> Iterator[Any]:
        source = self.table.source
        return engine_of(source.backend).batches(source, rows, size)


class WithRowBlocks:
    """What a table offers to fits."""

    def row_blocks(
        self,
        features: Sequence[str],
        target: str,
        *,
        classes: Sequence[Any] | None = None,
        weight: str | None = None,
        rows_per_unit: int | None = None,
        salt: bytes | None = None,
    ) -> RowBlocks:
        """The rows of a fit: the features as numbers, then the target, then the weight if there is one.

        With `classes` the target of a row is the place of its label in this list. `rows_per_unit` is the most rows of
        a person that are kept; None is what the policy declares, or 1. A given `salt` makes the choice repeatable.
        """
        table: Any = self
        names = _different(features, [target, *([] if weight is None else [weight])], table.columns)
        table = with_types(table, dict.fromkeys(names, "number") | {target: of_classes(classes)})
        _must_not_name_people(names, table)
        kept = _limit(table, rows_per_unit)
        engine, relation = engine_of(table.source.backend), table.relation
        read = {name: _number(relation[name], name) for name in names if name != target or classes is None}
        if classes is not None:
            read[target] = _place(relation[target], target, classes)
        person = {} if table.person is None else {"u": compared(relation[table.person])}
        known = [relation[table.person].notnull()] if person else []
        complete = relation.filter(*known, *(~missing for _, missing in read.values()))
        wanted = [f"v{place}" for place in range(len(names))]
        rows = complete.select(**person, **{column: read[name][0] for column, name in zip(wanted, names, strict=True)})
        if person and not table.one_row:
            chosen = "portable" if engine.hash is None else "native"
            keyed = Keyed(fresh_salt() if salt is None else salt, chosen, engine.hash, engine.digits)
            rows = limited(rows, wanted, kept, keyed)
        return RowBlocks(table, tuple(names), kept, rows.select(*wanted))


def limited(rows: Any, columns: list[str], most: int, keyed: Keyed) -> Any:
    """At most `most` rows of each person u. A person's n rows are sorted by all columns, p = 0 ... n - 1, and row p is
    kept if (p * most + o) mod n < most, with o in [0, n) from the keyed hash of the person. `bound.keep_rows` shows
    that this keeps min(most, n) rows, spread evenly over the order.
    """
    hashed = rows.mutate(t=keyed.of([rows["u"]], "rows", nulls=False))
    order = [hashed[name] for name in columns]
    placed = hashed.mutate(
        p=ibis().row_number().over(group_by="u", order_by=order), n=hashed["u"].count().over(group_by="u")
    )
    return placed.filter((placed["p"] * most + keyed.below(placed["t"], placed["n"])) % placed["n"] < most)


def _different(features: Sequence[Any], others: Sequence[Any], known: Sequence[str]) -> list[str]:
    """The names of the columns of a fit, checked: the features, which are a list, then the target and the weight."""
    names = [*features, *others]
    for place, name in enumerate(names):
        listed = place < len(features)
        must_have(
            known, name, "features" if listed else "the target or the weight of a fit", place + 1 if listed else 0
        )
        if name in names[:place]:
            raise InvalidParameter(
                f"column {shown(name)} is given twice; each feature, the target and the weight must be "
                "different columns."
            )
    return names


def _must_not_name_people(names: Sequence[str], table: Any) -> None:
    """Refuse the column that identifies the person as a column of a fit."""
    for name in names:
        if not table.whose.each_row and name in table.whose.columns:
            raise InvalidParameter(
                f"column {shown(name)} identifies the person, and a model of it would be about single people; "
                "leave it out."
            )


def _limit(table: Any, given: int | None) -> int:
    """How many rows of a person are kept."""
    limit = Facts(table).rows("a fit", None if given is None else whole("rows_per_unit", given, 1, "write 1"))
    if not isinstance(limit, int):
        raise InvalidParameter("rows_per_unit is 'private' in the policy, and a fit needs a number; write it by hand.")
    if limit > table.limits.rows_per_unit:
        raise InvalidParameter(f"rows_per_unit must be at most {table.limits.rows_per_unit}, got {limit}.")
    return 1 if table.one_row else limit


def _number(column: Any, name: str) -> tuple[Any, Any]:
    """A column of numbers or truth values as float64, and a column that is true where it has no value."""
    kind = column.type()
    if not (kind.is_numeric() or kind.is_boolean()):
        raise InvalidParameter(
            f"column {shown(name)} is of type {kind}, and a fit needs numbers; make a column of numbers from it "
            "with mutate."
        )
    number, missing = as_number(column)
    # a decimal of PostgreSQL can be NaN too
    return number, missing | number.isnan() if kind.is_decimal() else missing


def _place(column: Any, name: str, classes: Sequence[Any]) -> tuple[Any, Any]:
    """The place of a label among the classes as float64, and a column that is true where it is another one."""
    kind = column.type()
    text = kind.is_string()
    plain = [value.item() if isinstance(value, np.generic) else value for value in classes]
    if text and plain == [0, 1]:
        raise InvalidParameter(
            f"the target {shown(name)} holds text, so its classes must be declared; write classes=('no', 'yes')."
        )
    for value in plain:
        numeric = isinstance(value, int | float) and (kind.is_numeric() or kind.is_boolean())
        if isinstance(value, str) and kind.is_boolean():
            raise InvalidParameter(
                f"the class {shown(value)} cannot be a value of column {shown(name)}, which is read as boolean "
                "(yes and no of a file become true and false); leave classes out."
            )
        if not (isinstance(value, str) if text else numeric):
            raise InvalidParameter(
                f"the class {shown(value)} cannot be a value of column {shown(name)}, which is of type {kind}; "
                "write classes with values of the column."
            )
    # a truth value is the same label as 0 or 1
    compare = by_bytes(column) if text else column.cast("int64") if kind.is_boolean() else column
    literals = [by_bytes(ibis().literal(value)) if text else ibis().literal(value + 0) for value in plain]
    cases = [(compare == literal, constant(place)) for place, literal in enumerate(literals)]
    place = ibis().cases(*cases, else_=ibis().null("float64"))
    return place, place.isnull()
