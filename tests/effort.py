"""How much a test tries: little in `make test`, everything in `make test-all`.

`make test` deselects the tests marked `exhaustive`. The same choice decides here, so that a test has one body: it takes
a few examples, or the corners of a grid, where exhaustive tests are left out, and all of them elsewhere.
"""

from __future__ import annotations

import random
from collections.abc import Iterable
from typing import Any

import pytest

__all__ = ["choose", "examples", "thinned", "thorough"]

_DESELECTED = "not exhaustive"
_thorough = True


def choose(selection: str) -> None:
    """Take the marks that pytest was asked to select. tests/conftest.py calls this before any test is read."""
    global _thorough
    _thorough = _DESELECTED not in selection


def thorough() -> bool:
    """Are exhaustive tests selected?"""
    return _thorough


def examples(few: int, many: int) -> int:
    """The number of examples, repetitions or cases: few where exhaustive tests are left out, else many."""
    if not 0 < few <= many:
        raise ValueError(f"few = {few} must be at least 1 and at most many = {many}")
    return many if _thorough else few


def thinned(grid: Iterable[Any], few: int) -> list[Any]:
    """The cases of a parameter grid. `few` of them stay in `make test`: the first, the last and a sample of the others
    that is always the same. The rest is marked `exhaustive`.
    """
    cases = list(grid)
    order = [0, len(cases) - 1, *random.Random(2026).sample(range(1, len(cases) - 1), max(len(cases) - 2, 0))]
    kept = set(order[:few])
    return [case if place in kept else _exhaustive(case) for place, case in enumerate(cases)]


def _exhaustive(case: Any) -> Any:
    if hasattr(case, "marks"):  # a pytest.param
        return pytest.param(*case.values, marks=(*case.marks, pytest.mark.exhaustive), id=case.id)
    return pytest.param(*(case if isinstance(case, tuple) else (case,)), marks=pytest.mark.exhaustive)
