"""hush_papers uses only public names of hush: what it needs, a user of hush can have too."""

from __future__ import annotations

import ast
from pathlib import Path

import hush_papers
import pytest

import hush

SOURCE = Path(hush_papers.__file__).parent
FILES = sorted(SOURCE.rglob("*.py"))
REFERENCE = Path(__file__).resolve().parents[2] / "docs" / "api"

#: Packages whose `__all__` is public.
PACKAGES = {"hush", "hush.federated", "hush.learn", "hush.report", "hush.tables"}
#: Modules below them that are public because docs/api documents each name that is used: conversions between notions
#: of privacy, bounds that papers print, the accounting of one paper, the type of the argument `entropy=`, the style
#: sheet of pages, progress on a terminal, and how messages print a value.
DOCUMENTED = {"hush.learn.zcdp", "hush.privacy.conversion", "hush.privacy.paper_bounds", "hush.sampling.entropy"}
DOCUMENTED |= {"hush.releasing.progress", "hush.report.render", "hush.errors"}


def imported(text: str) -> list[tuple[str, str]]:
    """(module, name) of every import from hush; the name is empty for `import module`."""
    found = []
    for node in ast.walk(ast.parse(text)):
        if isinstance(node, ast.Import):
            found += [(each.name, "") for each in node.names if each.name.split(".")[0] == "hush"]
        elif isinstance(node, ast.ImportFrom) and (node.module or "").split(".")[0] == "hush":
            found += [(str(node.module), each.name) for each in node.names]
    return found


def documented(name: str) -> bool:
    return any(f"::: {name}\n" in page.read_text() for page in REFERENCE.glob("*.md"))


def is_public(module: str, name: str) -> bool:
    """Whether `from module import name`, or `import module`, uses a public name."""
    if f"{module}.{name}" in DOCUMENTED:
        return True
    if module in DOCUMENTED:
        return not name or documented(f"{module}.{name}")
    if module not in PACKAGES:
        return False
    public = __import__(module, fromlist=["__all__"]).__all__
    return not name or name in public


def attributes(text: str) -> set[str]:
    """x of every `hush.x` in the code."""
    return {
        node.attr
        for node in ast.walk(ast.parse(text))
        if isinstance(node, ast.Attribute) and isinstance(node.value, ast.Name) and node.value.id == "hush"
    }


@pytest.mark.parametrize("path", FILES, ids=lambda path: str(path.relative_to(SOURCE)))
def test_only_public_names_are_imported(path: Path) -> None:
    text = path.read_text()
    assert [found for found in imported(text) if not is_public(*found)] == []
    assert attributes(text) <= set(hush.__all__)


@pytest.mark.parametrize("path", FILES, ids=lambda path: str(path.relative_to(SOURCE)))
def test_no_private_attribute_of_another_object(path: Path) -> None:
    private = [
        f"line {node.lineno}: {node.attr}"
        for node in ast.walk(ast.parse(path.read_text()))
        if isinstance(node, ast.Attribute) and node.attr.startswith("_") and not node.attr.startswith("__")
    ]
    assert private == []


@pytest.mark.parametrize(
    ("line", "allowed"),
    [
        ("from hush import Gaussian", True),
        ("from hush.learn import zcdp", True),
        ("from hush.privacy.conversion import best_delta", True),
        ("from hush import nearest", False),
        ("from hush.errors import needs", False),
        ("from hush.noise.gaussian import Gaussian", False),
        ("from hush.privacy.conversion import _one_delta", False),
        ("import hush.numerics.root", False),
    ],
)
def test_the_check_notices_private_names(line: str, allowed: bool) -> None:
    assert all(is_public(*found) for found in imported(line)) == allowed
