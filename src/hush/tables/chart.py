"""Tables and bars in plain text."""

from __future__ import annotations

from collections.abc import Sequence

import numpy as np
from numpy.typing import NDArray

__all__ = ["bars", "text_table"]

_WIDTH = 32


def bars(values: NDArray[np.float64], low: NDArray[np.float64], high: NDArray[np.float64]) -> list[str]:
    """A bar for each value, # up to it, with [ ] around what is likely true."""
    finite = high[np.isfinite(high)]
    most = max(float(finite.max(initial=0.0)), 1e-300)
    lines = []
    for value, a, b in zip(values, low, high, strict=True):
        line = ["#" if i < value / most * _WIDTH else " " for i in range(_WIDTH + 1)]
        for mark, at in (("[", a), ("]", b)):
            line[int(np.clip(at / most * _WIDTH, 0, _WIDTH))] = mark
        lines.append("".join(line).rstrip())
    return lines


def text_table(heads: Sequence[str], rows: Sequence[Sequence[str]], chart: Sequence[str]) -> list[str]:
    """Left-aligned columns, and the bars to their right."""
    cells = [list(heads), *rows]
    widths = [max(len(row[i]) for row in cells) for i in range(len(heads))]
    lines = ["  ".join(cell.ljust(width) for cell, width in zip(row, widths, strict=True)).rstrip() for row in cells]
    if chart:
        across = sum(widths) + 2 * (len(widths) - 1)
        lines = [lines[0], *(f"{line.ljust(across)}  {bar}" for line, bar in zip(lines[1:], chart, strict=True))]
    return lines
