"""Zhao, Fig. 1 and 3: where the classical amounts fail."""

from __future__ import annotations

import math
from itertools import pairwise
from typing import Any

import numpy as np

import hush
from hush_papers.item import CORRECTED, Comparison, Context, Figure, Grid, HeatMap, Item, Series, claim, compare
from hush_papers.zhao.amounts import LABELS

__all__ = ["figure1", "figure3"]

DELTAS = (1e-3, 1e-4, 1e-5, 1e-6)
#: Remark 2 and Section V iii), for the four deltas
PRINTED = {"dwork2014": ("7.47", "8.00", "8.43", "8.79"), "dwork2006": ("8.51", "8.99", "9.39", "9.73")}
#: first and last tick of the insets of the figures
TICKS = {
    ("dwork2014", "dp"): ("7.5", "8.5"),
    ("dwork2006", "dp"): ("8.5", "9.5"),
    ("dwork2014", "pdp"): ("5.2", "5.6"),
    ("dwork2006", "pdp"): ("6.4", "6.8"),
}
NOTIONS = {"dp": "differentially private", "pdp": "probabilistically differentially private"}


def true_delta(method: str, notion: str, epsilon: float, delta: float) -> float:
    """The true delta of a classical amount."""
    sigma = hush.gaussian.sigma(epsilon, delta, method=method, allow_invalid=True)
    return float(
        hush.delta(hush.Gaussian(sigma), epsilon) if notion == "dp" else hush.gaussian.pdp_delta(epsilon, sigma)
    )


def _region(key: str, method: str, notion: str, *, quick: bool) -> HeatMap:
    across = np.linspace(0.25, 20.0, 30 if quick else 80)
    up = np.linspace(0.02, 0.98, 17 if quick else 49)
    values = [[_excess(true_delta(method, notion, e, d), d) for e in across] for d in up]
    return HeatMap(
        f"{key}-{method}",
        f"{LABELS[method]}: shaded where it is not {NOTIONS[notion]}",
        "epsilon",
        "claimed delta",
        "log10(true delta / claimed delta)",
        across.tolist(),
        up.tolist(),
        values,
        f"Plane of epsilon from 0 to 20 and claimed delta from 0 to 1. White on the left: {LABELS[method]} keeps its "
        "claim. Shaded to the right of a line: the true delta exceeds the claim, most where epsilon is large and "
        "delta small.",
    )


def _excess(given: float, claimed: float) -> float:
    """By how many powers of ten the true delta exceeds the claimed one; NaN, which has no shade, where it does not."""
    return math.log10(given / claimed) if given > claimed else math.nan


def _lines(key: str, notion: str) -> Figure:
    grid = np.concatenate([np.geomspace(1e-7, 1e-2, 16), np.linspace(0.02, 0.98, 40)])
    lines = [
        Series(LABELS[m], hush.gaussian.fails_beyond(grid, m, notion=notion).tolist(), grid.tolist()) for m in PRINTED
    ]
    if notion == "dp":
        lines += [
            Series(f"{LABELS[m]}, as printed", [float(g) for g in printed], DELTAS, points=True)
            for m, printed in PRINTED.items()
        ]
    return Figure(
        f"{key}-thresholds",
        f"Thresholds G(delta): to the right an amount is not {NOTIONS[notion]}",
        "epsilon",
        "delta",
        tuple(lines),
        "Two lines, Dwork-2014 left of Dwork-2006. Both move right as delta falls from 0.1 to 1e-7, and bend right "
        "again near delta = 1. Printed points, if any, lie on the lines as far as the eye can see.",
        log_y=True,
    )


def _thresholds(notion: str) -> Grid:
    head = ("delta", *(LABELS[m] for m in PRINTED))
    columns = [hush.gaussian.fails_beyond(np.array(DELTAS), m, notion=notion) for m in PRINTED]
    return Grid(
        f"Thresholds G(delta): {NOTIONS[notion]} up to this epsilon",
        head,
        tuple((d, *(float(c[i]) for c in columns)) for i, d in enumerate(DELTAS)),
    )


def _printed_thresholds() -> list[Comparison]:
    made = []
    for method, printed in PRINTED.items():
        for delta, text in zip(DELTAS, printed, strict=True):
            ours = hush.gaussian.fails_beyond(delta, method)
            made.append(
                compare(
                    f"G({delta:g}), {LABELS[method]} (Remark 2, Section V iii)",
                    text,
                    ours,
                    function="hush.gaussian.fails_beyond",
                    why=""
                    if abs(ours - float(text)) <= 0.005
                    else (
                        f"the printed value is {float(text) - ours:.4f} too high: the amount fails beyond it, but "
                        "also just below it"
                    ),
                )
            )
    return made


def _ticks(notion: str) -> Grid:
    """The insets of the figures end near our thresholds for 1e-3 and 1e-6."""
    rows = tuple(
        (LABELS[method], delta, float(text), float(hush.gaussian.fails_beyond(delta, method, notion=notion)))
        for method in PRINTED
        for delta, text in zip((1e-3, 1e-6), TICKS[method, notion], strict=True)
    )
    caption = (
        "First and last tick of the insets beside our thresholds, without a verdict, because a tick is not a printed "
        "value"
    )
    return Grid(caption, ("amount", "delta", "tick", "G(delta)"), rows)


def _one_interval(notion: str, *, quick: bool) -> Comparison:
    """Theorem 1 and Fig. 1 or 3: each amount fails on one half line of epsilon and nowhere else."""
    changes = 0
    for method in PRINTED:
        for delta in (1e-12, 1e-6, 1e-3, 0.1, 0.9):
            fails = [true_delta(method, notion, e, delta) > delta for e in np.geomspace(1e-3, 1e3, 31 if quick else 91)]
            changes = max(changes, sum(a != b for a, b in pairwise(fails)))
    what = f"times an amount changes between private and not ({notion}) as epsilon runs from 1e-3 to 1e3, at most"
    return claim(
        what,
        "epsilon > G(delta)",
        float(changes),
        holds=changes == 1,
        function="hush.delta" if notion == "dp" else "hush.gaussian.pdp_delta",
    )


def _inside(notion: str) -> Comparison:
    grid = np.geomspace(1e-12, 0.99, 60)
    ratio = hush.gaussian.fails_beyond(grid, "dwork2014", notion=notion) / hush.gaussian.fails_beyond(
        grid, "dwork2006", notion=notion
    )
    worst = float(np.max(ratio))
    what = f"G of Dwork-2014 over G of Dwork-2006 ({notion}), largest for delta from 1e-12 to 0.99"
    return claim(what, "< 1", worst, holds=worst < 1.0, function="hush.gaussian.fails_beyond")


def _item(key: str, place: str, notion: str, text: str, context: Context, printed: list[Comparison]) -> Item:
    figures: tuple[Any, ...] = (_lines(key, notion), *(_region(key, m, notion, quick=context.quick) for m in PRINTED))
    compared: tuple[Any, ...] = (*printed, _one_interval(notion, quick=context.quick), _inside(notion))
    return Item(
        key,
        place,
        f"Where the Dwork amounts are not {NOTIONS[notion]}",
        text,
        compared,
        figures,
        (_thresholds(notion), _ticks(notion)),
    )


def figure1(context: Context) -> Item:
    """Fig. 1, Theorem 1 and Remark 2."""
    printed = _printed_thresholds()
    high = [float(c.published) - c.ours for c in printed if c.verdict == CORRECTED]
    text = (
        "The amounts of Dwork et al. (2006) and Dwork and Roth (2014) are proved for epsilon up to 1. Beyond a "
        "threshold G(delta) they are not (epsilon, delta)-private. The claim holds, and is sharp: each amount fails "
        f"on one half line. The four printed thresholds of Dwork-2014 are {min(high):.4f} to {max(high):.4f} too "
        "high."
    )
    return _item("zhao-fig1", "Fig. 1", "dp", text, context, printed)


def figure3(context: Context) -> Item:
    """Fig. 3."""
    text = (
        "The same for probabilistic privacy, where the loss must stay within epsilon on both sides with probability "
        "1 - delta. The paper prints no thresholds; ours are in the table, beside the ends of its insets."
    )
    return _item("zhao-fig3", "Fig. 3", "pdp", text, context, [])
