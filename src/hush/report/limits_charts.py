"""Chart of contribution limits: the error of noise against the error of what a limit leaves out."""

from __future__ import annotations

from typing import Any

from hush.errors import reject
from hush.report.chart_style import COLOURS, altair, styled

__all__ = ["limits_chart"]

_KINDS = ("noise", "left out")


def limits_chart(subject: Any) -> Any:
    """The error to expect for each limit on the groups of a person: of the plan of a query, where only the noise is
    known, or of the `Advice` of `tables.advise`, with the noise and with what each limit leaves out.
    """
    if not callable(getattr(subject, "limit_errors", None)):
        raise reject(
            "subject",
            subject,
            "the plan of a query, or an Advice",
            "write hush.report.limits_chart(query.plan(1, 1e-6))",
        )
    errors = subject.limit_errors()
    known = any(error.bias is not None for error in errors)
    rows = [
        {"groups": error.groups_per_unit, "kind": kind, "place": place, "error": value}
        for error in errors
        for place, (kind, value) in enumerate(zip(_KINDS, (error.noise, error.bias), strict=True))
        if value is not None
    ]
    alt = altair()
    legend = alt.Legend(title=None) if known else None
    chart = (
        alt.Chart(alt.Data(values=rows))
        .mark_bar(size=22)
        .encode(
            alt.X("groups:O", title="groups per person", axis=alt.Axis(labelAngle=0)),
            alt.Y("error:Q", title="expected error, sum over groups" if known else "95 % error of noise"),
            alt.Color("kind:N", scale=alt.Scale(domain=list(_KINDS), range=list(COLOURS[:2])), legend=legend),
            alt.Order("place:Q"),
            tooltip=["groups:O", "kind:N", alt.Tooltip("error:Q", format=".4g")],
        )
        .properties(width=max(120, 34 * len(errors)), height=260)
    )
    best = min(errors, key=lambda error: error.total)
    text = f"Bar chart of the error for {len(errors)} limits on the groups of a person. "
    text += f"The least error is at {best.groups_per_unit}." if known else "Larger limits need more noise."
    under = (
        "noise grows with the limit; what it leaves out shrinks" if known else "what a limit leaves out is not known"
    )
    return styled(chart, "Noise against bias", text, subtitle=under)
