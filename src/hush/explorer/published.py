"""Epsilons that institutions have published, each with its source: the marks of the page.

They show what was accepted, not what is safe. What is protected differs: all data of a person, one day, one report, one
record that is replaced. Therefore these numbers do not rank the protection of these publications.
"""

from __future__ import annotations

from dataclasses import asdict, dataclass
from typing import Any

from hush.explorer.wording import power

__all__ = ["PUBLISHED", "PublishedEpsilon", "marks"]


@dataclass(frozen=True)
class PublishedEpsilon:
    """One publication: its epsilon and delta as the source states them, and what they protect."""

    epsilon: float
    delta: float
    who: str
    what: str
    protects: str
    source: str


#: In the order of epsilon. Each value was compared with the registry of deployments of OpenDP (July 2026).
PUBLISHED = (
    PublishedEpsilon(
        0.2,
        0.0,
        "Microsoft",
        "broadband use in the United States by postal code (2021)",
        "all records of one user, in one publication",
        "Pereira and others, arXiv:2103.14035",
    ),
    PublishedEpsilon(
        1.68,
        0.0,
        "Google",
        "searches for symptoms (2020)",
        "the searches of one user on one day; each day costs again",
        "Bavadekar and others, arXiv:2009.01265",
    ),
    PublishedEpsilon(
        2.64,
        0.0,
        "Google",
        "mobility reports during COVID-19 (2020)",
        "the visits of one user on one day; each day costs again",
        "Aktay and others, arXiv:2004.04145",
    ),
    PublishedEpsilon(
        4.0,
        0.0,
        "Apple",
        "popular emoji (2017)",
        "one report, with noise added on the device; each report costs again",
        "Differential Privacy Team, Learning with Privacy at Scale, Apple 2017",
    ),
    PublishedEpsilon(
        9.98,
        0.0,
        "Ministry of Health of Israel",
        "births of 2014, as synthetic records (2024)",
        "one birth, with mother and child, in one publication",
        "Hod and Canetti, arXiv:2405.00267",
    ),
    PublishedEpsilon(
        12.0,
        5.8e-6,
        "International Organization for Migration and Microsoft",
        "victims of human trafficking, as synthetic records (2023)",
        "one victim, in one publication",
        "Counter Trafficking Data Collaborative, Global Victim-Perpetrator Synthetic Dataset, 2023",
    ),
    PublishedEpsilon(
        19.61,
        1e-10,
        "US Census Bureau",
        "redistricting data of the 2020 census (2021)",
        "one record that is replaced by another: 17.14 for persons and 2.47 for housing units, each with delta 1e-10",
        "US Census Bureau, announcement of 9 June 2021; Abowd and others, arXiv:2204.08986",
    ),
    PublishedEpsilon(
        34.9,
        7e-9,
        "LinkedIn",
        "audience engagement (2020)",
        "the actions of one member in one month; each month costs again",
        "Rogers and others, arXiv:2002.05839",
    ),
)


def marks() -> list[dict[str, Any]]:
    """The publications for the page, with epsilon and delta as texts too."""
    return [asdict(one) | {"text": power(one.epsilon), "delta_text": power(one.delta)} for one in PUBLISHED]
