"""Make precomputed.json, the calibrated noises for every stop of the sliders.

    python -m hush.explorer.prepare --lines a.jsonl --part 1/2      writes one JSON line for each stop; continues a file
    python -m hush.explorer.prepare --lines a.jsonl --new           only the stops that precomputed.json does not have
    python -m hush.explorer.prepare --pack a.jsonl b.jsonl          writes precomputed.json from finished lines; a stop
                                                                    without a line keeps its present entry

A calibration over all families takes from a third of a second to several seconds, and a slider must answer at once.
"""

from __future__ import annotations

import argparse
import json
import sys
from collections.abc import Iterable, Sequence
from pathlib import Path
from typing import Any

import hush
from hush.explorer.precomputed import catalogue, kept, rebuilt
from hush.explorer.state import COUNTS, STOPS, names
from hush.noise.catalogue import family, from_plain_values, plain_values
from hush.noise.contract import Law

__all__ = ["calibrated", "main", "packed", "stored"]

#: Stops that a coarser table would not have. They are made last, set by set.
_FINER = ({1.5, 3.0}, {1e-4}, {0.05}, {0.7, 6.0})
#: Digits that are stored, and the relative enlargements that compensate for the rounding.
_DIGITS, _RISES = 10, (0.0, 3e-10, 3e-9, 3e-8)


def calibrated(epsilon: float, delta: float, count: int) -> dict[str, Any]:
    """One stop: the least noise of every family for sensitivity 1, or the reason why there is none, and the limit of
    all noises if it is known.
    """
    plan = hush.calibrate(epsilon, delta, hush.Sensitivity(linf=1.0, l0=count))
    ranking = [[c.family, c.reason if c.noise is None else plain_values(c.noise)] for c in plan.ranking]
    known = plan.limit if count == 1 else None  # for several numbers the bracket is wide
    limit = None if known is None else [known.lower, known.upper]
    return {"epsilon": epsilon, "delta": delta, "count": count, "ranking": ranking, "limit": limit}


def _order() -> list[tuple[float, float, int]]:
    """All stops: quick ones before slow ones, and those of a coarser table first."""

    def rank(stop: tuple[float, float, int]) -> tuple[bool, int, int]:
        epsilon, delta, count = stop
        return count > 1 and delta > 0.0, fineness(epsilon, delta), count

    def fineness(*values: float) -> int:
        return max((level for level, stops in enumerate(_FINER, 1) if stops & set(values)), default=0)

    return sorted(((e, d, c) for c in COUNTS for e in STOPS["epsilon"] for d in STOPS["delta"]), key=rank)


def _rows(paths: Iterable[Path]) -> dict[tuple[float, float, int], dict[str, Any]]:
    lines = [line for path in paths if path.exists() for line in path.read_text().splitlines()]
    return {(row["epsilon"], row["delta"], row["count"]): row for row in map(json.loads, lines)}


def _make(lines: Path, part: int, parts: int, *, new: bool) -> None:
    done = _rows([lines])
    wanted = [stop for stop in _order() if not (new and kept(*stop))]
    mine = [stop for stop in wanted[part - 1 :: parts] if stop not in done]
    for number, stop in enumerate(mine, 1):
        with lines.open("a") as file:
            file.write(json.dumps(calibrated(*stop)) + "\n")
        if number % 20 == 0:
            print(f"{number} of {len(mine)}", file=sys.stderr, flush=True)


def stored(noise: Law, name: str, epsilon: float, delta: float, count: int) -> list[float]:
    """The numbers to store for a noise: with few digits if the rounded noise still meets the budget, else with all
    digits.
    """

    def meets(values: Sequence[float]) -> bool:
        made = rebuilt(name, epsilon, values)
        return bool(hush.delta(made, epsilon, hush.Sensitivity(linf=1.0, l0=count)) <= delta)

    kind = family(name)
    if kind.short is not None:
        values = kind.short.numbers(noise)
        if rebuilt(name, epsilon, values) != noise:
            raise hush.NotCertified(
                f"{name} noise at epsilon = {epsilon:g}, delta = {delta:g} cannot be rebuilt from its short form."
            )
        return values
    for rise in _RISES:
        larger = noise.scaled(1.0 + rise)
        values = [float(f"{getattr(larger, key):.{_DIGITS}g}") for key in kind.parameters]
        if meets(values):
            return values
    return [getattr(noise, key) for key in kind.parameters]


def _entry(row: dict[str, Any], stop: tuple[float, float, int]) -> list[Any]:
    """One finished line: ranked noises, absent families with their reasons in words, and the limit."""
    place = names().index
    ranked = [(name, from_plain_values(found)) for name, found in row["ranking"] if not isinstance(found, str)]
    absent = [[place(name), reason] for name, reason in row["ranking"] if isinstance(reason, str)]
    return [[[place(name), *stored(noise, name, *stop)] for name, noise in ranked], absent, row["limit"]]


def packed(rows: dict[tuple[float, float, int], dict[str, Any]]) -> dict[str, Any]:
    """The document: for each stop, ranked noises, absent families and the limit."""
    reasons: list[str] = []
    wanted = [(e, d, c) for e in STOPS["epsilon"] for d in STOPS["delta"] for c in COUNTS]
    if missing := [stop for stop in wanted if stop not in rows and not kept(*stop)]:
        raise hush.InvalidParameter(
            f"{len(missing)} stops are missing, such as {missing[0]}; make them with --lines first."
        )
    entries = [_entry(rows[stop], stop) if stop in rows else kept(*stop) for stop in wanted]
    stops: list[Any] = []
    for ranked, absent, limit in entries:
        reasons += [reason for _, reason in absent if reason not in reasons]
        stops.append([ranked, [[number, reasons.index(reason)] for number, reason in absent], limit])
    axes = {"epsilon": STOPS["epsilon"], "delta": STOPS["delta"], "count": COUNTS}
    return {"catalogue": catalogue(), **axes, "reasons": reasons, "stops": stops}


def main(arguments: list[str] | None = None) -> None:
    """Make the missing stops, or pack finished ones."""
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--lines", type=Path, help="file of finished stops; a second run continues it")
    parser.add_argument("--part", default="1/1", help="the share of the stops to make, for several processes")
    parser.add_argument("--new", action="store_true", help="skip the stops that precomputed.json already has")
    parser.add_argument("--pack", type=Path, nargs="+", help="files of finished stops to pack into precomputed.json")
    options = parser.parse_args(arguments)
    if not (options.lines or options.pack):
        parser.error("nothing to do; write --lines stops.jsonl, and then --pack stops.jsonl")
    if options.lines:
        part, parts = (int(number) for number in options.part.split("/"))
        _make(options.lines, part, parts, new=options.new)
    if options.pack:
        text = json.dumps(packed(_rows(options.pack)), separators=(",", ":"))
        Path(__file__).with_name("precomputed.json").write_text(text.replace("[[[", "\n[[[") + "\n")


if __name__ == "__main__":
    main()
