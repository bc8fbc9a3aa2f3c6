"""Passes, step, clipping and solver from public facts only: rows, columns and budget. Nothing is tuned on the data.

The rules are closed forms in rho = 2 sigma_1 sqrt(K) / N, the noise of one full gradient relative to what can be
learned from N rows; K counts the intercept, sigma_1 is the Gaussian amount for the descent's share of the budget. How
they were found and what they lose against tuned values is in docs/learn.md.
"""

from __future__ import annotations

import math
from dataclasses import dataclass
from functools import lru_cache
from typing import Any

import numpy as np

from hush.errors import Unsupported, one_of, positive, reject, whole, within
from hush.learn.objective import SQUARED, Objective
from hush.privacy import gaussian

__all__ = ["SOLVERS", "Setting", "relative_noise", "setting"]

SOLVERS = ("auto", "cd", "gd", "statistics")
_PASSES = 20
_MOST_DRAWS = 5_000_000  # updates of one fit: their noise is drawn at once
#: Rows limited at three spreads hardly ever push harder: more room would be noise for nothing.
_LARGEST_CLIP = {"squared": 12.0, "logistic": 4.0}
#: Below this rho clipping is loosened faster, like rho^(-2/3).
_FAINT = 0.02
#: Below this noise in the matrix of products least squares from products is as good as descent or better, and faster.
_CLEAR = 0.03
#: C_i rho^(1/3), by loss
_CLIP = {"squared": 0.2, "logistic": 0.1}


@dataclass(frozen=True)
class Setting:
    """How a descent is run: all of it public."""

    solver: str
    passes: int
    step: float
    #: one bound for every coordinate, intercept last: noise is in proportion to them
    clips: tuple[float, ...]
    #: how long a row may be in sums of products, as a multiple of the length of a typical one
    radius: float
    rho: float


@lru_cache(maxsize=256)
def relative_noise(epsilon: float, delta: float, share: float, rows: int, columns: int) -> float:
    """rho; 0 when no privacy is asked for, and with epsilon alone the Laplace amount takes the Gaussian's place."""
    if math.isinf(epsilon):
        return 0.0
    if delta == 0.0:
        amount = math.sqrt(2.0 * _PASSES * columns) / (epsilon * share)
    else:
        amount = float(np.asarray(gaussian.sigma(epsilon, delta))) / math.sqrt(share)
    return 2.0 * amount * math.sqrt(columns) / rows


def setting(
    objective: Objective,
    rho: float,
    columns: int,
    *,
    solver: str,
    passes: int | None,
    step: float | None,
    clip: Any,
) -> Setting:
    """The chosen values where they were given, the rules where not."""
    solver = one_of("solver", solver, SOLVERS)
    # the noise's part in the eigenvalues of a matrix of mean products, about sigma_1 K^1.5 / N
    matrix_noise = 0.36 * (columns + 1.0) * rho
    if solver == "auto":
        solver = "statistics" if objective is SQUARED and matrix_noise < _CLEAR else "cd"
    if rho == 0.0:  # no privacy: exact coordinate steps until nothing moves
        count, rule, most, radius = 100_000, 1.0, math.inf, math.inf
    else:
        count, rule, most = (
            _PASSES,
            min(max(0.2 * math.sqrt(0.05 / rho), 0.1), 1.0),
            _CLIP[objective.name] * rho ** (-1.0 / 3.0),
        )
        most *= max(1.0, _FAINT / rho) ** (
            1.0 / 3.0
        )  # where noise is faint, the bias of clipping would be what is left
        most = min(most, _LARGEST_CLIP[objective.name])
        if objective is SQUARED:  # where noise drowns everything, its steps must stay small
            most *= min(1.0, 0.35 / rho)
        # rows are shortened less the less noise there is: the bias of it fades with the noise
        radius = max(min(max((0.1 / matrix_noise) ** (1.0 / 6.0), 0.7), 1.2), 1.2 * (0.003 / matrix_noise) ** 0.25)
    if (
        solver == "gd"
    ):  # steps of 1/sqrt(K) are stable up to a largest eigenvalue of 2 sqrt(K), which is not known and seldom passed
        rule = min(rule, 1.0 / math.sqrt(columns))
    count = count if passes is None else whole("passes", passes)
    if rho > 0.0 and count * columns > _MOST_DRAWS:
        raise reject("passes", passes, f"at most {_MOST_DRAWS // columns} for {columns} columns", "write passes=20")
    return Setting(
        solver,
        count,
        _step(step, rule),
        (most,) * columns if clip is None else _clips(clip, columns),
        radius,
        rho,
    )


def _clips(given: Any, columns: int) -> tuple[float, ...]:
    """One clipping bound for all coordinates, or one for each."""
    if isinstance(given, list | tuple | np.ndarray):
        if len(given) != columns:
            raise reject("clip", given, f"a number, or {columns} of them (the intercept's last)", "write clip=0.5")
        return tuple(within("clip", value, 1e-6, 1e6, "write clip=0.5") for value in given)
    return (within("clip", given, 1e-6, 1e6, "write clip=0.5"),) * columns


def _step(given: float | None, rule: float) -> float:
    if given is None:
        return rule
    value = positive("step", given, "write step=0.2")
    if value >= 2.0:
        raise Unsupported(
            f"step must be below 2, got {value:g}: longer steps than twice the coordinate's minimum diverge; write step=1.0."
        )
    return value
