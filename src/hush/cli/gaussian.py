"""`hush gaussian`: the amount of Gaussian noise, by each known method."""

from __future__ import annotations

import argparse
from typing import Any

import hush
from hush.cli.text import Command, emit, number, table
from hush.errors import HushError

__all__ = ["register"]

_EXAMPLES = """examples:
  hush gaussian --epsilon 1 --delta 1e-5
  hush gaussian --epsilon 10 --delta 1e-5 --all       every method side by side; invalid amounts are marked"""
_COLUMNS = {"method": "method", "sigma": "sigma", "ratio": "x optimal", "delta": "true delta", "remark": ""}


def _gaussian(options: argparse.Namespace) -> None:
    names = hush.gaussian.methods() if options.all else (options.method,)
    rows = [_row(options, name) for name in names]
    document = {"epsilon": options.epsilon, "delta": options.delta, "sensitivity": options.sensitivity, "amounts": rows}
    head = (
        f"Gaussian noise for epsilon = {options.epsilon:g}, delta = {options.delta:g}, "
        f"l2 sensitivity {options.sensitivity:g}"
    )
    emit(options, document, f"{head}\n{table(rows, _COLUMNS)}")


def _row(options: argparse.Namespace, name: str) -> dict[str, Any]:
    """The sigma of one method, and whether it is private."""
    budget = options.epsilon, options.delta
    try:
        sigma = hush.gaussian.sigma(*budget, options.sensitivity, method=name, allow_invalid=options.all)
    except HushError:
        if not options.all:
            raise
        return {"method": name, "remark": "not defined for this delta"}
    found = hush.gaussian.check(*budget, sigma, options.sensitivity)
    proved = not name.startswith("dwork") or options.epsilon <= 1.0
    remark = "INVALID: not private" if not found.private else "ok" if proved else "private here, but not proved"
    ratio = sigma / found.sigma_needed
    return {"method": name, "sigma": sigma, "ratio": ratio, "delta": found.true_delta, "remark": remark}


def register(command: Command) -> None:
    """Add the command."""
    gaussian = command("gaussian", _gaussian, "compute the Gaussian noise for a budget, by each method", _EXAMPLES)
    gaussian.add_argument("--epsilon", type=number, required=True, metavar="E", help="the privacy loss allowed")
    gaussian.add_argument("--delta", type=number, required=True, metavar="D", help="the extra probability")
    gaussian.add_argument("--sensitivity", type=number, default=1.0, metavar="S", help="l2 sensitivity (default 1)")
    methods = ", ".join(hush.gaussian.methods())
    gaussian.add_argument("--method", default="optimal", metavar="NAME", help=f"one of {methods}")
    gaussian.add_argument("--all", action="store_true", help="every method, with the true delta of each amount")
