"""`hush calibrate`, `hush curve` and `hush gaussian`: questions that need no data."""

from __future__ import annotations

import argparse
import sys
from collections.abc import Callable
from typing import Any

import numpy as np

import hush
from hush.cli.text import Command, emit, finite, number, numbers, table
from hush.errors import HushError, InvalidParameter
from hush.noise.catalogue import family, ranked
from hush.noise.family import Family

__all__ = ["register", "simple_families"]

#: How a constructor's parameter is spelled on the command line where its own name is taken.
_FLAG = {"epsilon": "noise-epsilon", "sensitivity": "noise-sensitivity"}
_NORMS = {
    "linf": "how far one number moves",
    "l0": "how many numbers move",
    "l1": "how far all move, added up",
    "l2": "how far all move, as a length",
}


def simple_families() -> tuple[Family, ...]:
    """The families whose parameters are single numbers, for options of their names."""
    return tuple(row for row in ranked(lattice=False) if row.numeric)


def _noise(options: argparse.Namespace) -> hush.Law:
    row = family(options.noise)
    given = {name: getattr(options, name_of(name)) for name in row.parameters}
    given = {name: value for name, value in given.items() if value is not None}
    others = {name for other in simple_families() for name in other.parameters if name not in row.parameters}
    foreign = sorted(name for name in others if getattr(options, name_of(name)) is not None)
    if foreign:
        raise InvalidParameter(
            f"{row.name} noise has no parameter --{_FLAG.get(foreign[0], foreign[0])}; it takes {', '.join(row.parameters)}."
        )
    needed = [name for name in row.parameters if name not in given and not row.has_default(name)]
    if needed:
        flags = " ".join(f"--{_FLAG.get(name, name)} <number>" for name in needed)
        raise InvalidParameter(f"{row.name} noise also needs {flags}.")
    noise = row.type(**given)
    return hush.Discrete(noise, options.step or 1.0) if options.discrete else noise


def name_of(parameter: str) -> str:
    """The attribute argparse keeps a parameter under."""
    return "noise_parameter_" + parameter


def _add_noise_options(parser: argparse.ArgumentParser) -> None:
    parser.add_argument(
        "--noise", required=True, metavar="FAMILY", help="one of " + ", ".join(row.name for row in simple_families())
    )
    for name in sorted({name for row in simple_families() for name in row.parameters}):
        owners = ", ".join(row.name for row in simple_families() if name in row.parameters)
        parser.add_argument(
            f"--{_FLAG.get(name, name)}", dest=name_of(name), type=number, metavar="X", help=f"parameter of {owners}"
        )
    parser.add_argument("--discrete", action="store_true", help="the lattice version of the noise")
    parser.add_argument("--step", type=number, metavar="H", help="lattice step for --discrete (default 1)")


def _curve(options: argparse.Namespace) -> None:
    _check_plot(options)
    noise = _noise(options)
    curve = hush.curve(noise, options.sensitivity, times=options.times)
    rows: list[dict[str, Any]] = []
    if options.delta is not None:
        rows = [{"delta": d, "epsilon": float(curve.epsilon(d))} for d in options.delta]
    else:
        epsilons = options.epsilon or [0.01, 0.03, 0.1, 0.3, 1.0, 3.0, 10.0]
        rows = [{"epsilon": e, "delta": float(np.asarray(curve.delta(e)))} for e in epsilons]
    document = {
        "noise": str(noise),
        "sensitivity": options.sensitivity,
        "times": options.times,
        "variance": finite(noise.variance),
        "mean_abs": finite(noise.mean_abs),
        "points": [{key: finite(value) for key, value in row.items()} for row in rows],
    }
    head = f"{noise}, sensitivity {options.sensitivity:g}" + (
        f", {options.times} releases" if options.times > 1 else ""
    )
    if len(rows) == 1:
        text = f"{head}\n(epsilon, delta) = ({rows[0]['epsilon']:.10g}, {rows[0]['delta']:.10g}), an upper bound"
    else:
        text = f"{head}\n{table(rows, {'epsilon': 'epsilon', 'delta': 'delta'})}"
    _plot(options, lambda report: report.curve_chart(noise, options.sensitivity, times=options.times))
    emit(options, document, text)


def _gaussian(options: argparse.Namespace) -> None:
    names = hush.gaussian.methods() if options.all else (options.method,)
    rows: list[dict[str, Any]] = []
    for name in names:
        try:
            sigma = hush.gaussian.sigma(
                options.epsilon, options.delta, options.sensitivity, method=name, allow_invalid=options.all
            )
        except HushError:
            if not options.all:
                raise
            rows.append({"method": name, "remark": "not defined for this delta"})
            continue
        found = hush.gaussian.check(options.epsilon, options.delta, sigma, options.sensitivity)
        proved = not name.startswith("dwork") or options.epsilon <= 1.0
        remark = (
            "ok"
            if found.private and proved
            else "private here, but not proved"
            if found.private
            else "INVALID: not private"
        )
        rows.append(
            {
                "method": name,
                "sigma": sigma,
                "ratio": sigma / found.sigma_needed,
                "delta": found.true_delta,
                "remark": remark,
            }
        )
    document = {"epsilon": options.epsilon, "delta": options.delta, "sensitivity": options.sensitivity, "amounts": rows}
    head = f"Gaussian noise for epsilon = {options.epsilon:g}, delta = {options.delta:g}, l2 sensitivity {options.sensitivity:g}"
    columns = {"method": "method", "sigma": "sigma", "ratio": "x optimal", "delta": "delta really given", "remark": ""}
    emit(options, document, f"{head}\n{table(rows, columns)}")


def _calibrate(options: argparse.Namespace) -> None:
    _check_plot(options)
    linf = options.linf if options.linf is not None or options.l1 or options.l2 else 1.0
    l0 = 1 if options.l0 is None and linf is not None else options.l0  # --linf alone is about one number
    sensitivity = hush.Sensitivity(linf=linf, l0=l0, l1=options.l1, l2=options.l2)
    if options.pure and options.delta:
        raise InvalidParameter("--pure means delta = 0; leave --delta out.")
    if not options.pure and options.delta is None:
        raise InvalidParameter("--delta is needed (for example --delta 1e-6), or --pure for delta = 0.")
    plan = hush.calibrate(
        options.epsilon,
        0.0 if options.pure else options.delta,
        sensitivity,
        family=options.family,
        loss=options.loss,
        times=options.times,
        step=options.step,
        values=options.values,
    )
    limit = plan.limit
    rows = [_ranked(choice, plan, limit) for choice in plan.ranking]
    document = {
        "epsilon": plan.epsilon,
        "delta": plan.delta,
        "sensitivity": {k: getattr(sensitivity, k) for k in ("linf", "l0", "l1", "l2")},
        "times": plan.times,
        "loss": plan.loss,
        "noise": repr(plan.noise),
        "limit": None if limit is None else {"lower": limit.lower, "upper": limit.upper},
        "ranking": [{key: finite(value) for key, value in row.items()} for row in rows],
        "why": plan.why,
    }
    columns = {
        "family": "family",
        "parameters": "parameters",
        "variance": "variance",
        "mean_abs": "mean abs",
        "half_width999": "99.9 % within",
        "ratio": "x best",
        "to_limit": "x limit",
    }
    head = (
        f"epsilon = {plan.epsilon:g}, delta = {plan.delta:g}, {_described(sensitivity)}, {plan.times} release"
        + "s" * (plan.times > 1)
    )
    absent = [f"  {row['family']}: {row['absent']}" for row in rows if row["absent"]]
    text = f"{head}\n{table([row for row in rows if not row['absent']], columns, left=2)}"
    text += f"\n{_legend(plan, sensitivity)}"
    text += "\nnot in the running:\n" + "\n".join(absent) if absent else ""
    _plot(options, lambda report: report.ranking_chart(plan))
    emit(options, document, f"{text}\n{plan.why}")


def _legend(plan: hush.Plan, sensitivity: hush.Sensitivity) -> str:
    """What the columns and the sensitivity's names mean."""
    words = [f"x best: {plan.loss} over the first row's"]
    words += ["x limit: over the least of any noise"] if plan.limit is not None else []
    words += [f"{name}: {meaning}" for name, meaning in _NORMS.items() if getattr(sensitivity, name) is not None]
    tied = any(choice.loss < plan.value for choice in plan.ranking)
    return "; ".join(words) + (
        "\nless than 0.01 % apart counts as equal, and the plainest noise leads: x best may be just under 1"
        if tied
        else ""
    )


def _check_plot(options: argparse.Namespace) -> None:
    """What is wrong with --plot is said before any work is done."""
    if options.plot is not None:
        from hush.report.chart_file import ready

        ready(options.plot)


def _plot(options: argparse.Namespace, draw: Callable[[Any], Any]) -> None:
    """The chart into the file of --plot, if that was asked for."""
    if options.plot is not None:
        from hush import report

        report.save_chart(draw(report), options.plot)
        print(f"the chart is in {options.plot}", file=sys.stderr)


def _ranked(choice: hush.RankedNoise, plan: hush.Plan, limit: hush.Bracket | None) -> dict[str, Any]:
    if choice.noise is None:
        return {"family": choice.family, "absent": choice.reason}
    parameters = str(choice.noise).split("(", 1)[1].rstrip(")")
    short = ", ".join(_shortened(part) for part in parameters.split(", "))
    return {
        "family": choice.family,
        "parameters": short,
        "variance": choice.variance,
        "mean_abs": choice.mean_abs,
        "half_width999": choice.half_width999,
        "ratio": choice.loss / plan.value,
        "to_limit": None if limit is None else choice.loss / limit.upper,
        "absent": "",
    }


def _shortened(part: str) -> str:
    name, _, value = part.partition("=")
    try:
        return f"{name}={float(value):.6g}"
    except ValueError:
        return part


def _described(sensitivity: hush.Sensitivity) -> str:
    names = ("linf", "l0", "l1", "l2")
    return ", ".join(f"{name} {getattr(sensitivity, name)}" for name in names if getattr(sensitivity, name) is not None)


_EXAMPLES = {
    "calibrate": """examples:
  hush calibrate --epsilon 1 --delta 1e-6
  hush calibrate --epsilon 1 --delta 1e-8 --linf 1 --l0 20         a person is in at most 20 of the groups
  hush calibrate --epsilon 1 --delta 1e-6 --l2 1
  hush calibrate --epsilon 1 --delta 1e-6 --plot ranking.png
  hush calibrate --epsilon 1 --pure --loss mae
  hush calibrate --epsilon 1 --delta 1e-6 --values integer         counts: noise on the whole numbers is compared too""",
    "curve": """examples:
  hush curve --noise flipped_huber --alpha 31.9 --gamma 10.3 --sensitivity 1 --epsilon 0.3
  hush curve --noise gaussian --sigma 4 --delta 1e-6
  hush curve --noise laplace --scale 2 --epsilon 0.01:1:10 --json
  hush curve --noise staircase --noise-epsilon 1 --epsilon 0.5
  hush curve --noise osgt --m 3 --sigma 6.32 --discrete --epsilon 1""",
    "gaussian": """examples:
  hush gaussian --epsilon 1 --delta 1e-5
  hush gaussian --epsilon 10 --delta 1e-5 --all       every amount side by side, invalid ones marked""",
}


def register(command: Command) -> None:
    """Add the three commands."""
    calibrate = command(
        "calibrate", _calibrate, "the least noise for a budget, every family ranked", _EXAMPLES["calibrate"]
    )
    calibrate.add_argument("--epsilon", type=number, required=True, metavar="E")
    calibrate.add_argument("--delta", type=number, metavar="D")
    calibrate.add_argument("--pure", action="store_true", help="delta = 0: pure mechanisms only")
    calibrate.add_argument("--linf", type=number, metavar="X", help="how far one coordinate can move (default 1)")
    calibrate.add_argument("--l0", type=int, metavar="K", help="how many coordinates can move (default 1)")
    calibrate.add_argument("--l1", type=number, metavar="X", help="how far the answer can move in the l1 norm")
    calibrate.add_argument("--l2", type=number, metavar="X", help="how far the answer can move in the l2 norm")
    calibrate.add_argument("--times", type=int, default=1, metavar="N", help="number of releases (default 1)")
    calibrate.add_argument(
        "--loss", default="variance", metavar="NAME", help="what is made least: variance, mae, p95 or p999"
    )
    calibrate.add_argument("--family", metavar="NAME", help="one family only, or optimal")
    calibrate.add_argument(
        "--values", default="real", metavar="KIND", help="real, or integer for counts (default real)"
    )
    calibrate.add_argument(
        "--step", type=number, metavar="H", help="noise on a lattice of this step (1 for integer answers)"
    )

    curve = command("curve", _curve, "the exact delta at epsilon, or epsilon at delta, of a noise", _EXAMPLES["curve"])
    _add_noise_options(curve)
    curve.add_argument(
        "--sensitivity", type=number, default=1.0, metavar="S", help="how far the answer can move (default 1)"
    )
    curve.add_argument("--times", type=int, default=1, metavar="N", help="number of releases (default 1)")
    either = curve.add_mutually_exclusive_group()
    either.add_argument(
        "--epsilon", type=numbers, metavar="E", help="a number, a list a,b,c or start:stop:count; prints delta"
    )
    either.add_argument(
        "--delta", type=numbers, metavar="D", help="likewise; prints epsilon (0 asks for the pure epsilon)"
    )

    for parser, what in ((calibrate, "the ranking"), (curve, "delta against epsilon")):
        parser.add_argument("--plot", metavar="FILE", help=f"draw {what} into a .png, .svg or .html file")

    gaussian = command(
        "gaussian", _gaussian, "how much Gaussian noise (epsilon, delta) takes, by every method", _EXAMPLES["gaussian"]
    )
    gaussian.add_argument("--epsilon", type=number, required=True, metavar="E")
    gaussian.add_argument("--delta", type=number, required=True, metavar="D")
    gaussian.add_argument("--sensitivity", type=number, default=1.0, metavar="S", help="l2 sensitivity (default 1)")
    gaussian.add_argument(
        "--method", default="optimal", metavar="NAME", help="one of " + ", ".join(hush.gaussian.methods())
    )
    gaussian.add_argument("--all", action="store_true", help="every method, with the delta each really gives")
