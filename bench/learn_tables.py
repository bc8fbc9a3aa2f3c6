"""Tables of the errors that `bench/learn_rivals.py` has measured."""

from __future__ import annotations

import math
from collections.abc import Sequence
from typing import Any

import numpy as np
from marker import table

__all__ = ["cells", "columns", "excesses", "missed", "ratios", "summary", "worst"]

TRIVIAL, OURS, NOT_PRIVATE = "no features", "hush", "not private"
METHODS = (
    *("row-clipped GD", "whitened GD", "AdaSSP", "boosted AdaSSP", "objective perturbation", "diffprivlib"),
    TRIVIAL,
)
_LARGEST = 1e4  # errors of a library that fails on a set are shown and averaged as this


def _means(line: dict[str, Any]) -> dict[str, float]:
    return {name: min(float(np.mean(each)), _LARGEST) for name, each in line["errors"].items()}


def _best(line: dict[str, Any]) -> tuple[str, float, float]:
    """The best rival in hindsight, hush's error over its error, and the standard error of that ratio."""
    runs = len(line["errors"][OURS])
    whole = [name for name, each in line["errors"].items() if len(each) == runs and name not in (TRIVIAL, OURS)]
    means = {name: _means(line)[name] for name in whole}
    best = min(means, key=means.__getitem__)
    off = np.array(line["errors"][OURS]) - np.array(line["errors"][best])
    spread = float(np.std(off) / math.sqrt(max(len(off) - 1, 1))) / means[best]
    return best, _means(line)[OURS] / means[best], spread


def _short(value: float, digits: int = 3) -> str:
    return f"{value:.{digits}g}" if value < 1000.0 else "> 1000"


def cells(lines: list[dict[str, Any]]) -> str:
    """Mean errors of all methods in every cell, with the ratio to the best rival."""
    rows = []
    for line in lines:
        means, (best, ratio, spread) = _means(line), _best(line)
        shown = ["" if name not in means else _short(means[name]) for name in METHODS]
        row = [line["set"], f"{line['epsilon']:g}", _short(means[OURS]), *shown]
        rows.append([*row, f"{ratio:.3f} ± {spread:.3f} ({best})"])
    return table(["set", "epsilon", OURS, *METHODS, "hush / best rival"], rows)


def columns(lines: list[dict[str, Any]], names: Sequence[str]) -> str:
    """Mean errors of some methods in every cell."""
    rows = [
        [
            line["set"],
            f"{line['epsilon']:g}",
            *(_short(_means(line)[n], 4) if n in line["errors"] else "" for n in names),
        ]
        for line in lines
    ]
    return table(["set", "epsilon", *names], rows)


def excesses(lines: list[dict[str, Any]], names: Sequence[str]) -> str:
    """The error without noise, and what each method adds to it on the same splits, with its standard error.

    The last column has hush's excess divided by that of the best other method.
    """
    rows = []
    for line in lines:
        base = np.array(line["errors"][NOT_PRIVATE])
        off = {name: np.array(line["errors"][name]) - base for name in names if name in line["errors"]}
        shown = [
            f"{off[name].mean():.4f} ± {off[name].std() / math.sqrt(max(len(base) - 1, 1)):.4f}" if name in off else ""
            for name in names
        ]
        best = min(float(each.mean()) for name, each in off.items() if name != OURS)
        row = [line["set"], f"{line['epsilon']:g}", f"{base.mean():.4f}", *shown]
        rows.append([*row, f"{float(off[OURS].mean()) / best:.2f}"])
    return table(["set", "epsilon", NOT_PRIVATE, *names, "hush / best rival"], rows)


def ratios(lines: list[dict[str, Any]]) -> str:
    """Geometric means over the sets of hush's error divided by that of each rival, and of the best rival."""
    epsilons = sorted({line["epsilon"] for line in lines})
    rows: dict[str, list[str]] = {}
    for name in (*METHODS, "best rival of each cell, in hindsight"):
        for epsilon in epsilons:
            logs = []
            for line in (line for line in lines if line["epsilon"] == epsilon):
                means = _means(line)
                if name in means:
                    logs.append(math.log(means[OURS] / means[name]))
                elif name not in METHODS:
                    logs.append(math.log(_best(line)[1]))
            rows.setdefault(name, []).append(f"{math.exp(np.mean(logs)):.3f}" if logs else "")
    return table(["hush / rival", *(f"epsilon {e:g}" for e in epsilons)], [[name, *row] for name, row in rows.items()])


def missed(lines: list[dict[str, Any]]) -> list[str]:
    """Cells above 1.10 of the best rival by more than a standard error, or above 1.02 of the trivial model."""
    found = []
    for line in lines:
        best, ratio, spread = _best(line)
        trivial = _means(line)[OURS] / _means(line)[TRIVIAL]
        if ratio - spread > 1.1:
            found.append(f"{line['set']} at epsilon {line['epsilon']:g}: {ratio:.3f} ± {spread:.3f} times {best}")
        if trivial > 1.02:
            found.append(f"{line['set']} at epsilon {line['epsilon']:g}: {trivial:.3f} times no features")
    return found


def worst(lines: list[dict[str, Any]], count: int) -> str:
    """The cells with the largest ratios to the best rival in hindsight."""
    rows = []
    for line in sorted(lines, key=lambda line: -_best(line)[1])[:count]:
        means, (best, ratio, spread) = _means(line), _best(line)
        row = [line["set"], f"{line['epsilon']:g}", _short(means[OURS]), _short(means[best]), best]
        rows.append([*row, f"{ratio:.3f} ± {spread:.3f}", f"{means[OURS] / means[TRIVIAL]:.3f}"])
    return table(["set", "epsilon", OURS, "best rival", "its name", "hush / best rival", "hush / no features"], rows)


def summary(lines: list[dict[str, Any]]) -> str:
    """All tables of one run."""
    bars = missed(lines) or ["none"]
    return "\n\n".join([cells(lines), ratios(lines), "Cells that miss a bar: " + "; ".join(bars) + "."])
