"""Zhao, Theorem 7 and Lemmas 3 and 4: limits of the optimum for probabilistic privacy, and its relation to DP."""

from __future__ import annotations

import math

import hush
from hush_papers.item import Comparison, Context, Item, claim
from hush_papers.zhao.amounts import amount
from hush_papers.zhao.asymptotics import (
    at_large_epsilon,
    at_small_delta,
    figure_epsilon,
    figure_ratio,
    half_sum,
    limit_of_one,
)

__all__ = ["theorem7", "theorem7_1"]

_SIGMA = "hush.gaussian.sigma"
_TWICE = (
    "d tends to inverfc(delta), as the proof says, so sigma = (d + sqrt(d^2 + epsilon))/(epsilon sqrt 2) tends to "
    "sqrt 2 inverfc(delta)/epsilon, twice what is printed"
)


def theorem7_1(epsilon: float, delta: float) -> float:
    """pDP-OPT over the limit that Theorem 7 (1) prints, inverfc(delta)/(epsilon sqrt 2); inverfc by (14a)."""
    inverse = float(half_sum(amount("mechanism3", 1.0, delta), 1.0, sign=-1))
    return float(amount("pdp_optimal", epsilon, delta)) * epsilon * math.sqrt(2.0) / inverse


def _pdp() -> list[Comparison]:
    """Lemmas 3 to 5, Theorem 7 (1), Remarks 7 and 8."""
    near, nearer = (theorem7_1(e, 1e-2) for e in (1e-2, 1e-6))
    what = "Theorem 7 (1): pDP-OPT over inverfc(delta)/(epsilon sqrt 2), delta = 0.01, epsilon = 1e-6"
    made = [limit_of_one(what, near, nearer, 0.01, "epsilon = 0.01", else_why=_TWICE)]
    made += [*at_large_epsilon("pdp_optimal"), *at_small_delta("pdp_optimal")]
    grow = float(amount("pdp_optimal", 1e-6, 1e-5) / amount("optimal", 1e-6, 1e-5))
    made.append(
        claim(
            "Remark 7: pDP-OPT over DP-OPT at (1e-6, 1e-5)",
            "Theta(1/epsilon) -> infinity",
            grow,
            holds=grow > 10.0,
            function=_SIGMA,
            why="it grows like 1/epsilon",
        )
    )
    through = [_through_dp(e, 1e-5) * e for e in (1e-3, 1e-6)]
    ratio = through[1] / through[0]
    text = (
        "epsilon times the amount for pDP that goes through (0, delta')-DP, at epsilon = 1e-6 over 1e-3, delta = 1e-5"
    )
    made.append(
        claim(
            f"Remark 8: {text}",
            '"is at the same order as"',
            ratio,
            holds=abs(ratio - 1) < 0.01,
            function="hush.gaussian.epsilon_free_sigma",
        )
    )
    return [*made, *_lemmas()]


def _through_dp(epsilon: float, delta: float) -> float:
    return float(hush.gaussian.epsilon_free_sigma(delta * math.tanh(epsilon / 2.0)))  # (1 - e^-eps)/(1 + e^-eps)


def _lemmas() -> list[Comparison]:
    worst3, worst4 = 0.0, 0.0
    for sigma in (0.5, 1.0, 2.0, 3.0, 5.0):
        for epsilon in (0.1, 0.5, 1.0, 2.0, 5.0):
            delta = float(hush.delta(hush.Gaussian(sigma), epsilon))
            worst3 = max(worst3, delta / float(hush.gaussian.pdp_delta(epsilon, sigma)))
            for larger in (1.05, 1.5, 3.0):
                bound = hush.gaussian.pdp_from_dp(epsilon, delta, larger * epsilon)[1]
                if bound < 1.0:  # a bound of 1 or more states nothing
                    worst4 = max(worst4, float(hush.gaussian.pdp_delta(larger * epsilon, sigma)) / bound)
    return [
        claim(
            "Lemma 3: DP delta over pDP delta of a Gaussian, largest of 25",
            "<= 1",
            worst3,
            holds=worst3 <= 1.0,
            function="hush.gaussian.pdp_delta",
            why="Both are computed from the noise, the DP delta by hush.delta.",
        ),
        claim(
            "Lemma 4: true pDP delta over its bound, largest of up to 75 Gaussian cases",
            "<= 1",
            worst4,
            holds=worst4 <= 1.0,
            function="hush.gaussian.pdp_from_dp",
        ),
    ]


def theorem7(context: Context) -> Item:
    """Theorem 7 and the relations between DP and pDP."""
    points = 49 if context.quick else 145
    figures = (figure_epsilon("pdp_optimal", points=points), figure_ratio("pdp_optimal", points=points))
    text = (
        "Probabilistic privacy bounds the loss itself, and its least Gaussian amount grows like 1/epsilon as epsilon "
        "falls, while the amount for DP stays bounded. Results (2) and (3) hold; the proof of (2) has an error (see "
        "the appendix below). The order 1/epsilon of (1) holds, but its constant is half the true one. It is printed "
        "twice, in the theorem and in Appendix L, with epsilon sqrt 2 below the bar as in (5), (7b), (9), (13b), "
        "(14b) and (15b); this holds for the version as extracted. The independent errata do not list it; it follows "
        "from the printed (13a) and the printed limit of d, and the amounts here confirm it to twelve digits."
    )
    return Item(
        "zhao-theorem7", "Theorem 7, Lemmas 3 and 4", "Limits of the optimum for pDP", text, tuple(_pdp()), figures
    )
