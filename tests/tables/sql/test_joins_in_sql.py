"""JOIN of two tables of people in a statement: on the units of both only, with the rules of both."""

# ruff: noqa: E501  (statements are kept on one line)
from __future__ import annotations

import pytest

from hush import Ledger
from hush import tables as t
from hush.tables.policy import ColumnRule, Policy, TableRule
from hush.tables.sql import Refused, sql, statement

SALT = b"0123456789abcdef"


def both(policy, how="inner", **keys):
    visits, labs = policy.open("visits"), policy.open("labs")
    return visits.join(labs, on={visits.unit: labs.unit, **keys}, how=how)


def kinds(table, **aggregates):
    return table.group_by("kind", keys=["blood", "urine"], groups_per_unit=2).aggregate(**aggregates)


def counted(policy):
    labs = policy.open("labs").per_unit(n=lambda x: x.count())
    visits = policy.open("visits")
    made = visits.join(labs, on={visits.unit: labs.unit}).join(policy.lookup("wards"), on="ward")
    return made.filter(made["floor"] == 2, made["age"] > 30).aggregate(n=t.mean("n", low=0, high=10, rows_per_unit=2))


SAME = {
    "SELECT kind, AVG(stay_days) AS s, AVG(value) AS v, COUNT(DISTINCT patient_id) AS p FROM visits JOIN labs USING (patient_id) GROUP BY kind":
        lambda p: kinds(both(p), s=t.mean("stay_days", low=0, high=30, rows_per_unit=2), v=t.mean("value", low=0, high=50, rows_per_unit=2), p=t.count_units()),
    "SELECT l.kind, COUNT(*) AS n FROM visits AS v LEFT JOIN labs AS l ON l.patient_id = v.patient_id AND v.day = l.day GROUP BY 1":
        lambda p: kinds(both(p, "left", day="day"), n=t.count(rows_per_unit=2)),
    "SELECT COUNT(*) AS n FROM visits v JOIN labs l ON v.patient_id = l.patient_id WHERE v.day > l.day":
        lambda p: (m := both(p)).filter(m["day"] > m["day_right"]).aggregate(n=t.count(rows_per_unit=2)),
    "SELECT AVG(CLAMP(n, 0, 10)) AS n FROM visits v JOIN (SELECT patient_id, COUNT(*) AS n FROM labs GROUP BY patient_id) AS p ON p.patient_id = v.patient_id JOIN wards w ON w.ward = v.ward WHERE w.floor = 2 AND v.age > 30":
        counted,
    "WITH a AS (SELECT patient_id, cost / 2 AS half FROM visits WHERE urgent) SELECT SUM(half) AS h FROM a JOIN labs AS l USING (patient_id) WHERE l.kind = 'blood'":
        lambda p: (m := (v := p.open("visits")).filter(v["urgent"]).mutate(half=v["cost"] / 2).join((x := p.open("labs")), on={v.unit: x.unit}))
        .filter(m["kind"] == "blood").aggregate(h=t.sum("half", low=0, high=1000, rows_per_unit=2)),
}  # fmt: skip


@pytest.mark.parametrize("text", SAME)
def test_the_same_integers_as_the_python_interface(policy, text):
    asked, by_hand = statement(text, policy).query, SAME[text](policy)
    assert asked.sensitivity == by_hand.sensitivity
    mine, theirs = (query.aggregates(salt=SALT).to_arrow().to_pydict() for query in (asked, by_hand))
    assert list(mine.values()) == list(theirs.values())
    assert any(value for values in mine.values() for value in values if isinstance(value, int))


def test_the_smaller_limits_count(policy):
    """visits allow 3 rows and 2 groups of a person, labs 2 rows and 3 groups."""
    reach = statement(
        "SELECT kind, COUNT(*) AS n FROM visits JOIN labs USING (patient_id) GROUP BY kind", policy
    ).query.sensitivity
    assert (reach.groups, list(reach.linf.values())) == (2, [2])
    one = "SELECT COUNT(*) AS n FROM (SELECT patient_id, COUNT(*) AS v FROM visits GROUP BY patient_id) AS a JOIN (SELECT patient_id, COUNT(*) AS l FROM labs GROUP BY patient_id) AS b USING (patient_id)"
    assert list(statement(one, policy).query.sensitivity.linf.values()) == [1]


@pytest.mark.parametrize(
    ("text", "words", "instead"),
    [
        ("SELECT COUNT(*) FROM visits v JOIN labs l ON v.day = l.day", "rows of the same person", ""),
        ("SELECT COUNT(*) FROM visits v JOIN labs l USING (day)", "rows of the same person", ""),
        ("SELECT COUNT(*) FROM visits v, labs l WHERE v.patient_id = l.patient_id", "not with a comma", "ON v.patient_id = l.patient_id"),
        ("SELECT COUNT(*) FROM visits v CROSS JOIN labs l", "INNER JOIN or LEFT JOIN", ""),
        ("SELECT COUNT(*) FROM visits v FULL JOIN labs l USING (patient_id)", "INNER JOIN or LEFT JOIN", ""),
        ("SELECT COUNT(*) FROM visits v JOIN labs l ON v.patient_id <= l.patient_id", "with =", ""),
        ("SELECT COUNT(*) FROM visits v JOIN labs l ON v.patient_id = l.patient_id OR TRUE", "with =", ""),
        ("SELECT COUNT(*) FROM visits v JOIN labs l USING (patient_id) WHERE day > DATE '2025-06-01'", "v.day or l.day", ""),
        ("SELECT COUNT(*) FROM visits v JOIN labs l ON patient_id = patient_id", "write v.patient_id or l.patient_id", "ON v.patient_id = l.patient_id"),
        ("SELECT COUNT(*) FROM visits v JOIN wards w ON v.ward = ward", "write v.ward or w.ward", ""),
        ("SELECT AVG(day) FROM visits v JOIN labs l USING (patient_id)", "v.day or l.day", ""),
        ("SELECT COUNT(*) FROM visits v JOIN orders o ON v.patient_id = o.customer", "cast one of them", ""),
        ("SELECT COUNT(*) FROM visits v JOIN labs l ON v.patient_id = v.patient_id", "with one of l", ""),
        ("SELECT COUNT(*) FROM visits JOIN visits USING (patient_id)", "another name", ""),
        ("SELECT COUNT(DISTINCT l.patient_id) FROM visits v LEFT JOIN labs l USING (patient_id)", "counts values", ""),
        ("SELECT AVG(l.patient_id) FROM visits v JOIN labs l USING (patient_id)", "identifies people", ""),
        ("SELECT COUNT(*) FROM visits v JOIN labs l ON v.patient_id = l.patient_id JOIN labs m ON m.day = l.day", "rows of the same person", ""),
    ],
)  # fmt: skip
def test_other_joins_are_refused(policy, text, words, instead):
    with pytest.raises(Refused, match=words) as failure:
        statement(text, policy)
    assert instead in failure.value.instead and bool(instead) == bool(failure.value.instead)
    if failure.value.instead:
        assert statement(failure.value.instead, policy).query is not None


def test_an_alias_chooses_the_column(policy):
    """The column of a public table is not that of the same name in the table of people."""
    wards = {"ward": ["surgery", "burns", "maternity"], "age": [1, 1, 1]}
    import pyarrow as pa

    known = Policy({**policy.tables, "wards": TableRule(pa.table(wards), public=True)})
    counts = [
        statement(
            f"SELECT COUNT(*) AS n FROM visits v JOIN wards w ON w.ward = v.ward WHERE {alias}.age = 1", known
        ).query.aggregates(salt=SALT).to_arrow().column("n")[0].as_py()
        for alias in "vw"
    ]  # fmt: skip
    assert counts[0] < 10 < counts[1]


def test_tables_of_one_population_share_a_ledger(tmp_path, policy):
    """The joined question is charged to the one ledger, whichever table names it."""
    path = tmp_path / "budget.ledger"
    Ledger(path, epsilon=5.0, delta=1e-3).close()
    rules = dict(policy.tables)
    from dataclasses import replace

    for name, ledger in (("visits", None), ("labs", str(path))):
        rules[name] = replace(rules[name], population="patients", ledger=ledger)
    known = Policy(rules)
    text = "SELECT COUNT(*) AS n FROM visits JOIN labs USING (patient_id)"
    sql(text, known, epsilon=1.0, delta=1e-6, family="gaussian")
    sql("SELECT COUNT(*) AS n FROM labs", known, epsilon=1.0, delta=1e-6, family="gaussian")
    with Ledger(path) as ledger:
        assert len(ledger.entries) == 2
    assert (
        Policy({"a": TableRule("x.csv", unit="u", population="p", columns={"c": ColumnRule()})})
        .text()
        .count('population = "p"')
        == 1
    )
    with pytest.raises(ValueError, match="a public table has no population"):
        Policy({"a": TableRule("x.csv", public=True, population="p")})
