"""Hooks of the documentation site: pages from outside docs/, links to them, and doctests shown as code."""

from __future__ import annotations

import posixpath
import re
from pathlib import Path
from typing import Any

import griffe
from mkdocs.structure.files import File, Files

ROOT = Path(__file__).resolve().parents[1]
#: files at the top of the repository that become the last pages of the site's navigation
TOP = {"CONTRIBUTING.md": "project/contributing.md", "CHANGELOG.md": "project/changelog.md"}
PAGES = {name: place for name, place in TOP.items() if (ROOT / name).exists()}
#: where a link to a file at the top leads on the site; links to the README lead to the front page
SITE = {**PAGES, "README.md": "index.md"}
_LINK = re.compile(r"\[([^\]\n]*)\]\(([^)#\s]+)(#[^)\s]*)?\)")
_DOCTEST = re.compile(r"((?:^>>> .*\n?)(?:^(?!>>>)(?!\s*$).*\n?|^>>> .*\n?)*)", re.MULTILINE)


def _moved(text: str, where: str) -> str:
    """Rewrite links that leave docs/: to the page made from the file, or to text if no page is made from it."""

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
    """Append the pages from the top of the repository to the last section of the navigation."""
    (pages,) = config.nav[-1].values()
    pages.extend(PAGES.values())
    return config


def on_files(files: Files, config: Any) -> Files:
    """Add the pages from the top of the repository, with their links rewritten for the site."""
    for name, place in PAGES.items():
        depth = "../" * place.count("/")
        source = (ROOT / name).read_text(encoding="utf-8")
        text = _LINK.sub(lambda m, d=depth: m[0] if "://" in m[2] else _from_top(m, d), source)
        files.append(File.generated(config, place, content=text))
    return files


def _from_top(found: re.Match[str], depth: str) -> str:
    words, target, anchor = found[1], found[2], found[3] or ""
    if target in SITE:
        return f"[{words}]({depth}{SITE[target]}{anchor})"
    return f"[{words}]({depth}{target[5:]}{anchor})" if target.startswith("docs/") and target.endswith(".md") else words


def on_page_markdown(markdown: str, page: Any, **_: Any) -> str:
    """Rewrite the links of a page that lead out of docs/."""
    return markdown if page.file.src_uri in PAGES.values() else _moved(markdown, page.file.src_uri)


def on_page_content(html: str, **_: Any) -> str:
    """Mark header cells of tables as column headers, for screen readers."""
    return re.sub(r"<th(?=[ >])(?![^>]*scope=)", '<th scope="col"', html)


class Doctests(griffe.Extension):
    """Show the doctests of a docstring as code blocks; Markdown would read >>> as a quotation."""

    def on_instance(self, *, obj: griffe.Object, **_: Any) -> None:
        if obj.docstring is not None:
            obj.docstring.value = _DOCTEST.sub(lambda m: f"```pycon\n{m[1].rstrip()}\n```\n", obj.docstring.value)
