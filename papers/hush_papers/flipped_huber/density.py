"""Flipped Huber paper, Fig. 1 and 2: density, information and tails; slips of the print."""

from __future__ import annotations

import math

import numpy as np

from hush import FlippedHuber, Gaussian, Laplace
from hush_papers.flipped_huber import printed
from hush_papers.item import Comparison, Context, Figure, Grid, Item, claim, compare, line

__all__ = ["figure_1", "figure_2", "slips"]


def figure_1(context: Context) -> Item:
    """Densities."""
    t = np.linspace(-6.0, 6.0, 481)
    shapes = ((0.0, 1.0), (1.0, 1.0), (2.0, 1.0), (1.0, 2.0), (2.0, 2.0), (4.0, 2.0))
    lines = [line(f"alpha = {a:g}, gamma = {g:g}", t, FlippedHuber(a, g).pdf(t)) for a, g in shapes]
    joints = [(s * a, float(FlippedHuber(a, g).pdf(a))) for a, g in shapes if a > 0.0 for s in (-1.0, 1.0)]
    lines.append(line("where Laplace meets Gaussian", *zip(*joints, strict=True), points=True))
    figure = Figure(
        "fh-fig1",
        "Flipped Huber densities",
        "noise t",
        "density",
        tuple(lines),
        "Six bell-like densities. For alpha = 0 it is the Gaussian; the others have a kink at 0, sharper for larger "
        "alpha/gamma, and a point on each side where the Laplace centre meets the Gaussian tail.",
    )
    text = (
        "The figure's parameters are not in the text; six pairs are drawn. Every closed form of Section III and "
        "Appendices A and B is compared with hush's number at alpha = 2, gamma = 1. In Appendix B the first form of "
        "the variance needs a minus before its last term, and one display of the Fisher information divides by kappa "
        "twice; (11) and (12) are right."
    )
    return Item("fh-fig1", "Fig. 1, (8)-(12), (23)", "The distribution", text, (*_forms(), *_ends()), (figure,))


def _forms() -> tuple[Comparison, ...]:
    """The printed formulas at (2, 1) beside hush."""
    a, g, noise = 2.0, 1.0, FlippedHuber(2.0, 1.0)
    rows = _formulas(a, g, noise)
    return tuple(
        claim(
            f"{what}, alpha = 2, gamma = 1",
            said,
            ours,
            holds=math.isclose(formula, ours, rel_tol=1e-12),
            function=f"hush.FlippedHuber.{name}",
            why="The printed formula gives the same number to twelve digits.",
        )
        for what, said, formula, ours, name in rows
    )


def _formulas(a: float, g: float, noise: FlippedHuber) -> tuple[tuple[str, str, float, float, str], ...]:
    """(equation, how it is printed, its value, hush's value, the method of hush) at alpha = a, gamma = g."""
    return (
        (
            "(8): kappa",
            "gamma omega e^(-alpha^2/(2 gamma^2))",
            g * printed.omega(a, g) * math.exp(-0.5 * a * a),
            noise.kappa,
            "kappa",
        ),
        ("(9): omega", "2 [sqrt(2 pi) Q(b) + (2/b) sinh(b^2/2)]", printed.omega(a, g), noise.omega, "omega"),
        (
            "(10): cdf in the centre, t = 1",
            "1/2 + (2 gamma/(alpha omega)) ...",
            printed.cdf(1.0, a, g),
            float(noise.cdf(1.0)),
            "cdf",
        ),
        (
            "(10): cdf in the tail, t = -3",
            "(sqrt(2 pi)/omega) Q(3)",
            printed.cdf(-3.0, a, g),
            float(noise.cdf(-3.0)),
            "cdf",
        ),
        *_moment_formulas(a, g, noise),
    )


def _moment_formulas(a: float, g: float, noise: FlippedHuber) -> tuple[tuple[str, str, float, float, str], ...]:
    return (
        ("(11): variance", "gamma^2 [1 - ...]", printed.variance(a, g), noise.variance, "variance"),
        (
            "(12): Fisher information",
            "(1/gamma^2) [1 + ...]",
            printed.fisher(a, g),
            noise.fisher_information,
            "fisher_information",
        ),
        (
            "Sec. III-B: moment generating function, s = 0.7",
            "(sqrt(2 pi)/omega) [P(s) + P(-s)] e^(gamma^2 s^2/2)",
            printed.mgf(0.7, a, g),
            float(noise.mgf(0.7)),
            "mgf",
        ),
        (
            "(23): quantile in the centre, u = 0.9",
            "-(gamma^2/alpha) sgn(2u - 1) log(1 - ...)",
            printed.quantile(0.9, a, g),
            float(noise.ppf(0.9)),
            "ppf",
        ),
        (
            "(23): quantile in the tail, u = 0.999",
            "gamma sgn(2u - 1) Q^-1(...)",
            printed.quantile(0.999, a, g),
            float(noise.ppf(0.999)),
            "ppf",
        ),
    )


def _ends() -> tuple[Comparison, ...]:
    ratios = np.geomspace(1e-3, 30.0, 61)
    least = min(FlippedHuber(r, 1.0).omega for r in ratios) / math.sqrt(2.0 * math.pi)
    t = np.linspace(-5.0, 5.0, 101)
    gaussian = float(np.max(np.abs(np.asarray(FlippedHuber(0.0, 1.0).pdf(t)) - np.asarray(Gaussian(1.0).pdf(t)))))
    far = FlippedHuber(1e4, 100.0)  # scale gamma^2/alpha = 1
    laplace = float(np.max(np.abs(np.asarray(far.pdf(t)) - np.asarray(Laplace(1.0).pdf(t)))))
    return (
        claim(
            "Proposition 1: least omega/sqrt(2 pi), alpha/gamma from 0.001 to 30",
            "omega >= sqrt(2 pi)",
            least,
            holds=least >= 1.0 - 1e-12,
            function="hush.FlippedHuber.omega",
        ),
        claim(
            "alpha = 0 is the Gaussian: largest difference of the densities",
            '"the same as Gaussian"',
            gaussian,
            holds=gaussian < 1e-14,
            function="hush.FlippedHuber.pdf",
        ),
        claim(
            "alpha/gamma = 100 is Laplace noise of scale gamma^2/alpha: largest difference of the densities",
            '"resembles Laplace density"',
            laplace,
            holds=laplace < 1e-12,
            function="hush.FlippedHuber.pdf",
        ),
    )


def figure_2(context: Context) -> Item:
    """Normalised Fisher information, and sub-Gaussianity."""
    ratios = np.linspace(0.0, 6.0, 121)
    values = [FlippedHuber(r, 1.0).normalised_fisher_information for r in ratios]
    figure = Figure(
        "fh-fig2",
        "Normalised Fisher information of flipped Huber noise",
        "alpha/gamma",
        "Fisher information times variance",
        (
            line("flipped Huber", ratios, values),
            line("Gaussian", [0.0, 6.0], [Gaussian(1.0).normalised_fisher_information] * 2, dashed=True),
            line("Laplace", [0.0, 6.0], [Laplace(1.0).normalised_fisher_information] * 2, dashed=True),
        ),
        "An S-shaped curve from 1 at alpha = 0, the Gaussian's value, to 2, the Laplace value, which it reaches near "
        "alpha/gamma = 3.",
    )
    points = (0.5, 1.0, 2.0, 3.0, 5.0)
    table = Grid(
        "Values of Fig. 2, which the text does not print",
        ("alpha/gamma", "normalised Fisher information", "variance/gamma^2"),
        tuple((r, FlippedHuber(r, 1.0).normalised_fisher_information, FlippedHuber(r, 1.0).variance) for r in points),
    )
    return Item(
        "fh-fig2",
        "Fig. 2, Lemma 2",
        "Information and tails",
        "The normalised information lies between that of the Gaussian and that of Laplace noise.",
        _information(),
        (figure,),
        (table,),
    )


def _information() -> tuple[Comparison, ...]:
    wide = np.geomspace(0.01, 5.0, 121)
    noises = [FlippedHuber(r, 1.0) for r in wide]
    information = [noise.normalised_fisher_information for noise in noises]
    name = "hush.FlippedHuber.normalised_fisher_information"
    return (
        compare(
            "normalised Fisher information of the Gaussian",
            "1",
            Gaussian(1.0).normalised_fisher_information,
            function=name,
        ),
        compare(
            "normalised Fisher information of Laplace noise",
            "2",
            Laplace(1.0).normalised_fisher_information,
            function=name,
        ),
        claim(
            "least over alpha/gamma from 0.01 to 5",
            "> 1",
            min(information),
            holds=min(information) > 1.0,
            function=name,
        ),
        claim(
            "largest over alpha/gamma from 0.01 to 5",
            "< 2",
            max(information),
            holds=max(information) < 2.0,
            function=name,
        ),
        *_bounds(noises),
    )


def _bounds(noises: list[FlippedHuber]) -> tuple[Comparison, ...]:
    s = np.geomspace(1e-3, 20.0, 200)
    proxy = max(float(np.max(np.asarray(noise.log_mgf(s)) / (0.5 * s * s))) for noise in noises)
    return (
        claim(
            "largest variance/gamma^2",
            "<= 1",
            max(noise.variance for noise in noises),
            holds=max(noise.variance for noise in noises) <= 1.0,
            function="hush.FlippedHuber.variance",
        ),
        claim(
            "least Fisher information times gamma^2",
            ">= 1",
            min(noise.fisher_information for noise in noises),
            holds=min(noise.fisher_information for noise in noises) >= 1.0,
            function="hush.FlippedHuber.fisher_information",
        ),
        claim(
            "Lemma 2: largest log E e^(sT) over gamma^2 s^2/2",
            "<= 1",
            proxy,
            holds=proxy <= 1.0 + 1e-12,
            function="hush.FlippedHuber.log_mgf",
            why=("True. The printed proof leaves out one step: flipped Huber noise is more peaked than N(0, gamma^2)."),
        ),
    )


def slips(context: Context) -> Item:
    """Misprints and gaps in proofs that change no result."""
    rows = (
        (
            "after (5)",
            "Delta_q <= Delta_r for r >= q",
            "Delta_q >= Delta_r for r >= q, as its own 'decreasing in p' says",
        ),
        (
            "Lemma 2",
            "'it can be verified'; an equivalence that holds up to constants",
            "peakedness gives E cosh(sT) <= E cosh(sN) at once",
        ),
        (
            "Lemma 5, (20)",
            "sub-Gaussian, so P(X > a) <= Q(a/sigma)",
            "not implied (take +-1); true here by peakedness and Birnbaum (1948)",
        ),
        (
            "Lemma 6",
            "Esseen's inequality with arguments of either sign",
            "it needs both >= 0; for t > 0 use sf(t) <= Q(t/gamma)",
        ),
        ("Algorithm 2, line 4", "epsilon", "nu; negative arguments need delta(-x) = 1 - e^-x + e^-x delta(x)"),
        ("App. B, variance", "+ (2 gamma/alpha) e^(-alpha^2/(2 gamma^2))", "- ; (11) itself is right"),
        ("App. B, Fisher information", "1/kappa and g_FH together; theta for z", "one of them; (12) itself is right"),
        ("App. D", "1/n", "1/N"),
        ("Algorithm 3, line 5", "sigma_j", "sigma_i"),
        ("App. F, Lemma 11", "zeta(nu) = epsilon 'clearly'", "fails beyond the largest loss (Laplace); then delta = 0"),
    )
    grid = Grid("Slips of the print and gaps of proofs", ("place", "printed", "right"), rows)
    text = "None of these changes a result. Some may be errors of the text extraction."
    return Item("fh-slips", "Proofs", "Slips that change nothing", text, grids=(grid,))
