"""Plans, answers and ledgers in a notebook: one table style, small bars, all text escaped, no scripts."""

from __future__ import annotations

from collections.abc import Iterable, Sequence
from dataclasses import dataclass
from functools import cache
from typing import Any

from hush.ledger.entry import printable

__all__ = ["Bar", "card"]

_WIDTH = 120  # pixels of the longest bar

_STYLE = """
.hush-card { font: 14px/1.45 system-ui, sans-serif; color: inherit; max-width: 60rem; }
.hush-card table { border-collapse: collapse; margin: 0.4rem 0; }
.hush-card th, .hush-card td { text-align: left; vertical-align: top; padding: 0.15rem 0.8rem 0.15rem 0;
  border-bottom: 1px solid #8886; }
.hush-card td.number { text-align: right; font-variant-numeric: tabular-nums; white-space: nowrap; }
.hush-card p { margin: 0.3rem 0; } .hush-card .quiet { opacity: 0.75; font-size: 0.9em; }
"""

_TEMPLATE = """<div class="hush-card"><style>{{ style | safe }}</style>
{% if title %}<p><strong>{{ title | printable }}</strong></p>{% endif %}
{% if meter is not none %}{{ drawn(meter, true) }}{% endif %}
{% if heads %}<table><thead><tr>
{%- for head in heads %}<th scope="col">{{ head | printable }}</th>{% endfor %}
{%- if bars %}<th scope="col">{{ heading | printable }}</th>{% endif %}</tr></thead><tbody>
{% for row in rows %}<tr>
{%- for cell in row %}<td{% if loop.index0 >= left %} class="number"{% endif %}>{{ cell | printable }}</td>{% endfor %}
{%- if bars %}<td>{{ drawn(bars[loop.index0], false) }}</td>{% endif %}</tr>
{% endfor %}</tbody></table>{% endif %}
{% for line in lines %}<p class="quiet">{{ line | printable }}</p>{% endfor %}
{% if facts %}<table>{% for name, text in facts %}<tr><th scope="row">{{ name | printable }}</th>
<td>{{ text | printable }}</td></tr>{% endfor %}</table>{% endif %}
</div>"""

_BAR = """{% macro drawn(bar, frame) %}<svg width="{{ width + 2 }}" height="14" role="img"
aria-label="{{ bar.text | printable }}">{% if frame %}<rect x="0.5" y="2" width="{{ width }}" height="10"
fill="none" stroke="currentColor" opacity="0.5"/>{% endif %}<rect x="1" y="3"
width="{{ (width * bar.value) | round(1) }}" height="8" fill="#0b6a9f" opacity="0.75"/>
{%- if bar.high > bar.low %}<line x1="{{ (1 + width * bar.low) | round(1) }}"
x2="{{ (1 + width * bar.high) | round(1) }}" y1="7" y2="7" stroke="currentColor" stroke-width="2"/>{% endif %}</svg>
{%- endmacro %}"""


@dataclass(frozen=True)
class Bar:
    """A bar and its interval, as shares of the longest bar; `text` is read out in its place."""

    value: float
    low: float
    high: float
    text: str

    @classmethod
    def of(cls, value: float, low: float, high: float, most: float, text: str) -> Bar:
        """A bar cut to the range from 0 to `most`."""
        ends = [min(max(float(x) / most, 0.0), 1.0) if x == x and most > 0.0 else 0.0 for x in (value, low, high)]
        return cls(ends[0], ends[1], ends[2], text)


@cache
def _template() -> Any:
    from jinja2 import Environment, StrictUndefined

    made = Environment(autoescape=True, undefined=StrictUndefined, trim_blocks=True)
    made.filters["printable"] = printable
    return made.from_string(_BAR + _TEMPLATE)


def card(
    title: str = "",
    *,
    heads: Sequence[str] = (),
    rows: Iterable[Sequence[str]] = (),
    left: int = 1,
    bars: Sequence[Bar] = (),
    heading: str = "",
    meter: Bar | None = None,
    lines: Sequence[str] = (),
    facts: Iterable[tuple[str, str]] = (),
) -> str:
    """The HTML of one object: a title, a meter, a table with bars, lines and named facts.

    left: the number of left-aligned columns. heading: the heading of the bars.
    """
    body = [list(row) for row in rows]
    return str(
        _template().render(
            title=title,
            heads=heads,
            rows=body,
            left=left,
            bars=list(bars),
            heading=heading,
            meter=meter,
            lines=list(lines),
            facts=list(facts),
            width=_WIDTH,
            style=_STYLE,
        )
    )
