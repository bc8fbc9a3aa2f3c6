"""The flipped Huber paper's comparison with OSGT, with both noises at their optimum."""

from __future__ import annotations

import math

import numpy as np

from hush import OSGT, delta
from hush_papers.flipped_huber.optimum import best, floor, osgt_in_box
from hush_papers.flipped_huber.variance import DELTA, variance_at
from hush_papers.item import Comparison, Context, Figure, Grid, Item, claim, line

__all__ = ["osgt_redone"]

_AT = "hush.calibrate"


def osgt_redone(context: Context) -> Item:
    """The comparison with OSGT, both at their optimum."""
    budgets = [(e, d) for d in (1e-6, 1e-3) for e in (0.1, 0.3, 1.0, 3.0)]
    table = []
    for e, d in budgets:
        huber, osgt, reach = best("flipped_huber", e, d), best("osgt", e, d), floor(e, d)
        table.append(
            (
                e,
                d,
                huber.variance,
                osgt.variance,
                osgt.variance / huber.variance,
                best("gaussian", e, d).variance,
                reach.lower,
            )
        )
    grid = Grid(
        "Least variance, one number, Delta = 1",
        ("epsilon", "delta", "flipped Huber", "OSGT", "OSGT/flipped Huber", "Gaussian", "limit, at least"),
        tuple(table),
    )
    figure = _redone_figure(context)
    apart = {d: max(abs(100.0 * (row[4] - 1.0)) for row in table if row[1] == d) for d in (1e-6, 1e-3)}
    inside = osgt_in_box(0.3, DELTA)
    text = (
        f"With both optimised flipped Huber and OSGT noise differ by at most {apart[1e-6]:.1g} per cent at delta = "
        f"1e-6. At delta = 1e-3 flipped Huber noise is ahead by up to {apart[1e-3]:.2g} per cent, at small epsilon; "
        "with twenty coordinates the order is reversed, see Table II. Inside the box the optimum at epsilon = 0.3 is "
        f"{inside.variance:.5g}, at vartheta = 150 and varrho = {inside.sigma:.5g}, where delta is "
        f"{float(delta(inside, 0.3)):.9g}: a little below the 28.09 of the independent errata, which must come from "
        "a search that stopped before the edge of the box."
    )
    return Item("fh-osgt", "Sec. V-A, App. E-B", "OSGT redone", text, _factors(), (figure,), (grid,))


def _redone_figure(context: Context) -> Figure:
    across = np.geomspace(0.1, 5.0, 5 if context.quick else 18)
    return Figure(
        "fh-osgt",
        "Variance over the limit of any noise, delta = 1e-6, Delta = 1",
        "epsilon",
        "variance / limit",
        (
            line("flipped Huber", across, [variance_at("flipped_huber", x) / floor(x, DELTA).lower for x in across]),
            line(
                "OSGT, infimum", across, [variance_at("osgt", x) / floor(x, DELTA).lower for x in across], dashed=True
            ),
            line(
                "OSGT, best in the stated box",
                across,
                [osgt_in_box(x, DELTA).variance / floor(x, DELTA).lower for x in across],
            ),
            line(
                "OSGT, printed",
                [0.3, 3.0],
                [108.94 / floor(0.3, DELTA).lower, 1.54 / floor(3.0, DELTA).lower],
                points=True,
            ),
            line("Gaussian", across, [variance_at("gaussian", x) / floor(x, DELTA).lower for x in across]),
        ),
        "Flipped Huber and OSGT at its infimum lie on each other, at the limit up to epsilon = 1 and above it "
        "beyond; the box costs OSGT 1.7 times at epsilon = 0.1; the printed values lie between them and the Gaussian.",
        log_x=True,
        log_y=True,
    )


def _factors() -> tuple[Comparison, ...]:
    rows = []
    for x, said in ((0.3, 108.94 / 22.21), (3.0, 1.54 / 0.2222)):
        ratio = variance_at("osgt", x) / variance_at("flipped_huber", x)
        rows.append(
            claim(
                f"OSGT over flipped Huber, both at their best, epsilon = {x:g}",
                '"it also performs better than OSGT"',
                ratio,
                holds=ratio > 1.0,
                function=_AT,
                why=(
                    f"OSGT needs {100.0 * (ratio - 1.0):.1g} per cent more: both are nearly Laplace noise. With the "
                    f"printed variances the factor is {said:.1f}, an artefact of the search."
                ),
            )
        )
    noise = OSGT(9.05, 13.49)
    rows.append(
        claim(
            "delta at epsilon = 0.3 of OSGT(9.05, 13.49), which has the printed variance",
            "1e-6",
            float(delta(noise, 0.3)),
            holds=math.isclose(float(delta(noise, 0.3)), 1e-6, rel_tol=0.05) and abs(noise.variance - 108.94) < 0.5,
            function="hush.delta",
            why="So the printed value belongs to a private OSGT noise, but not to the best one.",
        )
    )
    return tuple(rows)
