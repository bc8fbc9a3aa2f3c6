"""Group names come from the data: no terminal obeys them, no spreadsheet runs them, no page is changed by them."""

from __future__ import annotations

import pytest

pa = pytest.importorskip("pyarrow")
pytest.importorskip("ibis")

import hush  # noqa: E402
from hush.tables import count_units, table  # noqa: E402

NAMES = [
    "plain",
    "\x1b[31mred",
    "line\nguarantee: none",
    "=cmd|' /C calc'!A0",
    "+1",
    "-1+1",
    "@SUM(A1)",
    "\t=1",
    " =1",
    "\r=1",
    "\uff1d1",
    "<script>",
    "right\u202eleft",
    "a,b",
]


@pytest.fixture(scope="module")
def answer():
    rows = [(i * 1000 + j, name) for i, name in enumerate(NAMES) for j in range(200)]
    frame = pa.table({"who": [who for who, _ in rows], "name": [name for _, name in rows]})
    made = table(frame, unit="who").group_by("name", keys="private", groups_per_unit=1).aggregate(people=count_units())
    return made.plan(5.0, 1e-6, family="laplace").answer(ledger=None)


def test_all_names_are_shown(answer):
    """In memory and in Parquet a name is what it is."""
    assert sorted(answer.to_arrow().column("name").to_pylist()) == sorted(NAMES)


def test_the_terminal_gets_no_control_characters(answer):
    text = repr(answer)
    assert all(c.isprintable() or c == "\n" for c in text)
    assert "\\x1b[31mred" in text and "line\\nguarantee: none" in text and "\\u202e" in text
    assert sum(line.startswith("guarantee:") for line in text.splitlines()) == 1


def test_pages_get_no_tags(answer):
    page = answer._repr_html_()
    assert "<script>" not in page and "&lt;script&gt;" in page and "\x1b" not in page and "\u202e" not in page
    statement = hush.report.statement(answer)
    for text in (str(statement), statement.html):
        assert "\x1b" not in text and "<script>" not in text.replace("<script>/*", "")


def test_a_spreadsheet_runs_nothing(answer, tmp_path):
    """A cell that begins like a formula, after any white space, gets a ' before it; control characters are written
    out.
    """
    import csv

    answer.to_csv(tmp_path / "a.csv")
    with open(tmp_path / "a.csv", newline="", encoding="utf-8") as file:
        rows = list(csv.reader(file))
    cells = [row[0] for row in rows[1:]]
    assert len(cells) == len(NAMES) and "plain" in cells and "a,b" in cells
    assert all(c.isprintable() for cell in cells for c in cell)
    for cell in cells:
        assert cell.lstrip()[:1] not in ("=", "+", "-", "@", "\uff1d"), cell
    assert "'=cmd|' /C calc'!A0" in cells and "'+1" in cells and "' =1" in cells


def test_names_of_columns_are_escaped_too(tmp_path):
    frame = pa.table({"who": range(400), "=k": ["a"] * 400})
    made = table(frame, unit="who").group_by("=k", keys="private", groups_per_unit=1).aggregate(people=count_units())
    made.plan(5.0, 1e-6, family="laplace").answer(ledger=None).to_csv(tmp_path / "a.csv")
    assert (tmp_path / "a.csv").read_text().startswith('"\'=k"')
