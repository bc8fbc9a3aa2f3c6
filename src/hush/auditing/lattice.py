"""Audit targets from hush: a plan, a mechanism or a noise on its lattice, drawn exactly as a release would be."""

from __future__ import annotations

import math
from typing import TYPE_CHECKING, Any

import numpy as np
from numpy.typing import NDArray

from hush.auditing.target import Target, pair_of
from hush.calibration.ranking import Plan
from hush.errors import InvalidParameter, reals, reject
from hush.noise.contract import Law
from hush.numerics.rounding import CLOSED_FORM, up
from hush.privacy.sensitivity import Sensitivity
from hush.sampling.exact import draw as draw_noise

if TYPE_CHECKING:
    from hush.sampling.mechanism import Mechanism

__all__ = ["of_lattice"]

Vector = NDArray[np.float64]
Claim = tuple[float | None, float | None]

_STEPS = 1024  # lattice steps in the smallest shift of a noise; rounding this fine hides little


def of_lattice(target: Any, inputs: Any) -> tuple[Target, Claim] | None:
    """The target and its claim; None for anything that is not a plan, a mechanism or a noise."""
    from hush.sampling.mechanism import Mechanism  # here, because it loads the samplers, which `import hush` should not

    if isinstance(target, Law):
        first, second = _given((0.0, 1.0) if inputs is None else inputs, None)
        return _subject(_around(target, first, second), first, second, 1), (None, None)
    if not isinstance(target, Plan | Mechanism):
        return None
    pair = None if inputs is None else _given(inputs, target.sensitivity)
    moved = _moved(target.sensitivity) if pair is None else pair[1] - pair[0]
    mechanism = Mechanism.of(target, coordinates=moved.size) if isinstance(target, Plan) else target
    stated = mechanism.guarantee
    first, second = _worst(mechanism, moved) if pair is None else pair
    claim = (None, None) if stated is None else (stated.epsilon, stated.delta)
    return _subject(mechanism, first, second, 1 if stated is None else stated.times), claim


def _subject(mechanism: Mechanism, first: Vector, second: Vector, times: int) -> Target:
    """All releases of the claim, side by side: `times` times every coordinate."""
    steps = [np.tile(mechanism.on_lattice(value), times) for value in (first, second)]
    from hush.sampling.mechanism import FURTHEST

    shift: Vector = np.asarray(mechanism.value_of(steps[1] - steps[0]), dtype=np.float64)

    def draw(which: int, size: int) -> Any:
        values = np.broadcast_to(steps[which], (size, shift.size))  # public values, so that no payment is needed
        noise = draw_noise(mechanism.noise, mechanism.draw_shape(values), mechanism.step).reshape(values.shape)
        return mechanism.value_of(np.clip(values + noise, -FURTHEST, FURTHEST))

    shown = [repr(float(value[0]) if value.size == 1 else value.tolist()) for value in (first, second)]
    return Target(draw, (shown[0], shown[1]), shift)


def _around(noise: Law, first: Vector, second: Vector) -> Mechanism:
    """A noise on its lattice, or on a fine one that divides the shift."""
    from hush.sampling.mechanism import Mechanism

    moved = np.abs(second - first)
    step = noise.step if noise.discrete else float(np.min(moved[moved > 0.0])) / _STEPS
    off = np.abs(moved - np.round(moved / step) * step)
    if (off > 1e-9 * step).any():
        raise reject("inputs", moved.tolist(), f"apart by whole steps of {step:g}", "leave inputs out for (0.0, 1.0)")
    return Mechanism(noise, Sensitivity(linf=float(moved.max()), l0=moved.size), step, coordinates=moved.size)


def _moved(bound: Sensitivity) -> Vector:
    """The largest allowed move: l0 coordinates by their full shift, or the whole l1 or l2 bound on one coordinate."""
    if isinstance(bound.linf, tuple):
        limits = np.array(bound.linf)
        largest = np.argsort(-limits, kind="stable")
        if bound.is_box:
            limits[largest[bound.moving :]] = 0.0
            return limits
        return np.where(np.arange(limits.size) == largest[0], _one(bound), 0.0)
    if bound.is_box:
        return np.repeat([shift for shift, _ in bound.shifts], [count for _, count in bound.shifts])
    return np.array([_one(bound)])


def _one(bound: Sensitivity) -> float:
    """How far a single coordinate can move."""
    largest = max(bound.linf) if isinstance(bound.linf, tuple) else bound.linf
    return min(b for b in (largest, bound.l1, bound.l2) if b is not None)


def _worst(mechanism: Mechanism, moved: Vector) -> tuple[Vector, Vector]:
    """Values that differ by `moved`. If that is no whole number of steps, they start where rounding adds one more
    step.
    """
    whole = np.abs(moved / mechanism.step - np.round(moved / mechanism.step)) < 1e-9
    first = np.where(whole | (not mechanism.rounds), 0.0, 0.4999 * mechanism.step)
    return first, first + moved


def _given(inputs: Any, bound: Sensitivity | None) -> tuple[Vector, Vector]:
    first, second = (np.atleast_1d(reals("inputs", value)).ravel() for value in pair_of(inputs))
    if first.shape != second.shape or not np.isfinite(second - first).all() or not (second != first).any():
        raise reject(
            "inputs",
            inputs,
            "two different finite numbers, or two vectors of the same length",
            "write inputs=(0.0, 1.0)",
        )
    if bound is not None and not _neighbours(np.abs(second - first), bound):
        raise InvalidParameter(
            f"inputs differ by more than the sensitivity {bound} allows; leave inputs out to get a worst-case pair."
        )
    return first, second


def _neighbours(moved: Vector, bound: Sensitivity) -> bool:
    limits = bound.linf if isinstance(bound.linf, tuple) else (bound.linf,) * moved.size
    checks = [len(limits) == moved.size]
    checks += [b is None or m <= up(b, CLOSED_FORM) for m, b in zip(moved, limits, strict=False)]
    checks.append(bound.moving is None or int(np.count_nonzero(moved)) <= bound.moving)
    checks.append(bound.l1 is None or math.fsum(moved) <= up(bound.l1, CLOSED_FORM))
    checks.append(bound.l2 is None or math.hypot(*moved) <= up(bound.l2, CLOSED_FORM))
    return all(checks)
