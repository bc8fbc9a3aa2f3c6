"""CSV and JSON files: one line never decides how the other lines are read, and no error has a text of a file."""

from __future__ import annotations

import gzip
import json
import re
from collections import Counter
from pathlib import Path
from typing import Any

import numpy as np
import pyarrow as pa
import pytest
from effort import examples

import hush
from hush.cli import main
from hush.errors import HushError, InvalidParameter
from hush.tables import count_units, each_row, linked, mean, public, table
from hush.tables import sum as total
from hush.tables.source import from_file, own_connection

ROWS = [(f"{i}", f"ward {i % 3}", f"{i % 90}", f"2024-{1 + i % 12:02d}-{1 + i % 28:02d}") for i in range(60)]
LINES = [",".join(row).encode() for row in ROWS]
NAMES = ("id", "ward", "age", "day")
HEADER = ",".join(NAMES).encode()
SECRET = "Jane Doe"

# fmt: off
#: What one line may be: broken quotes, other delimiters, headers, types, dates, bytes, lengths, encodings.
HOSTILE = [
    *(b'9,"w,1,2', b'9,"w" x,1,2', b'"', b'""', b'"9","w","1","2024-01-01"', b"9,'w,1',1,2", b'9,w"1,2,3', b'"' * 99),
    *(b"9;w;1;2", b"9\tw\t1\t2", b"9|w|1|2", b",,,", b",,,,,,,", b"9,w,1", b"9,w,1,2,3,4", b"a;b;c;d;e", b"", b"   "),
    *(HEADER, b"id,ward,age,x", b"id,ward,age,day,x", b"ID,WARD,AGE,DAY", b"1,2", b"x,y,z,w,v", b"#9,w,1,2", b"\\"),
    *(
        b"p9,w,abc,unknown",
        b"9.5,w,1e400,2024-13-45",
        b"99999999999999999999,w,0x1B,13/01/2024",
        b"true,w,true,01/13/2024",
    ),
    *(
        b"9,w,nan,infinity",
        b"NULL,NULL,NULL,NULL",
        b"-0,w,+7,2024-01-05 10:00:00",
        b"007,w,1_000,5/5/2024",
        b"9,w,\xd9\xa3,2",
    ),
    *(
        b"9,\xff\xfe,1,2",
        b"9,\x00w,1,2",
        b"\xef\xbb\xbf9,w,1,2",
        b"9,\xc3,1,2",
        b"9,w\r,1,2",
        b"9,w,1,2\r",
        b"9,\xe9,1,2",
    ),
    *(
        b"9," + b"w" * 3_000_000 + b",1,2",
        b"9,w,1," + b"1" * 400,
        b"," * 100_000,
        b"\x01\x02\x03\x04",
        b"9,\xed\xa0\x80,1,2",
    ),
    *(
        "9,w,1,2".encode("utf-16"),
        "9,w\u2028,1,2".encode(),
        "9,\ufffd,1,2".encode(),
        b"9,w\x1a,1,2",
        b"\x1f\x8b\x08,w,1,2",
    ),
]
PIECES = [
    b'"',
    b",",
    b";",
    b"\t",
    b"9",
    b"a",
    b"\xff",
    b"\x00",
    b"\r",
    b"'",
    b"\\",
    b" ",
    b"2024-01-01",
    HEADER,
    b"\xc3\xa9",
]
# fmt: on


def hostile(number: int) -> list[bytes]:
    """That many lines: those of the list, and random ones."""
    draw = np.random.default_rng(5)
    made = [b"".join(PIECES[i] for i in draw.integers(0, len(PIECES), draw.integers(1, 9))) for _ in range(number)]
    return (HOSTILE + made)[:number]


def rows_of(path: Path, backend: Any = None, **reading: Any) -> Counter[tuple[Any, ...]]:
    relation = from_file(str(path), None, backend, reading=(reading.get("types"), reading.get("csv"), ())).relation
    return Counter(map(tuple, relation.to_pyarrow().to_pandas().itertuples(index=False, name=None)))


def test_one_line_never_changes_how_other_lines_are_read(tmp_path):
    """One line of a good file is replaced: every other row is the same, value by value, with and without types.

    The exhaustive form has 500 files.
    """
    backend, draw = own_connection(), np.random.default_rng(7)
    types = {"id": "text", "age": "whole", "ward": "text"}
    for i, line in enumerate(hostile(examples(90, 500))):
        place = int(draw.integers(len(LINES)))
        end = (b"\n", b"\r\n")[i % 2]
        path = tmp_path / "visits.csv"
        path.write_bytes(end.join([HEADER, *LINES[:place], line, *LINES[place + 1 :]]) + end)
        kept = Counter(row for j, row in enumerate(ROWS) if j != place)
        assert not kept - rows_of(path, backend), (i, line[:60])
        typed = Counter({(a, b, int(c), d): n for (a, b, c, d), n in kept.items()})
        found = rows_of(path, backend, types=types)
        assert not typed - Counter({tuple(None if v != v else v for v in row): n for row, n in found.items()}), line[
            :60
        ]


def test_one_line_moves_integers_by_one_person(tmp_path):
    """The counts of people and the sums of a question differ by the changed line alone."""

    def asked(lines: list[bytes]) -> dict[str, list[int]]:
        path = tmp_path / "visits.csv"
        path.write_bytes(b"\n".join([HEADER, *lines]) + b"\n")
        grouped = table(path, unit="id").group_by("ward", keys=["ward 0", "ward 1", "ward 2"], groups_per_unit=1)
        query = grouped.aggregate(n=count_units(), s=total("age", low=0, high=100, rows_per_unit=1))
        found: dict[str, list[int]] = query.aggregates(salt=bytes(16)).to_arrow().to_pydict()
        return found

    plain = asked(LINES)
    for line in HOSTILE[: examples(8, len(HOSTILE))]:
        assert asked([*LINES, line]) == plain, line[:60]  # no hostile line names a ward of the list
    assert asked([*LINES, b'"99","ward 1","50",'])["n"] == [20, 21, 20]


def test_the_first_line_is_the_header_whatever_follows(tmp_path):
    """A later line with more fields is no header, and dates are year, month, day, whatever other rows hold."""
    path = tmp_path / "days.csv"
    path.write_text("id,day\n" + "".join(f"{i},0{1 + i % 3}/01/2024\n" for i in range(9)) + "13/01/2024,x\nid,day,x\n")
    opened = table(path, unit="id", types={"day": "date"})
    assert opened.columns == ("id", "day") and set(opened.relation.to_pyarrow()["day"].to_pylist()) == {None}
    first = table(path, unit="id", types={"day": "date"}, csv={"dates": "%d/%m/%Y"})
    assert {str(d) for d in first.relation.to_pyarrow()["day"].to_pylist() if d} == {
        "2024-01-01",
        "2024-01-02",
        "2024-01-03",
    }


@pytest.mark.parametrize(
    "text",
    [
        f"{SECRET},oncology,HIV\nAnn,burns,flu\n",
        f"1,{SECRET},x\n" * 9,
        f'"{SECRET},x\n1,2\n',
        f"{SECRET},{SECRET.lower()},x\n1,2,3\n",
        f"a,b\n1,{SECRET}\n",
    ],
)
def test_an_error_never_lists_names_that_came_from_rows(tmp_path, capsys, text):
    """A file without a line of names: its first line is a person's row."""
    path = tmp_path / "visits.csv"
    path.write_text(text)
    calls = [
        lambda: table(path, unit="id"),
        lambda: table(path, unit=["id", "month"]),
        lambda: table(path, unit=each_row).group_by("ward", keys=["a"], groups_per_unit=1),
        lambda: table(path, unit=each_row).aggregate(m=mean("age", low=0, high=1)).plan(1.0, 0.0),
        lambda: table(path, unit=each_row).filter(lambda t: t.age > 3),
        lambda: table(path, unit=each_row).mutate(x=lambda t: t["age"]),
        lambda: hush.stream.people_between(path, unit="id", column="day", first="2024-01-01"),
    ]
    for call in calls:
        with pytest.raises(HushError) as caught:
            call()
        assert not any(word in str(caught.value).lower() for word in ("jane", "oncology", "hiv")), str(caught.value)
    assert main(["answer", str(path), "--unit", "id", "--count-units", "--epsilon", "1", "--delta", "1e-6"]) == 2
    assert "jane" not in capsys.readouterr().err.lower()


def test_what_is_wrong_with_a_first_line(tmp_path):
    path = tmp_path / "a.csv"
    for content, words in (
        (b"", "is empty"),
        (b"\nid\n1\n", "begins with an empty line"),
        ("id,größe\n1,2\n".encode("latin-1"), "csv={'encoding': 'cp1252'}"),
        ("id,x\n".encode("utf-16"), "encoding"),
        (b"id,x,ID\n1,2,3\n", "names a column twice"),
        (b'id,"x\n1,2\n', "a quote that is not closed"),
        (b"id;age\n1;2\n", "csv={'delimiter': ';'}"),
        (b"ID,age\n1,2\n", "did you mean 'ID'"),
        (b"ad,age\n1,2\n", "csv={'names': [...]}"),
    ):
        path.write_bytes(content)
        with pytest.raises(InvalidParameter) as caught:
            table(path, unit="id")
        assert words in str(caught.value)


def test_the_options_of_a_csv_file(tmp_path):
    path = tmp_path / "a.csv"
    path.write_bytes("7;'größe; x';3,5;31.1.2024;ja\n8;'it''s';-1e2;1.12.2023;1\n".encode("cp1252"))
    csv = {"delimiter": ";", "quote": "'", "encoding": "cp1252", "decimal": ",", "dates": "%d.%m.%Y"}
    csv["names"] = ["id", "text", "x", "day", "ok"]
    kinds = {"id": "whole", "x": "number", "day": "date", "ok": "boolean"}
    found = table(path, unit="id", types=kinds, csv=csv).relation.to_pyarrow().to_pydict()
    assert found["id"] == [7, 8] and found["text"] == ["größe; x", "it's"] and found["x"] == [3.5, -100.0]
    assert [str(day) for day in found["day"]] == ["2024-01-31", "2023-12-01"] and found["ok"] == [None, True]
    # the same without types: the question says them
    t = table(path, unit="id", csv=csv)
    query = t.aggregate(s=total("x", low=-200, high=200, rows_per_unit=1))
    assert str(query.table.relation["x"].type()) == "float64"
    for wrong, words in (
        ({"delimiter": "ab"}, "delimiter must be one character"),
        ({"encoding": "utf-16"}, "one byte for each character"),
        ({"encoding": "klingon"}, "one byte for each character"),
        ({"decimal": ";"}, "decimal must be one of"),
        ({"dates": "%Y"}, "dates must be a form"),
        ({"names": ["a", "A"]}, "twice"),
        ({"separator": ";"}, "an option of csv must be one of"),
        ({"delimiter": "'", "quote": "'"}, "must differ"),
    ):
        with pytest.raises(InvalidParameter, match=words):
            table(path, unit="id", csv=wrong)
    with pytest.raises(InvalidParameter, match="a type of types must be one of"):
        table(path, unit="id", types={"x": "float"})


def test_types_are_those_of_the_question(tmp_path):
    """Bounds of numbers mean numbers, bounds of dates dates, listed keys what they are; a column has one type."""
    path = tmp_path / "a.csv"
    path.write_text("id,age,day,year\n1,30,2024-01-05,2024\n2,NA,2024-02-05 10:00:00,2025\n")
    t = table(path, unit="id")
    query = t.group_by("year", keys=[2024, 2025], groups_per_unit=1).aggregate(a=mean("age", low=0, high=100))
    assert [str(query.table.relation[name].type()) for name in ("year", "age", "day")] == ["int64", "float64", "string"]
    assert query.aggregates().to_arrow()["a.count"].to_pylist() == [1, 0]
    ranges = t.ranges("age", edges=[0, 50, 100])
    assert str(ranges.table.relation["age"].type()) == "float64"
    assert str(t.boxes(edges={"age": [0, 9]}, keys={"year": [2024]}).table.relation["year"].type()) == "int64"
    with pytest.raises(InvalidParameter, match="values of two types"):
        t.group_by("age", keys="private", groups_per_unit=1).aggregate(a=mean("age", low=0, high=100))
    times = table(path, unit="id", types={"day": "time"}).relation.to_pyarrow()["day"].to_pylist()
    assert [str(time) for time in times] == ["2024-01-05 00:00:00", "2024-02-05 10:00:00"]
    with pytest.raises(InvalidParameter, match="types is for CSV and JSON files"):
        table(pa.table({"id": [1]}), unit="id", types={"id": "text"})


def test_files_of_one_table_have_one_header(tmp_path):
    (tmp_path / "a.csv").write_text("id,age\n1,2\n")
    (tmp_path / "b.csv").write_text('"id","age"\n3,4\n')
    assert table(tmp_path, unit="id").relation.to_pyarrow().num_rows == 2
    (tmp_path / "c.csv").write_text("age,id\n3,4\n")
    with pytest.raises(InvalidParameter, match="have different first lines"):
        table(tmp_path, unit="id")


def test_tables_beside_a_table_have_types_too(tmp_path):
    (tmp_path / "lines.csv").write_text("order,amount\n1,5\n2,7\n9,1\n")
    (tmp_path / "wards.csv").write_text("ward,floor\n1,3\n")
    orders = table(pa.table({"person": [1, 2], "order": [1, 2]}), unit="person")
    lines = linked(tmp_path / "lines.csv", to=orders, on="order", types={"order": "whole"})
    assert lines.aggregate(s=total("amount", low=0, high=9, rows_per_unit=1)).aggregates().to_arrow().num_rows == 1
    wards = public(tmp_path / "wards.csv", types={"ward": "whole"})
    assert orders.join(wards, on={"order": "ward"}).columns == ("person", "order", "ward", "floor")


# -- JSON ----------------------------------------------------------------------------------------------------


def test_no_line_of_json_decides_about_others(tmp_path):
    good = [json.dumps({"id": i, "x": i / 2, "w": f"w{i % 3}"}) for i in range(40)]
    bad = [
        '{"id": 7.5, "x": "a"}',
        '{"id": {"a": 1}}',
        "{",
        "[" * 5000,
        "[1]",
        "7",
        '{"y": 1}',
        '"',
        "",
        "null",
        '{"id": 1, "x',
        '{"id": "\\u0000"}',
        '{"id": "\\ud800"}',
        '{"x": 1e999}',
        '{"id": [1, 2]}',
        "\x00",
        '{"x": 1}{"x": 2}',
    ]
    backend, kinds = own_connection(), {"id": "text", "x": "number"}
    for line in bad:
        path = tmp_path / "a.jsonl"
        path.write_text("\n".join([*good[:20], line, *good[20:]]) + "\n")
        found = rows_of(path, backend, types=kinds)
        assert not Counter((str(i), i / 2) for i in range(40)) - found, line[:20]
    for content, ending in ((json.dumps([json.loads(line) for line in good]), "json"), ("\n".join(good), "json.gz")):
        path = tmp_path / f"b.{ending}"
        path.write_bytes(gzip.compress(content.encode()) if ending.endswith("gz") else content.encode())
        assert rows_of(path, backend, types=kinds) == Counter((str(i), i / 2) for i in range(40))
    path.write_text(f'[{{"id": 1}}, {{"id": "{SECRET}')
    (tmp_path / "c.json").write_text(f'[{{"id": 1}}, {{"id": "{SECRET}')
    with pytest.raises(InvalidParameter, match="write one object in each line") as caught:
        table(tmp_path / "c.json", unit="id")
    assert SECRET not in str(caught.value) and caught.value.__context__ is None
    with pytest.raises(InvalidParameter, match="its columns must be declared"):
        table(tmp_path / "a.jsonl", unit=each_row)


# -- the command line ----------------------------------------------------------------------------------------


BUDGET = ["--count-units", "--epsilon", "50", "--delta", "1e-6", "--family", "laplace", "--json"]


@pytest.mark.parametrize("ending", ["csv", "jsonl"])
def test_the_options_say_what_columns_are(tmp_path, capsys, ending):
    """A comparison with a number is one of numbers: as texts, "9" would be at least "65"."""
    path = tmp_path / f"visits.{ending}"
    rows = [{"id": i, "age": age, "day": f"2024-0{1 + i % 3}-05"} for i, age in enumerate([9, 64, 65, 100, 7] * 40)]
    texts = ["id,age,day", *(",".join(map(str, row.values())) for row in rows)]
    path.write_text("\n".join(texts if ending == "csv" else map(json.dumps, rows)) + "\n")

    def people(*flags: str) -> Any:
        assert main(["answer", str(path), "--unit", "id", *flags, *BUDGET]) == 0
        return json.loads(capsys.readouterr().out)

    for flags, right in (
        (["--where", "age>=65"], 80),
        (["--where", "age BETWEEN 8 AND 65"], 120),
        (["--type", "age=whole", "--where", "age==9"], 40),
        (["--let", "m=month(day)", "--where", "m < 2"], 67),
    ):
        text = json.dumps(people(*flags))
        found = map(float, re.findall(r'"units": (-?[0-9.]+)', text))
        assert any(abs(value - right) <= 2 for value in found), text


def test_the_command_line_names_its_options(tmp_path, capsys):
    path = tmp_path / "a.csv"
    for text, words in (
        ('"id";"age"\n', "--csv 'delimiter=;'"),
        ("id;age\n", "--csv 'delimiter=;'"),
        ("x,age\n", "--csv 'names=a,b'"),
    ):
        path.write_text(text + "1;2\n")
        assert main(["answer", str(path), "--unit", "id", *BUDGET]) == 2
        assert words in capsys.readouterr().err
