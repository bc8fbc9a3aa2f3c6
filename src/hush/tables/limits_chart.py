"""Noise against bias: the errors for each limit on the groups of a person, as numbers and as bars.

Noise grows with a limit. What the limit leaves out shrinks. Before anything is spent, only the noise is known. Then
each limit is shown with the share of a group that costs as much if it is left out.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass

from hush.ledger.notebook import Bar
from hush.tables.chart import text_table

__all__ = ["LimitError", "error_bars", "error_lines", "in_cells"]

_WIDTH = 32  # characters of the longest bar
LEGEND = "(bar: # error of noise, = error of what the limit leaves out)"


@dataclass(frozen=True)
class LimitError:
    """The error to expect with one limit: of noise, and of what the limit leaves out (None: not measured yet).

    `share` is the share of a group that costs as much as the noise if it is left out; None where no number of rows or
    people is counted. `threshold` is that of private keys.
    """

    groups_per_unit: int
    noise: float
    bias: float | None = None
    share: float | None = None
    threshold: float | None = None

    @property
    def total(self) -> float:
        """Both errors together."""
        return self.noise + (self.bias or 0.0)


def in_cells(errors: Sequence[LimitError], present: float) -> tuple[list[str], list[list[str]]]:
    """Headings and cells of a table; the noise is stated as a multiple of the present one, unless that is 0."""
    heads, columns = ["groups per person", "error"], [[str(e.groups_per_unit) for e in errors]]
    columns.append([f"x {e.noise / present:.3g}" if present else f"{e.noise:.3g}" for e in errors])
    if any(e.threshold is not None for e in errors):
        heads.append("key threshold")
        columns.append(["" if e.threshold is None else f"{e.threshold:.4g}" for e in errors])
    if any(e.share is not None for e in errors):
        heads.append("as much as leaving out")
        columns.append(["" if e.share is None else f"{100.0 * e.share:.2g} % of a group" for e in errors])
    return heads, [list(row) for row in zip(*columns, strict=True)]


def error_lines(errors: Sequence[LimitError], heads: Sequence[str], rows: Sequence[Sequence[str]]) -> list[str]:
    """The lines of a table with a bar for each limit, and its legend if both errors are known."""
    most = max((e.total for e in errors), default=0.0) or 1.0
    drawn = []
    for e in errors:
        noise, whole = (round(_WIDTH * part / most) for part in (e.noise, e.total))
        drawn.append("#" * max(noise, 1) + "=" * (max(whole, 1) - max(noise, 1)))
    lines = text_table(heads, rows, drawn, heading="error")
    return [*lines, LEGEND] if any(e.bias is not None for e in errors) else lines


def error_bars(errors: Sequence[LimitError]) -> list[Bar]:
    """The same bars for a notebook; the line after a bar is what the limit leaves out."""
    most = max((e.total for e in errors), default=0.0)
    return [
        Bar.of(e.noise, e.noise, e.total, most, f"noise {e.noise:.3g}, left out {e.bias or 0.0:.3g}") for e in errors
    ]
