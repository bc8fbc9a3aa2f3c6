"""What the site needs beyond mkdocs.yml: pages from outside docs/, links to them, and doctests shown as code."""

from __future__ import annotations

import posixpath
import re
from pathlib import Path
from typing import Any

import griffe
from mkdocs.structure.files import File, Files

ROOT = Path(__file__).resolve().parents[1]
#: files at the top of the repository that are pages of the site too, the last ones of its navigation
TOP = {"CONTRIBUTING.md": "project/contributing.md", "CHANGELOG.md": "project/changelog.md"}
PAGES = {name: place for name, place in TOP.items() if (ROOT / name).exists()}
#: the repository's front page is the site's
SITE = {**PAGES, "README.md": "index.md"}
_LINK = re.compile(r"\[([^\]\n]*)\]\(([^)#\s]+)(#[^)\s]*)?\)")
_DOCTEST = re.compile(r"((?:^>>> .*\n?)(?:^(?!>>>)(?!\s*$).*\n?|^>>> .*\n?)*)", re.MULTILINE)


def _moved(text: str, where: str) -> str:
    """Links that leave docs/ go to the page that stands for the file; files that are no page stay as text."""

    def link(found: re.Match[str]) -> str:
        words, target, anchor = found[1], found[2], found[3] or ""
        if "://" in target or target.startswith("mailto:"):
            return found[0]
        place = posixpath.normpath(posixpath.join("docs", posixpath.dirname(where), target))
        if place.startswith("docs/"):
            return found[0]
        if place in SITE:
            return f"[{words}]({posixpath.relpath(SITE[place], posixpath.dirname(where) or '.')}{anchor})"
        return words

    return _LINK.sub(link, text)


def on_config(config: Any) -> Any:
    """They end the navigation's last section."""
    (pages,) = config.nav[-1].values()
    pages.extend(PAGES.values())
    return config


def on_files(files: Files, config: Any) -> Files:
    """The pages from the top of the repository, with their links as if they had always been here."""
    for name, place in PAGES.items():
        depth = "../" * place.count("/")
        text = _LINK.sub(lambda m, d=depth: m[0] if "://" in m[2] else _from_top(m, d), (ROOT / name).read_text(encoding="utf-8"))
        files.append(File.generated(config, place, content=text))
    return files


def _from_top(found: re.Match[str], depth: str) -> str:
    words, target, anchor = found[1], found[2], found[3] or ""
    if target in SITE:
        return f"[{words}]({depth}{SITE[target]}{anchor})"
    return f"[{words}]({depth}{target[5:]}{anchor})" if target.startswith("docs/") and target.endswith(".md") else words


def on_page_markdown(markdown: str, page: Any, **_: Any) -> str:
    """Links out of docs/ resolve on the site as they do in the repository."""
    return markdown if page.file.src_uri in PAGES.values() else _moved(markdown, page.file.src_uri)


def on_page_content(html: str, **_: Any) -> str:
    """A header cell says what it heads, for those who hear the table."""
    return re.sub(r"<th(?=[ >])(?![^>]*scope=)", '<th scope="col"', html)


class Doctests(griffe.Extension):
    """Doctests of a docstring become code blocks; without this Markdown takes >>> for a quotation."""

    def on_instance(self, *, obj: griffe.Object, **_: Any) -> None:
        if obj.docstring is not None:
            obj.docstring.value = _DOCTEST.sub(lambda m: f"```pycon\n{m[1].rstrip()}\n```\n", obj.docstring.value)
