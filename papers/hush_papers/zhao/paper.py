"""Zhao et al., Reviewing and Improving the Gaussian Mechanism: the report's items."""

from __future__ import annotations

from hush_papers.item import Paper
from hush_papers.zhao.amounts import figure2
from hush_papers.zhao.appendices import appendix
from hush_papers.zhao.asymptotics import theorem3
from hush_papers.zhao.closed_forms import section5
from hush_papers.zhao.experiments import FILES, figure4, figure5
from hush_papers.zhao.other_notions import section7
from hush_papers.zhao.pdp_limits import theorem7
from hush_papers.zhao.properties import tables2_3
from hush_papers.zhao.table1 import table1
from hush_papers.zhao.threshold import figure1, figure3

__all__ = ["PAPER"]

PAPER = Paper(
    "zhao",
    "Reviewing and Improving the Gaussian Mechanism for Differential Privacy",
    "J. Zhao, T. Wang, T. Bai, K.-Y. Lam, Z. Xu, S. Shi, X. Ren, X. Yang, Y. Liu, H. Yu, arXiv:1911.12060v2, 2019",
    (figure1, table1, theorem3, tables2_3, section5, figure2, figure3, theorem7, section7, figure4, figure5, appendix),
    FILES,
)
