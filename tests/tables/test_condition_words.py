"""Filters in words: what Ibis writes is read, and what is not known stays as it is."""

from __future__ import annotations

import datetime

import ibis
import pytest

from hush.tables.condition_words import condition_in_words

t = ibis.table({"age": "int64", "ward": "string", "day": "date", "x": "float64", "b": "boolean"}, name="t")


@pytest.mark.parametrize(
    ("condition", "words"),
    [
        (t.age >= 65, "age is at least 65"),
        (t.x < 1.5, "x is below 1.5"),
        ((t.age > 3) & (t.ward == "bu,r(n)s"), "age is above 3 and ward is 'bu,r(n)s'"),
        ((t.age <= 3) | (t.ward != "a"), "(age is at most 3 or ward is not 'a')"),
        (t.ward.isin(["a", "b"]), "ward is one of 'a', 'b'"),
        (t.ward.notin(["a"]), "not (ward is one of 'a')"),
        (t.age.between(3, 5), "age is between 3 and 5"),
        (~t.b, "not (b)"),
        (t.b, "b"),
        (t.x.isnull(), "x is missing"),
        (t.x.notnull(), "x is present"),
        (t.day >= datetime.date(2026, 1, 31), "day is at least 2026-01-31"),
        (t.day.month() == 3, "the month of day is 3"),
        (t.ward.lower() == "it's", 'ward in small letters is "it\'s"'),
        (t.age * 2 > t.x, "age times 2 is above x"),
    ],
)
def test_conditions_in_words(condition: ibis.Expr, words: str) -> None:
    assert condition_in_words(condition.get_name()) == words


@pytest.mark.parametrize(
    ("text", "words"),
    [
        ("age >= 65", "age is at least 65"),
        ("class == '7A'", "class is '7A'"),
        ("age < 18 AND ward <> 'burns'", "age is below 18 and ward is not 'burns'"),
        ("name = 'x AND y'", "name = 'x AND y'"),
        ("age BETWEEN 3 AND 5", "age BETWEEN 3 AND 5"),
        ("age > 3 OR age = 1", "age > 3 OR age = 1"),
    ],
)
def test_comparisons_of_sql_in_words(text: str, words: str) -> None:
    assert condition_in_words(text) == words


@pytest.mark.parametrize(
    "text", ["StringSQLLike(ward, 'a%')", "age is one of the 3 values of the policy", "f(", "", "And("]
)
def test_other_texts_stay(text: str) -> None:
    assert condition_in_words(text) == text
