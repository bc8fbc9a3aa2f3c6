"""HTML pages from the templates of this package. Every value is escaped, and all pages share one style sheet."""

from __future__ import annotations

from functools import cache
from importlib.resources import files
from typing import Any

from hush.ledger.entry import printable

__all__ = ["render", "style_sheet"]


@cache
def _environment() -> Any:
    from jinja2 import Environment, PackageLoader, StrictUndefined

    made = Environment(
        loader=PackageLoader("hush.report"), autoescape=True, undefined=StrictUndefined, trim_blocks=True
    )
    made.filters["printable"] = printable
    made.filters["printable_lines"] = lambda text: "\n".join(printable(line) for line in text.split("\n"))
    return made


def render(template: str, **values: Any) -> str:
    """The text of a template of this package, filled with values; all of them are escaped for HTML."""
    return str(_environment().get_template(template).render(**values))


@cache
def style_sheet() -> str:
    """The style sheet that the pages of hush share."""
    return files("hush.report").joinpath("templates", "style.css").read_text(encoding="utf-8")
