"""Rounding is defined in numerics/ only: no other package has a literal factor near 1, or `nextafter`."""

from __future__ import annotations

import ast
from pathlib import Path

import pytest

import hush

SOURCE = Path(hush.__file__).parent

#: Packages that are not checked.
_OTHERS = {"numerics", "papers"}
_SMALL = 1e-3


def _files() -> list[Path]:
    return sorted(path for path in SOURCE.rglob("*.py") if path.relative_to(SOURCE).parts[0] not in _OTHERS)


def _small(node: ast.expr) -> bool:
    """Return True for a tiny literal, or a product with one."""
    if isinstance(node, ast.BinOp) and isinstance(node.op, ast.Mult):
        return _small(node.left) or _small(node.right)
    if isinstance(node, ast.BinOp) and isinstance(node.op, ast.Pow):
        power = node.right
        return (
            isinstance(power, ast.UnaryOp)
            and isinstance(power.op, ast.USub)
            and isinstance(power.operand, ast.Constant)
        )
    return isinstance(node, ast.Constant) and isinstance(node.value, float) and 0.0 < node.value < _SMALL


def _one(node: ast.expr) -> bool:
    return isinstance(node, ast.Constant) and type(node.value) in (int, float) and node.value == 1


def factors(text: str) -> list[int]:
    """Return the lines with 1 + tiny, 1 - tiny, or a use of nextafter."""
    found = []
    for node in ast.walk(ast.parse(text)):
        if (
            isinstance(node, ast.BinOp)
            and isinstance(node.op, ast.Add | ast.Sub)
            and _one(node.left)
            and _small(node.right)
        ):
            found.append(node.lineno)
        name = node.attr if isinstance(node, ast.Attribute) else node.id if isinstance(node, ast.Name) else ""
        if name == "nextafter":
            found.append(node.lineno)
    return sorted(found)


def test_factors_are_named_claims():
    files = _files()
    assert len(files) > 300
    found = [f"{path.relative_to(SOURCE)}, line {line}" for path in files for line in factors(path.read_text())]
    assert not found, f"{found}: write up(x, CLAIM), down(x, CLAIM), next_up(x) or next_down(x)"


@pytest.mark.parametrize(
    ("text", "count"),
    [
        ("x * (1.0 + 1e-13)", 1),
        ("UP = 1 - 4e-16 * (n + 16)", 1),
        ("UP = 1.0 + 4.0 * 2.0**-52", 1),
        ("np.nextafter(x, np.inf) + math.nextafter(y, 0.0)", 2),
        ("1.0 + x, 1.0 - 0.5 * y, up(x, CLOSED_FORM), x - 1e-9, 2.0**-3, 1.0 - 2.0 ** -np.arange(9.0)", 0),
    ],
)
def test_the_check_finds_factors(text, count):
    assert len(factors(text)) == count
