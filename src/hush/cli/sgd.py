"""`hush sgd`: the noise for private training, or the privacy of a training run."""

from __future__ import annotations

import argparse
from typing import Any

import hush
from hush.cli.text import Command, emit, number, table
from hush.errors import InvalidParameter
from hush.numerics.rounding import decimal_up

__all__ = ["register"]

_EXAMPLES = """examples:
  hush sgd --rows 60000 --batch 256 --epochs 60 --epsilon 2 --delta 1e-5        the noise multiplier to train with
  hush sgd --rows 60000 --batch 256 --epochs 60 --sigma 1.1 --delta 1e-5        the epsilon of a training run
  hush sgd --rows 1000000 --batch 100 --steps 100000 --sigma 1 --delta 1e-7 --json"""
_DELTAS = (1e-4, 1e-5, 1e-6, 1e-7, 1e-8)
_PUBLIC = (
    "It holds for one row more or less if the rate, the number of steps and the number that the sum is divided by are\n"
    "public. Computed from a private number of rows they are not: give --rows a number that everyone may know."
)
_COLUMNS = {"account": "account", "epsilon": "epsilon", "remark": ""}


def _sgd(options: argparse.Namespace) -> None:
    if options.delta is None:
        raise InvalidParameter("--delta is needed; a common choice is 1 divided by the rows, or less, such as 1e-5.")
    names = ("rows", "batch", "epochs", "steps", "sigma", "epsilon", "delta")
    run = hush.training(**{name: getattr(options, name) for name in names})
    bracket = run.epsilon_bracket(options.delta)
    upper = float(bracket.upper) if options.epsilon is None else min(float(bracket.upper), options.epsilon)
    accounts = _accounts(run, options.delta, float(bracket.lower), upper)
    points = [{"delta": d, "epsilon": run.epsilon(d)} for d in sorted({*_DELTAS, options.delta}, reverse=True)]
    document = {
        "sigma": run.sigma,
        "rate": run.rate,
        "steps": run.steps,
        "delta": options.delta,
        "epsilon": upper,
        "epsilon_at_least": float(bracket.lower),
        "neighbours": "add-remove",
        "must_be_public": ["rate", "steps", "divisor"],
        "accounts": accounts,
        "points": points,
    }
    text = (
        f"noise multiplier {decimal_up(run.sigma, 6)}, rate {run.rate:.6g}, {run.steps:,} steps: "
        f"({decimal_up(upper, 6)}, {options.delta:g})-private\n"
        f"Every row is in each batch independently with probability {run.rate:.4g} (Poisson sampling).\n"
        "The noise of a step has standard deviation sigma times the clipping norm of a row's gradient.\n"
        f"{_PUBLIC}"
        f"\n\n{table(accounts, _COLUMNS)}\n\n{table(points, {'delta': 'delta', 'epsilon': 'epsilon'})}"
    )
    emit(options, document, text)


def _accounts(run: hush.Training, delta: float, lower: float, upper: float) -> list[dict[str, Any]]:
    """The epsilon of the run by hush and by two other methods, and why they differ."""
    return [
        {"account": "hush", "epsilon": upper, "remark": f"proved; the true value is at least {lower:.6g}"},
        {
            "account": "Renyi orders",
            "epsilon": run.renyi_epsilon(delta),
            "remark": "valid but looser: one order at a time is converted",
        },
        {
            "account": "central limit",
            "epsilon": run.limit_epsilon(delta),
            "remark": "no bound: an approximation for many steps",
        },
    ]


def register(command: Command) -> None:
    """Add the command."""
    sgd = command("sgd", _sgd, "compute the noise of private training, or the privacy of a run", _EXAMPLES)
    sgd.add_argument(
        "--rows", type=int, required=True, metavar="N", help="the rows of the training data, about: a public number"
    )
    sgd.add_argument("--batch", type=int, required=True, metavar="B", help="the expected number of rows in a batch")
    sgd.add_argument("--epochs", type=number, metavar="E", help="passes over the data: N E/B steps")
    sgd.add_argument("--steps", type=int, metavar="T", help="the number of steps, instead of --epochs")
    sgd.add_argument("--epsilon", type=number, metavar="E", help="find the least noise multiplier for this epsilon")
    sgd.add_argument("--sigma", type=number, metavar="S", help="the noise multiplier, instead of --epsilon")
    sgd.add_argument("--delta", type=number, metavar="D", help="the extra probability")
