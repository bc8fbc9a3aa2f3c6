"""Measured numbers as Markdown: the page docs/benchmarks.md, and the two short tables of the README."""

from __future__ import annotations

from collections.abc import Mapping, Sequence

from marker import table
from record import Benchmark, Line, Note, figure, shown

Results = Mapping[str, Sequence[Line | Note]]

_HEAD = """# Benchmarks

Made whole by `make bench` (`bench/run.py`); do not edit. Every number is a ratio of things measured side by side in one run, or a variance
or an error; times in parentheses are extra information about one machine. The same numbers are in `docs/results/bench.json`.
"""
_NUMPY, _OPENDP, _GOOGLE = "as fast as numpy's (inexact) normal draws", "as fast as OpenDP", "as fast as dp_accounting"
_SOURCE = "Measured by `make bench`: [docs/benchmarks.md](docs/benchmarks.md) says what exactly, and why it is fair."
_AGAIN, _PEERS = "times a repeated question to hush", "private group-by over 300,000 rows in memory, asked again"
#: What the README shows of speed: benchmark, row, column (None: the only one), the job, and what the number is a
#: multiple of.
SPEED = (
    ("sampling", "Laplace(scale=10.0)", None, "a million exact, secure Laplace draws, scale 10", _NUMPY),
    ("sampling", "Gaussian(sigma=1000000.0)", None, "a million exact, secure Gaussian draws, scale a million", _NUMPY),
    ("sampling-opendp", "discrete Laplace, scale 10", None, "integer Laplace draws", _OPENDP),
    ("sampling-opendp", "discrete Gaussian, scale 10", None, "integer Gaussian draws", _OPENDP),
    (
        "composition",
        "1,000 Laplace, scale 50",
        "times as fast as dp_accounting",
        "epsilon of 1000 Laplace releases",
        _GOOGLE,
    ),
    ("composition", "100 mixed", "times as fast as dp_accounting", "epsilon of 100 different releases", _GOOGLE),
    ("peers", "PipelineDP (local)", _AGAIN, _PEERS, "as fast as PipelineDP (local)"),
    ("peers", "OpenDP (Polars)", _AGAIN, _PEERS, "as fast as OpenDP (Polars)"),
    (
        "tables",
        "whole private answer, default options",
        None,
        "private group-by over 10 million rows",
        "the time of bounded SQL by hand",
    ),
    ("learn", "Lasso, coordinate descent", None, "private Lasso, 200,000 rows, 20 passes", "the time of scikit-learn"),
    (
        "learn",
        "LogisticRegression, coordinate descent (liblinear)",
        None,
        "private logistic regression",
        "the time of liblinear",
    ),
    ("latency-import", "import hush", None, "`import hush`", "the time of `import numpy, scipy.special`"),
)


def _unique(values: Sequence[str]) -> list[str]:
    return list(dict.fromkeys(values))


def cells(lines: Sequence[Line | Note], rows: str) -> str:
    """The table of one benchmark: `what` down, `against` across; a cell that was not measured stays empty."""
    numbers = [line for line in lines if isinstance(line, Line)]
    if not numbers:
        return ""
    found = {(line.what, line.against): shown(line) for line in numbers}
    heads, names = _unique([line.against for line in numbers]), _unique([line.what for line in numbers])
    return table([rows, *heads], [[name, *(found.get((name, head), "") for head in heads)] for name in names])


def section(benchmark: Benchmark, lines: Sequence[Line | Note]) -> str:
    """One benchmark, with its two texts."""
    notes = "".join(f"\n{note.text}\n" for note in lines if isinstance(note, Note))
    made = cells(lines, benchmark.rows)
    return f"## {benchmark.title}\n\nMeasures: {benchmark.measures}\n\nFair because: {benchmark.fair}\n{notes}" + (
        f"\n{made}\n" if made else ""
    )


def page(benchmarks: Sequence[Benchmark], results: Results, facts: Mapping[str, str], *, quick: bool = False) -> str:
    """docs/benchmarks.md."""
    where = (
        "\n## Where this was measured\n\n"
        + table(["what", "which"], [[name, value] for name, value in facts.items()])
        + "\n"
    )
    warning = "\n**Small sizes (`--quick`): a smoke test, not a result.**\n" if quick else ""
    sections = [section(each, results[each.key]) for each in benchmarks if each.key in results]
    return _HEAD + warning + "\n" + "\n".join(sections) + where


def utility(lines: Sequence[Line | Note], budget: str) -> str:
    """The README's table of variances for the budget named (as rows begin): of a peer's noises the better one is
    shown.
    """
    found: dict[str, dict[str, float]] = {}
    for line in lines:
        if isinstance(line, Line) and line.what.startswith(budget + ","):
            name = line.against.removesuffix(" / hush").removesuffix(": variance")
            row, short = (
                found.setdefault(line.what, {}),
                "least Gaussian" if name.startswith("Gaussian") else name.split(",")[0],
            )
            row[short] = min(line.value, row.get(short, line.value))
    if not found:
        return f"Nothing was measured at {budget}."
    heads = _unique([name for row in found.values() for name in row])
    rows = [
        [what.rpartition(", ")[2].split()[0], *(figure(row[head]) if head in row else "" for head in heads)]
        for what, row in found.items()
    ]
    text = f"The variance hush adds to one grouped count at {budget}, and what others add for the same guarantee, as multiples of it:\n\n"
    named = {"hush": "hush: variance", "limit": "no noise below"}
    return text + table(["groups per person", *(named.get(head, head) for head in heads)], rows) + "\n\n" + _SOURCE


def speed(results: Results) -> str:
    """The README's table of ratios."""
    rows = []
    for key, what, against, job, unit in SPEED:
        for line in results.get(key, ()):
            if isinstance(line, Line) and line.what == what and against in (None, line.against):
                rows.append([job, f"{float(f'{line.value:.2g}'):g} times {unit}"])
    if not rows:
        return "Nothing was measured."
    return table(["job", "hush is, or takes"], rows) + "\n\n" + _SOURCE
