"""A release as text for a terminal and as HTML for a notebook."""

from __future__ import annotations

from collections.abc import Mapping
from typing import TYPE_CHECKING, Any

import numpy as np

from hush.ledger.entry import entry_in_words
from hush.noise.catalogue import from_plain_values, in_words
from hush.releasing.text import html_table
from hush.releasing.values import in_digits, lattice_words

if TYPE_CHECKING:
    from hush.releasing.error_bars import ErrorBars
    from hush.releasing.release import Release

__all__ = ["as_html", "as_text"]

_RELATIONS = {"add-remove": "one person added or removed", "replace": "the data of one person replaced"}
_ROWS = 10  # values shown in HTML


def as_text(release: Release) -> str:
    """The value and the facts about it, one line each."""
    value = np.asarray(release.value)
    shown = f"{value[()]}" if value.ndim == 0 else np.array2string(value, threshold=8, precision=6)
    head = "1 number" if value.ndim == 0 else f"{value.size} numbers"
    lines = [("value", shown.replace("\n", "\n" + " " * 14)), *_facts(release)]
    return "\n".join([f"Release of {head}", *(f"  {name + ':':12}{text}" for name, text in lines)])


def as_html(release: Release) -> str:
    """A table of the first values with their intervals, and the facts."""
    value = np.asarray(release.value).ravel()
    low, high = (np.asarray(end).ravel() for end in release.interval())
    rows = [[f"{end:.6g}" for end in ends] for ends in zip(value[:_ROWS], low, high, strict=False)]
    rows += [[f"and {value.size - _ROWS} more"]] if value.size > _ROWS else []
    return html_table(["value", "95 % from", "to"], rows, _facts(release))


def _facts(release: Release) -> list[tuple[str, str]]:
    receipt, error = release.receipt, release.error
    guarantee, made, entry = receipt["guarantee"], receipt["mechanism"], receipt["ledger"]
    pair = f"({guarantee['epsilon']:.6g}, {guarantee['delta']:.6g})"
    times = f" over {guarantee['times']} releases" if guarantee["times"] > 1 else ""
    relation, bound = _RELATIONS[guarantee["neighbours"]], _described(guarantee["sensitivity"])
    noise = from_plain_values(made["noise"])
    return [
        ("95 % error", f"+-{in_digits(error.half_width95)}, standard deviation {_deviation(error)}"),
        *_together(error),
        ("guarantee", f"(epsilon, delta) = {pair}{times}, {relation}, {bound}"),
        ("noise", f"{in_words(noise)} on the lattice of step {lattice_words(made)}"),
        ("afterwards", ", ".join(receipt["post_processing"]) or "nothing"),
        ("ledger", entry_in_words(entry)),
        ("made", f"{receipt['time']} by hush {receipt['hush']}"),
    ]


def _deviation(error: ErrorBars) -> str:
    each = np.atleast_1d(error.standard_deviation)
    return f"{each[0]:.6g}" if each.size == 1 else f"{each.min():.6g} to {each.max():.6g}"


def _together(error: ErrorBars) -> list[tuple[str, str]]:
    """What is known about all numbers at once, if they share their noise."""
    if not error.dependence:
        return []
    return [("together", f"+-{in_digits(error.band_half_width(0.95))} for all at once; {error.dependence}")]


def _described(sensitivity: Mapping[str, Any]) -> str:
    facts = {name: sensitivity.get(name) for name in ("linf", "l0", "l1", "l2", "dimension")}
    known = [f"{name} {value:g}" for name, value in facts.items() if isinstance(value, int | float)]
    listed = ["linf listed"] if isinstance(facts["linf"], list | tuple) else []
    return "sensitivity " + ", ".join(listed + known)
