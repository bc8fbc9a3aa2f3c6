"""Conversion between hush curves and the loss distributions of Google's dp_accounting, an optional package."""

from __future__ import annotations

import functools
from dataclasses import dataclass
from typing import Any

import numpy as np
from numpy.typing import NDArray

from hush.errors import needs, positive, reject
from hush.numerics.bracket import Bracket
from hush.numerics.rounding import FOREIGN, up
from hush.privacy.composed_curve import Composed
from hush.privacy.curve import Curve, Mirrored
from hush.privacy.discretise import discretise
from hush.privacy.loss_pair import Reversed

__all__ = ["Imported", "from_dp_accounting", "masses_above", "to_dp_accounting", "whole_pair"]

Array = NDArray[np.float64]


def _peer() -> Any:
    with needs("Google's dp_accounting", "to_dp_accounting()", extra="accounting"):
        from dp_accounting.pld import privacy_loss_distribution
    return privacy_loss_distribution


@dataclass(frozen=True)
class _Whole(Mirrored):
    """A curve as one symmetric pair."""

    curve: Curve

    def _forward(self, epsilon: Array) -> Bracket:
        return self.curve._forward(epsilon)

    @property
    def pure_epsilon(self) -> float:
        return self.curve.pure_epsilon


def whole_pair(curve: Curve) -> Any:
    """The curve as a part of a composition: itself if it is a pair, otherwise one symmetric pair with that curve."""
    return curve if hasattr(curve, "forward") else _Whole(curve)


def to_dp_accounting(curve: Curve, *, step: float = 1e-4) -> Any:
    """The curve as a PrivacyLossDistribution of dp_accounting, on a grid of the given step. It is pessimistic, so its
    results are upper bounds too. Releases that are composed are composed by dp_accounting.

    >>> import hush
    >>> ours = hush.curve(hush.OSGT(3.0, 6.3))
    >>> try:
    ...     ratio = to_dp_accounting(ours).get_delta_for_epsilon(0.5) / ours.delta(0.5)
    ... except hush.MissingExtra:
    ...     ratio = 1.0
    >>> round(float(ratio), 4)
    1.0
    """
    if not isinstance(curve, Curve):
        raise reject("curve", curve, "a privacy curve", "write to_dp_accounting(hush.curve(noise))")
    step, peer = positive("step", step), _peer()
    if not isinstance(curve, Composed):
        return _distribution(curve, step, peer)
    parts = [_distribution(pair, step, peer).self_compose(times) for pair, times in curve.parts]
    return functools.reduce(lambda one, other: one.compose(other), parts)


def _distribution(curve: Any, step: float, peer: Any) -> Any:
    """One release as a PrivacyLossDistribution."""
    rows = masses_above(curve, step)
    more: dict[str, Any] = {}
    if len(rows) == 2:
        more = {
            "rounded_probability_mass_function_add": rows[1][0],
            "infinity_mass_add": rows[1][1],
            "symmetric": False,
        }
    return peer.PrivacyLossDistribution.create_from_rounded_probability(rows[0][0], rows[0][1], step, **more)


def masses_above(curve: Any, step: float) -> list[tuple[dict[int, float], float]]:
    """For each direction, the masses by the numbers of their grid points, and the mass at infinity: a loss distribution
    whose curve is at or above the given one. A symmetric pair has one direction.
    """
    pair = whole_pair(curve)
    rows = []
    for way in (pair,) if pair.symmetric else (pair, Reversed(pair)):
        part = discretise(way, step)
        inside = part.masses > 0.0
        rows.append((dict(zip(part.at[inside].tolist(), part.masses[inside].tolist(), strict=True)), part.infinite))
    return rows


@dataclass(frozen=True, eq=False)
class Imported(Mirrored):
    """A loss distribution of dp_accounting as a curve: the worse of its two directions, plus 1e-9 of it for its
    rounding.

    There is no lower bound. In either order, the worse direction is a symmetric pair that dominates the original.
    """

    distribution: Any

    def _forward(self, epsilon: Array) -> Bracket:
        # delta falls with epsilon, so a smaller epsilon is on the safe side
        flat = np.minimum(np.asarray(epsilon, dtype=np.float64), 700.0)
        values = [float(self.distribution.get_delta_for_epsilon(float(e))) for e in flat.ravel()]
        upper = np.array(values).reshape(flat.shape)
        return Bracket(np.zeros_like(upper), np.clip(up(upper, FOREIGN) + 1e-300, 0.0, 1.0))


def from_dp_accounting(distribution: Any) -> Imported:
    """A PrivacyLossDistribution of dp_accounting as a curve, for compose([(from_dp_accounting(d), 3), ...])."""
    if not callable(getattr(distribution, "get_delta_for_epsilon", None)):
        raise reject(
            "distribution",
            distribution,
            "a PrivacyLossDistribution of dp_accounting",
            "write from_dp_accounting(privacy_loss_distribution.from_gaussian_mechanism(1.0))",
        )
    return Imported(distribution)
