"""Zawacki and Abed, the symmetric alpha-stable mechanism: the report's items."""

from __future__ import annotations

from hush_papers.item import Paper
from hush_papers.sas.closure import closure, local_use
from hush_papers.sas.coordinates import dimensions
from hush_papers.sas.density import densities, slips
from hush_papers.sas.error import distortion, equal_epsilon
from hush_papers.sas.privacy import epsilons, renyi_orders
from hush_papers.sas.proof import proof
from hush_papers.sas.tail import tail_series
from hush_papers.sas.testing import approximate, testing

__all__ = ["PAPER"]

PAPER = Paper(
    "sas",
    "SaS: the symmetric alpha-stable mechanism",
    "C. C. Zawacki and E. H. Abed, The Symmetric alpha-Stable Privacy Mechanism.",
    (
        densities,
        testing,
        approximate,
        tail_series,
        epsilons,
        proof,
        dimensions,
        renyi_orders,
        distortion,
        equal_epsilon,
        closure,
        local_use,
        slips,
    ),
)
