"""Zhao, Section VIII: private means of synthetic vectors (Fig. 4) and a private histogram of Adult (Fig. 5), eight
amounts each.
"""

from __future__ import annotations

import gzip
import math
from collections import Counter
from collections.abc import Sequence
from pathlib import Path
from typing import Any

import numpy as np
from numpy.typing import NDArray

import hush
from hush import InvalidParameter
from hush.errors import shown
from hush_papers.item import NOT_REPRODUCIBLE, Comparison, Context, Figure, Grid, Item, Series, claim, compare
from hush_papers.zhao.amounts import EIGHT, LABELS, amount

__all__ = ["FILES", "adult_histogram", "figure4", "figure5", "mean_errors"]

Array = NDArray[np.float64]
#: by amount: its error at every point of a figure
Errors = dict[str, list[float]]

ROWS = 1000
#: the dimension of (a) and (b), which the paper does not state; with 100 the curves fit the printed axes
DIMENSION = 100
EPSILONS = (0.1, 0.2, 0.3, 0.4, 0.5, 0.6, 0.7, 0.8, 0.9, 1.0)


# -- Fig. 4 --------------------------------------------------------------------------------------------------


def _data(dimension: int, number: int) -> Array:
    """The paper's synthetic set: a normal centre, and 1000 points within 1/2 of it in every coordinate."""
    random = np.random.default_rng([number, dimension])  # not private: the same data for every amount
    return np.asarray(random.standard_normal(dimension) + random.uniform(-0.5, 0.5, (ROWS, dimension)))


def mean_errors(method: str, epsilon: float, delta: float, dimension: int, trials: int) -> float:
    """Mean l2 error of a private mean over trials; two neighbouring data sets have the same centre."""
    sensitivity = math.sqrt(dimension) / ROWS
    sigma = float(amount(method, epsilon, delta, sensitivity))
    step = sigma / 1024.0  # so fine that rounding adds only a ten-millionth to the variance
    noise = hush.draw(hush.Gaussian(sigma), (trials, dimension), step=step) * step
    errors = []
    for number in range(trials):
        true = _mean(dimension, number % 8)
        errors.append(float(np.linalg.norm((true + noise[number]) - true)))
    return float(np.mean(errors))


_MEANS: dict[tuple[int, int], Array] = {}


def _mean(dimension: int, number: int) -> Array:
    if (dimension, number) not in _MEANS:
        _MEANS[dimension, number] = _data(dimension, number).mean(axis=0)
    return _MEANS[dimension, number]


def _errors(points: Sequence[tuple[float, float, int]], trials: int) -> Errors:
    return {m: [mean_errors(m, e, d, k, trials) for e, d, k in points] for m in EIGHT}


def _picture(key: str, title: str, x: str, y: str, across: Sequence[float], found: Errors, **how: Any) -> Figure:
    low, high = min(v[-1] for v in found.values()), max(v[-1] for v in found.values())
    seen = (
        "Eight lines. Up to the noise of the simulation the two Dwork amounts are highest throughout, DP-OPT is "
        "lowest, Mechanism 1 next, and Mechanism 2 and the pDP amounts lie between. At the right end they run from "
        f"{low:.3g} to {high:.3g}."
    )
    return Figure(key, title, x, y, tuple(Series(LABELS[m], list(across), found[m]) for m in EIGHT), seen, **how)


def _axes(rows: Sequence[tuple[str, float, float]]) -> Grid:
    caption = (
        "Ends of the printed axes beside the ends of our curves, without a verdict, because a tick is not a printed "
        "value"
    )
    return Grid(caption, ("end", "tick", "ours"), tuple(rows))


def _orders(place: str, points: Sequence[tuple[float, float]]) -> list[Comparison]:
    """The statements about the curves, checked with the amounts: errors are proportional to them."""
    epsilon, delta = np.array(points).T
    others = np.max([amount(m, epsilon, delta) for m in EIGHT if not m.startswith("dwork")], axis=0)
    margin = float(np.min(amount("dwork2014", epsilon, delta) / others))
    most = float(np.max(amount("mechanism1", epsilon, delta) / amount("optimal", epsilon, delta)))
    above = (
        f"{100.0 * (most - 1.0):.0f} per cent more at epsilon = 0.1: nearer to DP-OPT than to Dwork-2014, but not close"
    )
    return [
        claim(
            f"{place}: Dwork-2014 over the largest amount that is not Dwork's, least of all points",
            "> 1",
            margin,
            holds=margin > 1.0,
            function="hush.gaussian.sigma",
        ),
        claim(
            f"{place}: Mechanism 1 over DP-OPT, largest of all points",
            '"close to that of"',
            most,
            holds=most <= 1.2,
            function="hush.gaussian.sigma",
            why="" if most <= 1.2 else above,
        ),
    ]


def figure4(context: Context) -> Item:
    """Fig. 4 (a)-(c)."""
    trials = 40 if context.quick else 1000
    deltas = (1e-8, 1e-7, 1e-6, 1e-5, 1e-4)
    sizes = (10, 20, 30, 40, 60, 80, 100)
    a = _errors([(e, 1e-4, DIMENSION) for e in EPSILONS], trials)
    b = _errors([(0.1, d, DIMENSION) for d in deltas], trials)
    c = _errors([(0.1, 1e-4, k) for k in sizes], trials)
    figures = _fig4_pictures(a, b, c, deltas, sizes)
    compared = (
        *_setting(),
        *_orders("Fig. 4 (a), (b)", [(e, 1e-4) for e in EPSILONS] + [(0.1, d) for d in deltas]),
    )
    text = (
        f"Private means of 1000 synthetic vectors, as the paper describes them, with {trials} repetitions. The "
        "amounts are the paper's, so hush.draw draws the noise with each sigma, without a calibration. The error is "
        "that of the noise alone and does not depend on the data. Neighbouring data sets must have the same centre, "
        "otherwise the sensitivity has no bound. The paper gives no numbers. Only (c) states its dimension; for (a) "
        "and (b) the dimension was taken from their axes."
    )
    rows = tuple((e, *(a[m][i] for m in EIGHT)) for i, e in enumerate(EPSILONS))
    grid = Grid("Fig. 4 (a): mean l2 error", ("epsilon", *LABELS.values()), rows)
    axes = _axes(
        (
            ("(a): Dwork-2006 at epsilon = 0.1, top", 4.0, a["dwork2006"][0]),
            ("(b): Dwork-2006 at delta = 1e-8, top", 6.0, b["dwork2006"][0]),
            ("(b): DP-OPT at delta = 1e-4, bottom", 2.0, b["optimal"][-1]),
            ("(c): Dwork-2006 at d = 100, top", 4.0, c["dwork2006"][-1]),
        )
    )
    return Item("zhao-fig4", "Fig. 4", "Mean estimation", text, compared, figures, (grid, axes))


def _fig4_pictures(
    a: Errors, b: Errors, c: Errors, deltas: Sequence[float], sizes: Sequence[int]
) -> tuple[Figure, ...]:
    return (
        _picture(
            "zhao-fig4a", "Fig. 4 (a): private mean, delta = 1e-4, d = 100", "epsilon", "mean l2 error", EPSILONS, a
        ),
        _picture(
            "zhao-fig4b",
            "Fig. 4 (b): private mean, epsilon = 0.1, d = 100",
            "delta",
            "mean l2 error",
            deltas,
            b,
            log_x=True,
        ),
        _picture(
            "zhao-fig4c",
            "Fig. 4 (c): private mean, epsilon = 0.1, delta = 1e-4",
            "dimension d",
            "mean l2 error",
            sizes,
            c,
        ),
    )


def _setting() -> tuple[Comparison, ...]:
    unstated = (
        "the dimension of (a) and (b) and the number of repetitions are not stated; with 100 the curves fit the "
        "printed axes"
    )
    radius = (
        0.5
        * hush.Sensitivity(linf=1.0 / ROWS, l0=DIMENSION, neighbours="replace").l2_bound
        * ROWS
        / math.sqrt(DIMENSION)
    )
    return (
        compare(
            "dimension in (a) and (b)", "-", DIMENSION, function="hush.draw", why=unstated, verdict=NOT_REPRODUCIBLE
        ),
        claim(
            "radius of the l_inf ball that makes the l2 sensitivity sqrt(d)/n",
            "1",
            radius,
            holds=abs(radius - 1.0) < 1e-9,
            function="hush.Sensitivity",
            why=(
                "records lie within 1/2 of the centre; a ball of radius 1 would double the sensitivity, which is "
                "printed correctly"
            ),
        ),
    )


# -- Fig. 5 --------------------------------------------------------------------------------------------------

FILES = ("adult.data.gz", "adult.test.gz")
_COLUMNS = 15
_CATEGORICAL = (
    1,
    3,
    5,
    6,
    7,
    8,
    9,
    13,
)  # work class, education, marital status, occupation, relationship, race, sex, country


def adult_histogram(folder: Path) -> tuple[NDArray[np.int64], int, int, int]:
    """Counts of the occupied cells, complete rows, attributes, and cells of the whole domain."""
    rows = []
    for name in FILES:
        if not (folder / name).is_file():
            raise InvalidParameter(
                f"data must contain {name}, but {shown(str(folder))} has no such file; give the folder of the "
                "data sets with --data or HUSH_DATA."
            )
        with gzip.open(folder / name, "rt") as file:
            words = [line.strip().split(", ") for line in file]
        rows += [row for row in words if len(row) == _COLUMNS and "?" not in row]
    cells = Counter(tuple(row[i] for i in _CATEGORICAL) for row in rows)
    domain = math.prod(len({row[i] for row in rows}) for i in _CATEGORICAL)
    return np.array(list(cells.values()), dtype=np.int64), len(rows), len(rows[0]), domain


def _squared_error(counts: NDArray[np.int64], method: str, epsilon: float, delta: float) -> float:
    noise = hush.Gaussian(float(amount(method, epsilon, delta)))
    way = hush.Mechanism(noise, hush.Sensitivity(linf=1.0, l0=1), step=1.0, integers=True, coordinates=counts.size)
    noisy = hush.release(counts, way, ledger=None).value  # the data set is public, so no budget is needed
    return float(np.mean((np.asarray(noisy, dtype=np.float64) - counts) ** 2))


def figure5(context: Context) -> Item:
    """Fig. 5 (a) and (b)."""
    place, title = "Fig. 5", "Histogram of Adult"
    if context.data is None:
        return Item(
            "zhao-fig5", place, title, "This item needs the Adult data set: give its folder with --data or HUSH_DATA."
        )
    counts, rows, attributes, domain = adult_histogram(context.data)
    epsilons = EPSILONS if not context.quick else (0.1, 0.2, 0.3, 0.5, 1.0)
    deltas = (1e-9, 1e-8, 1e-7, 1e-6, 1e-5)
    a = {m: [_squared_error(counts, m, e, 1e-6) for e in epsilons] for m in EIGHT}
    b = {m: [_squared_error(counts, m, 0.1, d) for d in deltas] for m in EIGHT}
    y = "mean squared error of a count"
    figures = (
        _picture("zhao-fig5a", "Fig. 5 (a): histogram of Adult, delta = 1e-6", "epsilon", y, epsilons, a),
        _picture("zhao-fig5b", "Fig. 5 (b): histogram of Adult, epsilon = 0.1", "delta", y, deltas, b, log_x=True),
    )
    read = "hush_papers.zhao.experiments.adult_histogram"
    compared = (
        compare("complete records", "45222", rows, function=read),
        compare("attributes", "15", attributes, function=read),
        *_orders("Fig. 5", [(e, 1e-6) for e in EPSILONS] + [(0.1, d) for d in deltas]),
    )
    text = (
        "Counts for every combination of the eight categorical attributes. Neighbours differ by one added or removed "
        "record, so the sensitivity is 1. The paper does not say whether the income label is an attribute; it is "
        f"left out, which does not change the error. Of {domain:,} cells {counts.size:,} are occupied. The error of "
        "a count is sigma squared in every cell; it is measured on the occupied cells, released by hush.release. A "
        "real release must add noise to every cell, also to empty ones, because the set of occupied cells is "
        "private. The paper gives no numbers."
    )
    cells = tuple((e, *(a[m][i] for m in EIGHT)) for i, e in enumerate(epsilons))
    axes = _axes(
        (
            ("(a): Dwork-2006 at epsilon = 0.1, top", 3000.0, a["dwork2006"][0]),
            ("(b): Dwork-2006 at delta = 1e-9, top", 4000.0, b["dwork2006"][0]),
            ("(b): DP-OPT at delta = 1e-5, bottom", 1000.0, b["optimal"][-1]),
        )
    )
    grid = Grid("Fig. 5 (a): mean squared error", ("epsilon", *LABELS.values()), cells)
    return Item("zhao-fig5", place, title, text, compared, figures, (grid, axes))
