"""One person is one person in every period of a stream, whatever the other rows of its files are."""

from __future__ import annotations

from decimal import Decimal
from typing import Any

import duckdb
import pandas as pd
import pyarrow as pa
import pytest

import hush
from hush.stream import people_between


def started(horizon: int = 12) -> Any:
    plan = hush.stream(horizon=horizon, appears=1).plan(8.0, 0.0)
    return plan.start(ledger=hush.Ledger(None, epsilon=8.0, delta=0.0), name="visits")


def counts(running: Any) -> list[int]:
    return [one.count for one in running._opened_secret().inputs()]


def test_one_row_does_not_rename_the_people_of_others(tmp_path):
    """An id such as 8.5, an empty one or a text does not change the texts of the other ids of a CSV file."""
    people = [f"00{i}" for i in range(20)]
    for day, more in enumerate(["", "8.5", "x", "99999999999999999999999", "1e3", "true"], 1):
        lines = "".join(f"{one},{day}\n" for one in [*people, more])
        (tmp_path / f"{day}.csv").write_text("id,day\n" + lines)
        found = people_between(tmp_path / f"{day}.csv", unit="id", column="day", first=day)
        assert set(found) - {more} == set(people) and all(isinstance(one, str) for one in found)


def test_columns_that_do_not_identify_people_are_refused():
    """pandas makes floats of whole numbers as soon as one is missing: 1 in January would be 1.0 in February."""
    days = ["2026-02-05"] * 4
    for ids in (
        [1, 2, 3, None],
        [1.5, 2.0, 3.0, 4.0],
        [Decimal("1.00"), Decimal(2), None, None],
        [True, False, None, None],
    ):
        frame = pd.DataFrame({"id": ids, "day": days})
        with pytest.raises(hush.InvalidParameter, match="whole numbers or text"):
            people_between(frame, unit="id", column="day", first="2026-02-05")


def test_a_stream_has_one_kind_of_persons():
    """1, "1" and 1.0 in turn: the second and the third are refused, in one list and over periods, and not counted."""
    running = started()
    running.add(people=[1, 2, 3])
    for people, words in (
        (["1", "2"], "must be whole numbers"),
        ([1.0], "text or a whole number"),
        ([1, "1"], "must be"),
    ):
        with pytest.raises(hush.InvalidParameter, match=words):
            running.add(people=people)
    running.add(people=[3, 4])
    assert counts(running) == [3, 1]
    other = started()
    with pytest.raises(hush.InvalidParameter, match="texts, or all of them whole numbers"):
        other.add(people=["1", 1])
    other.add(people=[])  # a list of nobody has no kind
    other.add(people=["1"])
    assert counts(other) == [0, 1]


@pytest.mark.parametrize("collation", ["", "COLLATE NOCASE"])
def test_people_are_told_apart_by_their_bytes(tmp_path, collation):
    """Under a collation DISTINCT keeps one spelling of several people: one of them would hide the others."""
    path = tmp_path / "v.duckdb"
    with duckdb.connect(str(path)) as connection:
        connection.execute(f"CREATE TABLE v (id VARCHAR {collation}, day BIGINT)")
        connection.execute("INSERT INTO v VALUES ('ann', 1), ('Ann', 1), ('ANN', 1), ('ann', 1), (NULL, 1)")
    found = people_between(path, unit="id", column="day", first=1, table="v")
    assert sorted(found) == ["ANN", "Ann", "ann"]


def test_dates_are_read_line_by_line(tmp_path):
    """Year, month, day, or the declared form: no row decides which part is the day."""
    for more in ("", "9,13/01/2024\n", "9,01/13/2024\n", "9,unknown\n"):
        (tmp_path / "s.csv").write_text("id,day\n" + "".join(f"{i},03/01/2024\n" for i in range(9)) + more)
        plain = {"unit": "id", "column": "day"}
        assert people_between(tmp_path / "s.csv", **plain, first="2024-01-03") == []
        form = {"csv": {"dates": "%d/%m/%Y"}}
        assert len(people_between(tmp_path / "s.csv", **plain, **form, first="2024-01-03")) == 9
    frame = pa.table({"id": ["a", "b"], "day": ["2024-01-03", "03/01/2024"]})
    assert people_between(frame, **plain, first="2024-01-03") == ["a"]
