"""Tables and bars in plain text."""

from __future__ import annotations

from collections.abc import Sequence

import numpy as np
from numpy.typing import NDArray

from hush.releasing import text
from hush.releasing.text import fact_lines, wrapped

__all__ = ["LEGEND", "bars", "fact_lines", "text_table", "wrapped"]

LEGEND = "# up to the published value, [ ] its noise interval"

_WIDTH = 32  # characters of the longest bar


def bars(values: NDArray[np.float64], low: NDArray[np.float64], high: NDArray[np.float64]) -> list[str]:
    """A bar of # signs for each value, with [ and ] at the ends of its interval."""
    finite = high[np.isfinite(high)]
    most = max(float(finite.max(initial=0.0)), 1e-300)
    lines = []
    for value, a, b in zip(values, low, high, strict=True):
        line = ["#" if i < value / most * _WIDTH else " " for i in range(_WIDTH + 1)]
        for mark, at in (("[", a), ("]", b)) if np.isfinite(value) else ():
            line[int(np.clip(at / most * _WIDTH, 0, _WIDTH))] = mark
        lines.append("".join(line).rstrip())
    return lines


def text_table(
    heads: Sequence[str], rows: Sequence[Sequence[str]], chart: Sequence[str], *, heading: str = ""
) -> list[str]:
    """The lines of a table with left-aligned columns; the bars, if any, are its last column, under `heading`."""
    if not chart:
        return text.text_table(heads, rows)
    return text.text_table([*heads, heading], [[*row, bar] for row, bar in zip(rows, chart, strict=True)])
