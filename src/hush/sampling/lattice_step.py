"""The step of the lattice of a release: its choice, and the sensitivity of values that are rounded to it."""

from __future__ import annotations

import dataclasses
import math
from fractions import Fraction

import numpy as np

from hush.noise.contract import Law
from hush.numerics.rounding import FEW_ROUNDINGS, next_up, round_up, up
from hush.privacy.sensitivity import Sensitivity
from hush.sampling.whole_steps import divides_one

__all__ = ["chosen_step", "rounded_sensitivity", "rounded_to_steps"]

_FINE = 16.0  # steps in the median of |noise|; rounding then adds less than 0.1 % to the variance
_FINER = 4096.0  # steps in a sensitivity that cannot be a whole number of steps
_LEAST = 2.0**-30  # the smallest step, as a fraction of the sensitivity; a smaller one would limit the range of values


def rounded_sensitivity(sensitivity: Sensitivity, step: float, *, integers: bool, coordinates: int) -> Sensitivity:
    """Return the sensitivity after every coordinate is rounded to the lattice.

    `integers` states that all values are whole numbers. `coordinates` is the number of values. A number of people that
    moves by a bound between two lattice points moves by fewer or by more steps after rounding, and no longer by exactly
    its bound: this fact is dropped. Under a bound in l1 or l2 each number moves by at most this bound, in whole steps:
    this fact is added, because rounding all numbers makes the bounds in l1 and l2 larger.
    """
    if integers and divides_one(step):
        return sensitivity  # whole numbers are multiples of the step

    def to_whole_steps(bound: float) -> float:
        return round_up(Fraction(step) * math.ceil(Fraction(bound) / Fraction(step)))

    people, moves = sensitivity.people, sensitivity.each_move
    if people is not None and Fraction(moves[people]) % Fraction(step):
        people = None
    linf, l1, l2, columns = sensitivity.linf, sensitivity.l1, sensitivity.l2, sensitivity.columns
    if isinstance(linf, tuple):
        linf = tuple(to_whole_steps(s) for s in linf)
    elif linf is not None:
        linf = to_whole_steps(linf)
    elif sensitivity.dimension is not None and columns is None:
        linf = to_whole_steps(min(bound for bound in (l1, l2) if bound is not None))
    return dataclasses.replace(
        sensitivity,
        linf=linf,
        columns=None if columns is None else tuple(to_whole_steps(s) for s in columns),
        l1=None if l1 is None else next_up(l1 + coordinates * step),
        l2=None if l2 is None else next_up(l2 + up(math.sqrt(coordinates) * step, FEW_ROUNDINGS)),
        people=people,
    )


def rounded_to_steps(sensitivity: Sensitivity, steps: tuple[float, ...]) -> Sensitivity:
    """Return the sensitivity after number j is rounded to the multiples of steps[j].

    A number of people that moves by no whole number of its steps no longer moves by exactly its bound.
    """
    listed = sensitivity.linf if isinstance(sensitivity.linf, tuple) else (sensitivity.linf or 1.0,) * len(steps)
    moves = tuple(
        round_up(Fraction(step) * math.ceil(Fraction(move) / Fraction(step)))
        for move, step in zip(listed, steps, strict=True)
    )
    people = sensitivity.people
    if people is not None and Fraction(listed[people]) % Fraction(steps[people]):
        people = None
    largest = math.sqrt(math.fsum(step * step for step in steps))
    l1, l2 = sensitivity.l1, sensitivity.l2
    return dataclasses.replace(
        sensitivity,
        linf=None if sensitivity.linf is None else moves[0] if len(set(moves)) == 1 else moves,
        dimension=len(steps),
        l1=None if l1 is None else up(l1 + math.fsum(steps), FEW_ROUNDINGS),
        l2=None if l2 is None else up(l2 + largest, FEW_ROUNDINGS),
        people=people,
    )


def _power_of_two(at_most: float) -> float:
    return math.ldexp(1.0, math.frexp(at_most)[1] - 1)


def chosen_step(noise: Law, sensitivity: Sensitivity, *, integers: bool, coordinates: int) -> float:
    """Return the largest step that costs less than 0.1 % of accuracy and, if possible, divides the sensitivity."""
    fine = float(np.asarray(noise.isf(0.25))) / _FINE
    if integers and fine < 2.0**24:
        return min(_power_of_two(max(fine, sensitivity.l2_bound * _LEAST)), 1.0)
    if sensitivity.is_box and isinstance(s := sensitivity.linf, float):
        most = -round(math.log2(_LEAST))
        halvings = min(max(0, math.ceil(math.log2(s / fine))), most) if fine > 0.0 else most
        return math.ldexp(s, -halvings)  # s is then 2^halvings steps, and rounding adds nothing to it
    if sensitivity.is_box:  # one bound for each number
        return _power_of_two(0.5 * fine)
    each = min(sensitivity.linf) if isinstance(sensitivity.linf, tuple) else sensitivity.linf
    parts = [
        sensitivity.l1 and sensitivity.l1 / coordinates,
        sensitivity.l2 and sensitivity.l2 / math.sqrt(coordinates),
        each,
    ]
    return _power_of_two(min(0.5 * fine, min(part for part in parts if part) / _FINER))
