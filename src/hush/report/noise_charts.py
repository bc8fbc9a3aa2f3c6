"""Charts of noise: densities, and the ranking of a plan."""

from __future__ import annotations

import math
from typing import Any

import numpy as np

from hush.calibration.ranking import Plan, RankedNoise
from hush.errors import reject
from hush.noise.contract import Law
from hush.noise.lattice import Lattice
from hush.numerics.bracket import Bracket
from hush.report.chart_style import COLOURS, INK, altair, colour, styled
from hush.report.chart_subject import noises as noises_of

__all__ = ["density_chart", "ranking_chart"]

_LOSS = {
    "variance": "variance",
    "mae": "mean absolute error",
    "p95": "95 % of draws are within",
    "p999": "99.9 % of draws are within",
}

_MOST_STEPS = 1000  # points of a lattice that are drawn on either side of 0


def density_chart(noises: Any) -> Any:
    """The densities of one or several noises on one scale; for a plan, its noise and Laplace and Gaussian noise.

    A noise on a lattice is drawn as steps: the probability of each point is spread over one lattice step. Not every
    point of a fine lattice is drawn.
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
    return styled(chart, "Distribution of the noise", text, subtitle=spread[0] if len(found) == 1 else "")


def _density(name: str, noise: Law, reach: float) -> list[dict[str, Any]]:
    lattice = isinstance(noise, Lattice)
    if isinstance(noise, Lattice):
        reached = math.ceil(reach / noise.step)
        apart = math.ceil(reached / _MOST_STEPS)  # draw every apart-th point of a fine lattice
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
    """The loss of every family for the plan's budget, best first, next to the least loss that any noise can have.

    Families without a noise for this budget are shown with the reason.
    """
    if not isinstance(plan, Plan):
        raise reject("plan", plan, "a plan", "write hush.calibrate(1.0, 1e-6)")
    alt = altair()
    limit, order = plan.limit, [choice.family for choice in plan.ranking]
    y = alt.Y(
        "family:N", sort=order, title=None, axis=alt.Axis(labelFontSize=13, grid=False, domain=False, ticks=False)
    )
    chart = alt.layer(*_limit(alt, limit), *_losses(alt, plan, y))
    chart = chart.properties(width=560, height=26 * max(len(order), 2))
    return styled(chart, "Noise families, smallest error first", _ranking_text(plan, limit), subtitle=_budget(plan))


def _losses(alt: Any, plan: Plan, y: Any) -> list[Any]:
    """A line, a point and a text for each family; the reason for each family without a noise."""
    there = [choice for choice in plan.ranking if choice.noise is not None]
    absent = [choice for choice in plan.ranking if choice.noise is None]
    start = plan.limit.lower if plan.limit is not None else plan.value
    low, most = min(start, plan.value) * 0.94, max(choice.loss for choice in there)
    scale = alt.Scale(type="log", domain=[low, most * (most / low) ** 0.45], nice=False)
    title = f"{_LOSS[plan.loss]} of the noise (logarithmic; smaller is better)"
    x = alt.X("loss:Q", title=title, scale=scale, axis=alt.Axis(tickCount=6, format="~g"))
    rows = [{"family": c.family, "loss": c.loss, "from": start, "text": _label(c, plan.value)} for c in there]
    base = alt.Chart(alt.Data(values=rows))
    tips = [alt.Tooltip("family:N"), alt.Tooltip("loss:Q", format=".6g")]
    layers = [
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
    return layers


def _budget(plan: Plan) -> str:
    """The budget and the sensitivity, on one line."""
    bound = plan.sensitivity
    moves = [
        f"{name} {getattr(bound, name):g}"
        for name in ("linf", "l0", "l1", "l2")
        if isinstance(getattr(bound, name), int | float)
    ]
    times = [f"{plan.times} releases"] if plan.times > 1 else []
    text = ", ".join([f"epsilon {plan.epsilon:g}", f"delta {plan.delta:g}", *moves, *times])
    return text + ("; line at the left: no noise can have less" if plan.limit is not None else "")


def _limit(alt: Any, limit: Bracket | None) -> list[Any]:
    """The line below which no noise can be, and the band up to a loss that some noise has; it may be very thin."""
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
    budget = f"epsilon {plan.epsilon:g} and delta {plan.delta:g}"
    text = f"The {_LOSS[plan.loss]} of every noise family at {budget}, best first: {there}."
    text += f" No additive noise can have less than {_figure(limit.lower)}." if limit is not None else ""
    return text + (f" Without a noise for this request: {absent}." if absent else "")


def _label(choice: RankedNoise, first: float) -> str:
    ratio = "" if choice.loss == first else f"  ({_figure(choice.loss / first)} times the first)"
    return _figure(choice.loss) + ratio


def _cut(text: str) -> str:
    return text if len(text) <= 80 else text[:77] + "..."


def _figure(value: float) -> str:
    return f"{value:.4g}" if math.isfinite(value) else "infinite"
