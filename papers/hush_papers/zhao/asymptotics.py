"""Zhao, Theorems 2 and 3: bounds and limits of the optimal amount, as figures and at extreme epsilon and delta."""

from __future__ import annotations

import math
from typing import Any

import numpy as np

import hush
from hush_papers.item import Comparison, Context, Figure, Item, Series, claim
from hush_papers.zhao.amounts import GRID, amount

__all__ = [
    "at_large_epsilon",
    "at_small_delta",
    "figure_epsilon",
    "figure_ratio",
    "half_sum",
    "limit_of_one",
    "theorem3",
]

_SIGMA = "hush.gaussian.sigma"
_DELTAS = (1e-2, 1e-4, 1e-6, 1e-9)
_EPSILONS = (0.1, 1.0, 10.0)
#: near the smallest float64, with a margin
_TINY = 1e-300


def half_sum(sigma: Any, epsilon: Any, *, sign: int) -> Any:
    """(epsilon sigma + sign/(2 sigma))/sqrt 2: with sign -1 the paper's a (or d), with +1 its A = sqrt(a^2 +
    epsilon); sensitivity 1.
    """
    return (epsilon * sigma + sign / (2.0 * sigma)) / math.sqrt(2.0)


def limit_of_one(
    what: str, near: float, nearer: float, allowed: float, earlier: str, *, else_why: str = "it tends to another limit"
) -> Comparison:
    """Check that a quantity tends to 1, at two points: `near`, at `earlier`, and `nearer`.

    `else_why` is the reason to state if it tends to another limit.
    """
    holds = abs(nearer - 1.0) < min(allowed, abs(near - 1.0)) or abs(nearer - 1.0) < 1e-9
    return claim(
        what, "-> 1", nearer, holds=holds, function=_SIGMA, why=f"still {near:.6g} at {earlier}" if holds else else_why
    )


def at_large_epsilon(method: str) -> list[Comparison]:
    """sigma sqrt(2 epsilon) -> 1."""
    name = "Theorem 3 (3)" if method == "optimal" else "Theorem 7 (2)"
    near, far = (float(amount(method, e, 1e-5)) * math.sqrt(2.0 * e) for e in (4.0, 1e6))
    return [limit_of_one(f"{name}: sigma sqrt(2 epsilon), delta = 1e-5, epsilon = 1e6", near, far, 0.01, "epsilon = 4")]


def at_small_delta(method: str) -> list[Comparison]:
    """sigma epsilon/sqrt(2 ln(1/delta)) -> 1, slowly."""
    name = "Theorem 3 (4)" if method == "optimal" else "Theorem 7 (3)"
    made = []
    for epsilon in _EPSILONS:
        far, near = (
            float(amount(method, epsilon, d)) * epsilon / math.sqrt(-2.0 * math.log(d)) for d in (_TINY, 1e-30)
        )
        made.append(
            limit_of_one(
                f"{name}: sigma epsilon/sqrt(2 ln(1/delta)), epsilon = {epsilon:g}, delta = {_TINY:g}",
                near,
                far,
                0.02,
                "delta = 1e-30",
            )
        )
    return made


def figure_epsilon(method: str, *, points: int) -> Figure:
    epsilon = np.geomspace(1e-6, 1e6, points)
    lines = []
    for delta in _DELTAS:
        found = amount(method, epsilon, delta)
        lines.append(Series(f"delta = {delta:g}", epsilon.tolist(), found.tolist()))
    lines.append(Series("1/sqrt(2 epsilon)", epsilon.tolist(), (1.0 / np.sqrt(2.0 * epsilon)).tolist(), dashed=True))
    if method == "optimal":
        seen = (
            "Each line is flat at its epsilon-free bound on the left and joins the dashed line 1/sqrt(2 epsilon) on "
            "the right."
        )
    else:
        seen = (
            "Each line falls like 1/epsilon on the left, without bound as epsilon goes to 0, and joins the dashed "
            "line on the right."
        )
    name, short = ("Theorem 3", "DP-OPT") if method == "optimal" else ("Theorem 7", "pDP-OPT")
    key = "zhao-theorem3" if method == "optimal" else "zhao-theorem7"
    return Figure(
        f"{key}-epsilon",
        f"{name}: {short} against epsilon",
        "epsilon",
        "sigma",
        tuple(lines),
        seen,
        log_x=True,
        log_y=True,
    )


def figure_ratio(method: str, *, points: int) -> Figure:
    decades = np.geomspace(1.0, -math.log10(_TINY), points)
    delta = 10.0**-decades
    lines = [
        Series(
            f"epsilon = {e:g}",
            decades.tolist(),
            (amount(method, e, delta) * e / np.sqrt(-2.0 * np.log(delta))).tolist(),
        )
        for e in _EPSILONS
    ]
    lines.append(Series("limit", [1.0, float(decades[-1])], [1.0, 1.0], dashed=True))
    name, key = (
        ("Theorem 3 (4)", "zhao-theorem3-delta") if method == "optimal" else ("Theorem 7 (3)", "zhao-theorem7-delta")
    )
    seen = (
        "Three lines, epsilon = 10 from above, the others from below, that come within 2 percent of the dashed line "
        "at 1."
    )
    return Figure(
        key,
        f"{name}: the ratio as delta goes to 0",
        "log10(1/delta)",
        "sigma epsilon / sqrt(2 ln(1/delta))",
        tuple(lines),
        seen,
        log_x=True,
    )


def _bounds() -> list[Comparison]:
    """Theorem 2 (ii), (iii) in their range, Lemma 10 everywhere, Theorem 3 (1)."""
    epsilon, delta = np.meshgrid(np.geomspace(0.01, 100.0, 17), np.geomspace(1e-12, 0.05, 13))
    found = amount("optimal", epsilon, delta)
    low = float(np.min(found * np.sqrt(2.0 * epsilon)))
    high = float(np.max(found / (np.sqrt(-2.0 * np.log(2.0 * delta)) / epsilon + 1.0 / np.sqrt(2.0 * epsilon))))
    corner = float(half_sum(amount("optimal", 0.01, 0.05), 0.01, sign=-1))
    return [
        claim(
            "Theorem 2 (ii): least DP-OPT over 1/sqrt(2 epsilon), epsilon >= 0.01, delta <= 0.05",
            "> 1",
            low,
            holds=low > 1.0,
            function=_SIGMA,
        ),
        claim(
            "Theorem 2 (iii): largest DP-OPT over its upper bound, same range",
            "< 1",
            high,
            holds=high < 1.0,
            function=_SIGMA,
        ),
        claim(
            "Remark 4: root a at the corner epsilon = 0.01, delta = 0.05",
            "> 0",
            corner,
            holds=corner > 0.0,
            function=_SIGMA,
        ),
        *_bounds_everywhere(),
    ]


def _bounds_everywhere() -> tuple[Comparison, ...]:
    everywhere, deltas = GRID
    optimal = amount("optimal", everywhere, deltas)
    bracket = hush.gaussian.sigma_bounds(everywhere, deltas)
    free = float(np.max(optimal / hush.gaussian.epsilon_free_sigma(deltas)))
    inside = float(np.max(np.maximum(bracket.lower / optimal, optimal / bracket.upper)))
    return (
        claim(
            "Lemma 10: largest of lower bound over DP-OPT and DP-OPT over upper bound, on the grid",
            "<= 1",
            inside,
            holds=inside <= 1.0,
            function="hush.gaussian.sigma_bounds",
        ),
        claim(
            "Theorem 3 (1): largest DP-OPT over the epsilon-free bound, on the grid",
            "< 1",
            free,
            holds=free < 1.0,
            function="hush.gaussian.epsilon_free_sigma",
        ),
    )


def theorem3(context: Context) -> Item:
    """Theorems 2 and 3."""
    compared = _bounds()
    for delta in (1e-2, 1e-6):
        near, nearer = (
            float(amount("optimal", e, delta) / hush.gaussian.epsilon_free_sigma(delta))
            for e in (delta / 10.0, delta * 1e-6)
        )
        what = f"Theorem 3 (2): DP-OPT over the epsilon-free bound, delta = {delta:g}, epsilon = {delta * 1e-6:g}"
        compared.append(limit_of_one(what, near, nearer, 0.01, f"epsilon = {delta / 10.0:g}"))
    compared += [*at_large_epsilon("optimal"), *at_small_delta("optimal")]
    points = 49 if context.quick else 145
    figures = (figure_epsilon("optimal", points=points), figure_ratio("optimal", points=points))
    text = (
        "The optimum stays bounded as epsilon falls, unlike every classical amount, and tends to 1/sqrt(2 epsilon) "
        "as epsilon grows. All four results hold, though a step in the printed proof of the last one does not (see "
        "the appendix below). The limit in delta is reached slowly: at delta = 1e-300 and epsilon = 1 the ratio is "
        f"{compared[-2].ours:.4f}, not 1."
    )
    return Item(
        "zhao-theorem3", "Theorems 2 and 3", "Bounds and limits of the optimum for DP", text, tuple(compared), figures
    )
