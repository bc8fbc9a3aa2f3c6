"""Charts of what was done: a ledger's spending, and released values with their intervals."""

from __future__ import annotations

import os
from collections.abc import Iterable
from typing import Any

import numpy as np

from hush.errors import InvalidParameter, reject
from hush.ledger import Ledger
from hush.ledger.entry import printable
from hush.numerics.rounding import rounded_down, rounded_up
from hush.releasing.release import Release
from hush.report.chart_style import COLOURS, INK, altair, dressed
from hush.report.snapshot import reading

__all__ = ["ledger_chart", "release_chart"]

#: Moments of a ledger that are drawn: each composes every mechanism before it.
_MOST_STEPS, _LEAST_STEPS, _MOST_COMPOSED = 60, 12, 1200
_MOST_ROWS = 60


def ledger_chart(ledger: Ledger | str | os.PathLike[str]) -> Any:
    """What was spent and what is left after each entry, against the cap. A file is only read, never written to.

    Past sixty entries it shows sixty moments, the last among them; fewer where many different mechanisms are composed
    at each.
    """
    with reading(ledger) as found:
        view = found.view()
        account, entries = view.account, view.entries
    cap, state = account.cap, type(account)(account.cap)
    most = max(_LEAST_STEPS, min(_MOST_STEPS, _MOST_COMPOSED // max(len(account.totals), 1)))
    shown = {round(i) for i in np.linspace(0, len(entries), min(len(entries), most) + 1)}
    rows, done = [], 0
    for number in sorted(shown):
        state, done = state.plus(entries[done:number]), number
        label = printable(entries[number - 1].label, 60) if number else "nothing yet"
        for kind, value in (("spent", state.spent.epsilon), ("left", state.left.epsilon)):
            rows.append({"entry": number, "kind": kind, "epsilon": value, "label": label})
    alt = altair()
    kinds = alt.Scale(domain=["spent", "left"], range=[COLOURS[1], COLOURS[0]])
    base = alt.Chart(alt.Data(values=rows))
    x = alt.X("entry:Q", title="entry", axis=alt.Axis(tickMinStep=1, format="d"), scale=alt.Scale(nice=False))
    y = alt.Y("epsilon:Q", title=f"epsilon at delta {cap.delta:g}", scale=alt.Scale(domain=[0.0, cap.epsilon * 1.08]))
    tips = ["entry:Q", "label:N", "kind:N", alt.Tooltip("epsilon:Q", format=".6g")]
    code = {
        "color": alt.Color(
            "kind:N",
            scale=kinds,
            legend=alt.Legend(title=None, symbolType="stroke", symbolSize=300, symbolStrokeWidth=3),
        ),
        "strokeDash": alt.StrokeDash("kind:N", scale=alt.Scale(domain=["spent", "left"], range=[[1, 0], [5, 3]])),
    }
    top = alt.Chart(alt.Data(values=[{"cap": cap.epsilon, "text": f"budget: epsilon {cap.epsilon:g}"}]))
    layers = [
        base.transform_filter("datum.kind == 'spent'")
        .mark_area(interpolate="step-after", color=COLOURS[1], opacity=0.15)
        .encode(x, y),
        base.mark_line(interpolate="step-after", strokeWidth=2.5).encode(x, y, **code),
        base.mark_point(filled=True, size=45, opacity=1).encode(x, y, code["color"], tooltip=tips),
        top.mark_rule(color=INK, strokeWidth=1.5).encode(alt.Y("cap:Q")),
        top.mark_text(align="right", baseline="bottom", dy=-3, color=INK).encode(
            alt.Y("cap:Q"), x=alt.value(520), text="text:N"
        ),
    ]
    name = "ledger in memory" if found.path is None else found.path.name
    text = (
        f"Step chart of the epsilon spent and left after each of {len(entries)} entries of a ledger of {cap}. "
        f"Spent at the end: {rounded_up(account.spent.epsilon, 4)}; left: {rounded_down(account.left.epsilon, 4)}."
    )
    chart = alt.layer(*layers).properties(width=520, height=300)
    return dressed(chart, "What was spent, and what is left", text, subtitle=f"{name}: {cap}")


def release_chart(release: Any, *, names: Any = None, level: float = 0.95) -> Any:
    """Released values with the intervals that hold the true ones: a Release, or the groups of an Answer, one panel
    for each column.

    names: labels for the numbers of a Release. level belongs to a Release; an Answer has its own. Past sixty rows the
    rest is left out.
    """
    if isinstance(release, Release):
        rows, share = _of_release(release, names, level), level
    elif hasattr(release, "table") and hasattr(release, "names") and hasattr(release, "receipt"):
        if names is not None:
            raise InvalidParameter("names are for a Release; the groups of an Answer have theirs.")
        rows, share = _of_answer(release), float(release.receipt["level"])
    else:
        raise reject(
            "release",
            release,
            "a Release or an Answer",
            "write hush.report.release_chart(hush.release(values, plan, ledger=None))",
        )
    if not rows:
        raise InvalidParameter("the answer shows no group, so there is nothing to draw.")
    measures = list(dict.fromkeys(row["measure"] for row in rows))
    order = list(dict.fromkeys(row["name"] for row in rows))
    left_out = len(order) - _MOST_ROWS
    rows = [row for row in rows if row["name"] in set(order[:_MOST_ROWS])]
    alt = altair()
    wide = 420 if len(measures) == 1 else 260
    panels = [_panel(alt, [row for row in rows if row["measure"] == name], name, wide=wide) for name in measures]
    chart = panels[0] if len(panels) == 1 else alt.concat(*panels, columns=2, spacing=32)
    under = f"dots: what was released; bars: {100.0 * share:g} % noise intervals, which do not cover what limits or clipping took away"
    under += f"; {left_out} more rows are not shown" if left_out > 0 else ""
    return dressed(chart, "Released values", _release_text(rows, share), subtitle=under)


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
        # the name of an aggregate is one word; a histogram has a column for each bin, named after it
        panel, _, part = name.partition(" ")
        columns = (answer.table.column(f"{name}{end}").to_pylist() for end in ("", "_low", "_high"))
        for label, *values in zip(labels, *columns, strict=True):
            own = label if not part else part if label == "all" and not keys else f"{label}, {part}"
            rows.append(_row(panel, own, *values))
    return rows


def _row(measure: str, name: str, value: Any, low: Any, high: Any) -> dict[str, Any]:
    """An end that is open has no place on an axis: it is drawn as the value itself, and told in the tip."""
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
        f"Dots with {100.0 * level:g} % noise intervals: each holds the number before the noise with this probability. They do not cover "
        f"what limits or clipping took away before. {some}{more}."
    )
