"""OSGT paper, Appendix E: the worst direction of a move."""

from __future__ import annotations

import math

import numpy as np

from hush import Sensitivity, delta
from hush.privacy.paper_bounds import osgt_appendix_e
from hush_papers.item import Comparison, Context, Figure, Item, claim, line
from hush_papers.osgt.setting import BOX, EIGHT, FIRST

__all__ = ["directions"]


def _towards(degrees: float) -> Sensitivity:
    """Two coordinates, a move of l2 norm 1 at this angle."""
    angle = math.radians(degrees)
    if degrees == 0.0:
        return Sensitivity(linf=1.0, l0=1)
    return Sensitivity(linf=(math.cos(angle), math.sin(angle)))


def directions(context: Context) -> Item:
    """The worst direction of a move of given l2 norm."""
    angles = tuple(np.linspace(0.0, 45.0, 10 if context.quick else 19))
    lines = []
    for e in (0.0175, 0.0875, 0.105, 0.15, 0.525):
        values = [float(delta(FIRST, e, _towards(a))) for a in angles]
        lines.append(line(f"epsilon = {e:g}", angles, [v / values[-1] for v in values]))
    figure = Figure(
        "osgt-directions",
        "delta by direction of a move of l2 norm 1 in two coordinates, OSGT(3, 40)",
        "angle to the axis (degrees)",
        "delta / delta on the diagonal",
        tuple(lines),
        "For epsilon 0.0175 and 0.0875 the axis is worst, for 0.105 an angle near 25 degrees, for 0.15 and 0.525 the "
        "diagonal.",
    )
    rows = _direction_rows()
    text = (
        "Under a pure l2 bound, equal shares are not always the worst direction for delta: for small epsilon it is a "
        "single coordinate, and in between an angle other than 45 degrees. An exact delta for an l2 ball must be "
        "maximised over directions. hush therefore has exact curves for bounded coordinates, and uses Theorem 2 for "
        "l2 balls."
    )
    return Item("osgt-directions", "App. E", "The worst direction", text, rows, (figure,))


def _direction_rows() -> tuple[Comparison, ...]:
    worst = max(
        sum(osgt_appendix_e(FIRST, a, s) for s in (math.cos(t), math.sin(t)))
        / (2.0 * osgt_appendix_e(FIRST, a, math.sqrt(0.5)))
        for a in (1.5, 2.0, 5.0, 20.0, 100.0)
        for t in np.radians(np.linspace(2.0, 44.0, 22))
    )
    under = float(delta(EIGHT, 0.9, BOX)) / float(delta(EIGHT, 0.9, math.sqrt(8.0)))
    return (
        claim(
            "(57): equal shares are the worst direction for the Renyi divergence; largest ratio to them, 22 angles, "
            "5 orders",
            "Delta_i = Delta",
            worst,
            holds=worst <= 1.0 + 1e-12,
            function="hush.privacy.paper_bounds.osgt_appendix_e",
            why="Observed in every test, but not proved; it is proved if each coordinate is bounded by Delta.",
        ),
        claim(
            "Theorem 1 at Delta = Delta_2 in place of eight coordinates: exact delta over it, (15, 630), epsilon = 0.9",
            '"The single-dimensional OSGT mechanism"',
            under,
            holds=under > 1.0,
            function="hush.delta",
            why=(
                "The one-dimensional formula with Delta_2 would give too small a delta, by a factor of about "
                "(2Q(m/sigma))^(k-1)."
            ),
        ),
    )
