"""Who a ledger protects, and what counts as one of them: two facts, both recorded."""

from __future__ import annotations

import pyarrow as pa
import pytest

import hush
from hush import tables
from hush.errors import InvalidParameter
from hush.ledger.people import PERSON, People
from hush.report import statement

ROWS = pa.table({"id": [1, 1, 2, 3], "month": ["a", "b", "a", "a"]})


@pytest.mark.parametrize("people", [People("population p", PERSON), People("v.csv", "unit id"), People("a name")])
def test_both_facts_are_read_back(people, tmp_path):
    with hush.Ledger(tmp_path / "b.ledger", epsilon=1.0, delta=1e-6) as ledger:
        ledger.bind(people)
    with hush.Ledger(tmp_path / "b.ledger") as ledger:
        assert ledger.people == people and ledger.source == people.words
        ledger.verify()


def test_a_ledger_of_an_older_version_has_a_name_only():
    """It goes on protecting persons, and refuses rows; its statement says that the unit is not recorded."""
    ledger = hush.Ledger(None, epsilon=3.0, delta=1e-6, source="population patients")
    rows = tables.table(ROWS, unit=tables.each_row, population="patients").aggregate(n=tables.count_units())
    with pytest.raises(InvalidParameter, match="protects each row, which is another promise"):
        rows.answer(0.5, 0.0, ledger=ledger, family="laplace")
    persons = tables.table(ROWS, unit="id", population="patients").aggregate(n=tables.count_units())
    persons.answer(0.5, 0.0, ledger=ledger, family="laplace")
    assert "it is not recorded whether persons" in " ".join(statement(ledger).markdown.split())


@pytest.mark.parametrize(
    ("unit", "words"),
    [(tables.each_row, "one person is one row"), (["id", "month"], "one person is one combination of id and month")],
)
def test_the_statement_says_the_promise_that_was_kept(unit, words):
    ledger = hush.Ledger(None, epsilon=3.0, delta=1e-6)
    query = tables.table(ROWS, unit=unit, population="patients").aggregate(n=tables.count_units())
    query.answer(0.5, 0.0, ledger=ledger, family="laplace")
    assert words in " ".join(statement(ledger).markdown.split())
