"""Hostile statements are refused with a typed error, nothing is spent, and suggestions are answered."""

# ruff: noqa: E501  (statements are kept on one line)
from __future__ import annotations

import pytest
from tables.sql.hostile import HOSTILE

import hush
from hush import Ledger
from hush.tables.sql import Refused, statement


def test_there_are_two_hundred_hostile_statements():
    assert len(HOSTILE) >= 200
    assert len(set(HOSTILE)) == len(HOSTILE)


@pytest.mark.parametrize("text", HOSTILE)
def test_a_hostile_statement_is_refused(policy, text):
    """A typed error in one sentence, before a plan is made, so that nothing can be spent. What it suggests can be
    asked.
    """
    with pytest.raises(hush.HushError) as failure:
        statement(text, policy).plan(1.0, 1e-6, family="gaussian")
    message = str(failure.value)
    assert message and "\n" not in message and "Traceback" not in message
    if getattr(failure.value, "instead", ""):
        assert statement(failure.value.instead, policy).query is not None


@pytest.mark.parametrize("text", [*HOSTILE[:6], *HOSTILE[60:66], *HOSTILE[-6:]])
def test_nothing_is_spent(policy, tmp_path, text):
    with Ledger(tmp_path / "budget.ledger", epsilon=5.0, delta=1e-3) as ledger:
        with pytest.raises(hush.HushError):
            hush.sql(text, policy, epsilon=1.0, delta=1e-6, ledger=ledger)
        assert len(ledger.entries) == 0


@pytest.mark.parametrize(
    ("text", "words", "instead"),
    [
        ("SELECT * FROM visits WHERE age > 3", "name an aggregate", "SELECT COUNT(DISTINCT patient_id) AS people FROM visits WHERE age > 3"),
        ("SELECT ward, urgent FROM visits", "group by it", "SELECT ward, urgent, COUNT(DISTINCT patient_id) AS people FROM visits GROUP BY ward, urgent"),
        ("SELECT COUNT(DISTINCT note) AS n FROM visits", "counts values", "SELECT COUNT(DISTINCT patient_id) AS n FROM visits"),
        ("SELECT AVG(DISTINCT age) AS a FROM visits", "DISTINCT", "SELECT AVG(age) AS a FROM visits"),
        ("SELECT ward, AVG(age) FROM visits", "group by it", "SELECT ward, AVG(age) FROM visits GROUP BY ward"),
        ("SELECT COUNT(*) FROM visits WHERE random() < 0.5 AND age > 3", "changes between runs", "SELECT COUNT(*) FROM visits WHERE age > 3"),
        ("SELECT AVG(LENGTH(note)) FROM visits", "has no bounds", "SELECT AVG(CLAMP(LENGTH(note), 0, 100)) FROM visits"),
        ("SELECT COUNT(*) FROM visits UNION SELECT COUNT(*) FROM orders", "UNION", "SELECT COUNT(*) FROM visits"),
        ("SELECT TOP 3 ward, COUNT(*) AS n FROM visits GROUP BY ward ORDER BY n DESC", "TOP 3 is written with LIMIT", "SELECT ward, COUNT(*) AS n FROM visits GROUP BY ward ORDER BY n DESC LIMIT 3"),
        ("SELECT TOP (5) ward, COUNT(*) AS n FROM visits GROUP BY ward", "TOP 5 is written with LIMIT", "SELECT ward, COUNT(*) AS n FROM visits GROUP BY ward LIMIT 5"),
        ("SELECT DISTINCT ward, COUNT(*) AS n FROM visits", "DISTINCT is not needed", "SELECT ward, COUNT(*) AS n FROM visits GROUP BY ward"),
        ("SELECT DISTINCT ward, COUNT(*) AS n FROM visits GROUP BY ward", "DISTINCT is not needed", "SELECT ward, COUNT(*) AS n FROM visits GROUP BY ward"),
        ("SELECT DISTINCT ward FROM visits", "lists the values", "SELECT ward, COUNT(DISTINCT patient_id) AS people FROM visits GROUP BY ward"),
        ("SELECT COUNT(*) FROM people", "no table 'people'", "SELECT COUNT(*) FROM visits"),
    ],
)  # fmt: skip
def test_the_nearest_statement(policy, text, words, instead):
    with pytest.raises(Refused, match=words) as failure:
        statement(text, policy)
    assert failure.value.instead == instead
    assert statement(instead, policy).query is not None


def test_rows_need_a_limit_in_the_policy(policy):
    """COUNT(*) without rows_per_unit would quietly count people."""
    from dataclasses import replace

    from hush.tables.policy import Policy

    silent = Policy({"visits": replace(policy.tables["visits"], rows_per_unit=None)})
    with pytest.raises(Refused, match="rows_per_unit of visits") as failure:
        statement("SELECT COUNT(*) FROM visits", silent)
    assert failure.value.instead == "SELECT COUNT(DISTINCT patient_id) FROM visits"


def test_bad_arguments(policy):
    for text, given, words in (
        ("SELECT COUNT(*) FROM visits", {"dialect": "klingon"}, "dialect"),
        (7, {}, "must be text"),
        ("  ", {}, "must be text"),
        ("SELECT COUNT(*) FROM visits", {"epsilon": None}, "missing epsilon"),
        ("SELECT " + "(" * 500 + "1" + ")" * 500 + " FROM visits", {}, "nests"),
        ("SELECT COUNT(*) FROM visits WHERE " + "age > 1 AND " * 20_000 + "age > 1", {}, "characters"),
    ):
        with pytest.raises(hush.HushError, match=words):
            hush.sql(text, policy, **{"epsilon": 1.0, "delta": 1e-6, **given})
    with pytest.raises(hush.HushError, match="policy must be"):
        hush.sql("SELECT COUNT(*) FROM visits", "hush.toml", 1.0, 1e-6)
