"""`hush audit`: attack a mechanism's claim with its own outputs."""

from __future__ import annotations

import argparse
import sys
from typing import Any

import numpy as np

import hush
from hush.cli.text import Command, emit, number
from hush.errors import InvalidParameter

__all__ = ["register"]


def _audit(options: argparse.Namespace) -> int:
    """1 where the claim is broken, else 0."""
    delta = _delta(options)
    if options.naive:
        subject, target = "value + numpy.random.laplace", _naive(options.epsilon)
    else:
        plan = hush.calibrate(options.epsilon, delta, family=options.family, loss=options.loss)
        subject, target = str(plan.noise), plan
    finding = hush.audit(
        target,
        epsilon=options.epsilon,
        delta=delta,
        samples=options.samples,
        confidence=options.confidence,
        progress=_progress(),
    )
    emit(options, {"target": subject, **finding.to_dict()}, f"{subject}\n{finding}")
    return int(finding.violated)


def _delta(options: argparse.Namespace) -> float:
    if options.pure and options.delta:
        raise InvalidParameter("--pure means delta = 0; leave --delta out.")
    if options.naive and (options.family or options.loss != "variance"):
        raise InvalidParameter("--naive audits numpy's Laplace noise; leave --family and --loss out.")
    if options.delta is None and not options.pure and not options.naive:
        raise InvalidParameter("--delta is needed (for example --delta 1e-6), or --pure for delta = 0.")
    return float(options.delta or 0.0)


def _naive(epsilon: float) -> Any:
    """The textbook release, in floating point: right on paper, broken in its low bits."""
    generator = np.random.default_rng()
    scale = 1.0 / epsilon if epsilon > 0.0 else 1.0  # a bad epsilon is refused by the audit, in its own words
    return lambda value, size: value + generator.laplace(scale=scale, size=size)


def _progress() -> Any:
    """A line on stderr that is rewritten, where someone is looking."""
    if not sys.stderr.isatty():
        return None

    def show(done: int, samples: int) -> None:
        line = "" if done == samples else f"drawing: {done:,} of {samples:,}"
        print(f"\r\033[K{line}", end="", file=sys.stderr, flush=True)

    return show


_EXAMPLES = """examples:
  hush audit --epsilon 1 --delta 1e-6                       the least noise for this budget, drawn exactly
  hush audit --epsilon 1 --delta 1e-3 --family gaussian --samples 1000000
  hush audit --epsilon 1 --naive                            numpy's Laplace noise: finds the leak in its low bits

a mechanism of your own is audited from Python: hush.audit(lambda value, size: ..., epsilon=1.0); see docs/audit.md

exit code: 0 if nothing was found, 1 if the claim is broken, 2 for a request that cannot be met. A true claim is called broken
with probability at most 1 - confidence; "nothing found" is no proof of privacy."""


def register(command: Command) -> None:
    """Add the command."""
    audit = command(
        "audit", _audit, "attack a mechanism: a certified lower bound on epsilon from its outputs", _EXAMPLES
    )
    audit.add_argument("--epsilon", type=number, required=True, metavar="E", help="the claim")
    audit.add_argument("--delta", type=number, metavar="D", help="the claim")
    audit.add_argument("--pure", action="store_true", help="delta = 0")
    audit.add_argument("--family", metavar="NAME", help="one family of noise (default: the best for the budget)")
    audit.add_argument(
        "--loss", default="variance", metavar="NAME", help="what the noise makes least: variance, mae, p95 or p999"
    )
    audit.add_argument("--naive", action="store_true", help="audit value + numpy.random.laplace instead")
    audit.add_argument(
        "--samples",
        type=int,
        default=200_000,
        metavar="N",
        help="draws from each of the two inputs (default 200000, at most 1e8)",
    )
    audit.add_argument(
        "--confidence", type=number, default=0.999999, metavar="C", help="default 0.999999: false alarms 1e-6"
    )
