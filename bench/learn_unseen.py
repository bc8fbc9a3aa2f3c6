"""Eleven tasks on six tables that had no part in the choice of hush's constants, or of those of its rivals.

Two of the tables (German patients, New York flights) were used with other targets for the settings of three and more
classes. The public ranges are round numbers that somebody who knows the subject, but not the data, would write: a
working life is 16 to 70 years of age, a domestic flight is shorter than 5,000 miles, a film has between 0.5 and 5
stars. Where a target has no natural end, the range is a cap that a user might choose, and targets beyond it are moved
to it, in the rows of the test too.
"""

from __future__ import annotations

import csv
import gzip
import re
from collections.abc import Callable, Mapping, Sequence
from pathlib import Path

import numpy as np
from hush_papers.flipped_huber.learning_data import LearningSet

__all__ = ["NAMES", "unseen_set"]

MOST = 20_000  # rows of a set: a random sample of a larger table, always the same one
YES_OR_NO = (0.0, 1.0)
Row = Mapping[str, str]
Pair = tuple[float, float]
Column = tuple[Pair, Callable[[Row], float]]


def _rows(path: Path) -> list[dict[str, str]]:
    with gzip.open(path, "rt") if path.suffix == ".gz" else path.open() as file:
        return list(csv.DictReader(file))


def _number(name: str, low: float, high: float) -> Column:
    return (low, high), lambda row: float(row[name])


def _is(name: str, value: str) -> Column:
    return YES_OR_NO, lambda row: float(row[name] == value)


def _made(name: str, rows: Sequence[Row], columns: Sequence[Column], target: Column, *, classes: bool) -> LearningSet:
    """A task with two classes, or with a target that is moved into its range."""
    kept = np.random.default_rng(0).permutation(len(rows))[:MOST]
    X = np.array([[value(rows[place]) for _, value in columns] for place in kept])
    y = np.clip([target[1](rows[place]) for place in kept], *target[0])
    bounds = tuple(pair for pair, _ in columns)
    return LearningSet(name, X, y, classes, bounds, None if classes else target[0], ("l2", 0.0))


#: of working age, 7 to 20 years at school, a monthly net income in thousands of marks, visits to a doctor in three
#: months and to a hospital in a year
_PATIENT = {
    **{name: _number(name, *YES_OR_NO) for name in ("female", "married", "kids", "outwork", "self")},
    **{"age": _number("age", 16.0, 70.0), "educ": _number("educ", 7.0, 20.0)},
    **{"hhninc": _number("hhninc", 0.0, 15.0), "docvis": _number("docvis", 0.0, 20.0)},
    "hospvis": _number("hospvis", 0.0, 10.0),
}


def _patients(folder: Path, target: str) -> LearningSet:
    columns = [column for name, column in _PATIENT.items() if name != target]
    titles = {"docvis": "Visits to a doctor", "hhninc": "Income of patients", "outwork": "Patients out of work"}
    return _made(titles[target], _rows(folder / "rwm5yr.csv"), columns, _PATIENT[target], classes=target == "outwork")


def _flights(folder: Path, *, late: bool) -> LearningSet:
    """The delay at arrival, of one hour early to three hours late, from what is known at departure; or whether it is
    above 15 minutes, from the plan of the flight.
    """
    rows = [row for row in _rows(folder / "nycflights13_flights.csv.gz") if row["arr_delay"] not in ("", "NA")]
    columns = [_number("month", 1.0, 12.0), _number("day", 1.0, 31.0), _number("hour", 0.0, 24.0)]
    columns += [_number("distance", 0.0, 5000.0), _is("origin", "EWR"), _is("origin", "JFK")]
    columns += [_is("carrier", code) for code in ("AA", "B6", "DL", "EV", "MQ", "UA", "US", "WN")]
    if late:
        target: Column = (YES_OR_NO, lambda row: float(float(row["arr_delay"]) > 15.0))
        return _made("Late flights", rows, columns, target, classes=True)
    columns.append(_number("dep_delay", -60.0, 180.0))
    return _made("Delay of flights", rows, columns, _number("arr_delay", -60.0, 180.0), classes=False)


#: adults, 16 levels of education, income up to a cap, and five of the six codes of race
_CENSUS = {
    **{"age": _number("age", 18.0, 100.0), "sex": _number("sex", *YES_OR_NO), "educ": _number("educ", 1.0, 16.0)},
    **{"income": _number("income", 0.0, 200_000.0), "married": _number("married", *YES_OR_NO)},
    **{f"race {code}": _is("race", str(code)) for code in range(1, 6)},
}


def _census(folder: Path, target: str) -> LearningSet:
    columns = [column for name, column in _CENSUS.items() if name != target]
    titles = {"income": "Income in the census", "educ": "Education in the census", "married": "Marriage in the census"}
    return _made(titles[target], _rows(folder / "PUMS.csv"), columns, _CENSUS[target], classes=target == "married")


def _restaurants(folder: Path) -> LearningSet:
    """The money that a visitor spends, up to 100 euros."""

    def hour(row: Row) -> float:
        found = re.match(r"(\d+):(\d+)([AP]M)", row["Time entered"])
        assert found is not None
        return int(found[1]) % 12 + int(found[2]) / 60.0 + 12.0 * (found[3] == "PM")

    columns: list[Column] = [((6.0, 24.0), hour), _number("Time spent (minutes)", 0.0, 180.0)]
    columns += [_is("Day", str(day)) for day in range(1, 7)]
    target = _number("Money spent (euros)", 0.0, 100.0)
    return _made("Restaurants", _rows(folder / "restaurants_week_data.csv"), columns, target, classes=False)


def _titanic(folder: Path) -> LearningSet:
    """Who survived; a fare up to 300 pounds, an age that is not known as 30."""
    age: Column = ((0.0, 90.0), lambda row: float(row["Age"] or 30.0))
    columns = [_is("Pclass", "1"), _is("Pclass", "2"), _is("Sex", "female"), age, _number("Fare", 0.0, 300.0)]
    columns += [_number("SibSp", 0.0, 8.0), _number("Parch", 0.0, 8.0), _is("Embarked", "C"), _is("Embarked", "Q")]
    return _made("Titanic", _rows(folder / "titanic.csv"), columns, _number("Survived", *YES_OR_NO), classes=True)


_GENRES = (
    *("Action", "Adventure", "Animation", "Children", "Comedy", "Crime", "Documentary", "Drama", "Fantasy"),
    *("Film-Noir", "Horror", "Musical", "Mystery", "Romance", "Sci-Fi", "Thriller", "War", "Western"),
)


def _ratings(folder: Path) -> LearningSet:
    """The stars of a film from its genres and its year."""
    films = {row["movieId"]: row for row in _rows(folder / "ml-latest-small_movies.csv")}
    rows = [row | films[row["movieId"]] for row in _rows(folder / "ml-latest-small_ratings.csv.gz")]

    def year(row: Row) -> float:
        found = re.search(r"\((\d{4})\)\s*$", row["title"])
        return float(found[1]) if found else 1990.0

    def has(genre: str) -> Column:
        return YES_OR_NO, lambda row: float(genre in row["genres"].split("|"))

    columns: list[Column] = [((1900.0, 2020.0), year), *map(has, _GENRES)]
    return _made("Stars of films", rows, columns, _number("rating", 0.5, 5.0), classes=False)


_MADE: dict[str, Callable[[Path], LearningSet]] = {
    "outwork": lambda folder: _patients(folder, "outwork"),
    "late": lambda folder: _flights(folder, late=True),
    "married": lambda folder: _census(folder, "married"),
    "titanic": _titanic,
    "docvis": lambda folder: _patients(folder, "docvis"),
    "patients": lambda folder: _patients(folder, "hhninc"),
    "delay": lambda folder: _flights(folder, late=False),
    "income": lambda folder: _census(folder, "income"),
    "educ": lambda folder: _census(folder, "educ"),
    "restaurants": _restaurants,
    "stars": _ratings,
}
#: the first four have two classes; the others are regressions
NAMES = tuple(_MADE)


def unseen_set(name: str, folder: Path) -> LearningSet:
    """One of the sets of `NAMES`."""
    return _MADE[name](folder)
