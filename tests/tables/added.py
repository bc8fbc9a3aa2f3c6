"""The aggregate `share` of docs/add_an_aggregate.md, and the same in Python."""

from __future__ import annotations

import re
from functools import cache
from pathlib import Path
from typing import Any

PAGE = Path(__file__).resolve().parents[2] / "docs" / "add_an_aggregate.md"


@cache
def share() -> Any:
    """The page's public function."""
    (block,) = [b for b in re.findall(r"```python\n(.*?)```", PAGE.read_text(), flags=re.DOTALL) if "class Share" in b]
    scope: dict[str, Any] = {"__name__": "page_add_an_aggregate"}
    exec(compile(block, PAGE.name, "exec", dont_inherit=True), scope)
    return scope["share"]


def exact(rows: list[dict[str, Any]], unit: str, by: str, condition: Any) -> dict[Any, tuple[int, int]]:
    """(sum, count) of each group where each person's rows all count: +1 for true, -1 for false, nothing for null."""
    found: dict[Any, tuple[int, int]] = {}
    for row in rows:
        holds = condition(row)
        if row[unit] is not None and holds is not None:
            total, count = found.get(row[by], (0, 0))
            found[row[by]] = total + (1 if holds else -1), count + 1
    return found
