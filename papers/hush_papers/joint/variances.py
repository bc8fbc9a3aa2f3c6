"""Flipped Huber's Table II and Fig. 4, least variances for (epsilon, 1e-8), with joint noise and with the limit."""

from __future__ import annotations

import math

from hush_papers.flipped_huber.optimum import best
from hush_papers.flipped_huber.table2 import TABLE_2
from hush_papers.item import Context, Figure, Grid, Item, line
from hush_papers.joint.noises import any_direction, as_counts, independent, joint, limit

__all__ = ["figure_4", "table_2"]

_DELTA = 1e-8
_TWENTY = {row[0]: tuple(map(float, row[1:])) for row in TABLE_2}
_PRINTED_AT = (5, 0.3)  # the one point of Fig. 4 that the text prints: the exact condition, and Theorem 8
_PRINTED = (502.0, 557.0)
_HEAD = (
    "Gaussian",
    "flipped Huber, exact",
    "best independent",
    "ball",
    "cube",
    "limit of any noise",
    "counts: correlated",
    "counts: interval",
    "counts: limit",
)
_BEST, _CUBE, _LIMIT = map(_HEAD.index, ("best independent", "cube", "limit of any noise"))
_INTERVAL, _COUNTS = map(_HEAD.index, ("counts: interval", "counts: limit"))


def _row(k: int, epsilon: float) -> tuple[float, ...]:
    """The least variances for (epsilon, 1e-8), in the order of _HEAD."""
    return (
        best("gaussian", epsilon, _DELTA, k).variance,
        best("flipped_huber", epsilon, _DELTA, k).variance,
        independent(epsilon, _DELTA, k),
        joint("ball", epsilon, _DELTA, k),
        joint("cube", epsilon, _DELTA, k),
        limit(epsilon, _DELTA, any_direction(k)),
        joint("correlated", epsilon, _DELTA, k),
        joint("interval", epsilon, _DELTA, k),
        limit(epsilon, _DELTA, as_counts(k)),
    )


def _figure(k: int, rows: dict[float, tuple[float, ...]], printed: dict[float, float], description: str) -> Figure:
    """All variances over that of the Gaussian, which falls with epsilon nearly as they do."""
    grid = tuple(rows)
    lines = []
    if printed:
        lines.append(line("flipped Huber, printed", printed, [v / rows[e][0] for e, v in printed.items()], points=True))
    lines += [
        line(name, grid, [rows[e][place] / rows[e][0] for e in grid], dashed="limit" in name)
        for place, name in enumerate(_HEAD)
        if name not in ("Gaussian", "counts: correlated")
    ]
    return Figure(
        f"joint-variance-{k}",
        f"K = {k}: variance over that of the Gaussian for (epsilon, 1e-8)",
        "epsilon",
        "variance / Gaussian variance",
        tuple(lines),
        description,
        log_x=True,
        log_y=True,
    )


def _shares(rows: list[tuple[float, ...]], over: int, under: int) -> str:
    """The least and the largest ratio of two columns."""
    found = [row[over] / row[under] for row in rows]
    return f"{min(found):.2g} to {max(found):.2g}"


def _budgets() -> str:
    return (
        "Ball and cube noise, and their limit, are for the paper's setting: every number moves by at most 1, up or "
        "down. The columns for counts assume that all numbers move in one direction. Cube and interval noise are "
        "purely private, so they need no delta. All joint noise is drawn for all numbers at once: a number that is "
        "added later is a new release."
    )


def table_2(context: Context) -> Item:
    """Table II of the flipped Huber paper with joint noise."""
    grid = (0.2, 1.0, 5.0) if context.quick else tuple(_TWENTY)
    rows = {e: _row(20, e) for e in grid}
    made = list(rows.values())
    text = (
        f"For twenty numbers cube noise has {_shares(made, _CUBE, _BEST)} of the variance of the best independent "
        f"noise, interval noise, for counts, has {_shares(made, _INTERVAL, _BEST)} of it, and the limit of any noise "
        f"is {_shares(made, _LIMIT, _CUBE)} of the cube's variance (for counts {_shares(made, _COUNTS, _INTERVAL)} of "
        "that of interval noise).\n\n"
        "The printed variances of flipped Huber noise are too small for delta = 1e-8, as the part about that paper "
        "shows. Those of Laplace and staircase noise are for delta = 0, and the cube has the same guarantee. The best "
        f"independent noise is asinh noise. {_budgets()}"
    )
    head = ("epsilon", *(f"{name}, printed" for name in ("flipped Huber", "Laplace", "staircase")), *_HEAD)
    table = tuple((e, *_TWENTY[e], *row) for e, row in rows.items())
    figure = _figure(
        20,
        rows,
        {e: _TWENTY[e][0] for e in grid},
        "Exact flipped Huber noise lies on 1, the Gaussian, and the best independent noise at 0.90 to 0.95. Far below "
        "lie, in this order, ball noise, cube noise, and interval noise for counts. The two limits lie below these.",
    )
    return Item(
        "joint-table2",
        "Flipped Huber, Table II",
        "Twenty coordinates and joint noise",
        text,
        figures=(figure,),
        grids=(Grid("K = 20, delta = 1e-8: variances as printed, and least variances", head, table),),
    )


def figure_4(context: Context) -> Item:
    """Fig. 4 of the flipped Huber paper with joint noise."""
    grid = (0.3, 1.0, 5.0) if context.quick else (0.2, 0.3, 1.0, 2.2, 5.0)
    rows = {k: {e: _row(k, e) for e in grid} for k in (3, 5)}
    three, five = (list(rows[k].values()) for k in (3, 5))
    text = (
        f"For three numbers cube noise has {_shares(three, _CUBE, _BEST)} of the variance of the best independent "
        f"noise, and for five numbers {_shares(five, _CUBE, _BEST)}; at epsilon = 0.3 the limit of any noise is "
        f"{_ratio(rows, 3):.2g} of the cube's variance for three numbers and {_ratio(rows, 5):.2g} for five.\n\n"
        f"The paper prints two numbers of this figure, for K = 5 and epsilon = 0.3: {_PRINTED[0]:g} by the exact "
        f"condition, which is impossible, as the part about that paper shows, and {_PRINTED[1]:g} by Theorem 8. The "
        f"cube needs {rows[5][0.3][_CUBE]:.4g} there, and interval noise, for counts, "
        f"{rows[5][0.3][_INTERVAL]:.4g}. {_budgets()}"
    )
    printed = {(k, e): _PRINTED if (k, e) == _PRINTED_AT else (math.nan, math.nan) for k in (3, 5) for e in grid}
    table = tuple((k, e, *printed[k, e], *row) for k in (3, 5) for e, row in rows[k].items())
    head = ("K", "epsilon", "flipped Huber, printed", "by Theorem 8, printed", *_HEAD)
    order = (
        "Exact flipped Huber noise and the best independent noise lie close together. Below lie ball noise, cube "
        "noise, and interval noise for counts. Each limit lies below the noises for the same moves, closest where "
        "epsilon is small."
    )
    figures = (_figure(3, rows[3], {}, order), _figure(5, rows[5], {0.3: _PRINTED[0]}, order))
    return Item(
        "joint-fig4",
        "Flipped Huber, Fig. 4",
        "Three and five coordinates and joint noise",
        text,
        figures=figures,
        grids=(Grid("K = 3 and 5, delta = 1e-8: variances as printed, and least variances", head, table),),
    )


def _ratio(rows: dict[int, dict[float, tuple[float, ...]]], k: int) -> float:
    """The limit over the cube's variance at epsilon = 0.3."""
    return rows[k][0.3][_LIMIT] / rows[k][0.3][_CUBE]
