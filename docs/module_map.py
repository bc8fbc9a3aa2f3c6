"""Write the map of modules in docs/architecture.md from the first sentence of each module's docstring.

    python docs/module_map.py
"""

from __future__ import annotations

import ast
import re
from pathlib import Path

ROOT = Path(__file__).resolve().parents[1]
PAGE = ROOT / "docs" / "architecture.md"
#: The packages from the lowest to the highest, as in the picture of the page.
PACKAGES = [
    *("numerics", "noise", "privacy", "calibration", "sampling", "ledger", "releasing", "workload"),
    *("tables", "learn", "federated", "auditing", "report", "explorer", "cli"),
]


def first_sentence(path: Path) -> str:
    """The first paragraph of a module's docstring, up to the end of its first sentence."""
    text = " ".join((ast.get_docstring(ast.parse(path.read_text())) or "").split("\n\n")[0].split())
    sentence = re.match(r".*?[.:](?= [A-Z]|$)", text)
    return (sentence[0] if sentence else text).rstrip(".:").replace("|", "\\|")


def module_map() -> str:
    """The Markdown of the map: one table a package, also for the packages inside a package."""
    return "\n".join(part for package in PACKAGES for part in _tables(ROOT / "src" / "hush" / package, package))


def _tables(folder: Path, name: str) -> list[str]:
    """The heading and the table of a package, then those of the packages in it."""
    files = [path for path in sorted(folder.glob("*.py")) if path.name != "__init__.py"]
    rows = [f"| `{path.name}` | {first_sentence(path)} |" for path in files]
    parts = [f"### {name}\n\n{first_sentence(folder / '__init__.py')}.\n"]
    if rows:
        parts.append("\n".join(["| module | holds |", "|---|---|", *rows]) + "\n")
    inner = [path.parent for path in sorted(folder.glob("*/__init__.py"))]
    return parts + [part for each in inner for part in _tables(each, f"{name}/{each.name}")]


def written(page: str) -> str:
    """The page with the map of the source as it is now."""
    between = r"(<!-- modules -->\n).*?(<!-- /modules -->)"
    return re.sub(between, lambda found: f"{found[1]}\n{module_map()}\n{found[2]}", page, flags=re.S)


if __name__ == "__main__":
    PAGE.write_text(written(PAGE.read_text()))
