"""Muthukrishnan and Kalyani, flipped Huber noise: the report's items."""

from __future__ import annotations

from hush_papers.flipped_huber.density import figure_1, figure_2, slips
from hush_papers.flipped_huber.dimensions import figure_4, motivation
from hush_papers.flipped_huber.learning import percentages, table_3
from hush_papers.flipped_huber.loss import conditions, figure_5, figure_6, figure_7
from hush_papers.flipped_huber.osgt_rival import osgt_redone
from hush_papers.flipped_huber.privacy import better_than_gaussian, lemmas, table_1
from hush_papers.flipped_huber.table2 import table_2
from hush_papers.flipped_huber.variance import figure_3a
from hush_papers.flipped_huber.variance_maps import figure_3b, figure_3c
from hush_papers.flipped_huber.zcdp_route import composition
from hush_papers.item import Paper

__all__ = ["PAPER"]

PAPER = Paper(
    "flipped_huber",
    "Flipped Huber: Laplace centre, Gaussian tails",
    "G. Muthukrishnan and S. Kalyani, Grafting Laplace and Gaussian Distributions: A New Noise Mechanism for "
    "Differential Privacy.",
    (
        figure_1,
        figure_2,
        table_1,
        better_than_gaussian,
        lemmas,
        figure_3a,
        figure_3b,
        figure_3c,
        osgt_redone,
        figure_4,
        table_2,
        motivation,
        composition,
        table_3,
        percentages,
        figure_5,
        figure_6,
        figure_7,
        conditions,
        slips,
    ),
)
