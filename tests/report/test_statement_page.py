"""The statement's page: nothing but text from labels, readable by everybody, on every screen and on paper."""

from __future__ import annotations

import re
from pathlib import Path

import pytest
from browser import visit

import hush
from hush.report import Statement, statement

NASTY = "<script>alert(1)</script> | a\nb \u202e `x` **y** [z](javascript:1) <img src=x onerror=alert(1)> &amp; $1$"


@pytest.fixture(scope="module")
def made() -> Statement:
    ledger = hush.Ledger(None, epsilon=2.0, delta=1e-6, source=NASTY)
    ledger.spend((hush.Gaussian(9.0), 1.0), label=NASTY)
    ledger.spend((hush.Laplace(9.0), hush.Sensitivity(linf=1.0, l0=2), 3), label="w" * 300)
    return statement(ledger)


def test_labels_stay_text_in_html(made: Statement) -> None:
    for page in (made.html, made._repr_html_()):
        assert "<script" not in page and "<img" not in page and "&lt;script&gt;alert(1)&lt;/script&gt;" in page
        assert "&amp;amp;" in page and "\u202e" not in page
    assert not re.search(r"""(src|href)=["'](?!data:,)""", made.html) and "http" not in made.html


def test_labels_stay_text_in_markdown(made: Statement) -> None:
    assert "<script" not in made.markdown.replace("\\<", "") and "\u202e" not in made.markdown
    rows = [line for line in made.markdown.splitlines() if line.startswith("| 1 |")]
    assert len(rows) == 1
    cells = re.split(r"(?<!\\)\|", rows[0])
    assert len(cells) == 7, "five cells between bars"
    assert r"\[z\](javascript:1)" in rows[0] and r"\`x\`" in rows[0] and r"\*\*y\*\*" in rows[0]


def _contrast(first: str, second: str) -> float:
    """The contrast ratio of two colours (Web Content Accessibility Guidelines 2.2)."""

    def light(colour: str) -> float:
        parts = [int(v) / 255 for v in re.findall(r"\d+", colour)[:3]]
        red, green, blue = (v / 12.92 if v <= 0.04045 else ((v + 0.055) / 1.055) ** 2.4 for v in parts)
        return 0.2126 * red + 0.7152 * green + 0.0722 * blue

    high, low = sorted((light(first), light(second)), reverse=True)
    return (high + 0.05) / (low + 0.05)


#: Every text's colour, and the first background behind it that is not transparent.
_COLOURS = """() => [...document.querySelectorAll('h1,h2,p,li,dt,dd,th,td,caption,code')].map(e => {
  let b = e; while (b && getComputedStyle(b).backgroundColor === 'rgba(0, 0, 0, 0)') b = b.parentElement;
  return [e.tagName, getComputedStyle(e).color, getComputedStyle(b || document.body).backgroundColor]; })"""


def test_in_a_browser(made: Statement, tmp_path: Path) -> None:
    place = made.save(tmp_path / "s.html")
    with visit(place.as_uri()) as seen:
        page = seen.page
        assert page.locator("h1").count() == 1 and page.locator("html").get_attribute("lang") == "en"
        levels = page.evaluate("[...document.querySelectorAll('h1,h2,h3,h4')].map(e => e.tagName)")
        assert levels == ["H1"] + ["H2"] * 12
        assert page.evaluate(
            "[...document.querySelectorAll('table')].every(t => t.caption && t.querySelector('th[scope=col]'))"
        )
        assert page.evaluate("[...document.querySelectorAll('[role=img]')].every(e => e.getAttribute('aria-label'))")
        assert page.locator("[role=img]").count() == 1
        assert page.evaluate(
            "[...document.querySelectorAll('section')]"
            ".every(s => document.getElementById(s.getAttribute('aria-labelledby')))"
        )
        for scheme in ("light", "dark"):
            page.emulate_media(color_scheme=scheme)
            found = page.evaluate(_COLOURS)
            assert len(found) > 40
            worst = min(found, key=lambda row: _contrast(row[1], row[2]))
            assert _contrast(worst[1], worst[2]) >= 4.5, (scheme, worst)
        for width in (390, 320):
            page.set_viewport_size({"width": width, "height": 844})
            assert page.evaluate("document.documentElement.scrollWidth") <= width, "nothing sticks out of the page"
        page.emulate_media(media="print", color_scheme="dark")
        assert page.evaluate("getComputedStyle(document.body).backgroundColor") == "rgb(255, 255, 255)"
        assert page.evaluate("getComputedStyle(document.querySelector('pre')).whiteSpace") == "pre-wrap"
        assert seen.messages == [] and seen.requests == [place.as_uri()]
