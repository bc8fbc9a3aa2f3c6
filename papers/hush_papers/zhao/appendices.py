"""Zhao, the appendices: numbers and steps of the proofs."""

from __future__ import annotations

import math
from fractions import Fraction

import hush
from hush_papers.crossing import crossing
from hush_papers.item import Comparison, Context, Item, claim, compare
from hush_papers.zhao.amounts import amount
from hush_papers.zhao.asymptotics import half_sum

__all__ = ["appendix"]

_SIGMA = "hush.gaussian.sigma"


def _signs() -> list[Comparison]:
    """Appendices A, D and G."""
    share = 2.0 * float(hush.delta(hush.Gaussian(1.0 / math.sqrt(0.02)), 0.01))  # 1 - e^eps erfc(sqrt eps): a = 0 there
    star = crossing(
        lambda points: [0.1 - float(hush.delta(hush.Gaussian(1.0 / math.sqrt(2.0 * e)), e)) for e in points], 1e-3, 1.0
    )
    equal = float(amount("mechanism1", star, 0.1) / amount("optimal", star, 0.1))
    a = 3
    algebra = Fraction(a * a + 1) * (a * a + 2) - Fraction(2 * a * a + 3) * (Fraction(1, 2) * a * a + Fraction(3, 4))
    return [
        compare("App. A: 1.25 exp(-0.5)", "0.7582", 1.25 * math.exp(-0.5), function="math.exp"),
        claim("App. D: 1 - e^0.01 erfc(0.1)", "> 0.1", share, holds=share > 0.1, function="hush.delta"),
        claim(
            f"Lemma 1 and (6): Mechanism 1 over DP-OPT at delta = 0.1, epsilon = {star:.7g}",
            "> 1",
            equal,
            holds=equal > 1.0 + 1e-9,
            function=_SIGMA,
            why=("a = b = 0 there, so only 'at most' holds; the proof shows no more, and privacy needs no more"),
        ),
        compare(
            "App. E: (A^2+1)(A^2+2) - (2A^2+3)(0.5A^2+0.75), at A = 3",
            "-0.25",
            float(algebra),
            function="fractions.Fraction",
        ),
    ]


def _lower_bound() -> list[Comparison]:
    """App. E, (42) and (46)-(47); App. L."""
    root = math.log(1e10) + math.log(0.0057)
    bound = (math.sqrt(root - 1.0) + math.sqrt(root)) / math.sqrt(2.0)
    ratio = bound / float(amount("optimal", 1.0, 1e-10))
    big = float(half_sum(amount("optimal", 5.0, 0.005), 5.0, sign=1)) / math.sqrt(-math.log(0.005))
    last = float(half_sum(amount("pdp_optimal", 1e6, 1e-5), 1e6, sign=-1))
    return [
        *_exponential(),
        claim(
            "App. E (47): its lower bound over DP-OPT at (1, 1e-10)",
            "< 1",
            ratio,
            holds=ratio < 1.0,
            function=_SIGMA,
            why="the step before (46) is reversed for delta < 0.005; Theorem 3 (4) still holds by (45)",
        ),
        claim(
            "App. E (42): A over sqrt(ln(1/delta)) at (5, 0.005)",
            "<= 1",
            big,
            holds=big <= 1.0,
            function=_SIGMA,
            why="only A^2 < ln(1/(2 delta)) + epsilon is available, which is enough for the limit",
        ),
        compare(
            "App. L: limit of d as epsilon grows, at epsilon = 1e6, delta = 1e-5",
            "0",
            last,
            function=_SIGMA,
            why="d tends to inverfc(2 delta); the limit of sigma sqrt(2 epsilon) is still 1",
        ),
    ]


def _exponential() -> tuple[Comparison, ...]:
    value = -math.log(8.0 * math.sqrt(math.pi)) - 1.5 * math.log(-math.log(0.005))
    return (
        claim(
            "App. E before (46): ln(1/(8 sqrt pi)) - 1.5 ln ln(1/0.005)",
            "> 0.0057",
            value,
            holds=value > 0.0057,
            function="math.log",
            why="it is negative; its exponential exceeds 0.0057",
        ),
        claim(
            "App. E: the exponential of that",
            "> 0.0057",
            math.exp(value),
            holds=math.exp(value) > 0.0057,
            function="math.exp",
        ),
    )


def _composition() -> list[Comparison]:
    """Lemma 15, for three Gaussian answers."""
    sigmas, shifts = (3.0, 5.0, 2.0), (1.0, 2.0, 0.5)
    one = hush.gaussian.compose_sigma(sigmas, shifts)
    together = hush.compose([(hush.Gaussian(s), d, 1) for s, d in zip(sigmas, shifts, strict=True)])
    ratio = float(together.delta(1.0)) / float(hush.delta(hush.Gaussian(one), 1.0))
    what = "Lemma 15: delta(1) of three Gaussian answers together over that of the one they come to"
    why = "with one neighbouring pair that attains every sensitivity; otherwise the right side is an upper bound"
    return [
        claim(
            what,
            '"is the same as that of a Gaussian mechanism"',
            ratio,
            holds=abs(ratio - 1.0) < 1e-9,
            function="hush.gaussian.compose_sigma",
            why=why,
        )
    ]


def appendix(context: Context) -> Item:
    """Numbers and steps of the appendices."""
    text = (
        "The steps of the proofs that can be computed. Three do not hold as printed: the strict inequality of Lemma "
        "1, the explicit lower bound (47) with the steps that lead to it, and a limit in Appendix L. All theorems "
        "hold in spite of this. Misprints without a number (Proposition 2, Lemma 12, the variance in the proof of "
        "Lemma 15) are listed in docs/theorems.md."
    )
    return Item(
        "zhao-appendix",
        "Appendices",
        "Numbers and steps of the proofs",
        text,
        (*_signs(), *_lower_bound(), *_composition()),
    )
