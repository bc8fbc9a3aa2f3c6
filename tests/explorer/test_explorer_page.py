"""The explorer in a real browser: sliders, links, clipboard, keyboard, narrow screens, dark colours, and nobody else
is asked.
"""

from __future__ import annotations

import re
import shlex
from collections.abc import Iterator
from typing import Any

import pytest
from browser import Visit

import hush
from hush.cli import main
from hush.explorer import Server
from hush.explorer.analysis import best
from hush.explorer.state import START, STOPS, State, names
from hush.explorer.view import answer
from hush.explorer.wording import bound, up

MANY = State(2.0, 1e-5, 10.0, 8, 4, ("gaussian", "laplace", "osgt"))
PURE = State(0.2, 0.0, 500.0, 1, 1, ())


@pytest.fixture
def page(opened: tuple[Visit, Server]) -> Iterator[Any]:
    """The page at the start, on a desk, in the light; whatever a test does, the console stays silent and only the
    server is asked.
    """
    made, server = opened
    made.page.set_viewport_size({"width": 1280, "height": 900})
    made.page.emulate_media(color_scheme="light")
    go(made.page, server, START)
    yield made.page
    assert made.messages == []
    assert made.requests
    assert [address for address in made.requests if not address.startswith(server.address)] == []


def go(page: Any, server: Server, state: State) -> None:
    page.goto(f"{server.address}?{state.query}")
    drawn(page, state)


def drawn(page: Any, state: State) -> None:
    """Wait until the page shows this state, all of it."""
    page.wait_for_selector(f'body[data-drawn="{state.query}"]', timeout=60_000)


def moved(state: State, **changes: Any) -> State:
    return State(**{**{name: getattr(state, name) for name in (*STOPS, "show")}, **changes})


def shows(page: Any, state: State) -> None:
    """The page's words and numbers are the library's for this state."""
    chosen = best(state)
    given = hush.delta(chosen.noise, 0.0, state.bound, times=state.releases)
    odds = min((1.0 + given) / 2.0, 1.0 - hush.error_sum(state.epsilon, state.delta) / 2.0)
    sentence = page.inner_text("#sentence")
    assert f"is {chosen.family} noise" in sentence
    half = re.search(r"is at most ([\d.,]+) half of the time", sentence)
    mostly = re.search(r"95\s% of the time at most ([\d.,]+)\. The probability", sentence)
    assert half is not None and half[1] == up(float(chosen.noise.isf(0.25)))
    assert mostly is not None
    error = float(chosen.noise.isf(0.025))
    assert error <= float(mostly[1].replace(",", "")) <= 1.0101 * error
    assert f"at most {bound(odds)}." in sentence
    rows = answer(state)["ranking"]
    present = [row for row in rows if "reason" not in row]
    assert page.locator("#ranking tr").count() == len(present)
    assert page.locator("#absent li").count() == len(rows) - len(present)
    assert [cell.split()[0] for cell in page.locator("#ranking td:first-child").all_inner_texts()] == [
        row["family"] for row in present
    ]
    assert page.locator("#ranking .bar span").all_inner_texts() == [row["texts"]["standard_error"] for row in present]
    drawn_families = {chosen.family, *(name for name in state.show if name in {row["family"] for row in present})}
    for picture in ("#density", "#curve"):
        assert page.locator(f"{picture} path.series").count() == len(drawn_families)
    assert page.evaluate("location.search") == f"?{state.query}"


def test_sliders_move_by_keyboard_and_mouse_and_the_numbers_are_the_library_s(page):
    shows(page, START)
    page.focus("#epsilon")
    page.keyboard.press("Enter")  # nothing is sent anywhere
    page.keyboard.press("ArrowRight")
    after = STOPS["epsilon"][STOPS["epsilon"].index(1.0) + 1]
    state = moved(START, epsilon=after)
    drawn(page, state)
    shows(page, state)
    box = page.locator("#delta").bounding_box()
    page.mouse.click(box["x"] + 2, box["y"] + box["height"] / 2)
    state = moved(state, delta=STOPS["delta"][0])
    drawn(page, state)
    shows(page, state)
    assert page.get_attribute("#delta", "aria-valuetext") == "0, none"
    page.focus("#groups")
    page.keyboard.press("End")
    page.focus("#releases")
    page.keyboard.press("ArrowUp")
    state = moved(state, groups=16, releases=2)
    drawn(page, state)
    shows(page, state)
    assert "not known" in page.inner_text("#limit")
    page.click("#reset")
    drawn(page, START)
    shows(page, START)


def test_moving_fast_ends_at_the_last_place(page):
    """One question at a time and the newest wins: of 42 moves the first and the last are asked, and the table is
    drawn once.
    """
    asked: list[str] = []
    page.on("request", lambda request: asked.append(request.url))
    page.evaluate(
        """async (last) => { const slider = document.getElementById("epsilon");
        const move = (place) => { slider.value = place; slider.dispatchEvent(new Event("input")); };
        move(0);
        for (let i = 0; i < 5; i++) await null;  // the first question is on its way
        for (let i = 0; i < 40; i++) move(i % last);
        move(last); }""",
        len(STOPS["epsilon"]) - 1,
    )
    state = moved(START, epsilon=STOPS["epsilon"][-1])
    drawn(page, state)
    shows(page, state)
    asked = [address for address in asked if "icon" not in address]
    assert [re.search(r"/(\w+)\?epsilon=([\d.]+)", address).groups() for address in asked] == [  # type: ignore[union-attr]
        ("answer", f"{STOPS['epsilon'][0]:g}"),
        ("answer", f"{state.epsilon:g}"),
        ("draw", f"{state.epsilon:g}"),
    ]


@pytest.mark.parametrize("state", [MANY, PURE], ids=["many", "pure"])
def test_a_link_restores_everything(page, opened, state):
    page.click("#link")
    page.wait_for_selector("#status >> text=The link is copied.", state="attached")
    assert page.evaluate("navigator.clipboard.readText()") == f"{opened[1].address}?{START.query}"
    go(page, opened[1], state)
    shows(page, state)
    values = {name: STOPS[name][int(page.input_value(f"#{name}"))] for name in STOPS}
    assert values == {name: getattr(state, name) for name in STOPS}
    ticked = page.evaluate("[...document.querySelectorAll('#families input:checked')].map((box) => box.name)")
    assert set(ticked) == {*state.show, best(state).family}


def test_a_link_with_strange_values_says_so_and_shows_the_nearest(page, opened):
    page.goto(f"{opened[1].address}?epsilon=0.9&delta=x&groups=-1&show=cauchy,laplace")
    state = moved(START, show=("laplace",))
    drawn(page, state)
    shows(page, state)
    told = page.inner_text("#notice")
    assert "epsilon = 0.9 is not one of the slider's stops; 1 is shown instead." in told
    assert "There is no noise called cauchy." in told
    page.focus("#releases")
    page.keyboard.press("ArrowRight")
    drawn(page, moved(state, releases=2))
    assert page.locator("#notice").is_hidden()


def test_noises_are_switched_and_the_table_is_drawn_again(page):
    page.check("#families input[name=osgt]")
    page.uncheck("#families input[name=gaussian]")
    state = moved(START, show=("laplace", "osgt"))
    drawn(page, state)
    shows(page, state)
    assert page.locator("#families input[name=stable]").is_disabled()
    texts = set()
    # eight draws agree six times over with probability below 1e-6: staircase noise of standard error 1.4, as integers
    for _ in range(6):
        with page.expect_response(re.compile("/draw")):
            page.click("#again")
        page.wait_for_selector("#status >> text=New noise was drawn.", state="attached")
        texts.add(page.inner_text("#wards"))
    assert len(texts) > 1
    assert page.locator("#wards tr").count() == 8


def test_copied_lines_run_and_give_the_noise_that_is_shown(page, capsys):
    page.click("#copy-python")
    page.wait_for_selector("#status >> text=The Python lines are copied.", state="attached")
    room: dict[str, Any] = {}
    exec(page.evaluate("navigator.clipboard.readText()"), room)
    assert room["plan"].family == best(START).family
    assert room["plan"].variance == pytest.approx(best(START).variance, rel=1e-7)
    page.click("#copy-command")
    page.wait_for_selector("#status >> text=The command is copied.", state="attached")
    capsys.readouterr()
    assert main(shlex.split(page.evaluate("navigator.clipboard.readText()"))[1:]) == 0
    assert room["plan"].family in capsys.readouterr().out


def test_copying_works_without_a_clipboard_for_pages(page):
    """An address that is not local has no navigator.clipboard: the old way is taken."""
    page.evaluate("() => { navigator.clipboard.writeText = () => Promise.reject(new Error('refused')); }")
    page.click("#copy-command")
    page.wait_for_selector("#status >> text=The command is copied.", state="attached")
    assert page.evaluate("navigator.clipboard.readText()") == page.inner_text("#command")


def test_the_keyboard_reaches_everything_in_order_and_focus_is_seen(page):
    page.evaluate("document.activeElement.blur(); window.scrollTo(0, 0)")
    reached: list[str] = []
    for _ in range(60):
        page.keyboard.press("Tab")
        name, seen = page.evaluate(
            """() => { const e = document.activeElement; const chip = e.closest(".chip");
            return [e.id || e.name || e.getAttribute("href") || e.getAttribute("aria-labelledby") || e.textContent,
                    [e, chip].some((one) => one && getComputedStyle(one).outlineStyle !== "none")]; }"""
        )
        if name in reached:
            break
        if page.evaluate("document.activeElement === document.body"):
            break
        assert seen, f"focus on {name} cannot be seen"
        reached.append(name)
    # the best noise is always shown, and two families have no noise here
    free = [name for name in names() if name not in ("staircase", "asinh", "stable")]
    questions = {f"What is {word}?" for word in ("epsilon", "delta", "sensitivity", "a group", "a release")}
    questions |= {"What are numbers per person?", "What are these noises?"}
    order = [
        "#findings",
        "theme",
        *STOPS,
        "numbers",
        "link",
        "reset",
        *free,
        "Show the ranking",
        "absent-title",
        "again",
        "Use your own counts",
        "Who published which epsilon?",
        "copy-python",
        "python-title",
        "copy-command",
    ]
    assert questions <= set(reached)
    assert [name for name in reached if name not in questions] == [*order, "command-title"]


def test_the_skip_link_leads_to_the_findings(page):
    page.evaluate("document.activeElement.blur()")
    page.keyboard.press("Tab")
    page.keyboard.press("Enter")
    assert page.evaluate("document.activeElement.id") == "findings"


@pytest.mark.parametrize("width", [390, 320, 768])
def test_narrow_screens_do_not_scroll_sideways(page, opened, width):
    page.set_viewport_size({"width": width, "height": 844})
    for state in (MANY, PURE):
        go(page, opened[1], state)
        assert page.evaluate("document.documentElement.scrollWidth") <= width
        for picture in ("#density svg", "#curve svg", "#gauge svg"):
            box = page.locator(picture).bounding_box()
            assert box["x"] >= 0
            assert box["x"] + box["width"] <= width


#: Every piece of text that is seen, its colour and the first opaque colour behind it.
TEXTS = """() => { const found = [];
  const opaque = (e) => { for (; e; e = e.parentElement) { const c = getComputedStyle(e).backgroundColor;
    if (c !== "rgba(0, 0, 0, 0)" && c !== "transparent") return c; } return "rgb(255, 255, 255)"; };
  for (const e of document.querySelectorAll("body *")) {
    const own = [...e.childNodes].some((n) => n.nodeType === 3 && n.textContent.trim());
    if (!own || !e.checkVisibility() || e.closest(".hidden, .skip, noscript")) continue;
    const style = getComputedStyle(e);
    const drawn = e.namespaceURI.endsWith("svg");
    const name = `${e.tagName}#${e.id}.${e.className.baseVal ?? e.className}`;
    found.push([name, drawn ? style.fill : style.color, opaque(e)]);
  } return found; }"""


def luminance(colour: str) -> float:
    """Relative luminance (WCAG 2.2)."""
    parts = [float(part) / 255.0 for part in re.findall(r"[\d.]+", colour)[:3]]
    red, green, blue = (part / 12.92 if part <= 0.04045 else ((part + 0.055) / 1.055) ** 2.4 for part in parts)
    return 0.2126 * red + 0.7152 * green + 0.0722 * blue


@pytest.mark.parametrize("scheme", ["light", "dark"])
def test_text_can_be_read_in_the_light_and_in_the_dark(page, opened, scheme):
    page.emulate_media(color_scheme=scheme)
    for state in (START, MANY):
        go(page, opened[1], state)
        texts = page.evaluate(TEXTS)
        assert len(texts) > 80
        assert all(colour.startswith("rgb(") for _, colour, _ in texts)
        for where, colour, behind in texts:
            light, dark = sorted((luminance(colour), luminance(behind)), reverse=True)
            assert (light + 0.05) / (dark + 0.05) >= 4.5, f"{where}: {colour} on {behind}"
    assert (luminance(page.evaluate("getComputedStyle(document.body).backgroundColor")) < 0.1) == (scheme == "dark")


def test_colours_are_switched_by_hand_too(page):
    before = page.evaluate("getComputedStyle(document.body).backgroundColor")
    page.click("#theme")
    assert page.evaluate("getComputedStyle(document.body).backgroundColor") != before
    assert page.inner_text("#theme") == "Light colours"
    page.click("#theme")
    assert page.evaluate("getComputedStyle(document.body).backgroundColor") == before


def test_pictures_are_told_in_words_and_tables_have_heads(page):
    words = [picture.get_attribute("aria-label") for picture in page.locator("svg[role=img]").all()]
    assert len(words) == 4
    chosen = best(START)
    assert any(f"{chosen.family} within {up(chosen.error95)}" in text for text in words)
    assert page.locator("svg:not([role=img]):not([aria-hidden=true])").count() == 0
    assert "within 0.01\N{NO-BREAK SPACE}% of each other, the simpler one is first" in page.inner_text(
        "table.ranking caption"
    )
    assert page.inner_text("label[for=delta]") == "Extra probability, delta"
    assert page.locator("text=/failure chance|may fail/i").count() == 0
    assert page.locator("table").count() == page.locator("table caption").count() == 2
    assert page.locator("th:not([scope=col])").count() == 0
    assert page.locator("input[type=range]").count() == len(STOPS) + 1
    assert all(page.locator(f"label[for={name}]").count() == 1 for name in (*STOPS, "numbers"))
