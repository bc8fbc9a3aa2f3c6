"""The slider "numbers per person" in a real browser."""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import replace
from typing import Any

import pytest
from browser import Visit

from hush.explorer import Server
from hush.explorer.analysis import AnalysedNoise, best, findings
from hush.explorer.sentences import sentence
from hush.explorer.state import NUMBERS, START, State
from hush.explorer.view import answer, distance

TEN = replace(START, numbers=10, direction="one")


@pytest.fixture
def page(opened: tuple[Visit, Server]) -> Iterator[Any]:
    """The page at the start; the console stays silent, and only the server is asked."""
    made, server = opened
    made.page.set_viewport_size({"width": 1280, "height": 900})
    go(made.page, server, START.query, START)
    yield made.page
    assert made.messages == []
    assert [address for address in made.requests if not address.startswith(server.address)] == []


def go(page: Any, server: Server, query: str, state: State) -> None:
    page.goto(f"{server.address}?{query}")
    drawn(page, state)


def drawn(page: Any, state: State) -> None:
    page.wait_for_selector(f'body[data-drawn="{state.query}"]', timeout=60_000)


def shows(page: Any, state: State) -> None:
    """The words and numbers of the page are those of the library for this state."""
    document, told = answer(state), distance(state)
    present = [row for row in document["ranking"] if "texts" in row]
    assert f"is {best(state).family} noise. The error of every number" in page.inner_text("#sentence")
    assert page.inner_text("#why") == document["why"]
    assert page.inner_text("#limit") == told["limit"]
    assert "Variance per number" in page.inner_text("table.ranking thead")
    rows = page.locator("#ranking tr").all()
    assert len(rows) == len(present)
    for line, row in zip(rows, present, strict=True):
        cells = line.locator("td").all_inner_texts()
        assert cells[0].split()[0] == row["family"]
        assert cells[3:] == [row["texts"]["variance"], row["texts"]["ratio"], told["to_limit"][row["family"]]]
        assert line.locator("td").first.get_attribute("title") == sentence(row["family"])
    chips = page.locator("#families .chip:visible").all_inner_texts()
    assert sorted(chips) == sorted(one.family for one in findings(state) if isinstance(one, AnalysedNoise))
    assert page.locator("#absent li").count() == len(document["ranking"]) - len(present)
    assert page.evaluate("location.search") == f"?{state.query}"


def test_the_slider_and_the_direction_show_joint_noise(page):
    assert page.locator("#directions").is_hidden() and page.locator("#why").is_hidden()
    assert page.locator("#families .chip:visible input[name=cube]").count() == 0
    page.focus("#numbers")
    for _ in range(NUMBERS.index(10)):
        page.keyboard.press("ArrowRight")
    state = replace(START, numbers=10)
    drawn(page, state)
    shows(page, state)
    page.check("#directions input[value=one]")
    drawn(page, TEN)
    shows(page, TEN)
    page.check("#families input[name=cube]")
    state = replace(TEN, show=("gaussian", "laplace", "cube"))
    drawn(page, state)
    assert page.locator("#density path.series").count() == page.locator("#curve path.series").count() == 4
    assert page.locator("#wards tr").count() == 8
    page.focus("#numbers")
    page.keyboard.press("Home")
    drawn(page, replace(state, numbers=1, direction="any"))
    assert page.locator("#directions").is_hidden() and page.locator("#why").is_hidden()
    assert page.inner_text("#limit") == answer(START)["limit"]
    assert page.inner_text("#limit-head") == "Above the limit"


def test_several_numbers_have_one_group_and_sum_model(page, opened):
    page.focus("#groups")
    page.keyboard.press("End")
    drawn(page, replace(START, groups=16))
    page.focus("#numbers")
    page.keyboard.press("ArrowRight")
    drawn(page, replace(START, numbers=2))
    assert page.locator("#groups").is_disabled() and page.locator("#releases").is_disabled()
    assert page.inner_text("#groups-shown") == "1"
    assert page.locator("#alone").is_visible()
    go(page, opened[1], TEN.query.replace("groups=1", "groups=4"), TEN)
    assert page.inner_text("#notice") == "Several numbers are shown for one group and one release."
    page.click("#reset")
    drawn(page, START)
    assert page.locator("#groups").is_enabled() and page.locator("#alone").is_hidden()


def test_a_link_restores_numbers_and_direction(page, opened):
    for state in (TEN, replace(START, numbers=100, delta=0.0)):
        go(page, opened[1], state.query, state)
        shows(page, state)
        assert page.inner_text("#numbers-shown") == str(state.numbers)
        assert page.locator(f"#directions input[value={state.direction}]").is_checked()
    page.goto(f"{opened[1].address}?numbers=9")
    drawn(page, replace(START, numbers=10))
    assert "numbers = 9 is not one of the slider's stops; 10 is shown instead." in page.inner_text("#notice")


def test_each_noise_is_explained_below_the_ranking(page, opened):
    go(page, opened[1], TEN.query, TEN)
    page.click("text=What are these noises?")
    families = [one.family for one in findings(TEN) if isinstance(one, AnalysedNoise)]
    assert page.locator("#about li").all_inner_texts() == [f"{name}: {sentence(name)}" for name in families]
    chip = page.locator(".chip:has(input[name=cube])")
    assert chip.get_attribute("title") == sentence("cube")


@pytest.mark.parametrize("width", [320, 390, 768])
def test_narrow_screens_do_not_scroll_sideways(page, opened, width):
    page.set_viewport_size({"width": width, "height": 844})
    go(page, opened[1], TEN.query, TEN)
    assert page.evaluate("document.documentElement.scrollWidth") <= width
