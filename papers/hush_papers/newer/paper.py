"""The items of this part of the report."""

from __future__ import annotations

from hush_papers.item import Paper
from hush_papers.newer.mixtures import mixtures
from hush_papers.newer.norm_staircase import norm_staircase
from hush_papers.newer.product import product
from hush_papers.newer.rank_one import rank_one
from hush_papers.newer.renyi_optimised import ten_uses
from hush_papers.newer.spherical import spherical
from hush_papers.newer.stable_journal import stable_journal

__all__ = ["PAPER"]

PAPER = Paper(
    "newer",
    "Newer papers: what follows the four",
    "Papers of 2024 to 2026 that improve on Gaussian, Laplace, flipped Huber, OSGT or stable noise. We use formulas "
    "and numbers that their texts or abstracts state. Where we know a number from a transcription by others only, the "
    "item says so, and no verdict depends on it.",
    (ten_uses, rank_one, product, mixtures, spherical, norm_staircase, stable_journal),
)
