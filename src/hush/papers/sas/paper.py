"""Zawacki and Abed, the symmetric alpha-stable mechanism: the report's items."""

from __future__ import annotations

from hush.papers.item import Paper
from hush.papers.sas.closure import closure, local_use
from hush.papers.sas.density import densities, slips, tail_series
from hush.papers.sas.error import distortion, equal_epsilon
from hush.papers.sas.privacy import dimensions, epsilons, proof, renyi_orders
from hush.papers.sas.testing import approximate, testing

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
