"""Zhao, Tables II and III: the properties and the cost of the eight amounts."""

from __future__ import annotations

import time
from collections.abc import Callable
from functools import partial
from typing import Any

import numpy as np

import hush
from hush_papers.item import Comparison, Context, Grid, Item, claim
from hush_papers.zhao.amounts import EIGHT, GRID, LABELS, SLIGHTLY, amount

__all__ = ["tables2_3"]

_SIGMA = "hush.gaussian.sigma"
_AT = ((10.0, 1e-5), (1.0, 1e-5), (0.1, 1e-5), (0.01, 1e-3), (1e-3, 0.01), (1e-4, 0.25))
_STEPS = (
    (
        "Table II",
        "mechanism1",
        "optimal",
        "as epsilon falls Mechanism 1 grows without bound while the optimum does not (Theorem 3)",
    ),
    (
        "Table II",
        "mechanism2",
        "mechanism1",
        "c of (9) does not depend on epsilon: Mechanism 2 grows like 1/epsilon, and does so before Mechanism 1",
    ),
    ("Table III", "mechanism3", "pdp_optimal", "for large delta and epsilon inverfc(delta) is well above the root"),
    ("Table III", "mechanism4", "mechanism3", "for large delta the elementary bound on inverfc is loose"),
)


def _ratio(above: str, below: str, epsilon: float, delta: float) -> float:
    return float(amount(above, epsilon, delta) / amount(below, epsilon, delta))


def _steps() -> list[Comparison]:
    """Each statement of the tables, at the one of six points where it is farthest from true."""
    made = []
    for table, above, below, reason in _STEPS:
        epsilon, delta = max(_AT, key=lambda at: _ratio(above, below, *at))
        ratio, least = _ratio(above, below, epsilon, delta), min(_ratio(above, below, *at) for at in _AT)
        holds = least > 1.0 and ratio <= SLIGHTLY
        what = f"{table}: {LABELS[above]} over {LABELS[below]}, largest of six points, at ({epsilon:g}, {delta:g})"
        why = f"Least of the six: {least:.6g}." if holds else f"{reason}; least of the six: {least:.6g}."
        made.append(claim(what, '"slightly greater than"', ratio, holds=holds, function=_SIGMA, why=why))
    return made


def _at_six() -> Grid:
    head = ("epsilon", "delta", *(f"{LABELS[above]}/{LABELS[below]}" for _, above, below, _ in _STEPS))
    rows = tuple((e, d, *(_ratio(above, below, e, d) for _, above, below, _ in _STEPS)) for e, d in _AT)
    return Grid("How much greater each amount is than the one below it", head, rows)


def _common() -> list[Comparison]:
    """Common properties of Table II on the grid with epsilon <= 1, and the orders on the whole grid."""
    epsilon, delta = GRID
    small = epsilon <= 1.0
    made = []
    for method in ("optimal", "mechanism1"):  # Mechanism 2 is compared under (10), Section V
        worst = float(np.max((amount(method, epsilon, delta) / amount("dwork2014", epsilon, delta))[small]))
        what = f"Table II and (10): {LABELS[method]} over Dwork-2014, largest for epsilon from 1e-4 to 1"
        made.append(claim(what, "< 1", worst, holds=worst < 1.0, function=_SIGMA))
    for lower, upper in (
        ("optimal", "mechanism1"),
        ("mechanism1", "mechanism2"),
        ("pdp_optimal", "mechanism3"),
        ("mechanism3", "mechanism4"),
    ):
        worst = float(np.max(amount(lower, epsilon, delta) / amount(upper, epsilon, delta)))
        place = "Section V i)" if upper in ("mechanism1", "mechanism2") else "Theorems 8 and 9"
        what = (
            f"{place}: {LABELS[lower]} over {LABELS[upper]}, largest on the grid (epsilon 1e-4 to 100, delta 1e-300 "
            "to 0.49)"
        )
        made.append(claim(what, "< 1", worst, holds=worst < 1.0, function=_SIGMA))
    return made


def _fastest(work: Callable[[], Any], times: int) -> float:
    """Seconds of the fastest of several runs, the one that other processes disturbed least."""
    best = np.inf
    for _ in range(times):
        start = time.perf_counter()
        work()
        best = min(best, time.perf_counter() - start)
    return float(best)


def _costs(*, quick: bool) -> dict[str, tuple[float, float]]:
    """Seconds for one pair, and for a pair among many in one array; only their ratios are used."""
    size = 2000 if quick else 20000
    epsilon, delta = np.geomspace(0.05, 20.0, size), np.geomspace(1e-9, 1e-3, size)
    found = {}
    for method in EIGHT:
        one = _fastest(partial(amount, method, 0.7, 1e-5), 15)
        many = _fastest(partial(amount, method, epsilon, delta), 3) / size
        found[method] = one, many
    return found


def _timed(costs: dict[str, tuple[float, float]]) -> list[Comparison]:
    made = []
    for slow, fast in (
        ("optimal", "mechanism1"),
        ("optimal", "mechanism2"),
        ("pdp_optimal", "mechanism3"),
        ("pdp_optimal", "mechanism4"),
    ):
        for which, place in enumerate(("one pair", "many pairs at once")):
            ratio = costs[slow][which] / costs[fast][which]
            table = "Table II" if slow == "optimal" else "Table III"
            what = f"{table}: time of {LABELS[slow]} over time of {LABELS[fast]}, {place}"
            made.append(
                claim(
                    what,
                    '"more computationally efficient"',
                    ratio,
                    holds=ratio > 1.0,
                    function=_SIGMA,
                    why="measured in this run; it varies" if ratio > 1 else "measured",
                )
            )
    return made


def tables2_3(context: Context) -> Item:
    """Tables II and III."""
    costs = _costs(quick=context.quick)
    capped = tuple(
        (e, d, float(hush.gaussian.sigma(e, d, method="mechanism1", capped=True) / amount("optimal", e, d)))
        for e, d in _AT
    )
    text = (
        "The properties in the two tables are checked on a grid and at six points from large to small epsilon; "
        "'slightly greater' is taken to mean: by at most a fifth. That is true for moderate epsilon and false for "
        "small epsilon, where Mechanisms 1 and 2 diverge. Taking the smaller of Mechanism 1 and the epsilon-free "
        "bound of Theorem 3 (capped=True) keeps it bounded, but not close to the optimum: the last table still has a "
        f"ratio of {max(row[2] for row in capped):.2f}.\n\nThe closed forms take less time, as stated, but every "
        "amount takes only microseconds to milliseconds, and DP-OPT as timed here also certifies its result."
    )
    grids = (
        _at_six(),
        _cost_table(costs),
        Grid("Mechanism 1, capped, over DP-OPT", ("epsilon", "delta", "ratio"), capped),
    )
    return Item(
        "zhao-tables",
        "Tables II and III",
        "Properties and cost of the amounts",
        text,
        (*_steps(), *_common(), *_timed(costs)),
        (),
        grids,
    )


def _cost_table(costs: dict[str, tuple[float, float]]) -> Grid:
    forms = {
        "optimal": "root of an equation, safeguarded Newton steps",
        "pdp_optimal": "root of an equation, safeguarded Newton steps",
        "mechanism1": "closed, erfc and its inverse",
        "mechanism3": "closed, inverse of erfc",
    }
    least = min(one for one, _ in costs.values()), min(many for _, many in costs.values())
    rows = tuple(
        (
            LABELS[m],
            "pDP" if m in ("pdp_optimal", "mechanism3", "mechanism4") else "DP",
            forms.get(m, "closed, elementary"),
            one / least[0],
            many / least[1],
        )
        for m, (one, many) in costs.items()
    )
    head = (
        "amount",
        "for",
        "form",
        "time of one pair, in units of the fastest",
        "time per pair among many, in units of the fastest",
    )
    return Grid("Form and cost", head, rows)
