"""Questions in the form of other systems' documentation are answered, or refused with a statement that is."""

from __future__ import annotations

import pytest
from tables.sql.examples import EXAMPLES

import hush
from hush.tables.sql import Refused, StatementPlan, statement

#: Statements that are neither answered nor refused with a statement that is. `TOP` is not in the dialect.
#: What has no answer, and no statement that means the same: rows of people, values that one person decides, no bounds.
NOT_ANSWERED = (
    "SELECT * FROM visits LIMIT 10",
    "SELECT note FROM visits",
    "SELECT patient_id, SUM(cost)",
    "COUNT(DISTINCT ward)",
    "price * quantity",
)
QUICK = {"epsilon": 1.0, "delta": 1e-6, "family": "gaussian", "limits_share": 0.0}


def test_there_are_sixty_examples():
    assert len(EXAMPLES) == 60
    assert sum(any(word in text for word in NOT_ANSWERED) for _, _, text in EXAMPLES) <= 10


@pytest.mark.parametrize(("system", "dialect", "text"), EXAMPLES)
def test_an_example_is_answered_or_rewritten(policy, system, dialect, text):
    """The statement, or the one that its refusal suggests, gives numbers with intervals."""
    if any(word in text for word in NOT_ANSWERED):
        with pytest.raises(hush.HushError) as failure:
            statement(text, policy, dialect)
        assert "Write instead" not in str(failure.value)
        return
    try:
        found = hush.sql(text, policy, dialect=dialect, **QUICK)
    except Refused as refused:
        found = hush.sql(refused.instead, policy, dialect=dialect, **QUICK)
    if text.startswith("EXPLAIN"):
        assert isinstance(found, StatementPlan)
        return
    table = found.to_arrow()
    assert found.receipt["statement"]
    assert all({f"{name}_low", f"{name}_high"} <= set(table.column_names) for name in found.names)


def test_most_examples_run_as_they_are(policy):
    """At most a quarter needs the rewriting."""
    refused = []
    for system, dialect, text in EXAMPLES:
        try:
            statement(text, policy, dialect)
        except hush.HushError:
            refused.append((system, text))
    assert len(refused) <= 15, refused
