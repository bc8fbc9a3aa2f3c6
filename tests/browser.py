"""A page in headless Chromium: what it asked for, what its console said. Tests that need it are skipped where there
is no Chromium.
"""

from __future__ import annotations

import os
import shutil
from collections.abc import Iterator
from contextlib import contextmanager
from dataclasses import dataclass, field

import pytest

__all__ = ["Visit", "visit"]

#: a browser that talks to nobody of its own accord
FLAGS = (
    "--no-sandbox",
    "--disable-gpu",
    "--disable-quic",
    "--no-first-run",
    "--disable-background-networking",
    "--disable-component-update",
    "--disable-sync",
)


def _chromium() -> str:
    for name in (os.environ.get("HUSH_CHROMIUM"), "chromium", "chromium-browser", "google-chrome"):
        if name and (path := shutil.which(name)):
            return path
    pytest.skip("no Chromium here; `.ci/run` installs one, or name one in HUSH_CHROMIUM")


@dataclass
class Visit:
    """An open page, with the console's messages (errors of the page among them) and the addresses it asked for."""

    page: object
    messages: list[str] = field(default_factory=list)
    requests: list[str] = field(default_factory=list)


@contextmanager
def visit(address: str, *, width: int = 1280, height: int = 900, dark: bool = False) -> Iterator[Visit]:
    """Open an address (http or file) and give the page; nothing else is open."""
    sync_api = pytest.importorskip("playwright.sync_api")
    with sync_api.sync_playwright() as playwright:
        browser = playwright.chromium.launch(executable_path=_chromium(), args=list(FLAGS))
        context = browser.new_context(
            viewport={"width": width, "height": height},
            color_scheme="dark" if dark else "light",
            has_touch=width < 600,
            permissions=["clipboard-read", "clipboard-write"],
        )
        made = Visit(context.new_page())
        made.page.on("console", lambda message: made.messages.append(f"{message.type}: {message.text}"))
        made.page.on("pageerror", lambda error: made.messages.append(f"error: {error}"))
        made.page.on("request", lambda request: made.requests.append(request.url))
        made.page.goto(address, wait_until="load")
        yield made
        browser.close()
