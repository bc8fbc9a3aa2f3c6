"""Zhao, Fig. 2: eight amounts of Gaussian noise side by side."""

from __future__ import annotations

from typing import Any

import numpy as np
from numpy.typing import NDArray

import hush
from hush_papers.item import Comparison, Context, Figure, Grid, Item, Series, claim

__all__ = ["EIGHT", "GRID", "LABELS", "SLIGHTLY", "amount", "figure2"]

Array = NDArray[np.float64]

LABELS = {
    "pdp_optimal": "pDP-OPT",
    "optimal": "DP-OPT",
    "dwork2014": "Dwork-2014",
    "dwork2006": "Dwork-2006",
    "mechanism1": "Mechanism 1",
    "mechanism2": "Mechanism 2",
    "mechanism3": "Mechanism 3",
    "mechanism4": "Mechanism 4",
}
EIGHT = tuple(LABELS)
#: the epsilons and deltas on which every ordering is checked: a part of the grid of the errata
GRID = np.meshgrid(
    np.geomspace(1e-4, 100.0, 13),
    np.array([1e-300, 1e-100, 1e-30, 1e-12, 1e-9, 1e-6, 1e-5, 1e-4, 1e-3, 0.01, 0.1, 0.49]),
)
#: "slightly greater" and "close" are taken to mean: by at most a fifth
SLIGHTLY = 1.2
_SIGMA = "hush.gaussian.sigma"
#: Fig. 2: epsilon and the least and largest tick of the axis
PANELS = ((0.1, 10.0, 60.0), (1.0, 2.0, 6.0), (5.0, 0.6, 1.2), (10.0, 0.4, 0.6), (15.0, 0.25, 0.45), (20.0, 0.15, 0.35))

_SMALL = (
    "From below: DP-OPT, Mechanism 1 clearly above it, pDP-OPT with Mechanism 3, Mechanism 2, Mechanism 4, "
    "Dwork-2014, Dwork-2006."
)
_LARGE = (
    "The two Dwork lines lie far below DP-OPT, so they are not private; Mechanism 1 is next above DP-OPT and "
    "Mechanism 4 highest."
)
_SEEN = {
    0.1: _SMALL,
    1.0: _SMALL,
    5.0: "From below: DP-OPT, Mechanism 1, pDP-OPT, Dwork-2014, Mechanism 3 with Dwork-2006, Mechanism 2, Mechanism 4.",
    10.0: (
        "Dwork-2014 lies below DP-OPT, Dwork-2006 meets it at the left end and lies below it elsewhere; Mechanism 1 "
        "is next above."
    ),
    15.0: _LARGE,
    20.0: _LARGE,
}


def amount(method: str, epsilon: Any, delta: Any, sensitivity: Any = 1.0) -> Any:
    """The paper's amount of noise; the classical ones also outside the range of their proof."""
    return hush.gaussian.sigma(epsilon, delta, sensitivity, method=method, allow_invalid=True)


def _panel(epsilon: float, points: int) -> tuple[Figure, dict[str, Array]]:
    delta = np.geomspace(1e-7, 1e-3, points)
    found = {method: amount(method, epsilon, delta) for method in EIGHT}
    picture = Figure(
        f"zhao-fig2-{epsilon:g}",
        f"Fig. 2: eight amounts at epsilon = {epsilon:g}, sensitivity 1",
        "delta",
        "noise amount sigma",
        tuple(Series(LABELS[m], delta.tolist(), found[m].tolist()) for m in EIGHT),
        f"Eight lines falling with delta from 1e-7 to 1e-3 at epsilon {epsilon:g}. {_SEEN[epsilon]}",
        log_x=True,
    )
    return picture, found


def _panel_compared(epsilon: float, found: dict[str, Array]) -> Comparison:
    near = float(np.max(found["mechanism1"] / found["optimal"]))
    holds = near <= SLIGHTLY
    why = (
        ""
        if holds
        else "for small epsilon Mechanism 1 is well above the optimum, which stays bounded as epsilon falls (Theorem 3)"
    )
    what = f"epsilon = {epsilon:g}: Mechanism 1 over DP-OPT, largest for delta from 1e-7 to 1e-3"
    return claim(what, '"are close"', near, holds=holds, function=_SIGMA, why=why)


def figure2(context: Context) -> Item:
    """Fig. 2 (i)-(vi)."""
    figures, compared, rows, ends = [], [], [], []
    for epsilon, low, high in PANELS:
        picture, found = _panel(epsilon, 33)
        figures.append(picture)
        compared.append(_panel_compared(epsilon, found))
        ends.append(
            (
                epsilon,
                low,
                min(float(v.min()) for v in found.values()),
                high,
                max(float(v.max()) for v in found.values()),
            )
        )
        rows.append((epsilon, *(float(amount(m, epsilon, 1e-5)) for m in EIGHT)))
    grid = Grid("The eight amounts at delta = 1e-5, sensitivity 1", ("epsilon", *LABELS.values()), tuple(rows))
    axes = Grid(
        "Ticks of the axes beside the least and largest of the eight amounts, delta from 1e-7 to 1e-3, without a "
        "verdict",
        ("epsilon", "first tick", "least", "last tick", "largest"),
        tuple(ends),
    )
    text = (
        "The paper prints no numbers for these curves; a table gives the ticks of its axes and the ends of our "
        "curves. Its legend says SDP-OPT where the caption says pDP-OPT; the caption is right. 'Close' is taken to "
        "mean: at most a fifth more."
    )
    return Item(
        "zhao-fig2", "Fig. 2", "Eight amounts for six epsilons", text, tuple(compared), tuple(figures), (grid, axes)
    )
