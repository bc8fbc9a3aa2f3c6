"""Which noise to choose: the best family for epsilon, delta and the number of coordinates, what it saves, and how far
it is from the limit.
"""

from __future__ import annotations

import math
from collections.abc import Callable
from functools import lru_cache

import hush
from hush_papers.item import Context, Figure, Grid, HeatMap, Item, Paper, Regions, claim, line

__all__ = ["PAPER", "gain", "plan", "to_limit"]

Pairs = tuple[tuple[float, ...], tuple[float, ...]]

#: (epsilons, deltas) of the maps, by number of coordinates; those of a quick run are a subset
FULL: dict[int, Pairs] = {
    1: ((0.1, 0.5, 1.0, 2.0, 5.0), (1e-9, 1e-6, 1e-3, 0.05)),
    10: ((0.1, 0.5, 1.0, 2.0, 5.0), (1e-9, 1e-6, 1e-3)),
    50: ((0.1, 1.0, 5.0), (1e-9, 1e-6, 1e-3)),
}
QUICK: dict[int, Pairs] = {1: ((0.1, 1.0, 5.0), (1e-6, 1e-3)), 10: ((1.0, 5.0), (1e-6,))}

#: families that are best somewhere come first, so that each keeps one colour in all maps
_FIRST = ("staircase", "stepped", "laplace", "gaussian", "asinh", "flipped_huber", "osgt", "exponential_power")


@lru_cache(maxsize=256)
def plan(epsilon: float, delta: float, k: int) -> hush.Plan:
    """All families, calibrated for k coordinates that move by at most 1 each."""
    return hush.calibrate(epsilon, delta, hush.Sensitivity(linf=1.0, l0=k))


def _variance(epsilon: float, delta: float, k: int, family: str) -> float:
    found = next(choice for choice in plan(epsilon, delta, k).ranking if choice.family == family)
    if found.noise is not None:
        return found.loss
    if not found.reason.startswith("not searched"):
        return math.inf
    # left out of the ranking, because its loss is far above that of another family
    return float(hush.calibrate(epsilon, delta, hush.Sensitivity(linf=1.0, l0=k), family=family).value)


def gain(epsilon: float, delta: float, k: int) -> float:
    """The smaller variance of Laplace and Gaussian noise over that of the best family."""
    return min(_variance(epsilon, delta, k, name) for name in ("laplace", "gaussian")) / plan(epsilon, delta, k).value


def to_limit(epsilon: float, delta: float) -> float:
    """The best family's variance over the proved lower bound for any noise added to one number."""
    bracket = plan(epsilon, delta, 1).limit
    assert bracket is not None
    return plan(epsilon, delta, 1).value / float(bracket.lower)


def _pairs(context: Context, k: int) -> Pairs | None:
    return (QUICK if context.quick else FULL).get(k)


def _winners(k: int, epsilons: tuple[float, ...], deltas: tuple[float, ...]) -> Grid:
    rows = []
    for d in (0.0, *deltas):
        cells = [
            f"{plan(e, d, k).family.replace('_', ' ')}, {100.0 * (1.0 - 1.0 / gain(e, d, k)):.2g} % less"
            for e in epsilons
        ]
        rows.append((f"{d:g}", *cells))
    head = ("delta", *(f"epsilon = {e:g}" for e in epsilons))
    moved = "one number" if k == 1 else f"{k} coordinates, each moved by at most 1"
    return Grid(
        f"The family of least variance for {moved}, and how much less than the better of Laplace and Gaussian",
        head,
        tuple(rows),
    )


def _ranking(k: int, epsilon: float, delta: float) -> Grid:
    made = plan(epsilon, delta, k)
    rows = tuple((c.family.replace("_", " "), c.loss, c.loss / made.value) for c in made.ranking if c.noise is not None)
    return Grid(
        f"Every family at epsilon = {epsilon:g}, delta = {delta:g}, K = {k}",
        ("family", "variance", "over the best"),
        rows,
    )


def _map(k: int, epsilons: tuple[float, ...], deltas: tuple[float, ...], what: str) -> HeatMap:
    saved = what == "gain"
    values = [
        [100.0 * (1.0 - 1.0 / gain(e, d, k)) if saved else 100.0 * (to_limit(e, d) - 1.0) for e in epsilons]
        for d in deltas
    ]
    flat = [v for row in values for v in row]
    title = (
        "Variance saved against the better of Laplace and Gaussian"
        if saved
        else "Variance of the best family above the limit of any noise"
    )
    meaning = (
        f"Variance saved, in percent, over epsilon from {epsilons[0]:g} to {epsilons[-1]:g} and delta from "
        f"{deltas[0]:g} to {deltas[-1]:g}"
        if saved
        else "How far the best family lies above the proved lower bound for any noise, in percent, one number"
    )
    return HeatMap(
        f"beyond-{what}-{k}",
        f"{title}, K = {k}",
        "epsilon",
        "delta",
        "saved (%)" if saved else "above the limit (%), at most",
        epsilons,
        deltas,
        values,
        f"{meaning}: between {min(flat):.2g} and {max(flat):.3g}. Each cell is one pair (epsilon, delta).",
        log_x=True,
        log_y=True,
    )


def _regions(k: int, epsilons: tuple[float, ...], deltas: tuple[float, ...]) -> Regions:
    """The best family for every pair, as a map; delta = 0, which a logarithmic axis cannot show, is in the table."""
    names = [[plan(e, d, k).family.replace("_", " ") for e in epsilons] for d in deltas]
    found = list(dict.fromkeys(name for row in names for name in row))
    others = sorted({c.family for c in plan(1.0, 1e-6, k).ranking} - set(_FIRST))
    # where delta is large the numerical optimum over all noises, which is not a family, may be the best
    palette = list(dict.fromkeys(name.replace("_", " ") for name in (*_FIRST, "optimal", *others)))
    return Regions(
        f"beyond-winner-{k}",
        f"The family of least variance, K = {k}",
        "epsilon",
        "delta",
        epsilons,
        deltas,
        names,
        palette,
        f"Every family has a colour and a letter, over epsilon from {epsilons[0]:g} to {epsilons[-1]:g} and delta "
        f"from {deltas[0]:g} to {deltas[-1]:g}; these are the best somewhere: {', '.join(found)}.",
        log_x=True,
        log_y=True,
    )


def one_number(context: Context) -> Item:
    """K = 1, with the limit of any noise."""
    epsilons, deltas = _pairs(context, 1) or FULL[1]
    pure = max(to_limit(e, 0.0) for e in epsilons)
    truncated = {e: _variance(e, 1e-6, 1, "truncated_laplace") / float(hush.limit(e, 1e-6).lower) for e in (0.1, 5.0)}
    rows = (
        claim(
            "delta = 0: the best family over the limit, worst epsilon of the map (flipped Huber paper, Sec. V-A)",
            '"The staircase mechanism is the optimal epsilon -DP mechanism in one dimension"',
            pure,
            holds=pure <= 1.0 + 1e-9
            and all(plan(e, 0.0, 1).family == "staircase" or gain(e, 0.0, 1) < 1.001 for e in epsilons),
            function="hush.limit",
            why="Proved by Geng and Viswanath (2014).",
        ),
    )
    text = (
        "For one number Gaussian noise is never the best. The staircase is the best where delta is too small to "
        "help, and a stepped noise (the staircase cut off where delta allows it) where delta helps. They save little "
        "against Laplace noise for small epsilon, and much where epsilon or delta is large. The distance to the "
        "limit is measured from its proved lower bound, so part of it is the gap between the bounds of the proof. "
        f"Truncated Laplace noise at delta = 1e-6 is within {100.0 * (truncated[0.1] - 1.0):.1g} per cent of the "
        f"limit at epsilon = 0.1 and at {truncated[5.0]:.3g} times it at 5: it is optimal only as epsilon and delta "
        "tend to 0."
    )
    figures = (_regions(1, epsilons, deltas), _map(1, epsilons, deltas, "gain"), _map(1, epsilons, deltas, "limit"))
    grids = (_winners(1, epsilons, deltas), _ranking(1, 1.0, 1e-6))
    return Item("beyond-1", "K = 1", "One number", text, rows, figures, grids)


def _most(context: Context, k: int) -> float:
    """The largest saving on the map, in percent, without delta = 0."""
    epsilons, deltas = _pairs(context, k) or FULL[k]
    return max(100.0 * (1.0 - 1.0 / gain(e, d, k)) for e in epsilons for d in deltas)


def _many(context: Context, k: int, text: Callable[[float], str]) -> Item:
    found = _pairs(context, k)
    place, title = f"K = {k}", f"{k} coordinates"
    if found is None:
        return Item(
            f"beyond-{k}",
            place,
            title,
            "Left out of a quick run: the map takes about a minute. Run `hush-papers beyond` without --quick.",
        )
    epsilons, deltas = found
    figures = (_regions(k, epsilons, deltas), _map(k, epsilons, deltas, "gain"))
    grids = (_winners(k, epsilons, deltas), _ranking(k, 1.0, 1e-6))
    return Item(f"beyond-{k}", place, title, text(_most(context, k)), figures=figures, grids=grids)


def ten(context: Context) -> Item:
    """K = 10: between Laplace and Gaussian."""
    return _many(
        context,
        10,
        lambda most: (
            "Ten coordinates that each move by 1: where delta is very small the staircase and Laplace noise are the "
            "best, where it is large the Gaussian is nearly the best, and in between noises of other shapes save up "
            f"to {most:.2g} per cent. The map has no limit, because hush.limit is used for one number only."
        ),
    )


def fifty(context: Context) -> Item:
    """K = 50: nearly Gaussian."""
    return _many(
        context,
        50,
        lambda most: (
            "Fifty coordinates: sums of many small losses are nearly Gaussian, and so is the best noise. The saving "
            f"against the Gaussian is at most {most:.2g} per cent, and less where delta is large. With delta = 0 the "
            "Gaussian is not private, and only the families with a pure epsilon remain."
        ),
    )


def along(context: Context) -> Item:
    """From one coordinate to many, at one budget."""
    epsilon, delta = 1.0, 1e-6
    counts = (1, 10) if context.quick else (1, 2, 4, 10, 20, 50, 100)
    figure = _along_figure(counts, epsilon, delta)
    best = [plan(epsilon, delta, k) for k in counts]
    table = tuple(
        (
            k,
            p.family.replace("_", " "),
            p.value,
            _variance(epsilon, delta, k, "laplace"),
            _variance(epsilon, delta, k, "gaussian"),
        )
        for k, p in zip(counts, best, strict=True)
    )
    grid = Grid(
        "The best family at epsilon = 1, delta = 1e-6", ("K", "family", "its variance", "Laplace", "Gaussian"), table
    )
    text = (
        "A rule of thumb: for one or a few coordinates, or delta = 0, take staircase or Laplace noise; for about "
        "ten, a noise between Laplace and Gaussian; for many, Gaussian or asinh noise. hush.calibrate ranks all "
        "families for a budget in seconds."
    )
    return Item("beyond-along", "K = 1 to 100", "From one coordinate to many", text, figures=(figure,), grids=(grid,))


def _along_figure(counts: tuple[int, ...], epsilon: float, delta: float) -> Figure:
    """The variance of every family over that of the Gaussian, against the number of coordinates."""
    names = ("laplace", "staircase", "osgt", "flipped_huber", "exponential_power", "asinh")
    lines = [
        line(
            n.replace("_", " "),
            counts,
            [_variance(epsilon, delta, k, n) / _variance(epsilon, delta, k, "gaussian") for k in counts],
        )
        for n in names
    ]
    return Figure(
        "beyond-along",
        "Variance over that of the Gaussian, epsilon = 1, delta = 1e-6",
        "number of coordinates K, each moved by at most 1",
        "variance / Gaussian variance",
        tuple(lines),
        "At K = 1 all families lie near 0.1 of the Gaussian, asinh at 0.2, and rise in proportion to K. The "
        "staircase keeps rising and passes 1 near K = 10, as does Laplace noise, which levels off near 2 (K = 100); "
        "the other families level off at 1, asinh lowest.",
        log_x=True,
        log_y=True,
    )


PAPER = Paper(
    "beyond",
    "Beyond: which noise to choose",
    "Not a paper: results of hush.calibrate, over all families, and of hush.limit.",
    (one_number, ten, fifty, along),
)
