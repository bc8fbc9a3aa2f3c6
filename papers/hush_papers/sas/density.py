"""SaS paper, Fig. 2: densities; misprints."""

from __future__ import annotations

import math

import numpy as np
from numpy.typing import NDArray
from scipy.integrate import quad

from hush import Gaussian, Stable
from hush_papers.item import Comparison, Context, Figure, Grid, Item, claim, line

__all__ = ["densities", "slips"]

Array = NDArray[np.float64]

#: the three densities of Fig. 2, at unit scale
DRAWN = (1.0, 1.5, 2.0)


def densities(context: Context) -> Item:
    """Fig. 2, and the statements of Section III on the family."""
    x = np.linspace(-6.0, 6.0, 241)
    bell = Figure(
        "sas-fig2",
        "Fig. 2: symmetric alpha-stable densities, location 0, scale 1",
        "x (in units of the scale gamma)",
        "density",
        tuple(line(_name(a), x, Stable(a, 1.0).pdf(x)) for a in DRAWN),
        "Three bells: the Cauchy density has the highest peak and the widest foot, the Gaussian the lowest peak and "
        "the narrowest foot; alpha = 1.5 lies between them.",
    )
    tails = _tails_figure()
    rows = tuple(
        (v, *(float(Stable(a, 1.0).pdf(v)) for a in DRAWN)) for v in (0.0, 0.5, 1.0, 1.5, 2.0, 3.0, 4.0, 6.0, 10.0)
    )
    grid = Grid("Fig. 2 in numbers: density at x", ("x", *(_name(a) for a in DRAWN)), rows)
    text = (
        "The figure prints no numbers; it is drawn again, with its tails. The comparisons are with the text of the "
        "section. Only alpha = 1 and 2 have a closed form; the others are integrals, which hush takes along a path "
        "without oscillation."
    )
    return Item(
        "sas-fig2",
        "Fig. 2, Section III",
        "The densities",
        text,
        (*_forms(), _misprint(), *_moments()),
        (bell, tails),
        (grid,),
    )


def _tails_figure() -> Figure:
    far = np.geomspace(1.0, 1e4, 121)
    near = far[far < 12.0]
    return Figure(
        "sas-fig2-tails",
        "The tails of the same densities",
        "x (in units of the scale gamma)",
        "density",
        (
            *(line(_name(a), far, Stable(a, 1.0).pdf(far)) for a in (1.0, 1.5, 1.9)),
            line(_name(2.0), near, Stable(2.0, 1.0).pdf(near)),
        ),
        "On logarithmic axes the stable tails become straight lines of slope -(1 + alpha); the Gaussian falls away "
        "from them at once.",
        log_x=True,
        log_y=True,
    )


def _name(alpha: float) -> str:
    return f"alpha = {alpha:g}" + {1.0: " (Cauchy)", 2.0: " (Gaussian)"}.get(alpha, "")


def _forms() -> tuple[Comparison, ...]:
    x = np.linspace(-30.0, 30.0, 61)
    cauchy, middle, normal = (Stable(a, 1.0) for a in DRAWN)
    peaks = [float(noise.pdf(0.0)) for noise in (cauchy, middle, normal)]
    return (
        claim(
            "Sec. III-A: alpha = 1 is the Cauchy density; p(0)",
            "1/(pi (1 + x^2))",
            peaks[0],
            holds=np.allclose(cauchy.pdf(x), 1.0 / (math.pi * (1.0 + x * x)), rtol=1e-12, atol=0.0),
            function="hush.Stable.pdf",
        ),
        claim(
            "Sec. III-A: alpha = 2 is the Gaussian density, sigma = gamma sqrt 2; p(0)",
            "N(0, 2 gamma^2)",
            peaks[2],
            holds=np.allclose(normal.pdf(x), Gaussian(math.sqrt(2.0)).pdf(x), rtol=1e-12, atol=0.0),
            function="hush.Stable.pdf",
        ),
        *_integrals(middle),
        claim(
            "Fig. 2: peak of alpha = 1.5, between the others",
            "p(0; 1) > p(0; 1.5) > p(0; 2)",
            peaks[1],
            holds=peaks[0] > peaks[1] > peaks[2],
            function="hush.Stable.pdf",
        ),
        claim(
            "Lemma IV.1: support is the whole line; log p(1e300), alpha = 1.5",
            "p(x) > 0",
            float(middle.logpdf(1e300)),
            holds=all(math.isfinite(float(Stable(a, 1.0).logpdf(1e300))) for a in (1.0, 1.25, 1.5, 1.75, 1.9, 1.99)),
            function="hush.Stable.logpdf",
        ),
    )


def _integrals(middle: Stable) -> tuple[Comparison, ...]:
    integral = quad(lambda t: math.exp(-(t**1.5)), 0.0, np.inf, weight="cos", wvar=2.0)[0] / math.pi
    wide = float(Stable(1.5, 3.0).pdf(6.0))
    return (
        claim(
            "(18): p(2) for alpha = 1.5, against the integral itself",
            "1/(2 pi) int e^(-|t|^alpha - i t x) dt",
            float(middle.pdf(2.0)),
            holds=math.isclose(float(middle.pdf(2.0)), integral, rel_tol=1e-7),
            function="hush.Stable.pdf",
        ),
        claim(
            "(18): scale; p(6) for alpha = 1.5, gamma = 3",
            "p(x/gamma)/gamma",
            wide,
            holds=math.isclose(wide, float(middle.pdf(2.0)) / 3.0, rel_tol=1e-12),
            function="hush.Stable.pdf",
        ),
    )


def _misprint() -> Comparison:
    """(15) for a skewed law: the effect of the missing parentheses."""
    start = math.cos(0.5 * math.tan(0.75 * math.pi))
    return claim(
        "(15): real part of phi(t) as t -> 0, alpha = 1.5, beta = 0.5, as printed",
        "exp(i t mu - |gamma t|^alpha + i beta sgn(t) Phi(t))",
        start,
        holds=math.isclose(start, 1.0, rel_tol=1e-12),
        function="hush.Stable",
        why=(
            "A characteristic function tends to 1 at 0: the parentheses of |gamma t|^alpha (1 - i beta sgn(t) "
            "Phi(t)) are missing. Nothing changes for beta = 0, the only case that the paper uses."
        ),
    )


def _moments() -> tuple[Comparison, ...]:
    return (
        claim(
            "Sec. III-A: the mean is undefined at alpha = 1; E|Y|",
            '"The mean of the density is undefined"',
            Stable(1.0, 1.0).mean_abs,
            holds=math.isinf(Stable(1.0, 1.0).mean_abs),
            function="hush.Stable.mean_abs",
        ),
        claim(
            "Sec. III-A: the mean is defined beyond; E|Y| at alpha = 1.1",
            '"defined for alpha > 1"',
            Stable(1.1, 1.0).mean_abs,
            holds=math.isfinite(Stable(1.1, 1.0).mean_abs) and math.isfinite(Stable(1.001, 1.0).mean_abs),
            function="hush.Stable.mean_abs",
        ),
        claim(
            "Sec. III-A: variance at alpha = 1.99",
            '"infinite variance"',
            Stable(1.99, 1.0).variance,
            holds=math.isinf(Stable(1.99, 1.0).variance),
            function="hush.Stable.variance",
        ),
        claim(
            "Sec. III-A: variance at alpha = 2, gamma = 1",
            '"finite variance only when alpha = 2"',
            Stable(2.0, 1.0).variance,
            holds=math.isclose(Stable(2.0, 1.0).variance, 2.0, rel_tol=1e-14),
            function="hush.Stable.variance",
        ),
        *_decay(),
    )


def _decay() -> tuple[Comparison, ...]:
    middle = Stable(1.5, 1.0)
    slope = math.log10(float(middle.pdf(1e7)) / float(middle.pdf(1e6)))
    weight = float(middle.sf(1e8)) * 1e12
    return (
        claim(
            "Sec. III-A: alpha sets the decay; slope of log p at x = 1e6, alpha = 1.5",
            "-(1 + alpha)",
            slope,
            holds=math.isclose(slope, -2.5, rel_tol=1e-6),
            function="hush.Stable.pdf",
        ),
        claim(
            "Sec. V: moments exist only below alpha; x^1.5 P(Y > x) far out",
            '"only defined up to alpha"',
            weight,
            holds=math.isclose(weight, math.gamma(1.5) * math.sin(0.75 * math.pi) / math.pi, rel_tol=1e-6),
            function="hush.Stable.sf",
        ),
    )


def slips(context: Context) -> Item:
    """Misprints and too narrow conditions that change no result."""
    rows = (
        (
            "after Definition 2",
            "bounded query if and only if bounded sensitivity",
            "only the first implies the second: a count is unbounded",
        ),
        (
            "(15)",
            "exp(i t mu - |gamma t|^alpha + i beta sgn(t) Phi(t))",
            "exp(i t mu - |gamma t|^alpha (1 - i beta sgn(t) Phi(t)))",
        ),
        (
            "Sec. III-A",
            "alpha in (1, 2]",
            "pure privacy for [1, 2), finite mean absolute error for (1, 2]; the text alternates",
        ),
        ("(19)", "p(x; alpha, beta, 0)", "p(x; alpha, gamma, 0)"),
        ("(20)", "Gamma(alpha k + 1)/x^(alpha k + 1)", "Gamma(alpha k + 1)/(k! |x|^(alpha k + 1))"),
        (
            "(30)",
            "e^(-t^alpha) after the substitution t = (gamma t)^alpha",
            "e^(-t); the value Gamma(1/alpha)/(alpha gamma pi) is right",
        ),
        ("after (30)", "1/alpha in (1/2, 1)", "(1/2, 1], as alpha = 1 is allowed"),
        ("(31)", "x - f(D) to the power -alpha - 1", "|x - f(D)|"),
        (
            "(32)",
            "the loss tends to 0 as ||x|| -> infinity",
            "only if every coordinate goes to infinity; bounded losses suffice",
        ),
        (
            "Definition 8",
            "any two data points of the client's data set",
            "any two possible inputs, or nothing is promised for the others",
        ),
    )
    grid = Grid("Slips of the print", ("place", "printed", "right"), rows)
    text = "None of these changes a theorem. Some may be errors of the text extraction."
    return Item("sas-slips", "Throughout", "Slips that change nothing", text, grids=(grid,))
