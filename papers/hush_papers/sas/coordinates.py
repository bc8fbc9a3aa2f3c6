"""SaS paper, (22) to (24): the epsilon of many coordinates."""

from __future__ import annotations

import math

import numpy as np

import hush
from hush import Sensitivity, Stable
from hush_papers.item import Comparison, Context, Figure, Grid, Item, claim, line
from hush_papers.sas.privacy import pure_epsilon

__all__ = ["dimensions"]


def dimensions(context: Context) -> Item:
    """(24) in m dimensions, and epsilon under l1 and l2 bounds."""
    alpha = 1.5
    one = pure_epsilon(alpha, 1.0)
    figure = _dimensions_figure(alpha, one)
    text = (
        "(24) is exact if every coordinate may move by the full sensitivity. Under an l1 or l2 bound the change "
        "cannot be that large in all coordinates: epsilon is concave, so the worst change is spread evenly. The "
        "epsilon of one coordinate at Delta_1/gamma would be too small for an l1 bound."
    )
    table = tuple(
        (a, k, *(_vector(a, k, n) for n in ("linf", "l2", "l1")), pure_epsilon(a, 1.0))
        for a in (1.25, 1.5, 1.75)
        for k in (1, 2, 5, 20)
    )
    head = (
        "alpha",
        "m",
        "every coordinate by gamma",
        "l2 norm gamma (bound)",
        "l1 norm gamma (bound)",
        "one coordinate by gamma",
    )
    grid = Grid("hush.epsilon in m dimensions", head, table)
    return Item("sas-dimensions", "(22)-(24)", "Many coordinates", text, _norms(), (figure,), (grid,))


def _dimensions_figure(alpha: float, one: float) -> Figure:
    counts = np.array([1, 2, 3, 5, 8, 13, 20, 35, 60, 100])
    return Figure(
        "sas-dimensions",
        "epsilon of m coordinates, alpha = 1.5, norm of the change at most gamma",
        "number of coordinates m",
        "epsilon",
        (
            line("(24): m times the largest term", counts, one * counts, dashed=True),
            line(
                "each coordinate moves by gamma", counts, [_vector(alpha, int(k), "linf") for k in counts], points=True
            ),
            line("l2 norm at most gamma", counts, [k * pure_epsilon(alpha, 1.0 / math.sqrt(k)) for k in counts]),
            line("l1 norm at most gamma", counts, [k * pure_epsilon(alpha, 1.0 / k) for k in counts]),
        ),
        "(24) is a line of slope 1 and is reached when every coordinate moves by gamma. Under the l2 norm epsilon "
        "grows like the square root of m, under the l1 norm hardly at all.",
        log_x=True,
        log_y=True,
    )


def _vector(alpha: float, m: int, norm: str) -> float:
    change = {"linf": Sensitivity(linf=1.0, l0=m), "l2": Sensitivity(l2=1.0, l0=m), "l1": Sensitivity(l1=1.0, l0=m)}[
        norm
    ]
    return float(hush.epsilon(Stable(alpha, 1.0), 0.0, change))


def _norms() -> tuple[Comparison, ...]:
    rows, one = [], pure_epsilon(1.5, 1.0)
    for m in (2, 5, 20):
        ours = _vector(1.5, m, "linf")
        rows.append(
            claim(
                f"(24): epsilon, m = {m}, every coordinate moves by gamma, alpha = 1.5",
                "m max |log(p1/p2)|",
                ours,
                holds=math.isclose(ours, m * one, rel_tol=1e-9),
                function="hush.epsilon",
            )
        )
    for norm, even in (("l2", 20.0 * pure_epsilon(1.5, 1.0 / math.sqrt(20.0))), ("l1", 20.0 * pure_epsilon(1.5, 0.05))):
        rows.append(
            claim(
                f"(24): epsilon, m = 20, {norm} norm at most gamma, alpha = 1.5 (exact, even change)",
                "<= m max |log(p1/p2)|",
                even,
                holds=even <= 20.0 * one and even <= _vector(1.5, 20, norm),
                function="hush.epsilon",
                why=f"True, but {20.0 * one / even:.1f} times too large.",
            )
        )
    return tuple(rows)
