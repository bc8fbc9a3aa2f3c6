"""The private score of a fitted model on held-out rows: a noisy integer, as accuracy or as mean squared error."""

from __future__ import annotations

from typing import Any

import numpy as np
from numpy.typing import NDArray

from hush.calibration.ranking import calibrate
from hush.learn import label
from hush.learn.estimator import LogisticRegression
from hush.learn.given_rows import floats
from hush.learn.model import LinearModel
from hush.learn.paid import Paid
from hush.learn.relation import REPLACED_ROW, Relation
from hush.learn.scaling import span_of
from hush.ledger.payment import unaccounted
from hush.privacy.sensitivity import Sensitivity
from hush.sampling.entropy import Entropy
from hush.sampling.mechanism import Mechanism

__all__ = ["margins", "noisy_score", "score_mechanism"]

Array = NDArray[np.float64]

_GRAIN = 1 << 20  # lattice steps in the largest squared error
# Larger errors are limited to this fraction of the target's range. The noise of a score grows with its square.
_LIMIT = 0.25


def score_mechanism(model: LinearModel, epsilon: float, delta: float, relation: Relation = REPLACED_ROW) -> Mechanism:
    """The noise of one integer: the number of wrong labels moves by at most 1, quantised squared errors by _GRAIN.

    A row adds a number from 0 to that limit, so the move is the same if the row is replaced, added or removed.
    """
    reach = 1.0 if isinstance(model, LogisticRegression) else float(_GRAIN)
    bound = Sensitivity(linf=reach, l0=1, neighbours=relation.neighbours)
    made = calibrate(epsilon, delta, bound, family="laplace" if delta == 0.0 else "gaussian")
    return Mechanism.of(made, integers=True)


def noisy_score(
    model: LinearModel, rows: Array, target: Any, mechanism: Mechanism, entropy: Entropy | None, count: int
) -> float:
    """The accuracy, or minus the mean squared error, from a noisy integer; `count` is the public number of rows.

    Errors are limited to a quarter of the target's range. The search has already paid for the score, so the payment
    here is unaccounted.
    """
    classifier = isinstance(model, LogisticRegression)
    total, unit = _wrong_labels(model, rows, target) if classifier else _squared_errors(model, rows, target)
    noisy = Paid(unaccounted(mechanism.charge), entropy).release(mechanism, np.array([total]), "score")
    error = float(noisy[0]) * unit / count
    return 1.0 - error if classifier else -error


def margins(model: Any, rows: Array) -> Array:
    """The margins that the model predicts with, computed column by column.

    Each row has its own products and sums. So its margins do not depend on its place and on the number of rows, as
    the sensitivity for one row more or less requires. A matrix product rounds some rows differently at another place.
    """
    coefficients, limits = np.atleast_2d(model.coef_), model.limits_
    made = np.repeat(np.atleast_1d(model.intercept_)[:, None], len(rows), axis=1)
    for own, (low, high), column in zip(coefficients.T, limits, rows.T, strict=True):
        made += own[:, None] * np.clip(column, low, high)
    return made.T if len(made) > 1 else made[0]


def _wrong_labels(model: Any, rows: Array, target: Any) -> tuple[int, float]:
    predicted = model._places(margins(model, rows))
    wrong = int(np.count_nonzero(predicted != label.places_of(target, model.classes_)))
    return wrong, 1.0


def _squared_errors(model: Any, rows: Array, target: Any) -> tuple[int, float]:
    """The sum of quantised squared errors, and the squared error of one unit."""
    span = span_of("target_bounds", model.target_bounds, 1)
    low, high = float(span.low[0]), float(span.high[0])
    largest = _LIMIT * (high - low)
    off = (np.clip(margins(model, rows), low, high) - np.clip(floats(target), low, high)) / largest
    # NaN is replaced by the largest error, so that every row gives an integer from 0 to _GRAIN
    total = int(np.rint(np.nan_to_num(np.minimum(off * off, 1.0), nan=1.0) * _GRAIN).astype(np.int64).sum())
    return total, largest**2 / _GRAIN
