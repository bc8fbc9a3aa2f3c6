"""The slides of the OSGT talk: densities, critical values, delta at equal variance, parts of the Renyi divergence."""

from __future__ import annotations

import math

import numpy as np

from hush import OSGT, Laplace, Law, Sensitivity, calibrate, delta, epsilon, renyi
from hush.privacy.paper_bounds import osgt_appendix_e
from hush_papers.item import Comparison, Context, Figure, Item, claim, compare, line
from hush_papers.osgt.privacy import better_beyond
from hush_papers.osgt.setting import EIGHT, FIRST, SECOND, named, twin

__all__ = ["slide_components", "slide_curves", "slide_densities"]


def _critical(noise: Law, budget: float) -> float:
    """y*: the values below it contribute to delta."""
    return float(noise.exceeds(np.array(budget), 1.0).upper[0])


def slide_densities(context: Context) -> Item:
    """Shifted densities, and the part of them that contributes to delta."""
    y = np.linspace(-24.0, -6.0, 181)
    figures = []
    for key, name, noise in (("gaussian", "Gaussian", twin(FIRST)), ("osgt", "OSGT(3, 40)", FIRST)):
        edge = _critical(noise, 0.5)
        figures.append(
            Figure(
                f"osgt-slide-{key}",
                f"{name} of variance 27.7: f(y) exceeds e^0.5 f(y - 1) below y* = {edge:.4g}",
                "y",
                "density",
                (
                    line("f(y)", y, noise.pdf(y)),
                    line("e^0.5 f(y - 1)", y, math.exp(0.5) * np.asarray(noise.pdf(y - 1.0)), dashed=True),
                    line("y*", [edge], [float(noise.pdf(edge))], points=True),
                ),
                f"In the left tail the density crosses its shifted and scaled copy at y = {edge:.4g}; below, the "
                "area between the two is delta.",
                log_y=True,
            )
        )
    text = "The slides' (2) and their figures of densities, variance and tails are Fig. 2 and 3 of the paper, above."
    return Item(
        "osgt-slide-delta",
        "Slides, delta",
        "Which values make delta, epsilon = 0.5",
        text,
        _critical_rows(),
        (*figures, _laplace_figure()),
    )


def _laplace_figure() -> Figure:
    laplace, wide = Laplace(2.0), np.linspace(-8.0, 8.0, 161)
    return Figure(
        "osgt-slide-laplace",
        "Laplace of scale 2: f(y) never exceeds e^0.5 f(y - 1)",
        "y",
        "density",
        (
            line("f(y)", wide, laplace.pdf(wide)),
            line("e^0.5 f(y - 1)", wide, math.exp(0.5) * np.asarray(laplace.pdf(wide - 1.0)), dashed=True),
        ),
        "The two curves are equal for y below 0; elsewhere the scaled copy is above.",
        log_y=True,
    )


def _critical_rows() -> tuple[Comparison, ...]:
    other = twin(FIRST)
    edge, pure = _critical(other, 0.5), calibrate(0.5, 0.0, 1.0, family="laplace").noise
    assert isinstance(pure, Laplace)
    return (
        compare("Laplace scale for epsilon = 0.5, delta = 0", "2", pure.scale, function="hush.calibrate"),
        compare(
            "epsilon of Laplace noise of scale 2", "0.5", float(epsilon(Laplace(2.0), 0.0)), function="hush.epsilon"
        ),
        claim(
            "Gaussian: the set where f(y) > e^epsilon f(y - Delta) is empty for no epsilon; pure epsilon",
            '"it can only provide approximate"',
            float(epsilon(other, 0.0)),
            holds=math.isinf(float(epsilon(other, 0.0))),
            function="hush.epsilon",
        ),
        compare("Gaussian, y*", "-13.35", edge, function="hush.Gaussian.exceeds"),
        compare("Gaussian, delta at epsilon = 0.5", "3.2e-4", float(delta(other, 0.5)), function="hush.delta"),
        compare("OSGT, y*", "-16.5", _critical(FIRST, 0.5), function="hush.OSGT.exceeds"),
        compare("OSGT, delta at epsilon = 0.5", "6.8e-5", float(delta(FIRST, 0.5)), function="hush.delta"),
        compare("variance of OSGT(3, 40)", "27.7", FIRST.variance, function="hush.OSGT.variance"),
    )


def slide_curves(context: Context) -> Item:
    """(epsilon, delta) at equal variance, several settings."""
    figure = _curves_figure()
    range_figure = _meeting_figure(context)
    why = "True only beyond this epsilon; below it the Gaussian of the same variance has the smaller delta."
    rows = (
        compare(
            "slide: OSGT reaches delta = 1e-10 at epsilon",
            "0.94",
            float(epsilon(FIRST, 1e-10)),
            function="hush.epsilon",
        ),
        compare(
            "slide: Gaussian reaches delta = 1e-10 at epsilon",
            "1.12",
            float(epsilon(twin(FIRST), 1e-10)),
            function="hush.epsilon",
        ),
        *(
            claim(
                f"better (epsilon, delta) at the same variance, {named(n)}; from epsilon",
                '"achieves better (epsilon, delta) at the same variance"',
                better_beyond(n),
                holds=better_beyond(n) == 0.0,
                function="hush.delta",
                why=why,
            )
            for n in (FIRST,)
        ),
    )
    text = "The settings of the slides' second figure are not in the text; the paper's are drawn."
    return Item(
        "osgt-slide-curves", "Slides, (epsilon, delta)", "delta at equal variance", text, rows, (figure, range_figure)
    )


def _curves_figure() -> Figure:
    lines = []
    for noise in (FIRST, SECOND):
        grid = np.linspace(0.02, 1.2, 80)
        lines += [
            line(f"OSGT {named(noise)}", grid, delta(noise, grid)),
            line(f"Gaussian, V = {noise.variance:.4g}", grid, delta(twin(noise), grid), dashed=True),
        ]
    return Figure(
        "osgt-slide-curves",
        "delta against epsilon at equal variance, Delta = 1",
        "epsilon",
        "delta",
        tuple(lines),
        "For each variance the OSGT curve is slightly above the Gaussian one for small epsilon and far below for "
        "large epsilon.",
        log_y=True,
    )


def _meeting_figure(context: Context) -> Figure:
    ratios = np.geomspace(0.02, 5.0, 8 if context.quick else 20)
    meeting = []
    for share in (0.05, 0.2, 0.5, 1.0):
        shifts = [(OSGT(r, 1.0), share * OSGT(r, 1.0).variance ** 0.5) for r in ratios]
        meeting.append(
            line(f"Delta/sd = {share:g}", ratios, [float(delta(n, better_beyond(n, s), s)) for n, s in shifts])
        )
    return Figure(
        "osgt-slide-meeting",
        "One number: largest delta at which OSGT beats the Gaussian of its variance",
        "m/sigma",
        "delta",
        tuple(meeting),
        "The lines lie between about 0.003 and 0.2 and fall with m/sigma; larger shifts let OSGT win at larger delta.",
        log_x=True,
        log_y=True,
    )


def slide_components(context: Context) -> Item:
    """zeta and alpha rho of the Renyi divergence."""
    orders = np.geomspace(1.05, 100.0, 60)
    rho = 8.0 / (2.0 * EIGHT.sigma**2)
    whole = [8.0 * osgt_appendix_e(EIGHT, a) for a in orders]
    zeta = [d - a * rho for d, a in zip(whole, orders, strict=True)]
    figure = Figure(
        "osgt-slide-components",
        "Parts of the Renyi divergence, k = 8, m = 15, sigma^2 = 630, Delta_2^2 = 8",
        "order alpha",
        "divergence",
        (
            line("alpha rho", orders, [a * rho for a in orders]),
            line("zeta", orders, zeta),
            line("both: exact divergence", orders, whole, dashed=True),
            line(
                "Gaussian of the same variance",
                orders,
                [renyi(twin(EIGHT), a, Sensitivity(linf=1.0, l0=8)) for a in orders],
                dashed=True,
            ),
        ),
        "alpha rho rises in proportion to the order; zeta is about 0.7 of it for small orders, is largest, 0.09, "
        "near order 35 and then falls; the total is above the Gaussian's line up to order 20 and below it from there.",
        log_x=True,
        log_y=True,
    )
    rows = _components_rows(rho)
    text = "The slide writes Delta_2^2 = k Delta; it is k Delta^2, the same at Delta = 1."
    return Item("osgt-slide-components", "Slides, components", "zeta and alpha rho", text, rows, (figure,))


def _components_rows(rho: float) -> tuple[Comparison, ...]:
    share = {a: 1.0 - a * rho / (8.0 * renyi(EIGHT, a)) for a in (2.0, 71.66)}
    return (
        claim(
            "effect of zeta: its share at alpha = 71.66, the best order of Fig. 6",
            '"is rather small"',
            share[71.66],
            holds=share[71.66] < 0.2,
            function="hush.renyi",
        ),
        claim(
            "effect of zeta: its share at alpha = 2",
            '"is rather small"',
            share[2.0],
            holds=share[2.0] < 0.2,
            function="hush.renyi",
            why=(
                "The orders of the figure are not in the text. At small orders zeta is a large part; there OSGT is "
                "worse than the Gaussian."
            ),
        ),
        compare(
            "Delta_2^2 of eight unit moves",
            "8",
            Sensitivity(linf=1.0, l0=8).l2_bound ** 2,
            function="hush.Sensitivity.l2_bound",
        ),
    )
