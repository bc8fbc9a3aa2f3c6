"""`hush calibrate`: the noise with the least error for a privacy budget."""

from __future__ import annotations

import argparse
from typing import Any

import hush
from hush.cli.plot import add_plot, check_plot, draw_plot
from hush.cli.text import Command, add_budget, delta_of, emit, finite, number, table
from hush.releasing.text import wrapped

__all__ = ["register"]

_NORMS = {
    "linf": "the largest change of one number by one person",
    "l0": "how many numbers one person can change",
    "l1": "the largest sum of the absolute changes of all numbers by one person",
    "l2": "the largest Euclidean length of the changes of all numbers by one person",
}
_COLUMNS = {
    "family": "family",
    "parameters": "parameters",
    "variance": "variance",
    "mean_abs": "mean abs",
    "half_width999": "99.9 % within",
    "ratio": "x best",
    "to_limit": "x limit",
}
_EXAMPLES = """examples:
  hush calibrate --epsilon 1 --delta 1e-6
  hush calibrate --epsilon 1 --delta 1e-8 --linf 1 --l0 20         a person is in at most 20 of the groups
  hush calibrate --epsilon 1 --delta 1e-6 --l2 1
  hush calibrate --epsilon 1 --delta 1e-6 --plot ranking.png
  hush calibrate --epsilon 1 --pure --loss mae
  hush calibrate --epsilon 1 --delta 1e-6 --values integer         for counts: lattice noise is compared too"""


def _calibrate(options: argparse.Namespace) -> None:
    check_plot(options)
    sensitivity = _sensitivity(options)
    plan = hush.calibrate(
        options.epsilon,
        delta_of(options),
        sensitivity,
        family=options.family,
        loss=options.loss,
        times=options.times,
        step=options.step,
        values=options.values,
    )
    rows = [_ranked(choice, plan) for choice in plan.ranking]
    draw_plot(options, lambda report: report.ranking_chart(plan))
    emit(options, _document(plan, sensitivity, rows), _text(plan, sensitivity, rows))


def _sensitivity(options: argparse.Namespace) -> hush.Sensitivity:
    linf = options.linf if options.linf is not None or options.l1 or options.l2 else 1.0
    l0 = 1 if options.l0 is None and linf is not None else options.l0  # --linf alone is about one number
    return hush.Sensitivity(linf=linf, l0=l0, l1=options.l1, l2=options.l2)


def _document(plan: hush.Plan, sensitivity: hush.Sensitivity, rows: list[dict[str, Any]]) -> dict[str, Any]:
    limit = plan.limit
    return {
        "epsilon": plan.epsilon,
        "delta": plan.delta,
        "sensitivity": {name: getattr(sensitivity, name) for name in _NORMS},
        "times": plan.times,
        "loss": plan.loss,
        "noise": repr(plan.noise),
        "limit": None if limit is None else {"lower": limit.lower, "upper": limit.upper},
        "ranking": [{key: finite(value) for key, value in row.items()} for row in rows],
        "why": plan.why,
    }


def _text(plan: hush.Plan, sensitivity: hush.Sensitivity, rows: list[dict[str, Any]]) -> str:
    moves = [f"{name} {getattr(sensitivity, name)}" for name in _NORMS if getattr(sensitivity, name) is not None]
    releases = f"{plan.times} release{'s' * (plan.times > 1)}"
    lines = [", ".join([f"epsilon = {plan.epsilon:g}", f"delta = {plan.delta:g}", *moves, releases])]
    lines.append(table([row for row in rows if not row["absent"]], _COLUMNS, left=2))
    lines += _legend(plan, sensitivity)
    absent = [f"  {row['family']}: {row['absent']}" for row in rows if row["absent"]]
    lines += ["families without a noise for this request:", *absent] if absent else []
    return "\n".join([*lines, plan.why])


def _legend(plan: hush.Plan, sensitivity: hush.Sensitivity) -> list[str]:
    """What the columns and the names of the sensitivity mean."""
    words = [f"x best: {plan.loss} divided by that of the first row"]
    words += [f"x limit: {plan.loss} divided by the least that any noise can have"] if plan.limit is not None else []
    words += [f"{name}: {meaning}" for name, meaning in _NORMS.items() if getattr(sensitivity, name) is not None]
    if any(choice.loss < plan.value for choice in plan.ranking):
        words.append("families within 0.01 % of the best are tied; the simplest is first, so x best may be below 1")
    return wrapped("; ".join(words))


def _ranked(choice: hush.RankedNoise, plan: hush.Plan) -> dict[str, Any]:
    """One row of the ranking; a family without a noise for this budget has its reason under "absent"."""
    if choice.noise is None:
        return {"family": choice.family, "absent": choice.reason}
    parameters = str(choice.noise).split("(", 1)[1].rstrip(")")
    return {
        "family": choice.family,
        "parameters": ", ".join(_shortened(part) for part in parameters.split(", ")),
        "variance": choice.variance,
        "mean_abs": choice.mean_abs,
        "half_width999": choice.half_width999,
        "ratio": choice.loss / plan.value,
        "to_limit": None if plan.limit is None else choice.loss / plan.limit.upper,
        "absent": "",
    }


def _shortened(part: str) -> str:
    name, _, value = part.partition("=")
    try:
        return f"{name}={float(value):.6g}"
    except ValueError:
        return part


def register(command: Command) -> None:
    """Add the command."""
    calibrate = command("calibrate", _calibrate, "find the noise with the least error for a budget", _EXAMPLES)
    add_budget(calibrate.add_argument_group("privacy budget"))
    bound = calibrate.add_argument_group("sensitivity: how far one person can change the answer")
    bound.add_argument("--linf", type=number, metavar="X", help=f"{_NORMS['linf']} (default 1)")
    bound.add_argument("--l0", type=int, metavar="K", help=f"{_NORMS['l0']} (default 1)")
    bound.add_argument("--l1", type=number, metavar="X", help=_NORMS["l1"])
    bound.add_argument("--l2", type=number, metavar="X", help=_NORMS["l2"])
    bound.add_argument("--times", type=int, default=1, metavar="N", help="number of releases (default 1)")
    noise = calibrate.add_argument_group("noise")
    noise.add_argument(
        "--loss", default="variance", metavar="NAME", help="the error to minimise: variance (default), mae, p95 or p999"
    )
    noise.add_argument("--family", metavar="NAME", help="one family only, or optimal")
    noise.add_argument("--values", default="real", metavar="KIND", help="real (default), or integer for counts")
    noise.add_argument("--step", type=number, metavar="H", help="noise on a lattice of this step (1 for integers)")
    add_plot(calibrate.add_argument_group("output"), "the ranking")
