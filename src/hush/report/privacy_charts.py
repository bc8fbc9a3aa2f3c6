"""Charts of privacy: delta against epsilon, and the errors that no attacker can avoid."""

from __future__ import annotations

import math
from typing import Any

import numpy as np

from hush.errors import InvalidParameter, deltas, epsilons, reject, whole
from hush.numerics.rounding import rounded_down, rounded_up
from hush.privacy.curve import Curve, OneNumber
from hush.report.chart_style import INK, PALE, altair, colour, styled
from hush.report.chart_subject import budget, curves

__all__ = ["curve_chart", "tradeoff_chart"]

_WIDTH, _HEIGHT = 520, 320  # pixels
_UNSEEN = 1e-6  # share of the epsilon axis that is too small to see


def curve_chart(
    noises: Any, sensitivity: Any = 1.0, *, times: int = 1, epsilon: Any = None, least: float = 1e-10
) -> Any:
    """delta against epsilon on a logarithmic axis, for a noise, several noises, a plan or curves: upper bounds.

    epsilon: the epsilons to draw (default: from 0 until every delta is below `least`). The budget of a plan is marked.
    A line ends where delta is 0: from there on the noise is purely private.

    >>> import hush
    >>> try:
    ...     chart = curve_chart([hush.Gaussian(4.0), hush.Laplace(1.0)])
    ... except hush.MissingExtra:
    ...     chart = None
    """
    found, floor = curves(noises, sensitivity, times), float(deltas("least", least, zero=False))
    asked = None if epsilon is None else np.atleast_1d(epsilons("epsilon", epsilon))
    reach = _reach(found, floor)
    rows = [row for name, one in found.items() for row in _points(name, one, asked, reach, floor)]
    if not rows:
        raise InvalidParameter(
            "at these epsilons every delta is 0, and a logarithmic axis cannot show 0; give smaller epsilons."
        )
    alt = altair()
    layers = [_lines(alt, rows, list(found)), *_marked(alt, budget(noises))]
    chart = alt.layer(*layers).properties(width=_WIDTH, height=_HEIGHT)
    single = len(found) == 1
    under = [next(iter(found)) if single else "", f"{times} releases together" if times > 1 else ""]
    title = "Privacy curve" if single else "Privacy curves"
    return styled(chart, title, _curve_text(rows, found, times), subtitle=", ".join(filter(None, under)))


def _lines(alt: Any, rows: list[dict[str, Any]], names: list[str]) -> Any:
    """The privacy curves."""
    base = alt.Chart(alt.Data(values=rows)).mark_line(strokeWidth=2.5, clip=True)
    return base.encode(
        alt.X("epsilon:Q", title="epsilon: the privacy loss allowed"),
        alt.Y(
            "delta:Q",
            title="delta: the extra probability",
            scale=alt.Scale(type="log"),
            axis=alt.Axis(format=".0e", tickCount=6),
        ),
        tooltip=[alt.Tooltip("name:N"), alt.Tooltip("epsilon:Q", format=".4g"), alt.Tooltip("delta:Q", format=".4g")],
        **colour(alt, names, "noise"),
    )


def _marked(alt: Any, pair: tuple[float, float] | None) -> list[Any]:
    """A point at the budget of a plan."""
    if pair is None or pair[1] == 0.0:
        return []
    marked = alt.Data(values=[{"epsilon": pair[0], "delta": pair[1], "text": f"budget ({pair[0]:g}, {pair[1]:g})"}])
    point = alt.Chart(marked).encode(alt.X("epsilon:Q"), alt.Y("delta:Q"))
    return [
        point.mark_point(size=90, filled=True, color=INK),
        point.mark_text(align="right", dx=-10, dy=-12, color=INK, fontSize=12).encode(text="text:N"),
    ]


def _reach(found: dict[str, Curve], floor: float) -> float:
    """The largest epsilon to draw: where the last curve reaches the floor."""
    ends = [float(one.epsilon(floor)) for one in found.values()]
    return max(max((end for end in ends if math.isfinite(end)), default=10.0), 1e-6)


def _points(name: str, one: Curve, asked: Any, reach: float, floor: float) -> list[dict[str, Any]]:
    """The points of a curve; it falls steeply at a pure epsilon, so extra points are added there."""
    grid = np.linspace(0.0, reach, 161) if asked is None else asked
    pure = one.pure_epsilon
    if asked is None and pure - reach <= _UNSEEN * reach:
        grid = np.unique(np.append(grid[grid < pure], pure * (1.0 - np.geomspace(1e-12, 0.05, 60))))
    heights = np.atleast_1d(np.asarray(one.delta(grid)))
    least = floor if asked is None else 0.0
    return [
        {"name": name, "epsilon": float(e), "delta": float(d)}
        for e, d in zip(grid, heights, strict=True)
        if d > 0.0 and d >= least
    ]


def _curve_text(rows: list[dict[str, Any]], found: dict[str, Curve], times: int) -> str:
    text = "Line chart of delta, on a logarithmic axis, against epsilon"
    text += f", for {times} releases together" if times > 1 else ""
    ends = []
    for name in found:
        own = [row for row in rows if row["name"] == name]
        if own:
            first, last = (
                f"{rounded_up(row['delta'], 3)} at epsilon {row['epsilon']:.3g}" for row in (own[0], own[-1])
            )
            ends.append(f"{name} falls from {first} to {last}")
    return f"{text}. {'; '.join(ends)}."


def tradeoff_chart(
    noises: Any,
    sensitivity: Any = 1.0,
    *,
    times: int = 1,
    epsilon: float | None = None,
    delta: float | None = None,
    points: int = 61,
) -> Any:
    """The least miss rate of any attacker for each rate of false alarms; a higher line is more private.

    epsilon with delta (or a plan, which has both) adds the two straight lines that (epsilon, delta) alone guarantees:
    e^epsilon a + b >= 1 - delta and a + e^epsilon b >= 1 - delta (Wasserman and Zhou 2010; Kairouz, Oh and Viswanath
    2015, Theorem 2.1).
    """
    found, pair = curves(noises, sensitivity, times), _pair(noises, epsilon, delta)
    points = whole("points", points, 5, "write points=61")
    if points > 1001:
        raise reject("points", points, "a whole number from 5 to 1001", "write points=61")
    grid = np.unique(np.concatenate([np.linspace(0.0, 1.0, points), np.geomspace(1e-4, 0.1, points // 3)]))
    rows: list[dict[str, Any]] = [
        {"name": name, "alarm": float(a), "miss": float(b)}
        for name, one in found.items()
        for a, b in zip(grid, _misses(one, grid), strict=True)
    ]
    alt = altair()
    chart = alt.layer(*_error_lines(alt, rows, list(found), pair)).properties(width=380, height=380)
    dashed = f"dashed: the guarantee of ({pair[0]:g}, {pair[1]:g}); " if pair else ""
    near = grid[np.argmin(np.abs(grid - 0.05))]
    text = _tradeoff_text([row for row in rows if row["alarm"] == near])
    return styled(chart, "Errors that no attacker can avoid", text, subtitle=f"{dashed}dotted: random guesses")


def _error_lines(alt: Any, rows: list[dict[str, Any]], names: list[str], pair: tuple[float, float] | None) -> list[Any]:
    """The diagonal of random guesses, the guarantee of (epsilon, delta), and the line of each noise."""

    def axis(field: str, title: str, way: Any) -> Any:
        return way(field, title=title, scale=alt.Scale(domain=[0, 1]), axis=alt.Axis(format="%"))

    x = axis("alarm:Q", "false alarms: the guess is yes, the person is not in the data", alt.X)
    y = axis("miss:Q", "misses: the guess is no, the person is in the data", alt.Y)

    def line(values: list[dict[str, Any]], **style: Any) -> Any:
        return alt.Chart(alt.Data(values=values)).mark_line(**style)

    tips = [alt.Tooltip("name:N"), alt.Tooltip("alarm:Q", format=".2%"), alt.Tooltip("miss:Q", format=".2%")]
    diagonal = [{"alarm": 0.0, "miss": 1.0}, {"alarm": 1.0, "miss": 0.0}]
    layers = [line(diagonal, color=PALE, strokeWidth=1, strokeDash=[2, 3]).encode(x, y)]
    if pair is not None:
        layers.append(line(_promised(*pair), color=INK, strokeWidth=1.5, strokeDash=[5, 3]).encode(x, y))
    return [*layers, line(rows, strokeWidth=2.5).encode(x, y, tooltip=tips, **colour(alt, names, "noise"))]


def _tradeoff_text(rows: list[dict[str, Any]]) -> str:
    some = (
        f"{row['name']}: at {100.0 * row['alarm']:.1f} % false alarms at least "
        f"{rounded_down(100.0 * row['miss'], 3)} % misses"
        for row in rows
    )
    return f"Line chart of the least miss rate of any attacker against its false alarms. {'; '.join(some)}."


def _misses(one: Curve, alarms: Any) -> Any:
    """Lower bounds of the miss rates: by the formula of the curve if it has one, else the best of many lines.

    Every line 1 - delta(e) - e^e a, and every e^-e (1 - delta(e) - a), is a lower bound
    (hush.privacy.curve.Curve.tradeoff). That method searches the best line for each a, which takes minutes if delta is
    a composition. Here all a share one grid of e.
    """
    if isinstance(one, OneNumber) and one.noise.log_concave:
        return np.atleast_1d(np.asarray(one.tradeoff(alarms)))
    reach = min(one.pure_epsilon, max(float(one.epsilon(1e-6)), 1e-6))
    grid = np.linspace(0.0, reach, 513)
    free = 1.0 - np.atleast_1d(np.asarray(one.delta(grid)))
    steep = free[:, None] - np.exp(grid)[:, None] * alarms[None, :]
    flat = np.exp(-grid)[:, None] * (free[:, None] - alarms[None, :])
    return np.maximum(np.maximum(steep, flat).max(axis=0), 0.0)


def _pair(noises: Any, epsilon: Any, delta: Any) -> tuple[float, float] | None:
    if epsilon is None and delta is None:
        return budget(noises)
    if epsilon is None or delta is None:
        raise InvalidParameter("give both epsilon and delta, or neither; write epsilon=1.0, delta=1e-6.")
    value = float(epsilons("epsilon", epsilon))
    if value < 0.0:
        raise reject("epsilon", epsilon, "0 or greater")
    return value, float(deltas("delta", delta, zero=True))


def _promised(epsilon: float, delta: float) -> list[dict[str, float]]:
    """The corners of the region of errors that (epsilon, delta) alone allows."""
    corner = (1.0 - delta) / (1.0 + math.exp(min(epsilon, 700.0)))
    return [{"alarm": 0.0, "miss": 1.0 - delta}, {"alarm": corner, "miss": corner}, {"alarm": 1.0 - delta, "miss": 0.0}]
