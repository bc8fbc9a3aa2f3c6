"""The words of the explorer: plain sentences, and published epsilons with their sources."""

from __future__ import annotations

import re
from dataclasses import replace
from pathlib import Path

import pytest
from plain import complaints, page_text

from hush.explorer.example import drawn
from hush.explorer.published import PUBLISHED, marks
from hush.explorer.sentences import about
from hush.explorer.server import page
from hush.explorer.state import MONTHLY, START, STOPS, State
from hush.explorer.view import answer, distance

DOCS = Path(__file__).parents[2] / "docs"
STATES = (
    START,
    replace(START, releases=MONTHLY),
    State(8.0, 1e-3, 1.0, 1, 1, ()),
    State(0.05, 0.0, 1000.0, 16, 16, ()),
    replace(START, numbers=4, direction="one"),
)


def test_the_page_is_plain() -> None:
    text = page_text(page())
    assert len(text.splitlines()) > 60
    assert complaints(text) == []
    assert complaints("\n".join(about().values())) == []


@pytest.mark.parametrize("state", STATES, ids=lambda state: state.query)
def test_what_the_page_says_about_a_state_is_plain(state: State) -> None:
    found, table = answer(state), drawn(state)
    texts = [found["limit"], found["crowd_note"], found["odds"]["note"], table["note"], distance(state)["limit"]]
    texts += [found["headline"][name] for name in ("tie", "skipped")] + [crowd["text"] for crowd in found["crowds"]]
    assert complaints("\n".join(texts)) == []


def test_what_the_page_says_about_typed_counts_is_plain() -> None:
    source = (DOCS.parent / "src/hush/explorer/own.js").read_text()
    texts = [re.sub(r"\$\{[^}]*\}|\\u00a0", " 7 ", text) for text in re.findall(r'["`]([^"`\n]{25,})["`]', source)]
    assert len(texts) >= 5
    assert complaints("\n".join(texts)) == []


def test_published_epsilons_have_a_unit_and_a_source() -> None:
    assert [one.epsilon for one in PUBLISHED] == sorted(one.epsilon for one in PUBLISHED)
    assert len(PUBLISHED) == len({(one.who, one.what) for one in PUBLISHED}) == 8
    for one, mark in zip(PUBLISHED, marks(), strict=True):
        assert 0.05 <= one.epsilon <= 50.0 and 0.0 <= one.delta < 1e-5  # the scale of the chart
        assert re.search(r"arXiv:\d{4}\.\d{5}|(?:19|20)\d\d", one.source) and re.search(r"\(20\d\d\)", one.what)
        assert re.search(r"\bone\b", one.protects) and float(mark["text"]) == one.epsilon
        assert complaints(f"{one.who}: {one.what}. Protects {one.protects}.") == []
    census = next(one for one in PUBLISHED if one.who == "US Census Bureau")
    persons, units = (float(number) for number in re.findall(r"\d+\.\d+", census.protects)[:2])
    assert round(persons + units, 2) == census.epsilon
    assert "They do not rank protection" in page_text(page())


def test_the_docs_list_the_same_publications() -> None:
    text = " ".join((DOCS / "explorer.md").read_text().split())
    for one, mark in zip(PUBLISHED, marks(), strict=True):
        assert f"| {mark['text']} | {one.who}: {one.what} | {one.protects} | {one.source} |" in text


def test_a_year_of_months_is_a_stop_that_says_so() -> None:
    assert MONTHLY == 12 and MONTHLY in STOPS["releases"]
    assert "12, monthly for a year" in page()
    assert answer(replace(START, releases=MONTHLY))["python"].count("times=12") == 1
