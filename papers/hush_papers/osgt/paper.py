"""Sadeghi and Korki, offset-symmetric Gaussian tails: the paper and the slides, item by item."""

from __future__ import annotations

from hush_papers.item import Paper
from hush_papers.osgt.conjecture import conjecture
from hush_papers.osgt.density import figure_1, figure_2, figure_3, slips
from hush_papers.osgt.direction import directions
from hush_papers.osgt.discrete import discrete_law, discrete_privacy
from hush_papers.osgt.discrete_draws import discrete_draws
from hush_papers.osgt.privacy import figure_4a, figure_4b
from hush_papers.osgt.renyi import figure_5, renyi_ranges
from hush_papers.osgt.rivals import flipped_huber_claims
from hush_papers.osgt.slide_variance import slide_dimensions, slide_variance
from hush_papers.osgt.slides import slide_components, slide_curves, slide_densities
from hush_papers.osgt.vector import figure_6

__all__ = ["PAPER"]

PAPER = Paper(
    "osgt",
    "OSGT: offset-symmetric Gaussian tails",
    "P. Sadeghi and M. Korki, Offset-Symmetric Gaussians for Differential Privacy (arXiv; journal version IEEE "
    "Transactions on Information Forensics and Security 17, 2022), and the slides of the talk of 31 August 2022.",
    (
        figure_1,
        figure_2,
        figure_3,
        figure_4a,
        figure_4b,
        figure_5,
        renyi_ranges,
        figure_6,
        conjecture,
        directions,
        slide_densities,
        slide_curves,
        slide_variance,
        slide_dimensions,
        slide_components,
        discrete_law,
        discrete_privacy,
        discrete_draws,
        flipped_huber_claims,
        slips,
    ),
)
