"""Charts of noise: densities side by side, and the ranking of a plan."""

from __future__ import annotations

import math
from typing import Any

import numpy as np

from hush.calibration.ranking import Plan, RankedNoise
from hush.errors import reject
from hush.noise.contract import Law
from hush.noise.lattice import Lattice
from hush.numerics.bracket import Bracket
from hush.report.chart_style import COLOURS, INK, altair, colour, dressed
from hush.report.chart_subject import noises as noises_of

__all__ = ["density_chart", "ranking_chart"]

_LOSS = {
    "variance": "variance",
    "mae": "mean absolute error",
    "p95": "95 % of draws are within",
    "p999": "99.9 % of draws are within",
}

#: Points of a lattice that are drawn, on either side.
_MOST_STEPS = 1000


def density_chart(noises: Any) -> Any:
    """The densities of one noise, several, or a plan's own beside Laplace and Gaussian noise, on one scale.

    A noise on a lattice is drawn as steps, each point's probability spread over its step; of a fine lattice, not
    every point is drawn.
    """
    found = noises_of(noises)
    reach = max(float(np.asarray(noise.isf(0.005))) for noise in found.values())
    rows = [row for name, noise in found.items() for row in _density(name, noise, reach)]
    alt = altair()
    x = alt.X("x:Q", title="noise added to the answer")
    y = alt.Y("density:Q", title="probability per unit", axis=alt.Axis(tickCount=5))
    tips = [alt.Tooltip("name:N"), alt.Tooltip("x:Q", format=".4g"), alt.Tooltip("density:Q", format=".4g")]
    code = colour(alt, list(found), "noise")
    layers = []
    for stepped, how in ((False, "linear"), (True, "step")):
        own = [row for row in rows if row["lattice"] == stepped]
        if own:
            line = alt.Chart(alt.Data(values=own)).mark_line(strokeWidth=2.5, interpolate=how)
            layers.append(line.encode(x, y, tooltip=tips, **code))
    spread = [f"{name}: standard deviation {_figure(math.sqrt(noise.variance))}" for name, noise in found.items()]
    chart = alt.layer(*layers).properties(width=520, height=300)
    text = f"Line chart of the probability densities of noise, from {-reach:.3g} to {reach:.3g}. {'; '.join(spread)}."
    return dressed(chart, "How large the noise is", text, subtitle=spread[0] if len(found) == 1 else "")


def _density(name: str, noise: Law, reach: float) -> list[dict[str, Any]]:
    lattice = isinstance(noise, Lattice)
    if isinstance(noise, Lattice):
        reached = math.ceil(reach / noise.step)
        apart = math.ceil(reached / _MOST_STEPS)  # of a fine lattice every so many-th point is drawn
        most = math.ceil(reached / apart)
        grid = noise.step * (apart * np.arange(-most, most + 1))
        height = np.asarray(noise.pdf(grid)) / noise.step
    else:
        grid = np.linspace(-reach, reach, 401)
        height = np.asarray(noise.pdf(grid))
    return [
        {"name": name, "x": float(a), "density": float(b), "lattice": lattice}
        for a, b in zip(grid, height, strict=True)
    ]


def ranking_chart(plan: Plan) -> Any:
    """Every family's loss for the plan's budget, best first, beside the least that any noise can have; absent ones
    with their reason.
    """
    if not isinstance(plan, Plan):
        raise reject("plan", plan, "a plan", "write hush.calibrate(1.0, 1e-6)")
    alt = altair()
    there = [choice for choice in plan.ranking if choice.noise is not None]
    absent = [choice for choice in plan.ranking if choice.noise is None]
    limit, best = plan.limit, plan.value
    start = limit.lower if limit is not None else best
    order = [choice.family for choice in plan.ranking]
    rows = [{"family": c.family, "loss": c.loss, "from": start, "text": _label(c, best)} for c in there]
    most = max(c.loss for c in there)
    low = min(start, best) * 0.94
    y = alt.Y(
        "family:N", sort=order, title=None, axis=alt.Axis(labelFontSize=13, grid=False, domain=False, ticks=False)
    )
    scale = alt.Scale(type="log", domain=[low, most * (most / low) ** 0.45], nice=False)
    x = alt.X(
        "loss:Q",
        title=f"{_LOSS[plan.loss]} of the noise (logarithmic; less is better)",
        scale=scale,
        axis=alt.Axis(tickCount=6, format="~g"),
    )
    base = alt.Chart(alt.Data(values=rows))
    tips = [alt.Tooltip("family:N"), alt.Tooltip("loss:Q", format=".6g")]
    layers = [
        *_limit(alt, limit),
        base.mark_rule(color=COLOURS[4], strokeWidth=4).encode(alt.X("from:Q", scale=scale), y, x2="loss:Q"),
        base.mark_point(size=110, filled=True, opacity=1, color=COLOURS[0]).encode(x, y, tooltip=tips),
        base.mark_text(align="left", dx=11, color=INK, fontSize=12).encode(x, y, text="text:N"),
    ]
    if absent:
        reasons = [{"family": c.family, "loss": low, "text": _cut(c.reason), "reason": c.reason} for c in absent]
        gone = alt.Chart(alt.Data(values=reasons)).mark_text(
            align="left", dx=14, color="#666666", fontStyle="italic", fontSize=11
        )
        layers.append(gone.encode(x, y, text="text:N", tooltip="reason:N"))
    chart = alt.layer(*layers).properties(width=560, height=26 * max(len(order), 2))
    bound = plan.sensitivity
    moves = [
        f"{name} {getattr(bound, name):g}"
        for name in ("linf", "l0", "l1", "l2")
        if isinstance(getattr(bound, name), int | float)
    ]
    under = ", ".join(
        [f"epsilon {plan.epsilon:g}", f"delta {plan.delta:g}", *moves, *[f"{plan.times} releases"] * (plan.times > 1)]
    )
    under += "; the line at the left: no noise can have less" if limit is not None else ""
    return dressed(chart, "Which noise costs least", _ranking_text(plan, limit), subtitle=under)


def _limit(alt: Any, limit: Bracket | None) -> list[Any]:
    """The line below which no noise can be, and the band from there to what one does reach, which may be very thin."""
    if limit is None:
        return []
    band = alt.Chart(alt.Data(values=[{"low": limit.lower, "high": limit.upper}]))
    return [
        band.mark_rect(color=COLOURS[2], opacity=0.25).encode(alt.X("low:Q"), alt.X2("high:Q")),
        band.mark_rule(color=COLOURS[2], strokeWidth=2).encode(alt.X("low:Q")),
    ]


def _ranking_text(plan: Plan, limit: Bracket | None) -> str:
    there = "; ".join(f"{c.family} {_figure(c.loss)}" for c in plan.ranking if c.noise is not None)
    absent = "; ".join(f"{c.family}: {c.reason}" for c in plan.ranking if c.noise is None)
    text = f"The {_LOSS[plan.loss]} of every noise family at epsilon {plan.epsilon:g} and delta {plan.delta:g}, best first: {there}."
    text += f" No additive noise can have less than {_figure(limit.lower)}." if limit is not None else ""
    return text + (f" Not in the running: {absent}." if absent else "")


def _label(choice: RankedNoise, first: float) -> str:
    ratio = "" if choice.loss == first else f"  ({_figure(choice.loss / first)} times the first)"
    return _figure(choice.loss) + ratio


def _cut(text: str) -> str:
    return text if len(text) <= 80 else text[:77] + "..."


def _figure(value: float) -> str:
    return f"{value:.4g}" if math.isfinite(value) else "infinite"
