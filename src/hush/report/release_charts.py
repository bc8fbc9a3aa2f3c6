"""Chart of released values with their noise intervals."""

from __future__ import annotations

from collections.abc import Iterable
from typing import Any

import numpy as np

from hush.errors import InvalidParameter, reject
from hush.ledger.entry import printable
from hush.numerics.rounding import rounded_down, rounded_up
from hush.releasing.release import Release
from hush.report.chart_style import COLOURS, INK, altair, styled

__all__ = ["release_chart"]

_MOST_ROWS = 60  # rows that are drawn


def release_chart(release: Any, *, names: Any = None, level: float = 0.95) -> Any:
    """Released values with their noise intervals: of a Release, or of the groups of an Answer, with one panel for each
    column.

    names: labels for the numbers of a Release. level: the level of the intervals of a Release; an Answer has its own.
    At most 60 rows are drawn.
    """
    if isinstance(release, Release):
        rows, share = _of_release(release, names, level), level
    elif hasattr(release, "table") and hasattr(release, "names") and hasattr(release, "receipt"):
        if names is not None:
            raise InvalidParameter("names= is for a Release; the groups of an Answer have names; leave names= out.")
        rows, share = _of_answer(release), float(release.receipt["level"])
    else:
        raise reject(
            "release",
            release,
            "a Release or an Answer",
            "write hush.report.release_chart(hush.release(values, plan, ledger=None))",
        )
    if not rows:
        raise InvalidParameter("the answer has no group, so there is nothing to draw.")
    measures = list(dict.fromkeys(row["measure"] for row in rows))
    order = list(dict.fromkeys(row["name"] for row in rows))
    left_out = len(order) - _MOST_ROWS
    rows = [row for row in rows if row["name"] in set(order[:_MOST_ROWS])]
    alt = altair()
    wide = 420 if len(measures) == 1 else 260
    panels = [_panel(alt, [row for row in rows if row["measure"] == name], name, wide=wide) for name in measures]
    chart = panels[0] if len(panels) == 1 else alt.concat(*panels, columns=2, spacing=32)
    under = (
        f"dots: published values; bars: {100.0 * share:g} % noise intervals, without the effect of limits and clipping"
    )
    under += f"; {left_out} more rows are not shown" if left_out > 0 else ""
    return styled(chart, "Released values", _release_text(rows, share), subtitle=under)


def _of_release(release: Release, names: Any, level: float) -> list[dict[str, Any]]:
    value = np.asarray(release.value).ravel()
    low, high = (np.asarray(end).ravel() for end in release.interval(level=level))
    if names is not None and (isinstance(names, str) or not isinstance(names, Iterable)):
        raise reject(
            "names", names, f"{value.size} different texts, one for each number", "write names=['north', 'south']"
        )
    labels = [str(i + 1) for i in range(value.size)] if names is None else [str(name) for name in names]
    if len(labels) != value.size or len(set(labels)) != len(labels):
        raise reject("names", names, f"{value.size} different texts, one for each number")
    return [_row("value", label, v, a, b) for label, v, a, b in zip(labels, value, low, high, strict=True)]


def _of_answer(answer: Any) -> list[dict[str, Any]]:
    ends = {f"{name}{end}" for name in answer.names for end in ("", "_low", "_high")}
    keys = [name for name in answer.table.column_names if name not in ends]
    groups = zip(*(answer.table.column(key).to_pylist() for key in keys), strict=True) if keys else [()] * len(answer)
    labels = [", ".join("none" if part is None else str(part) for part in group) or "all" for group in groups]
    rows = []
    for name in answer.names:
        # the name of an aggregate is one word; a histogram has one column for each bin: the name, a space and the bin
        panel, _, part = name.partition(" ")
        columns = (answer.table.column(f"{name}{end}").to_pylist() for end in ("", "_low", "_high"))
        for label, *values in zip(labels, *columns, strict=True):
            own = label if not part else part if label == "all" and not keys else f"{label}, {part}"
            rows.append(_row(panel, own, *values))
    return rows


def _row(measure: str, name: str, value: Any, low: Any, high: Any) -> dict[str, Any]:
    """One row of the chart; for an infinite end, which cannot be drawn, the value is drawn and the text is "open"."""
    shown, known = (
        printable(name, 40),
        [None if v is None or not np.isfinite(v) else float(v) for v in (value, low, high)],
    )
    low_text, high_text = (
        "open" if end is None else way(end, 5) for end, way in zip(known[1:], (rounded_down, rounded_up), strict=True)
    )
    text = f"{low_text} to {high_text}"
    ends = [known[0] if end is None else end for end in known[1:]]
    said = "" if known[0] is None else f"{known[0]:.5g}  ({text})"
    return {
        "measure": measure,
        "name": shown,
        "value": known[0],
        "low": ends[0],
        "high": ends[1],
        "interval": text,
        "text": said,
    }


def _panel(alt: Any, rows: list[dict[str, Any]], name: str, *, wide: int) -> Any:
    order = list(dict.fromkeys(row["name"] for row in rows))
    base = alt.Chart(alt.Data(values=rows))
    y = alt.Y("name:N", sort=order, title=None, axis=alt.Axis(labelLimit=260, grid=False, ticks=False, labelPadding=8))
    tips = ["name:N", alt.Tooltip("value:Q", format=".6g"), "interval:N"]
    x = alt.X("low:Q", title=name, scale=alt.Scale(zero=False), axis=alt.Axis(tickCount=6))
    bars = base.mark_rule(strokeWidth=7, color=COLOURS[4]).encode(x, y, x2="high:Q")
    dots = base.mark_point(filled=True, size=28, opacity=1, color="#000000").encode(alt.X("value:Q"), y, tooltip=tips)
    said = base.mark_text(align="left", color=INK, fontSize=12).encode(y, x=alt.value(wide + 10), text="text:N")
    return alt.layer(bars, dots, said).properties(width=wide, height=max(24 * len(order), 48))


def _release_text(rows: list[dict[str, Any]], level: float) -> str:
    some = "; ".join(
        f"{r['name']}, {r['measure']}: {r['value']:.4g} ({r['interval']})" for r in rows[:12] if r["value"] is not None
    )
    more = f"; and {len(rows) - 12} more" if len(rows) > 12 else ""
    return (
        f"Dots with {100.0 * level:g} % noise intervals: each contains the number before the noise with this "
        f"probability. The effect of limits and clipping is not included. {some}{more}."
    )
