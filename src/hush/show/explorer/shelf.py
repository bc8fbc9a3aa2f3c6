"""Noises calibrated ahead, one set for every stop of the sliders: read from the package, rebuilt, scaled to a sensitivity.

The shelf saves the search, never the proof: a noise from it is analysed again by hush before anything is said about it.
"""

from __future__ import annotations

import json
from collections.abc import Sequence
from functools import cache
from importlib.resources import files
from typing import Any

import numpy as np

from hush.errors import HushError
from hush.noise.catalogue import family
from hush.noise.contract import Law
from hush.noise.stepped import Stepped
from hush.numerics.bracket import Bracket
from hush.show.explorer.stop import COUNTS, NAMES, STOPS

__all__ = ["catalogue", "limit", "rebuilt", "row", "steps_and_cells"]

#: How finely a calibrated step noise cuts the sensitivity (hush.calibration.tied); the packer checks that it is rebuilt bit for bit.
_CELLS = 64


def catalogue() -> list[list[Any]]:
    """What the shelf was made for: every ranked family and its parameters."""
    return [[name, list(family(name).parameters)] for name in NAMES]


@cache
def _document() -> dict[str, Any]:
    document: dict[str, Any] = json.loads(files("hush.show.explorer").joinpath("shelf.json").read_text())
    made_for = [document["catalogue"], document["epsilon"], document["delta"], document["count"]]
    if made_for != [catalogue(), list(STOPS["epsilon"]), list(STOPS["delta"]), list(COUNTS)]:
        raise HushError("the explorer's noises were made for other families or stops; run python -m hush.show.explorer.prepare.")
    return document


def _entry(epsilon: float, delta: float, count: int) -> Any:
    document = _document()
    place = document["epsilon"].index(epsilon) * len(document["delta"]) + document["delta"].index(delta)
    return document["stops"][place * len(document["count"]) + document["count"].index(count)]


def row(epsilon: float, delta: float, count: int) -> list[tuple[str, Law | str]]:
    """Every family in the order of its rank, with its noise for sensitivity 1; then the absent ones, with the reason why."""
    ranked, absent, _ = _entry(epsilon, delta, count)
    found: list[tuple[str, Law | str]] = [(NAMES[number], rebuilt(NAMES[number], epsilon, values)) for number, *values in ranked]
    return found + [(NAMES[number], _document()["reasons"][reason]) for number, reason in absent]


def limit(epsilon: float, delta: float, count: int) -> Bracket | None:
    """The least variance of any additive noise for sensitivity 1, where it is known."""
    ends = _entry(epsilon, delta, count)[2]
    return None if ends is None else Bracket(*ends)


def rebuilt(name: str, epsilon: float, values: Sequence[float]) -> Law:
    """A noise from its shelved numbers: its parameters, or for step noise how many cells are on the first step and how many in all."""
    if name != "stepped":
        return family(name).type(*values)
    first, kept = (int(value) for value in values)
    index = np.arange(kept)
    level = np.floor(index / _CELLS) + ((index % _CELLS) >= first)
    return Stepped(1.0 / _CELLS, tuple(np.exp(-epsilon * level)))


def steps_and_cells(noise: Stepped) -> tuple[int, int]:
    """The two whole numbers that `rebuilt` makes a calibrated step noise from."""
    heights = np.asarray(noise.heights)
    return int(np.count_nonzero(heights[:_CELLS] == 1.0)), heights.size
