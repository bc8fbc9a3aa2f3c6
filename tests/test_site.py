"""The documentation site: it builds without a warning, its links resolve, and it fetches nothing from elsewhere."""

from __future__ import annotations

import functools
import http.server
import os
import re
import subprocess
import sys
import threading
import urllib.parse
from collections.abc import Iterator
from contextlib import contextmanager
from html.parser import HTMLParser
from pathlib import Path

import pytest
from browser import visit

import hush

ROOT = Path(__file__).resolve().parents[1]
CONFIG = ROOT / "mkdocs.yml"


class _Page(HTMLParser):
    """A built page: its anchors, its links, and the addresses that a browser fetches when it opens the page."""

    def __init__(self, text: str) -> None:
        super().__init__()
        self.anchors: set[str] = set()
        self.links: list[str] = []
        self.fetched: list[str] = []
        self.headers_without_scope = 0
        self.feed(text)

    def handle_starttag(self, tag: str, attrs: list[tuple[str, str | None]]) -> None:
        given = {name: value or "" for name, value in attrs}
        self.anchors.update(given[name] for name in ("id", "name") if name in given)
        self.headers_without_scope += tag == "th" and "scope" not in given
        if tag == "a" and "href" in given:
            self.links.append(given["href"])
        elif tag in ("link", "script", "img", "iframe", "source"):
            self.fetched += [given[name] for name in ("href", "src") if given.get(name)]


@pytest.fixture(scope="module")
def site(tmp_path_factory: pytest.TempPathFactory) -> Path:
    """The built site. The build must print nothing, neither warnings nor other output."""
    for needed in ("mkdocs", "material", "mkdocstrings_handlers.python"):
        pytest.importorskip(needed)
    out = tmp_path_factory.mktemp("site")
    words = [
        sys.executable,
        "-m",
        "mkdocs",
        "build",
        "--strict",
        "--quiet",
        "--config-file",
        str(CONFIG),
        "--site-dir",
        str(out),
    ]
    quiet = os.environ | {"NO_MKDOCS_2_WARNING": "1"}  # suppress an advertisement that is not about this site
    built = subprocess.run(words, capture_output=True, text=True, check=False, cwd=ROOT, env=quiet)
    assert built.returncode == 0 and not built.stdout + built.stderr, built.stdout + built.stderr
    return out


@pytest.fixture(scope="module")
def pages(site: Path) -> dict[Path, _Page]:
    return {path: _Page(path.read_text(encoding="utf-8")) for path in sorted(site.rglob("*.html"))}


def _navigation() -> list[str]:
    text = CONFIG.read_text(encoding="utf-8")
    return re.findall(r"([\w/]+\.md)\s*$", text[text.index("\nnav:") :], flags=re.MULTILINE)


def test_navigation_and_pages_are_the_same_set() -> None:
    pages = {path.relative_to(ROOT / "docs").as_posix() for path in (ROOT / "docs").rglob("*.md")}
    named = _navigation()
    assert len(named) == len(set(named)), "a page is twice in the navigation"
    assert pages - set(named) == set(), "pages that mkdocs.yml does not name"
    assert set(named) - pages == set(), "names without a page"


def test_every_page_is_built(site: Path) -> None:
    for page in (*_navigation(), "project/changelog.md"):
        assert (site / page).with_suffix(".html").exists(), page


def test_links_and_anchors_resolve(site: Path, pages: dict[Path, _Page]) -> None:
    checked = 0
    for path, page in pages.items():
        if path.name == "404.html":
            continue  # its links are made for the root of a server
        for link in page.links:
            parts = urllib.parse.urlsplit(link)
            if parts.scheme or parts.netloc:
                continue
            target = (path.parent / urllib.parse.unquote(parts.path)).resolve() if parts.path else path
            target = target / "index.html" if target.is_dir() else target
            where = f"{path.relative_to(site)} links to {link}"
            assert target.exists(), where
            if parts.fragment and target in pages:
                assert urllib.parse.unquote(parts.fragment) in pages[target].anchors, where
            checked += 1
    assert checked > 1000


def test_nothing_is_fetched_from_elsewhere(pages: dict[Path, _Page]) -> None:
    for path, page in pages.items():
        for address in page.fetched:
            assert not re.match(r"(https?:)?//", address), f"{path.name} asks for {address}"


def test_tables_are_tables_and_their_headers_say_what_they_head(pages: dict[Path, _Page]) -> None:
    for path, page in pages.items():
        assert page.headers_without_scope == 0, path.name
        assert "|---" not in path.read_text(encoding="utf-8"), f"{path.name} shows a table as text"


def test_the_reference_has_every_public_name(pages: dict[Path, _Page]) -> None:
    """Every public name has a heading: the name that a user writes, or the place where it is defined."""
    from hush import errors, federated, learn, report, stream, tables, workload
    from hush.privacy import conversion, gaussian

    reference = {path: page for path, page in pages.items() if path.parent.name == "api"}
    modules = [
        path.stem for path in reference for _ in re.findall("doc-object doc-module", path.read_text(encoding="utf-8"))
    ]
    assert modules == ["errors"], "the reference shows a module instead of the function of that name"
    anchors = {anchor for page in reference.values() for anchor in page.anchors}
    for module in (hush, errors, federated, learn, report, stream, tables, workload, gaussian, conversion):
        for name in module.__all__:
            if name not in ("__version__", "gaussian"):  # a text, and a module
                own = getattr(module, name).__module__
                places = {f"{module.__name__}.{name}", f"{module.__name__}.{name}.{name}", f"{own}.{name}"}
                if getattr(hush, name, None) is getattr(module, name):
                    places.add(f"hush.{name}")
                assert places & anchors, f"the reference does not have {module.__name__}.{name}"


@contextmanager
def _served(folder: Path) -> Iterator[str]:
    class Quiet(http.server.SimpleHTTPRequestHandler):
        def log_message(self, *_: object) -> None:
            pass

    with http.server.ThreadingHTTPServer(("127.0.0.1", 0), functools.partial(Quiet, directory=str(folder))) as server:
        threading.Thread(target=server.serve_forever, daemon=True).start()
        yield f"http://127.0.0.1:{server.server_port}"
        server.shutdown()


@pytest.mark.parametrize(
    ("page", "width", "dark"), [("choose_noise.html", 1280, False), ("api/privacy.html", 390, True)]
)
def test_a_browser_is_content(site: Path, page: str, width: int, dark: bool) -> None:
    """No message in the console, no request elsewhere, no sideways scrolling; colours follow the system; search
    works.
    """
    with _served(site) as address, visit(f"{address}/{page}", width=width, dark=dark) as seen:
        assert seen.messages == []
        assert seen.page.evaluate("document.documentElement.scrollWidth") <= width
        scheme = seen.page.evaluate("document.body.getAttribute('data-md-color-scheme')")
        assert scheme == ("slate" if dark else "default")
        if not dark:
            seen.page.keyboard.press("/")
            seen.page.keyboard.type("staircase")
            assert "staircase" in seen.page.wait_for_selector(".md-search-result__link").get_attribute("href")
            assert seen.messages == []
        assert all(asked.startswith((address, "data:", "blob:")) for asked in seen.requests), seen.requests
