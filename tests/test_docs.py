"""What the README says is what the code does."""

from __future__ import annotations

import ast
import math
import numbers
import re
from pathlib import Path

import pytest

ROOT = Path(__file__).resolve().parents[1]
PAGES = sorted([ROOT / "README.md", *ROOT.glob("docs/**/*.md")])
#: noises with a page of their own under docs/maths: a family named in the catalogue, or the page of a family
FAMILY_PAGES = frozenset(
    "gaussian laplace osgt flipped_huber stable staircase truncated_laplace exponential_power asinh stepped discrete skellam".split()
)


def _name(page: Path) -> str:
    return str(page.relative_to(ROOT))


def _blocks(page: Path) -> list[str]:
    return re.findall(r"```python\n(.*?)```", page.read_text(), flags=re.DOTALL)


def _printed(line: str) -> str | None:
    """The number that a comment promises: at its start, or behind a colon at its end ("# pure epsilon: 0.5704")."""
    _, mark, comment = line.rpartition("  # ")
    number = r"(-?\d+(?:\.\d+)?(?:e-?\d+)?)"
    found = re.match(number + r"(?![.,]?\d|e)", comment) or re.search(f": {number}$", comment)
    return found[1] if mark and found else None


def _agrees(value: float, printed: str) -> bool:
    """Is the value the printed number, to the digits printed?"""
    mantissa, _, power = printed.partition("e")
    half = 0.5 * 10.0 ** (int(power or 0) - len(mantissa.partition(".")[2]))
    return abs(value - float(printed)) <= half * (1.0 + 1e-9)


def _run(block: str, page: Path, scope: dict[str, object]) -> int:
    """Run a block, statement by statement; how many expressions have a comment that says their number (each must be right)."""
    lines, compared = block.splitlines(), 0
    for statement in ast.parse(block).body:
        if not isinstance(statement, ast.Expr):
            exec(compile(ast.Module([statement], []), page.name, "exec"), scope)
            continue
        value = eval(compile(ast.Expression(statement.value), page.name, "eval"), scope)
        printed = _printed(lines[(statement.end_lineno or 1) - 1])
        if printed is not None and isinstance(value, numbers.Real):
            assert _agrees(float(value), printed), f"{page.name} prints {printed}, the code gives {value}"
            compared += 1
    return compared


@pytest.mark.parametrize("page", [page for page in PAGES if _blocks(page)], ids=_name)
def test_python_blocks_run_and_say_what_the_comments_say(page: Path, tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    """Every block runs; a comment after an expression states the number it gives, to the digits printed."""
    monkeypatch.chdir(tmp_path)
    scope: dict[str, object] = {}
    compared = sum(_run(block, page, scope) for block in _blocks(page))
    if page.name in ("README.md", "choose_epsilon.md", "choose_noise.md") or page.parent.name == "maths" and page.stem in FAMILY_PAGES:
        assert compared >= 1, f"{page.name} shows no number that is checked"


def test_a_wrong_number_in_a_comment_is_found() -> None:
    assert _run("1.0 / 3.0  # 0.333\n", ROOT / "README.md", {}) == 1
    assert _run("1.0 / 3.0  # about a third\n", ROOT / "README.md", {}) == 0
    with pytest.raises(AssertionError, match="prints 0.334"):
        _run("1.0 / 3.0  # 0.334\n", ROOT / "README.md", {})
    with pytest.raises(AssertionError, match="prints 4e-7"):
        _run("3e-7  # 4e-7, small\n", ROOT / "README.md", {})


@pytest.mark.parametrize("page", PAGES, ids=_name)
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
