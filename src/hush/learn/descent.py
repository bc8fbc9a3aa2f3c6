"""Private coordinate descent (flipped Huber paper, Algorithm 3) and full-gradient descent with the same noise.

Each update releases one clipped whole-number sum with noise and takes a proximal step w_i <- prox(w_i - (step/M_i)
g_i). All that follows from released sums is post-processing: the weights after every pass, and the trace.
"""

from __future__ import annotations

import warnings
from collections.abc import Callable
from dataclasses import dataclass, field

import numpy as np
from numpy.typing import NDArray

from hush.errors import whole
from hush.learn.budget import Part, Wish
from hush.learn.defaults import Setting
from hush.learn.paid import Paid
from hush.learn.penalty import Penalty
from hush.learn.rows import Rows
from hush.privacy.sensitivity import Sensitivity

__all__ = ["LARGEST", "Trace", "descend", "updates_wish"]

Array = NDArray[np.float64]

#: Weights are kept within this, in units of spreads: a public limit, so that no run of noise can overflow.
LARGEST = 1e3
_STILL = 1e-12  # without privacy: stop when no weight moves by more, relative to the largest


def updates_wish(grain: float, columns: int, setting: Setting, share: float) -> Wish:
    """Every update of the descent: one number (cd) or all coordinates at once (gd), each moving by at most 2B."""
    together = columns if setting.solver == "gd" else 1
    bound = Sensitivity(linf=2.0 * grain, l0=together, neighbours="replace")
    times = whole("passes", setting.passes) * columns // together
    return Wish("updates", share, bound, bound, together, times)


@dataclass
class Trace:
    """What can be told of a descent: weights and noisy gradients after every pass; no training loss, which would be a
    leak.
    """

    start: Array
    weights: list[Array] = field(default_factory=list)
    gradients: list[Array] = field(default_factory=list)

    @property
    def changes(self) -> Array:
        """The length of every pass's move."""
        return np.linalg.norm(np.diff(np.array([self.start, *self.weights]), axis=0), axis=1)


class _Noise:
    """All noise of a descent, drawn at once after it is paid for, and given out number by number."""

    def __init__(self, part: Part | None, paid: Paid) -> None:
        self._draws = None if part is None else paid.ahead(part.mechanism, part.wish.name, part.wish.count)

    def on(self, totals: Array) -> Array:
        """Sums with noise, rounded to the mechanism's lattice; without noise the sums themselves."""
        if self._draws is None:
            return totals
        made = self._draws.mechanism
        return np.asarray(made.value_of(self._draws.add(made.on_lattice(totals))), dtype=np.float64)


def descend(
    rows: Rows,
    penalty: Penalty,
    setting: Setting,
    part: Part | None,
    start: Array,
    paid: Paid,
    *,
    after_pass: Callable[[int, Trace], None] | None = None,
) -> Trace:
    """Run the passes; `start` are weights already known to the rows. part None means no noise: run until nothing
    moves.
    """
    noise, weights, trace = _Noise(part, paid), start.copy(), Trace(start.copy())
    one_pass = _coordinates if setting.solver == "cd" else _all_at_once
    curvature = rows.objective.curvature
    for index in range(setting.passes):
        before = weights.copy()
        gradient = one_pass(rows, penalty, noise, weights, setting.step / curvature)
        trace.weights.append(weights.copy())
        trace.gradients.append(gradient)
        if after_pass is not None:
            after_pass(index + 1, trace)
        if part is None and np.max(np.abs(weights - before), initial=0.0) <= _STILL * max(
            1.0, float(np.max(np.abs(weights), initial=0.0))
        ):
            break
    else:
        if part is None:
            warnings.warn(
                f"weights still move after {setting.passes} passes without noise; more passes are needed.",
                RuntimeWarning,
                stacklevel=2,
            )
    return trace


def _coordinates(rows: Rows, penalty: Penalty, noise: _Noise, weights: Array, step: float) -> Array:
    gradient = np.empty_like(weights)
    for index in range(weights.size):
        noisy = float(noise.on(np.array([rows.total(index)]))[0])
        gradient[index] = slope = rows.gradient(noisy, index)
        moved = min(max(float(penalty.nearest(weights[index] - step * slope, step, index)), -LARGEST), LARGEST)
        rows.move(index, moved - weights[index])
        weights[index] = moved
    return gradient


def _all_at_once(rows: Rows, penalty: Penalty, noise: _Noise, weights: Array, step: float) -> Array:
    gradient = noise.on(rows.totals()) * rows.unit / rows.count
    moved = np.clip(penalty.nearest(weights - step * gradient, step), -LARGEST, LARGEST)
    rows.move_all(moved - weights)
    weights[:] = moved
    return gradient
