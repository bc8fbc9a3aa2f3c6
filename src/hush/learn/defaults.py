"""Default passes, step, clipping and solver, computed from public facts only: rows, columns and budget.

The rules are closed forms in rho = 2 sigma_1 sqrt(K) / N, the noise of one full gradient relative to what can be
learned from N rows. K counts the intercept, and sigma_1 is the Gaussian amount for the descent's share of the budget.
docs/learn_settings.md states the rules, and docs/learn_results.md compares them with other methods.
"""

from __future__ import annotations

import math
from dataclasses import dataclass
from functools import lru_cache
from typing import Any

import numpy as np

from hush.errors import Unsupported, nearest, positive, reject, shown, whole, within
from hush.learn.budget import vector_families
from hush.learn.objective import LOGISTIC, SQUARED, Objective
from hush.learn.vector_noise import BALL
from hush.privacy import gaussian

__all__ = [
    "MOST_DRAWS",
    "NOISY",
    "SOLVERS",
    "Setting",
    "fitting_solver",
    "hopeless",
    "relative_noise",
    "setting",
]

SOLVERS = ("auto", "whitened", "statistics", "cd", "gd")
MOST_DRAWS = 5_000_000  # noisy numbers of one fit; all of them are drawn at once and kept in memory
_PASSES = 20
_PASSES_WITHOUT_NOISE = 100_000  # a limit; the descent stops when no weight moves
#: Clipping bounds beyond these only add noise: rows that are limited at three spreads rarely have larger gradients.
_LARGEST_CLIP = {"squared": 12.0, "logistic": 4.0}
#: Below this rho the clipping bound grows faster, like rho^(-2/3).
_FAINT = 0.02
#: Below this noise in the matrix of products, least squares from products is as good as whitened gradients, and faster.
_CLEAR = 0.0015
#: The passes of whitened gradients that `relative_noise` assumes if delta = 0, where the budget is divided by them.
_PURE_PASSES = 5
#: Above this nu = rho sqrt(K) the mean of the target predicts a regression better than any noisy weights. The second
#: number is for delta = 0 and more than `_FEW_COLUMNS`: the noise of vectors has longer tails there.
_HOPELESS, _HOPELESS_PURE = 1.5, 0.75
#: With fewer rows times epsilon the mean needs so much of the budget that nothing is left for features, and if nu is
#: above the second number features need it too.
_FEW_ROWS, _FEW_ROWS_NU = 100.0, 0.4
#: If delta = 0, steps divide epsilon. Up to this many columns one release of all products has the smaller error.
_FEW_COLUMNS = 4
#: The most that the clip of whitened gradients can be is this over nu where that is larger than the usual limit, so
#: that its bias fades with the noise; and never more than the second number.
_FADES, _LOOSEST = 0.0005, 16.0
#: The share of the products in what products and gradients have together.
_MATRIX_SHARE = 0.3
#: The same, by loss, for more than this number of columns if noise hides the eigenvalues of the products.
_HIDDEN_SHARE, _MANY_COLUMNS = {"squared": 0.2, "logistic": 0.1}, 50
#: From this nu on least squares has few fixed steps, and its start is shrunk by its noise; below it the steps follow
#: the released residuals (`step_rule`).
NOISY = 0.35
#: Up to this nu a hidden matrix gets more and shorter steps; above it the noise of a gradient is too large for them.
_FAINT_GRADIENTS = 0.2
#: The factor of rho^(-1/3) in the clipping bound, by loss.
_CLIP = {"squared": 0.2, "logistic": 0.1}


@dataclass(frozen=True)
class Setting:
    """The parameters of a descent; all of them are public."""

    solver: str
    passes: int
    step: float
    #: one clipping bound for every coordinate, the intercept's last; the noise is proportional to them
    clips: tuple[float, ...]
    #: the largest length of a row in sums of products, as a multiple of the length of a typical row
    radius: float
    rho: float
    #: the fraction of the last move that is repeated in the next step of whitened gradients
    momentum: float = 0.0
    #: the share of the matrix in what whitened gradients have; the gradients have the rest
    matrix_share: float = 0.3
    #: the number of last steps of whitened gradients whose weights are averaged
    averaged: int = 1
    #: the part of half the range beyond which targets count less; 1 is no taper, and only the solver "mean" has one
    knee: float = 1.0


@lru_cache(maxsize=256)
def relative_noise(
    epsilon: float, delta: float, share: float, rows: float, columns: int, *, vectors: bool = False
) -> float:
    """rho. It is 0 if epsilon = inf.

    If delta = 0, the Gaussian amount is replaced by that of Laplace noise, or of ball noise if a fit releases vectors.
    """
    if math.isinf(epsilon):
        return 0.0
    if delta == 0.0 and vectors:
        amount = math.sqrt(_PURE_PASSES * (columns + 1.0)) / (epsilon * share)
    elif delta == 0.0:
        amount = math.sqrt(2.0 * _PASSES * columns) / (epsilon * share)
    else:
        amount = float(np.asarray(gaussian.sigma(epsilon, delta))) / math.sqrt(share)
    return 2.0 * amount * math.sqrt(columns) / rows


def hopeless(rho: float, columns: int, rows_epsilon: float, *, pure: bool) -> bool:
    """Is nu above the limit of least squares, so that only the mean of the target is released?

    `rows_epsilon` is the number of rows times epsilon.
    """
    nu, at_once = rho * math.sqrt(columns), pure and columns <= _FEW_COLUMNS
    if rows_epsilon < _FEW_ROWS and nu > _FEW_ROWS_NU and not at_once:
        return True
    return nu > (_HOPELESS_PURE if pure and not at_once else _HOPELESS)


def fitting_solver(solver: str, objective: Objective, family: str | None, delta: float, *, descent: bool) -> str:
    """The solver that fits the other options: "auto" becomes "cd" if an option needs a descent.

    Sums of products need a family with a theorem for vectors, and ball noise needs a solver that releases vectors.
    """
    vectors = vector_families(delta)
    other_family = family not in (None, *vectors)
    if objective.outputs > 1:
        return _for_classes(solver, vectors, other_family)
    if solver == "statistics" and other_family:
        raise Unsupported(
            f"solver='statistics' releases a vector, for which only {' and '.join(vectors)} noise have a proof here; "
            "write family=None, or solver='cd'."
        )
    if solver != "auto":
        return solver
    if family == BALL:
        return "gd" if descent or objective is not SQUARED else "statistics"
    return "cd" if other_family or descent else "auto"


def _for_classes(solver: str, vectors: tuple[str, ...], other_family: bool) -> str:
    """The solver for three or more classes."""
    if solver not in ("auto", "whitened"):
        raise Unsupported(
            f"solver={shown(solver)} is for two classes; write solver='whitened' for three or more classes, or "
            "leave it out."
        )
    if other_family:
        raise Unsupported(
            f"a fit with three or more classes releases vectors, for which {' and '.join(vectors)} noise have a proof "
            "at this delta; write family=None."
        )
    return "whitened"


def setting(
    objective: Objective,
    rho: float,
    columns: int,
    *,
    solver: str,
    passes: int | None,
    step: float | None,
    clip: Any,
    pure: bool = False,
) -> Setting:
    """The given values, and the default rules for those that are None. `pure` means delta = 0."""
    if solver not in SOLVERS:
        hint = nearest(solver, SOLVERS) or "write solver='auto'"
        raise reject("solver", solver, f"one of {', '.join(SOLVERS)}", hint)
    matrix_noise = _matrix_noise(rho, columns)
    if solver == "auto":
        at_once = matrix_noise < _CLEAR or (pure and columns <= _FEW_COLUMNS)
        solver = "statistics" if objective is SQUARED and at_once else "whitened"
    if solver == "whitened":
        return _whitened(objective, rho, columns, passes=passes, step=step, clip=clip, pure=pure)
    if rho == 0.0:  # no privacy: exact coordinate steps until no weight moves
        count, rule, most, radius = _PASSES_WITHOUT_NOISE, 1.0, math.inf, math.inf
    else:
        count, rule = _PASSES, min(max(0.2 * math.sqrt(0.05 / rho), 0.1), 1.0)
        most, radius = _clip_rule(objective, rho), _radius_rule(matrix_noise)
    if solver == "gd":
        # Steps of 1/sqrt(K) are stable up to a largest eigenvalue of 2 sqrt(K). The eigenvalue is not public, and it
        # is rarely larger.
        rule = min(rule, 1.0 / math.sqrt(columns))
    count = count if passes is None else whole("passes", passes, 1, "write passes=10")
    if rho > 0.0 and count * columns > MOST_DRAWS:
        raise reject("passes", passes, f"at most {MOST_DRAWS // columns} for {columns} columns", "write passes=20")
    clips = (most,) * columns if clip is None else _clips(clip, columns)
    return Setting(solver, count, _step(step, rule), clips, radius, rho)


def _whitened(
    objective: Objective, rho: float, columns: int, *, passes: int | None, step: float | None, clip: Any, pure: bool
) -> Setting:
    """Whitened gradients: nu = rho sqrt(K) is the noise of a gradient relative to its signal, for a clip of 1.

    A clip of 1 is the root mean square length of a row, sqrt(K). The bias of a clip falls with the clip, and the noise
    grows with it, so the clip is a power of 1/nu. Logistic loss is curved by less than its bound and needs more steps;
    momentum lets them reach further.
    """
    if rho == 0.0:
        return Setting(
            "whitened",
            1000 if passes is None else whole("passes", passes, 1, "write passes=10"),
            1.0,
            (math.inf,),
            math.inf,
            0.0,
        )
    nu = rho * math.sqrt(columns)
    share = _MATRIX_SHARE
    radius = _radius_rule(_matrix_noise(rho / math.sqrt(share), columns))
    hidden = radius**2 * (columns + 1.0) * rho / math.sqrt(share) > 0.5
    many = hidden and columns > _MANY_COLUMNS and objective.outputs == 1
    averaged = many and nu < _FAINT_GRADIENTS and not pure
    if averaged or (many and objective is LOGISTIC):
        share = _HIDDEN_SHARE[objective.name]
        radius = _radius_rule(_matrix_noise(rho / math.sqrt(share), columns))
    if averaged:
        reach, rule = _clip_of_plain_gradients(objective, nu), _PASSES
    else:
        reach, rule = _reach_and_passes(objective, nu, pure=pure)
    count = rule if passes is None else whole("passes", passes, 1, "write passes=10")
    numbers = columns * objective.outputs
    if count * numbers > MOST_DRAWS:
        raise reject("passes", passes, f"at most {MOST_DRAWS // numbers} for {numbers} weights", "write passes=10")
    momentum = max(0.0, 1.0 - 10.0 / count) if objective is not SQUARED and not averaged else 0.0
    reach = reach if clip is None else within("clip", clip, 1e-6, 1e6, "write clip=0.5")
    clips = (reach * math.sqrt(columns),)
    last = max(1, count // 2) if averaged else 1
    return Setting("whitened", count, _step(step, 1.0), clips, radius, rho, momentum, share, last)


def _clip_of_plain_gradients(objective: Objective, nu: float) -> float:
    """The clip if many columns have a matrix that is hidden by its noise, so that steps are those of plain gradients.

    A smaller clip lowers the noise by more than the signal, but each step moves less. So there are twenty steps, and
    the weights of the last ten are averaged.
    """
    return 0.7 if objective is SQUARED else min(max(0.06 / math.sqrt(nu), 0.15), 0.5)


def _reach_and_passes(objective: Objective, nu: float, *, pure: bool) -> tuple[float, int]:
    """The clip, as a multiple of the length of a typical row, and the number of steps."""
    if objective is SQUARED:
        reach = min(max(0.19 / math.sqrt(nu), 0.3), max(2.0, _FADES / nu), _LOOSEST)
        return reach, _PURE_PASSES if pure or nu >= NOISY else 10
    most = _PURE_PASSES if pure else _PASSES
    if objective.outputs > 1:
        # the slopes of all classes are longer together, and the noise has C - 1 times as many directions
        reach = min(max(0.2 / math.sqrt(nu * math.sqrt(objective.outputs - 1)), 0.2), max(0.6, _FADES / nu), _LOOSEST)
        return reach, min(max(round(3.4 / math.sqrt(nu)), 4), most)
    reach = min(max(0.06 / math.sqrt(nu), 0.15), max(0.5, _FADES / nu), _LOOSEST)
    return reach, min(max(round(2.6 / math.sqrt(nu)), 3), most)


def _matrix_noise(rho: float, columns: int) -> float:
    """The effect of the noise on the eigenvalues of a matrix of mean products, about sigma_1 K^1.5 / N."""
    return 0.36 * (columns + 1.0) * rho


def _clip_rule(objective: Objective, rho: float) -> float:
    """The default clipping bound of a mean gradient."""
    most = _CLIP[objective.name] * rho ** (-1.0 / 3.0)
    most *= max(1.0, _FAINT / rho) ** (1.0 / 3.0)  # with little noise the bias of clipping would dominate
    most = min(most, _LARGEST_CLIP[objective.name])
    return most * min(1.0, 0.35 / rho) if objective is SQUARED else most  # with much noise steps must stay small


def _radius_rule(matrix_noise: float) -> float:
    """The default length limit of a row: looser with less noise, so that its bias shrinks with the noise."""
    return max(min(max((0.1 / matrix_noise) ** (1.0 / 6.0), 0.7), 1.2), 1.2 * (0.003 / matrix_noise) ** 0.25)


def _clips(given: Any, columns: int) -> tuple[float, ...]:
    """One clipping bound for all coordinates, or one bound for each."""
    if isinstance(given, list | tuple | np.ndarray):
        if len(given) != columns:
            raise reject("clip", given, f"a number, or a list of {columns} (the intercept's last)", "write clip=0.5")
        return tuple(within("clip", value, 1e-6, 1e6, "write clip=0.5") for value in given)
    return (within("clip", given, 1e-6, 1e6, "write clip=0.5"),) * columns


def _step(given: float | None, rule: float) -> float:
    if given is None:
        return rule
    value = positive("step", given, "write step=0.2")
    if value >= 2.0:
        raise Unsupported(
            f"step must be below 2, got {value:g}: steps longer than twice the distance to the coordinate's minimum "
            "diverge; write step=1.0."
        )
    return value
