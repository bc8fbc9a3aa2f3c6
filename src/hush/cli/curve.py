"""`hush curve`: the privacy curve of one noise."""

from __future__ import annotations

import argparse
from typing import Any

import numpy as np

import hush
from hush.cli.plot import add_plot, check_plot, draw_plot
from hush.cli.text import Command, emit, finite, number, numbers, table
from hush.errors import InvalidParameter
from hush.noise.catalogue import family, ranked
from hush.noise.family import Family

__all__ = ["register", "simple_families"]

#: The option of a noise parameter whose name is already taken by another option.
_FLAG = {"epsilon": "noise-epsilon", "sensitivity": "noise-sensitivity"}
_EPSILONS = (0.01, 0.03, 0.1, 0.3, 1.0, 3.0, 10.0)
_EXAMPLES = """examples:
  hush curve --family flipped_huber --alpha 31.9 --gamma 10.3 --sensitivity 1 --epsilon 0.3
  hush curve --family gaussian --sigma 4 --delta 1e-6
  hush curve --family laplace --scale 2 --epsilon 0.01:1:10 --json
  hush curve --family staircase --noise-epsilon 1 --epsilon 0.5
  hush curve --family osgt --m 3 --sigma 6.32 --discrete --epsilon 1"""


def simple_families() -> tuple[Family, ...]:
    """The families whose parameters are single numbers: each parameter can be an option."""
    return tuple(row for row in ranked(lattice=False) if row.numeric)


def _flag(parameter: str) -> str:
    return f"--{_FLAG.get(parameter, parameter)}"


def _attribute(parameter: str) -> str:
    """The name under which argparse stores a parameter."""
    return "noise_parameter_" + parameter


def _noise(options: argparse.Namespace) -> hush.Law:
    row = family(options.family)
    given = {name: getattr(options, _attribute(name)) for name in row.parameters}
    given = {name: value for name, value in given.items() if value is not None}
    others = {name for other in simple_families() for name in other.parameters if name not in row.parameters}
    foreign = sorted(name for name in others if getattr(options, _attribute(name)) is not None)
    if foreign:
        raise InvalidParameter(
            f"{row.name} noise has no parameter {_flag(foreign[0])}; it takes {', '.join(map(_flag, row.parameters))}."
        )
    needed = [name for name in row.parameters if name not in given and not row.has_default(name)]
    if needed:
        raise InvalidParameter(f"{row.name} noise also needs {' '.join(f'{_flag(name)} <number>' for name in needed)}.")
    noise = row.type(**given)
    return hush.Discrete(noise, options.step or 1.0) if options.discrete else noise


def _curve(options: argparse.Namespace) -> None:
    check_plot(options)
    noise = _noise(options)
    curve = hush.curve(noise, options.sensitivity, times=options.times)
    rows: list[dict[str, Any]] = []
    if options.delta is not None:
        rows = [{"delta": d, "epsilon": float(curve.epsilon(d))} for d in options.delta]
    else:
        rows = [{"epsilon": e, "delta": float(np.asarray(curve.delta(e)))} for e in options.epsilon or _EPSILONS]
    document = {
        "noise": str(noise),
        "sensitivity": options.sensitivity,
        "times": options.times,
        "variance": finite(noise.variance),
        "mean_abs": finite(noise.mean_abs),
        "points": [{key: finite(value) for key, value in row.items()} for row in rows],
    }
    releases = f", {options.times} releases" if options.times > 1 else ""
    lines = [f"{noise}, sensitivity {options.sensitivity:g}{releases}"]
    if len(rows) == 1:
        lines.append(f"(epsilon, delta) = ({rows[0]['epsilon']:.10g}, {rows[0]['delta']:.10g}), an upper bound")
    else:
        lines.append(table(rows, {"epsilon": "epsilon", "delta": "delta"}))
    draw_plot(options, lambda report: report.curve_chart(noise, options.sensitivity, times=options.times))
    emit(options, document, "\n".join(lines))


def _add_noise(parser: argparse.ArgumentParser) -> None:
    """Add --family and one option for each parameter of the families."""
    known = simple_families()
    group = parser.add_argument_group("noise")
    names = ", ".join(row.name for row in known)
    group.add_argument("--family", required=True, metavar="NAME", help=f"one of {names}")
    for name in sorted({name for row in known for name in row.parameters}):
        owners = ", ".join(row.name for row in known if name in row.parameters)
        group.add_argument(_flag(name), dest=_attribute(name), type=number, metavar="X", help=f"parameter of {owners}")
    group.add_argument("--discrete", action="store_true", help="the lattice version of the noise")
    group.add_argument("--step", type=number, metavar="H", help="lattice step for --discrete (default 1)")


def register(command: Command) -> None:
    """Add the command."""
    curve = command("curve", _curve, "show delta at epsilon, or epsilon at delta, for one noise", _EXAMPLES)
    _add_noise(curve)
    privacy = curve.add_argument_group("privacy")
    privacy.add_argument(
        "--sensitivity", type=number, default=1.0, metavar="S", help="how far the answer can change (default 1)"
    )
    privacy.add_argument("--times", type=int, default=1, metavar="N", help="number of releases (default 1)")
    either = curve.add_mutually_exclusive_group()
    either.add_argument(
        "--epsilon", type=numbers, metavar="E", help="a number, a list a,b,c or start:stop:count; prints delta"
    )
    either.add_argument(
        "--delta", type=numbers, metavar="D", help="the same for delta; prints epsilon (0: the pure epsilon)"
    )
    add_plot(curve.add_argument_group("output"), "delta against epsilon")
