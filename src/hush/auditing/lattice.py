"""Audit targets from hush: a plan, a mechanism or a noise on its lattice, drawn exactly as a release would be."""

from __future__ import annotations

import math
from collections.abc import Callable
from typing import TYPE_CHECKING, Any

import numpy as np
from numpy.typing import NDArray

from hush.auditing.moves import numbers_of, vector_moves
from hush.auditing.target import Target, named, pair_of
from hush.calibration.ranking import Plan
from hush.errors import HushError, InvalidParameter, Unsupported, reals, reject
from hush.noise.contract import Noise
from hush.numerics.rounding import CLOSED_FORM, down, up
from hush.privacy.compose import curve
from hush.privacy.sensitivity import Sensitivity
from hush.sampling.exact import draw as draw_noise

if TYPE_CHECKING:
    from hush.sampling.mechanism import Mechanism

__all__ = ["of_lattice", "start_of"]

Vector = NDArray[np.float64]
Claim = tuple[float | None, float | None]

_STEPS = 1024  # lattice steps in the smallest shift of a noise; rounding this fine hides little
_CERTAIN = 1e6  # a privacy loss that stands for an infinite one


def of_lattice(
    target: Any, inputs: Any, sensitivity: Sensitivity | None, delta: float
) -> tuple[list[Target], Claim] | None:
    """The targets and their claim; None for anything that is not a plan, a mechanism or a noise.

    There are several targets if the noise is joint or a sensitivity is given: one for each kind of move.
    """
    from hush.sampling.mechanism import Mechanism  # here, because it loads the samplers, which `import hush` should not

    if isinstance(target, Noise):
        return _of_noise(target, inputs, sensitivity, delta)
    if not isinstance(target, Plan | Mechanism):
        return None
    if sensitivity is not None:
        raise InvalidParameter("a plan or a mechanism has its own sensitivity; leave sensitivity out.")
    joint = target.noise.dimension
    bound, groups = (target.sensitivity, 1) if joint is None else _of_one_group(target.sensitivity)
    pair = None if inputs is None else _given(inputs, bound)
    if pair is not None and joint not in (None, pair[0].size):
        raise reject("inputs", inputs, f"two vectors of {joint} numbers", "leave inputs out to try many pairs")
    moved = _moved(bound) if pair is None else pair[1] - pair[0]
    size = joint if joint is not None else moved.size
    mechanism = Mechanism.of(target, coordinates=size) if isinstance(target, Plan) else target
    stated = mechanism.guarantee
    times = groups * (1 if stated is None else stated.times)
    claim = (None, None) if stated is None else (stated.epsilon, stated.delta)
    if pair is None and joint is not None:
        pairs = [(_worst(mechanism, move), name) for name, move in vector_moves(bound, size)]
        return [_subject(mechanism, *both, times, name) for both, name in pairs], claim
    first, second = _worst(mechanism, moved) if pair is None else pair
    return [_subject(mechanism, first, second, times)], claim


def _of_noise(noise: Noise, inputs: Any, sensitivity: Sensitivity | None, delta: float) -> tuple[list[Target], Claim]:
    """A noise on its lattice: under two inputs, or under the moves of a sensitivity, with what hush proves as claim."""
    if sensitivity is None:
        if noise.dimension is not None and inputs is None:
            raise InvalidParameter(
                f"{type(noise).__name__} is a noise of {noise.dimension} numbers; write for example "
                f"sensitivity=hush.Sensitivity(linf=1.0, dimension={noise.dimension})."
            )
        first, second = _given((0.0, 1.0) if inputs is None else inputs, None)
        return [_subject(_around(noise, [second - first]), first, second, 1)], (None, None)
    bound, groups = _of_one_group(sensitivity)
    size = numbers_of(bound, noise.dimension)
    start, moves = start_of(inputs, size), vector_moves(bound, size)
    mechanism = _around(noise, [move for _, move in moves])
    if not noise.discrete:  # moves are cut to the lattice, so that none is longer than allowed
        moves = [(name, np.trunc(move / mechanism.step) * mechanism.step) for name, move in moves]
    try:
        proved = float(curve(noise, sensitivity).epsilon(delta))
    except HushError:
        proved = math.inf  # no theorem: the caller has to state the claim
    claim: Claim = (proved, delta) if math.isfinite(proved) else (None, None)
    found = [_subject(mechanism, start, start + move, groups, name) for name, move in moves]
    return found, claim


def _of_one_group(bound: Sensitivity) -> tuple[Sensitivity, int]:
    """The facts about one group of a table, and how many groups a person moves: they are attacked side by side."""
    return bound.of_one_group, 1 if bound.columns is None else bound.l0 or 1


def start_of(inputs: Any, size: int) -> Vector:
    """The vector that moves start from."""
    start = np.zeros(size) if inputs is None else reals("inputs", inputs)
    if start.shape != (size,) or not np.isfinite(start).all():
        allowed = f"one vector of {size} finite numbers, with sensitivity="
        raise reject("inputs", inputs, allowed, "leave it out to start at zeros")
    return start


def _subject(mechanism: Mechanism, first: Vector, second: Vector, times: int, name: str = "") -> Target:
    """All releases of the claim, side by side: `times` times every coordinate."""
    steps = [np.tile(mechanism.on_lattice(value), times) for value in (first, second)]
    from hush.sampling.mechanism import FURTHEST

    centres = tuple(np.asarray(mechanism.value_of(step), dtype=np.float64) for step in steps)

    def draw(which: int, size: int) -> Any:
        values = np.broadcast_to(steps[which], (size, steps[which].size))  # public values: no payment is needed
        noise = draw_noise(mechanism.noise, mechanism.draw_shape(values), mechanism.step).reshape(values.shape)
        return mechanism.value_of(np.clip(values + noise, -FURTHEST, FURTHEST))

    shown = [repr(float(value[0]) if value.size == 1 else value.tolist()) for value in (first, second)]
    known = (shown[0], shown[1]) if not name else named(first, second - first, name)
    return Target(draw, known, (centres[0], centres[1]), _loss(mechanism.noise, centres[0], centres[1]))


def _loss(noise: Noise, first: Vector, second: Vector) -> Callable[[NDArray[Any]], Vector] | None:
    """log p(y - first) - log p(y - second), each row in parts of the noise's dimension; None without a density."""
    width = first.size if noise.dimension is None else noise.dimension
    if first.size == 1:
        return None  # the outputs themselves are searched

    def loss(y: NDArray[Any]) -> Vector:
        here, there = (
            np.asarray(noise.log_density_of((y - centre).reshape(-1, width))).reshape(len(y), -1).sum(axis=1)
            for centre in (first, second)
        )
        with np.errstate(invalid="ignore"):
            return np.nan_to_num(here - there, nan=0.0, posinf=_CERTAIN, neginf=-_CERTAIN)

    try:
        loss(first[None, :])
    except Unsupported:
        return None
    return loss


def _around(noise: Noise, moves: list[Vector]) -> Mechanism:
    """A noise on its lattice, or on a fine one that divides the moves."""
    from hush.sampling.mechanism import Mechanism

    moved = np.abs(np.concatenate(moves))
    step = noise.step if noise.discrete else float(np.min(moved[moved > 0.0])) / _STEPS
    off = np.abs(moved - np.round(moved / step) * step)
    if noise.discrete and (off > 1e-9 * step).any():
        far = sorted(set(moved.tolist()))
        raise reject("inputs", far, f"apart by whole steps of {step:g}", "leave inputs out for (0.0, 1.0)")
    size = moves[0].size
    return Mechanism(noise, Sensitivity(linf=float(moved.max()), l0=size), step, coordinates=size)


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
    if bound is not None and not _neighbours(second - first, bound):
        raise InvalidParameter(
            f"inputs differ by more than the sensitivity {bound} allows; leave inputs out to get a worst-case pair."
        )
    return first, second


def _neighbours(move: Vector, bound: Sensitivity) -> bool:
    moved = np.abs(move)
    limits = bound.linf if isinstance(bound.linf, tuple) else (bound.linf,) * moved.size
    common = move[np.broadcast_to(bound.one_sided, move.shape)]
    checks = [len(limits) == moved.size, bool((common >= 0.0).all() or (common <= 0.0).all())]
    checks.append(bound.people is None or moved[bound.people] >= down(bound.each_move[bound.people], CLOSED_FORM))
    checks += [b is None or m <= up(b, CLOSED_FORM) for m, b in zip(moved, limits, strict=False)]
    checks.append(bound.moving is None or int(np.count_nonzero(moved)) <= bound.moving)
    checks.append(bound.l1 is None or math.fsum(moved) <= up(bound.l1, CLOSED_FORM))
    checks.append(bound.l2 is None or math.hypot(*moved) <= up(bound.l2, CLOSED_FORM))
    return all(checks)
