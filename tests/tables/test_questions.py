"""Questions that people ask about tables: each one on the command line and in Python, or with the sentence that says
why it has no answer.

The data are 20,000 made-up visits, and `wards.csv` is a public table. Commands are checked to end well and to print a
result; the Python calls are checked to name the same columns.
"""

from __future__ import annotations

import json
import shlex
from collections.abc import Callable
from pathlib import Path
from typing import Any

import duckdb
import pyarrow as pa
import pyarrow.compute as pc
import pyarrow.parquet as pq
import pytest

import hush
from hush import tables
from hush.cli import main
from hush.tables import Policy

POLICY = """
[tables.visits]
source = "visits.parquet"
unit = "patient_id"
groups_per_unit = 2
rows_per_unit = 3
[tables.visits.columns]
ward = { values = ["emergency", "surgery", "burns"] }
age = { low = 0, high = 120 }
stay_days = { low = 0, high = 30 }
day = { low = 2025-01-01, high = 2025-12-31 }

[tables.wards]
source = "wards.csv"
public = true
"""
BUDGET = "--epsilon 1 --delta 1e-6 --family gaussian --limits-share 0 --json"
FILE = "visits.parquet --unit patient_id"


@pytest.fixture(scope="module")
def folder(tmp_path_factory: pytest.TempPathFactory) -> Path:
    """The visits in several forms, a public table, a policy, and a ledger for a year."""
    place = tmp_path_factory.mktemp("questions")
    visits = tables.sample("visits", 20_000)
    pq.write_table(visits, place / "visits.parquet")
    for month in (1, 2):
        pq.write_table(visits.filter(pc.equal(pc.month(visits["day"]), month)), place / f"2025-0{month}.parquet")
    pq.write_table(visits.drop_columns(["patient_id"]), place / "survey.parquet")
    duckdb.sql(f"COPY (FROM '{place}/visits.parquet') TO '{place}/visits.json'")
    (place / "wards.csv").write_text("ward,house\nemergency,A\nsurgery,A\nburns,B\n")
    (place / "hush.toml").write_text(POLICY)
    hush.Ledger(place / "year.ledger", epsilon=3.0, delta=1e-5).close()
    return place


@pytest.fixture(autouse=True)
def _inside(folder: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.chdir(folder)


def visits(**options: Any) -> Any:
    return tables.table("visits.parquet", **{"unit": "patient_id"} | options)


def sql(text: str) -> Any:
    return hush.sql(text, Policy.read("hush.toml"), epsilon=1.0, delta=1e-6, family="gaussian", limits_share=0)


def of(query: Any, **options: Any) -> Any:
    return query.plan(1.0, 1e-6, family="gaussian", limits_share=0, **options).answer(ledger=None)


def by_ward(*keys: str, **aggregates: Any) -> Any:
    return visits().group_by("ward", keys=list(keys), groups_per_unit=2).aggregate(**aggregates)


def monthly() -> Any:
    with hush.Ledger(None, epsilon=3.0, delta=1e-5) as ledger:
        for file in ("2025-01.parquet", "2025-02.parquet"):
            table = tables.table(file, unit="patient_id", population="patients of 2025")
            plan = table.aggregate(units=tables.count_units()).plan(0.2, 0.0, family="laplace", limits_share=0)
            answer = plan.answer(ledger=ledger)
        assert len(ledger.entries) == 2
    return answer


def by_house() -> Any:
    joined = visits().join(tables.public("wards.csv"), on="ward")
    grouped = joined.group_by("house", keys=["A", "B"], groups_per_unit=2)
    return of(grouped.aggregate(people=tables.count_units()))


def by_number_of_visits() -> Any:
    people = visits().per_unit(n=lambda t: t.count())
    return of(people.group_by("n", keys=[1, 2, 3], groups_per_unit=1).aggregate(people=tables.count_units()))


def by_month() -> Any:
    table = visits()
    dated = table.mutate(month=table["day"].truncate("M").cast("date"))
    return of(dated.group_by("ward", "month", keys="private", groups_per_unit=4).aggregate(units=tables.count_units()))


def covariance() -> Any:
    table = visits()
    both = table.mutate(product=table["age"] * table["stay_days"])
    return of(
        both.aggregate(
            product=tables.mean("product", low=0, high=3600),
            age=tables.mean("age", low=0, high=120),
            stay=tables.mean("stay_days", low=0, high=30),
        )
    )


#: question: (command line, columns of its answer, Python call, columns of that answer)
QUESTIONS: dict[str, tuple[str, set[str], Callable[[], Any], set[str]]] = {
    "by ward and month": (
        f"answer {FILE} --let \"month=date_trunc('month', day)\" --by ward,month --keys private --groups-per-unit 4 "
        f"--count-units {BUDGET}",
        {"ward", "month", "units"},
        by_month,
        {"ward", "month", "units"},
    ),
    "two columns with listed keys": (
        f"answer {FILE} --let age_band=age//60 --by ward,age_band --keys ward=surgery,burns --keys age_band=0,1 "
        f"--groups-per-unit 2 --count-units {BUDGET}",
        {"ward", "age_band", "units"},
        lambda: of(
            visits()
            .mutate(age_band=lambda t: t.age // 60)
            .group_by("ward", "age_band", keys={"ward": ["surgery"], "age_band": [0, 1]}, groups_per_unit=2)
            .aggregate(units=tables.count_units())
        ),
        {"ward", "age_band", "units"},
    ),
    "a table without an id": (
        f"answer survey.parquet --each-row --mean age:0:120 {BUDGET}",
        {"age_mean"},
        lambda: of(
            tables.table("survey.parquet", unit=tables.each_row).aggregate(age=tables.mean("age", low=0, high=120))
        ),
        {"age"},
    ),
    "a join with a public table": (
        'sql "SELECT house, COUNT(DISTINCT patient_id) AS people FROM visits JOIN wards USING (ward) GROUP BY house" '
        f"--policy hush.toml {BUDGET}",
        {"house", "people"},
        by_house,
        {"house", "people"},
    ),
    "one budget for a file each month": (
        "answer 2025-01.parquet --unit patient_id --population 'patients of 2025' --ledger year.ledger --count-units "
        "--epsilon 0.2 --pure --limits-share 0 --json",
        {"units"},
        monthly,
        {"units"},
    ),
    "rows by OR and IN": (
        f"answer {FILE} --where \"ward IN ('surgery', 'burns') OR age > 90\" --count-units {BUDGET}",
        {"units"},
        lambda: of(
            visits()
            .filter(lambda t: t.ward.isin(["surgery", "burns"]) | (t.age > 90))
            .aggregate(units=tables.count_units())
        ),
        {"units"},
    ),
    "a histogram of categories": (
        f"answer {FILE} --histogram ward:surgery,burns --long {BUDGET}",
        {"bin", "value", "low", "high"},
        lambda: of(visits().aggregate(wards=tables.histogram("ward", categories=["surgery", "burns"]))).long("wards"),
        {"bin", "value", "low", "high"},
    ),
    "a ratio with an interval": (
        f'sql "SELECT COUNT(*) / COUNT(DISTINCT patient_id) AS visits_each FROM visits" --policy hush.toml {BUDGET}',
        {"visits_each", "visits_each_low", "visits_each_high"},
        lambda: of(
            by_ward("surgery", "burns", visits=tables.count(rows_per_unit=3), people=tables.count_units())
        ).ratio("visits", "people"),
        set(),
    ),
    "shares of a total": (
        f"answer {FILE} --by ward --keys surgery,burns --groups-per-unit 2 --count-units --share units {BUDGET}",
        {"ward", "units", "units_share"},
        lambda: of(by_ward("surgery", "burns", people=tables.count_units())).share("people"),
        set(),
    ),
    "the three largest groups": (
        'sql "SELECT ward, COUNT(DISTINCT patient_id) AS people FROM visits GROUP BY ward ORDER BY people DESC '
        f'LIMIT 3" --policy hush.toml {BUDGET}',
        {"ward", "people"},
        lambda: sql("SELECT ward, COUNT(*) AS n FROM visits GROUP BY ward ORDER BY n DESC LIMIT 3"),
        {"ward", "n"},
    ),
    "the smallest and the largest value": (
        f'sql "SELECT MIN(age) AS youngest, MAX(age) AS oldest FROM visits" --policy hush.toml {BUDGET}',
        {"youngest", "oldest"},
        lambda: of(visits().aggregate(age=tables.quantile("age", [0.0, 1.0], low=0, high=120))),
        {"age_q0", "age_q100"},
    ),
    "a covariance": (
        'sql "SELECT AVG(age * stay_days) - AVG(age) * AVG(stay_days) AS covariance FROM visits" '
        f"--policy hush.toml {BUDGET}",
        {"covariance", "covariance_low", "covariance_high"},
        covariance,
        {"product", "age", "stay"},
    ),
    "people by their number of visits": (
        'sql "SELECT n, COUNT(*) AS people FROM (SELECT patient_id, COUNT(*) AS n FROM visits GROUP BY patient_id) p '
        f'WHERE n IN (1, 2, 3) GROUP BY n" --policy hush.toml {BUDGET}',
        {"n", "people"},
        by_number_of_visits,
        {"n", "people"},
    ),
    "several quantiles of one column": (
        f"answer {FILE} --quantile age:0.25,0.5,0.75:0:120 {BUDGET}",
        {"age_q25", "age_q50", "age_q75"},
        lambda: of(visits().aggregate(age=tables.quantile("age", [0.25, 0.5, 0.75], low=0, high=120))),
        {"age_q25", "age_q50", "age_q75"},
    ),
    "a unit of person and day": (
        f"answer visits.parquet --unit patient_id,day --count-units {BUDGET}",
        {"units"},
        lambda: of(visits(unit=["patient_id", "day"]).aggregate(units=tables.count_units())),
        {"units"},
    ),
    "a JSON file": (
        f"answer visits.json --unit patient_id --count-units {BUDGET}",
        {"units"},
        lambda: of(tables.table("visits.json", unit="patient_id").aggregate(units=tables.count_units())),
        {"units"},
    ),
    "bounds found privately": (
        f"answer {FILE} --mean cost:private {BUDGET}",
        {"cost_mean"},
        lambda: of(visits().aggregate(cost=tables.mean("cost", low="private", high="private"))),
        {"cost"},
    ),
    "weights and another level": (
        f"answer {FILE} --count-units --mean age:0:120 --weight units=3 --level 0.99 {BUDGET}",
        {"units", "age_mean"},
        lambda: of(
            visits().aggregate(units=tables.count_units(), age=tables.mean("age", low=0, high=120)),
            weights={"units": 3.0},
        ),
        {"units", "age"},
    ),
}

#: question: (statement, words of the reason)
REFUSED = {
    "a correlation": ("SELECT CORR(age, stay_days) AS r FROM visits", "formula of means", True),
    "the number of different values": ("SELECT COUNT(DISTINCT ward) AS n FROM visits", "one person can add", False),
}


@pytest.mark.parametrize("question", QUESTIONS)
def test_each_question_is_answered_on_the_command_line(question: str, capsys: pytest.CaptureFixture[str]) -> None:
    line, columns, _, _ = QUESTIONS[question]
    assert main(shlex.split(line)) == 0
    shown = json.loads(capsys.readouterr().out)["answer"]
    assert shown and columns <= set(shown[0])


@pytest.mark.parametrize("question", QUESTIONS)
def test_each_question_is_answered_in_python(question: str) -> None:
    _, _, ask, columns = QUESTIONS[question]
    table = ask().to_arrow()
    assert isinstance(table, pa.Table) and table.num_rows >= 1 and columns <= set(table.column_names)


@pytest.mark.parametrize("question", REFUSED)
def test_a_question_without_an_answer_has_a_reason_and_a_statement_that_says_the_same(question: str) -> None:
    text, words, same = REFUSED[question]
    with pytest.raises(hush.Unsupported, match=words) as refused:
        sql(text)
    assert bool(refused.value.instead) == same
    assert not same or sql(refused.value.instead).to_arrow().num_rows >= 1


def test_a_second_month_is_charged_to_the_same_ledger(capsys: pytest.CaptureFixture[str]) -> None:
    hush.Ledger("months.ledger", epsilon=3.0, delta=1e-5).close()
    line = "answer {} --unit patient_id --count-units --ledger months.ledger --epsilon 0.2 --pure --limits-share 0"
    named = line + " --population 'patients of 2025'"
    assert [main(shlex.split(named.format(f"2025-0{month}.parquet"))) for month in (1, 2)] == [0, 0]
    assert main(shlex.split(line.format("2025-01.parquet"))) == 2
    assert "--population" in capsys.readouterr().err
    with hush.Ledger("months.ledger") as ledger:
        assert len(ledger.entries) == 2
