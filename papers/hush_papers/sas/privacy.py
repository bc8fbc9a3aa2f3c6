"""SaS paper, Section IV: the epsilon that Theorem IV.4 proves finite and does not compute; Renyi divergences."""

from __future__ import annotations

import math
from itertools import pairwise

import numpy as np

import hush
from hush import Gaussian, Stable
from hush_papers.item import Comparison, Context, Figure, Grid, HeatMap, Item, claim, line

__all__ = ["epsilons", "pure_epsilon", "renyi_orders"]

SHAPES = (1.0, 1.25, 1.5, 1.75, 1.9, 1.99)


def pure_epsilon(alpha: float, shift: float, gamma: float = 1.0) -> float:
    """The pure epsilon of stable noise for one number that moves by `shift`."""
    return float(hush.epsilon(Stable(alpha, gamma), 0.0, shift))


def epsilons(context: Context) -> Item:
    """Theorem IV.4 with numbers: epsilon against alpha and scale."""
    count = 13 if context.quick else 60
    by_alpha, by_scale = _lines(count)
    few = 8 if context.quick else 30
    plane = _plane(few)
    table = tuple((s, *(pure_epsilon(a, s) for a in SHAPES)) for s in (0.01, 0.1, 0.5, 1.0, 2.0, 5.0, 20.0))
    slopes = ("slope at 0", *(Stable(a, 1.0).sup_score() for a in SHAPES))
    grid = Grid(
        "epsilon at Delta/gamma, and its slope at 0, sup |p'/p|",
        ("Delta/gamma", *(f"alpha = {a:g}" for a in SHAPES)),
        (*table, slopes),
    )
    text = (
        "Theorem IV.4 proves that epsilon is finite and gives no value. It is the largest value of log p(x)/p(x + "
        "s), s = Delta/gamma: 2 asinh(s/2) for alpha = 1, by a numerical maximisation for the others. It is concave "
        "in s with slope sup |p'/p| at 0, so that s sup |p'/p| is a simple bound; it grows only like (1 + alpha) log "
        "s for narrow noise, and without bound as alpha goes to 2."
    )
    return Item(
        "sas-epsilon", "Theorem IV.4, (9)", "The epsilon", text, _theorem(), (by_alpha, by_scale, plane), (grid,)
    )


def _lines(count: int) -> tuple[Figure, Figure]:
    alphas, scales = np.linspace(1.0, 1.99, count), np.geomspace(0.1, 30.0, count)
    by_alpha = Figure(
        "sas-epsilon-alpha",
        "The pure epsilon of stable noise against alpha",
        "alpha",
        "epsilon",
        tuple(
            line(f"scale gamma = {g:g} Delta", alphas, [pure_epsilon(a, 1.0, g) for a in alphas])
            for g in (0.5, 1.0, 3.0, 20.0)
        ),
        "Every curve has a shallow minimum, near alpha = 1.25 for wide noise and further left for narrow noise, and "
        "rises without bound towards alpha = 2.",
        log_y=True,
    )
    by_scale = Figure(
        "sas-epsilon-scale",
        "The pure epsilon of stable noise against its scale",
        "scale gamma / sensitivity Delta",
        "epsilon",
        tuple(line(f"alpha = {a:g}", scales, [pure_epsilon(a, 1.0, g) for g in scales]) for a in SHAPES),
        "On logarithmic axes the curves are straight lines of slope -1 for scales above the sensitivity and bend "
        "down for smaller ones; alpha = 1.99 lies highest.",
        log_x=True,
        log_y=True,
    )
    return by_alpha, by_scale


def _plane(few: int) -> HeatMap:
    across, up = np.linspace(1.0, 1.98, few), np.geomspace(0.2, 20.0, few)
    return HeatMap(
        "sas-epsilon-plane",
        "The pure epsilon over alpha and scale",
        "alpha",
        "scale gamma / sensitivity Delta",
        "log10 epsilon",
        across.tolist(),
        up.tolist(),
        [[math.log10(pure_epsilon(a, 1.0, g)) for a in across] for g in up],
        "Epsilon falls from bottom to top, as the scale grows, and changes little from left to right until alpha "
        "comes near 2.",
        log_y=True,
    )


def _theorem() -> tuple[Comparison, ...]:
    rows = [
        claim(
            f"Theorem IV.4: epsilon at Delta = gamma, alpha = {a:g}",
            '"satisfies (5), epsilon -DP"',
            pure_epsilon(a, 1.0),
            holds=math.isfinite(pure_epsilon(a, 1.0)),
            function="hush.epsilon",
        )
        for a in SHAPES
    ]
    shifts = np.linspace(0.1, 8.0, 40)
    grown = {a: [pure_epsilon(a, s) for s in shifts] for a in (1.25, 1.5, 1.9)}
    steps = {a: np.diff(v) for a, v in grown.items()}
    largest = max(float(v.max()) for v in map(np.diff, steps.values()))
    return (
        *rows,
        *_range_of_alpha(),
        claim(
            "epsilon grows with Delta (Definition 2 takes the largest); least step on Delta/gamma up to 8",
            "Delta = max ||f(D1) - f(D2)||",
            min(float(v.min()) for v in steps.values()),
            holds=all((v > 0.0).all() for v in steps.values()) and largest < 0.0,
            function="hush.epsilon",
        ),
        claim(
            "after Definition 2: epsilon of a count, an unbounded query",
            '"if and only if a query f is bounded, the sensitivity of f is also bounded"',
            pure_epsilon(1.5, 1.0),
            holds=math.isinf(pure_epsilon(1.5, 1.0)),  # if the statement held, an unbounded query would have no epsilon
            function="hush.epsilon",
            why="A count has sensitivity 1 and no bound; the theorem needs only the sensitivity.",
        ),
    )


def _range_of_alpha() -> tuple[Comparison, ...]:
    closed = pure_epsilon(1.0, 5.0)
    rising = [pure_epsilon(a, 1.0) for a in (1.9, 1.99, 1.999)]
    return (
        claim(
            "(9) at alpha = 1, Delta = 5 gamma: epsilon in closed form",
            "max log(p1(x)/p2(x))",
            closed,
            holds=math.isclose(closed, 2.0 * math.asinh(2.5), rel_tol=1e-12),
            function="hush.epsilon",
        ),
        claim(
            "Sec. III-A: range of alpha; epsilon at alpha = 2",
            "alpha in (1, 2]",
            pure_epsilon(2.0, 1.0),
            holds=math.isfinite(pure_epsilon(2.0, 1.0)),
            function="hush.epsilon",
            why="At alpha = 2 there is no pure epsilon: the theorem's range [1, 2) is the right one.",
        ),
        claim(
            "the half-open range: epsilon at alpha = 1.999, Delta = gamma",
            "alpha in [1, 2)",
            rising[-1],
            holds=all(b > a for a, b in pairwise(rising)),
            function="hush.epsilon",
        ),
    )


def renyi_orders(context: Context) -> Item:
    """Renyi and concentrated privacy, which Section VI leaves to future work."""
    orders = np.geomspace(1.05, 300.0, 8 if context.quick else 30)
    lines = [
        line(f"alpha = {a:g}", orders, [float(hush.renyi(Stable(a, 1.0), o)) for o in orders]) for a in (1.0, 1.5, 1.9)
    ]
    lines.append(
        line(
            "alpha = 2 (Gaussian)",
            orders[orders < 30.0],
            [float(hush.renyi(Gaussian(math.sqrt(2.0)), o)) for o in orders[orders < 30.0]],
        )
    )
    figure = Figure(
        "sas-renyi",
        "Renyi divergence of stable noise, Delta = gamma",
        "order",
        "Renyi divergence",
        tuple(lines),
        "The stable curves start near those of the Gaussian at small orders and level off at the pure epsilon; the "
        "Gaussian grows in proportion to the order.",
        log_x=True,
        log_y=True,
    )
    grid = _orders_table()
    text = (
        "A pure epsilon bounds every Renyi divergence, so stable noise has both kinds of privacy. hush computes the "
        "divergence: it is about that of a Gaussian for small orders, and at most the pure epsilon for all orders."
    )
    return Item("sas-renyi", "Section VI", "Renyi and concentrated privacy", text, figures=(figure,), grids=(grid,))


def _orders_table() -> Grid:
    rows = []
    for a in (1.0, 1.5, 1.75, 1.9):
        found = [float(hush.renyi(Stable(a, 1.0), o)) for o in (1.5, 2.0, 8.0, 32.0)]
        rows.append(
            (a, *found, pure_epsilon(a, 1.0), max(f / o for f, o in zip(found, (1.5, 2.0, 8.0, 32.0), strict=True)))
        )
    head = (
        "alpha",
        "order 1.5",
        "order 2",
        "order 8",
        "order 32",
        "pure epsilon",
        "divergence / order, largest of these",
    )
    return Grid("Renyi divergence, Delta = gamma", head, tuple(rows))
