"""OSGT paper, Fig. 1 to 3: density, variance and tails; slips of the print."""

from __future__ import annotations

import math
from itertools import pairwise

import numpy as np

from hush import OSGT, Gaussian, Laplace
from hush_papers.crossing import crossing
from hush_papers.item import Comparison, Context, Figure, Grid, Item, claim, compare, line
from hush_papers.osgt.setting import FIRST, SECOND, twin

__all__ = ["figure_1", "figure_2", "figure_3", "slips"]


def figure_1(context: Context) -> Item:
    """The sketch: two Gaussian tails, moved until they meet."""
    y = np.linspace(-25.0, 25.0, 401)
    m, left, right = FIRST.m, np.linspace(-25.0, 0.0, 201), np.linspace(0.0, 25.0, 201)
    gaussian, kept = Gaussian(FIRST.sigma), 2.0 * float(Gaussian(FIRST.sigma).sf(FIRST.m))
    sketch = Figure(
        "osgt-fig1",
        "How two Gaussian tails make the OSGT density, m = 3, sigma^2 = 40",
        "noise y",
        "density",
        (
            line("tail of N(m, sigma^2) below 0", left, gaussian.pdf(left - m), dashed=True),
            line("tail of N(-m, sigma^2) above 0", right, gaussian.pdf(right + m), dashed=True),
            line("OSGT: both, divided by their area", y, FIRST.pdf(y)),
        ),
        "Two Gaussian tails that meet at 0, and above them the OSGT density, the same tails divided by their area; "
        "it has a kink at 0.",
    )
    rows = _density_rows(m, gaussian, kept)
    return Item(
        "osgt-fig1",
        "Fig. 1, Definition 1",
        "The density",
        "The tails of a Gaussian beyond -m and m, moved until they meet at 0.",
        rows,
        (sketch,),
    )


def _density_rows(m: float, gaussian: Gaussian, kept: float) -> tuple[Comparison, ...]:
    mass = math.exp(-0.5 * (m / FIRST.sigma) ** 2) / float(FIRST.pdf(0.0))
    return (
        claim(
            "S in (1), m = 3, sigma^2 = 40 (text as extracted)",
            "2 sqrt(2 pi) sigma^2 Q(m/sigma)",
            mass,
            holds=math.isclose(mass, 2.0 * math.sqrt(2.0 * math.pi) * FIRST.sigma**2 * 0.5 * kept, rel_tol=1e-9),
            function="hush.OSGT.pdf",
            why=(
                "S is a length, 2 sqrt(2 pi sigma^2) Q(m/sigma), as the slides print it; perhaps the text extraction "
                "lost a brace."
            ),
        ),
        claim(
            "(2): F(0)",
            "Q(m/sigma)/(2 Q(m/sigma)) = 1/2",
            float(FIRST.cdf(0.0)),
            holds=math.isclose(float(FIRST.cdf(0.0)), 0.5, rel_tol=1e-14),
            function="hush.OSGT.cdf",
        ),
        claim(
            "(2): F(-1)",
            "Q((m+1)/sigma)/(2 Q(m/sigma))",
            float(FIRST.cdf(-1.0)),
            holds=math.isclose(float(FIRST.cdf(-1.0)), float(gaussian.sf(m + 1.0)) / kept, rel_tol=1e-12),
            function="hush.OSGT.cdf",
        ),
    )


def figure_2(context: Context) -> Item:
    """Variance against its parameter."""
    square = np.geomspace(0.5, 1000.0, 60)
    lines = [
        line(f"V(m, sigma^2), m = {m:g}", square, [OSGT(m, math.sqrt(s)).variance for s in square]) for m in (3.0, 15.0)
    ]
    figure = Figure(
        "osgt-fig2",
        "Variance of OSGT noise against its parameter sigma^2",
        "parameter sigma^2",
        "variance",
        (line("sigma^2 itself", square, square, dashed=True), *lines),
        "Both variances lie below sigma^2, the one for m = 15 far below; they come closer as sigma^2 grows.",
        log_x=True,
        log_y=True,
    )
    rows = _variance_rows()
    text = "The figure's two values of m are not in the text; 3 and 15, the paper's later settings, are drawn."
    return Item("osgt-fig2", "Fig. 2, Proposition 1", "Variance", text, rows, (figure,))


def _variance_rows() -> tuple[Comparison, ...]:
    ratios = np.geomspace(1e-4, 1e4, 81)
    sizes = [OSGT(r, 1.0).variance for r in ratios]
    largest, shrinks = max(sizes), all(b < a for a, b in pairwise(sizes))
    return (
        claim(
            "Proposition 1: V < sigma^2", "V/sigma^2 < 1", largest, holds=largest < 1.0, function="hush.OSGT.variance"
        ),
        claim(
            "Fig. 2: the gap widens as m increases",
            '"the gap widens as m increases"',
            float(OSGT(15.0, 1.0).variance / OSGT(3.0, 1.0).variance),
            holds=shrinks,
            function="hush.OSGT.variance",
        ),
        claim(
            "Sec. III: m/sigma -> 0 is the Gaussian",
            "V/sigma^2 -> 1",
            OSGT(1e-9, 1.0).variance,
            holds=math.isclose(OSGT(1e-9, 1.0).variance, 1.0, rel_tol=1e-8),
            function="hush.OSGT.variance",
        ),
        claim(
            "(8): for |y| << 2m a Laplace of scale sigma^2/m",
            "V m^2/(2 sigma^4) -> 1",
            OSGT(1e4, 1.0).variance * 1e8 / 2.0,
            holds=math.isclose(OSGT(1e4, 1.0).variance * 1e8, 2.0, rel_tol=1e-6),
            function="hush.OSGT.variance",
        ),
    )


def figure_3(context: Context) -> Item:
    """Density and tail at equal variance, and Propositions 2 to 4."""
    gaussian, laplace = twin(FIRST), Laplace(math.sqrt(FIRST.variance / 2.0))
    families = (("OSGT(3, 40)", FIRST), ("Gaussian", gaussian), ("Laplace", laplace))
    y, far = np.linspace(-25.0, 25.0, 401), np.linspace(0.0, 45.0, 181)
    density = Figure(
        "osgt-fig3a",
        "Densities at variance 27.7047",
        "noise y",
        "density",
        tuple(line(name, y, noise.pdf(y)) for name, noise in families),
        "The Laplace density has the sharpest peak, the Gaussian none; OSGT has a small kink at 0 and lies between "
        "them there.",
    )
    tail = Figure(
        "osgt-fig3b",
        "Survival functions at variance 27.7047",
        "y",
        "P(Y > y)",
        tuple(line(name, far, noise.sf(far)) for name, noise in families),
        "On a logarithmic scale the Laplace tail is a straight line and the heaviest, the Gaussian falls fastest, "
        "OSGT lies between them.",
        log_y=True,
    )
    over_gaussian = crossing(lambda x: gaussian.logsf(x) - FIRST.logsf(x), 5.0, 40.0)
    under_laplace = crossing(lambda x: FIRST.logsf(x) - laplace.logsf(x), 5.0, 40.0)
    return Item(
        "osgt-fig3",
        "Fig. 3, Propositions 2 to 4",
        "Densities and tails at equal variance",
        "The tail of OSGT lies between those of the Gaussian and the Laplace noise. Its sub-Gaussian bound needs no "
        "condition on m/sigma: the Mills ratio decreases, so P(Y >= y) <= 1/2 exp(-y^2/(2 sigma^2) - m y/sigma^2) "
        "for every m >= 0.",
        (*_printed(), *_tails(over_gaussian, under_laplace)),
        (density, tail),
        (_sub_gaussian(),),
    )


def _printed() -> tuple[Comparison, ...]:
    edge = float(Gaussian(1.0).isf(0.25))
    return (
        compare("Fig. 3: V(3, 40)", "27.7047", FIRST.variance, function="hush.OSGT.variance"),
        compare("Fig. 3: m/sigma for (3, 40)", "0.4743", FIRST.m / FIRST.sigma, function="hush.OSGT"),
        compare("Proposition 2: Q^-1(0.25)", "0.6745", edge, function="hush.Gaussian.isf"),
        compare("Fig. 4b: m/sigma for (2, 20)", "0.4472", SECOND.m / SECOND.sigma, function="hush.OSGT"),
    )


def _tails(over_gaussian: float, under_laplace: float) -> tuple[Comparison, ...]:
    far = max(_worst_tail(r) for r in (1e-3, 0.4743, 0.6745, 1.0, 3.0, 10.0, 100.0))
    return (
        claim(
            "Proposition 2: condition for P(Y >= y) <= exp(-y^2/(2 sigma^2)); largest ratio of the two, m/sigma up "
            "to 100",
            "m/sigma <= 0.6745",
            far,
            holds=max(_worst_tail(r) for r in (1e-3, 0.4743, 0.6745)) <= 1.0,
            function="hush.OSGT.logsf",
            why=(
                f"True, and also without the condition: for every m the largest ratio is {far:.2g}, so the condition "
                "is unnecessary."
            ),
        ),
        claim(
            "Proposition 3: heavier than the Gaussian beyond y =",
            '"The OSGT distribution has a heavier tail"',
            over_gaussian,
            holds=FIRST.logsf(1e3) > twin(FIRST).logsf(1e3),
            function="hush.OSGT.logsf",
        ),
        claim(
            "Proposition 4: lighter than Laplace beyond y =",
            '"The Laplace distribution has a heavier tail than the OSGT distribution"',
            under_laplace,
            holds=FIRST.logsf(1e3) < Laplace(math.sqrt(FIRST.variance / 2.0)).logsf(1e3),
            function="hush.OSGT.logsf",
        ),
    )


def _worst_tail(ratio: float) -> float:
    y = np.linspace(0.0, 30.0, 301)
    return float(np.exp(np.max(OSGT(ratio, 1.0).logsf(y) + 0.5 * y * y)))


def _sub_gaussian() -> Grid:
    rows = tuple(
        (r, "yes" if r <= 0.6745 else "no", _worst_tail(r), OSGT(r, 1.0).subgaussian_proxy)
        for r in (0.1, 0.4743, 0.6745, 1, 3, 10, 100)
    )
    head = (
        "m/sigma",
        "allowed by Proposition 2",
        "largest P(Y >= y) / exp(-y^2/(2 sigma^2))",
        "variance proxy / sigma^2",
    )
    return Grid("The sub-Gaussian tail, with and without the paper's condition", head, rows)


def slips(context: Context) -> Item:
    """Misprints in the proofs that change no result."""
    rows = (
        ("Contribution list", "rho = Delta_2^2/sigma^2", "Delta_2^2/(2 sigma^2), as in (17)"),
        ("Sec. II", "threshold Delta_2/(2 sigma_g^2)", "Delta_2^2/(2 sigma_g^2)"),
        (
            "Proof of Proposition 1",
            "integral of y^2 exp(-(y+m)^2/(2 sigma^2))",
            "the value shown is that of y^2 exp(-(y^2+2my)/(2 sigma^2))",
        ),
        ("Sec. IV-A", "Lemma 2", "Proposition 2"),
        ("App. A, App. B", "last terms -2 sigma_g^2 m and m^2", "-2 sigma_g^2 m^2 and lambda m^2"),
        ("App. C, (41)", "mu = Delta/(2 sigma^2)", "Delta^2/(2 sigma^2)"),
        (
            "App. C, dg/drho",
            "both terms with -epsilon, no 1/sqrt(2 pi)",
            "-exp(-a^2/2)/(sqrt(2 pi) sqrt(2 rho)), still negative",
        ),
        (
            "App. E",
            "D grows with Delta, by exhaustive search",
            "proved: for log-concave noise every f-divergence grows with the shift",
        ),
    )
    grid = Grid("Slips of the print", ("place", "printed", "right"), rows)
    text = "None of these changes a result. Some may be errors of the text extraction."
    return Item("osgt-slips", "Proofs", "Slips that change nothing", text, grids=(grid,))
