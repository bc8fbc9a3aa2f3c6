"""The people whom a ledger protects: who they are, and what counts as one of them.

These are two facts, and a ledger records both. Rows, persons, and persons by month of one population are different
promises: a ledger that protects persons does not pay for a question that protects rows.
"""

from __future__ import annotations

import json
from dataclasses import dataclass
from typing import Self

from hush.errors import InvalidParameter, shown
from hush.ledger.entry import text_of

__all__ = ["PERSON", "People", "must_be_people"]

#: What is protected where a population is named and one column identifies its people.
PERSON = "person"


@dataclass(frozen=True)
class People:
    """`name`: a population, or the names of tables. `unit`: what is protected, such as "person", "unit patient_id",
    "units of patient and month" or "each row a unit"; empty if it is not recorded.
    """

    name: str
    unit: str = ""

    @classmethod
    def of(cls, given: Self | str) -> Self:
        """The people, from a text that names them."""
        return given if isinstance(given, cls) else cls(text_of("source", given))

    @classmethod
    def from_text(cls, text: str) -> Self:
        """What `text` wrote; a ledger of an older version holds the name only."""
        try:
            found = json.loads(text) if text.startswith("{") else {}
        except ValueError:
            found = {}
        if set(found) == {"people", "unit"}:
            return cls(str(found["people"]), str(found["unit"]))
        return cls(text)

    @property
    def text(self) -> str:
        """The people as a ledger's file holds them."""
        return json.dumps({"people": self.name, "unit": self.unit}) if self.unit else self.name

    @property
    def words(self) -> str:
        """The people in words. People who are a named population need no more words."""
        return self.name if self.unit in ("", PERSON) else f"{self.name}, {self.unit}"

    @property
    def each(self) -> str:
        """What is protected, in words."""
        if self.unit in ("", PERSON):
            return "each person"
        if self.unit == "each row a unit":
            return "each row"
        return f"each {self.unit.removeprefix('units of ').removeprefix('unit ')}"


def must_be_people(ledger: str, known: People, own: People) -> None:
    """Reject people that a ledger does not protect, and another promise to the people that it protects."""
    if known.words == own.words:
        return
    if known.name == own.name:
        raise InvalidParameter(
            f"{ledger} protects {known.each} of {shown(known.name)}, and this question protects {own.each}, which is "
            "another promise; use a separate ledger for it, and add up what both spend. Nothing was spent."
        )
    raise InvalidParameter(
        f"{ledger} protects {shown(known.words)}, not {shown(own.words)}. If both are about the same people (monthly "
        "files, copies, tables of one database), they need one ledger: give every table the same population= "
        "(--population) from the first release on. If they are about other people, use a separate ledger for each data "
        "set."
    )
