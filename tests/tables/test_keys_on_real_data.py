"""How many groups of real tables are expected to be shown, from the law of the noise: no draw is made."""

from __future__ import annotations

from collections.abc import Callable
from pathlib import Path
from typing import Any

import duckdb
import numpy as np
import pytest

from hush import tables
from hush.tables import count_units
from hush.tables import sum as total

EPSILON, DELTA = 1.0, 1e-6
SALTS = (b"first salt of thirty-two bytes..", b"second salt of thirty-two bytes.")


def rows_of(statement: str) -> Any:
    with duckdb.connect() as connection:
        return connection.sql(statement).to_arrow_table()


def adult(folder: Path) -> Any:
    rows = rows_of(
        "SELECT row_number() OVER () AS id, column00::INT AS age, column12::INT AS hours, column06 AS occupation, "
        f"column03 AS education, column13 AS country FROM read_csv('{folder / 'adult.data.gz'}', header = false)"
    )
    return tables.table(rows, unit="id")


def health(folder: Path) -> Any:
    return tables.table(folder / "rwm5yr.csv", unit="id")


def flights(folder: Path) -> Any:
    text = folder / "nycflights13_flights.csv.gz"
    rows = rows_of(f"SELECT tailnum, dest, month, hour, distance FROM read_csv('{text}') WHERE tailnum <> 'NA'")
    return tables.table(rows, unit="tailnum")


def flight_numbers(folder: Path) -> Any:
    text = folder / "nycflights13_flights.csv.gz"
    rows = rows_of(f"SELECT carrier || flight AS number, tailnum FROM read_csv('{text}') WHERE tailnum <> 'NA'")
    return tables.table(rows, unit="number")


def films(folder: Path) -> Any:
    text = folder / "ml-latest-small_ratings.csv.gz"
    return tables.table(rows_of(f"SELECT userId, movieId, rating, 1.0 AS once FROM read_csv('{text}')"), unit="userId")


def expected(plan: Any) -> float:
    """The expected number of groups shown, for the groups that the keyed hash keeps; the mean of two salts."""
    spent = plan.spent
    found = []
    for salt in SALTS:
        exact = plan.query.aggregates(salt=salt, hash="portable").to_arrow().column(spent.units).to_numpy()
        found.append(float(spent.rule.chances(exact, spent.mechanisms[spent.units]).sum()))
    return float(np.mean(found))


# table, columns to group by, the most groups of a person, two further columns with their bounds, the least expected
# numbers of groups with counts alone and with these columns
COUNTS: list[tuple[Callable[[Path], Any], list[str], int, list[tuple[str, float]], float, float]] = [
    (health, ["age", "docvis"], 5, [("educ", 20.0), ("hhninc", 20.0)], 120.0, 92.0),
    (flights, ["dest", "month"], 50, [("distance", 5000.0), ("hour", 24.0)], 335.0, 275.0),
    (films, ["movieId"], 50, [("rating", 5.0), ("once", 1.0)], 9.0, 5.0),
    (adult, ["occupation", "education", "country"], 1, [("age", 100.0), ("hours", 100.0)], 155.0, 134.0),
]


@pytest.mark.exhaustive
@pytest.mark.parametrize("case", COUNTS, ids=lambda case: case[0].__name__)
def test_expected_groups_with_counts(case: Any, table_dir: Path) -> None:
    opened, names, groups, further, alone, with_columns = case
    grouped = opened(table_dir).group_by(*names, keys="private", groups_per_unit=groups)
    people = grouped.aggregate(people=count_units())
    found = expected(people.plan(EPSILON, DELTA, limits_share=0.0))
    assert found >= alone
    sums = {f"s{i}": total(name, low=0.0, high=high) for i, (name, high) in enumerate(further)}
    both = expected(grouped.aggregate(people=count_units(), **sums).plan(EPSILON, DELTA, limits_share=0.0))
    assert with_columns <= both <= found


# the least expected numbers of groups if only their existence is asked
EXISTENCE: list[tuple[Callable[[Path], Any], list[str], int, float]] = [
    (health, ["age", "docvis"], 5, 140.0),
    (flights, ["dest"], 50, 79.0),
    (flights, ["dest", "month"], 100, 405.0),
    (flight_numbers, ["tailnum"], 100, 245.0),
    (films, ["movieId"], 300, 20.0),
    (adult, ["occupation", "education", "country"], 1, 155.0),
]


@pytest.mark.exhaustive
@pytest.mark.parametrize("case", EXISTENCE, ids=lambda case: f"{case[0].__name__} {case[2]}")
def test_expected_groups_without_counts(case: Any, table_dir: Path) -> None:
    opened, names, groups, least = case
    query = opened(table_dir).group_by(*names, keys="private", groups_per_unit=groups).keys()
    assert expected(query.plan(EPSILON, DELTA)) >= least
