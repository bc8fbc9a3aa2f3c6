"""Shrink the weights of a noisy model by the known size of its noise, so that it is seldom much worse than no features.

The estimate is w = true weights + noise. In the geometry of H the noise has about the variance v in each of k
directions, so |w|_H^2 is on average |true|_H^2 + k v. The signal is estimated by s = |w|_H^2 - k v, limited to what a
model can explain, and the weights of the features are multiplied by s/(s + k v): the rule of empirical Bayes (James
and Stein 1961; Efron and Morris 1973). v is 1.5 times the variance that the linear recursion of the steps gives, or
twice for squared loss. If the noise dominates, the factor is 0, and only the intercept is left. All numbers here are
public or released, so this costs no privacy.
"""

from __future__ import annotations

import numpy as np
from numpy.typing import NDArray

from hush.learn.class_level import ClassLevel
from hush.learn.objective import LOGISTIC, Objective

__all__ = ["limited", "shrunk"]

Array = NDArray[np.float64]

#: The largest variance of the margin: a regression explains at most the variance of its target, which is 1. Margins
#: of a classifier rarely have a variance above 4, where it predicts 93 % of the labels.
_LARGEST_SIGNAL = {"squared": 1.0, "logistic": 4.0}
#: The noise is used as this multiple of its computed variance. The formula takes H as exact, and H is noisy. For
#: squared loss it also takes gradients as not clipped; clipped gradients average less of the noise.
_DOUBT = {"squared": 2.0, "logistic": 1.5}
#: With released log odds a of two classes the noise is used as 4 min(a^2, 9) times its variance more: if one class is
#: rare, weights of noise change few predictions to the better and many to the worse.
_UNEQUAL, _LARGEST_ODDS = 4.0, 3.0
#: The variance of the intercept of centred columns, if that of their centres is not known.
_INTERCEPT = 0.05
#: An intercept beyond this many deviations is biased by the clips.
_DEVIATIONS = 3.0


def limited(weights: Array, hessian: Array, objective: Objective) -> Array:
    """The weights, shortened to the length of a model that explains everything."""
    length = float(weights @ hessian @ weights)
    most = _LARGEST_SIGNAL[objective.name]
    return weights * np.sqrt(most / length) if length > most else weights


def shrunk(
    weights: Array,
    hessian: Array,
    variance: float,
    objective: Objective,
    level: ClassLevel | None = None,
    *,
    constant: bool,
    doubt: Array | None = None,
) -> Array:
    """The shrunk weights; `variance` is that of the noise in one whitened coordinate, the intercept is last.

    The intercept of a classifier is shrunk towards `level`, or towards 0 without it; that of a regression towards 0.
    `doubt` has the expected squared errors of the released centres of features and target, in scaled units.
    """
    features = weights.size - constant
    multiple = _DOUBT[objective.name]
    if level is not None:
        multiple += _UNEQUAL * min(abs(float(level.value)), _LARGEST_ODDS) ** 2
    own, noise = weights[:features], multiple * variance
    signal = float(own @ hessian[:features, :features] @ own) - features * noise
    signal = min(max(signal, 0.0), _LARGEST_SIGNAL[objective.name])
    made = weights.copy()
    kept = signal / (signal + features * noise) if noise > 0.0 else 1.0
    made[:features] *= kept
    if constant and level is not None:
        made[-1] = level.joined(weights[-1], noise, kept)
    elif constant and noise > 0.0:
        made[-1] *= _kept_of_intercept(made, noise, objective, doubt)
    return made


def _kept_of_intercept(weights: Array, noise: float, objective: Objective, doubt: Array | None) -> float:
    """The part of the intercept that is kept if no other release knows it.

    The columns of a regression are centred, so its intercept corrects only the errors of the centres, whose variance
    is known. An intercept that is far larger than these errors and the noise comes from clipped gradients, which
    pull it from the mean of the target towards the median.
    """
    seen = float(weights[-1]) ** 2
    if objective is LOGISTIC:
        return max(0.0, 1.0 - noise / seen) if seen > 0.0 else 0.0
    if doubt is None:
        return _INTERCEPT / (_INTERCEPT + noise)
    errors = float(doubt[-1] + weights[:-1] ** 2 @ doubt[:-1])
    bias = max(0.0, seen - _DEVIATIONS**2 * (errors + noise))
    return errors / (errors + noise + bias)
