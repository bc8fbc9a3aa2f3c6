"""SaS paper, Lemma IV.2: the series of the tail."""

from __future__ import annotations

import math

import numpy as np
from numpy.typing import NDArray

from hush import Stable
from hush_papers.item import Comparison, Context, Figure, Grid, Item, claim, line

__all__ = ["series", "tail_series"]

Array = NDArray[np.float64]


def series(alpha: float, x: Array, terms: int, *, printed: bool) -> Array:
    """The first terms of (20), as printed or with the missing factor 1/k!."""
    total = np.zeros_like(x)
    for k in range(1, terms + 1):
        size = math.gamma(alpha * k + 1.0) / (1.0 if printed else math.factorial(k))
        total -= (-1.0) ** k * size * math.sin(0.5 * k * alpha * math.pi) * np.abs(x) ** (-alpha * k - 1.0)
    return total / math.pi


def tail_series(context: Context) -> Item:
    """Lemma IV.2: only the first term of the printed series is right."""
    x = np.geomspace(4.0, 100.0, 60)
    exact = np.asarray(Stable(1.5, 1.0).pdf(x))
    lines = [
        line(
            f"n = {n}, {'as printed' if printed else 'with 1/k!'}",
            x,
            np.abs(series(1.5, x, n, printed=printed) / exact - 1.0),
            dashed=printed,
        )
        for n, printed in ((1, False), (2, True), (3, True), (2, False), (3, False))
    ]
    figure = Figure(
        "sas-series",
        "Lemma IV.2: error of the tail series, alpha = 1.5",
        "x (in units of the scale gamma)",
        "relative error of n terms of (20)",
        tuple(lines),
        "With the factor 1/k! the error falls steeply with every term; as printed, two and three terms stay as far "
        "off as one term, and fall at the same slow rate.",
        log_x=True,
        log_y=True,
    )
    text = (
        "Bergstrom's expansion has a factor 1/k!, which is missing in the print, and |x| in place of x. At alpha = 1 "
        "the right series is the geometric series of 1/(1 + x^2), and the printed one diverges for every x. The "
        "proof of Theorem IV.4 uses only the first term, which is right."
    )
    return Item(
        "sas-series", "Lemma IV.2, (20)", "The tail series", text, _series_rows(), (figure,), (_series_errors(),)
    )


def _series_rows() -> tuple[Comparison, ...]:
    ends = np.array([50.0, 100.0])
    rows = []
    for n in (1, 2):
        density = np.asarray(Stable(1.25, 1.0).pdf(ends))
        slopes = [_slope(series(1.25, ends, n, printed=printed) - density) for printed in (True, False)]
        rows.append(
            claim(
                f"(20), {n} term{'s' * (n > 1)}, alpha = 1.25: order of the remainder between x = 50 and 100",
                f"O(x^-{1.25 * (n + 1) + 1:g})",
                slopes[0],
                holds=abs(slopes[0] + 1.25 * (n + 1) + 1.0) < 0.2,
                function="hush.Stable.pdf",
                why=""
                if n == 1
                else f"The factor 1/k! is missing in (20); with it the order is as stated: {slopes[1]:.2f}.",
            )
        )
    return tuple(rows)


def _series_errors() -> Grid:
    """The errors at x = 10, for up to three terms."""
    ten, rows = np.array([10.0]), []
    for alpha in (1.0, 1.25, 1.5):
        exact = float(Stable(alpha, 1.0).pdf(10.0))
        for n in (1, 2, 3):
            rows.append((alpha, n, *(float(series(alpha, ten, n, printed=p)[0]) / exact - 1.0 for p in (True, False))))
    return Grid("Relative error of (20) at x = 10", ("alpha", "terms", "as printed", "with 1/k!"), tuple(rows))


def _slope(remainder: Array) -> float:
    return float(np.log(abs(remainder[1] / remainder[0])) / np.log(2.0))
