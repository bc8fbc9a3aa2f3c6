"""Liu et al. (SIGMOD 2026): product noise, spherical noise that is said to be smaller than Gaussian noise."""

from __future__ import annotations

import math

import hush
from hush_papers.item import Context, Grid, Item

__all__ = ["possible", "product"]


def possible(epsilon: float, delta: float, d: int) -> tuple[float, float, float]:
    """The variance of a coordinate: the classical Gaussian, the exact Gaussian, and a lower bound for any noise."""
    classical = 2.0 * math.log(1.25 / delta) / epsilon**2
    exact = hush.gaussian.sigma(epsilon, delta) ** 2
    bound = hush.limit(epsilon, delta, hush.Sensitivity(l2=1.0, dimension=d))
    return classical, exact, float(bound.lower)


def product(context: Context) -> Item:
    """What any noise can gain over the Gaussian mechanism, for many numbers."""
    sizes = (10, 100) if context.quick else (10, 30, 100, 300)
    rows = tuple((e, d, *possible(e, 1e-6, d)) for e in ((1.0,) if context.quick else (0.5, 1.0)) for d in sizes)
    classical, exact, _ = rows[-1][2:]
    text = (
        "The abstract states a smaller expected size than classic Gaussian noise in high dimensions, for noise that is "
        "the product of a radius and a direction. The classic calibration, sigma^2 = 2 ln(1.25/delta)/epsilon^2, is "
        f"itself {classical / exact:.3g} times the exact Gaussian variance at (1, 1e-6), so being smaller than it is "
        "no progress over the Gaussian. The abstract gives no formula from which the noise could be recomputed, and we "
        "had no full text: no verdict. The last column bounds the variance of any noise; it does not use the number of "
        "answers and is far below what is possible for many. Wei et al. 2026 state that no additive noise is better "
        "than the exact Gaussian as the number of answers grows."
    )
    head = ("epsilon", "d", "Gaussian, classic", "Gaussian, exact", "any noise, at least")
    grid = Grid("Variance of one of d numbers, l2 sensitivity 1, delta = 1e-6", head, rows)
    return Item("newer-product", "Liu et al. 2026, abstract", "Product noise", text, grids=(grid,))
