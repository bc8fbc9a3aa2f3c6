"""Windows over the rows of one person, in a statement: the same integers as `Table.mutate`, and refusals."""

# ruff: noqa: E501  (statements are kept on one line)
from __future__ import annotations

import ibis
import pytest
from ibis import _

from hush import tables as t
from hush.tables.sql import Refused, statement

SALT = b"0123456789abcdef"
WARDS = ["surgery", "burns", "maternity"]


def total(**bounds):
    return t.mean("w", **bounds, rows_per_unit=3)


def running(table):
    return ibis.range_window(preceding=None, following=0, group_by=table.unit, order_by="day")


SAME = {
    "SELECT AVG(CLAMP(n, 0, 9)) AS a FROM (SELECT *, COUNT(*) OVER (PARTITION BY patient_id) AS n FROM visits) AS x":
        lambda v: v.mutate(w=_.count().over(group_by=v.unit)).aggregate(a=total(low=0, high=9)),
    "WITH x AS (SELECT ward, patient_id, RANK() OVER (PARTITION BY patient_id ORDER BY day DESC) AS r FROM visits WHERE age > 20) SELECT ward, COUNT(*) AS n FROM x WHERE r = 1 GROUP BY ward":
        lambda v: (m := v.filter(v["age"] > 20).mutate(r=ibis.rank().over(group_by=v.unit, order_by=ibis.desc("day"))))
        .filter(m["r"] == 0).group_by("ward", keys=WARDS, groups_per_unit=2).aggregate(n=t.count(rows_per_unit=3)),
    "SELECT COUNT(*) AS n FROM (SELECT * FROM visits QUALIFY DENSE_RANK() OVER (PARTITION BY patient_id, ward ORDER BY day) <= 2) AS x":
        lambda v: (m := v.mutate(r=ibis.dense_rank().over(group_by=[v.unit, "ward"], order_by="day")))
        .filter(m["r"] <= 1).aggregate(n=t.count(rows_per_unit=3)),
    "SELECT AVG(MAX(age) OVER (PARTITION BY patient_id)) AS a FROM visits WHERE urgent":
        lambda v: v.filter(v["urgent"]).mutate(w=_.age.max().over(group_by=v.unit)).aggregate(a=total(low=0, high=120)),
    "SELECT AVG(AVG(cost) OVER (PARTITION BY patient_id)) AS a FROM visits":
        lambda v: v.mutate(w=_.cost.mean().over(group_by=v.unit)).aggregate(a=total(low=0, high=2000)),
    "SELECT AVG(CLAMP(SUM(cost) OVER (PARTITION BY patient_id ORDER BY day), 0, 100)) AS a FROM visits":
        lambda v: v.mutate(w=_.cost.sum().over(running(v))).aggregate(a=total(low=0, high=100)),
    "SELECT AVG(CLAMP(SUM(cost) OVER (PARTITION BY patient_id ORDER BY day ROWS BETWEEN UNBOUNDED PRECEDING AND UNBOUNDED FOLLOWING), 0, 100)) AS a FROM visits":
        lambda v: v.mutate(w=_.cost.sum().over(group_by=v.unit)).aggregate(a=total(low=0, high=100)),
    "SELECT AVG(CLAMP(COUNT(*) FILTER (WHERE urgent) OVER (PARTITION BY patient_id), 0, 5)) AS a FROM visits":
        lambda v: v.mutate(w=_.urgent.cast("int64").sum().over(group_by=v.unit)).aggregate(a=total(low=0, high=5)),
    "SELECT CASE WHEN COUNT(*) OVER (PARTITION BY patient_id) > 3 THEN 'often' ELSE 'seldom' END AS k, COUNT(DISTINCT patient_id) AS n FROM visits GROUP BY k":
        lambda v: v.mutate(k=lambda x: ibis.cases((x.count().over(group_by=v.unit) > 3, "often"), else_="seldom"))
        .group_by("k", keys=["often", "seldom"], groups_per_unit=2).aggregate(n=t.count_units()),
}  # fmt: skip


@pytest.mark.parametrize("text", SAME)
def test_the_same_integers_as_mutate(policy, text):
    asked, by_hand = statement(text, policy).query, SAME[text](policy.open("visits"))
    assert asked.sensitivity == by_hand.sensitivity
    mine, theirs = (query.aggregates(salt=SALT).to_arrow().to_pydict() for query in (asked, by_hand))
    assert mine == theirs
    assert all(any(values) for values in mine.values())


@pytest.mark.parametrize(
    ("text", "words"),
    [
        ("SELECT COUNT(*) OVER (PARTITION BY patient_id) AS n FROM visits", "value of each row"),
        ("SELECT AVG(MAX(age) OVER ()) AS n FROM visits", "rows of several people"),
        ("SELECT AVG(MAX(age) OVER (PARTITION BY ward)) AS n FROM visits", "rows of several people"),
        ("SELECT AVG(CLAMP(r, 0, 5)) FROM (SELECT ROW_NUMBER() OVER (PARTITION BY patient_id ORDER BY day) AS r FROM visits) AS x", "order of equal rows"),
        ("SELECT AVG(CLAMP(LAG(age) OVER (PARTITION BY patient_id ORDER BY day), 0, 5)) FROM visits", "order of equal rows"),
        ("SELECT AVG(SUM(age) OVER (PARTITION BY patient_id ORDER BY day ROWS BETWEEN 1 PRECEDING AND CURRENT ROW)) FROM visits", "order of equal rows"),
        ("SELECT COUNT(*) FROM visits WHERE COUNT(*) OVER (PARTITION BY patient_id) > 2", "in a subquery"),
        ("SELECT ward, COUNT(*) AS n FROM visits GROUP BY ward ORDER BY SUM(COUNT(*)) OVER ()", "over groups"),
        ("SELECT ward, COUNT(*) AS n, COUNT(*) / SUM(COUNT(*)) OVER () AS s FROM visits GROUP BY ward", "answer.share"),
        ("SELECT ward, COUNT(*) AS n, RANK() OVER (ORDER BY COUNT(*) DESC) AS r FROM visits GROUP BY ward", "ORDER BY and LIMIT"),
        ("SELECT AVG(MAX(answer) OVER (PARTITION BY row)) AS n FROM survey", "each row is a person"),
        ("SELECT AVG(MAX(age) OVER (PARTITION BY patient_id)) FROM (SELECT age FROM visits) AS x", "rows of several people"),
        ("SELECT AVG(MAX(SUM(age) OVER (PARTITION BY patient_id)) OVER (PARTITION BY patient_id)) FROM visits", "subquery"),
        ("SELECT AVG(COUNT(*) OVER (PARTITION BY patient_id, cost)) FROM visits", "values of type float64"),
    ],
)  # fmt: skip
def test_other_windows_are_refused(policy, text, words):
    with pytest.raises(Refused, match=words) as failure:
        statement(text, policy)
    assert failure.value.instead == ""
