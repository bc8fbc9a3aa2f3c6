"""Tails of every family in ball arithmetic: P(|X| > x) as an interval that provably holds it, as narrow as asked.

`tail(noise)` gives a function of x >= 0 (an `arb`, python-flint's ball) that works at the ambient precision
`flint.ctx.prec`. Parameters are taken as the exact binary numbers they are. A family's descriptor supplies it from
the family's definition alone, with none of the float64 code, so that agreement with the family's `log_tail` is
evidence for both.
"""

from __future__ import annotations

from hush.errors import Unsupported
from hush.noise.catalogue import family_of
from hush.noise.contract import Law
from hush.noise.family import Family
from hush.numerics.ball import Ball, Tail, flint_module, precision

__all__ = ["Ball", "Tail", "descriptor", "flint_module", "precision", "tail"]


def descriptor(noise: Law) -> Family:
    """The descriptor of a noise that is to be drawn."""
    row = family_of(noise)
    if row is None:
        raise Unsupported(
            f"{type(noise).__name__} is not registered, so it has no exact draw; write hush.register({type(noise).__name__}) first."
        )
    return row


def tail(noise: Law) -> Tail:
    """x -> P(|X| > x) at the ambient precision; of a law on a lattice k -> P(|X| > k step)."""
    row = descriptor(noise)
    if row.tail is None:
        raise Unsupported(
            f"{row.name} noise has no exact draw: its Family needs `tail`, the function P(|X| > x) in ball arithmetic."
        )
    return row.tail(noise)
