"""What a benchmark is: what it measures, why it is fair, and a function that yields its numbers; and how two things
are timed side by side.

A benchmark is one table: every `Line` is a cell, with `what` as its row and `against` as its column. Ratios measured
in one run are the result; seconds are kept as extra information. A file of benchmarks ends with `raise
SystemExit(main(BENCHMARKS))` and is run alone by `python bench/FILE.py [--quick] [--only KEY ...]`, or with all the
others by `python bench/run.py`.
"""

from __future__ import annotations

import argparse
import json
import math
import statistics
import sys
import time
from collections.abc import Callable, Iterator, Mapping, Sequence
from dataclasses import asdict, dataclass, field
from pathlib import Path
from typing import Any

Action = Callable[[], object]
BETTER = ("lower", "higher", "neither")


@dataclass(frozen=True)
class Line:
    """One number: `what` was measured `against` what; a unit ("times" for a ratio); which way is better; seconds and
    the like beside it.
    """

    what: str
    against: str
    value: float
    unit: str
    better: str
    extra: str = field(default="", kw_only=True)

    def __post_init__(self) -> None:
        if self.better not in BETTER:
            raise ValueError(f"better = {self.better!r}; write one of {BETTER}.")


@dataclass(frozen=True)
class Note:
    """A plain sentence instead of a number: a peer that is not installed, a case that was left out and why."""

    text: str


@dataclass(frozen=True)
class Benchmark:
    """One table of numbers, what it measures and why the comparison is fair; `minutes` is a guess for a full run on
    two idle cores.
    """

    key: str
    title: str
    measures: str
    fair: str
    rows: str  # the head of the column that holds `what`
    minutes: float
    measure: Callable[[bool], Iterator[Line | Note]]  # of `quick`: small sizes, whose numbers are not to be kept


# -- timing --------------------------------------------------------------------------------------------------


Clock = Callable[[], float]


def seconds(action: Action, *, clock: Clock = time.perf_counter) -> float:
    """How long one call takes, by a clock: `time.process_time` counts the work of this process only."""
    start = clock()
    action()
    return clock() - start


def alternate(
    actions: Mapping[str, Action], rounds: int, *, warm: bool = True, clock: Clock = time.perf_counter
) -> dict[str, list[float]]:
    """Seconds of every action in every round; the actions take turns, so that a drift of the machine meets all of
    them alike.
    """
    if warm:
        for action in actions.values():
            action()
    times: dict[str, list[float]] = {name: [] for name in actions}
    for _ in range(rounds):
        for name, action in actions.items():
            times[name].append(seconds(action, clock=clock))
    return times


@dataclass(frozen=True)
class Race:
    """Seconds of ours and of a yardstick."""

    ours: float
    theirs: float

    @property
    def slower(self) -> float:
        """Ours as a multiple of theirs."""
        return self.ours / self.theirs

    @property
    def faster(self) -> float:
        """Theirs as a multiple of ours."""
        return self.theirs / self.ours

    @property
    def extra(self) -> str:
        """Both times, in words."""
        return f"{duration(self.ours)} and {duration(self.theirs)}"


def race(
    ours: Action,
    theirs: Action,
    rounds: int,
    *,
    warm: bool = True,
    summary: Callable[[list[float]], float] = min,
    clock: Clock = time.perf_counter,
) -> Race:
    """Both actions, alternated; the least time of each (the run that other work disturbed least), or another
    summary.
    """
    times = alternate({"ours": ours, "theirs": theirs}, rounds, warm=warm, clock=clock)
    return Race(summary(times["ours"]), summary(times["theirs"]))


def duration(taken: float) -> str:
    """Seconds in words.

    >>> duration(0.00123), duration(12.3)
    ('1.2 ms', '12 s')
    """
    for unit, size in (("s", 1.0), ("ms", 1e-3), ("us", 1e-6)):
        if taken >= size or unit == "us":
            return f"{taken / size:.2g} {unit}" if taken / size < 99.5 else f"{taken / size:.0f} {unit}"
    raise AssertionError


# -- growth --------------------------------------------------------------------------------------------------


def exponent(sizes: Sequence[float], times: Sequence[float]) -> float:
    """The slope of log time over log size, by least squares: 1 is linear growth, 0 none.

    >>> round(exponent([1, 10, 100], [2, 20, 200]), 12)
    1.0
    """
    x, y = [math.log(size) for size in sizes], [math.log(taken) for taken in times]
    return statistics.linear_regression(x, y).slope


def growth(column: str, name: str, sizes: Sequence[int], timed: Callable[[int], float]) -> Iterator[Line]:
    """A column of a growth table: the time at every size as a multiple of the first, then the fitted exponents."""
    times = []
    for size in sizes:
        times.append(timed(size))
        yield Line(
            f"{name} = {size:,}", column, times[-1] / times[0], "times the first", "neither", extra=duration(times[-1])
        )
    yield Line("growth exponent", column, exponent(sizes, times), "exponent", "lower")
    upper = len(sizes) // 2  # what a call costs at any size hides the growth at small ones
    if len(sizes) - upper > 1:
        yield Line("growth exponent, upper half", column, exponent(sizes[upper:], times[upper:]), "exponent", "lower")


# -- running one file ----------------------------------------------------------------------------------------


def figure(value: float) -> str:
    """A number with the digits a reader can use.

    >>> figure(1.00049), figure(17.8342), figure(1234.5), figure(3.21e6)
    ('1.000', '17.83', '1,234', '3.21e+06')
    """
    if not math.isfinite(value):
        return "none"
    size = abs(value)
    if size >= 1e6 or 0.0 < size < 1e-3:
        return f"{value:.3g}"
    return f"{value:,.0f}" if size >= 1000 else f"{value:#.4g}".rstrip(".")


def shown(line: Line) -> str:
    """One cell: the number and what is kept beside it."""
    return figure(line.value) + (f" ({line.extra})" if line.extra else "")


def as_json(key: str, made: Line | Note) -> str:
    """One line of a results file."""
    return json.dumps({"benchmark": key, **asdict(made)})


def from_json(entry: dict[str, Any]) -> Line | Note:
    """The line or note that `as_json` wrote."""
    own = {name: value for name, value in entry.items() if name != "benchmark"}
    return Note(**own) if "text" in own else Line(**own)


def main(benchmarks: Sequence[Benchmark], arguments: Sequence[str] | None = None) -> int:
    """Measure the benchmarks of one file, print every number as it comes, and keep them in a file if one is named."""
    parser = argparse.ArgumentParser(description="; ".join(each.title for each in benchmarks))
    parser.add_argument("--quick", action="store_true", help="small sizes: a smoke test, not a result")
    parser.add_argument("--only", nargs="+", metavar="KEY", choices=[each.key for each in benchmarks])
    parser.add_argument("--out", type=Path, help="add the numbers to this file, one JSON object a line")
    options = parser.parse_args(arguments)
    for each in benchmarks:
        if options.only and each.key not in options.only:
            continue
        print(f"{each.title}\n  {each.measures}")
        for made in each.measure(options.quick):
            print(
                f"  {made.text}" if isinstance(made, Note) else f"  {made.what:44} {made.against:52} {shown(made)}",
                flush=True,
            )
            if options.out:
                with options.out.open("a") as file:
                    file.write(as_json(each.key, made) + "\n")
    sys.stdout.flush()
    return 0
