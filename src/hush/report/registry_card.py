"""The card of a ledger for the public registry of deployments of differential privacy.

The registry (OpenDP's Deployments Registry) describes each deployment by a YAML file of three tiers: what was
published, what is protected and by how much, and how it was done. A ledger knows most of it. What it does not know,
such as the name of the institution, is given by the caller, or says that it has to be filled in.
"""

from __future__ import annotations

import json
import os
import re
from collections.abc import Iterator, Mapping
from typing import Any

from hush.errors import InvalidParameter, shown
from hush.ledger import Ledger
from hush.ledger.entry import hush_version
from hush.numerics.rounding import rounded_up
from hush.report import caution, proof
from hush.report.ledger_statement import data_name
from hush.report.snapshot import reading

__all__ = ["FILL_IN", "OWN_FACTS", "card", "missing_facts"]

#: What only the institution knows: the field of the card, and what belongs there.
OWN_FACTS = {
    "name": "the name of what was published",
    "curator": "the institution that publishes it",
    "region": "the region that the data describe, or whose law applies",
    "use": "what the numbers are published for",
    "author": "who wrote this card",
    "unit": "who or what is protected: a person, a row, a person within a month",
}
FILL_IN = "TO BE FILLED IN"


def card(ledger: Ledger | str | os.PathLike[str], facts: Mapping[str, str] | None = None) -> str:
    """Return the card of a ledger (open, or its file) as YAML, for the public registry of deployments.

    `facts` has what a ledger cannot know: name, curator, region, use, author. A missing one says that it is to be
    filled in. The ledger is only read.

    >>> import hush
    >>> ledger = hush.Ledger(None, epsilon=1.0, delta=1e-6)
    >>> entry = ledger.spend((hush.Gaussian(10.0), 1.0), label="a count")
    >>> print(card(ledger, {"name": "Visits of 2025"}).splitlines()[0])
    url_slug: "visits_of_2025"
    """
    with reading(ledger) as found:
        return _card_text(found, dict(facts or {}))


def _card_text(ledger: Ledger, given: dict[str, str]) -> str:
    unknown = sorted(set(given) - set(OWN_FACTS))
    if unknown:
        raise InvalidParameter(f"a card has no fact {shown(unknown[0])}; it has {', '.join(OWN_FACTS)}.")
    own = {name: given.get(name) or f"{FILL_IN}: {what}" for name, what in OWN_FACTS.items()}
    if not ledger.entries:
        raise InvalidParameter("nothing was published from this ledger, so there is nothing to register.")
    return "\n".join(_lines(_card(ledger, own))) + "\n"


def missing_facts(card: str) -> list[str]:
    """Return what a card still needs, one sentence each."""
    return [what for what in OWN_FACTS.values() if f"{FILL_IN}: {what}" in card]


def _card(ledger: Ledger, own: Mapping[str, str]) -> dict[str, Any]:
    entries, cap = ledger.entries, ledger.cap
    many = len(entries) > 1
    slug = re.sub(r"[^a-z0-9]+", "_", own["name"].lower()).strip("_") if FILL_IN not in own["name"] else "hush_ledger"
    labels = list(dict.fromkeys(entry.label for entry in entries if entry.label))
    basic = {
        "name": own["name"],
        "data_curators": [own["curator"]],
        "description": f"{len(entries)} release{'s' if many else ''}: {'; '.join(labels[:20]) or 'without labels'}.",
        "intended_use": own["use"],
        "data_product_type": "Summary statistics",
        "data_product_region": own["region"],
        "publication_date": entries[0].time[:10],
    }
    loss = _loss(ledger)
    if not own["unit"].startswith(FILL_IN):
        loss["privacy_unit"] = own["unit"]
    deployment = {
        "basic": basic,
        "dp_variant": {
            "variant_name": _variant(cap),
            "data_domain": f"All tables of the form of the data: {data_name(ledger.source)}.",
            "unprotected_quantities": (
                "None of the published numbers. Public by declaration: the columns, the bounds of values, the listed "
                "groups, the limits of rows and groups of a person, that a release took place, and when."
            ),
        },
        "privacy_loss": loss,
        "deployment_model": _model(many),
        "accounting": {
            "post_processing": "Whatever was done to released numbers, such as rounding or removing negative counts.",
            "composition": caution.COMPOSED[ledger.view().account.rule],
        },
        "implementation": _implementation(ledger),
        "administrative": {"registry_authors": [own["author"]]},
    }
    return {"url_slug": slug, "status": "Draft", "tier": 3, "deployment": deployment}


def _variant(cap: Any) -> str:
    if getattr(cap, "rho", None) is not None:
        return "Zero-concentrated DP"
    return "Pure DP" if cap.delta == 0.0 else "Approximate DP"


def _loss(ledger: Ledger) -> dict[str, Any]:
    cap = ledger.cap
    relation = next(charge.neighbours for entry in ledger.entries for charge in entry.charges)
    numbers: dict[str, float] = {"epsilon": cap.epsilon} | ({"delta": cap.delta} if cap.delta else {})
    rho = getattr(cap, "rho", None)
    if rho is not None:
        numbers["rho"] = rho
    blocks = "" if cap.blocks is None else f" {caution.blocks(cap.blocks)}"
    each = "" if cap.blocks is None else " for each block of time"
    return {
        "privacy_unit": _unit(ledger),
        "privacy_unit_details": f"{caution.compared(relation)} Data: {data_name(ledger.source)}.{blocks}",
        "privacy_parameters": numbers,
        "privacy_parameters_details": (
            f"The pair is the whole budget of the ledger{each}. Spent until now: epsilon "
            f"{rounded_up(ledger.spent.epsilon)} at delta {rounded_up(cap.delta)}, if the releases had been fixed in "
            "advance."
        ),
    }


def _unit(ledger: Ledger) -> str:
    """What is protected, if the ledger's source states it."""
    if ledger.cap.blocks is not None:
        return f"a person within one value of {ledger.cap.blocks}"
    source = ledger.source or ""
    if ", each row a unit" in source:
        return "one row (a person with several rows is protected row by row)"
    found = re.search(r", (?:unit|units of) ([^;]+)", source)
    return f"person: one value of {found[1]}" if found else f"{FILL_IN}: {OWN_FACTS['unit']}"


def _model(many: bool) -> dict[str, Any]:
    return {
        "model_name": "Central",
        "actors": (
            "The curator holds the data and the ledger and is trusted. Analysts and readers see released numbers, "
            "intervals and receipts; each of them may be the adversary and may know every row but one."
        ),
        "release_type": "Many releases" if many else "One release",
        "release_type_details": "One ledger holds one budget for all releases. It refuses a release that exceeds it.",
        "data_source_type": "Dynamic" if many else "Static",
        "access_type": "Non-interactive",
    }


def _implementation(ledger: Ledger) -> dict[str, Any]:
    noises = list(dict.fromkeys(proof.named(charge) for entry in ledger.entries for charge in entry.charges))
    versions = sorted({entry.made_by for entry in ledger.entries if entry.made_by} or {hush_version()})
    words = "; ".join(noises[:10]) + (f"; and {len(noises) - 10} more" if len(noises) > 10 else "")
    return {
        "preprocessing_and_hyperparameter_tuning": (
            "Values are clipped to declared bounds, and rows of a person beyond declared limits are left out. Bounds "
            "and limits that hush finds in the data are paid for from the same budget."
        ),
        "mechanisms": (
            f"Noise: {words}. Library: hush, version {', '.join(versions)}. Noise is drawn exactly on a lattice, with "
            "random bits of AES-256 keyed by the operating system; sums are sums of integers, so floating point "
            "neither moves the sensitivity nor shows in low bits. Timing is not protected: let nobody measure single "
            "answers."
        ),
        "justification": (
            "The noise with the least error among all families that meet the budget; every epsilon and delta is a "
            "proved upper bound. The statement of the ledger (hush report) has the proofs and how to recompute them."
        ),
    }


def _lines(value: Mapping[str, Any], indent: str = "") -> Iterator[str]:
    """The lines of a YAML document; texts are in double quotes, which JSON and YAML read alike."""
    for name, one in value.items():
        if isinstance(one, Mapping):
            yield f"{indent}{name}:"
            yield from _lines(one, indent + "  ")
        elif isinstance(one, list):
            yield f"{indent}{name}:"
            yield from (f"{indent}  - {json.dumps(item, ensure_ascii=False)}" for item in one)
        else:
            yield f"{indent}{name}: {_plain(one)}"


def _plain(value: Any) -> str:
    """A number or a text in YAML 1.1, which reads 1e-06 as a text and 1.0e-06 as a number."""
    text = json.dumps(value, ensure_ascii=False)
    return text.replace("e", ".0e") if isinstance(value, float) and "e" in text and "." not in text else text
