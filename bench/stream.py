"""Errors of streams beside their rivals, at (1, 1e-6): planned for all strategies, and measured for the chosen one.

    .venv/bin/python bench/stream.py [runs]

The counts are made up: errors of the noise do not depend on them. Rivals: Gaussian noise on each period, and the
binary tree of Chan, Shi and Song 2011 with Gaussian noise, where a total is the sum of the nodes that cover it.
"""

from __future__ import annotations

import sys
import time

import numpy as np

import hush
from hush.stream import StreamAnswer, StreamPlan

SIGMA2 = 4.224678889326838**2  # of Gaussian noise for a move of 1 at (1, 1e-6)


def binary_tree(horizon: int) -> tuple[float, float]:
    """The mean squared error of running totals: the number of levels times the mean number of ones in t. First for a
    tree over the next power of two, then for one without the blocks that do not fit.
    """
    ones = float(np.mean([t.bit_count() for t in range(1, horizon + 1)]))
    return ((horizon - 1).bit_length() + 1) * ones * SIGMA2, horizon.bit_length() * ones * SIGMA2


def measured(plan: StreamPlan, runs: int) -> float:
    """The mean squared error of the published answers over independent streams."""
    horizon, window = plan.strategy.horizon, plan.stream.window
    truth = np.random.default_rng(1).integers(0, 500, horizon).tolist()
    exact = [plan.strategy.measured(truth[:t]) for t in range(1, horizon + 1)]
    sums = np.concatenate([[0], np.cumsum(truth)])
    asked = np.array([sums[t] - sums[max(0, t - window)] for t in range(1, horizon + 1)])
    squares = []
    for _ in range(runs):
        drawn = {part: iter(_draws(plan, part, 2 * horizon)) for part in {p for period in exact for p, _ in period}}
        noisy = tuple(tuple(value + int(next(drawn[part])) for part, value in period) for period in exact)
        squares.append(float(((StreamAnswer(plan, noisy, {}).published - asked) ** 2).mean()))
    return float(np.mean(squares))


def _draws(plan: StreamPlan, part: int, count: int) -> list[int]:
    made = plan.strategy.single(part)
    found: list[int] = hush.draw(made.noise, count, made.step).tolist()
    return found


def shown(asked: dict[str, object], delta: float, runs: int) -> None:
    """Print one line."""
    start = time.process_time()
    plan = hush.stream(**asked).plan(1.0, delta)
    took = time.process_time() - start
    found = f", measured {measured(plan, runs):.5g}" if runs else ""
    print(
        f"{plan.stream!r}, delta {delta:g}: {plan.strategy.name}, planned {plan.mse:.5g}{found} ({took:.1f} s to plan)"
    )
    for candidate in plan.candidates[1:]:
        if not candidate.reason:
            print(f"    {candidate.name} {candidate.error:.5g}")
    if asked.get("appears", 1) == 1 and asked.get("question") is None and asked["horizon"] is not None and delta > 0.0:
        padded, fitted = binary_tree(int(str(asked["horizon"])))
        print(f"    binary tree with Gaussian noise {padded:.5g}; without the blocks that do not fit {fitted:.5g}")


if __name__ == "__main__":
    often = int(sys.argv[1]) if len(sys.argv) > 1 else 200
    for horizon in (12, 52, 365):
        shown({"horizon": horizon}, 1e-6, often)
    shown({"horizon": 4096}, 1e-6, 0)
    shown({"horizon": 365}, 0.0, often)
    shown({"horizon": 365, "appears": 12, "apart": 30}, 1e-6, often)
    shown({"horizon": 365, "appears": 365}, 1e-6, often)
    for window in (7, 30, 90):
        shown({"horizon": 365, "question": window}, 1e-6, often)
    shown({"horizon": None}, 1e-6, 0)
