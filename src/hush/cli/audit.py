"""`hush audit`: test a mechanism's privacy claim by an attack on its outputs."""

from __future__ import annotations

import argparse
from typing import Any

import numpy as np

import hush
from hush.cli.text import Command, add_budget, delta_of, emit, number
from hush.errors import InvalidParameter
from hush.releasing.progress import counting

__all__ = ["register"]


def _audit(options: argparse.Namespace) -> int:
    """Run the audit; 1 if the claim is broken, else 0."""
    delta = _delta(options)
    if options.naive:
        subject, target = "value + numpy.random.laplace", _naive(options.epsilon)
    else:
        plan = hush.calibrate(options.epsilon, delta, _moves(options), family=options.family, loss=options.loss)
        subject, target = str(plan.noise), plan
    total = options.samples if options.dimension is None else None  # a vector has several pairs of inputs
    with counting("drawing", total) as show:
        finding = hush.audit(
            target,
            epsilon=options.epsilon,
            delta=delta,
            samples=options.samples,
            confidence=options.confidence,
            progress=lambda done, samples: show(done),
        )
    emit(options, {"target": subject, **finding.to_dict()}, f"{subject}\n{finding}")
    return int(finding.violated)


def _delta(options: argparse.Namespace) -> float:
    if options.naive and (options.family or options.loss != "variance"):
        raise InvalidParameter("--naive audits numpy's Laplace noise; leave --family and --loss out.")
    if options.naive and options.dimension is not None:
        raise InvalidParameter("--naive audits noise for one number; leave --dimension out.")
    if options.one_sided and options.dimension is None:
        raise InvalidParameter("--one-sided needs --dimension, the number of counts or sums that move together.")
    if options.naive and options.delta is None:
        return 0.0
    return delta_of(options)


def _moves(options: argparse.Namespace) -> Any:
    """How far one person moves the answer: one number by 1, or every number of a vector."""
    if options.dimension is None:
        return 1.0
    return hush.Sensitivity(linf=1.0, dimension=options.dimension, one_sided=options.one_sided)


def _naive(epsilon: float) -> Any:
    """The textbook mechanism in floating point: correct in real numbers, not private in its low bits."""
    generator = np.random.default_rng()
    scale = 1.0 / epsilon if epsilon > 0.0 else 1.0  # hush.audit rejects a bad epsilon with its message
    return lambda value, size: value + generator.laplace(scale=scale, size=size)


_EXAMPLES = """examples:
  hush audit --epsilon 1 --delta 1e-6                       the least noise for this budget, drawn exactly
  hush audit --epsilon 1 --delta 1e-3 --family gaussian --samples 1000000
  hush audit --epsilon 1 --naive                            numpy's Laplace noise: finds the leak in its low bits
  hush audit --epsilon 1 --pure --dimension 10 --one-sided  joint noise for ten counts, attacked by many moves

To audit your own mechanism, use Python: hush.audit(lambda value, size: ..., epsilon=1.0); see docs/audit.md.

exit code: 0 if no violation was found, 1 if the claim is broken, 2 for an error. A true claim is reported as broken
with probability at most 1 - confidence. "No violation found" does not prove privacy."""


def register(command: Command) -> None:
    """Add the command."""
    text = "test a privacy claim: a lower bound on epsilon from a mechanism's outputs"
    audit = command("audit", _audit, text, _EXAMPLES)
    add_budget(audit.add_argument_group("the claim"))
    target = audit.add_argument_group("the mechanism")
    target.add_argument("--family", metavar="NAME", help="one noise family (default: the best for the budget)")
    target.add_argument(
        "--loss", default="variance", metavar="NAME", help="the error it minimises: variance (default), mae, p95, p999"
    )
    target.add_argument(
        "--dimension", type=int, metavar="D", help="a vector of D numbers; one person moves each by at most 1"
    )
    target.add_argument(
        "--one-sided", action="store_true", help="the numbers of the vector move in the same direction, as counts do"
    )
    target.add_argument("--naive", action="store_true", help="audit value + numpy.random.laplace instead")
    test = audit.add_argument_group("the test")
    test.add_argument(
        "--samples",
        type=int,
        default=200_000,
        metavar="N",
        help="draws from each of the two inputs (default 200000, at most 1e8)",
    )
    test.add_argument(
        "--confidence", type=number, default=0.999999, metavar="C", help="default 0.999999: false alarms 1e-6"
    )
