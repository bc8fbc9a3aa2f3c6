"""Zawacki and Abed (2025), "Heavy-Tailed Privacy": the newer version of the stable mechanism."""

from __future__ import annotations

import math
from fractions import Fraction

import numpy as np

import hush
from hush.federated import calibrate_stable
from hush_papers.item import Context, Grid, Item, claim

__all__ = ["stable_journal"]


def _density_of_a_sum(at: float) -> float:
    """The density at `at` of the sum of two copies of stable noise with alpha = 1.5 and scale 2: a convolution by the
    trapezoidal rule after x = sinh u, which reaches far into the tails.
    """
    step = 0.01
    u = np.arange(-14.0, 14.0, step)
    x, one = np.sinh(u), hush.Stable(1.5, 2.0)
    return float(step * np.sum(np.asarray(one.pdf(x)) * np.asarray(one.pdf(at - x)) * np.cosh(u)))


def stable_journal(context: Context) -> Item:
    """The three claims of the abstract: pure privacy, sums, and the expected error beside the Gaussian's."""
    alphas = (1.2, 1.5, 1.8) if context.quick else (1.1, 1.2, 1.35, 1.5, 1.65, 1.8, 1.95)
    scales = {alpha: calibrate_stable(1.0, 1.0, alpha=alpha).noise for alpha in alphas}
    largest = max(float(hush.epsilon(noise, 0.0)) for noise in scales.values())
    summed, scaled = _density_of_a_sum(3.0), float(hush.Stable(1.5, 2.0).power(Fraction(2)).pdf(3.0))
    rows = tuple(
        (alpha, noise.gamma, noise.mean_abs, float(hush.epsilon(noise, 1e-6))) for alpha, noise in scales.items()
    )
    gaussian = hush.gaussian.sigma(1.0, 1e-6) * math.sqrt(2.0 / math.pi)
    comparisons = (
        claim(
            "largest epsilon at delta = 0 of the noises of the table",
            '"achieves pure differential privacy"',
            largest,
            holds=largest <= 1.0 + 1e-9,
            function="hush.epsilon",
        ),
        claim(
            "alpha = 1.5, scale 2: density at 3 of the sum of two copies, by convolution, over that of stable noise "
            "with scale 2 * 2^(1/1.5)",
            '"remaining closed under convolution"',
            summed / scaled,
            holds=math.isclose(summed, scaled, rel_tol=1e-6),
            function="hush.Stable.pdf",
        ),
    )
    text = (
        "The abstract of the newer version states pure privacy and closure under sums, both confirmed, and compares "
        "the expected error with the Gaussian's. The two have no common guarantee: the Gaussian has none at delta = 0. "
        f"At epsilon = 1 the Gaussian has a mean absolute error of {gaussian:.4g} with delta = 1e-6, and Laplace noise "
        "has 1 with delta = 0. The table has stable noise with epsilon = 1 and delta = 0; its error is above that of "
        "Laplace noise at every alpha."
    )
    head = ("alpha", "scale for epsilon = 1", "mean absolute error", "epsilon at delta = 1e-6")
    grid = Grid("Stable noise with epsilon = 1, delta = 0, sensitivity 1", head, rows)
    source = "Zawacki and Abed 2025, abstract"
    return Item("newer-stable", source, "The newer version of the stable mechanism", text, comparisons, grids=(grid,))
