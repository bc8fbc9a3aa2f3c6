"""The flipped Huber paper's Fig. 5 to 7 and Appendix F: losses, profiles at equal variance, and the privacy conditions
of other noises.
"""

from __future__ import annotations

import math
from itertools import chain

import numpy as np
from numpy.typing import NDArray

from hush import OSGT, FlippedHuber, Gaussian, Laplace, calibrate, delta
from hush_papers.crossing import crossing
from hush_papers.flipped_huber import printed
from hush_papers.flipped_huber.optimum import best, box
from hush_papers.item import Comparison, Context, Figure, Grid, Item, claim, compare, line

__all__ = ["conditions", "figure_5", "figure_6", "figure_7"]

Array = NDArray[np.float64]


def figure_5(context: Context) -> Item:
    """Centred losses and their bounds."""
    figures, rows = zip(*(_centred(d) for d in (1.0, 3.0, 5.0)), strict=True)
    text = "The three cases: alpha >= d, d/2 <= alpha < d, and alpha < d/2."
    return Item("fh-fig5", "Fig. 5, App. C", "Centred privacy loss", text, tuple(chain(*rows)), figures)


def _centred(d: float) -> tuple[Figure, list[Comparison]]:
    """The loss for a move of d, alpha = 2, gamma = 1."""
    noise = FlippedHuber(2.0, 1.0)
    t = np.linspace(-6.0, 6.0, 481)
    exact = np.asarray(noise.logpdf(t - d / 2.0)) - np.asarray(noise.logpdf(t + d / 2.0))
    bound = printed.loss_bound(t, d, 2.0, 1.0)
    top = float(noise.logpdf(0.0) - noise.logpdf(d))
    figure = Figure(
        f"fh-fig5-{d:.0f}",
        f"Centred privacy loss, alpha = 2, gamma = 1, d = {d:g}",
        "t",
        "privacy loss",
        (
            line("loss", t, exact),
            line("bound", t, bound, dashed=True),
            line("Gaussian of the same scale", t, t * d, dashed=True),
            line("ridge", [d / 2.0], [top], points=True),
        ),
        "A rising odd curve that follows the Gaussian's straight line in the tails and bends in the middle; the "
        "bound is a parallel line that touches it at the ridge d/2.",
    )
    off = float(np.max(np.abs(exact - printed.loss(t, d, 2.0, 1.0))))
    over = float(np.max(exact - bound))
    rows = [
        claim(
            f"loss at the ridge t = d/2, d = {d:g}",
            "(alpha^2 + d^2 - [alpha - d]_+^2)/(2 gamma^2)",
            top,
            holds=math.isclose(top, 0.5 * (4.0 + d * d - max(2.0 - d, 0.0) ** 2), rel_tol=1e-12),
            function="hush.FlippedHuber.logpdf",
        ),
        claim(f"(25), d = {d:g}: largest error", "(25)", off, holds=off < 1e-12, function="hush.FlippedHuber.logpdf"),
        claim(
            f"App. C, d = {d:g}: largest loss above the bound",
            "<= 0",
            over,
            holds=over <= 1e-12,
            function="hush.FlippedHuber.logpdf",
        ),
    ]
    return figure, rows


def _sixteen() -> tuple[FlippedHuber, OSGT]:
    """Flipped Huber and OSGT noise of scale 7 and variance 16."""
    huber = crossing(lambda a: [FlippedHuber(x, 7.0).variance - 16.0 for x in a], 0.1, 100.0)
    osgt = crossing(lambda m: [OSGT(x, 7.0).variance - 16.0 for x in m], 0.1, 100.0)
    return FlippedHuber(huber, 7.0), OSGT(osgt, 7.0)


def figure_6(context: Context) -> Item:
    """Profiles at variance 16."""
    huber, osgt = _sixteen()
    laplace = Laplace(math.sqrt(8.0))
    e = np.linspace(0.0, 0.8, 161)
    families = (("flipped Huber, gamma = 7", huber), ("OSGT, scale 7", osgt), ("Gaussian, scale 4", Gaussian(4.0)))
    lines = [line(name, e, delta(noise, e)) for name, noise in families]
    before = e[e < 1.0 / laplace.scale - 1e-3]
    lines.append(line("Laplace, not in the paper", before, delta(laplace, before), dashed=True))
    figure = Figure(
        "fh-fig6",
        "Privacy profiles at variance 16, Delta = 1",
        "epsilon",
        "delta",
        tuple(lines),
        "Flipped Huber noise and Laplace noise have the largest delta up to epsilon near 0.3 and then fall steeply "
        "below the Gaussian and OSGT, which decrease gently.",
        log_y=True,
    )
    table = Grid(
        f"delta at variance 16: flipped Huber({huber.alpha:.6g}, 7), OSGT({osgt.m:.6g}, 7), Gaussian(4)",
        ("epsilon", "flipped Huber", "OSGT", "Gaussian"),
        tuple(
            (x, *(float(delta(noise, x)) for _, noise in families)) for x in (0.0, 0.1, 0.2, 0.3, 0.35, 0.4, 0.5, 0.8)
        ),
    )
    from_here = max(_better_from(huber, other) for other in (osgt, Gaussian(4.0)))
    text = f"At these parameters flipped Huber noise is the best of the three only above epsilon = {from_here:.4f}."
    return Item(
        "fh-fig6",
        "Fig. 6, App. E-A",
        "Profiles at equal variance",
        text,
        _sixteen_compared(huber, osgt),
        (figure,),
        (table,),
    )


def _better_from(huber: FlippedHuber, other: OSGT | Gaussian) -> float:
    """The epsilon from which flipped Huber noise has the smaller delta."""
    return crossing(lambda x: np.log(np.asarray(delta(huber, x)) / np.asarray(delta(other, x))), 0.2, 0.5)


def _always_better(huber: FlippedHuber, other: OSGT | Gaussian) -> bool:
    e = np.linspace(0.0, 0.8, 33)
    return bool(np.all(np.asarray(delta(huber, e)) < np.asarray(delta(other, e))))


def _sixteen_compared(huber: FlippedHuber, osgt: OSGT) -> tuple[Comparison, ...]:
    gaussian = Gaussian(4.0)
    ratio = float(delta(osgt, 0.2)) / float(delta(huber, 0.2))
    return (
        compare("variance of the Gaussian of scale 4", "16", gaussian.variance, function="hush.Gaussian.variance"),
        claim(
            "flipped Huber gives a smaller delta than OSGT and the Gaussian from epsilon =",
            '"could afford smaller delta for a given epsilon than OSGT and Gaussian"',
            max(_better_from(huber, osgt), _better_from(huber, gaussian)),
            holds=_always_better(huber, osgt) and _always_better(huber, gaussian),
            function="hush.delta",
            why=(
                f"Below {_better_from(huber, osgt):.4f} OSGT gives the smaller delta, as App. E-B says of very small "
                f"epsilon, and below {_better_from(huber, gaussian):.4f} so does the Gaussian."
            ),
        ),
        claim(
            "App. E-B: OSGT's delta over flipped Huber's at epsilon = 0.2",
            '"OSGT offers smaller delta for very small epsilon"',
            ratio,
            holds=ratio < 1.0,
            function="hush.delta",
        ),
    )


def figure_7(context: Context) -> Item:
    """Centred losses of four noises with one scale."""
    scale, t = 1.0 / math.sqrt(2.0), np.linspace(-3.0, 3.0, 481)
    noises = (
        ("Gaussian", Gaussian(scale)),
        ("Laplace", Laplace(scale)),
        ("OSGT", OSGT(1.0, scale)),
        ("flipped Huber", FlippedHuber(1.0, scale)),
    )
    losses = {name: np.asarray(n.logpdf(t - 0.5)) - np.asarray(n.logpdf(t + 0.5)) for name, n in noises}
    figure = Figure(
        "fh-fig7",
        "Centred privacy losses, scale 0.7071, d = 1 (alpha = vartheta = 1)",
        "t",
        "privacy loss",
        tuple(line(name, t, values) for name, values in losses.items()),
        "The Laplace loss is flat beyond 1/2; the Gaussian's is a straight line; flipped Huber's joins that line in "
        "the tails; OSGT's lies above it by a constant.",
    )
    text = (
        "alpha and vartheta are not in the text; 1 is taken for both. At equal scale OSGT has the larger loss, as "
        "stated, but it then also has less variance. So it does not follow that flipped Huber noise beats OSGT in "
        "one dimension: see 'OSGT redone'."
    )
    return Item("fh-fig7", "Fig. 7, App. E-B", "Losses at equal scale", text, _equal_scale(t, scale, losses), (figure,))


def _equal_scale(t: Array, scale: float, losses: dict[str, Array]) -> tuple[Comparison, ...]:
    tail, wide = t >= 1.5, np.abs(t) >= 0.5
    joined = float(np.max(np.abs(losses["flipped Huber"][tail] - losses["Gaussian"][tail])))
    inner = Laplace(scale**2 / 1.0)
    parts = losses["Gaussian"] + np.asarray(inner.logpdf(t - 0.5)) - np.asarray(inner.logpdf(t + 0.5))
    whole = float(np.max(np.abs(losses["OSGT"] - parts)))
    flat = float(np.max(np.abs(losses["Laplace"][wide])))
    return (
        claim(
            "flipped Huber's loss less the Gaussian's, t >= alpha + d/2",
            '"coincides with that of Gaussian with the same scale parameter in the tails"',
            joined,
            holds=joined < 1e-12,
            function="hush.FlippedHuber.logpdf",
        ),
        claim(
            "OSGT's loss less the sum of those of N(0, varrho^2) and Laplace(varrho^2/vartheta)",
            '"is the sum of those of"',
            whole,
            holds=whole < 1e-12,
            function="hush.OSGT.logpdf",
        ),
        claim(
            "Gaussian: loss at t = 1",
            "t d/sigma^2 = 2",
            float(Gaussian(scale).logpdf(0.5) - Gaussian(scale).logpdf(1.5)),
            holds=math.isclose(float(Gaussian(scale).logpdf(0.5) - Gaussian(scale).logpdf(1.5)), 2.0, rel_tol=1e-12),
            function="hush.Gaussian.logpdf",
        ),
        claim(
            "Laplace: largest loss",
            "d/beta = 1.4142",
            flat,
            holds=math.isclose(flat, math.sqrt(2.0), rel_tol=1e-12),
            function="hush.Laplace.logpdf",
        ),
    )


def conditions(context: Context) -> Item:
    """Appendix F: the privacy conditions of other noises."""
    e, share = 0.3, 1e-6
    sigma = math.sqrt(best("gaussian", e, share).variance)
    unit = Gaussian(1.0)
    gaussian = float(unit.sf(sigma * e - 0.5 / sigma) - math.exp(e) * unit.sf(sigma * e + 0.5 / sigma))
    rows = [
        claim(
            "(29): delta at the least Gaussian for (0.3, 1e-6)",
            "<= 1e-6",
            gaussian,
            holds=math.isclose(gaussian, share, rel_tol=1e-8),
            function="hush.gaussian.sigma",
        ),
        *_laplace_conditions(e, share),
    ]
    for m, s, x in ((20.0, 12.0, 0.1), (20.0, 12.0, 0.3)):
        ours = float(delta(OSGT(m, s), x))
        rows.append(
            claim(
                f"(c): delta of OSGT({m:g}, {s:g}) at epsilon = {x:g}",
                "App. F (c)",
                ours,
                holds=math.isclose(ours, printed.osgt_profile(x, OSGT(m, s)), rel_tol=1e-10),
                function="hush.delta",
            )
        )
    return Item("fh-conditions", "App. F", "Conditions of the rivals", "All hold as printed.", tuple(rows))


def _laplace_conditions(e: float, share: float) -> tuple[Comparison, ...]:
    scale = math.sqrt(0.5 * best("laplace", e, share).variance)
    return (
        claim(
            "(b): least Laplace scale for (0.3, 1e-6)",
            "Delta/(epsilon - 2 log(1 - delta))",
            scale,
            holds=math.isclose(scale, 1.0 / (e - 2.0 * math.log1p(-share)), rel_tol=1e-12),
            function="hush.calibrate",
        ),
        claim(
            "(b): delta of Laplace noise of scale 2 at epsilon = 0.3",
            "[1 - exp((epsilon - Delta/beta)/2)]_+",
            float(delta(Laplace(2.0), 0.3)),
            holds=math.isclose(float(delta(Laplace(2.0), 0.3)), -math.expm1(0.5 * (0.3 - 0.5)), rel_tol=1e-12),
            function="hush.delta",
        ),
        claim(
            "(b): least Laplace scale for (0.3, 0), five coordinates",
            "Delta_1/epsilon",
            math.sqrt(0.5 * calibrate(0.3, 0.0, box(5), family="laplace").variance),
            holds=math.isclose(
                math.sqrt(0.5 * calibrate(0.3, 0.0, box(5), family="laplace").variance), 5.0 / 0.3, rel_tol=1e-12
            ),
            function="hush.calibrate",
        ),
    )
