"""The estimators: scikit-learn's models of the same names, learned privately."""

from __future__ import annotations

from abc import abstractmethod
from dataclasses import dataclass
from typing import Any, Self

import numpy as np
from numpy.typing import NDArray

from hush.errors import InvalidParameter, non_negative, positive, within
from hush.learn import label
from hush.learn.model import ClassifierMixin, LinearModel, RegressorMixin
from hush.learn.objective import LOGISTIC, SQUARED
from hush.learn.paid import Paid
from hush.learn.scaling import span_of
from hush.learn.training import Plan, Request

__all__ = ["ElasticNet", "Lasso", "LogisticRegression", "Ridge"]

Array = NDArray[np.float64]


@dataclass(kw_only=True, eq=False, repr=False)
class _Regression(RegressorMixin, LinearModel):
    """Squared loss; target_bounds is the public range of y, a pair."""

    target_bounds: Any
    alpha: float = 1.0

    def __sklearn_tags__(self) -> Any:
        tags = super().__sklearn_tags__()
        tags.regressor_tags.poor_score = True  # on the few rows of a check noise may hide everything
        return tags

    @abstractmethod
    def _penalty(self, rows: int) -> tuple[float, float]:
        """(l1, l2) of mean squared loss / 2 + l1 |w| + l2 w^2 / 2."""

    def fit(self, X: Any, y: Any) -> Self:
        """Learn coef_ and intercept_ from rows X and targets y; guarantee_, noise_, receipt_ and trace_ tell how."""
        with self._whole_or_not_at_all():
            return self._fitted(*self._checked(X, y))

    def _checked(self, X: Any, y: Any, **options: Any) -> tuple[Array, Any]:
        rows, target = super()._checked(X, y, y_numeric=True, **options)
        if target.dtype.kind not in "biuf":
            raise InvalidParameter(
                f"y must hold numbers, got values of the kind {label.kind_of(target)}; a date or a duration needs a unit of its own."
            )
        return rows, target

    def _asked(self, rows: int) -> Request:
        return self._request(
            *self._penalty(rows), objective=SQUARED, target_span=span_of("target_bounds", self.target_bounds, 1)
        )

    def _fitted(self, rows: Array, target: Any) -> Self:
        self._learn(rows, target.astype(np.float64), self._asked(rows.shape[0]))
        return self

    def predict(self, X: Any) -> Array:
        """The expected target of each row; rows are limited as in training (`limits_`)."""
        return self._margin(X)


@dataclass(kw_only=True, eq=False, repr=False)
class ElasticNet(_Regression):
    """Least |y - Xw - b|^2 / (2n) + alpha l1_ratio |w|_1 + alpha (1 - l1_ratio) |w|^2 / 2, privately.

    Guarantees: (epsilon, delta)-privacy of everything on the fitted estimator, for one row exchanged (see
    `guarantee_`).

    >>> import numpy as np, hush.learn
    >>> rng = np.random.default_rng()
    >>> X = rng.uniform(-1, 1, (5000, 3)); y = X @ [1.0, 0.0, -1.0]
    >>> model = hush.learn.ElasticNet(epsilon=1.0, delta=1e-6, bounds=(-1, 1), target_bounds=(-2, 2), alpha=0.01).fit(X, y)
    >>> bool(np.abs(model.coef_ - [1.0, 0.0, -1.0]).max() < 0.5)
    True
    """

    l1_ratio: float = 0.5

    def _penalty(self, rows: int) -> tuple[float, float]:
        alpha, ratio = non_negative("alpha", self.alpha), within("l1_ratio", self.l1_ratio, 0.0, 1.0)
        return alpha * ratio, alpha * (1.0 - ratio)


@dataclass(kw_only=True, eq=False, repr=False)
class Lasso(_Regression):
    """Least |y - Xw - b|^2 / (2n) + alpha |w|_1, privately; parameters as in ElasticNet."""

    def _penalty(self, rows: int) -> tuple[float, float]:
        return non_negative("alpha", self.alpha), 0.0


@dataclass(kw_only=True, eq=False, repr=False)
class Ridge(_Regression):
    """Least |y - Xw - b|^2 + alpha |w|^2, privately (a sum over rows, as in scikit-learn); parameters as in
    ElasticNet.
    """

    def _penalty(self, rows: int) -> tuple[float, float]:
        return 0.0, non_negative("alpha", self.alpha) / rows


@dataclass(kw_only=True, eq=False, repr=False)
class LogisticRegression(ClassifierMixin, LinearModel):
    """Least C sum of log-losses + l1_ratio |w|_1 + (1 - l1_ratio) |w|^2 / 2, privately, for two classes.

    classes: the two labels, public knowledge. None means 0 and 1, or False and True if y is an array of booleans;
    "private" finds them for 5 % of epsilon and 10 % of delta, which needs many rows of each. A label that is found is
    a number, a text, bytes or None; rows with anything else (NaN in a list, a list, an object of a class) count half
    for each class. The kind of an array y (booleans, whole numbers, numbers, text, bytes, objects) is public; a list
    is taken label by label.

    >>> import numpy as np, hush.learn
    >>> rng = np.random.default_rng()
    >>> X = rng.uniform(-1, 1, (5000, 2)); y = (X[:, 0] > 0).astype(int)
    >>> model = hush.learn.LogisticRegression(epsilon=1.0, delta=1e-6, bounds=(-1, 1)).fit(X, y)
    >>> bool(model.score(X, y) > 0.8), model.guarantee_.holds
    (True, True)
    """

    C: float = 1.0
    l1_ratio: float = 0.0
    classes: Any = None

    def __sklearn_tags__(self) -> Any:
        tags = super().__sklearn_tags__()
        tags.classifier_tags.multi_class = False
        tags.classifier_tags.poor_score = True  # on the few rows of a check noise may hide everything
        return tags

    def fit(self, X: Any, y: Any) -> Self:
        """Learn coef_ and intercept_ from rows X and labels y; guarantee_, noise_, receipt_ and trace_ tell how."""
        with self._whole_or_not_at_all():
            return self._fitted(*self._checked(X, y))

    def _checked(self, X: Any, y: Any, **options: Any) -> tuple[Array, Any]:
        return super()._checked(X, label.as_labels(y), **options)

    def _asked(self, rows: int) -> Request:
        weight, ratio = 1.0 / (positive("C", self.C) * rows), within("l1_ratio", self.l1_ratio, 0.0, 1.0)
        find = label.to_be_found(self.classes)
        return self._request(
            weight * ratio, weight * (1.0 - ratio), objective=LOGISTIC, target_span=None, find_labels=find
        )

    def _fitted(self, rows: Array, labels: Any) -> Self:
        request = self._asked(rows.shape[0])
        label.check_type(
            labels
        )  # no more: what secret labels are may not show, not even in a warning, before it is paid for
        known = None if request.find_labels else label.declared(self.classes, labels)

        def target(made: Plan, paid: Paid) -> Array:
            nonlocal known
            if known is None:
                known = label.found(labels, made.labels, paid)
            first, second = (label.where(labels, one, same_type=request.find_labels) for one in known)
            return 0.5 + 0.5 * (second - first)  # 0, 1, or one half for a row of neither class

        self._learn(rows, target, request)
        self.classes_: Any = known
        self.coef_, self.intercept_ = self.coef_.reshape(1, -1), np.array([self.intercept_])
        return self

    def decision_function(self, X: Any) -> Array:
        """The log-odds of the second class."""
        return self._margin(X)

    def predict(self, X: Any) -> Any:
        """The likelier class of each row."""
        second = self.decision_function(X) > 0.0  # first, because it says so if there was no fit
        return self.classes_[second.astype(int)]

    def predict_proba(self, X: Any) -> Array:
        """The probability of each class."""
        margin = self.decision_function(X)
        second = np.exp(-np.logaddexp(0.0, -margin))
        return np.stack([np.exp(-np.logaddexp(0.0, margin)), second], axis=1)

    def predict_log_proba(self, X: Any) -> Array:
        """Their logarithms."""
        margin = self.decision_function(X)
        return -np.stack([np.logaddexp(0.0, margin), np.logaddexp(0.0, -margin)], axis=1)
