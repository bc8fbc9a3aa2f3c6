"""Chart of a ledger: what was spent and what is left after each entry."""

from __future__ import annotations

import os
from typing import Any

import numpy as np

from hush.ledger import Cap, Entry, Ledger
from hush.ledger.account import Account
from hush.ledger.entry import printable
from hush.numerics.rounding import rounded_down, rounded_up
from hush.report.chart_style import COLOURS, INK, altair, styled
from hush.report.snapshot import reading

__all__ = ["ledger_chart"]

#: The number of entries after which the state is drawn: at most and at least. Each state composes all mechanisms up to
#: it, and at most _MOST_COMPOSED compositions are made.
_MOST_STEPS, _LEAST_STEPS, _MOST_COMPOSED = 60, 12, 1200


def ledger_chart(ledger: Ledger | str | os.PathLike[str]) -> Any:
    """The epsilon that is spent and left after each entry, and the budget. A file is only read, never written to.

    For more than 60 entries the chart shows 60 states, including the last; fewer if many different mechanisms are
    composed.
    """
    with reading(ledger) as found:
        view = found.view()
        account, entries = view.account, view.entries
    cap = account.cap
    alt = altair()
    layers = [*_steps(alt, _states(account, entries), cap), *_budget(alt, cap)]
    name = "ledger in memory" if found.path is None else found.path.name
    text = (
        f"Step chart of the epsilon spent and left after each of {len(entries)} entries of a ledger of {cap}. "
        f"Spent at the end: {rounded_up(account.spent.epsilon, 4)}; left: {rounded_down(account.left.epsilon, 4)}."
    )
    chart = alt.layer(*layers).properties(width=520, height=300)
    return styled(chart, "Privacy budget: spent and left", text, subtitle=f"{name}: {cap}")


def _states(account: Account, entries: tuple[Entry, ...]) -> list[dict[str, Any]]:
    """The epsilon spent and left after some of the entries."""
    most = max(_LEAST_STEPS, min(_MOST_STEPS, _MOST_COMPOSED // max(len(account.totals), 1)))
    shown = {round(i) for i in np.linspace(0, len(entries), min(len(entries), most) + 1)}
    state, rows, done = type(account)(account.cap), [], 0
    for number in sorted(shown):
        state, done = state.plus(entries[done:number]), number
        label = printable(entries[number - 1].label, 60) if number else "no entry yet"
        for kind, value in (("spent", state.spent.epsilon), ("left", state.left.epsilon)):
            rows.append({"entry": number, "kind": kind, "epsilon": value, "label": label})
    return rows


def _steps(alt: Any, rows: list[dict[str, Any]], cap: Cap) -> list[Any]:
    """Step lines of what is spent and left."""
    kinds = alt.Scale(domain=["spent", "left"], range=[COLOURS[1], COLOURS[0]])
    base = alt.Chart(alt.Data(values=rows))
    x = alt.X("entry:Q", title="entry", axis=alt.Axis(tickMinStep=1, format="d"), scale=alt.Scale(nice=False))
    y = alt.Y("epsilon:Q", title=f"epsilon at delta {cap.delta:g}", scale=alt.Scale(domain=[0.0, cap.epsilon * 1.08]))
    tips = ["entry:Q", "label:N", "kind:N", alt.Tooltip("epsilon:Q", format=".6g")]
    legend = alt.Legend(title=None, symbolType="stroke", symbolSize=300, symbolStrokeWidth=3)
    hue = alt.Color("kind:N", scale=kinds, legend=legend)
    dash = alt.StrokeDash("kind:N", scale=alt.Scale(domain=["spent", "left"], range=[[1, 0], [5, 3]]))
    return [
        base.transform_filter("datum.kind == 'spent'")
        .mark_area(interpolate="step-after", color=COLOURS[1], opacity=0.15)
        .encode(x, y),
        base.mark_line(interpolate="step-after", strokeWidth=2.5).encode(x, y, color=hue, strokeDash=dash),
        base.mark_point(filled=True, size=45, opacity=1).encode(x, y, hue, tooltip=tips),
    ]


def _budget(alt: Any, cap: Cap) -> list[Any]:
    """A line at the budget."""
    top = alt.Chart(alt.Data(values=[{"cap": cap.epsilon, "text": f"budget: epsilon {cap.epsilon:g}"}]))
    return [
        top.mark_rule(color=INK, strokeWidth=1.5).encode(alt.Y("cap:Q")),
        top.mark_text(align="right", baseline="bottom", dy=-3, color=INK).encode(
            alt.Y("cap:Q"), x=alt.value(520), text="text:N"
        ),
    ]
