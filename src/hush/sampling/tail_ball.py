"""Tails of all families in ball arithmetic: an interval that provably contains P(|X| > x), as narrow as needed.

`tail(noise)` returns a function of x >= 0 (an `arb`, the ball of python-flint) that uses the current precision
`flint.ctx.prec`. A float parameter means its exact binary value. The descriptor of a family contains this function,
written from the mathematical definition without any float64 code of the class. Agreement with the `log_tail` of the
class is therefore evidence for both.
"""

from __future__ import annotations

from hush.errors import Unsupported
from hush.noise.catalogue import family_of
from hush.noise.contract import Law
from hush.noise.family import Family
from hush.numerics.ball import Ball, Tail, flint_module, precision

__all__ = ["Ball", "Tail", "descriptor", "flint_module", "precision", "tail"]


def descriptor(noise: Law) -> Family:
    """Return the descriptor of a noise; raise if its class is not registered."""
    row = family_of(noise)
    if row is None:
        raise Unsupported(
            f"{type(noise).__name__} is not registered, so it has no exact draw; "
            f"write hush.register({type(noise).__name__}) first."
        )
    return row


def tail(noise: Law) -> Tail:
    """Return the function x -> P(|X| > x) at the current precision; for a law on a lattice, k -> P(|X| > k step)."""
    row = descriptor(noise)
    if row.tail is None:
        raise Unsupported(
            f"{row.name} noise has no exact draw: its Family needs `tail`, the function P(|X| > x) in ball arithmetic."
        )
    return row.tail(noise)
