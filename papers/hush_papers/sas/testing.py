"""SaS paper, Section II: the error rates of an attacker that epsilon allows, and the (epsilon, delta) curve below the
pure epsilon.
"""

from __future__ import annotations

import math

import numpy as np

import hush
from hush import Gaussian, Laplace, Law, Stable, Staircase
from hush.federated import calibrate_stable
from hush_papers.item import Comparison, Context, Figure, Grid, Item, claim, line

__all__ = ["approximate", "testing"]

#: by noise: false positive rates, and the least false negative rate at each
Rates = dict[str, tuple[np.ndarray, np.ndarray]]

SHAPES = (1.0, 1.25, 1.5, 1.75, 1.9)
_AT_ONE = 1.5  # the alpha of the trade-off curve


def testing(context: Context) -> Item:
    """(12) and (13): the least error rates of an attacker."""
    stable = calibrate_stable(1.0, alpha=_AT_ONE).noise
    noises: tuple[tuple[str, Law], ...] = (
        (f"stable, alpha = {_AT_ONE:g}", stable),
        ("Laplace", Laplace(1.0)),
        ("staircase", Staircase(1.0)),
    )
    rates = np.array(
        [0.002, 0.05, 0.15, 0.25, 0.3] if context.quick else [0.002, 0.02, 0.05, 0.1, 0.15, 0.2, 0.24, 0.27, 0.3, 0.33]
    )
    fine = np.linspace(0.002, 0.34, 40)  # quick to compute for log-concave and stepped noise
    grids = {name: rates if isinstance(noise, Stable) else fine for name, noise in noises}
    missed = {name: (grids[name], np.asarray(hush.curve(noise).tradeoff(grids[name]))) for name, noise in noises}
    text = (
        "An attacker who must tell two neighbouring data sets apart has error rates p and q. (12) and (13) hold for "
        "every noise of that epsilon; hush computes the exact trade-off. Stable noise reaches its largest loss at "
        "one output only. So the best attacker reaches the bound only at rates near 0; elsewhere its error rates are "
        "larger, also larger than with Laplace noise of the same epsilon. The price of this is accuracy."
    )
    figures = (_curves(missed), _sums())
    rows = (*_bounds(), *_exact(missed, stable))
    return Item(
        "sas-testing", "Section II-B, (12)-(13)", "Epsilon as a limit on tests", text, rows, figures, (_budget(),)
    )


def _curves(missed: Rates) -> Figure:
    corner = 1.0 / (1.0 + math.e)
    lines = [line("(12): the least that epsilon = 1 allows", [0.0, corner, 1.0], [1.0, corner, 0.0], dashed=True)]
    for name, (rates, beta) in missed.items():  # the curve of a symmetric noise is symmetric in p and q
        both = sorted({*zip(rates, beta, strict=True), *zip(beta, rates, strict=True)})
        lines.append(line(name, *zip(*both, strict=True)))
    return Figure(
        "sas-tradeoff",
        "Errors of the best attacker, three noises with epsilon = 1",
        "false positive rate p",
        "least false negative rate q",
        tuple(lines),
        "The two straight lines of (12) meet at p = q = 0.27. The staircase and Laplace curves lie on them at both "
        "ends and a little above in the middle; the stable curve touches them at the ends only and lies well above "
        "in between.",
    )


def _sums() -> Figure:
    epsilon = np.linspace(0.05, 4.0, 40)
    lines = [line("(13): 2/(1 + e^epsilon)", epsilon, [hush.error_sum(e, 0.0) for e in epsilon], dashed=True)]
    lines.append(line("Laplace", epsilon, [hush.curve(Laplace(1.0 / e)).least_error_sum for e in epsilon]))
    for alpha in (1.0, 1.5, 1.9):
        shifts = np.geomspace(0.05, 5.0, 25)
        reached = [
            (hush.epsilon(Stable(alpha, 1.0), 0.0, s), hush.curve(Stable(alpha, 1.0), s).least_error_sum)
            for s in shifts
        ]
        kept = [pair for pair in reached if pair[0] <= 4.0]
        lines.append(line(f"stable, alpha = {alpha:g}", *zip(*kept, strict=True)))
    return Figure(
        "sas-error-sum",
        "The least sum of the attacker's two error rates",
        "pure epsilon",
        "least p + q",
        tuple(lines),
        "All curves fall from 1. The bound (13) is lowest and Laplace lies above it; stable noise lies above both, "
        "most for alpha = 1.9, until alpha = 1.5 comes down to Laplace near epsilon = 4.",
    )


def _bounds() -> tuple[Comparison, ...]:
    rows = [
        claim(
            f"(13): least p + q at epsilon = {e:g}",
            "2/(1 + e^epsilon)",
            hush.error_sum(e, 0.0),
            holds=math.isclose(hush.error_sum(e, 0.0), 2.0 / (1.0 + math.exp(e)), rel_tol=1e-12),
            function="hush.error_sum",
        )
        for e in (0.1, 0.5, 1.0, 3.0)
    ]
    three, small = hush.epsilon_for_error_sum(0.5), hush.error_sum(0.01, 0.0)
    rows += [
        claim(
            "Sec. II-B: epsilon from a wanted p + q = 1/2",
            '"use (13) to determine epsilon"',
            three,
            holds=math.isclose(hush.error_sum(three, 0.0), 0.5, rel_tol=1e-12),
            function="hush.epsilon_for_error_sum",
        ),
        claim(
            "Sec. II-B: epsilon << 1 leaves no good test; least p + q at 0.01",
            '"cannot achieve both low false positive and low false negative rates simultaneously"',
            small,
            holds=small > 0.99,
            function="hush.error_sum",
        ),
        claim(
            "Sec. II-A: epsilon = 0 is perfect privacy; least p + q",
            '"results in no new information"',
            hush.error_sum(0.0, 0.0),
            holds=hush.error_sum(0.0, 0.0) == 1.0,
            function="hush.error_sum",
        ),
    ]
    return tuple(rows)


def _exact(missed: Rates, stable: Stable) -> tuple[Comparison, ...]:
    rates, beta = next(iter(missed.values()))
    p, q = np.concatenate([rates, beta]), np.concatenate([beta, rates])  # the curve is symmetric in p and q
    first, second = float(np.min(p + math.e * q)), float(np.min(math.e * p + q))
    tight = float(missed["staircase"][1][0])
    return (
        claim(
            "(12): least p + e^epsilon q along the stable curve",
            ">= 1",
            first,
            holds=first >= 1.0,
            function="hush.Curve.tradeoff",
        ),
        claim(
            "(12): least e^epsilon p + q along the stable curve",
            ">= 1",
            second,
            holds=second >= 1.0,
            function="hush.Curve.tradeoff",
        ),
        claim(
            "(12) is reached: q of the staircase at p = 0.002",
            "1 - e^epsilon p",
            tight,
            holds=math.isclose(tight, 1.0 - 0.002 * math.e, rel_tol=1e-9),
            function="hush.Curve.tradeoff",
        ),
        *_error_sums(stable),
    )


def _error_sums(stable: Stable) -> tuple[Comparison, ...]:
    curve, cauchy = hush.curve(stable), hush.curve(Stable(1.0, 1.0))
    return (
        claim(
            f"(13) for stable noise, alpha = {_AT_ONE:g}, epsilon = 1: exact least p + q",
            ">= 0.5379",
            curve.least_error_sum,
            holds=curve.least_error_sum >= hush.error_sum(1.0, 0.0),
            function="hush.Curve.least_error_sum",
        ),
        claim(
            "(13) for Cauchy noise, Delta = gamma: exact least p + q",
            ">= 2/(1 + e^epsilon)",
            cauchy.least_error_sum,
            holds=cauchy.least_error_sum >= hush.error_sum(cauchy.pure_epsilon, 0.0)
            and math.isclose(cauchy.least_error_sum, 1.0 - 2.0 / math.pi * math.atan(0.5), rel_tol=1e-10),
            function="hush.Curve.least_error_sum",
        ),
    )


def _budget() -> Grid:
    rows = tuple((least, hush.epsilon_for_error_sum(least)) for least in (0.99, 0.95, 0.9, 0.75, 0.5, 0.25, 0.1, 0.02))
    return Grid(
        "Epsilon chosen by the attacker's least p + q, (13) solved for epsilon", ("least p + q", "epsilon"), rows
    )


def approximate(context: Context) -> Item:
    """Definitions 5 and 7: the stable curves reach delta = 0, the Gaussian's does not."""
    figure = _delta_figure()
    rows = _delta_rows()
    table = tuple(
        (e, *(float(hush.delta(Stable(a, 1.0), e)) for a in SHAPES)) for e in (0.0, 0.1, 0.25, 0.5, 0.75, 0.9, 1.0)
    )
    grid_of = Grid("delta at epsilon, Delta = gamma", ("epsilon", *(f"alpha = {a:g}" for a in SHAPES)), table)
    text = (
        "Below its pure epsilon stable noise has a positive delta, as every noise has. The paper does not use it; "
        "hush computes it."
    )
    return Item("sas-delta", "Definitions 5 and 7", "Pure and approximate", text, tuple(rows), (figure,), (grid_of,))


def _delta_figure() -> Figure:
    lines = []
    for alpha in (1.0, 1.5, 1.75, 1.9):
        top = hush.epsilon(Stable(alpha, 1.0), 0.0)
        grid = top * (1.0 - np.geomspace(1.0, 1e-4, 80))
        lines.append(line(f"alpha = {alpha:g}, pure epsilon {top:.3f}", grid, hush.delta(Stable(alpha, 1.0), grid)))
    grid = np.linspace(0.0, 3.0, 80)
    lines.append(line("alpha = 2 (Gaussian), no pure epsilon", grid, hush.delta(Gaussian(math.sqrt(2.0)), grid)))
    return Figure(
        "sas-delta",
        "delta against epsilon, Delta = gamma",
        "epsilon",
        "delta",
        tuple(lines),
        "Each stable curve drops to 0 at its pure epsilon, which is larger for larger alpha; the Gaussian curve "
        "never reaches 0.",
        log_y=True,
    )


def _delta_rows() -> tuple[Comparison, ...]:
    gaussian = hush.epsilon(Stable(2.0, 1.0), 0.0)
    at = float(hush.delta(Stable(2.0, 1.0), 1.0))
    rows = [
        claim(
            "Sec. II-A: pure epsilon of the Gaussian mechanism",
            '"fail to satisfy condition (5)"',
            gaussian,
            holds=math.isinf(gaussian),
            function="hush.epsilon",
        ),
        claim(
            "Definition 7: but it is (1, delta)-private; delta for sigma = sqrt 2",
            "delta > 0",
            at,
            holds=0.0 < at < 1.0,
            function="hush.delta",
        ),
    ]
    for alpha in (1.5, 1.9):
        made = hush.curve(Stable(alpha, 1.0))
        above, below = (
            float(made.delta(made.pure_epsilon * (1.0 + 1e-9))),
            float(made.delta_bracket(0.99 * made.pure_epsilon).lower),
        )
        rows.append(
            claim(
                f"(9): delta just below the pure epsilon (0.99 of it), alpha = {alpha:g}",
                "epsilon = max L(x)",
                below,
                holds=above == 0.0 < below,
                function="hush.Curve.delta",
            )
        )
    return tuple(rows)
