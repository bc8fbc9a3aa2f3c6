"""Private coordinate descent (flipped Huber paper, Algorithm 3) and full-gradient descent with the same noise.

Each update releases one clipped integer sum with noise and takes a proximal step w_i <- prox(w_i - (step/M_i) g_i).
The weights after every pass and the trace are computed from released sums only, so they are post-processing.
"""

from __future__ import annotations

import warnings
from collections.abc import Callable
from dataclasses import dataclass, field
from typing import Any

import numpy as np
from numpy.typing import NDArray

from hush.errors import whole
from hush.learn.budget import Part, Wish
from hush.learn.defaults import Setting
from hush.learn.paid import Paid
from hush.learn.penalty import Penalty
from hush.learn.relation import REPLACED_ROW, Relation
from hush.learn.rows import Rows

__all__ = ["LARGEST", "Noise", "Trace", "descend", "updates_wish"]

Array = NDArray[np.float64]

LARGEST = 1e3  # spreads: the public limit of every weight, so that noise cannot make weights overflow
_STILL = 1e-12  # without privacy: stop when no weight moves by more than this, relative to the largest weight


def updates_wish(grain: float, columns: int, setting: Setting, share: float, relation: Relation = REPLACED_ROW) -> Wish:
    """All updates of a descent: one number at a time (cd) or all coordinates at once (gd).

    A row adds at most B to the size of each, so each moves by at most 2B if a row is replaced.
    """
    together = columns if setting.solver == "gd" else 1
    known = together if together > 1 else None  # joint noise is for several numbers
    bound = relation.bound(replaced={"linf": 2.0 * grain}, alone={"linf": grain}, l0=together, dimension=known)
    times = whole("passes", setting.passes) * columns // together
    return Wish("updates", share, bound, bound, together, times)


@dataclass
class Trace:
    """The released history of a descent: weights and noisy gradients after every pass.

    It holds no training loss: the loss was not released with noise and would leak.
    """

    start: Array
    weights: list[Array] = field(default_factory=list)
    gradients: list[Array] = field(default_factory=list)
    #: released second moments of the scaled rows, if there are any
    second_moments: Array | None = None

    @property
    def changes(self) -> Array:
        """The Euclidean distance that the weights moved in every pass."""
        moves = np.diff(np.array([self.start, *self.weights]), axis=0)
        return np.linalg.norm(moves.reshape(len(moves), -1), axis=1)


class Noise:
    """All noise of a descent. It is drawn in one call after the payment and then used number by number."""

    def __init__(self, part: Part | None, paid: Paid) -> None:
        self._draws = None if part is None else paid.ahead(part.mechanism, part.wish.name, part.wish.count)

    def on(self, totals: NDArray[Any]) -> Array:
        """The sums with noise, rounded to the mechanism's lattice; the exact sums if there is no noise."""
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
    """Run the passes from the weights `start`, which `rows` must already include.

    If `part` is None there is no noise, and the descent runs until no weight moves.
    """
    noise, weights, trace = Noise(part, paid), start.copy(), Trace(start.copy())
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
                f"the descent without noise did not converge in {setting.passes} passes; increase passes.",
                RuntimeWarning,
                stacklevel=2,
            )
    return trace


def _coordinates(rows: Rows, penalty: Penalty, noise: Noise, weights: Array, step: float) -> Array:
    gradient = np.empty_like(weights)
    for index in range(weights.size):
        noisy = float(noise.on(np.array([rows.total(index)]))[0])
        gradient[index] = slope = rows.gradient(noisy, index)
        moved = min(max(float(penalty.nearest(weights[index] - step * slope, step, index)), -LARGEST), LARGEST)
        rows.move(index, moved - weights[index])
        weights[index] = moved
    return gradient


def _all_at_once(rows: Rows, penalty: Penalty, noise: Noise, weights: Array, step: float) -> Array:
    gradient = noise.on(rows.totals()) * rows.unit / rows.count
    moved = np.clip(penalty.nearest(weights - step * gradient, step), -LARGEST, LARGEST)
    rows.move_all(moved - weights)
    weights[:] = moved
    return gradient
