"""OSGT's Fig. 6, eight coordinates at one variance, with joint noise and with the limit of any noise."""

from __future__ import annotations

import math
from functools import lru_cache
from typing import Any

import numpy as np
from numpy.typing import NDArray

from hush import ExponentialPower, Law, Noise, Sensitivity, calibrate, delta, epsilon, renyi
from hush.privacy.conversion import best_delta
from hush.privacy.paper_bounds import osgt_appendix_e
from hush_papers.crossing import crossing
from hush_papers.flipped_huber.optimum import best
from hush_papers.item import Context, Figure, Grid, Item, Series, line
from hush_papers.joint.noises import any_direction, as_counts, at_variance, independent, joint, limit, refused_epsilon
from hush_papers.osgt.setting import BOX, EIGHT, twin

__all__ = ["figure_6"]

Array = NDArray[np.float64]

_K = 8
_AT, _SHARE = 0.9, 1.44e-14  # the point that the paper prints
_SHARES = (1e-3, 1e-6, _SHARE)  # deltas of the table
_FLOOR = 1e-18  # the least delta that the chart shows
_SHAPES = (1.0, 1.05, 1.1, 1.2, 1.35, 1.5, 1.7, 2.0)  # exponential power: from Laplace to Gaussian


def _osgt_bound(at: float) -> float:
    """(21) with the best order."""
    return best_delta(lambda a: _K * osgt_appendix_e(EIGHT, a), at)


def _gaussian_bound(at: float) -> float:
    """(22) with the best order."""
    return best_delta(lambda a: renyi(twin(EIGHT), a, BOX), at)


def _epsilon_of(bound: Any, share: float) -> float:
    """The epsilon at which a bound on delta is `share`."""
    return crossing(lambda e: [math.log(bound(float(e[0])) / share)], 0.02, 1.2)


@lru_cache(maxsize=1)
def _independent() -> tuple[Law, ...]:
    """Independent noises of the paper's variance, from Laplace to Gaussian."""
    units = [ExponentialPower(p, 1.0).plain() for p in _SHAPES]
    return tuple(unit.scaled(math.sqrt(EIGHT.variance / unit.variance)) for unit in units)


def _until(grid: Array, pure: float) -> Array:
    """The points of the grid below a pure epsilon, and points that approach it, where delta falls to 0."""
    return np.concatenate([grid[grid < 0.9 * pure], pure * (1.0 - np.geomspace(0.1, 1e-15, 31))])


def _shown(label: str, grid: Array, noise: Noise, moved: Sensitivity) -> Series:
    """The curve of a joint noise, down to where its delta is 0."""
    points = _until(grid, float(epsilon(noise, 0.0, moved)))
    return _positive(label, points, np.asarray(delta(noise, points, moved)))


def _best_independent(grid: Array) -> Series:
    """At every epsilon the least delta of the independent noises."""
    points = _until(grid, float(epsilon(_independent()[0], 0.0, BOX)))
    return _positive("best independent", points, np.min([delta(each, points, BOX) for each in _independent()], axis=0))


def _positive(label: str, points: Array, values: Array) -> Series:
    kept = values > _FLOOR
    return line(label, points[kept], values[kept])


def _figure(context: Context) -> Figure:
    grid = np.linspace(0.02, 1.1, 28 if context.quick else 109)
    cube, ball, interval = (at_variance(family, EIGHT.variance, _K) for family in ("cube", "ball", "interval"))
    box, counts = any_direction(_K), as_counts(_K)
    shares = _SHARES if context.quick else (1e-2, 3e-3, 1e-3, 1e-4, 1e-6, 1e-9, _SHARE)
    return Figure(
        "joint-fig6",
        "Eight numbers, noise of variance 398 each: delta against epsilon",
        "epsilon",
        "delta",
        (
            line("OSGT, paper's bound (21)", grid, [_osgt_bound(e) for e in grid], dashed=True),
            line("Gaussian, paper's bound (22)", grid, [_gaussian_bound(e) for e in grid], dashed=True),
            _positive("OSGT, exact", grid, np.asarray(delta(EIGHT, grid, BOX))),
            _best_independent(grid),
            _shown("ball, joint", grid, ball, box),
            _shown("cube, joint", grid, cube, box),
            _shown("interval, joint, counts", grid, interval, counts),
            line("limit of any noise", [refused_epsilon(s, EIGHT.variance, box) for s in shares], shares, dashed=True),
        ),
        "Falling lines. At small delta the order from the right is: the two bounds of the paper, exact OSGT, the best "
        "independent noise, ball, cube, and, left of the limit line, interval noise, which is for counts. The lines "
        "of these three noises and of the best independent noise fall to delta = 0. Near the top, at a delta of 0.01 "
        "and more, the best independent noise lies left of ball and cube noise.",
        log_y=True,
    )


def _rows() -> list[tuple[Any, ...]]:
    box, counts = any_direction(_K), as_counts(_K)
    both, one = "up or down", "in one direction"
    free, bounded = math.nan, EIGHT.variance
    rows: list[tuple[Any, ...]] = [
        ("OSGT, paper's bound (21)", both, *(_epsilon_of(_osgt_bound, s) for s in _SHARES), bounded),
        ("Gaussian, paper's bound (22)", both, *(_epsilon_of(_gaussian_bound, s) for s in _SHARES), free),
        ("OSGT, exact", both, *_epsilons(EIGHT, BOX), best("osgt", _AT, _SHARE, _K).variance),
        ("Gaussian, exact", both, *_epsilons(twin(EIGHT), BOX), best("gaussian", _AT, _SHARE, _K).variance),
        (
            "best independent",
            both,
            *np.min([_epsilons(each, BOX) for each in _independent()], axis=0).tolist(),
            independent(_AT, _SHARE, _K),
        ),
    ]
    for family, moved in (("ball", box), ("cube", box), ("correlated", counts), ("interval", counts)):
        noise = at_variance(family, EIGHT.variance, _K)
        name = both if moved is box else one
        rows.append((f"{family}, joint", name, *_epsilons(noise, moved), joint(family, _AT, _SHARE, _K)))
    for name, moved in ((both, box), (one, counts)):
        least = (refused_epsilon(s, EIGHT.variance, moved) for s in _SHARES)
        rows.append(("limit of any noise", name, *least, limit(_AT, _SHARE, moved)))
    return rows


def _epsilons(noise: Noise, moved: Sensitivity) -> list[float]:
    return [float(epsilon(noise, share, moved)) for share in _SHARES]


def _large_delta() -> str:
    """What holds at a large delta, where joint noise is not the best."""
    box = any_direction(_K)
    found = [float(epsilon(at_variance(name, EIGHT.variance, _K), 1e-2, box)) for name in ("ball", "cube")]
    least = min(float(epsilon(each, 1e-2, BOX)) for each in _independent())
    order = "less than" if least < min(found) else "not less than"
    return (
        f"At delta = 0.01 it has epsilon = {least:.3g}, which is {order} that of ball noise ({found[0]:.3g}) and of "
        f"cube noise ({found[1]:.3g})."
    )


def figure_6(context: Context) -> Item:
    """Fig. 6 of the OSGT paper with joint noise."""
    rows = _rows()
    head = ("noise", "the numbers move", *(f"epsilon at delta = {s:g}" for s in _SHARES), "variance for the budget")
    caption = (
        f"Eight numbers, noise of variance {EIGHT.variance:.4g}: the least epsilon. Last column: the least variance "
        f"for the budget that the paper prints, ({_AT:g}, {_SHARE:g})"
    )
    last = {(row[0], row[1]): row[-1] for row in rows}
    cube, interval = last["cube, joint", "up or down"], last["interval, joint", "in one direction"]
    pure = calibrate(_AT, 0.0, any_direction(_K), family="cube").variance
    text = (
        f"For ({_AT:g}, {_SHARE:g}), the budget that the paper reaches with variance {EIGHT.variance:.4g}, joint noise "
        f"needs variance {cube:.4g} (cube), or {interval:.4g} if the eight numbers are counts (interval), and no noise "
        f"can have less than {limit(_AT, _SHARE, any_direction(_K)):.4g}, or {limit(_AT, _SHARE, as_counts(_K)):.4g} "
        "for counts.\n\n"
        f"The cube needs {pure:.4g} for delta = 0 too. The best independent noise, staircase noise, needs "
        f"{last['best independent', 'up or down']:.4g}. At one variance the best independent noise is the best of "
        f"{len(_SHAPES)} exponential power noises, from Laplace to Gaussian. {_large_delta()}\n\n"
        'The paper\'s example is a "k-dimensional counting query": a person who is added or removed moves all counts '
        "in one direction. If a person can be replaced, the numbers move up and down, and the rows for one direction "
        "do not apply. hush knows the exact curve of ball and correlated noise. For cube and interval noise it knows "
        "the pure epsilon; below it their curves are the bound that follows from the pure epsilon alone."
    )
    return Item(
        "joint-fig6",
        "OSGT, Fig. 6",
        "Eight coordinates and joint noise",
        text,
        figures=(_figure(context),),
        grids=(Grid(caption, head, tuple(rows)),),
    )
