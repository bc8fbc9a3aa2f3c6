"""Markdown tables, and how measured text is written into a page.

The text replaces whatever is between the markers `<!-- name -->` and `<!-- /name -->` (or `<!-- end -->`).
"""

from __future__ import annotations

import re
from collections.abc import Sequence


def table(head: Sequence[str], rows: Sequence[Sequence[str]]) -> str:
    """A Markdown table.

    >>> print(table(["a", "b"], [["1", "2"]]))
    | a | b |
    |---|---|
    | 1 | 2 |
    """
    lines = ["| " + " | ".join(head) + " |", "|" + "---|" * len(head)]
    return "\n".join([*lines, *("| " + " | ".join(row) + " |" for row in rows)])


def insert(page: str, name: str, made: str) -> str:
    """Return the page with `made` between the markers of that name; the earlier text there is replaced.

    >>> insert("<!-- x -->\\nold\\n<!-- /x -->", "x", "new")
    '<!-- x -->\\nnew\\n<!-- /x -->'
    """
    pattern = rf"(<!-- {re.escape(name)} -->\n).*?(<!-- (?:/{re.escape(name)}|end) -->)"
    if not re.search(pattern, page, flags=re.S):
        raise LookupError(
            f"the page has no markers <!-- {name} --> and <!-- /{name} -->; add them, each on its own line."
        )
    return re.sub(pattern, lambda match: f"{match[1]}{made}\n{match[2]}", page, count=1, flags=re.S)
