"""Numbers computed from a released vector that may tell two inputs apart, beyond single coordinates.

The strongest is the log likelihood ratio, where the density of the noise is known. Otherwise: how much nearer the
output is to one input than to the other, in several norms (for noise of norm exp(-|x|/s) this is the likelihood ratio);
its distance from each input; its largest and smallest number and their difference; sums and contrasts.
"""

from __future__ import annotations

from collections.abc import Callable

import numpy as np
from numpy.typing import NDArray

from hush.auditing.event import Outputs, Pair, View
from hush.auditing.target import Target

__all__ = ["vector_views"]

Vector = NDArray[np.float64]
Norm = Callable[[Outputs], Vector]


def _range_with_zero(x: Outputs) -> Vector:
    """The difference of the largest and the smallest of 0 and the numbers."""
    return np.asarray(np.maximum(x.max(axis=1), 0.0) - np.minimum(x.min(axis=1), 0.0))


_NORMS: dict[str, Norm] = {
    "largest": lambda x: np.abs(x).max(axis=1),
    "Euclidean": lambda x: np.sqrt((x * x).sum(axis=1)),
    "summed": lambda x: np.abs(x).sum(axis=1),
    "range": _range_with_zero,
}


def vector_views(rank: Pair, target: Target) -> list[View]:
    """The views, the most telling first."""
    first, second = _centres(rank, target)
    found = [] if target.loss is None else [View("log likelihood ratio of the noise", target.loss)]
    for name, norm in _NORMS.items():
        text = f"{name} distance from the second input minus that from the first"
        found.append(View(text, _nearer(norm, first, second)))
    for name, norm in _NORMS.items():
        found.append(View(f"{name} distance from the first input", _distance(norm, first)))
        found.append(View(f"{name} distance from the second input", _distance(norm, second)))
    found += [
        View("largest number", lambda y: y.max(axis=1)),
        View("smallest number", lambda y: y.min(axis=1)),
        View("largest minus smallest number", lambda y: y.max(axis=1) - y.min(axis=1)),
        View("sum of all numbers", lambda y: y.sum(axis=1)),
    ]
    moved = np.abs(second - first) > 0.5 * np.abs(second - first).max()
    if moved.any() and not moved.all():
        contrast = np.where(moved, np.sign(second - first) / moved.sum(), -1.0 / (~moved).sum())
        found.append(View("mean of the moved numbers minus mean of the others", lambda y: y @ contrast))
    return found


def _centres(rank: Pair, target: Target) -> tuple[Vector, Vector]:
    """The two inputs if they are vectors of the length of the output, else the medians of the outputs."""
    width = rank[0].shape[1]
    if target.centres is not None and all(centre.size == width for centre in target.centres):
        return target.centres
    return np.median(rank[0], axis=0), np.median(rank[1], axis=0)


def _nearer(norm: Norm, first: Vector, second: Vector) -> Norm:
    return lambda y: norm(y - second) - norm(y - first)


def _distance(norm: Norm, centre: Vector) -> Norm:
    return lambda y: norm(y - centre)
