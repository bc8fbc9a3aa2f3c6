"""Measured numbers as Markdown: the page docs/benchmarks.md, and the two short tables of the README."""

from __future__ import annotations

import textwrap
from collections.abc import Mapping, Sequence

from marker import table
from record import Benchmark, Line, Note, figure, shown

Results = Mapping[str, Sequence[Line | Note]]

_HEAD = """# Benchmarks

`make bench` (`bench/run.py`) writes this page; do not edit it by hand. Every number is a ratio of two things that were
measured side by side in one run, or a variance, or an error. Times in parentheses are additional information about one
machine. The same numbers are in `docs/results/bench.json`.
"""
_NUMPY, _OPENDP, _GOOGLE = "normal draws by numpy (not exact)", "OpenDP", "dp_accounting"
_AGAIN, _PEERS = "times a repeated question to hush", "private group-by over 300,000 rows in memory, repeated question"
_FASTER = "times as fast as dp_accounting"
#: The rows of the README's table of speed: benchmark, row, column (None: the only one), the task, what hush is compared
#: with, and whether the number says how many times "faster" or "slower" hush is.
SPEED = (
    ("sampling", "Laplace(scale=10.0)", None, "a million exact, secure Laplace draws, scale 10", _NUMPY, "faster"),
    (
        "sampling",
        "Gaussian(sigma=1000000.0)",
        None,
        "a million exact, secure Gaussian draws, scale a million",
        _NUMPY,
        "faster",
    ),
    ("sampling-opendp", "discrete Laplace, scale 10", None, "integer Laplace draws", _OPENDP, "faster"),
    ("sampling-opendp", "discrete Gaussian, scale 10", None, "integer Gaussian draws", _OPENDP, "faster"),
    ("composition", "1,000 Laplace, scale 50", _FASTER, "epsilon of 1000 Laplace releases", _GOOGLE, "faster"),
    ("composition", "100 mixed", _FASTER, "epsilon of 100 different releases", _GOOGLE, "faster"),
    ("peers", "PipelineDP (local)", _AGAIN, _PEERS, "PipelineDP (local)", "faster"),
    ("peers", "OpenDP (Polars)", _AGAIN, _PEERS, "OpenDP (Polars)", "faster"),
    (
        "tables",
        "whole private answer, default options",
        None,
        "private group-by over 10 million rows",
        "hand-written SQL with the same bounds",
        "slower",
    ),
    ("learn_defaults", "Ridge", None, "private ridge regression, 1,000,000 x 50", "scikit-learn", "slower"),
    ("learn_defaults", "LogisticRegression", None, "private logistic regression, the same", "scikit-learn", "slower"),
    ("latency-import", "from hush import *", None, "`from hush import *`", "`import numpy, scipy.special`", "slower"),
)


def _unique(values: Sequence[str]) -> list[str]:
    return list(dict.fromkeys(values))


def cells(lines: Sequence[Line | Note], rows: str) -> str:
    """The table of one benchmark: one row for each `what`, one column for each `against`; other cells are empty."""
    numbers = [line for line in lines if isinstance(line, Line)]
    if not numbers:
        return ""
    found = {(line.what, line.against): shown(line) for line in numbers}
    heads, names = _unique([line.against for line in numbers]), _unique([line.what for line in numbers])
    return table([rows, *heads], [[name, *(found.get((name, head), "") for head in heads)] for name in names])


def wrapped(text: str) -> str:
    """A paragraph of at most 110 characters a line."""
    return textwrap.fill(text, 110, break_long_words=False, break_on_hyphens=False)


def section(benchmark: Benchmark, lines: Sequence[Line | Note]) -> str:
    """The section of one benchmark: what it measures, why it is fair, and its table."""
    notes = "".join(f"\n{wrapped(note.text)}\n" for note in lines if isinstance(note, Note))
    made = cells(lines, benchmark.rows)
    texts = f"{wrapped(f'Measures: {benchmark.measures}')}\n\n{wrapped(f'Fair because: {benchmark.fair}')}\n"
    return f"## {benchmark.title}\n\n{texts}{notes}" + (f"\n{made}\n" if made else "")


def page(benchmarks: Sequence[Benchmark], results: Results, facts: Mapping[str, str], *, quick: bool = False) -> str:
    """The text of docs/benchmarks.md."""
    where = (
        "\n## Where this was measured\n\n"
        + table(["part", "value"], [[name, value] for name, value in facts.items()])
        + "\n"
    )
    warning = "\n**These numbers come from small sizes (`--quick`): a smoke test, not a result.**\n" if quick else ""
    sections = [section(each, results[each.key]) for each in benchmarks if each.key in results]
    return _HEAD + warning + "\n" + "\n".join(sections) + where


#: Names of columns of the README's table of variances.
_SHORT = {"Gaussian, least sigma": "least Gaussian", "hush, private keys": "hush, groups not listed"}


def utility(lines: Sequence[Line | Note], budget: str) -> str:
    """The README's table of variances at one budget (the start of the row's name).

    Where a peer offers several noises, the one with the smaller variance is shown.
    """
    found: dict[str, dict[str, float]] = {}
    for line in lines:
        if isinstance(line, Line) and line.what.startswith(budget + ","):
            name = line.against.removesuffix(" / hush").removesuffix(": variance")
            row, short = (
                found.setdefault(line.what, {}),
                _SHORT.get(name, name.split(",")[0]),
            )
            row[short] = min(line.value, row.get(short, line.value))
    if not found:
        return f"Nothing was measured at {budget}."
    heads = _unique([name for row in found.values() for name in row])
    rows = [
        [what.rpartition(", ")[2].split()[0], *(figure(row[head]) if head in row else "" for head in heads)]
        for what, row in found.items()
    ]
    text = wrapped(
        f"Variance of the noise on one count of a group, at {budget}, if one person may be in all listed groups. "
        "The first column of numbers is the variance with hush. The others are multiples of it for the same guarantee; "
        "a smaller number means less noise:"
    )
    named = {"hush": "hush: variance", "limit": "proved minimum"}
    return text + "\n\n" + table(["groups", *(named.get(head, head) for head in heads)], rows)


def _speed(ratio: float, direction: str) -> str:
    """A ratio in words.

    >>> _speed(3.94, "slower"), _speed(0.61, "faster"), _speed(19.4, "faster"), _speed(1.02, "slower")
    ('takes 3.9 times as long', 'takes 1.6 times as long', '19 times as fast', 'the same')
    """
    faster = ratio if direction == "faster" else 1.0 / ratio
    factor = float(f"{max(faster, 1.0 / faster):.2g}")
    if factor == 1.0:
        return "the same"
    return f"{factor:g} times as fast" if faster > 1.0 else f"takes {factor:g} times as long"


def speed(results: Results) -> str:
    """The README's table of speeds."""
    rows = []
    for key, what, column, task, compared, direction in SPEED:
        for line in results.get(key, ()):
            if isinstance(line, Line) and line.what == what and column in (None, line.against):
                rows.append([task, compared, _speed(line.value, direction)])
    if not rows:
        return "Nothing was measured."
    return table(["task", "compared with", "speed"], rows)
