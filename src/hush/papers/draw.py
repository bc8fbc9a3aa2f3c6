"""Figures as SVG and PNG: labelled axes, legends, colours that colour-blind readers can tell apart. The one place that meets matplotlib."""

from __future__ import annotations

import csv
import io
import math
from collections.abc import Sequence
from itertools import pairwise
from pathlib import Path
from typing import Any

from hush.errors import needs
from hush.papers.item import Figure, HeatMap

__all__ = ["picture", "values"]

#: Okabe and Ito's eight colours, and marks so that lines also differ without colour.
COLOURS = ("#0072B2", "#D55E00", "#009E73", "#CC79A7", "#E69F00", "#56B4E9", "#000000", "#7F7F7F")
MARKS = ("o", "s", "^", "D", "v", "P", "X", "*")


def picture(figure: Figure | HeatMap, folder: Path) -> str:
    """Write <key>.png and <key>.csv into the folder and return the SVG's text."""
    with needs("matplotlib", "a report with pictures", extra="papers"):
        import matplotlib
    matplotlib.use("Agg")
    from matplotlib.figure import Figure as Canvas

    canvas = Canvas(figsize=(7.2, 4.6), layout="constrained")
    axes = canvas.subplots()
    if isinstance(figure, HeatMap):
        across, up = _edges(figure.across, log=figure.log_x), _edges(figure.up, log=figure.log_y)
        shades = axes.pcolormesh(across, up, figure.values, cmap="cividis", shading="flat", rasterized=True)
        canvas.colorbar(shades, ax=axes, label=figure.z)
    else:
        for index, line in enumerate(figure.series):
            _draw(axes, index, line)
    axes.set_xlabel(figure.x)
    axes.set_ylabel(figure.y)
    axes.set_title(figure.title, fontsize=11)
    if figure.log_x:
        axes.set_xscale("log")
    if figure.log_y:
        axes.set_yscale("log")
    if isinstance(figure, Figure):
        axes.grid(visible=True, color="#DDDDDD", linewidth=0.6)
        if len(figure.series) > 1:
            axes.legend(fontsize=8, framealpha=0.9)
    canvas.savefig(folder / f"{figure.key}.png", dpi=120)
    (folder / f"{figure.key}.csv").write_text(values(figure), encoding="utf-8")
    text = io.StringIO()
    canvas.savefig(text, format="svg", metadata={"Date": None, "Creator": None})
    return text.getvalue()


def _edges(centres: Sequence[float], *, log: bool) -> list[float]:
    """Where the cells around these centres meet: half way, on the axis's own scale."""
    points = [math.log(c) for c in centres] if log else [float(c) for c in centres]
    inner = [0.5 * (a + b) for a, b in pairwise(points)]
    half = 0.5 * (points[1] - points[0]) if len(points) > 1 else 0.5
    edges = [points[0] - half, *inner, points[-1] + (points[-1] - inner[-1] if inner else half)]
    return [math.exp(e) for e in edges] if log else edges


def _draw(axes: Any, index: int, line: Any) -> None:
    colour, mark = COLOURS[index % len(COLOURS)], MARKS[index % len(MARKS)]
    every = max(1, len(line.x) // 8)
    style = {"linestyle": "none"} if line.points else {"linestyle": "--" if line.dashed else "-", "linewidth": 1.6}
    axes.plot(line.x, line.y, color=colour, marker=mark, markersize=4, markevery=1 if line.points else every, label=line.label, **style)


def values(figure: Figure | HeatMap) -> str:
    """The figure's numbers as CSV: series, x, y; or x, y, z."""
    text = io.StringIO()
    writer = csv.writer(text, lineterminator="\n")
    if isinstance(figure, HeatMap):
        writer.writerow([figure.x, figure.y, figure.z])
        for up, row in zip(figure.up, figure.values, strict=True):
            writer.writerows([repr(float(across)), repr(float(up)), repr(float(z))] for across, z in zip(figure.across, row, strict=True))
        return text.getvalue()
    writer.writerow(["series", figure.x, figure.y])
    for line in figure.series:
        writer.writerows([line.label, repr(float(a)), repr(float(b))] for a, b in zip(line.x, line.y, strict=True))
    return text.getvalue()
