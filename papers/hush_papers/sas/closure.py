"""SaS paper, Definition 9, Lemma V.1 and Section VI: sums of stable noises are stable, and the use of this without a
trusted centre.
"""

from __future__ import annotations

import math

import numpy as np

from hush import Laplace, Stable
from hush.federated import share
from hush.sampling.entropy import DeterministicTestEntropy
from hush_papers.item import Comparison, Context, Figure, Grid, Item, claim, line
from hush_papers.sas.error import plan

__all__ = ["closure", "local_use", "shared_sample"]

PARTIES = (1, 2, 5, 10, 30, 100, 300, 1000)
_STEP = 0.01  # step of the lattice of the drawn shares, far below their scale


def _convolved(alpha: float, x: float) -> float:
    """The density at x of the sum of two independent noises of scale 1.

    By the trapezoidal rule, whose only error for analytic densities is the cut tail.
    """
    step = 0.05
    y = np.arange(-4000.0, 4000.0, step)
    noise = Stable(alpha, 1.0)
    return float(step * np.sum(np.asarray(noise.pdf(y)) * np.asarray(noise.pdf(x - y))))


def shared_sample(parties: int, draws: int) -> np.ndarray:
    """Sums of shares of Stable(1.7, 10), drawn exactly from fixed bits."""
    drawn = share(Stable(1.7, 10.0), parties).draw((parties, draws), _STEP, entropy=DeterministicTestEntropy(17))
    return np.sort(drawn.sum(axis=0) * _STEP)


def distance(sample: np.ndarray, noise: Stable) -> float:
    """Kolmogorov's distance times sqrt n: above 2.7 with probability 1e-6 if the law is right."""
    n = sample.size
    cdf = np.asarray(noise.cdf(sample))
    return float(math.sqrt(n) * max(np.max(np.arange(1, n + 1) / n - cdf), np.max(cdf - np.arange(n) / n)))


def _formulas() -> list[Comparison]:
    """The sum of two by convolution, and the scale of one share."""
    rows: list[Comparison] = []
    for alpha in (1.25, 1.5, 1.9):
        found, stated = _convolved(alpha, 1.0), float(Stable(alpha, 2.0 ** (1.0 / alpha)).pdf(1.0))
        rows.append(
            claim(
                f"(14): density at 1 of Y1 + Y2 by convolution, alpha = {alpha:g}",
                "Y1 + Y2 = 2^(1/alpha) Y",
                found,
                holds=math.isclose(found, stated, rel_tol=1e-9),
                function="hush.Stable.pdf",
            )
        )
    for n in (2, 10, 100, 1000):
        made = share(Stable(1.7, 10.0), n)
        gamma = float(made.noise.gamma)  # type: ignore[attr-defined]
        rows.append(
            claim(
                f"Lemma V.1: scale of one of {n} shares of Stable(1.7, 10)",
                '"strictly stable"',
                gamma,
                holds=math.isclose(gamma, 10.0 * n ** (-1.0 / 1.7), rel_tol=1e-12) and isinstance(made.total, Stable),
                function="hush.federated.share",
            )
        )
    return rows


def closure(context: Context) -> Item:
    """Definition 9 and Lemma V.1, in formulas, by convolution and by draws."""
    draws = 4000
    sample = shared_sample(10, draws)
    score = distance(sample, Stable(1.7, 10.0))
    rows = _formulas()
    rows.append(
        claim(
            f"Lemma V.1: sums of 10 drawn shares against Stable(1.7, 10), {draws} sums: sqrt(n) times the largest "
            "gap of the cdf",
            '"strictly stable"',
            score,
            holds=score < 2.7,
            function="hush.federated.Share.draw",
        )
    )
    figure = _closure_figure(sample, draws)
    text = (
        "The sum of n noises of scale gamma has scale n^(1/alpha) gamma: checked by the formula, by convolution, and "
        "by exact draws. Gaussian noise is the case alpha = 2. Laplace noise can be divided too, into parts that are "
        "not Laplace noise."
    )
    return Item("sas-closure", "Definition 9, Lemma V.1", "Closure under convolution", text, tuple(rows), (figure,))


def _closure_figure(sample: np.ndarray, draws: int) -> Figure:
    every = max(1, draws // 200)
    levels = (np.arange(1, draws + 1) - 0.5) / draws
    kept = slice(every // 2, None, every)
    return Figure(
        "sas-closure",
        "Sums of 10 drawn shares beside the law they should have",
        "noise x, from -100 to 100",
        "distribution function",
        (
            line(
                "Stable(1.7, 10)",
                np.linspace(-100.0, 100.0, 201),
                Stable(1.7, 10.0).cdf(np.linspace(-100.0, 100.0, 201)),
            ),
            line("sums of 10 shares", *_within(sample[kept], levels[kept], 100.0), points=True),
            line(
                "one share",
                np.linspace(-100.0, 100.0, 201),
                share(Stable(1.7, 10.0), 10).noise.marginal.cdf(np.linspace(-100.0, 100.0, 201)),
                dashed=True,
            ),
        ),
        "The points of the drawn sums lie on the curve of the stable law they should have; the curve of one share is "
        "much steeper.",
    )


def _within(x: np.ndarray, y: np.ndarray, reach: float) -> tuple[np.ndarray, np.ndarray]:
    inside = np.abs(x) <= reach
    return x[inside], y[inside]


def _uses(message: float, ratio: float) -> tuple[Comparison, ...]:
    """The statements of Section VI on shares and on local reports."""
    last = PARTIES[-1]
    central = float(share(plan(1.0, 1.7), 100).central().pure_epsilon)
    split = share(Laplace(1.0), 100).local().pure_epsilon
    return (
        claim(
            "Sec. VI: epsilon of the sum of 100 shares of Stable(1.7), planned for 1",
            '"closed under convolution"',
            central,
            holds=math.isclose(central, 1.0, rel_tol=1e-9) and central <= 1.0 + 1e-12,
            function="hush.federated.Share.central",
        ),
        claim(
            "Sec. VI: epsilon of one of those 100 messages by itself",
            '"such as federated learning"',
            message,
            holds=math.isfinite(message) and math.isinf(split),
            function="hush.federated.Share.local",
        ),
        claim(
            f"Sec. VI: {last} reports of local epsilon = 1: error of the sum, stable over Laplace",
            '"a particularly good choice for applications seeking to implement local differential privacy"',
            ratio,
            holds=ratio < 1.0,
            function="hush.federated.share",
            why=(
                "At equal local epsilon the sum of stable noises has the larger error, the more so the more reports; "
                "closure helps where shares of one central noise are added."
            ),
        ),
    )


def local_use(context: Context) -> Item:
    """Section VI: closure for local and federated use."""
    shapes = (1.0, 1.4, 1.7, 1.9)
    local = {a: [float(share(plan(1.0, a), n).local().pure_epsilon) for n in PARTIES] for a in shapes}
    messages = Figure(
        "sas-local",
        "Shares of a sum with epsilon = 1: the epsilon of one message by itself",
        "number of parties",
        "pure epsilon of one message",
        tuple(line(f"alpha = {a:g}", PARTIES, local[a]) for a in shapes),
        "All curves start at 1 and rise with the number of parties, steeply at first and then like a logarithm; at a "
        "thousand parties they are near 10.",
        log_x=True,
    )
    reports, laplace = plan(1.0), Laplace(1.0)
    sums = {
        "stable, best alpha": [share(reports, n, honest=1).total.marginal.mean_abs for n in PARTIES],
        "Laplace": [share(laplace, n, honest=1).total.marginal.mean_abs for n in PARTIES],
    }
    errors = _errors_figure(sums)
    rows = _uses(local[1.7][PARTIES.index(100)], sums["stable, best alpha"][-1] / sums["Laplace"][-1])
    grid = Grid(
        "Shares of a sum with epsilon = 1: pure epsilon of one message",
        ("parties", *(f"alpha = {a:g}" for a in shapes)),
        tuple((n, *(local[a][i] for a in shapes)) for i, n in enumerate(PARTIES)),
    )
    text = (
        "A single share of stable noise still has a pure epsilon, larger than that of the sum; a share of Laplace "
        "noise and a share of Gaussian noise have none. This is the use of the family. As noise for local reports, "
        "each with a given epsilon, it is worse than Laplace noise: its sum grows like n^(1/alpha), not like sqrt n."
    )
    return Item(
        "sas-local", "Section VI, Definition 8", "Local and federated use", text, rows, (messages, errors), (grid,)
    )


def _errors_figure(sums: dict[str, list[float]]) -> Figure:
    return Figure(
        "sas-local-error",
        "Every party adds noise of local epsilon = 1: error of the sum",
        "number of parties",
        "mean absolute error of the sum",
        tuple(line(name, PARTIES, values) for name, values in sums.items()),
        "On logarithmic axes both are straight lines; Laplace rises with slope 1/2, stable noise with slope "
        "1/alpha = 0.59, from a higher start.",
        log_x=True,
        log_y=True,
    )
