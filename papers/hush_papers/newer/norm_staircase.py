"""Kulesza, Suresh and Wang (AISTATS 2025), Melbourne, Diaz and Asoodeh (2026): staircases in several dimensions.

The abstracts state that for every norm and dimension the additive noise with the least error at delta = 0 is a
staircase in the norm. We write it for the Euclidean norm and moves of length 1: the density is constant on the shells

    |x| < a,    a <= |x| < a + 1,    a + 1 <= |x| < a + 2,  ...        0 <= a <= 1,

and falls by e^-epsilon from one shell to the next. A move changes |x| by at most 1, so x passes to a neighbouring shell
at most, and the density changes by at most e^epsilon: this is pure epsilon. With b_k = a + k the radius has moments

    E |x|^m proportional to the sum of e^(-k epsilon) (b_k^(d+m) - b_(k-1)^(d+m))/(d + m),    b_-1 = 0.
"""

from __future__ import annotations

import math

import numpy as np
from scipy import optimize

import hush
from hush_papers.item import Context, Grid, Item, claim

__all__ = ["least_variance", "norm_staircase", "variance"]

_LOSSES = 60.0  # shells beyond this many epsilons have less than 1e-20 of the squared radius


def variance(epsilon: float, d: int, a: float) -> float:
    """The variance of a coordinate of the staircase whose first shell ends at the radius a."""
    shells = math.ceil(_LOSSES / epsilon) + 20 * d
    ends = a + np.arange(shells + 1.0)
    weights = np.exp(-epsilon * np.arange(shells + 1.0))
    starts = np.concatenate(([0.0], ends[:-1]))
    top = float(ends[-1])  # powers of large radii are taken relative to the last one
    mass = np.sum(weights * ((ends / top) ** d - (starts / top) ** d)) / d
    squared = np.sum(weights * ((ends / top) ** (d + 2) - (starts / top) ** (d + 2))) / (d + 2)
    return float(squared / mass * top**2 / d)


def least_variance(epsilon: float, d: int) -> tuple[float, float]:
    """The least variance of a coordinate, and the radius a that has it."""
    grid = np.linspace(0.01, 1.0, 34)
    best = float(grid[np.argmin([variance(epsilon, d, a) for a in grid])])
    found = optimize.minimize_scalar(
        lambda a: variance(epsilon, d, a), bounds=(max(1e-6, best - 0.03), min(1.0, best + 0.03)), method="bounded"
    )
    return float(found.fun), float(found.x)


def norm_staircase(context: Context) -> Item:
    """The staircase in the Euclidean norm beside ball noise and the best noise of hush, at delta = 0."""
    sizes, budgets = ((1, 2, 5), (1.0, 4.0, 8.0)) if context.quick else ((1, 2, 3, 5, 10), (0.5, 1.0, 2.0, 4.0, 8.0))
    rows = tuple((d, e, *least_variance(e, d), (d + 1.0) / e**2, *_ours(e, d)) for d in sizes for e in budgets)
    one, optimum = least_variance(4.0, 1)[0], hush.calibrate(4.0, 0.0, family="staircase").variance
    gains = {e: (1.0 + 2.0) / e**2 / least_variance(e, 2)[0] for e in (1.0, 8.0)}
    comparisons = (
        claim(
            "d = 1, epsilon = 4: the variance of the general staircase, which is the known one",
            '"a generalization of the staircase mechanism"',
            one,
            holds=math.isclose(one, optimum, rel_tol=1e-6),
            function="hush.calibrate",
        ),
        claim(
            f"d = 2, epsilon = 8: variance of ball noise over that of the staircase (at epsilon = 1: {gains[1.0]:.3f})",
            '"improvements particularly evident in the low-privacy regime"',
            gains[8.0],
            holds=gains[8.0] > 2.0 > 1.1 > gains[1.0],
            function="hush_papers.newer.norm_staircase.least_variance",
        ),
    )
    text = (
        "At delta = 0 and moves of a bounded Euclidean length, both abstracts state that a staircase in the norm has "
        "the least error of all additive noises. We computed its variance from the shells. The gain over ball noise, "
        "density exp(-epsilon |x|), is below one per cent at epsilon = 1 from two numbers on, and large at epsilon = "
        "8. hush has a staircase for one number, and stairs in the maximum norm for several; for several numbers with "
        "a Euclidean bound it uses ball noise, or these stairs, and the column shows what is lost."
    )
    head = ("d", "epsilon", "staircase", "radius of its first shell", "ball noise", "hush", "any noise, at least")
    grid = Grid("Variance of one of d numbers, l2 sensitivity 1, delta = 0", head, rows)
    source = "Kulesza et al. 2025; Melbourne et al. 2026, abstracts"
    return Item("newer-norm-staircase", source, "Staircase in several dimensions", text, comparisons, grids=(grid,))


def _ours(epsilon: float, d: int) -> tuple[float, float]:
    """The least variance of hush, and its proved lower bound for any noise."""
    plan = hush.calibrate(epsilon, 0.0, hush.Sensitivity(l2=1.0, dimension=d) if d > 1 else 1.0)
    return float(plan.variance), float("nan") if plan.limit is None else float(plan.limit.lower)
