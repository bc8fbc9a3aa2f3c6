"""Our own mechanisms as targets: a plan, a mechanism or a noise, drawn exactly on its lattice as a release would be."""

from __future__ import annotations

import math
from typing import Any

import numpy as np
from numpy.typing import NDArray

from hush.audit.target import Target, pair_of
from hush.errors import InvalidParameter, reals, reject
from hush.noise.contract import Noise
from hush.noise.discrete import Discrete
from hush.sensitivity import Sensitivity

__all__ = ["claimed", "of_lattice"]

Vector = NDArray[np.float64]

_STEPS = 1024  # of a continuous noise's lattice in the smallest shift; rounding is post-processing and hides little this fine

_FARTHEST = 2**61  # steps; sums are clipped here, as `draw` asks, so that its own limit tells nothing


def claimed(target: Any) -> tuple[Any, Any]:
    """The (epsilon, delta) a plan promises; nothing for a noise, whose parameters may share these names."""
    if isinstance(target, Noise):
        return None, None
    own = getattr(target, "epsilon", None), getattr(target, "delta", None)
    return own if not any(callable(value) for value in own) else (None, None)


def of_lattice(target: Any, inputs: Any) -> Target | None:
    """The target as value + noise on the lattice; None for anything that is not a plan, a mechanism or a noise."""
    if isinstance(target, Noise):
        noise, bound, times = target, Sensitivity.of(1.0), 1
    elif isinstance(getattr(target, "noise", None), Noise) and isinstance(getattr(target, "sensitivity", None), Sensitivity):
        noise, bound, times = target.noise, target.sensitivity, int(getattr(target, "times", 1))
    else:
        return None
    free = isinstance(target, Noise)  # a bare noise has no sensitivity to keep to
    first, second = _worst(bound) if inputs is None else _given(inputs, None if free else bound)
    step = _step(target, noise, second - first)
    steps = [np.tile(_on_lattice(target, value, step), times) for value in (first, second)]
    shift: Vector = ((steps[1] - steps[0]) * step).astype(np.float64)

    def draw(which: int, size: int) -> Any:
        from hush.sampling.exact import draw as exact

        multiples = exact(noise, size * shift.size, step).reshape(size, shift.size)
        return np.clip(multiples + steps[which], -_FARTHEST, _FARTHEST) * step

    shown = tuple(repr(float(v[0]) if v.size == 1 else v.tolist()) for v in (first, second))
    return Target(draw, (shown[0], shown[1]), shift)


def _worst(bound: Sensitivity) -> tuple[Vector, Vector]:
    """A pair as far apart as allowed: l0 coordinates at their full shift, or the whole of an l1 or l2 ball on one coordinate."""
    if bound.is_box:
        moved = np.array([shift for shift, count in bound.shifts for _ in range(count)])
    else:
        largest = max(bound.linf) if isinstance(bound.linf, tuple) else bound.linf
        moved = np.array([min(b for b in (largest, bound.l1, bound.l2) if b is not None)])
    return np.zeros_like(moved), moved


def _given(inputs: Any, bound: Sensitivity | None) -> tuple[Vector, Vector]:
    first, second = (np.atleast_1d(reals("inputs", value)).ravel() for value in pair_of(inputs))
    if first.shape != second.shape or not np.isfinite(second - first).all() or not (second != first).any():
        raise reject("inputs", inputs, "two different finite numbers, or two vectors of one length", "write inputs=(0.0, 1.0)")
    if bound is not None and not _neighbours(np.abs(second - first), bound):
        raise InvalidParameter(f"inputs differ by more than the sensitivity {bound} allows; leave inputs out for a worst pair.")
    return first, second


def _neighbours(moved: Vector, bound: Sensitivity) -> bool:
    slack = 1.0 + 1e-12
    limits = bound.linf if isinstance(bound.linf, tuple) else (bound.linf,) * moved.size
    checks = [len(limits) == moved.size]
    checks += [b is None or m <= b * slack for m, b in zip(moved, limits, strict=False)]
    checks.append(bound.l0 is None or int(np.count_nonzero(moved)) <= bound.l0)
    checks.append(bound.l1 is None or math.fsum(moved) <= bound.l1 * slack)
    checks.append(bound.l2 is None or math.hypot(*moved) <= bound.l2 * slack)
    return all(checks)


def _step(target: Any, noise: Noise, shift: Vector) -> float:
    """The target's own lattice, the noise's, or a fine one that the shift fits."""
    own = getattr(target, "step", None)
    if own is None and isinstance(noise, Discrete):
        own = noise.step
    return float(np.min(np.abs(shift[shift != 0.0]))) / _STEPS if own is None else float(own)


def _on_lattice(target: Any, value: Vector, step: float) -> NDArray[np.int64]:
    """The value in whole steps: by the mechanism's own rule, or exactly."""
    if hasattr(target, "on_lattice"):
        return np.asarray(target.on_lattice(value), dtype=np.int64)
    multiples = np.round(value / step)
    if (np.abs(multiples * step - value) > 1e-9 * np.maximum(step, np.abs(value))).any():
        raise reject("inputs", value.tolist(), f"on the lattice of step {step:g}", "leave inputs out for a worst pair")
    return multiples.astype(np.int64)
