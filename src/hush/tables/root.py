"""A source of rows, and whose rows it holds: public ones, those of a unit, or those that a key links to a unit."""

from __future__ import annotations

from dataclasses import dataclass, field
from typing import Any

from hush.ledger.people import PERSON, People
from hush.tables.engines.contract import Source
from hush.tables.unit import Unit

__all__ = ["Link", "Root"]


@dataclass(frozen=True)
class Link:
    """The key by which rows are linked to those of their people: columns of the rows, and equal columns of the people's
    table.
    """

    columns: tuple[str, ...]
    keys: tuple[str, ...]


@dataclass(frozen=True)
class Root:
    """A source in the tree, and whose rows it holds. `unit` is the column of the person. Without one the rows are
    public.
    """

    source: Source
    unit: str | None = None
    #: the name of the people that several tables are about; a ledger recognises them by it
    population: str | None = None
    #: who is protected, as declared; None: the rows with the same value of `unit`
    whose: Unit | None = None
    #: what a policy declares about this source, a `TableRule`; None: nothing
    rule: Any = field(default=None, compare=False)
    #: its name in a policy; empty without one
    called: str = field(default="", compare=False)
    #: of a linked table: the key, and the table that has the person
    link: Link | None = None
    through: Root | None = None

    @property
    def node(self) -> Any:
        """The relation in the Ibis tree."""
        return self.source.relation.op()

    @property
    def label(self) -> str:
        """Its name for people."""
        return self.source.label

    @property
    def private(self) -> bool:
        """Does it hold rows of people?"""
        return self.unit is not None

    @property
    def declared(self) -> Unit | None:
        """Who is protected; None in a public table."""
        return self.whose or (None if self.unit is None else Unit((self.unit,)))

    @property
    def ways(self) -> tuple[Root, ...]:
        """This source, and those that it is linked to."""
        return (self,) if self.through is None else (*self.through.ways, self)

    @property
    def words(self) -> str:
        """Its name and whose rows it holds."""
        if self.link is not None and self.through is not None:
            return f"{self.label}, linked to {self.through.words}"
        if self.whose is not None:
            return f"{self.label}, {self.whose.label}"
        return f"{self.label}, " + (f"unit {self.unit}" if self.unit else "public")

    @property
    def whose_words(self) -> str:
        """Whose each row is, as a sentence for plans."""
        person = self.whose.words if self.whose is not None else self.unit
        if self.link is None or self.through is None:
            return f"each row belongs to the {person} of {self.label}"
        keys = " and ".join(self.link.keys)
        return (
            f"each row of {self.label} belongs to the {person} of the rows of {self.through.label} with the same "
            f"{keys}; a row that has no {person}, or several, is left out"
        )

    @property
    def people(self) -> People:
        """The people whose rows it holds, and what counts as one of them, for a ledger."""
        if self.through is not None:
            return self.through.people
        unit = self.declared.label if self.declared is not None else "public"
        if not self.population:
            return People(self.label, unit)
        one = self.declared is not None and len(self.declared.columns) == 1
        return People(f"population {self.population}", PERSON if one else unit)
