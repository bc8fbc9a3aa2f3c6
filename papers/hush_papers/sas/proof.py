"""SaS paper, the proof of Theorem IV.4, step by step."""

from __future__ import annotations

import math

import numpy as np

from hush import Gaussian, Stable
from hush_papers.item import Comparison, Context, Figure, Item, claim, line
from hush_papers.sas.privacy import pure_epsilon

__all__ = ["proof"]


def _loss(alpha: float, x: float | np.ndarray, gamma: float = 1.0) -> np.ndarray:
    """log p(x)/p(x + 1): the loss of the output x if the two answers are 0 and -1."""
    noise = Stable(alpha, gamma)
    return np.asarray(noise.logpdf(x)) - np.asarray(noise.logpdf(np.asarray(x) + 1.0))


def proof(context: Context) -> Item:
    """The steps of the proof: the loss as a function of x, the bound on the density, the limits."""
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
        "The stable losses rise to one peak on each side and return to 0 far out, the further out the nearer alpha "
        "is to 2; the Gaussian loss is a straight line.",
    )
    text = (
        "The density is largest at 0 and positive everywhere, so the loss is bounded on an interval; far out it "
        "tends to 0, by the first term of (20). In several dimensions the loss does not tend to 0 as the norm of the "
        "output grows, but only as all coordinates grow."
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
            why=(
                "After the substitution the exponent is -t, which gives the printed value, "
                f"{float(Stable(alpha, 1.0).pdf(0.0)):.6f}."
            ),
        )
    )
    return tuple(rows)


def _limits() -> tuple[Comparison, ...]:
    top = pure_epsilon(1.5, 1.0)
    both = float(np.max(np.abs(_loss(1.5, np.linspace(-20.0, 20.0, 4001)))))
    far = float(_loss(1.5, 1e6))
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
        *_far_out(far),
    )


def _far_out(far: float) -> tuple[Comparison, ...]:
    wide = float(_loss(1.5, 1e6, 10.0))
    stuck = far + float(np.max(_loss(1.5, np.linspace(0.0, 4.0, 4001))))
    return (
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
            why=(
                "Only one coordinate tends to infinity, and the other keeps its loss. The theorem needs only that "
                "each loss is bounded."
            ),
        ),
    )
