"""Write docs/museum.md from the exhibits and from what bench/museum.py measured: python tests/museum/page.py"""

from __future__ import annotations

import json
import sys
from pathlib import Path
from typing import Any

ROOT = Path(__file__).resolve().parents[2]
sys.path.insert(0, str(ROOT / "tests"))

from museum.exhibits import EXHIBITS, THEMES, Exhibit  # noqa: E402

__all__ = ["PAGE", "text"]

PAGE = ROOT / "docs" / "museum.md"
RESULTS = ROOT / "docs" / "results" / "museum.json"
NAMES = {
    "opendp": "OpenDP",
    "opacus": "Opacus",
    "python-dp": "PyDP",
    "pipeline-dp": "PipelineDP",
    "smartnoise-sql": "SmartNoise SQL",
    "tmlt.core": "Tumult Core",
}
HEAD = """# A museum of published bugs

Software for differential privacy has had bugs that broke its promise. This page lists {count} of them that were
published: in papers, and in threads of the projects, which often found and corrected them themselves. Each one has a
test in hush, which runs the attack twice: on a few lines that have the bug, where it must succeed, and on hush, where
it must fail. In a clone, `python -m pytest -n 0 tests/museum` runs all of them in less than a minute.

- **Why not here** says what makes the attack fail, or that the call does not exist.
- **Today** is the same attack on a named library, run on {date} by `bench/museum.py` with the version that is stated.
  "Succeeds" is about that one call with its documented arguments. A library may document the behaviour, warn about it,
  or offer another call without it. An empty field: not run.
- Of the 13 bugs of Re:cord-play (Cebere, Erb, Desfontaines, Bellet, Fitzsimons 2026) the table has those that public
  threads or the paper's own examples describe.
- A museum shows old bugs. It does not prove that hush has no others: read the [security model](security.md).

Many of the attacks use [`hush.audit.replay`](audit.md#replay-what-else-depends-on-the-data), which you can run on your
own functions.
"""


def text() -> str:
    """The page."""
    measured = json.loads(RESULTS.read_text())
    parts = [HEAD.format(count=len(EXHIBITS), date=measured["date"])]
    for theme, (file, exhibits) in THEMES.items():
        parts.append(f"\n## {theme}\n\nThe attacks are in `tests/museum/{file}`.\n")
        parts.append("| where | what broke | why not here | today | attack |\n|---|---|---|---|---|")
        parts += [_row(one, measured["results"]) for one in exhibits]
    return "\n".join(parts) + "\n"


def _row(one: Exhibit, results: list[dict[str, Any]]) -> str:
    attack = "`" + one.test.removeprefix("test_") + "`"
    where = f"{one.system}: [{one.source}]({one.link})"
    return f"| {where} | {one.broke} | {one.here} | {_today(one.peer, results)} | {attack} |"


def _today(check: str, results: list[dict[str, Any]]) -> str:
    said = []
    for row in results:
        if check and row["check"] == check:
            word = {True: "succeeds", False: "fails", None: "not run"}[row["succeeds"]]
            name = f"{NAMES.get(row['package'], row['package'])} {row['version']}"
            said.append(f"{name}: {word}" if row["succeeds"] is None else f"{name}: {word} ({row['fact']})")
    return "; ".join(said)


if __name__ == "__main__":
    PAGE.write_text(text())
