"""What the README says is what the code does."""

from __future__ import annotations

import re
from pathlib import Path

import pytest

ROOT = Path(__file__).resolve().parents[1]
PAGES = sorted([ROOT / "README.md", *ROOT.glob("docs/**/*.md")])


def _blocks(page: Path) -> list[str]:
    return re.findall(r"```python\n(.*?)```", page.read_text(), flags=re.DOTALL)


@pytest.mark.parametrize("page", [page for page in PAGES if _blocks(page)], ids=lambda page: page.name)
def test_python_blocks_run_and_say_what_the_comments_say(page: Path) -> None:
    """Every block runs; a comment after an expression starts with the number it gives, to the digits printed."""
    scope: dict[str, object] = {}
    compared = 0
    for block in _blocks(page):
        exec(compile(block, page.name, "exec"), scope)
        for line in block.splitlines():
            found = re.match(r"(hush\.(?:delta|epsilon)\(.*?\))\s+#.*?(\d+\.\d+)$", line)
            if found:
                digits = len(found[2].split(".")[1])
                assert round(float(eval(found[1], scope)), digits) == float(found[2])
                compared += 1
    if page.name == "README.md":
        assert compared >= 3


@pytest.mark.parametrize("page", PAGES, ids=lambda page: page.name)
def test_links_resolve(page: Path) -> None:
    for target in re.findall(r"\]\(([^)#]+)\)", page.read_text()):
        if "://" not in target:
            assert (page.parent / target).exists(), f"{page.name} links to {target}"


def test_every_room_of_the_source_is_on_the_map() -> None:
    text = (ROOT / "docs" / "architecture.md").read_text()
    for source in (ROOT / "src" / "hush").rglob("*.py"):
        if source.stem not in ("__init__", "__main__"):
            assert source.stem in text, f"docs/architecture.md does not mention {source.name}"


def test_the_map_of_theorems_names_what_exists() -> None:
    """Every hush name and every test file in docs/theorems.md is there."""
    import importlib

    import hush

    text = (ROOT / "docs" / "theorems.md").read_text()
    names = {name.rstrip(".") for name in re.findall(r"`(hush\.[A-Za-z_.0-9]+)", text)}
    assert len(names) > 40
    for name in names:
        found: object = hush
        done = "hush"
        for part in name.split(".")[1:]:
            done += "." + part
            found = getattr(found, part) if hasattr(found, part) else importlib.import_module(done)
    for path in set(re.findall(r"tests/[\w/]+\.py", text)):
        assert (ROOT / path).exists(), f"docs/theorems.md names {path}"
