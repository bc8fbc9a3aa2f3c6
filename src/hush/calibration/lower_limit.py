"""The best proved lower bound on the loss of every additive noise, on the real numbers or on a lattice."""

from __future__ import annotations

import math
from fractions import Fraction

from hush.calibration.integer_program import by_integer_program
from hush.calibration.one_number import spread_cost
from hush.calibration.projection_bound import by_projection, by_projection_on_lattice, reach
from hush.calibration.pure_bound import by_pure_privacy
from hush.errors import Unsupported
from hush.numerics.rounding import FEW_ROUNDINGS, down, up
from hush.privacy.sensitivity import Sensitivity

__all__ = ["lower_limit"]


def lower_limit(epsilon: float, delta: float, bound: Sensitivity, loss: str, step: float | None) -> float:
    """A proved lower bound on the average loss of one number.

    step=None: for every additive noise, if every real move that the facts allow can happen. Else for every noise on the
    multiples of `step`, if the moves are whole steps.
    """
    if step is not None and not _is_whole_box(bound, step):
        inside = _boxes_inside(bound, step)
        return max(lower_limit(epsilon, delta, box, loss, step) for box in inside)
    real = by_projection(epsilon, delta, bound, loss)
    if delta == 0.0:
        real = max(real, by_pure_privacy(epsilon, bound, loss))
    if step is None:
        return real
    spread = max(real - up(spread_cost(step, loss), FEW_ROUNDINGS), 0.0)
    found = max(spread, by_projection_on_lattice(epsilon, delta, bound, loss, step))
    if bound.linf == step and bound.dimension is not None and bound.moving is not None:
        sided = bound.one_sided is True
        unit = by_integer_program(epsilon, delta, bound.dimension, bound.moving, sided, loss)
        found = max(found, down(unit * step ** (2 if loss == "variance" else 1), FEW_ROUNDINGS))
    return found


def _is_whole_box(bound: Sensitivity, step: float) -> bool:
    """Do the moves fill a box of whole steps? Then a real move, rounded in any way, is an allowed move."""
    listed = bound.linf if isinstance(bound.linf, tuple) else (bound.linf,)
    return bound.is_box and all(c is not None and (Fraction(c) / Fraction(step)).denominator == 1 for c in listed)


def _boxes_inside(bound: Sensitivity, step: float) -> list[Sensitivity]:
    """Boxes of whole steps inside the allowed moves: one number moves, or all that can, or as many as can by the whole
    of linf. A lower bound for fewer moves is one for all of them.
    """
    most, numbers = bound.moving or 1, bound.dimension
    sizes = {1, most}
    if isinstance(bound.linf, float):
        length = math.inf if bound.l2 is None else (bound.l2 / bound.linf) ** 2
        sizes.add(math.floor(min(most, length, math.inf if bound.l1 is None else bound.l1 / bound.linf)))
    found = []
    for k in sorted(sizes - {0}):
        move = Fraction(reach(bound, k)) // Fraction(step) * Fraction(step)
        if (bound.l2 is not None and k * move**2 > Fraction(bound.l2) ** 2) or k * move > Fraction(
            bound.l1 or k * move
        ):
            move -= Fraction(step)  # reach was rounded up
        if move > 0:
            found.append(Sensitivity(linf=float(move), l0=k, dimension=numbers, one_sided=bound.one_sided))
    if not found:
        raise Unsupported(
            f"the limit on a lattice needs moves of at least one step, {step:g}; write Sensitivity(linf=1.0, l0=3)."
        )
    return found
