"""OSGT in one dimension: delta against epsilon (Fig. 4)."""

from __future__ import annotations

import math
from itertools import pairwise

import numpy as np

from hush import OSGT, delta, epsilon
from hush_papers.crossing import crossing
from hush_papers.item import Comparison, Context, Figure, Grid, Item, claim, compare, line
from hush_papers.osgt.setting import EIGHT, FIRST, SECOND, named, twin

__all__ = ["better_beyond", "figure_4a", "figure_4b"]


def better_beyond(noise: OSGT, shift: float = 1.0) -> float:
    """The epsilon beyond which OSGT has a smaller delta than the Gaussian of its variance, for one number.

    0 if OSGT always has the smaller delta.
    """
    other = twin(noise)
    scale = shift / noise.sigma
    if delta(noise, 0.02 * scale, shift) <= delta(other, 0.02 * scale, shift):
        return 0.0
    return crossing(lambda e: delta(noise, e, shift) - delta(other, e, shift), 0.02 * scale, 40.0 * scale)


def _curves(key: str, noise: OSGT, reach: float) -> Figure:
    grid = np.linspace(0.0, reach, 121)
    meet = better_beyond(noise)
    return Figure(
        key,
        f"delta against epsilon, (m, sigma^2) = {named(noise)}, Delta = 1, both of variance {noise.variance:.6g}",
        "epsilon",
        "delta",
        (
            line("OSGT", grid, delta(noise, grid)),
            line("Gaussian", grid, delta(twin(noise), grid)),
            line("they cross", [meet], [float(delta(noise, meet))], points=True),
        ),
        f"Both curves fall; the Gaussian's is the lower one up to epsilon = {meet:.4f}, from there OSGT's is, by a "
        "growing factor.",
        log_y=True,
    )


def figure_4a(context: Context) -> Item:
    """delta(epsilon) at (3, 40)."""
    other, corner = twin(FIRST), (1.0 + 2.0 * FIRST.m) / (2.0 * FIRST.sigma**2)
    at_corner = float(delta(FIRST, corner))
    rows = (
        compare("epsilon at delta = 1e-10, OSGT", "0.94", float(epsilon(FIRST, 1e-10)), function="hush.epsilon"),
        compare("epsilon at delta = 1e-10, Gaussian", "1.12", float(epsilon(other, 1e-10)), function="hush.epsilon"),
        compare("delta at epsilon = 1, OSGT", "7.8e-12", float(delta(FIRST, 1.0)), function="hush.delta"),
        compare("delta at epsilon = 1, Gaussian", "3.9e-9", float(delta(other, 1.0)), function="hush.delta"),
        claim(
            f"Theorem 1: delta where the two cases meet, epsilon = {corner:g}",
            "1/2 - e^eps Q((m+Delta)/sigma)/(2 Q(m/sigma))",
            at_corner,
            holds=math.isclose(at_corner, 0.5 - math.exp(corner) * float(FIRST.sf(1.0)), rel_tol=1e-10),
            function="hush.delta",
        ),
        claim(
            "Fig. 4a: OSGT has the smaller delta where delta is small; it does beyond epsilon =",
            '"generally lower for the OSGT mechanism"',
            better_beyond(FIRST),
            holds=all(float(delta(FIRST, e)) < float(delta(other, e)) for e in np.linspace(0.15, 5.0, 50)),
            function="hush.delta",
            why=(
                f"True for delta below {float(delta(FIRST, better_beyond(FIRST))):.3g}; above it the Gaussian is "
                "better."
            ),
        ),
        _grows_with_the_shift(),
    )
    text = (
        "Theorem 1 is exact. hush computes it as a difference of Mills ratios, which is accurate for every delta "
        "that a float can hold."
    )
    return Item(
        "osgt-fig4a",
        "Fig. 4a, Theorem 1",
        "delta against epsilon, (3, 40)",
        text,
        rows,
        (_curves("osgt-fig4a", FIRST, 1.3),),
    )


def _grows_with_the_shift() -> Comparison:
    shifts = np.linspace(0.1, 2.0, 96)
    falls = max(max(a / b for a, b in pairwise([float(delta(FIRST, e, s)) for s in shifts])) for e in (0.05, 0.2, 0.5))
    return claim(
        "App. C: delta grows with Delta; largest ratio of neighbours on a grid of Delta",
        '"an increasing continuous function"',
        falls,
        holds=falls < 1.0,
        function="hush.delta",
    )


def figure_4b(context: Context) -> Item:
    """delta(epsilon) at (2, 20)."""
    meet, other, y = better_beyond(SECOND), twin(SECOND), np.linspace(0.0, 60.0, 601)
    tail = float(np.max(np.exp(SECOND.logsf(y) + y * y / (2.0 * SECOND.sigma**2))))
    rows = (
        claim(
            "Fig. 4b: OSGT has the smaller delta where delta is small; it does beyond epsilon =",
            '"for the range of epsilon where delta(epsilon) must be small"',
            meet,
            holds=all(float(delta(SECOND, e)) < float(delta(other, e)) for e in np.linspace(0.2, 5.0, 50)),
            function="hush.delta",
            why=f"True for delta below {float(delta(SECOND, meet)):.3g}; above it the Gaussian is better.",
        ),
        claim(
            "Fig. 4b: sigma^2-sub-Gaussian, largest P(Y >= y)/exp(-y^2/(2 sigma^2))",
            "<= 1",
            tail,
            holds=tail <= 1.0,
            function="hush.OSGT.logsf",
        ),
    )
    text = f"V(2, 20) = {SECOND.variance:.6f}, not printed."
    return Item(
        "osgt-fig4b",
        "Fig. 4b",
        "delta against epsilon, (2, 20)",
        text,
        rows,
        (_curves("osgt-fig4b", SECOND, 2.0),),
        (_smaller(),),
    )


def _smaller() -> Grid:
    rows = []
    for noise in (FIRST, SECOND, EIGHT):
        meet = better_beyond(noise)
        rows.append(
            (named(noise), noise.variance, noise.normalised_fisher_information, meet, float(delta(noise, meet)))
        )
    head = ("(m, sigma^2)", "V", "Fisher information times V", "OSGT better beyond epsilon", "that is below delta")
    return Grid("One number, Delta = 1: where OSGT becomes better than the Gaussian of its variance", head, tuple(rows))
