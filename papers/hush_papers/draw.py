"""Figures as SVG and PNG with labelled axes, legends, and colours that colour-blind readers can tell apart.

No other module imports matplotlib.
"""

from __future__ import annotations

import csv
import io
import math
from collections.abc import Sequence
from itertools import pairwise
from pathlib import Path
from typing import Any

import matplotlib
from matplotlib.backends.backend_agg import FigureCanvasAgg
from matplotlib.backends.backend_svg import FigureCanvasSVG
from matplotlib.colors import ListedColormap
from matplotlib.figure import Figure as Canvas
from matplotlib.image import imsave
from matplotlib.patches import Patch
from matplotlib.ticker import FixedLocator, FuncFormatter, NullLocator

from hush_papers.item import Figure, HeatMap, Picture, Regions

__all__ = ["picture", "values"]

#: Okabe and Ito's eight colours and grey; lines also have different marks, so that they differ without colour
COLOURS = (
    "#0072B2",
    "#D55E00",
    "#009E73",
    "#CC79A7",
    "#E69F00",
    "#56B4E9",
    "#000000",
    "#7F7F7F",
    "#F0E442",
)  # the last colour is too pale for lines: only areas use it
MARKS = ("o", "s", "^", "D", "v", "P", "X", "*")
#: a series with fewer points than this has large marks
_FEW_POINTS = 20
#: an axis of a map with at most this many cells has a tick for each
_FEW_CELLS = 9


def picture(figure: Picture, folder: Path, *, png: bool = True) -> str:
    """Write <key>.csv, and <key>.png if it is wanted, into the folder; return the SVG, without a title because the
    page has it.
    """
    canvas = Canvas(figsize=(7.2, 4.6), dpi=120)
    # fixed margins: an automatic layout would double the time
    canvas.subplots_adjust(left=0.125, right=0.97, bottom=0.12, top=0.975)
    axes = canvas.subplots()
    if isinstance(figure, HeatMap):
        _cells(canvas, axes, figure)
    elif isinstance(figure, Regions):
        _regions(axes, figure)
    else:
        _lines(axes, figure)
    axes.set_xlabel(figure.x)
    axes.set_ylabel(figure.y)
    (folder / f"{figure.key}.csv").write_text(values(figure), encoding="utf-8")
    if png:
        _write_png(canvas, figure, folder)
    text = io.StringIO()
    with matplotlib.rc_context({"svg.hashsalt": figure.key}):  # equal figures give equal files
        FigureCanvasSVG(canvas).print_svg(text, metadata={"Date": None, "Creator": None})
    return text.getvalue()


def _write_png(canvas: Canvas, figure: Picture, folder: Path) -> None:
    """The picture with its title, because it may be used alone."""
    surface = FigureCanvasAgg(canvas)
    canvas.subplots_adjust(top=0.92)
    title = canvas.text(0.5, 0.955, figure.title, ha="center", fontsize=11 if len(figure.title) <= 75 else 9.5)
    surface.draw()  # savefig would draw the figure twice
    imsave(folder / f"{figure.key}.png", surface.buffer_rgba(), format="png", dpi=120, pil_kwargs={"compress_level": 2})
    title.remove()
    canvas.subplots_adjust(top=0.975)


def _lines(axes: Any, figure: Figure) -> None:
    for index, line in enumerate(figure.series):
        _draw(axes, index, line)
    for axis, log in ((axes.xaxis, figure.log_x), (axes.yaxis, figure.log_y)):
        if log:
            _log(axis)
    axes.grid(visible=True, color="#DDDDDD", linewidth=0.6)
    if len(figure.series) > 1:
        axes.legend(fontsize=8, framealpha=0.7)


def _draw(axes: Any, index: int, line: Any) -> None:
    colour, mark = COLOURS[index % len(COLOURS)], MARKS[index % len(MARKS)]
    every = max(1, len(line.x) // 8)
    style = {"linestyle": "none"} if line.points else {"linestyle": "--" if line.dashed else "-", "linewidth": 1.6}
    size = 7 if line.points and len(line.x) < _FEW_POINTS else 4  # few points must be visible on top of a line
    how: dict[str, Any] = {
        "markersize": size,
        "markevery": 1 if line.points else every,
        "zorder": 3 if line.points else 2,
    }
    axes.plot(line.x, line.y, color=colour, marker=mark, label=line.label, **how, **style)


def _cells(canvas: Any, axes: Any, figure: HeatMap) -> None:
    across, up = _edges(figure.across, log=figure.log_x), _edges(figure.up, log=figure.log_y)
    shades = axes.pcolormesh(across, up, figure.values, cmap="cividis", shading="flat", rasterized=True)
    canvas.colorbar(shades, ax=axes, label=figure.z)
    _centres(axes, figure)


def _centres(axes: Any, figure: HeatMap | Regions) -> None:
    """Put a tick at the centre of every cell."""
    for axis, centres, log in ((axes.xaxis, figure.across, figure.log_x), (axes.yaxis, figure.up, figure.log_y)):
        if log:
            _log(axis)
        if log and len(centres) <= _FEW_CELLS:
            _ticks(axis, centres, digits=2)


def _regions(axes: Any, figure: Regions) -> None:
    """Draw one colour for each name, its letters in every cell, and a legend."""
    names = [name for name in figure.palette if any(name in row for row in figure.names)]
    across, up = _edges(figure.across, log=figure.log_x), _edges(figure.up, log=figure.log_y)
    numbers = [[names.index(name) for name in row] for row in figure.names]
    colours = ListedColormap([COLOURS[figure.palette.index(name) % len(COLOURS)] for name in names])
    axes.pcolormesh(
        across, up, numbers, cmap=colours, vmin=-0.5, vmax=len(names) - 0.5, edgecolors="white", linewidth=1.0
    )
    letters = _letters(names)
    for y, row in zip(figure.up, figure.names, strict=True):
        for x, name in zip(figure.across, row, strict=True):
            axes.text(
                x,
                y,
                letters[name],
                ha="center",
                va="center",
                fontsize=11,
                bbox={"facecolor": "white", "pad": 1.5, "linewidth": 0},
            )
    _centres(axes, figure)
    key = [Patch(color=colours(index), label=f"{letters[name]}: {name}") for index, name in enumerate(names)]
    axes.legend(
        handles=key,
        fontsize=8,
        loc="upper center",
        bbox_to_anchor=(0.5, -0.13),
        ncols=min(len(names), 4),
        frameon=False,
    )
    axes.figure.subplots_adjust(bottom=0.22)


def _letters(names: Sequence[str]) -> dict[str, str]:
    """The shortest prefix of each name that no other name has."""
    return {
        name: next(
            name[:n]
            for n in range(1, len(name) + 1)
            if n == len(name) or sum(other.startswith(name[:n]) for other in names) == 1
        )
        for name in names
    }


def _log(axis: Any) -> None:
    """Make the axis logarithmic, with ticks at powers of ten if it spans at least three, else at round numbers."""
    set_scale, limits = (
        (axis.axes.set_xscale, axis.axes.get_xlim)
        if axis.axis_name == "x"
        else (axis.axes.set_yscale, axis.axes.get_ylim)
    )
    set_scale("log")
    low, high = limits()
    axis.set_minor_locator(NullLocator())
    plain = low >= 1e-3 and high <= 2e4  # all ticks of an axis have the same format
    axis.set_major_formatter(FuncFormatter(lambda value, _: f"{value:g}" if plain else _power(value)))
    if math.log10(high / low) < 3.0:
        _ticks(axis, _round(low, high))


def _power(value: float) -> str:
    """A power of ten as text; typesetting it as mathematics would take most of the drawing time."""
    exponent = round(math.log10(value))
    return "10" + str(exponent).translate(str.maketrans("-0123456789", "⁻⁰¹²³⁴⁵⁶⁷⁸⁹"))


def _round(low: float, high: float) -> list[float]:
    """About three to seven round numbers between two positive ones."""
    decades = range(math.floor(math.log10(low)), math.ceil(math.log10(high)) + 1)
    for digits in ((1.0, 3.0), (1.0, 2.0, 5.0), (1.0, 1.5, 2.0, 3.0, 4.0, 5.0, 7.0)):
        found = [d * 10.0**k for k in decades for d in digits if low <= d * 10.0**k <= high]
        if len(found) >= 4:
            return found
    step = 10.0 ** math.floor(math.log10((high - low) / 3.0))
    for factor in (1.0, 2.0, 5.0):  # less than a factor of two: the same ticks as on a linear axis
        found = [
            n * factor * step for n in range(math.ceil(low / (factor * step)), math.floor(high / (factor * step)) + 1)
        ]
        if len(found) <= 7:
            break
    return found


def _ticks(axis: Any, places: Sequence[float], *, digits: int = 4) -> None:
    axis.set_major_locator(FixedLocator(list(places)))
    axis.set_major_formatter(FuncFormatter(lambda value, _: f"{value:.{digits}g}"))


def _edges(centres: Sequence[float], *, log: bool) -> list[float]:
    """The borders of the cells around these centres: half way between them, on the scale of the axis."""
    points = [math.log(c) for c in centres] if log else [float(c) for c in centres]
    inner = [0.5 * (a + b) for a, b in pairwise(points)]
    half = 0.5 * (points[1] - points[0]) if len(points) > 1 else 0.5
    edges = [points[0] - half, *inner, points[-1] + (points[-1] - inner[-1] if inner else half)]
    return [math.exp(e) for e in edges] if log else edges


def values(figure: Picture) -> str:
    """The numbers of a figure as CSV: series, x, y; or x, y, z, where z may be a name."""
    text = io.StringIO()
    writer = csv.writer(text, lineterminator="\n")
    if isinstance(figure, HeatMap):
        writer.writerow([figure.x, figure.y, figure.z])
        for up, row in zip(figure.up, figure.values, strict=True):
            writer.writerows(
                [repr(float(across)), repr(float(up)), repr(float(z))]
                for across, z in zip(figure.across, row, strict=True)
            )
        return text.getvalue()
    if isinstance(figure, Regions):
        writer.writerow([figure.x, figure.y, "name"])
        for up, names in zip(figure.up, figure.names, strict=True):
            writer.writerows(
                [repr(float(across)), repr(float(up)), name] for across, name in zip(figure.across, names, strict=True)
            )
        return text.getvalue()
    writer.writerow(["series", figure.x, figure.y])
    for line in figure.series:
        writer.writerows([line.label, repr(float(a)), repr(float(b))] for a, b in zip(line.x, line.y, strict=True))
    return text.getvalue()
