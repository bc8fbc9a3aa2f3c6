"""The reader's own counts and the published epsilons in a real browser. What is typed stays in the page."""

from __future__ import annotations

import json
import math
from collections.abc import Iterator
from dataclasses import replace
from typing import Any

import pytest
from browser import Visit

from hush.explorer import Server
from hush.explorer.published import PUBLISHED
from hush.explorer.state import MONTHLY, START, State

#: Counts that occur nowhere else on the page.
TYPED = "Burns 7919\nWard A: 8,231\n\nEye clinic\t9473\n6007"
TRUE = [7919, 8231, 9473, 6007]


@pytest.fixture
def page(opened: tuple[Visit, Server]) -> Iterator[Any]:
    made, server = opened
    made.page.set_viewport_size({"width": 1280, "height": 900})
    go(made.page, server, START)
    made.page.click("text=Use your own counts")
    yield made.page
    assert made.messages == []


def go(page: Any, server: Server, state: State) -> None:
    page.goto(f"{server.address}?{state.query}")
    page.wait_for_selector(f'body[data-drawn="{state.query}"]', timeout=60_000)


def column(page: Any, place: int) -> list[str]:
    return page.locator(f"#wards td:nth-child({place})").all_inner_texts()


def numbers(page: Any, place: int) -> list[int]:
    return [int(text.replace(",", "").replace("\N{MINUS SIGN}", "-")) for text in column(page, place)]


def test_own_counts_get_the_noise_and_are_not_sent(page, opened):
    """The noise is that of the last answer; no request, address or storage has a typed count."""
    with page.expect_response("**/draw?*") as answered:
        page.click("#again")
    own = json.loads(answered.value.text())["own"]
    page.wait_for_selector("#status >> text=New noise was drawn.", state="attached")
    before = len(opened[0].requests)
    page.fill("#own", TYPED)
    assert numbers(page, 2) == TRUE and column(page, 1) == ["Burns", "Ward A", "Eye clinic", "Count 4"]
    expected = [math.floor(true + error + 0.5) for true, error in zip(TRUE, own["errors"], strict=False)]
    assert numbers(page, 3) == expected and page.locator("#wards svg").count() == 4
    told = page.inner_text("#wards-note")
    assert "Your 4 counts" in told and f"at most {own['bar_text']} with probability" in told
    assert "more than a tenth of the count for none of them" in told
    assert opened[0].requests[before:] == []
    page.focus("#releases")
    page.keyboard.press("ArrowRight")  # asks the server; the typed counts stay, with new noise
    page.wait_for_selector(f'body[data-drawn="{replace(START, releases=2).query}"]')
    page.click("#link")
    page.wait_for_selector("#status >> text=The link is copied.", state="attached")
    kept = page.evaluate("[location.href, document.cookie, localStorage.length, sessionStorage.length]")
    kept.append(page.evaluate("navigator.clipboard.readText()"))
    assert numbers(page, 2) == TRUE and kept[1:4] == ["", 0, 0]
    seen = " ".join(map(str, [*opened[0].requests, kept[0], kept[4]]))
    assert len(opened[0].requests) > before and not [true for true in TRUE if str(true) in seen]
    field = page.locator("#own")
    assert field.get_attribute("spellcheck") == "false" and field.get_attribute("autocomplete") == "off"
    page.fill("#own", "")
    assert page.locator("#wards tr").count() == 8 and "Eight rows" in page.inner_text("#wards-note")


@pytest.mark.parametrize(
    ("text", "words"),
    [
        ("Burns", "Line 1 must end with a whole number from 0 to 1,000,000,000"),
        ("3\n-4", "Line 2 must end with a whole number"),
        ("Burns 1.5", "Line 1 must end with a whole number"),
        ("2000000000", "Line 1 must end with a whole number"),
        ("3 12 27", "Line 1 has several numbers; write one count on each line."),
        ("1\n" * 21, "There are 21 counts; the page shows at most 20 here."),
    ],
)
def test_what_cannot_be_read_is_said_and_the_made_up_table_stays(page, text, words):
    page.fill("#own", text)
    assert words in page.inner_text("#own-problem")
    assert page.locator("#wards tr").count() == 8
    page.fill("#own", "27")
    assert page.locator("#own-problem").is_hidden() and numbers(page, 2) == [27]
    assert "of your count" in page.inner_text("#wards-note")


def test_few_numbers_of_one_person_take_as_many_counts(page, opened):
    state = replace(START, numbers=2)
    go(page, opened[1], state)
    page.click("text=Use your own counts")
    page.fill("#own", TYPED)
    assert numbers(page, 2) == TRUE[:2]
    assert "the first 2 of your counts are shown" in page.inner_text("#own-problem")


def test_a_name_is_shown_as_text(page):
    page.fill("#own", "<img src=x onerror=alert(1)> 12")
    assert column(page, 1) == ["<img src=x onerror=alert(1)>"] and page.locator("#wards img").count() == 0


def test_published_epsilons_are_marked_and_listed(page):
    assert page.locator("#published .mark").count() == len(PUBLISHED)
    assert page.locator("#epsilon-marks .mark").count() == sum(one.epsilon <= 8.0 for one in PUBLISHED)
    assert "The chosen epsilon is 1." in page.get_attribute("#published svg", "aria-label")
    page.click("text=Who published which epsilon?")
    for text, one in zip(page.locator("#published-list li").all_inner_texts(), PUBLISHED, strict=True):
        assert f"{one.who}, epsilon {one.epsilon:g}" in text and one.protects in text and one.source in text
        assert ("delta" in text.split(":")[0]) == (one.delta > 0.0)


def test_a_year_of_months_and_narrow_screens(page, opened):
    go(page, opened[1], replace(START, releases=MONTHLY))
    assert (
        page.evaluate("(() => { const form = document.forms[0]; return form.scrollWidth - form.clientWidth; })()") == 0
    )
    ends = page.evaluate(
        "['epsilon', 'releases'].map((id) => document.getElementById(id).getBoundingClientRect().right)"
    )
    inside = page.evaluate(
        "document.forms[0].getBoundingClientRect().right - parseFloat(getComputedStyle(document.forms[0]).paddingRight)"
    )
    assert max(ends) <= inside  # the long label of a stop does not widen the sliders
    for width in (320, 390):
        page.set_viewport_size({"width": width, "height": 844})
        go(page, opened[1], replace(START, releases=MONTHLY))
        assert page.inner_text("#releases-shown") == "12, monthly for a year"
        assert not page.locator("#ranking").is_visible()
        page.click("text=Use your own counts")
        page.click("text=Who published which epsilon?")
        page.fill("#own", TYPED + "\n" + "a very long name " * 5 + "12")
        assert page.evaluate("document.documentElement.scrollWidth") <= width
        assert page.locator("#published svg").bounding_box()["width"] <= width
