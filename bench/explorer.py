"""How long the explorer takes from a moved slider to the painted page, in a real browser."""

from __future__ import annotations

import os
import shutil
import statistics
import threading
from collections.abc import Iterator
from typing import Any

from record import Benchmark, Line, Note, main

from hush.explorer import Server

#: Move sliders at random, wait until the page says that all of it is painted, and note how long it took. `all`: every
#: slider at once. `chosen` selects the sliders.
MOVES = """async ({ moves, all, chosen }) => {
  const sliders = [...document.querySelectorAll(chosen)];
  const taken = [];
  for (let i = 0; i < moves; i++) {
    const before = document.body.dataset.drawn;
    const some = all ? sliders : [sliders[Math.floor(Math.random() * sliders.length)]];
    for (const slider of some) {
      const other = Math.floor(Math.random() * slider.max);
      slider.value = other + (other >= slider.value);
      slider.dispatchEvent(new Event("input"));
    }
    while (document.body.dataset.drawn === before) await new Promise((done) => setTimeout(done, 5));
    taken.push(Number(document.body.dataset.milliseconds));
  }
  return taken;
}"""


def _chromium() -> str | None:
    names = (os.environ.get("HUSH_CHROMIUM"), "chromium", "chromium-browser", "google-chrome")
    return next((path for name in names if name and (path := shutil.which(name))), None)


def _timed(moves: int) -> dict[str, list[float]]:
    from playwright.sync_api import sync_playwright

    with Server("127.0.0.1", 0) as server, sync_playwright() as playwright:
        threading.Thread(target=server.serve_forever, daemon=True).start()
        browser = playwright.chromium.launch(executable_path=_chromium(), args=["--no-sandbox", "--disable-gpu"])
        page: Any = browser.new_page(viewport={"width": 1280, "height": 900})
        page.goto(server.address)
        page.wait_for_selector("body[data-drawn]")
        one = {"chosen": "input[type=range]:not(#numbers)"}  # one number per person
        several = {"chosen": "#epsilon, #delta, #sensitivity, #numbers"}
        page.evaluate(MOVES, {"moves": 5, "all": True, **one})  # imports and fonts are loaded once, before
        found = {
            "one slider moved": page.evaluate(MOVES, {"moves": moves, "all": False, **one}),
            "all sliders moved at once": page.evaluate(MOVES, {"moves": moves, "all": True, **one}),
            "several numbers, their sliders at once": page.evaluate(MOVES, {"moves": moves, "all": True, **several}),
        }
        browser.close()
        server.shutdown()
    return found


def measure(quick: bool) -> Iterator[Line | Note]:
    """Milliseconds of an update: median, the slowest in twenty, the slowest."""
    if _chromium() is None:
        yield Note("No Chromium here; name one in HUSH_CHROMIUM.")
        return
    for what, taken in _timed(10 if quick else 80).items():
        for against, value in (
            ("median", statistics.median(taken)),
            ("95 of 100 below", statistics.quantiles(taken, n=20, method="inclusive")[-1]),
            ("slowest", max(taken)),
        ):
            yield Line(what, against, value, "ms", "lower", extra=f"{len(taken)} moves" if against == "median" else "")


BENCHMARKS = (
    Benchmark(
        key="explorer",
        title="The explorer's answer to a slider",
        measures=(
            "Milliseconds from the input of a slider to the painted page: calibrating and proving the least noise "
            "of every family, drawing pictures and table."
        ),
        fair=(
            "The page measures itself in headless Chromium, at random positions, so that hardly any state occurs "
            "twice and the server's cache does not help. With several numbers, the time includes a live calibration "
            "and the proved lower bound. Server and browser share the machine."
        ),
        rows="what moves",
        minutes=0.7,
        measure=measure,
    ),
)

if __name__ == "__main__":
    raise SystemExit(main(BENCHMARKS))
