"""The report itself: verdicts follow from printed digits, the page is complete and accessible, files are written."""

from __future__ import annotations

import ast
import base64
import csv
import hashlib
import math
import re
import signal
import subprocess
import sys
from pathlib import Path

import pytest
from hush_papers import catalogue
from hush_papers.__main__ import main
from hush_papers.catalogue import PAPERS, make
from hush_papers.item import (
    CONFIRMED,
    CORRECTED,
    NOT_REPRODUCIBLE,
    Context,
    Figure,
    Grid,
    HeatMap,
    Item,
    Paper,
    Series,
    compare,
)
from hush_papers.overview import counts
from hush_papers.page import write
from hush_papers.reference import reference

from hush import InvalidParameter


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
    with pytest.raises(InvalidParameter, match="needs a sentence `why`"):
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
    heat = HeatMap(
        "fig-b", "Ratio", "epsilon", "delta", "ratio", [1.0, 2.0], [0.1, 0.2], [[1.0, 2.0], [3.0, 4.0]], "four cells"
    )
    done = compare("size < 3 & more", "1.5", 1.5, function="hush.delta")
    item = Item(
        "item-a",
        "Fig. 1",
        "A <figure>",
        "First.\n\nSecond.",
        (done,),
        (line, heat),
        (Grid("cells", ("a", "b"), ((1.0, "x"),)),),
    )
    return Paper("p", "A paper", "Somebody (2020)", (lambda context: item,))


def test_page_is_complete(tmp_path):
    paper = _paper()
    path = write(make([paper], Context()), tmp_path / "out", Context())
    text = path.read_text()
    assert not re.search(r'(?:src|href)="(?!data:|#)', text), "the page must need nothing else"
    assert text.count("<img") == 2 and 'alt="two curves"' in text and 'alt="four cells"' in text
    assert text.count("<caption>") == text.count("<table>") and 'scope="col"' in text and 'scope="row"' in text
    assert (
        'href="#fn-hush-delta"' in text
        and 'id="fn-hush-delta"' in text
        and "hush/<wbr>privacy/<wbr>compose.<wbr>py" in text
    )
    assert "size &lt; 3 &amp; more" in text and "A &lt;figure&gt;" in text
    with (path.parent / "comparisons.csv").open() as file:
        rows = list(csv.DictReader(file))
    assert [row["verdict"] for row in rows] == [CONFIRMED] and float(rows[0]["relative difference"]) == 0.0
    assert (path.parent / "fig-a.png").stat().st_size > 5000 and (path.parent / "fig-b.png").stat().st_size > 5000
    with (path.parent / "fig-a.csv").open() as file:
        assert len(list(csv.reader(file))) == 1 + 5
    with (path.parent / "fig-b.csv").open() as file:
        assert list(csv.reader(file))[-1] == ["2.0", "0.2", "4.0"]


def test_a_statement_has_no_relative_difference():
    made = compare("order", "A < B", 1.0, function="hush.delta", verdict=CONFIRMED)
    assert math.isnan(made.difference)


def test_a_printed_zero_has_no_relative_difference(tmp_path):
    """The page leaves the cell empty, and the CSV has nan."""
    made = compare("limit", "0", 3.0, function="hush.delta", why="it is 3")
    assert math.isnan(made.difference) and made.printed == 0.0
    item = Item("item-a", "App.", "A limit", "", (made,))
    text = write([(Paper("p", "A paper", "-", ()), [item])], tmp_path, Context()).read_text()
    assert '<td class="number">3</td><td class="number"></td>' in text and "e+300" not in text


@pytest.mark.parametrize(
    ("context", "said"),
    [
        (Context(None, quick=True), "a quick run: coarser figures and fewer trials; without data sets"),
        (Context(Path("sets"), quick=False), "a full run; with the data sets"),
    ],
)
def test_the_page_says_what_run_it_is(tmp_path, context, said):
    text = write(make([_paper()], context), tmp_path, context).read_text()
    assert said in text.split("<nav")[0] and "stored run" in text.split("<nav")[0] and "can be recomputed" not in text


def test_findings_come_first_with_published_and_own_numbers(tmp_path):
    """Above the list of items: one comparison of each item that is not confirmed, of its worst verdict."""
    good, bad = (
        compare("a", "1", 1.0, function="hush.delta"),
        compare("b", "1", 2.0, function="hush.delta", why="it is 2"),
    )
    lost = compare("c", "7", 3.0, function="hush.delta", why="not stated", verdict=NOT_REPRODUCIBLE)
    items = [
        Item(f"item-{n}", f"Fig. {n}", "A", "", each) for n, each in enumerate(((good,), (good, bad), (bad, lost), ()))
    ]
    text = write([(Paper("p", "A paper", "-", ()), items)], tmp_path, Context()).read_text()
    top = text.split('<h2 id="contents">')[0]
    found = top.split('<h2 id="findings">')[1].split("</section>")[0]
    assert "2 of 3 items with comparisons have at least one that is not confirmed" in found
    assert re.findall(r'<tr data-verdicts="([\w ]+)"><th scope="row">p, <a href="#(item-\d)">', found) == [
        ("confirmed corrected", "item-1"),
        ("corrected not", "item-2"),
    ]
    assert '<td class="said">7</td><td class="number">3</td><td class="why">not stated</td>' in found
    assert re.findall(r'<article data-verdicts="([\w ]+)"', text) == [
        "confirmed",
        "confirmed corrected",
        "corrected not",
        "none",
    ]
    assert re.findall(r'id="show-(\w+)"[^>]*> ([^<]+)</label>', text) == [
        ("all", "everything (4 items)"),
        ("confirmed", "confirmed (2)"),
        ("corrected", "corrected (2)"),
        ("not", "not reproducible as described (1)"),
    ]
    assert "<script" not in text


def test_a_title_is_once_on_the_page(tmp_path):
    """It is below the picture. The PNG, which may be used alone, contains it."""
    text = write(make([_paper()], Context()), tmp_path, Context()).read_text()
    pictures = [base64.b64decode(found).decode() for found in re.findall(r"svg\+xml;base64,([^\"]*)", text)]
    assert len(pictures) == 2 and text.count("<figcaption>Growth") == 1
    assert "time (s)" in pictures[0] and "Growth" not in pictures[0] and "Ratio" not in pictures[1]


def test_an_items_verdict_is_explained(tmp_path):
    good, bad = compare("a", "1", 1.0, function="hush.delta"), compare("b", "1", 2.0, function="hush.delta", why="no")
    for rows, said in (
        ((good, bad), ", the worst among its 2 comparisons (1 confirmed, 1 corrected)</p>"),
        ((bad, bad), "corrected</strong></p>"),
    ):
        item = Item("item-a", "Fig. 2", "A figure", "", rows)
        assert said in write([(Paper("p", "A paper", "-", ()), [item])], tmp_path, Context()).read_text()


def test_the_top_lists_every_item_and_the_findings_first(tmp_path):
    good, bad = compare("a", "1", 1.0, function="hush.delta"), compare("b", "1", 2.0, function="hush.delta", why="no")
    items = [Item("item-a", "Fig. 1", "Good", "", (good,)), Item("item-b", "Fig. 2", "Bad", "", (good, bad))]
    items.append(Item("item-c", "Fig. 3", "Not compared", ""))
    text = write([(Paper("p", "A paper", "-", ()), items)], tmp_path, Context()).read_text()
    top, contents = text.split("<nav")[0], text.split("<nav")[1].split("</nav>")[0]
    strong = '<strong class="corrected">corrected</strong>'
    assert f'<a href="#item-b">Fig. 2: Bad</a></th><td>1 {strong} of 2</td>' in top and "#item-a" not in top
    assert re.findall(r'href="#([^"]*)"', contents) == ["p", "item-a", "item-b", "item-c", "functions"]
    assert f'<a href="#item-b">Fig. 2: Bad</a>: {strong}</li>' in contents
    assert '<a href="#item-c">Fig. 3: Not compared</a></li>' in contents


def test_heads_are_aligned_with_their_columns(tmp_path):
    grid = Grid("cells", ("name", "size", "mixed"), (("a", 1.0, 2), ("b", 2, "none")))
    item = Item("item-a", "Fig. 1", "A figure", "", (compare("a", "1", 1.0, function="hush.delta"),), grids=(grid,))
    text = write([(Paper("p", "A paper", "-", ()), [item])], tmp_path, Context()).read_text()
    for head, kind in (("name", ""), ("size", "number"), ("mixed", ""), ("published", "said"), ("ours", "number")):
        attribute = f' class="{kind}"' if kind else ""
        assert f'<th scope="col"{attribute}>{head}</th>' in text
    assert '<td>a</td><td class="number">1</td><td>2</td>' in text


def test_distinct_printed_numbers_are_counted_once():
    rows = [
        compare(f"q{n}", text, float(text), function="hush.delta") for n, text in enumerate(("1.5", "1.50", "2", "1.5"))
    ]
    rows.append(compare("q9", '"better"', 1.0, function="hush.delta", verdict=CONFIRMED))
    assert counts([Item("a", "-", "-", "", tuple(rows[:3])), Item("b", "-", "-", "", tuple(rows[3:]))]) == (
        2,
        5,
        2,
        5,
        0,
        0,
    )


# -- verdicts ------------------------------------------------------------------------------------------------


def test_no_verdict_is_a_literal():
    """`holds` is never a literal, and the only verdict given by name is that something cannot be reproduced."""
    source = Path(catalogue.__file__).parent
    calls = [
        (path.name, word.arg, word.value)
        for path in source.rglob("*.py")
        if path.name != "item.py"
        for node in ast.walk(ast.parse(path.read_text()))
        if isinstance(node, ast.Call)
        for word in node.keywords
        if word.arg in ("holds", "verdict")
    ]
    assert len(calls) > 100
    for name, word, value in calls:
        if word == "holds":
            assert not isinstance(value, ast.Constant), name
        else:
            assert isinstance(value, ast.Name) and value.id == "NOT_REPRODUCIBLE", name


# -- the request ---------------------------------------------------------------------------------------------


@pytest.mark.parametrize(
    ("arguments", "words"),
    [
        (["zaho"], "paper must be one of zhao, osgt, flipped_huber, sas, joint, newer, beyond, got 'zaho'"),
        (["zhao", "--data", "nowhere"], "data must be a folder of data sets, got"),
        (["zhao", "--data", "."], "data must contain adult.data.gz, which the zhao report reads"),
        (["zhao", "--out", "taken"], "out must be a folder that can be written, got"),
        (["zhao", "--out", "taken/inside"], "out must be a folder that can be written, got"),
    ],
)
def test_a_wrong_argument_gives_one_sentence(tmp_path, monkeypatch, capsys, arguments, words):
    monkeypatch.chdir(tmp_path)
    monkeypatch.delenv("HUSH_DATA", raising=False)  # a relative one would be the first thing to be wrong here
    monkeypatch.setattr(catalogue, "make", lambda *_, **__: pytest.fail("something was made"))
    Path("taken").write_text("")
    assert main(["--quick", "--out", "new", *arguments]) == 2
    said = capsys.readouterr().err
    assert words in said and said.count("\n") == 1 and said.endswith(".\n")
    assert [path.name for path in tmp_path.iterdir()] == ["taken"]


_ENDED = """
import sys
from hush_papers import catalogue
from hush_papers.__main__ import main
from hush_papers.item import Item, Paper

def wait(context):
    \"\"\"Waits.\"\"\"
    print("ready", flush=True)
    import time
    time.sleep(60)
    return Item("item-a", "-", "-", "")

catalogue.paper = lambda key: Paper("p", "A paper", "-", (wait,))
sys.exit(main(["zhao", "--json", "--out", sys.argv[1]]))
"""


@pytest.mark.parametrize(("number", "code"), [(signal.SIGINT, 130), (signal.SIGTERM, 143)])
def test_a_run_ended_by_a_signal_leaves_nothing(tmp_path, number, code):
    """Neither hidden folders nor new parent folders remain; folders that existed before stay."""
    (tmp_path / "there").mkdir()
    command = [sys.executable, "-c", _ENDED, str(tmp_path / "there" / "nest" / "a" / "b")]
    with subprocess.Popen(command, stdout=subprocess.PIPE, stderr=subprocess.DEVNULL, text=True) as run:
        assert run.stdout is not None and run.stdout.readline() == "ready\n"
        assert len(list((tmp_path / "there" / "nest" / "a" / "b").iterdir())) == 1
        run.send_signal(number)
        assert run.wait(30) == code
    assert [path.name for path in tmp_path.rglob("*")] == ["there"]


@pytest.mark.parametrize("before", [False, True])
def test_a_stopped_run_leaves_nothing_new(tmp_path, monkeypatch, capsys, before):
    def stop(context):
        """Stops."""
        raise KeyboardInterrupt

    first = _paper()
    monkeypatch.setattr(catalogue, "paper", lambda key: Paper("p", "A paper", "-", (*first.items, stop)))
    out = tmp_path / "out"
    if before:
        out.mkdir()
        (out / "report.html").write_text("an older report")
    assert main(["zhao", "--out", str(out)]) == 130
    assert "2 of 2: p: Stops." in capsys.readouterr().err  # printed before the item was made
    assert [path.name for path in tmp_path.rglob("*")] == (["out", "report.html"] if before else [])
    assert not before or (out / "report.html").read_text() == "an older report"


def test_other_files_of_the_folder_stay(tmp_path, monkeypatch):
    monkeypatch.setattr(catalogue, "paper", lambda key: _paper())
    (tmp_path / "mine.txt").write_text("kept")
    assert main(["zhao", "--out", str(tmp_path), "--json"]) == 0
    names = {path.name for path in tmp_path.iterdir()}
    assert names == {
        "mine.txt",
        "report.html",
        "report.sha256",
        "comparisons.csv",
        "fig-a.png",
        "fig-a.csv",
        "fig-b.png",
        "fig-b.csv",
    }


def test_files_of_an_earlier_report_go_unless_they_were_changed(tmp_path, monkeypatch):
    """Only what hush wrote, by name and content: a file that somebody changed, and one that a forged list names
    outside, stay.
    """
    first = _paper()
    monkeypatch.setattr(catalogue, "paper", lambda key: first)
    out = tmp_path / "out"
    assert main(["zhao", "--out", str(out), "--json"]) == 0
    (out / "fig-b.png").write_text("mine now")
    (tmp_path / "outside.txt").write_text("kept")
    with (out / "report.sha256").open("a") as file:
        file.write(f"{hashlib.sha256(b'kept').hexdigest()}  ../outside.txt\nno list at all\n")
    item = first.items[0](Context())
    fewer = Item("item-a", "Fig. 1", "A figure", "", item.comparisons)
    monkeypatch.setattr(catalogue, "paper", lambda key: Paper("p", "A paper", "-", (lambda context: fewer,)))
    assert main(["zhao", "--out", str(out), "--json"]) == 0
    assert {path.name for path in out.iterdir()} == {"report.html", "report.sha256", "comparisons.csv", "fig-b.png"}
    assert (tmp_path / "outside.txt").read_text() == "kept"
    listed = dict(reversed(line.split("  ")) for line in (out / "report.sha256").read_text().splitlines())
    assert listed == {
        name: hashlib.sha256((out / name).read_bytes()).hexdigest() for name in ("report.html", "comparisons.csv")
    }


# -- the whole report ----------------------------------------------------------------------------------------


def test_the_quick_report_is_complete(built):
    """Every paper, at least 120 comparisons, every figure's files; progress counts over all papers, before each
    item.
    """
    assert tuple(built.items) == tuple(PAPERS)
    everything = [item for items in built.items.values() for item in items.values()]
    assert counts(everything)[1] >= 440
    with (built.path.parent / "comparisons.csv").open() as file:
        assert len(list(csv.reader(file))) == 1 + counts(everything)[1]
    for figure in (figure for item in everything for figure in item.figures):
        assert (built.path.parent / f"{figure.key}.csv").is_file()
    assert not list(built.path.parent.glob("*.png"))  # only a full run draws them
    made = [text for text in built.progress if not text.startswith("drawing")]
    assert [text.split(":")[0] for text in made] == [f"{n} of {len(everything)}" for n in range(1, len(everything) + 1)]


def test_functions_named_are_explained(built):
    """They exist, have a first line, and their page of the reference is there."""
    docs = Path(__file__).resolve().parents[2] / "docs"
    names = {c.function for items in built.items.values() for item in items.values() for c in item.comparisons}
    assert len(names) > 50
    for name in names:
        found = reference(name)
        ours = name.split(".")[0] in ("hush", "hush_papers")
        assert found.line and ours == bool(found.page) == (found.source != "Python's standard library"), name
        assert not found.page or (docs / found.page).is_file(), name
    with pytest.raises(InvalidParameter, match="dotted name"):
        reference("hush.nothing_of_the_kind")
