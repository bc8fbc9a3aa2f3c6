"""What the receipt of a release, an answer or a fit contains, in words."""

from __future__ import annotations

import math
from collections.abc import Callable, Mapping
from dataclasses import dataclass
from pathlib import Path
from typing import Any

from hush.errors import InvalidParameter
from hush.noise.catalogue import from_plain_values
from hush.numerics.rounding import rounded_up
from hush.privacy.charge import Guarantee
from hush.releasing.receipt import Receipt
from hush.releasing.values import in_digits, lattice_words
from hush.report import caution
from hush.report.ledger_statement import data_name
from hush.tables.condition_words import only_where
from hush.tables.left_out import left_out_lines

__all__ = ["Case", "case_of", "charged"]


@dataclass(frozen=True)
class Case:
    """A receipt in words: its data, who is protected, what was published, the assumptions.

    who: what belongs to one person. seen: what an attacker sees. chain: the ledger entries of the fits that a fit
    started from.
    """

    receipt: Receipt
    title: str
    data: str
    who: str
    published: list[tuple[str, str]]
    assumptions: list[str]
    seen: str
    chain: tuple[int, ...] = ()

    @property
    def guarantee(self) -> Guarantee:
        return self.receipt.guarantee


def case_of(receipt: Receipt) -> Case:
    """The receipt in words, by its kind."""
    kinds: dict[str, Callable[[Receipt], Case]] = {"release": _release, "answer": _answer}
    kinds |= {"workload": _workload, "stream": _stream}
    try:
        return kinds.get(receipt.kind, _fit)(receipt)
    except (KeyError, TypeError, AttributeError) as failure:
        raise InvalidParameter(
            "this is not a receipt of hush; write statement(release), statement(answer) or statement(model)."
        ) from failure


def charged(receipt: Receipt) -> str:
    """The ledger entry of a receipt."""
    entry = receipt.ledger
    if entry is None:
        return "none was charged: this release is not added to others"
    where = f" of {Path(entry['ledger']).name}" if entry.get("ledger") else ""
    label = ", " + repr(entry["label"]) if entry.get("label") else ""
    return f"entry {entry['number']}{where}{label}"


def _made(receipt: Receipt) -> str:
    return f"{receipt['time']} by hush {receipt['hush']}"


# -- a release of numbers ------------------------------------------------------------------------------------


def _release(receipt: Receipt) -> Case:
    made, count, size = receipt["mechanism"], receipt.guarantee.times, math.prod(receipt["shape"])
    deviation, width = receipt["error"]["standard_deviation"], in_digits(receipt["error"]["half_width95"])
    rounded = ", to which values were rounded" if made["rounded"] else ""
    rows = [
        ("answer", "one number" if not receipt["shape"] else f"{size} numbers"),
        ("made", _made(receipt)),
        ("ledger", charged(receipt)),
        ("error", f"noise and rounding change each number by at most {width} with 95 % probability"),
        ("standard deviation", "infinite" if deviation is None else in_digits(deviation)),
        *_shared(receipt["error"]),
        ("lattice", f"multiples of {lattice_words(made)}{rounded}"),
        ("processing afterwards", ", ".join(receipt["post_processing"]) or "none"),
    ]
    notes = [
        caution.compared(receipt.guarantee.neighbours),
        "Bound: the caller declared how far one person can change the answer. The table of mechanisms states it, "
        "including rounding.",
        caution.ADAPTIVE["one"],
        "Processing afterwards costs no privacy.",
    ]
    if count > 1:
        notes.append(f"The pair is for {count} releases with this noise; this is one of them.")
    seen = "this answer" if count == 1 else f"{count} such answers"
    return Case(receipt, "one release", "not recorded in the receipt", "", rows, notes, seen)


def _shared(error: Mapping[str, Any]) -> list[tuple[str, str]]:
    """What a reader has to know about numbers that share one draw of noise."""
    if not error.get("dependence"):
        return []
    width = in_digits(error["band95"])
    return [
        ("all numbers together", f"noise and rounding change all of them by at most {width} with 95 % probability"),
        ("dependence", f"{error['dependence']}; a sum or a difference of them needs the law of this noise"),
    ]


# -- an answer about a table ---------------------------------------------------------------------------------


def _answer(receipt: Receipt) -> Case:
    given, data = receipt["guarantee"], data_name(receipt["source"])
    at_once = ", all numbers of a row at once" if receipt.get("together") else ""
    level = f"contain the answer without noise with probability {receipt['level']:g}{at_once}"
    filters = [("rows", only_where(receipt["filters"]))] if receipt.get("filters") else []
    rows = [
        ("data", data),
        ("query", "; ".join(receipt["bounds"])),
        *filters,
        *([("measured once", "; ".join(receipt["shared"]))] if receipt.get("shared") else []),
        ("groups", str(receipt.get("groups", "written to a file"))),
        ("made", f"{_made(receipt)}, engine {receipt['engine']}"),
        ("ledger", charged(receipt)),
        *([] if receipt.get("aggregates") == {} else [("noise intervals", level + _not_covered(receipt))]),
        *(("left out by the limits", line) for line in left_out_lines(receipt)),
        ("noise", f"{from_plain_values(receipt['noise'])}, scaled to the bound of each column"),
    ]
    unit = given["unit"]
    notes = [
        caution.compared("add-remove"),
        _person(receipt),
        _moved(given["groups_per_unit"], given["l0"]),
        caution.ADAPTIVE["one"],
        *_measured_once(receipt),
        *_paid_beside(receipt),
    ]
    who = " (one row)" if receipt.get("unit_columns") == [] else f" (all rows with the same {unit})"
    return Case(receipt, f"one answer about {data}", data, who, rows, notes, "this answer")


def _moved(groups: int | None, moved: int | None) -> str:
    """How many numbers one person changes."""
    if groups is None or moved is None:
        return "Bounds: one person may be in any number of groups, and counts once in each of them."
    return (
        f"Bounds: one person contributes to at most {groups} group(s) and changes at most {moved} numbers, "
        f"{moved // groups} in each group: a mean needs two, a sum and a count, and groups that are found privately "
        "need a count of people. The engine leaves out further rows, chosen by a keyed hash, and clips values. Each "
        "column is divided by its bound."
    )


def _person(receipt: Receipt) -> str:
    """Which rows belong to one person, and what that does not protect."""
    columns, beyond = receipt.get("unit_columns"), receipt.get("not_protected")
    if columns is None:
        return f"Person: all rows with the same {receipt['guarantee']['unit']} belong to one person."
    rows = f"all rows with the same {' and '.join(columns)} count as one person" if columns else "each row is a person"
    return f"Person: {rows}. Not covered: {beyond}."


def _measured_once(receipt: Receipt) -> list[str]:
    """That answers share noisy numbers, if they do."""
    if not receipt.get("shared"):
        return []
    return [
        "Shared noise: answers that share noisy columns were measured and charged once. They have the same noise, so "
        "their errors are not independent."
    ]


def _key_cost(receipt: Receipt) -> str:
    """What the keys cost, and which groups are hidden beside small ones."""
    if "keys" not in receipt:  # a receipt of an earlier version, which charged keys beside the noise
        return f"This uses {rounded_up(receipt['key_delta'], 3)} of delta."
    keys = receipt["keys"]
    chance = max([keys["chance"], *(rung[2] for rung in keys.get("rungs", ()))])
    text = f"A group of one person alone is shown with probability {rounded_up(chance, 3)} at most"
    cut = f"; a group whose noise is above {keys['cut']:.6g} is not shown" if "cut" in keys else ""
    return f"{text}{cut}. The curve of the mechanism includes this."


def _what_reaches(receipt: Receipt) -> str:
    """Which noisy number is compared with the threshold."""
    if "weights" not in receipt:
        return "its noisy number of people"
    each = [f"{weight} with at most {most}" for most, weight in receipt["weights"]]
    return f"the noisy sum of its people's weights (by the number of groups of a person: {', '.join(each)})"


def _paid_beside(receipt: Receipt) -> list[str]:
    """The other uses of the budget: finding groups, finding bounds, measuring what the limits leave out."""
    notes = []
    if receipt["threshold"] is not None:
        notes.append(
            f"Groups were found privately: a group is shown if {_what_reaches(receipt)} is at least "
            f"{receipt['threshold']:.6g}. {_key_cost(receipt)}"
        )
    if "other" in receipt:
        notes.append("People with a group that is not shown were counted, with a part of the budget.")
    if "bounds_found" in receipt:
        notes.append("Bounds were found privately, with a part of the budget.")
    if "left_out" in receipt:
        notes.append("What the limits left out was measured privately, with a part of the budget.")
    return notes


def _not_covered(receipt: Receipt) -> str:
    """What noise intervals do not include."""
    limits = receipt.get("limits")
    return f"; they do not include the effect of the limits: {'; '.join(limits)}" if limits else ""


# -- many counts of one histogram ------------------------------------------------------------------------------


def _workload(receipt: Receipt) -> Case:
    data = data_name(receipt["source"]) if "source" in receipt else "a histogram; not named in the receipt"
    rows, unit = receipt["rows_per_person"], receipt.get("unit")
    filters = [("rows", only_where(receipt["filters"]))] if receipt.get("filters") else []
    published = [
        ("data", data),
        ("counts", receipt["workload"]),
        *filters,
        ("measured", f"{receipt['measured']} numbers: {receipt['strategy']}"),
        ("made", _made(receipt)),
        ("ledger", charged(receipt)),
        ("error", f"root mean squared error {rounded_up(receipt['error']['root_mean_squared'])}"),
    ]
    notes = [
        caution.compared("add-remove"),
        *([f"Person: all rows with the same {unit} belong to one person."] if unit else []),
        f"Bounds: one person counts with at most {rows} row(s). Every row is in exactly one cell of the histogram. The "
        "values and the bins are public and do not depend on the data.",
        "All counts are computed from the measured numbers with noise. That costs no privacy.",
        caution.ADAPTIVE["one"],
    ]
    who = f" (all rows with the same {unit})" if unit else ""
    return Case(receipt, "many counts of one histogram", data, who, published, notes, "these counts")


# -- a stream -------------------------------------------------------------------------------------------------


def _stream(receipt: Receipt) -> Case:
    data = "a stream of counts; not named in the receipt"
    published = [
        ("data", data),
        ("stream", receipt["stream"]),
        ("measured", f"{receipt['measured']} numbers in {receipt['periods']} periods: {receipt['strategy']}"),
        ("made", _made(receipt)),
        ("ledger", charged(receipt)),
        ("error", f"root mean squared error {rounded_up(receipt['error']['root_mean_squared'])}"),
    ]
    sign = "by at most 1, up or down" if receipt["corrections"] else "by at most 1, never down"
    notes = [
        caution.compared("add-remove"),
        f"Bounds: one person is in at most {receipt['appears']} period(s), at least {receipt['apart']} apart, and "
        f"moves the count of such a period {sign}. The guarantee is for all periods together, those to come included.",
        "All totals are computed from the measured numbers with noise. That costs no privacy.",
        caution.ADAPTIVE["one"],
    ]
    return Case(receipt, "counts published period by period", data, "", published, notes, "this stream")


# -- a fitted model ------------------------------------------------------------------------------------------


def _fit(receipt: Receipt) -> Case:
    chain = tuple(receipt.get("started_from", ()))
    names = ("rows", "features", "solver", "passes", "scaling", "accounting", "rule", "cost")
    rows = [("model", f"{receipt.kind} of {receipt['model']}")]
    rows += [(name, str(receipt[name])) for name in names if name in receipt]
    rows += [("ledger", charged(receipt)), ("made", _made(receipt))]
    people = receipt.guarantee.neighbours == "add-remove"
    most = receipt["rows_per_unit"] if people else 1
    who = f" (at most {most} row{'s' * (most > 1)} of each)" if people else " (one row)"
    notes = [
        caution.compared(receipt.guarantee.neighbours),
        *(f"Public: {text}." for text in receipt.get("public", [])),
        "Bounds: rows are clipped to the declared ranges, and their gradients or products to the stated norm, as whole "
        "numbers.",
        caution.ADAPTIVE["one"],
    ]
    if chain:
        entries = ", ".join(map(str, chain))
        earlier = "the fits it started from"
        if receipt.get("row_count"):
            earlier = "the number of rows that it uses" if len(chain) == 1 else f"{earlier} and their numbers of rows"
        notes.append(f"The guarantee is for this fit together with {earlier}, ledger entries {entries}.")
    if "sharp_edge" in receipt:
        notes.append(f"Warning: {receipt['sharp_edge']}.")
    title, data = f"{receipt.kind} of {receipt['model']}", "the training rows; not named in the receipt"
    return Case(receipt, title, data, who, rows, notes, "the fitted model", chain)
