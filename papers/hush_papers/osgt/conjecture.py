"""The OSGT paper's conjecture: is delta smaller than the Gaussian's in several dimensions?"""

from __future__ import annotations

import math

import numpy as np

from hush import Gaussian, Sensitivity, delta
from hush_papers.item import Context, Figure, Grid, HeatMap, Item, claim, line
from hush_papers.osgt.setting import BOX, EIGHT, FIRST, delta_ratio, named, twin

__all__ = ["conjecture"]


def _split(k: int) -> Sensitivity:
    """Delta_2 = 1, the same share for every coordinate."""
    return Sensitivity(linf=1.0 / math.sqrt(k), l0=k)


def conjecture(context: Context) -> Item:
    """Whether delta is smaller for k > 1 at the same covariance."""
    three = Sensitivity(linf=1.0, l0=3)
    cases = (
        ("(3, 40), k = 3, Delta = 1 each", FIRST, three, (0.3, 1.0)),
        ("(15, 630), k = 8, Delta = 1 each", EIGHT, BOX, (0.1, 0.5)),
        ("(3, 40), k = 64, Delta_2 = 1", FIRST, _split(64), (0.5, 1.0)),
        ("(3, 40), k = 400, Delta_2 = 1", FIRST, _split(400), (0.5, 1.0)),
    )
    found = tuple((name, e, delta_ratio(noise, e, bound)) for name, noise, bound, budgets in cases for e in budgets)
    name, e, ratio = min(found, key=lambda row: row[2])
    row = claim(
        f"exact OSGT/Gaussian, {name}, epsilon = {e:g}: the least of {len(found)} settings",
        '"may achieve smaller delta(epsilon) than the Gaussian mechanism"',
        ratio,
        holds=ratio < 1.0,
        function="hush.delta",
        why=(
            f"True in {sum(row[2] < 1.0 for row in found)} of these settings, those of small delta and few "
            "coordinates. It does not hold in the others, where delta is moderate or the coordinates are many; the "
            f"largest ratio is {max(row[2] for row in found):.4g}."
        ),
    )
    grid = Grid("Exact delta of OSGT over that of the Gaussian of its variance", ("setting", "epsilon", "ratio"), found)
    text = (
        "The conjecture (same covariance, k > 1, OSGT may achieve the smaller delta) holds for small delta and few "
        "coordinates and not otherwise. With Delta_2 fixed and a growing number of coordinates the loss of OSGT "
        f"tends to that of a Gaussian whose variance is 1/Fisher information, {1.0 / FIRST.fisher_information:.4f} "
        f"instead of V = {FIRST.variance:.4f} for (3, 40)."
    )
    figures = (_against_k(context), _map(context), _least_delta(context))
    return Item("osgt-conjecture", "Sec. IV-A, conjecture", "More than one coordinate", text, (row,), figures, (grid,))


def _against_k(context: Context) -> Figure:
    ks = (1, 2, 4, 8, 16, 64, 400) if context.quick else (1, 2, 3, 4, 6, 8, 12, 16, 32, 64, 128, 256, 400, 1000)
    limit = Gaussian(math.sqrt(1.0 / FIRST.fisher_information))
    lines = [line(f"epsilon = {e:g}", ks, [delta_ratio(FIRST, e, _split(k)) for k in ks]) for e in (0.5, 1.0)]
    ends = [float(delta(limit, e)) / float(delta(twin(FIRST), e)) for e in (0.5, 1.0)]
    lines += [
        line(f"limit, epsilon = {e:g}", [ks[0], ks[-1]], [end, end], dashed=True)
        for e, end in zip((0.5, 1.0), ends, strict=True)
    ]
    return Figure(
        "osgt-against-k",
        "Exact delta, OSGT(3, 40) over Gaussian, Delta_2 = 1 split over k coordinates",
        "number of coordinates k",
        "ratio of deltas",
        (*lines, line("equal", [ks[0], ks[-1]], [1.0, 1.0], dashed=True)),
        "Both ratios rise with k, cross 1 (epsilon = 0.5: near 10 coordinates; epsilon = 1: near 40) and approach "
        "limits above 1, about 1.3 and 2.4.",
        log_x=True,
        log_y=True,
    )


def _map(context: Context) -> HeatMap:
    ks = (1, 2, 4, 8, 16, 32, 64, 128, 256)
    grid = np.linspace(0.1, 1.0, 10 if context.quick else 19)
    other = delta(twin(FIRST), grid, 1.0)
    values = [np.log10(np.asarray(delta(FIRST, grid, _split(k))) / other).tolist() for k in ks]
    return HeatMap(
        "osgt-worse-map",
        "Where OSGT(3, 40) is worse than the Gaussian of its variance (above 0), Delta_2 = 1",
        "epsilon",
        "number of coordinates k",
        "log10 of delta(OSGT)/delta(Gaussian)",
        grid.tolist(),
        ks,
        values,
        "OSGT is better, by up to 2.7 orders of magnitude, only in the lower right corner: large epsilon and few "
        "coordinates. From 64 coordinates on it is worse at every epsilon shown.",
        log_y=True,
    )


def _least_delta(context: Context) -> Figure:
    """The delta below which OSGT is better, against k, every coordinate moving by 1."""
    ks = (1, 2, 4, 8, 16) if context.quick else (1, 2, 3, 4, 6, 8, 12, 16, 24, 32)
    lines = []
    for noise in (FIRST, EIGHT):
        found = []
        for k in ks:
            bound, root = Sensitivity(linf=1.0, l0=k), math.sqrt(k) / noise.sigma
            grid = np.linspace(0.3 * root, 12.0 * root, 60)
            here, there = np.asarray(delta(noise, grid, bound)), np.asarray(delta(twin(noise), grid, bound))
            gap = np.log(here / there)
            first = int(np.flatnonzero(gap < 0.0)[0])  # between this point and the one before the curves cross
            share = gap[first - 1] / (gap[first - 1] - gap[first]) if first else 1.0
            found.append(float(here[first] * (here[first - 1] / here[first]) ** (1.0 - share)))
        lines.append(line(f"(m, sigma^2) = {named(noise)}", ks, found))
    return Figure(
        "osgt-least-delta",
        "Largest delta at which OSGT beats the Gaussian of its variance, Delta = 1 each",
        "number of coordinates k",
        "delta",
        tuple(lines),
        "Both lines fall steeply: with one coordinate OSGT wins below a delta near 0.01, with sixteen only below "
        "1e-4 or 1e-5.",
        log_x=True,
        log_y=True,
    )
