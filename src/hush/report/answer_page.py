"""An answer as one HTML page that needs no other file."""

from __future__ import annotations

from typing import Any

from hush.report.render import render

__all__ = ["answer_page"]


def answer_page(answer: Any, title: str = "Private statistics") -> str:
    """The page of an answer: all its groups with bars, and its receipt. Every text in it is escaped."""
    return render("answer.html", title=title, body=answer.to_html())
