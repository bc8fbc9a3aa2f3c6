"""The style of all charts: colours, fonts, titles, and descriptions for screen readers."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any

from hush.errors import needs

__all__ = ["COLOURS", "INK", "PALE", "altair", "colour", "styled"]

#: The palette of Okabe and Ito (2008), which colour-blind readers can distinguish; without yellow, which is too light
#: on white.
COLOURS = ("#0072B2", "#D55E00", "#009E73", "#CC79A7", "#56B4E9", "#E69F00", "#000000")
INK, PALE = "#333333", "#888888"
_FONT = "Liberation Sans, Arial, Helvetica, sans-serif"
#: Lines also differ by their dashes, for black-and-white print.
DASHES = ((1, 0), (6, 3), (2, 2), (8, 3, 2, 3), (12, 4), (4, 2, 1, 2, 1, 2), (1, 3))


def altair() -> Any:
    """The Altair library; it is imported by the first chart."""
    with needs("Altair", "a chart", extra="charts"):
        import altair
    return altair


def colour(alt: Any, names: Sequence[str], title: str) -> dict[str, Any]:
    """Colour and dash of each named series, in the given order; a single series has no legend."""
    legend = (
        alt.Legend(title=title, symbolType="stroke", symbolStrokeWidth=3, symbolSize=300, labelLimit=320)
        if len(names) > 1
        else None
    )
    pick = {"domain": list(names)}
    return {
        "color": alt.Color(
            "name:N",
            scale=alt.Scale(range=[COLOURS[i % len(COLOURS)] for i in range(len(names))], **pick),
            legend=legend,
        ),
        "strokeDash": alt.StrokeDash(
            "name:N",
            scale=alt.Scale(range=[DASHES[(i + i // len(COLOURS)) % len(DASHES)] for i in range(len(names))], **pick),
            legend=legend,
        ),
    }


def styled(chart: Any, title: str, description: str, *, subtitle: str = "") -> Any:
    """The chart with the fonts and colours of hush, a title, and a description for screen readers."""
    heading: Any = {"text": title, "subtitle": subtitle} if subtitle else title
    words = {"labelColor": INK, "titleColor": INK}
    config = altair().Config(
        font=_FONT,
        background="white",
        padding=12,
        view={"stroke": None},
        title={
            "anchor": "start",
            "fontSize": 16,
            "color": INK,
            "subtitleColor": INK,
            "subtitleFontSize": 12,
            "offset": 12,
        },
        axis={"labelFontSize": 12, "titleFontSize": 13, "titleFontWeight": "normal", "gridColor": "#e6e6e6", **words},
        legend={"labelFontSize": 12, "titleFontSize": 12, "orient": "bottom", "columns": 2, **words},
        header={"labelFontSize": 13, **words},
    )
    # in one call: Altair copies the chart with its data at each
    return chart.properties(title=heading, description=description, config=config)
