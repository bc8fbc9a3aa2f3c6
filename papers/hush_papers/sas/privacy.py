"""SaS paper, Section IV: the epsilon that Theorem IV.4 proves finite and does not compute, step by step and in many
dimensions.
"""

from __future__ import annotations

import math
from itertools import pairwise

import numpy as np

import hush
from hush import Gaussian, Sensitivity, Stable
from hush_papers.item import Comparison, Context, Figure, Grid, HeatMap, Item, claim, line

__all__ = ["dimensions", "epsilons", "proof", "renyi_orders"]

SHAPES = (1.0, 1.25, 1.5, 1.75, 1.9, 1.99)


def _pure(alpha: float, shift: float, gamma: float = 1.0) -> float:
    return float(hush.epsilon(Stable(alpha, gamma), 0.0, shift))


def epsilons(context: Context) -> Item:
    """Theorem IV.4 with its number: epsilon against alpha and scale."""
    count = 13 if context.quick else 60
    alphas, scales = np.linspace(1.0, 1.99, count), np.geomspace(0.1, 30.0, count)
    by_alpha = Figure(
        "sas-epsilon-alpha",
        "The pure epsilon of stable noise against alpha",
        "alpha",
        "epsilon",
        tuple(
            line(f"scale gamma = {g:g} Delta", alphas, [_pure(a, 1.0, g) for a in alphas])
            for g in (0.5, 1.0, 3.0, 20.0)
        ),
        "Every curve has a shallow minimum, near alpha = 1.25 for wide noise and further left for narrow noise, and rises without bound "
        "towards alpha = 2.",
        log_y=True,
    )
    by_scale = Figure(
        "sas-epsilon-scale",
        "The pure epsilon of stable noise against its scale",
        "scale gamma / sensitivity Delta",
        "epsilon",
        tuple(line(f"alpha = {a:g}", scales, [_pure(a, 1.0, g) for g in scales]) for a in SHAPES),
        "On logarithmic axes the curves are straight lines of slope -1 for scales above the sensitivity and bend down for smaller ones; "
        "alpha = 1.99 lies highest.",
        log_x=True,
        log_y=True,
    )
    few = 8 if context.quick else 30
    across, up = np.linspace(1.0, 1.98, few), np.geomspace(0.2, 20.0, few)
    plane = HeatMap(
        "sas-epsilon-plane",
        "The pure epsilon over alpha and scale",
        "alpha",
        "scale gamma / sensitivity Delta",
        "log10 epsilon",
        across.tolist(),
        up.tolist(),
        [[math.log10(_pure(a, 1.0, g)) for a in across] for g in up],
        "Epsilon falls from bottom to top, as the scale grows, and changes little from left to right until alpha comes near 2.",
        log_y=True,
    )
    table = tuple((s, *(_pure(a, s) for a in SHAPES)) for s in (0.01, 0.1, 0.5, 1.0, 2.0, 5.0, 20.0))
    slopes = ("slope at 0", *(Stable(a, 1.0).sup_score() for a in SHAPES))
    grid = Grid(
        "epsilon at Delta/gamma, and its slope at 0, sup |p'/p|",
        ("Delta/gamma", *(f"alpha = {a:g}" for a in SHAPES)),
        (*table, slopes),
    )
    text = (
        "Theorem IV.4 proves that epsilon is finite and gives no value. It is the largest value of log p(x)/p(x + s), s = Delta/gamma: "
        "2 asinh(s/2) for alpha = 1, one maximisation for the others. It is concave in s with slope sup |p'/p| at 0, so that "
        "s sup |p'/p| is a simple bound; it grows only like (1 + alpha) log s for narrow noise, and without bound as alpha goes to 2."
    )
    return Item(
        "sas-epsilon", "Theorem IV.4, (9)", "The epsilon", text, _theorem(), (by_alpha, by_scale, plane), (grid,)
    )


def _theorem() -> tuple[Comparison, ...]:
    rows = [
        claim(
            f"Theorem IV.4: epsilon at Delta = gamma, alpha = {a:g}",
            '"satisfies (5), epsilon -DP"',
            _pure(a, 1.0),
            holds=math.isfinite(_pure(a, 1.0)),
            function="hush.epsilon",
        )
        for a in SHAPES
    ]
    closed = _pure(1.0, 5.0)
    rising = [_pure(a, 1.0) for a in (1.9, 1.99, 1.999)]
    shifts = np.linspace(0.1, 8.0, 40)
    grown = {a: [_pure(a, s) for s in shifts] for a in (1.25, 1.5, 1.9)}
    steps = {a: np.diff(v) for a, v in grown.items()}
    largest = max(float(v.max()) for v in map(np.diff, steps.values()))
    return (
        *rows,
        claim(
            "(9) at alpha = 1, Delta = 5 gamma: epsilon in closed form",
            "max log(p1(x)/p2(x))",
            closed,
            holds=math.isclose(closed, 2.0 * math.asinh(2.5), rel_tol=1e-12),
            function="hush.epsilon",
        ),
        claim(
            "Sec. III-A: range of alpha; epsilon at alpha = 2",
            "alpha in (1, 2]",
            _pure(2.0, 1.0),
            holds=math.isfinite(_pure(2.0, 1.0)),
            function="hush.epsilon",
            why="At alpha = 2 there is no pure epsilon: the theorem's range [1, 2) is the right one.",
        ),
        claim(
            "the half-open range: epsilon at alpha = 1.999, Delta = gamma",
            "alpha in [1, 2)",
            rising[-1],
            holds=all(b > a for a, b in pairwise(rising)),
            function="hush.epsilon",
        ),
        claim(
            "epsilon grows with Delta (Definition 2 takes the largest); least step on Delta/gamma up to 8",
            "Delta = max ||f(D1) - f(D2)||",
            min(float(v.min()) for v in steps.values()),
            holds=all((v > 0.0).all() for v in steps.values()) and largest < 0.0,
            function="hush.epsilon",
        ),
        claim(
            "after Definition 2: epsilon of a count, an unbounded query",
            '"if and only if a query f is bounded, the sensitivity of f is also bounded"',
            _pure(1.5, 1.0),
            holds=math.isinf(_pure(1.5, 1.0)),  # a query without a bound would have to have none
            function="hush.epsilon",
            why="A count has sensitivity 1 and no bound; the theorem needs the sensitivity alone.",
        ),
    )


def _loss(alpha: float, x: float | np.ndarray, gamma: float = 1.0) -> np.ndarray:
    """log p(x)/p(x + 1): the loss of the output x where the answers are 0 and -1."""
    noise = Stable(alpha, gamma)
    return np.asarray(noise.logpdf(x)) - np.asarray(noise.logpdf(np.asarray(x) + 1.0))


def proof(context: Context) -> Item:
    """The steps of the proof: the loss along x, the bound on the density, the limits."""
    x = np.linspace(-12.0, 12.0, 241)
    lines = [line(f"alpha = {a:g}", x, _loss(a, x)) for a in (1.0, 1.5, 1.9)]
    inner = x[np.abs(x + 0.5) <= 6.0]
    gaussian = Gaussian(math.sqrt(2.0))
    lines.append(line("alpha = 2 (Gaussian)", inner, gaussian.logpdf(inner) - gaussian.logpdf(inner + 1.0)))
    figure = Figure(
        "sas-loss",
        "Privacy loss log p(x)/p(x + Delta), Delta = gamma = 1",
        "output x",
        "privacy loss",
        tuple(lines),
        "The stable losses rise to one peak on each side and return to 0 far out, the later the nearer alpha is to 2; the Gaussian loss is "
        "a straight line.",
    )
    text = (
        "The density is largest at 0 and positive everywhere, so the loss is bounded on an interval; far out the first term of (20) takes "
        "it to 0. In more than one dimension the loss does not go to 0 as the output goes to infinity, only as all its coordinates do."
    )
    return Item(
        "sas-proof",
        "Proof of Theorem IV.4, (21)-(32)",
        "The proof, step by step",
        text,
        (*_peaks(), *_limits()),
        (figure,),
    )


def _peaks() -> tuple[Comparison, ...]:
    rows = []
    for alpha, gamma in ((1.1, 1.0), (1.5, 1.0), (1.9, 1.0), (1.5, 2.0)):
        top = float(Stable(alpha, gamma).pdf(0.0))
        stated = math.gamma(1.0 / alpha) / (alpha * gamma * math.pi)
        x = np.linspace(-5.0, 5.0, 101)
        rows.append(
            claim(
                f"(30): largest density, alpha = {alpha:g}, gamma = {gamma:g}",
                "Gamma(1/alpha)/(alpha gamma pi)",
                top,
                holds=math.isclose(top, stated, rel_tol=1e-12)
                and float(np.max(Stable(alpha, gamma).pdf(x))) <= stated * (1.0 + 1e-12),
                function="hush.Stable.pdf",
            )
        )
    alpha = 1.5
    wrong = math.gamma(1.0 / alpha**2) / (alpha**2 * math.pi)
    rows.append(
        claim(
            "(30): the integral as printed, alpha = 1.5, gamma = 1",
            "int t^(1/alpha - 1) e^(-t^alpha) dt/(alpha gamma pi)",
            wrong,
            holds=math.isclose(wrong, float(Stable(alpha, 1.0).pdf(0.0)), rel_tol=1e-6),
            function="hush.Stable.pdf",
            why=f"After the substitution the exponent is -t, which gives the printed value, {float(Stable(alpha, 1.0).pdf(0.0)):.6f}.",
        )
    )
    return tuple(rows)


def _limits() -> tuple[Comparison, ...]:
    top = _pure(1.5, 1.0)
    both = float(np.max(np.abs(_loss(1.5, np.linspace(-20.0, 20.0, 4001)))))
    far, wide = float(_loss(1.5, 1e6)), float(_loss(1.5, 1e6, 10.0))
    at = np.linspace(0.0, 4.0, 4001)
    peak = float(np.max(_loss(1.5, at)))
    stuck = far + peak
    return (
        claim(
            "(8)-(9): largest |loss| on 4001 outputs, alpha = 1.5",
            "epsilon",
            both,
            holds=both <= top and math.isclose(both, top, rel_tol=1e-5),
            function="hush.Stable.logpdf",
        ),
        claim(
            "(32), one coordinate: x times the loss at x = 1e6, alpha = 1.5",
            "L(x) -> 0",
            1e6 * far,
            holds=math.isclose(1e6 * far, 2.5, rel_tol=1e-4),
            function="hush.Stable.logpdf",
        ),
        claim(
            "(21): loss at x = 1e6, gamma = 10 over gamma = 1",
            '"indistinguishably asymptotic for distinct choices of gamma"',
            wide / far,
            holds=math.isclose(wide / far, 1.0, rel_tol=1e-4),
            function="hush.Stable.logpdf",
        ),
        claim(
            "(32), two coordinates: loss at x = (1e6, best), alpha = 1.5",
            "L(x) -> 0, ||x|| -> infinity",
            stuck,
            holds=abs(stuck) < 1e-3,
            function="hush.Stable.logpdf",
            why="Only one coordinate goes to infinity and the other keeps its loss; that each loss is bounded is enough for the theorem.",
        ),
    )


def dimensions(context: Context) -> Item:
    """(24) in m dimensions, and what it costs under l1 and l2."""
    counts = np.array([1, 2, 3, 5, 8, 13, 20, 35, 60, 100])
    alpha = 1.5
    one = _pure(alpha, 1.0)
    figure = Figure(
        "sas-dimensions",
        "epsilon of m coordinates, alpha = 1.5, norm of the change at most gamma",
        "number of coordinates m",
        "epsilon",
        (
            line("(24): m times the largest term", counts, one * counts, dashed=True),
            line(
                "each coordinate moves by gamma", counts, [_vector(alpha, int(k), "linf") for k in counts], points=True
            ),
            line("l2 norm at most gamma", counts, [k * _pure(alpha, 1.0 / math.sqrt(k)) for k in counts]),
            line("l1 norm at most gamma", counts, [k * _pure(alpha, 1.0 / k) for k in counts]),
        ),
        "(24) is a line of slope 1 and is reached when every coordinate moves by gamma. Under the l2 norm epsilon grows like the square "
        "root of m, under the l1 norm hardly at all.",
        log_x=True,
        log_y=True,
    )
    text = (
        "(24) is exact if every coordinate may move by the full sensitivity. Under an l1 or l2 bound the change cannot be that large "
        "in all coordinates: epsilon is concave, so the worst change is spread evenly. Taking epsilon(Delta_1/gamma) of one "
        "coordinate for an l1 bound would promise too much."
    )
    table = tuple(
        (a, k, *(_vector(a, k, n) for n in ("linf", "l2", "l1")), _pure(a, 1.0))
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


def _vector(alpha: float, m: int, norm: str) -> float:
    change = {"linf": Sensitivity(linf=1.0, l0=m), "l2": Sensitivity(l2=1.0, l0=m), "l1": Sensitivity(l1=1.0, l0=m)}[
        norm
    ]
    return float(hush.epsilon(Stable(alpha, 1.0), 0.0, change))


def _norms() -> tuple[Comparison, ...]:
    rows, one = [], _pure(1.5, 1.0)
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
    for norm, even in (("l2", 20.0 * _pure(1.5, 1.0 / math.sqrt(20.0))), ("l1", 20.0 * _pure(1.5, 0.05))):
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


def renyi_orders(context: Context) -> Item:
    """Section VI leaves Renyi and concentrated privacy to the future; here they are."""
    orders = np.geomspace(1.05, 300.0, 8 if context.quick else 30)
    lines = [
        line(f"alpha = {a:g}", orders, [float(hush.renyi(Stable(a, 1.0), o)) for o in orders]) for a in (1.0, 1.5, 1.9)
    ]
    lines.append(
        line(
            "alpha = 2 (Gaussian)",
            orders[orders < 30.0],
            [float(hush.renyi(Gaussian(math.sqrt(2.0)), o)) for o in orders[orders < 30.0]],
        )
    )
    figure = Figure(
        "sas-renyi",
        "Renyi divergence of stable noise, Delta = gamma",
        "order",
        "Renyi divergence",
        tuple(lines),
        "The stable curves start near those of the Gaussian at small orders and level off at the pure epsilon; the Gaussian grows in "
        "proportion to the order.",
        log_x=True,
        log_y=True,
    )
    rows = []
    for a in (1.0, 1.5, 1.75, 1.9):
        found = [float(hush.renyi(Stable(a, 1.0), o)) for o in (1.5, 2.0, 8.0, 32.0)]
        rows.append((a, *found, _pure(a, 1.0), max(f / o for f, o in zip(found, (1.5, 2.0, 8.0, 32.0), strict=True))))
    head = (
        "alpha",
        "order 1.5",
        "order 2",
        "order 8",
        "order 32",
        "pure epsilon",
        "divergence / order, largest of these",
    )
    grid = Grid("Renyi divergence, Delta = gamma", head, tuple(rows))
    text = (
        "A pure epsilon bounds every Renyi divergence, so stable noise has both: hush computes the divergence itself. "
        "It is about as large as that of a Gaussian for small orders and at most the pure epsilon for all."
    )
    return Item("sas-renyi", "Section VI", "Renyi and concentrated privacy", text, figures=(figure,), grids=(grid,))
