"""`hush calibrate`: the noise with the least error for a privacy budget."""

from __future__ import annotations

import argparse
from typing import Any

import hush
from hush.cli.plot import add_plot, check_plot, draw_plot
from hush.cli.text import Command, add_budget, delta_of, emit, finite, number, table
from hush.errors import InvalidParameter
from hush.numerics.rounding import rounded_down
from hush.releasing.text import wrapped

__all__ = ["register"]

_NORMS = {
    "linf": "the largest change of one number by one person",
    "l0": "how many numbers one person can change",
    "l1": "the largest sum of the absolute changes of all numbers by one person",
    "l2": "the largest Euclidean length of the changes of all numbers by one person",
}
#: Facts about the whole vector, beside the norms.
_FACTS = {
    "dimension": "how many numbers there are",
    "one_sided": "one person moves all numbers in the same direction",
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
#: A bracket is narrow if its lower end is at least this part of its upper end.
_NARROW = 0.9
_EXAMPLES = """examples:
  hush calibrate --epsilon 1 --delta 1e-6
  hush calibrate --epsilon 1 --delta 1e-8 --linf 1 --l0 20         a person is in at most 20 of the groups
  hush calibrate --epsilon 1 --delta 1e-6 --dimension 10 --one-sided --values integer      ten counts
  hush calibrate --epsilon 1 --delta 1e-6 --linf 1,30,5 --weights 1,2,1     three numbers with bounds of their own
  hush calibrate --epsilon 1 --delta 1e-6 --l2 1
  hush calibrate --epsilon 1 --delta 1e-6 --plot ranking.png
  hush calibrate --epsilon 1 --delta 1e-6 --rate 0.01 --times 1000         releases on samples of the people
  hush calibrate --epsilon 1 --pure --loss mae
  hush calibrate --epsilon 1 --delta 1e-6 --values integer         for counts: lattice noise is compared too"""


def _calibrate(options: argparse.Namespace) -> None:
    check_plot(options)
    if options.epsilon is options.rho is options.mu is None:
        raise InvalidParameter("--epsilon is needed (for example --epsilon 1), or --rho or --mu.")
    sensitivity = _sensitivity(options)
    plan = hush.calibrate(
        options.epsilon,
        _delta(options),
        sensitivity,
        family=options.family,
        loss=options.loss,
        times=options.times,
        step=options.step,
        values=options.values,
        weights=options.weights,
        rho=options.rho,
        mu=options.mu,
        rate=options.rate,
    )
    rows = [_ranked(choice, plan) for choice in plan.ranking]
    draw_plot(options, lambda report: report.ranking_chart(plan))
    emit(options, _document(plan, sensitivity, rows), _text(plan, sensitivity, rows))


def _delta(options: argparse.Namespace) -> float | None:
    """The delta; with --rho or --mu it is only the one at which epsilon is stated."""
    if options.rho is not None or options.mu is not None:
        return None if options.delta is None else float(options.delta)
    return delta_of(options)


def _listed(text: str) -> tuple[float, ...]:
    """Numbers that are separated by commas."""
    return tuple(number(part) for part in text.split(","))


def _numbers(text: str) -> float | tuple[float, ...]:
    """One number, or several that are separated by commas."""
    listed = _listed(text)
    return listed[0] if len(listed) == 1 else listed


def _sensitivity(options: argparse.Namespace) -> hush.Sensitivity:
    linf = options.linf if options.linf is not None or options.l1 or options.l2 else 1.0
    one = options.l0 is None and options.dimension is None
    alone = one and isinstance(linf, float)  # one number for --linf, alone, is about one number
    facts = {"dimension": options.dimension, "one_sided": options.one_sided}
    return hush.Sensitivity(linf=linf, l0=1 if alone else options.l0, l1=options.l1, l2=options.l2, **facts)


def _document(plan: hush.Plan, sensitivity: hush.Sensitivity, rows: list[dict[str, Any]]) -> dict[str, Any]:
    limit = plan.limit
    return {
        "epsilon": plan.epsilon,
        "delta": plan.delta,
        "sensitivity": {name: getattr(sensitivity, name) for name in (*_NORMS, *_FACTS)},
        "times": plan.times,
        "rate": plan.rate,
        "loss": plan.loss,
        "weights": list(plan.weights) or None,
        "noise": repr(plan.noise),
        "limit": None if limit is None else {"lower": limit.lower, "upper": limit.upper},
        "ranking": [{key: finite(value) for key, value in row.items()} for row in rows],
        "why": plan.why,
    }


def _text(plan: hush.Plan, sensitivity: hush.Sensitivity, rows: list[dict[str, Any]]) -> str:
    moves = [f"{name} {getattr(sensitivity, name)}" for name in _NORMS if getattr(sensitivity, name) is not None]
    moves += [] if sensitivity.dimension is None else [f"dimension {sensitivity.dimension}"]
    moves += ["one-sided"] if sensitivity.one_sided else []
    moves += [f"weights {plan.weights}"] if plan.weights else []
    releases = f"{plan.times} release{'s' * (plan.times > 1)}"
    releases += "" if plan.rate is None else f" on Poisson samples of rate {plan.rate:g}"
    lines = [", ".join([f"epsilon = {plan.epsilon:g}", f"delta = {plan.delta:g}", *moves, releases])]
    lines.append(table([row for row in rows if not row["absent"]], _COLUMNS, left=2))
    lines += _legend(plan, sensitivity)
    absent = [f"  {row['family']}: {row['absent']}" for row in rows if row["absent"]]
    lines += ["families without a noise for this request:", *absent] if absent else []
    return "\n".join([*lines, plan.why])


def _legend(plan: hush.Plan, sensitivity: hush.Sensitivity) -> list[str]:
    """What the columns and the names of the sensitivity mean."""
    loss = f"{'weighted ' if plan.weights else ''}{plan.loss}"
    words = [f"x best: {loss} divided by that of the first row"]
    if plan.limit is not None and not _narrow(plan.limit):
        lower = rounded_down(plan.limit.lower)
        words.append(f"x limit: {loss} divided by {lower}; no noise can have less, but perhaps none reaches it")
    elif plan.limit is not None:
        words.append(f"x limit: {loss} divided by the least that any noise can have")
    facts = {name: meaning for name, meaning in (_NORMS | _FACTS).items() if getattr(sensitivity, name)}
    words += [f"{name.replace('_', '-')}: {meaning}" for name, meaning in facts.items()]
    if any(choice.loss < plan.value for choice in plan.ranking):
        words.append("families within 0.01 % of the best are tied; the simplest is first, so x best may be below 1")
    return wrapped("; ".join(words))


def _ranked(choice: hush.RankedNoise, plan: hush.Plan) -> dict[str, Any]:
    """One row of the ranking; a family without a noise for this budget has its reason under "absent"."""
    if choice.noise is None:
        return {"family": choice.family, "absent": choice.reason}
    parameters = str(choice.noise).split("(", 1)[1][:-1]
    return {
        "family": choice.family,
        "parameters": ", ".join(_shortened(part) for part in parameters.split(", ")),
        "variance": choice.variance,
        "mean_abs": choice.mean_abs,
        "half_width999": choice.half_width999,
        "ratio": choice.loss / plan.value,
        "to_limit": None if plan.limit is None else choice.loss / _limit(plan.limit),
        "absent": "",
    }


def _narrow(limit: hush.Bracket) -> bool:
    """Is the bracket so narrow that its two ends are one number in practice? It is for one number, not for several."""
    return float(limit.lower) >= _NARROW * float(limit.upper)


def _limit(limit: hush.Bracket) -> float:
    """The end of the bracket that losses are compared with: a noise that exists, or the proved bound."""
    return float(limit.upper if _narrow(limit) else limit.lower)


def _shortened(part: str) -> str:
    name, _, value = part.partition("=")
    try:
        return f"{name}={float(value):.6g}"
    except ValueError:
        return part


def register(command: Command) -> None:
    """Add the command."""
    calibrate = command("calibrate", _calibrate, "find the noise with the least error for a budget", _EXAMPLES)
    add_budget(calibrate.add_argument_group("privacy budget"), other=True)
    bound = calibrate.add_argument_group("sensitivity: how far one person can change the answer")
    several = "; several numbers, separated by commas, are bounds of single numbers"
    bound.add_argument("--linf", type=_numbers, metavar="X[,X...]", help=f"{_NORMS['linf']} (default 1){several}")
    bound.add_argument("--l0", type=int, metavar="K", help=f"{_NORMS['l0']} (default 1)")
    bound.add_argument("--l1", type=number, metavar="X", help=_NORMS["l1"])
    bound.add_argument("--l2", type=number, metavar="X", help=_NORMS["l2"])
    bound.add_argument("--dimension", type=int, metavar="D", help=_FACTS["dimension"])
    bound.add_argument("--one-sided", action="store_true", help=f"{_FACTS['one_sided']}, as counts do")
    bound.add_argument("--times", type=int, default=1, metavar="N", help="number of releases (default 1)")
    bound.add_argument(
        "--rate", type=number, metavar="Q", help="each release is on its own Poisson sample of the people of this rate"
    )
    noise = calibrate.add_argument_group("noise")
    noise.add_argument(
        "--loss", default="variance", metavar="NAME", help="the error to minimise: variance (default), mae, p95 or p999"
    )
    noise.add_argument("--family", metavar="NAME", help="one family only, or optimal")
    noise.add_argument(
        "--weights", type=_listed, metavar="W,W,...", help="how much the error of each number counts (default: equal)"
    )
    noise.add_argument("--values", default="real", metavar="KIND", help="real (default), or integer for counts")
    noise.add_argument("--step", type=number, metavar="H", help="noise on a lattice of this step (1 for integers)")
    add_plot(calibrate.add_argument_group("output"), "the ranking")
