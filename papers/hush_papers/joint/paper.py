"""The items of this part of the report."""

from __future__ import annotations

from hush_papers.item import Paper
from hush_papers.joint.eight import figure_6
from hush_papers.joint.variances import figure_4, table_2

__all__ = ["PAPER"]

PAPER = Paper(
    "joint",
    "Joint noise: the papers' results for several numbers",
    "Not a paper: Fig. 6 of the OSGT paper, and Fig. 4 and Table II of the flipped Huber paper, beside joint noise of "
    "hush.calibrate and the limits of hush.limit. The parts about these papers compare the printed numbers.",
    (figure_6, figure_4, table_2),
)
