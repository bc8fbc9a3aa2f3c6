"""The report in a real browser: offline, silent, accessible, at phone width and in the dark."""

from __future__ import annotations

from itertools import pairwise

from browser import visit
from hush_papers.item import VERDICTS

_PAGE = """() => {
  const all = (what) => [...document.querySelectorAll(what)];
  return {
    language: document.documentElement.lang,
    title: document.title,
    pictures: all("img").length,
    broken: all("img").filter((i) => !(i.complete && i.naturalWidth > 0)).length,
    silent: all("img").filter((i) => !i.alt.trim()).length,
    tables: all("table").length,
    nameless: all("table").filter((t) => !t.caption || !t.caption.textContent.trim()).length,
    headless: all("table").filter((t) => !t.querySelector("thead th[scope=col]")).length,
    unscoped: all("th").filter((h) => !["col", "row"].includes(h.scope)).length,
    boxes: all(".scroll").filter((b) => b.tabIndex !== 0 || !b.getAttribute("aria-label")).length,
    headings: all("h1, h2, h3, h4, h5, h6").map((h) => Number(h.tagName[1])),
    lost: all("a").map((a) => a.getAttribute("href"))
      .filter((h) => h[0] !== "#" || !document.getElementById(h.slice(1))).length,
    links: all("a").length,
    twice: all("[id]").length - new Set(all("[id]").map((e) => e.id)).size,
  };
}"""

_CONTRAST = """() => {
  const light = (c) => {
    const linear = (v) => v <= 0.04045 ? v / 12.92 : ((v + 0.055) / 1.055) ** 2.4;
    const [r, g, b] = c.match(/[0-9.]+/g).slice(0, 3).map((v) => linear(v / 255));
    return 0.2126 * r + 0.7152 * g + 0.0722 * b;
  };
  const ground = document.createElement("div");
  ground.style.background = "Canvas";
  document.body.append(ground);
  const under = light(getComputedStyle(ground).backgroundColor);
  const ratio = (what) => {
    const over = light(getComputedStyle(document.querySelector(what)).color);
    return (Math.max(over, under) + 0.05) / (Math.min(over, under) + 0.05);
  };
  return ["p", "th", "td", "a", "figcaption", ".confirmed", ".corrected", ".not"].map((what) => [what, ratio(what)]);
}"""


def test_the_report_opens_offline_and_is_accessible(built):
    address = built.path.as_uri()
    with visit(address) as made:
        seen = made.page.evaluate(_PAGE)
        assert made.messages == [] and made.requests[0] == address
        assert all(request.startswith("data:") for request in made.requests[1:])
        light = dict(made.page.evaluate(_CONTRAST))
    figures = sum(len(item.figures) for items in built.items.values() for item in items.values())
    assert seen["language"] == "en" and seen["title"] and seen["pictures"] == figures and seen["tables"] > 60
    assert not any(
        seen[what] for what in ("broken", "silent", "nameless", "headless", "unscoped", "boxes", "lost", "twice")
    )
    assert seen["links"] > 420
    levels = seen["headings"]
    assert levels[0] == 1 and levels.count(1) == 1 and all(b <= a + 1 for a, b in pairwise(levels))
    assert min(light.values()) >= 4.5, light


_SEEN = """() => {
  const seen = (what) => [...document.querySelectorAll(what)].filter((e) => e.checkVisibility());
  return [seen("article").map((e) => e.querySelector("h3").id), seen("nav li").length,
          [...new Set(seen("article tr[data-verdicts]").map((e) => e.dataset.verdicts))].sort()];
}"""


def test_the_filter_by_verdict_and_the_heads_of_columns(built):
    """Items, the list and rows of comparisons follow the choice, without scripts; heads stand over their columns."""
    every = [item for items in built.items.values() for item in items.values()]
    with visit(built.path.as_uri()) as made:
        for word, verdict in (("all", None), *((verdict.split()[0], verdict) for verdict in VERDICTS)):
            made.page.check(f"#show-{word}")
            articles, listed, rows = made.page.evaluate(_SEEN)
            wanted = [i.key for i in every if verdict is None or verdict in {c.verdict for c in i.comparisons}]
            assert articles == wanted and listed == len(wanted)
            assert rows == (["confirmed", "corrected", "not"] if verdict is None else [word])
        made.page.focus("#show-not")
        made.page.keyboard.press("ArrowUp")
        assert made.page.is_checked("#show-corrected")
        made.page.check("#show-all")
        made.page.evaluate("() => document.querySelectorAll('article')[30].scrollIntoView()")
        assert made.page.locator(".filter").bounding_box()["y"] >= 0  # it stays in view
        apart = made.page.evaluate(
            """() => [...document.querySelectorAll("table")].flatMap((t) => [...t.rows].slice(1, 3).flatMap((row) =>
              [...row.cells].filter((cell, i) => getComputedStyle(cell).textAlign.replace("start", "left") !==
                getComputedStyle(t.rows[0].cells[i]).textAlign.replace("start", "left")))).length"""
        )
        assert apart == 0 and made.messages == []


def test_a_phone_in_the_dark(built):
    """Nothing scrolls sideways but tables in their own boxes, and text can be read."""
    with visit(built.path.as_uri(), width=390, height=844, dark=True) as made:
        wide = made.page.evaluate("() => document.documentElement.scrollWidth")
        inside = made.page.evaluate(
            "() => [...document.querySelectorAll('.scroll')].filter((b) => b.scrollWidth > b.clientWidth).length"
        )
        dark = dict(made.page.evaluate(_CONTRAST))
        assert made.messages == []
    assert wide <= 390 and inside > 0
    assert min(dark.values()) >= 4.5, dark
