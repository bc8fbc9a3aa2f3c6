"""Reading a policy: every mistake of a file is found at once, each in one sentence with its place."""

from __future__ import annotations

import datetime
import math
from pathlib import Path
from typing import Any

import pyarrow as pa
import pyarrow.parquet
import pytest
from hypothesis import assume, given, settings
from hypothesis import strategies as st

import hush
from hush.errors import InvalidParameter
from hush.tables import ColumnRule, Policy, TableRule
from hush.tables.sql import statement

GOOD = """
[tables.visits]
source = "visits.parquet"
unit = "patient_id"
groups_per_unit = 3
rows_per_unit = 2
ledger = "visits.ledger"
max_epsilon = 1
max_delta = 1e-6

[tables.visits.columns]
stay_days = { low = 0, high = 30 }
day = { low = 2024-01-01, high = 2024-12-31 }
ward = { values = ["surgery", "burns"] }
region = { values = "private" }
cost = { low = "private", high = "private" }
note = { ask = false }
smoker = {}

[tables.wards]
source = "wards.csv"
public = true
"""


def written(folder: Path, text: str) -> Path:
    path = folder / "hush.toml"
    path.write_text(text, encoding="utf-8")
    return path


@pytest.fixture
def folder(tmp_path: Path) -> Path:
    """A folder with the sources and the ledger of the good policy."""
    rows = 20
    visits = pa.table(
        {
            "patient_id": range(rows),
            "month": ["2024-01"] * rows,
            "stay_days": [1.0] * rows,
            "day": [datetime.date(2024, 5, 1)] * rows,
            "ward": ["surgery"] * rows,
            "region": ["north"] * rows,
            "cost": [3.5] * rows,
            "note": ["secret"] * rows,
            "smoker": [True] * rows,
            "secret": ["x"] * rows,
        }
    )
    pyarrow.parquet.write_table(visits, tmp_path / "visits.parquet")
    (tmp_path / "wards.csv").write_text("ward,floor\nsurgery,1\nburns,2\n")
    hush.Ledger(tmp_path / "visits.ledger", epsilon=3, delta=1e-5).close()
    return tmp_path


def test_a_good_policy_is_read_as_written(folder: Path) -> None:
    policy = Policy.read(written(folder, GOOD))
    visits = policy.tables["visits"]
    assert (visits.unit, visits.groups_per_unit, visits.rows_per_unit) == ("patient_id", 3, 2)
    assert visits.column("stay_days") == ColumnRule(0, 30) and visits.column("ward").values == ("surgery", "burns")
    assert visits.column("day") == ColumnRule(datetime.date(2024, 1, 1), datetime.date(2024, 12, 31))
    assert visits.may_ask("smoker") and not visits.may_ask("note") and not visits.may_ask("patient_id")
    assert policy.mistakes() == []
    table = policy.open("visits")
    assert table.columns == ("stay_days", "day", "ward", "region", "cost", "smoker")
    assert not {"note", "secret", "patient_id"} & set(table.relation.columns)
    assert policy.lookup("wards").columns == ("ward", "floor")
    with policy.ledger("visits") as ledger:
        assert ledger.path == folder / "visits.ledger"
    assert policy.ledger("wards") is None


def test_the_text_reads_back(folder: Path) -> None:
    policy = Policy.read(written(folder, GOOD))
    assert Policy.read(written(folder, policy.text())) == policy


names = st.text(min_size=1, max_size=6).filter(lambda name: name.strip() and name.isprintable())
finite = st.floats(allow_nan=False, allow_infinity=False) | st.integers(-(2**70), 2**70)
column_rules = st.builds(
    lambda ends, values, ask: ColumnRule(*ends, values=values, ask=ask),
    st.just((None, None))
    | st.just(("private", "private"))
    | st.tuples(finite, finite).filter(lambda pair: pair[0] != pair[1]).map(lambda pair: tuple(sorted(pair)))
    | st.tuples(st.dates(), st.dates()).filter(lambda pair: pair[0] < pair[1]),
    st.none() | st.just("private") | st.lists(st.text(max_size=5), min_size=1, max_size=4, unique=True).map(tuple),
    st.booleans(),
)


@settings(max_examples=100, deadline=None)
@given(
    tables=st.dictionaries(names, st.dictionaries(names, column_rules, max_size=4), min_size=1, max_size=3),
    source=names,
    unit=names | st.lists(names, min_size=2, max_size=3, unique=True).map(tuple),
    limits=st.tuples(*[st.none() | st.integers(1, 9)] * 2),
)
def test_any_policy_survives_its_text(tmp_path_factory: Any, tables: Any, source: str, unit: Any, limits: Any) -> None:
    """Quotes, control characters, dates, long numbers: TOML holds them all."""
    limits = (1, 1) if unit == "row" else limits
    rules = {name: TableRule(source, None, unit, *limits, columns=columns) for name, columns in tables.items()}
    for names_of in (tables, *tables.values()):  # names that differ in case only are a mistake
        assume(len({name.casefold() for name in names_of}) == len(names_of))
    policy = Policy(rules)
    path = written(tmp_path_factory.getbasetemp(), policy.text())
    assert Policy.read(path) == policy


MISTAKES = {
    "tables.visits.sorce: is not a key of a policy; did you mean 'source'?": ("source =", "sorce ="),
    "tables.visits.source: is missing": ('source = "visits.parquet"\n', ""),
    "tables.visits.source: must be text, got 3": ('source = "visits.parquet"', "source = 3"),
    "tables.visits.unit: is missing": ('unit = "patient_id"\n', ""),
    "tables.visits.unit: must be names of columns, got a list of 1": ('unit = "patient_id"', "unit = [3]"),
    "tables.visits.unit: must be names of columns, got a list of 0": ('unit = "patient_id"', "unit = []"),
    "tables.visits.unit: names a column twice, at place 1 and place 2": ('unit = "patient_id"', 'unit = ["a", "a"]'),
    "tables.visits.unit: must be the name of a column, a list of names or 'row', got 5": (
        'unit = "patient_id"',
        "unit = 5",
    ),
    'tables.visits.groups_per_unit: must be a whole number, 1 or greater, or "private", got 0': (
        "groups_per_unit = 3",
        "groups_per_unit = 0",
    ),
    "tables.visits.groups_per_unit: is 1 where each row is a person": ('unit = "patient_id"', 'unit = "row"'),
    'tables.visits.rows_per_unit: must be a whole number, 1 or greater, or "private", got 2.5': (
        "rows_per_unit = 2",
        "rows_per_unit = 2.5",
    ),
    'tables.visits.rows_per_unit: must be a whole number, 1 or greater, or "private", got True': (
        "rows_per_unit = 2",
        "rows_per_unit = true",
    ),
    "tables.visits.ledger: must be text, got 3": ('ledger = "visits.ledger"', "ledger = 3"),
    "tables.visits.max_epsilon: must be greater than 0 and at most 1e+06, got -1": (
        "max_epsilon = 1",
        "max_epsilon = -1",
    ),
    "tables.visits.max_epsilon: must be greater than 0 and at most 1e+06, got nan": (
        "max_epsilon = 1",
        "max_epsilon = nan",
    ),
    "tables.visits.max_delta: must be from 0 to below 1, got 1.5": ("max_delta = 1e-6", "max_delta = 1.5"),
    "tables.visits.columns.stay_days.lo: is not a key of a policy; did you mean 'low'?": ("{ low = 0,", "{ lo = 0,"),
    "tables.visits.columns.stay_days.low: is missing": ("{ low = 0, high", "{ high"),
    "tables.visits.columns.stay_days.high: is missing": ("{ low = 0, high = 30 }", "{ low = 0 }"),
    "tables.visits.columns.stay_days.low: low is 30 and high is 0": ("low = 0, high = 30", "low = 30, high = 0"),
    "tables.visits.columns.stay_days.low: low and high are both 4": ("low = 0, high = 30", "low = 4, high = 4"),
    "tables.visits.columns.stay_days.low: must be a finite number, got nan": (
        "low = 0, high = 30",
        "low = nan, high = 3",
    ),
    "tables.visits.columns.stay_days.high: must be a finite number, got inf": (
        "low = 0, high = 30",
        "low = 0, high = inf",
    ),
    "tables.visits.columns.stay_days.low: must be a number, a date or 'private', got True": (
        "low = 0, high = 30",
        "low = true, high = 3",
    ),
    "tables.visits.columns.stay_days.low: must be a number, a date or 'private', got 'privat'; did you mean": (
        "low = 0, high = 30",
        'low = "privat", high = "private"',
    ),
    "tables.visits.columns.stay_days.low: low and high are found together": (
        "low = 0, high = 30",
        'low = "private", high = 3',
    ),
    "tables.visits.columns.stay_days.low: low and high must both be numbers or both be dates": (
        "low = 0, high = 30",
        "low = 2024-01-01, high = 3",
    ),
    "tables.visits.columns.stay_days.high: must be a number, a date or 'private', got datetime": (
        "low = 0, high = 30",
        "low = 0, high = 2024-01-01T00:00:00",
    ),
    "tables.visits.columns.stay_days: must be a table, got 3": ("stay_days = { low = 0, high = 30 }", "stay_days = 3"),
    "tables.visits.columns.ward.values: is empty": ('["surgery", "burns"]', "[]"),
    "tables.visits.columns.ward.values: lists a value twice, at place 1 and place 2": ('["surgery",', '["burns",'),
    "tables.visits.columns.ward.values: must be of one kind, got text and whole numbers": ('["surgery",', "[3,"),
    "tables.visits.columns.ward.values: must be text, whole numbers, dates or truth values, got a float": (
        '["surgery",',
        "[1.5,",
    ),
    "tables.visits.columns.ward.values: must be a list or 'private', got 'prvate'; did you mean 'private'?": (
        '["surgery", "burns"]',
        '"prvate"',
    ),
    "tables.visits.columns.ward.values: must be a list or 'private', got a number": ('["surgery", "burns"]', "3"),
    "tables.visits.columns.note.ask: must be true or false, got 'no'": ("ask = false", 'ask = "no"'),
    "tables.visits.columns.Ward: differs from 'ward' in case only": ("region =", "Ward ="),
    "tables.wards.unit: a public table has no unit": ("public = true", 'public = true\nunit = "ward"'),
    "tables.wards.public: must be true or false, got 'yes'": ("public = true", 'public = "yes"'),
    "tabels: is not a key of a policy; did you mean 'tables'?": ("[tables.wards]", "[tabels.wards]"),
    "tables.visits: must be a table; write [tables.visits]": (GOOD, "[tables]\nvisits = 3"),
    "tables: is empty": (GOOD, ""),
    "is not TOML": ("[tables.visits]", "[tables.visits"),
}


@pytest.mark.parametrize("said", MISTAKES)
def test_every_mistake_has_a_place_and_a_sentence(tmp_path: Path, said: str) -> None:
    old, new = MISTAKES[said]
    assert old in GOOD
    with pytest.raises(InvalidParameter) as caught:
        Policy.read(written(tmp_path, GOOD.replace(old, new, 1)))
    assert said in str(caught.value)
    assert all(line.endswith((".", "?", ":")) for line in str(caught.value).splitlines())


def test_all_mistakes_are_listed_at_once(tmp_path: Path) -> None:
    bad = GOOD.replace("low = 0, high = 30", "low = 30, high = 0").replace("groups_per_unit = 3", "groups_per_unit = 0")
    bad = bad.replace("public = true", 'public = true\nledger = "x"')
    with pytest.raises(InvalidParameter) as caught:
        Policy.read(written(tmp_path, bad))
    lines = str(caught.value).splitlines()
    assert lines[0].endswith("hush.toml has 3 mistakes:") and len(lines) == 4


def test_files_that_are_no_policy(tmp_path: Path) -> None:
    with pytest.raises(InvalidParameter, match=r"there is no policy .*hush policy new"):
        Policy.read(tmp_path / "none.toml")
    with pytest.raises(InvalidParameter, match="cannot be read"):
        Policy.read(tmp_path)
    (tmp_path / "bytes.toml").write_bytes(b"\xff\xfe")
    with pytest.raises(InvalidParameter, match="not text in UTF-8"):
        Policy.read(tmp_path / "bytes.toml")


SCHEMA = {
    "tables.visits.unit: unit names the column 'patient', which the table does not have": ('"patient_id"', '"patient"'),
    "tables.visits.unit: unit must be a column of whole numbers or text, but 'cost'": ('"patient_id"', '"cost"'),
    "tables.visits.columns.regon: the source has no such column; did you mean 'region'?": ("region =", "regon ="),
    "tables.visits.columns.zzz: the source has no such column; compare it with the names in the source": (
        "region =",
        "zzz =",
    ),
    "tables.visits.columns.region.low: 'region' needs a column of numbers": ('values = "private"', "low = 0, high = 1"),
    "tables.visits.columns.day.low: must be a date such as 2024-01-31, because the column is of type date, got 3": (
        "low = 2024-01-01, high = 2024-12-31",
        "low = 3, high = 4",
    ),
    "tables.visits.columns.stay_days.low: must be a number, because the column is of type": (
        "low = 0, high = 30",
        "low = 2024-01-01, high = 2024-12-31",
    ),
    "tables.visits.columns.stay_days.values: group_by needs whole numbers": (
        "low = 0, high = 30",
        'values = "private"',
    ),
    "tables.visits.columns.ward.values: it must be text for a column of type string, got an int": (
        '["surgery", "burns"]',
        "[3, 4]",
    ),
    "tables.visits.source: source names the file": ("visits.parquet", "visit.parquet"),
    "tables.visits.ledger: there is no ledger": ("visits.ledger", "other.ledger"),
}


@pytest.mark.parametrize("said", SCHEMA)
def test_what_only_the_source_shows(folder: Path, said: str) -> None:
    old, new = SCHEMA[said]
    policy = Policy.read(written(folder, GOOD.replace(old, new, 1)))
    assert [str(mistake) for mistake in policy.mistakes() if str(mistake).startswith(said)]
    if "ledger" not in said:
        with pytest.raises(InvalidParameter):
            policy.open("visits")


def test_a_ledger_of_other_data_is_found(folder: Path) -> None:
    with hush.Ledger(folder / "visits.ledger") as ledger:
        ledger.bind("something else")
    (mistake,) = Policy.read(written(folder, GOOD)).mistakes()
    assert mistake.place == "tables.visits.ledger" and "something else" in mistake.text


def test_the_word_row(folder: Path) -> None:
    """unit = "row" is each row; a column of that name is written in a list."""
    row = GOOD.replace('unit = "patient_id"', 'unit = "row"').replace("groups_per_unit = 3\nrows_per_unit = 2\n", "")
    assert Policy.read(written(folder, row)).open("visits").whose.each_row
    pyarrow.parquet.write_table(pa.table({"row": [1, 2], "x": [1.0, 2.0]}), folder / "visits.parquet")
    short = '[tables.visits]\nsource = "visits.parquet"\nunit = {}\n'
    (mistake,) = Policy.read(written(folder, short.format('"row"'))).mistakes()
    assert "write unit = [" in mistake.text
    assert Policy.read(written(folder, short.format('["row"]'))).open("visits").whose.columns == ("row",)


def test_a_policy_in_python_is_checked_alike() -> None:
    frame = pa.table({"who": [1, 2], "x": [1.0, 2.0], "y": [1.0, 2.0]})
    policy = Policy({"t": TableRule(frame, unit="who", columns={"x": ColumnRule(0, 5)})})
    assert policy.open("t").columns == ("x",) and policy.mistakes() == []
    assert hush.tables.table("t", policy=policy).columns == ("x",)
    with pytest.raises(InvalidParameter, match="a file cannot hold"):
        policy.text()
    for bad, words in (
        ({"t": 3}, "must be a TableRule"),
        ({}, "at least one table"),
        ({"t": TableRule(frame, unit="who", columns={"x": ColumnRule(math.nan, 5)})}, "t.columns.x.low"),
        ({"t": TableRule(frame, unit="who", columns={"x": 5})}, "must be a ColumnRule"),
        ({"t": TableRule(None, unit="who")}, "t.source: is missing"),
    ):
        with pytest.raises(InvalidParameter, match=words):
            Policy(bad)
    with pytest.raises(InvalidParameter, match="the policy declares unit"):
        hush.tables.table("t", policy=policy, unit="x")


def test_bounds_of_dates_of_a_column_of_times_list_its_months() -> None:
    """A statement that groups by month needs no delta to find the months."""
    times = pa.array([datetime.datetime(2024, 1, 31, 23, 59)] * 5, pa.timestamp("us"))
    visits = pa.table({"patient_id": range(5), "seen": times})
    bounds = ColumnRule(low=datetime.date(2024, 1, 1), high=datetime.date(2024, 12, 31))
    rule = TableRule(visits, unit="patient_id", groups_per_unit=2, rows_per_unit=1, columns={"seen": bounds})
    policy = Policy({"visits": rule})
    assert policy.mistakes() == []
    asked = statement("SELECT DATE_TRUNC('month', seen) AS month, COUNT(*) AS n FROM visits GROUP BY 1", policy)
    assert asked.query.grouping.keys is not None and len(asked.query.grouping.keys) == 12
    assert asked.query.aggregates().to_arrow().to_pydict()["n"] == [5] + 11 * [0]


def test_how_a_file_of_text_is_read(folder: Path) -> None:
    """The types are those of bounds and values, or declared; the dialect is a key of the table."""
    (folder / "stays.csv").write_text("1;3,5;31.1.2024;2;a;x\n", encoding="utf-8")
    text = """
[tables.stays]
source = "stays.csv"
unit = "who"
groups_per_unit = 1
csv = { delimiter = ";", decimal = ",", dates = "%d.%m.%Y", names = ["who", "cost", "day", "level", "ward", "note"] }

[tables.stays.columns]
cost = { low = 0, high = 9 }
day = { low = 2024-01-01, high = 2024-12-31 }
level = { values = [1, 2] }
ward = { values = ["a", "b"] }
note = { type = "boolean" }
"""
    policy = Policy.read(written(folder, text))
    assert policy.mistakes() == [] and Policy.read(written(folder, policy.text())) == policy
    opened = policy.open("stays").relation
    kinds = [str(opened[name].type()) for name in ("cost", "day", "level", "ward", "note")]
    assert kinds == ["float64", "date", "int64", "string", "boolean"]
    row = opened.to_pyarrow().to_pylist()[0]
    assert (row["cost"], row["day"], row["level"], row["note"]) == (3.5, datetime.date(2024, 1, 31), 2, None)
    for old, new, words in (
        ('type = "boolean"', 'type = "bool"', "tables.stays.columns.note.type: must be one of"),
        ("delimiter =", "separator =", "tables.stays.csv: an option of csv must be one of"),
    ):
        found = [str(mistake) for mistake in Policy.mistakes_of(written(folder, text.replace(old, new)))]
        assert any(one.startswith(words) for one in found), found
