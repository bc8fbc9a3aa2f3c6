"""Calibrated noises for every stop of the sliders, read from precomputed.json.

The file saves the search, not the proof: every noise is analysed before it is shown. A family or a stop that the file
does not contain is calibrated at once.
"""

from __future__ import annotations

import json
from collections.abc import Sequence
from functools import cache, lru_cache
from importlib.resources import files
from typing import Any

import hush
from hush.errors import HushError
from hush.explorer.state import names
from hush.noise.catalogue import family
from hush.noise.contract import Law
from hush.noise.family import Family
from hush.numerics.bracket import Bracket
from hush.numerics.rounding import TIED

__all__ = ["catalogue", "has", "kept", "limit", "rebuilt", "row"]


def catalogue() -> list[list[Any]]:
    """The name and the parameters of every ranked family."""
    return [[name, list(family(name).parameters)] for name in names()]


@cache
def _document() -> dict[str, Any]:
    document: dict[str, Any] = json.loads(files("hush.explorer").joinpath("precomputed.json").read_text())
    return document


def _entry(epsilon: float, delta: float, count: int) -> Any:
    """The entry of the file for a stop: ranked noises, absent families, the limit; None if the file does not have the
    stop.
    """
    document = _document()
    axes = (document["epsilon"], document["delta"], document["count"])
    stop = (epsilon, delta, count)
    if any(value not in axis for value, axis in zip(stop, axes, strict=True)):
        return None
    first, second, third = (axis.index(value) for value, axis in zip(stop, axes, strict=True))
    return document["stops"][(first * len(axes[1]) + second) * len(axes[2]) + third]


def kept(epsilon: float, delta: float, count: int) -> list[Any]:
    """The entry of a stop, with reasons in words, so that a new file can keep it. It is empty if the file does not have
    the stop, or was made for other families.
    """
    entry = _entry(epsilon, delta, count)
    if entry is None or _document()["catalogue"] != catalogue():
        return []
    ranked, absent, limit = entry
    return [ranked, [[number, _document()["reasons"][reason]] for number, reason in absent], limit]


def has(name: str, epsilon: float, delta: float, count: int) -> bool:
    """Does the file contain this family for this stop?"""
    return name in dict(_stored(epsilon, delta, count))


def row(epsilon: float, delta: float, count: int, wanted: Sequence[str] | None = None) -> list[tuple[str, Law | str]]:
    """Every family (or those of `wanted`) in the order of its rank, with its noise for sensitivity 1; then the absent
    families, each with the reason.
    """
    chosen = names() if wanted is None else wanted
    stored = [(name, noise) for name, noise in _stored(epsilon, delta, count) if name in chosen]
    ranked = [(name, noise) for name, noise in stored if isinstance(noise, Law)]
    absent = [(name, reason) for name, reason in stored if isinstance(reason, str)]
    for name in chosen:
        if name in dict(stored):
            continue
        noise = _calibrated(family(name), epsilon, delta, count)
        if isinstance(noise, str):
            absent.append((name, noise))
        else:
            ranked.insert(_place(noise, [other for _, other in ranked]), (name, noise))
    return [*ranked, *absent]


def _place(noise: Law, ranked: Sequence[Law]) -> int:
    """The place of a noise among ranked ones; it is first only if it is better by more than 0.01 %, as in
    `hush.calibrate`.
    """
    handicap = [TIED.above, *[1.0] * len(ranked)]
    worse = (place for place, other in enumerate(ranked) if noise.variance * handicap[place] < other.variance)
    return next(worse, len(ranked))


def _stored(epsilon: float, delta: float, count: int) -> list[tuple[str, Law | str]]:
    """The families of the catalogue that the file contains for this stop."""
    entry = _entry(epsilon, delta, count)
    if entry is None:
        return []
    known, today = _document()["catalogue"], catalogue()
    ranked = [(known[number], values) for number, *values in entry[0]]
    found: list[tuple[str, Law | str]] = [
        (kind[0], rebuilt(kind[0], epsilon, values)) for kind, values in ranked if kind in today
    ]
    absent = [(known[number], _document()["reasons"][reason]) for number, reason in entry[1]]
    return found + [(kind[0], reason) for kind, reason in absent if kind in today]


@lru_cache(maxsize=256)
def _calibrated(kind: Family, epsilon: float, delta: float, count: int) -> Law | str:
    """The least noise of a family for sensitivity 1, or the reason why there is none; takes up to a second."""
    try:
        plan = hush.calibrate(epsilon, delta, hush.Sensitivity(linf=1.0, l0=count), family=kind.name)
    except HushError as failure:
        return str(failure).rstrip(".")
    return plan.law


def limit(epsilon: float, delta: float, count: int) -> Bracket | None:
    """The least variance of any additive noise for sensitivity 1, if it is known."""
    entry = _entry(epsilon, delta, count)
    if entry is None:
        return None if count > 1 else hush.limit(epsilon, delta)
    return None if entry[2] is None else Bracket(*entry[2])


def rebuilt(name: str, epsilon: float, values: Sequence[float]) -> Law:
    """A noise from its stored numbers: its parameters, or the short form that its family defines."""
    kind = family(name)
    noise: Law = kind.type(*values) if kind.short is None else kind.short.noise(epsilon, list(values))
    return noise
