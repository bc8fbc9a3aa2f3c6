"""What people publish from an answer: non-negative copies, long tables, files, notebooks; and what is refused."""

from __future__ import annotations

import zipfile
from pathlib import Path

import numpy as np
import pyarrow as pa
import pytest

import hush
from hush import tables

ROWS = pa.table(
    {
        "person": np.arange(900),
        "ward": [("a & b", "=cmd()", "c_1")[n % 3] for n in range(900)],
        "year": [2024 + n % 2 for n in range(900)],
        "age": np.arange(900) % 100,
        "change": np.arange(900) % 21 - 10,
    }
)
WARDS = ["a & b", "=cmd()", "c_1"]


@pytest.fixture(scope="module")
def answer():
    grouped = tables.table(ROWS, unit="person").group_by(
        "ward", "year", keys={"ward": [*WARDS, "<b>none</b>"], "year": [2024, 2025]}, groups_per_unit=1
    )
    query = grouped.aggregate(
        people=tables.count_units(),
        rows=tables.count(rows_per_unit=2),
        ages=tables.histogram("age", edges=[0, 18, 65, 120]),
        change=tables.sum("change", low=-10, high=10),
        old=tables.mean("age", low=0, high=100),
    )
    return query.plan(1.0, 1e-6, family="gaussian", limits_share=0.0).answer(ledger=None)


def test_totals_by_key_add_up_to_the_total(answer) -> None:
    whole, by = answer.total("people"), answer.total("people", by="ward")
    assert by.to_arrow().column("ward").to_pylist() == [*WARDS, "<b>none</b>"]
    assert abs(by["people_total"].sum() - whole.value) <= 2  # each is rounded to a whole number
    assert isinstance(whole.value, int) and whole.low <= whole.value <= whole.high
    assert whole.high - whole.low < (by["people_total_high"] - by["people_total_low"]).sum()
    assert "over the 8 listed groups" in repr(whole) and answer.total("people", by=["ward", "year"])
    assert answer.total("people", level=0.5).high < whole.high
    value, low, high = whole
    assert (value, low, high) == (whole.value, whole.low, whole.high)


def test_shares_lie_between_0_and_1(answer) -> None:
    made = answer.share("people", by="year")
    assert ((made["people_share_low"] >= 0.0) & (made["people_share_high"] <= 1.0)).all()
    assert made["people_share"][:6].sum() == pytest.approx(2.0, abs=0.2) and "share of people" in repr(made)
    assert answer.receipt.get("post_processing") is None and made.receipt["post_processing"]


def test_a_ratio_whose_denominator_may_be_0_has_no_upper_end(answer) -> None:
    made = answer.ratio("rows", "people")
    assert np.isinf(made["rows_per_people_high"][6:]).any() and (made["rows_per_people_low"] >= 0.0).all()
    assert ", unbounded]" in repr(made)
    signed = answer.ratio("change", "people")
    assert (signed["change_per_people_low"] < 0.0).any()


def test_non_negative_is_a_copy_that_says_so(answer) -> None:
    made = answer.non_negative()
    assert (answer["people_low"] < 0).any() and not (made["people_low"] < 0).any()
    assert not (made["ages [0, 18)"] < 0).any() and made.to_arrow().schema.equals(answer.to_arrow().schema)
    assert (made["change_low"] == answer["change_low"]).all()  # a sum of both signs stays as it is
    assert "shown as 0" in repr(made) and "shown as 0" not in repr(answer)
    assert made.total("people").value == answer.total("people").value
    assert (answer.non_negative("people")["rows_low"] == answer["rows_low"]).all()


def test_a_long_table_has_one_row_for_each_group_and_bin(answer) -> None:
    made = answer.long("ages")
    assert made.to_arrow().column_names == ["ward", "year", "bin", "from", "to", "value", "low", "high"]
    assert len(made) == 8 * 3 and made.to_arrow().schema.field("value").type == pa.int64()
    assert made.to_arrow().column("bin").to_pylist()[:3] == ["[0, 18)", "[18, 65)", "[65, 120]"]
    assert made["value"][1] == answer["ages [18, 65)"][0] and made["to"][0] == 18.0
    every = answer.long()
    assert len(every) == 8 * 7 and every["aggregate"][0] == "people" and len(answer.long("people")) == 8
    assert "#" not in repr(every).split("guarantee")[0]  # bars would compare different aggregates


def test_categories_in_long_form() -> None:
    query = tables.table(ROWS, unit="person").aggregate(w=tables.histogram("ward", categories=WARDS))
    made = query.plan(1.0, 1e-6, family="gaussian").answer(ledger=None).long("w")
    assert made.to_arrow().column_names == ["bin", "value", "low", "high"]
    assert made.to_arrow().column("bin").to_pylist() == WARDS


BAD = [
    (lambda a: a.total("old"), "is a mean, and a total needs counts or sums"),
    (lambda a: a.total("poeple"), "no column 'poeple'; did you mean 'people'"),
    (lambda a: a.total(3), "no column 3"),
    (lambda a: a.total("people", by="month"), "no key of the answer; its keys are ward, year"),
    (lambda a: a.total("people", level=1.5), "level must be"),
    (lambda a: a.share("people", level=0), "level must be"),
    (lambda a: a.share("change"), "may be negative"),
    (lambda a: a.ratio("people", "old"), "a ratio needs counts or sums"),
    (lambda a: a.ratio("people", "people"), "twice"),
    (lambda a: a.difference("people"), "a second column or two groups"),
    (lambda a: a.difference("people", "rows", between=(1, 2)), "a second column or two groups"),
    (lambda a: a.difference("people", between=("c_1", "x")), "no group 'c_1'"),
    (lambda a: a.difference("people", between="c_1"), "between needs two groups"),
    (lambda a: a.difference("people", between=(("c_1", 2024), ("c_1", 2024))), "twice"),
    (lambda a: a.non_negative("change"), "may be negative without noise"),
    (lambda a: a.long("nothing"), "no column 'nothing'"),
    (lambda a: a.share("people").total("people_share"), "call total on the answer itself"),
    (lambda a: a.share("people").non_negative(), "call it on the answer itself"),
]


@pytest.mark.parametrize(("ask", "said"), BAD, ids=[said for _, said in BAD])
def test_bad_requests_get_one_sentence(answer, ask, said: str) -> None:
    with pytest.raises(hush.HushError, match=said):
        ask(answer)


def test_groups_that_are_not_shown_are_not_in_a_total() -> None:
    found = tables.table(ROWS, unit="person").group_by("ward", keys="private", groups_per_unit=1)
    made = found.aggregate(people=tables.count_units()).plan(1.0, 1e-6, family="gaussian").answer(ledger=None)
    assert "over the 3 released groups only: groups that are not shown are not in it" in repr(made.total("people"))
    assert "released groups only" in made.share("people").summary().replace("\n           ", " ")
    gap = made.difference("people", between=("c_1", "=cmd()"))
    assert gap.low <= 0 <= gap.high or abs(gap.value) < 60


# -- files and pages -----------------------------------------------------------------------------------------


def test_markdown_and_latex_escape_text(answer) -> None:
    text = answer.to_markdown()
    assert text.startswith("| ward | year | people |") and "c\\_1" in text and "\\<b\\>none" in text
    assert len(text.splitlines()) == 2 + 8
    made = answer.to_latex()
    assert "a \\& b" in made and "c\\_1" in made and "\\textless{}b\\textgreater{}" in made
    assert made.startswith("\\begin{tabular}{llrrrrrrr}") and made.rstrip().endswith("\\end{tabular}")


def test_an_excel_file_has_numbers_and_no_formula(answer, tmp_path) -> None:
    pytest.importorskip("xlsxwriter")
    answer.to_excel(tmp_path / "a.xlsx")
    with zipfile.ZipFile(tmp_path / "a.xlsx") as held:
        first, second = (held.read(f"xl/worksheets/sheet{n}.xml").decode() for n in (1, 2))
        strings = held.read("xl/sharedStrings.xml").decode()
    assert "<f>" not in first + second and "=cmd()" in strings and "guarantee" in strings
    assert f"<v>{answer['people'][0]}</v>" in first and "&lt;b&gt;none" in strings


def test_a_missing_library_is_named(answer, tmp_path, monkeypatch) -> None:
    import sys

    monkeypatch.setitem(sys.modules, "xlsxwriter", None)
    with pytest.raises(hush.errors.MissingExtra, match=r"pip install 'hush\[excel\]'"):
        answer.to_excel(tmp_path / "a.xlsx")
    assert not (tmp_path / "a.xlsx").exists()


def test_pages_have_bars_and_escaped_text(answer) -> None:
    page = answer._repr_html_()
    assert "<svg" in page and "<b>none" not in page and "&lt;b&gt;none" in page and "<script" not in page
    assert page.count("<svg") == len(answer) and answer.to_html().count("<tr>") >= len(answer)
    assert "<svg" in answer.share("people")._repr_html_()


def test_plans_and_ledgers_have_pages() -> None:
    table = tables.table(ROWS, unit="person").group_by("ward", keys=WARDS, groups_per_unit=2)
    plan = table.aggregate(people=tables.count_units()).plan(1.0, 1e-6, family="gaussian")
    page = plan._repr_html_()
    assert "<svg" in page and "groups per person" in page and "people" in page and "<script" not in page
    book = hush.Ledger(None, epsilon=3.0, delta=1e-5)
    plan.answer(ledger=book, label="<i>label</i>")
    shown = book._repr_html_()
    assert "<svg" in shown and "&lt;i&gt;label" in shown and "<i>" not in shown and "% is spent" in shown
    book.close()
    assert "closed" in book._repr_html_()


@pytest.mark.parametrize("name", ["answer.xls", "answer", "no/answer.xlsx"])
def test_a_workbook_needs_its_ending_and_a_folder(tmp_path: Path, name: str) -> None:
    visits = tables.table(tables.sample("visits", 100), unit="patient_id")
    answer = visits.aggregate(n=tables.count_units()).answer(1.0, 0.0, ledger=None, family="laplace", limits_share=0)
    with pytest.raises(hush.InvalidParameter, match=r"ends in \.xlsx, in a folder that exists"):
        answer.to_excel(tmp_path / name)
    assert not list(tmp_path.iterdir())


def test_a_caution_is_said_once() -> None:
    """Totals and shares of one answer have the same cautions; the receipt says each of them once."""
    from hush.tables.publish.reshape import _new_parts

    done = ["share of people in the total; over the 3 listed groups; a person counts in each"]
    found = _new_parts(["total of people: 9; over the 3 listed groups; a person counts in each", *done], done)
    assert found == ["total of people: 9"]
