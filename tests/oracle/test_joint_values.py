"""Reference values about joint noise that hush does not compute itself: its claims and plans must be on the safe side.

The other values of the same files are compared in tests/noise and tests/privacy.
"""

from __future__ import annotations

import json
from pathlib import Path
from typing import Any

import pytest

import hush


def values(folder: Path, name: str, kind: str) -> list[dict[str, Any]]:
    """The entries of one kind, with their parameters as numbers."""
    found = []
    for row in json.loads((folder / name).read_text())["values"]:
        if kind == row.get("case", row.get("kind")):
            known = row.get("params", row)
            numbers = {k: float(v) for k, v in known.items() if k not in ("case", "derivations", "second")}
            found.append(numbers | {"value": float(row["value"])})
    return found


def test_one_gaussian_number(data_dir: Path) -> None:
    rows = values(data_dir, "interval.json", "gauss_variance_unit")
    for row in rows:
        plan = hush.calibrate(row["eps"], row["delta"], family="gaussian")
        assert plan.variance == pytest.approx(row["value"], rel=1e-9)
    assert len(rows) == 2


def test_blocks_of_cubes_are_as_private_as_laplace_numbers(data_dir: Path) -> None:
    """The true delta of continuous blocks is that of Laplace numbers; the claim for lattice blocks is not below it."""
    rows = values(data_dir, "joint.json", "block_delta")
    for row in rows:
        blocks, columns = int(row["blocks"]), int(row["block_dim"])
        found = hush.curve(hush.Laplace(row["s"]), 1.0, times=blocks).delta_bracket(row["eps"])
        assert found.lower * (1.0 - 1e-9) <= row["value"] <= found.upper * (1.0 + 1e-9)
        assert found.upper == pytest.approx(row["value"], rel=1e-4)
        moves = hush.Sensitivity(columns=(1.0,) * columns, l0=blocks)
        assert hush.delta(hush.Cube(columns, row["s"]), row["eps"], moves) >= row["value"]
    assert len(rows) == 7


@pytest.mark.parametrize("step", [1.0, 0.25])
def test_claims_are_above_the_exact_deltas(data_dir: Path, step: float) -> None:
    """Some of the numbers move, all of them upwards by 1."""
    cubes = values(data_dir, "joint.json", "cube_delta_partial_shift")
    for row in cubes:
        d = int(row["d"])
        claim = hush.delta(hush.Cube(d, row["s"], step), row["eps"], hush.Sensitivity(linf=1.0, dimension=d))
        assert claim >= row["value"]
    counts = values(data_dir, "interval.json", "count_delta")
    for row in counts:
        d, scale = int(row["K"]), 1.0 / (row["eta"] + 0.5)  # the exact delta depends on 1/scale - epsilon alone
        facts = hush.Sensitivity(linf=1.0, dimension=d, one_sided=True)
        assert hush.delta(hush.Interval(d, scale, 0.0, step), 0.5, facts) >= row["value"]
    assert (len(cubes), len(counts)) == (5, 3)


def test_plans_are_not_worse_than_other_joint_noises(data_dir: Path) -> None:
    """Homogeneous relatives of interval noise, and the norm of the product body for numbers of two kinds.

    hush does not have that norm: for exactly two one-sided numbers it needs up to 7 % less than plateau noise, as
    docs/maths/plateau.md states.
    """
    rows = values(data_dir, "interval.json", "gamma_variance")
    for row in rows:
        facts = hush.Sensitivity(linf=1.0, dimension=int(row["K"]), one_sided=True)
        assert hush.calibrate(1.0, 0.0, facts).variance <= row["value"]
    mixed = values(data_dir, "interval.json", "mixed_variance_one_sided")
    for row in mixed:
        p, q = int(row["p"]), int(row["q"])
        both = (p + q + 1.0) * (p + q + 2.0) / 3.0  # the variance of a two-sided number
        facts = hush.Sensitivity(linf=1.0, dimension=p + q, one_sided=(True,) * p + (False,) * q)
        known = (p * row["value"] + q * both) / (p + q)
        assert hush.calibrate(1.0, 0.0, facts).variance <= known * (1.07 if p == 2 else 1.0)
    assert (len(rows), len(mixed)) == (4, 3)
