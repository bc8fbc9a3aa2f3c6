"""Joseph et al. (ICML 2025) and Wei et al. (ICML 2026): spherical noise for l2 sensitivity, beside ball noise."""

from __future__ import annotations

import hush
from hush_papers.item import Context, Grid, Item

__all__ = ["spherical"]


def _variances(epsilon: float, delta: float, d: int) -> tuple[float, float, float]:
    """The least variance of a coordinate: Gaussian, ball, and the proved lower bound for any noise."""
    within = hush.Sensitivity(l2=1.0, dimension=d)
    made = {name: hush.calibrate(epsilon, delta, within, family=name) for name in ("gaussian", "ball")}
    limit = made["ball"].limit
    return made["gaussian"].variance, made["ball"].variance, float("nan") if limit is None else float(limit.lower)


def spherical(context: Context) -> Item:
    """Variance of a coordinate for l2 sensitivity 1."""
    sizes = (2, 10) if context.quick else (2, 3, 5, 10, 20, 50)
    rows = tuple(
        (e, delta, d, (d + 1.0) / e**2, *_variances(e, delta, d))
        for e, delta in ((1.0, 1e-6), (0.1, 0.1))
        for d in sizes
    )
    text = (
        "The l2 mechanism has the density exp(-epsilon |x|); with delta = 0 a coordinate has variance "
        "(d + 1)/epsilon^2. Joseph et al. use it with delta; Wei et al. extend it to a family with a free radial law. "
        "Ball noise of hush has a radial law too. At (1, 1e-6) it has far less variance than the Gaussian for few "
        "numbers. At a delta of 0.1, where Wei et al. report 10 to 15 per cent less than the better of the two for "
        "d = 2 to 5, the Gaussian is the best noise of hush: their family is not in hush, and a delta of 0.1 is no "
        "guarantee that one would publish."
    )
    head = ("epsilon", "delta", "d", "l2 mechanism, delta = 0", "Gaussian", "ball", "any noise, at least")
    grid = Grid("Variance of one of d numbers, l2 sensitivity 1", head, rows)
    return Item("newer-spherical", "Joseph et al. 2025; Wei et al. 2026", "Spherical noise", text, grids=(grid,))
