"""Class counts (numbers of rows of the classes): a noisy release that gives a classifier its intercept for few rows.

The noise of a gradient grows with the number of features, and that of these numbers does not. So the most frequent
class is known from fewer rows than the weights are, and a model whose features are shrunk to 0 predicts this class.

Two classes have one number: the rows of the second class minus those of the first. One replaced row moves it by at most
2, and one row more or less by 1. C >= 3 classes have C numbers. One replaced row moves them by at most 2 in l1, and one
row more or less by 1. The release has a pure epsilon of its own, and the exact accounting of the fit includes it.
"""

from __future__ import annotations

import math
from collections.abc import Iterable
from dataclasses import dataclass

import numpy as np
from numpy.typing import NDArray

from hush.learn.budget import Part, Wish, pure_part
from hush.learn.relation import REPLACED_ROW, Relation

__all__ = ["CLASSES", "FEWEST", "ClassLevel", "class_counts", "class_part", "class_share"]

Array = NDArray[np.float64]

CLASSES = "class counts"
#: Below this noise, nu = rho sqrt(K) times the root of the number of classes less one, the gradients estimate the
#: intercept well enough, and the numbers are not released.
_QUIET = 0.15
#: With fewer rows times epsilon even the numbers of rows are too noisy to help.
FEWEST = 30.0
#: The share of epsilon is this over rows times epsilon, but at most the second number: for two classes, and for more.
_TWO, _MORE = (16.0, 0.4), (24.0, 0.5)
#: The deviation of the difference of the shares of two classes over usual data sets.
_USUAL = 0.3
#: Differences between the shares of three or more classes keep at least this part, so that their order is kept.
_LEAST_KEPT = 0.1
#: The largest difference of the shares of two classes in a model, and the smallest share of one of C classes times C.
_LARGEST, _LEAST_SHARE = 0.98, 0.02


def class_share(nu: float, outputs: int, rows: float, epsilon: float) -> float:
    """The share of epsilon that the numbers have: a rule of public facts only; 0 means that they are not released.

    `rows` is N/k if a neighbour changes a sum by k times as much as one replaced row.
    """
    if nu * math.sqrt(max(outputs - 1, 1)) < _QUIET or rows * epsilon < FEWEST:
        return 0.0
    factor, most = _TWO if outputs == 1 else _MORE
    return min(factor / (rows * epsilon), most)


def class_part(outputs: int, epsilon: float, share: float, relation: Relation = REPLACED_ROW) -> Part:
    """The release of the numbers with `share` of epsilon, as pure epsilon."""
    if outputs == 1:
        bound = relation.bound(replaced={"linf": 2.0}, alone={"linf": 1.0}, l0=1)
    else:
        bound = relation.bound(replaced={"l1": 2.0}, alone={"l1": 1.0}, dimension=outputs)
    return pure_part(Wish(CLASSES, share, bound, bound, outputs), share * epsilon)


def class_counts(places: Iterable[Array], outputs: int) -> NDArray[np.int64]:
    """The exact numbers; `places` are parts of the column of labels, each label as its index 0 ... C - 1."""
    total = np.zeros(max(outputs, 2), dtype=np.int64)
    for part in places:
        total += [int(np.count_nonzero(part == place)) for place in range(total.size)]
    return np.array([total[1] - total[0]]) if outputs == 1 else total


@dataclass(frozen=True)
class ClassLevel:
    """The intercept of a model without features, from released numbers, and the variance of its error.

    Both are one number for two classes, and one for each of three or more classes.
    """

    value: Array
    variance: Array

    @classmethod
    def of(cls, noisy: Array, rows: int, deviation: float) -> ClassLevel:
        """The level from noisy numbers whose noise has this deviation. Differences are shrunk by the known noise."""
        error = deviation / rows
        if noisy.size == 1:
            kept = _USUAL**2 / (_USUAL**2 + error**2)
            apart = min(max(kept * float(noisy[0]) / rows, -_LARGEST), _LARGEST)
            found = math.log((1.0 + apart) / (1.0 - apart))
            return cls(np.array(found), np.array(4.0 * kept * error**2 / (1.0 - apart**2) ** 2))
        apart = (noisy - noisy.mean()) / rows
        seen, noise = float(apart @ apart), (noisy.size - 1) * error**2
        kept = max(_LEAST_KEPT, 1.0 - noise / seen) if seen > 0.0 else 0.0
        shares = np.maximum(1.0 + noisy.size * kept * apart, _LEAST_SHARE) / noisy.size
        logs = np.log(shares)
        # a share that is smaller than its noise is about as uncertain as the noise
        return cls(logs - logs.mean(), kept * (error / np.maximum(shares, error)) ** 2)

    def joined(self, intercept: Array | float, variance: float, kept: float) -> Array:
        """The intercept of a model that keeps the part `kept` of its weights; `variance` is that of the noise of
        `intercept`.

        It is the mean of both, each weighted by the inverse of its variance. The level is that of a model without
        features, so it counts for less the more of the features is kept.
        """
        own = self.variance / np.maximum(self.variance + variance * (1.0 - kept) ** 2, 1e-300)
        return np.asarray(self.value + own * (intercept - self.value))
