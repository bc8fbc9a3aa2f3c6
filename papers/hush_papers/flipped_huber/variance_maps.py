"""The flipped Huber paper's Fig. 3b and 3c: maps of its variance against Laplace noise and the staircase."""

from __future__ import annotations

import numpy as np

from hush_papers.flipped_huber.optimum import best, decibels, floor
from hush_papers.flipped_huber.variance import DELTA, variance_at
from hush_papers.item import Comparison, Context, Figure, HeatMap, Item, claim, line

__all__ = ["figure_3b", "figure_3c"]

_AT = "hush.calibrate"


def _plane(context: Context, *, slow: bool = False) -> tuple[list[float], list[float]]:
    """Epsilons and deltas of a heat map."""
    wide, high = ((3, 3) if slow else (5, 4)) if context.quick else ((8, 7) if slow else (20, 15))
    across = np.geomspace(0.05, 5.0 if slow else 8.0, wide)  # the limit takes long to compute beyond
    up = np.geomspace(1e-8, 1e-1, high)
    return [float(v) for v in across], [float(v) for v in up]


def figure_3b(context: Context) -> Item:
    """Flipped Huber against Laplace noise."""
    across, up = _plane(context)
    ratio = [
        [decibels(best("flipped_huber", e, d).variance / best("laplace", e, d).variance) for e in across] for d in up
    ]
    figure = HeatMap(
        "fh-fig3b",
        "Variance of flipped Huber over (epsilon, delta)-Laplace noise",
        "epsilon",
        "delta",
        "decibel",
        across,
        up,
        ratio,
        "Zero nearly everywhere; below zero, to several decibel, in the corner of small epsilon and large delta.",
        log_x=True,
        log_y=True,
    )
    against = _over_limit(context)
    worst = max(max(row) for row in ratio)
    rows = _laplace_rows(worst)
    text = (
        "The paper's ranges are not in the text. The second map is ours: how far the best flipped Huber noise is "
        "from the limit."
    )
    return Item("fh-fig3b", "Fig. 3b", "Against Laplace noise", text, rows, (figure, against))


def _over_limit(context: Context) -> HeatMap:
    slow_across, slow_up = _plane(context, slow=True)
    lowest = [
        [decibels(best("flipped_huber", e, d).variance / floor(e, d).lower) for e in slow_across] for d in slow_up
    ]
    return HeatMap(
        "fh-fig3-limit",
        "Variance of flipped Huber over the limit of any noise",
        "epsilon",
        "delta",
        "decibel",
        slow_across,
        slow_up,
        lowest,
        "Close to zero for small epsilon and delta; several decibel for epsilon above 3 and where delta is large.",
        log_x=True,
        log_y=True,
    )


def _laplace_rows(worst: float) -> tuple[Comparison, ...]:
    corner = decibels(best("flipped_huber", 0.05, 0.1).variance / best("laplace", 0.05, 0.1).variance)
    middle = decibels(best("flipped_huber", 1.0, 1e-6).variance / best("laplace", 1.0, 1e-6).variance)
    return (
        claim(
            "flipped Huber over Laplace at (1, 1e-6), dB",
            '"identical to that of Laplace"',
            middle,
            holds=abs(middle) < 5e-3,
            function=_AT,
        ),
        claim(
            "flipped Huber over Laplace at (0.05, 0.1), dB",
            '"except for the region of small epsilon and delta > 0, where flipped Huber noise is better"',
            corner,
            holds=corner < -0.5,
            function=_AT,
        ),
        claim(
            "largest value on the grid, dB",
            '"identical to that of Laplace, except for the region"',
            worst,
            holds=worst < 1e-3,
            function=_AT,
        ),
    )


def figure_3c(context: Context) -> Item:
    """Flipped Huber against the pure staircase."""
    across, up = _plane(context)
    pure = {e: best("staircase", e, 0.0).variance for e in across}
    ratio = [[decibels(best("flipped_huber", e, d).variance / pure[e]) for e in across] for d in up]
    figure = HeatMap(
        "fh-fig3c",
        "Variance of flipped Huber over the staircase with delta = 0",
        "epsilon",
        "delta",
        "decibel",
        across,
        up,
        ratio,
        "Below zero for small epsilon and large delta, about zero in the middle, above zero and growing to ten "
        "decibel for large epsilon.",
        log_x=True,
        log_y=True,
    )
    slices = _slices(context)
    low = decibels(variance_at("flipped_huber", 8.0) / best("staircase", 8.0, 0.0).variance)
    rows = (
        claim(
            "flipped Huber over staircase at (8, 1e-6), dB",
            '"performs worse than the staircase mechanism in the low-privacy regime"',
            low,
            holds=low > 0.5,
            function=_AT,
        ),
    )
    text = (
        "As in the paper, the staircase has delta = 0 and flipped Huber noise has not. The second figure adds the "
        "limit of any noise."
    )
    return Item("fh-fig3c", "Fig. 3c", "Against the staircase", text, rows, (figure, slices))


def _slices(context: Context) -> Figure:
    e = np.geomspace(0.1, 5.0, 5 if context.quick else 18)
    return Figure(
        "fh-fig3c-limit",
        "Variance over the limit of any noise, delta = 1e-6",
        "epsilon",
        "variance / limit",
        (
            line("flipped Huber", e, [variance_at("flipped_huber", x) / floor(x, DELTA).lower for x in e]),
            line(
                "staircase, delta = 0",
                e,
                [best("staircase", x, 0.0).variance / floor(x, DELTA).lower for x in e],
                dashed=True,
            ),
        ),
        "Flipped Huber noise starts at 1 and rises to 2.7 times the limit at epsilon = 5; the staircase stays at the "
        "limit throughout.",
        log_x=True,
        log_y=True,
    )
