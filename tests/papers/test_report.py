"""The frame of the report: verdicts follow from printed digits, pages are whole and accessible, files are written."""

from __future__ import annotations

import csv
import math
import re

import pytest

from hush.errors import InvalidParameter
from hush.papers.item import CONFIRMED, CORRECTED, Context, Figure, Grid, HeatMap, Item, Paper, Series, compare
from hush.papers.page import write


@pytest.mark.parametrize(
    ("printed", "ours", "verdict"),
    [
        ("0.94", 0.936626, CONFIRMED),
        ("7.8e-12", 7.84736e-12, CONFIRMED),
        ("400", 398.2175, CORRECTED),
        ("0.3325", 0.325525, CORRECTED),
        ("1.5", 1.55, CONFIRMED),  # half a unit still rounds to it
        ("1.5", 1.5501, CORRECTED),
        ("-13.35", -13.35234, CONFIRMED),
    ],
)
def test_verdict_by_printed_digits(printed, ours, verdict):
    why = "" if verdict == CONFIRMED else "a slip"
    assert compare("x", printed, ours, function="hush.delta", why=why).verdict == verdict


def test_a_correction_needs_a_reason_and_a_number_a_form():
    with pytest.raises(InvalidParameter, match="needs a sentence why"):
        compare("x", "2.0", 3.0, function="hush.delta")
    with pytest.raises(InvalidParameter, match="as printed"):
        compare("x", "1.2.3e", 3.0, function="hush.delta", why="-")


def _paper() -> Paper:
    line = Figure(
        "fig-a",
        "Growth",
        "time (s)",
        "size",
        (Series("one", [1, 2, 3], [1, 4, 9]), Series("two", [1, 2], [2, 3])),
        "two curves",
        log_y=True,
    )
    heat = HeatMap("fig-b", "Ratio", "epsilon", "delta", "ratio", [1.0, 2.0], [0.1, 0.2], [[1.0, 2.0], [3.0, 4.0]], "four cells")
    done = compare("size < 3 & more", "1.5", 1.5, function="hush.delta")
    item = Item("item-a", "Fig. 1", "A <figure>", "First.\n\nSecond.", (done,), (line, heat), (Grid("cells", ("a", "b"), ((1.0, "x"),)),))
    return Paper("p", "A paper", "Somebody (2020)", (lambda context: item,))


def test_page_is_whole(tmp_path):
    paper = _paper()
    path = write([(paper, list(paper.made(Context())))], tmp_path / "out")
    text = path.read_text()
    assert not re.search(r'(?:src|href)="(?!data:|#)', text), "the page must need nothing else"
    assert text.count("<img") == 2 and 'alt="two curves"' in text and 'alt="four cells"' in text
    assert text.count("<caption>") == text.count("<table>") and 'scope="col"' in text and 'scope="row"' in text
    assert "size &lt; 3 &amp; more" in text and "A &lt;figure&gt;" in text
    with (path.parent / "comparisons.csv").open() as file:
        rows = list(csv.DictReader(file))
    assert [row["verdict"] for row in rows] == [CONFIRMED] and float(rows[0]["relative difference"]) == 0.0
    assert (path.parent / "fig-a.png").stat().st_size > 5000 and (path.parent / "fig-b.png").stat().st_size > 5000
    with (path.parent / "fig-a.csv").open() as file:
        assert len(list(csv.reader(file))) == 1 + 5
    with (path.parent / "fig-b.csv").open() as file:
        assert list(csv.reader(file))[-1] == ["2.0", "0.2", "4.0"]


def test_difference_of_what_is_no_number_is_not_a_number():
    made = compare("order", "A < B", 1.0, function="hush.delta", verdict=CONFIRMED)
    assert math.isnan(made.difference)
