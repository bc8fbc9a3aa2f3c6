"""The receipt of an answer in a few lines for people."""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any

from hush.ledger.entry import entry_in_words, printable
from hush.tables.chart import fact_lines
from hush.tables.condition_words import only_where
from hush.tables.left_out import left_out_lines

__all__ = ["facts_of", "summary_of"]


def summary_of(receipt: Mapping[str, Any]) -> str:
    """A receipt in a few lines, no wider than the terminal."""
    return "\n".join(fact_lines(facts_of(receipt)))


def facts_of(receipt: Mapping[str, Any]) -> list[tuple[str, str]]:
    """The facts of a receipt as pairs of a name and a text."""
    guarantee, entry = receipt["guarantee"], receipt["ledger"]
    pair, unit, groups = (
        f"({guarantee['epsilon']:.6g}, {guarantee['delta']:.6g})",
        guarantee["unit"],
        guarantee["groups_per_unit"],
    )
    release, many = receipt.get("release") or (1, 1)
    together = f", for {many} releases together; this is release {release}" if many > 1 else ""
    facts = [("guarantee", f"(epsilon, delta) = {pair} for each {unit}, added or removed{together}")]
    if receipt.get("kept"):
        facts.insert(0, ("kept", receipt["kept"]))
    if receipt.get("statement"):
        facts.insert(0, ("statement", printable(" ".join(receipt["statement"].split()))))
    if receipt.get("not_protected"):
        facts.append(("not covered", receipt["not_protected"]))
    if receipt.get("filters"):
        facts.append(("rows", printable(only_where(receipt["filters"]))))
    most = "any number of groups" if groups is None else f"at most {groups} group{'s' * (groups > 1)}"
    facts.append(("bounds", f"{most} for each {unit}; {'; '.join(receipt['bounds'])}"))
    if receipt.get("limits_found"):
        facts.append(("limits", _limits_found(receipt["limits_found"], guarantee)))
    if receipt["threshold"] is not None:
        what = "number of people" if "weights" not in receipt else "sum of weights"
        shown = f"shown if the noisy {what} is at least {receipt['threshold']:.6g}"
        facts.append(("keys", f"found privately: {shown}"))
    at_once = ", for all numbers of a row at once" if receipt.get("together") else ""
    if receipt.get("aggregates") != {}:  # names only
        facts.append(("intervals", f"{100.0 * receipt['level']:.10g} %{at_once}{_covered(receipt)}"))
    if receipt.get("shared"):
        facts.append(("shared", f"{'; '.join(receipt['shared'])}; their errors are not independent"))
    if receipt.get("other"):
        text = "the number of people who are in at least one group that is not shown; the limit on groups has no effect"
        facts.append(("other", text))
    facts += [("left out", line) for line in left_out_lines(receipt)]
    facts += [("computed", f"from the released numbers: {text}") for text in receipt.get("post_processing", [])]
    scaled = "" if groups is None else f"; {_scaled(receipt)}"
    facts.append(("noise", f"{receipt['why'].rstrip('.')}{scaled}."))
    facts.append(("ledger", entry_in_words(entry)))
    return facts


def _scaled(receipt: Mapping[str, Any]) -> str:
    """How the noise of the columns follows from the noise that is named."""
    scaled = "the noise of each column is scaled to its bound"
    shared = receipt.get("shares_draw")
    return scaled if not shared else f"{scaled}; {shared} share one draw, so their errors depend on each other"


def _limits_found(found: Mapping[str, Any], guarantee: Mapping[str, Any]) -> str:
    """The contribution limits that were found privately, their price, and the guarantee of both releases."""
    limits = " and ".join(f"{name} {found[name]}" for name in ("groups_per_unit", "rows_per_unit") if name in found)
    entry = f", entry {found['entry']}" if found.get("entry") is not None else ""
    both = [found[name] + guarantee[name] for name in ("epsilon", "delta")]
    paid = f"found privately for ({found['epsilon']:.6g}, {found['delta']:.6g}){entry}"
    return f"{limits}, {paid}; with the answer the guarantee is ({both[0]:.6g}, {both[1]:.6g})"


def _covered(receipt: Mapping[str, Any]) -> str:
    """What intervals include, and what they do not."""
    limits = receipt.get("limits", [])
    return ", noise only" + "".join(f"; {words}" for words in limits)
