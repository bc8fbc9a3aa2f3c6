"""Naive Bayes with normal columns, from one noisy release of the counts, sums and sums of squares of every class.

A column is mapped from its public range to z in [-1, 1], and q = round(G z). A row of the class c adds the numbers G,
q_k and q_k^2 for each of K columns to the block of its class, and nothing to the other blocks. Then sums of squares are
divided by G and rounded down. So one row more or less moves a block by at most sqrt(G^2 + 2 K G^2). If one row is
replaced by a row of the same class, each column moves by at most sqrt(4 G^2 + 1) (`means_and_spreads`). If it is
replaced by a row of another class, two different blocks change, and the square of the move is the sum of two squares:
at most 2 G^2 + 4 K G^2. Both are at most 4 K G^2 + 2 G^2 (K <= 2 G^2). In l1 the move is at most 2 G + 4 K G. The
bounds do not depend on the number of classes: a person is in one class.
"""

from __future__ import annotations

import math
from dataclasses import dataclass
from typing import Any, Self

import numpy as np
from numpy.typing import NDArray

from hush.errors import InvalidParameter, within
from hush.learn import label
from hush.learn.budget import Part, Wish
from hush.learn.construction import explained
from hush.learn.means_and_spreads import moment_sums
from hush.learn.paid import Paid
from hush.learn.relation import REPLACED_ROW
from hush.learn.scaling import GRAIN, Span
from hush.learn.scikit_learn import ClassifierMixin
from hush.learn.softmax import log_chances
from hush.learn.sum_model import SumModel
from hush.learn.wide_bounds import Seen
from hush.numerics.rounding import FEW_ROUNDINGS, up

__all__ = ["GaussianNB", "class_moments", "class_moments_wish"]

Array = NDArray[np.float64]
_TINY = 1e-200  # of the least variance of a model, as a part of the square of half the range
_LEAST_VARIANCE = 1e-4  # of a noisy variance, as a part of the square of half the range


def class_moments_wish(columns: int, classes: int) -> Wish:
    """The release of the counts, sums and sums of squares of all classes."""
    l2 = up(GRAIN * math.sqrt(4.0 * columns + 2.0), FEW_ROUNDINGS)
    alone = up(GRAIN * math.sqrt(2.0 * columns + 1.0), FEW_ROUNDINGS)
    l1, alone_l1, numbers = GRAIN * (4.0 * columns + 2.0), GRAIN * (2.0 * columns + 1.0), classes * (2 * columns + 1)
    return Wish(
        "counts, sums and squares of the classes",
        1.0,
        REPLACED_ROW.bound(replaced={"l2": l2}, alone={"l2": alone}, dimension=numbers),
        REPLACED_ROW.bound(replaced={"l1": l1, "l2": l2}, alone={"l1": alone_l1, "l2": alone}, dimension=numbers),
        numbers,
    )


def class_moments(rows: Array, places: NDArray[np.int64], classes: int, span: Span) -> NDArray[np.int64]:
    """For each class G times the number of rows, the sums of q, and floor(sum of q^2 / G): exact integers."""
    made = np.zeros((classes, 1 + 2 * rows.shape[1]), dtype=np.int64)
    for place in range(classes):
        own = rows[places == place]
        made[place] = [int(GRAIN) * len(own), *moment_sums(own, span).ravel()]
    return made


@explained
@dataclass(kw_only=True, eq=False, repr=False)
class GaussianNB(ClassifierMixin, SumModel):
    """Naive Bayes: columns are independent and normal within each class, with private means and variances.

    classes: the labels, two or more, which must be public knowledge; None means 0 and 1. priors: the probabilities of
    the classes if they are public; None releases them. var_smoothing: as in scikit-learn. `SumModel` describes the
    other parameters. A fit sets classes_, class_count_, class_prior_, theta_ (means) and var_.

    Means and variances of a class are shrunk towards those of all classes in proportion to their noise, so with much
    noise the model predicts the most frequent class.

    Guarantees: all attributes of the fitted estimator together are (epsilon, delta)-private for one replaced row.

    >>> import numpy as np, hush.learn
    >>> rng = np.random.default_rng()
    >>> y = rng.integers(0, 3, 5000); X = rng.normal(size=(5000, 2)) + 3 * np.eye(3, 2)[y]
    >>> model = hush.learn.GaussianNB(epsilon=1.0, delta=1e-6, bounds=(-4, 7), classes=(0, 1, 2)).fit(X, y)
    >>> bool(model.score(X, y) > 0.8), model.guarantee_.epsilon
    (True, 1.0)
    """

    classes: Any = None
    priors: Any = None
    var_smoothing: float = 1e-9

    def __sklearn_tags__(self) -> Any:
        tags = super().__sklearn_tags__()
        tags.classifier_tags.poor_score = True  # scikit-learn's checks have few rows, and noise may dominate there
        return tags

    def fit(self, X: Any, y: Any = None) -> Self:
        """Learn the means and variances of every class."""
        with self._fitting() as seen:
            rows, labels = self._checked(X, label.as_labels(y))
            span, smoothing = self._span(), within("var_smoothing", self.var_smoothing, 0.0, 1.0)
            label.check_type(labels)
            known = label.declared(self.classes, labels)
            priors = self._priors(len(known))
            parts = self._planned(class_moments_wish(rows.shape[1], len(known)))
            paid = self._paid(parts, len(rows), [f"the {len(known)} classes"])
            places = label.places_of(labels, known)
            if not parts:
                count, mean, variance, whole = _exact(np.clip(rows, span.low, span.high), places, len(known))
            else:
                count, mean, variance, whole = _noisy(
                    class_moments(rows, places, len(known), span), len(rows), parts[0], paid, span
                )
                error = parts[0].deviation * math.sqrt(len(known)) / (GRAIN * len(rows))
                middle = (mean * count[:, None]).sum(axis=0) / count.sum()
                seen.append(Seen(middle, np.sqrt(whole), np.full(whole.size, error), span))
            self.classes_, self.class_count_, self.theta_ = known, count, mean
            self.epsilon_ = smoothing * float(whole.max())  # scikit-learn's name for what is added to all variances
            # no variance is 0, which would give predictions 0/0; rows are at most the range away from a mean
            self.var_ = np.maximum(variance + self.epsilon_, _TINY * span.half**2)
            self.class_prior_ = count / count.sum() if priors is None else priors
            self.limits_ = np.stack([span.low, span.high], axis=1)
        return self

    def _priors(self, classes: int) -> Array | None:
        if self.priors is None:
            return None
        given = np.asarray(self.priors, dtype=np.float64)
        if given.shape != (classes,) or not (given > 0.0).all() or not math.isclose(given.sum(), 1.0):
            raise InvalidParameter(
                f"priors must be {classes} numbers above 0 that add up to 1; write priors=(0.5, 0.5) for two classes, "
                "or leave it out."
            )
        return given

    def predict_joint_log_proba(self, X: Any) -> Array:
        """The logarithm of the joint density of each row and each class."""
        rows = self._limited(X)
        found = [
            (math.log(prior) if prior > 0.0 else -math.inf)
            - 0.5 * np.log(2.0 * math.pi * spread).sum()
            - 0.5 * ((rows - mean) ** 2 / spread).sum(axis=1)
            for prior, mean, spread in zip(self.class_prior_, self.theta_, self.var_, strict=True)
        ]
        return np.stack(found, axis=1)

    def predict(self, X: Any) -> Any:
        """The most likely class of each row."""
        places = self.predict_joint_log_proba(X).argmax(axis=1)
        return self.classes_[places]

    def predict_log_proba(self, X: Any) -> Array:
        """The logarithm of the probability of each class."""
        return log_chances(self.predict_joint_log_proba(X))

    def predict_proba(self, X: Any) -> Array:
        """The probability of each class."""
        return np.exp(self.predict_log_proba(X))


def _exact(rows: Array, places: NDArray[np.int64], classes: int) -> tuple[Array, Array, Array, Array]:
    """Counts, means and variances of the classes, and the variance of each column, without noise."""
    own = [rows[places == place] for place in range(classes)]
    whole = rows.var(axis=0)
    mean = np.array([part.mean(axis=0) if len(part) else rows.mean(axis=0) for part in own])
    variance = np.array([part.var(axis=0) if len(part) else whole for part in own])
    return np.array([float(len(part)) for part in own]), mean, variance, whole


def _noisy(sums: NDArray[np.int64], rows: int, part: Part, paid: Paid, span: Span) -> tuple[Array, Array, Array, Array]:
    """Counts, means and variances from the sums with noise, shrunk towards those of all rows."""
    classes, columns = sums.shape[0], (sums.shape[1] - 1) // 2
    released = paid.release(part.mechanism, sums.ravel(), part.wish.name).reshape(sums.shape) / GRAIN
    deviation = part.deviation / GRAIN  # of a noisy count, in rows
    count = np.clip(released[:, 0], 1.0, rows)
    first, second = released[:, 1 : 1 + columns], released[:, 1 + columns :]
    error = deviation * math.sqrt(classes) / rows
    middle = np.clip(first.sum(axis=0) / rows, -1.0, 1.0) / (1.0 + 9.0 * error**2)
    least = max(_LEAST_VARIANCE, min(error, 0.1))
    whole = np.clip(second.sum(axis=0) / rows - middle**2 + error**2, least, 1.0)
    errors = (deviation / count)[:, None]
    kept = whole / (whole + errors**2)
    mean = kept * np.clip(first / count[:, None], -1.0, 1.0) + (1.0 - kept) * middle
    seen = np.clip(second / count[:, None], 0.0, 1.0) - mean**2
    kept = whole**2 / (whole**2 + errors**2)
    least_own = np.maximum(_LEAST_VARIANCE, np.minimum(errors, whole))
    variance = np.maximum(kept * seen + (1.0 - kept) * whole, least_own)
    half = span.half
    return count, span.middle + half * mean, half**2 * variance, half**2 * whole
