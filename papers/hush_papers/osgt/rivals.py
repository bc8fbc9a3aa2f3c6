"""What the flipped Huber paper prints about OSGT, with the true optimum."""

from __future__ import annotations

import numpy as np
from numpy.typing import NDArray

from hush import OSGT, Law, calibrate, delta
from hush_papers.item import Context, Figure, Grid, Item, line
from hush_papers.osgt.setting import EDGE, calibrated, in_box

__all__ = ["flipped_huber_claims"]

Array = NDArray[np.float64]
_AT = "hush_papers.osgt.setting.calibrated"


def flipped_huber_claims(context: Context) -> Item:
    """The printed variances 108.94 and 1.54, and the least variances of OSGT."""
    figure = _shape_figure(context)
    best = {e: (calibrated(EDGE, e, 1e-6), in_box(e, 1e-6), calibrate(e, 1e-6, family="osgt").law) for e in (0.3, 3.0)}
    table = _needed(best)
    text = (
        "The flipped Huber paper (Sec. V-A) compares with OSGT. Its two values are close to the best on the line "
        "m/sigma = 0.6745, the edge of Proposition 2's unnecessary condition; inside its search box [0.02, 150] x "
        f"[0.02, 50] the best is at m = 150, with {best[0.3][1].variance / 108.94:.2f} and "
        f"{best[3.0][1].variance / 1.54:.2f} times the printed values (the independent errata have 28.09 at epsilon "
        f"= 0.3, a little more than the {best[0.3][1].variance:.5g} found here). Without a box the infimum is "
        "Laplace noise. So the factors 5 and 7 between its printed variances of OSGT and flipped Huber are an "
        "artefact. The numbers are compared under Fig. 3a of that paper."
    )
    return Item(
        "osgt-in-flipped-huber",
        "Flipped Huber paper, Sec. V-A",
        "OSGT as a rival",
        text,
        figures=(figure,),
        grids=(table,),
    )


def _needed(best: dict[float, tuple[Law, OSGT, Law]]) -> Grid:
    return Grid(
        "OSGT at (epsilon, 1e-6): variance on the line m/sigma = 0.6745, in the stated box, and in the limit",
        (
            "epsilon",
            "printed",
            "m/sigma = 0.6745",
            "best with m <= 150",
            "its m",
            "its sigma",
            "limit m/sigma -> infinity",
            "delta of the last",
        ),
        tuple(
            (
                e,
                printed,
                best[e][0].variance,
                best[e][1].variance,
                best[e][1].m,
                best[e][1].sigma,
                best[e][2].variance,
                float(delta(best[e][2], e)),
            )
            for e, printed in ((0.3, "108.94"), (3.0, "1.54"))
        ),
    )


def _shape_figure(context: Context) -> Figure:
    ratios = np.geomspace(0.05, 100.0, 12 if context.quick else 30)
    lines = []
    for e in (0.3, 1.0, 3.0):
        unit = 2.0 / e**2
        lines.append(line(f"epsilon = {e:g}", ratios, [calibrated(r, e, 1e-6).variance / unit for r in ratios]))
    lines.append(line("Laplace, delta = 0", [0.05, 100.0], [1.0, 1.0], dashed=True))
    lines.append(
        line("printed, at m/sigma = 0.6745", [EDGE, EDGE], [108.94 / (2.0 / 0.09), 1.54 / (2.0 / 9.0)], points=True)
    )
    return Figure(
        "osgt-shape",
        "Variance that OSGT needs for (epsilon, 1e-6), Delta = 1, relative to Laplace noise",
        "m/sigma",
        "variance / (2/epsilon^2)",
        tuple(lines),
        "Three curves fall from the Gaussian's 7 to 11 times the Laplace variance to 1 as m/sigma grows; there is no "
        "minimum at a finite m/sigma. The printed values lie on the curves at m/sigma = 0.6745.",
        log_x=True,
        log_y=True,
    )
